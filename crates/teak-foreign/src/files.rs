//! Differences of systems: reading and writing at an offset, identities, permissions.

use std::{fs::File, io};

/// Fills `buffer` with the bytes from `offset` on.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

/// Fills `buffer` with the bytes from `offset` on.
#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        let (rest, offset) = (&mut buffer[filled..], offset + filled as u64);
        match std::os::windows::fs::FileExt::seek_read(file, rest, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            len => filled += len,
        }
    }
    Ok(())
}

/// Takes LevelDB's lock as a reader. Returns whether no program has it.
#[cfg(unix)]
pub(crate) fn try_lock_to_read(file: &File) -> io::Result<bool> {
    use rustix::{
        fs::{FlockOperation, fcntl_lock},
        io::Errno,
    };
    match fcntl_lock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(true),
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes LevelDB's lock as a reader. Returns whether no program has it.
#[cfg(windows)]
pub(crate) fn try_lock_to_read(file: &File) -> io::Result<bool> {
    use std::fs::TryLockError;
    match file.try_lock_shared() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
