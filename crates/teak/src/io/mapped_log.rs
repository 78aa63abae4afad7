//! A log that is mapped for writing: what is stored there survives the death of the process without
//! a call of the system.
//!
//! As with pages (see [`writable`](super::writable)), this is for file systems where overwriting
//! needs no blocks. If a store faults nevertheless, because another program has truncated the file
//! or the disk fails to read a page, zeros of this process replace the file, and that store and all
//! later ones report it.

use super::{
    address_range::AddressRange,
    held_file::HeldFile,
    sys::{self, Overwrite},
};
use std::{
    io, slice,
    sync::atomic::{Ordering, compiler_fence},
};

#[derive(Debug)]
pub(super) struct MappedLog {
    address_range: AddressRange,
}

impl MappedLog {
    /// Maps the first `len` bytes of a file, which may still be shorter. Nobody else maps them for
    /// writing. `None` if the file system or the system has no such mappings.
    pub(super) fn new(file: &HeldFile, len: usize) -> Option<Self> {
        let file_system = sys::file_system(file).ok()?;
        if file_system.overwrite == Overwrite::Never {
            return None;
        }
        // SAFETY: there is no head.
        let address_range = unsafe { AddressRange::shared(file, 0, len, None) };
        Some(Self {
            address_range: address_range.ok()?,
        })
    }

    /// Stores bytes at an offset, where the file has blocks.
    ///
    /// # Errors
    ///
    /// `Other` if a store has failed, this one or one before.
    pub(super) fn store(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.slice(offset, bytes.len()).copy_from_slice(bytes);
        // The handler of a fault runs in this thread.
        compiler_fence(Ordering::SeqCst);
        match self.address_range.faults().has_zeros() {
            true => Err(io::Error::other(
                "a page of the write-ahead log could not be read or written: another program has truncated the file, \
                 or the disk is failing; close the database and open it again",
            )),
            false => Ok(()),
        }
    }

    fn slice(&mut self, offset: u64, len: usize) -> &mut [u8] {
        let end = offset.checked_add(len as u64);
        assert!(
            end.is_some_and(|end| end <= self.address_range.len()),
            "entries are in what is mapped"
        );
        // SAFETY: the bytes are inside of the range, as checked. Nobody else accesses them in this
        // process: the range is borrowed mutably, and is the only mapping. Any bytes are valid, and
        // the handler of a fault replaces them by zeros while this thread is in a store.
        unsafe {
            let start = self.address_range.base().add(offset as usize);
            slice::from_raw_parts_mut(start.as_ptr(), len)
        }
    }
}

#[cfg(all(test, unix))]
#[path = "mapped_log_tests.rs"]
mod tests;
