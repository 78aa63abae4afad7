//! Lists in memory of the caller.

use std::ffi::c_void;
use teak_c::teak_slice;

/// A list that is written to a buffer as far as it fits, and measured as a whole.
///
/// Numbers have eight bytes, in the order of the machine. Texts and keys are a length of four
/// bytes, and the bytes.
pub(crate) struct List {
    buffer: *mut u8,
    room: usize,
    used: usize,
}

impl List {
    /// # Safety
    ///
    /// The buffer has `room` bytes while the list is used.
    pub(crate) unsafe fn new(buffer: *mut c_void, room: usize) -> Self {
        Self {
            buffer: buffer.cast(),
            room: if buffer.is_null() { 0 } else { room },
            used: 0,
        }
    }

    /// The bytes of the whole list.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Whether everything that was added is in the buffer.
    pub(crate) fn fits(&self) -> bool {
        self.used <= self.room
    }

    pub(crate) fn add_number(&mut self, number: u64) {
        self.add(&number.to_ne_bytes());
    }

    /// # Safety
    ///
    /// The slice is valid.
    pub(crate) unsafe fn add_slice(&mut self, slice: teak_slice) {
        let bytes = match slice.len {
            0 => &[],
            // SAFETY: the caller's promise.
            len => unsafe { std::slice::from_raw_parts(slice.data.cast::<u8>(), len) },
        };
        // A longer slice does not fit the buffer either.
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.add(&len.to_ne_bytes());
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        let end = self.used.saturating_add(bytes.len());
        if end <= self.room {
            // SAFETY: the buffer has room for that, and nothing else uses it.
            unsafe {
                let to = self.buffer.add(self.used);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
        }
        self.used = end;
    }
}
