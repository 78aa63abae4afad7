//! Blocks behind the bytes of the file: allocated when it grows, so that a full disk is an error
//! of [`set_len`] and not of some later write.
//!
//! [`set_len`]: crate::store::Storage::set_len

use rustix::{
    fs::{FallocateFlags, fallocate},
    io::{Errno, retry_on_intr},
};
use std::{fs::File, io};

/// Makes the file `new_len` bytes long, with blocks where the file system can allocate them ahead.
/// After an error it is `old_len` long as before.
pub(super) fn extend(file: &File, old_len: u64, new_len: u64) -> io::Result<()> {
    let allocate = || fallocate(file, FallocateFlags::empty(), old_len, new_len - old_len);
    match retry_on_intr(allocate) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(new_len),
        Err(error) => {
            // File systems may have got halfway; what they took is of no use.
            let _ = file.set_len(old_len);
            Err(error.into())
        }
    }
}
