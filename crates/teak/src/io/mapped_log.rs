//! A log that is mapped for writing: what is stored there survives the death of the process without
//! a call of the system.
//!
//! As with pages (see [`writable`](super::writable)), this is for file systems where overwriting
//! needs no blocks. If a store faults nevertheless, because another program has truncated the file
//! or the disk fails to read a page, zeros of this process replace the file, and that store and all
//! later ones report it. Without the handler of faults
//! ([`Options::handle_faults`](crate::Options::handle_faults)) the process dies, as when it builds
//! pages in the mapped database.

use super::{
    address_range::AddressRange,
    held_file::HeldFile,
    sys::{self, Overwrite},
};
use std::{
    io, ptr,
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
        // SAFETY: there is no head, and only `store` accesses the bytes: it writes them.
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
        let end = offset.checked_add(bytes.len() as u64);
        assert!(
            end.is_some_and(|end| end <= self.address_range.len()),
            "entries are in what is mapped"
        );
        // SAFETY: the bytes are inside of the range, as checked. Nobody else accesses them in this
        // process: the range is borrowed mutably, and is the only mapping. The handler of a fault
        // may replace them by zeros, in this thread and during this store.
        unsafe {
            let start = self.address_range.base().add(offset as usize);
            ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), bytes.len());
        }
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
}

#[cfg(all(test, unix))]
#[path = "mapped_log_tests.rs"]
mod tests;
