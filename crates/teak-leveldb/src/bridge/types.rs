//! Bytes and errors, and catching panics.

use crate::failure::{Failure, Result};
use std::{
    ffi::c_char,
    panic::{AssertUnwindSafe, catch_unwind},
    slice,
};

/// Bytes that belong to somebody else.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tl_slice {
    /// The first byte.
    pub data: *const c_char,
    /// Their number.
    pub len: usize,
}

impl tl_slice {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr().cast(),
            len: bytes.len(),
        }
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// They are valid for `'a`, or there are none.
    pub(super) unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { slice::from_raw_parts(self.data.cast(), self.len) }
    }
}

/// An error. Its text is freed with [`tl_free_text`](super::tl_free_text).
#[repr(C)]
#[derive(Debug)]
pub struct tl_status {
    /// The number that `leveldb::Status` has for the kind.
    pub code: u32,
    /// The text.
    pub text: *mut c_char,
    /// The length of the text.
    pub len: usize,
}

/// Runs `work`, and reports its failure.
///
/// # Safety
///
/// `status` can be written.
pub(super) unsafe fn reported<T>(
    status: *mut tl_status,
    work: impl FnOnce() -> Result<T>,
) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Failure::panicked()));
    match done {
        Ok(done) => Some(done),
        Err(failure) => {
            // SAFETY: the caller's promise.
            unsafe { status.write(status_of(failure)) };
            None
        }
    }
}

pub(super) fn status_of(failure: Failure) -> tl_status {
    let text = failure.text.into_bytes().into_boxed_slice();
    let len = text.len();
    tl_status {
        code: failure.kind as u32,
        text: Box::into_raw(text).cast(),
        len,
    }
}
