//! Locks on files and on bytes.
//!
//! A lock is mandatory: other handles, also of this process, neither read nor write a locked byte.
//! So no byte of data is ever locked, only bytes from [`LOCKS`] on.
//!
//! Nothing queries a lock. A probe takes a shared lock on the bytes for a moment. Locks of this
//! handle do not refuse it, those of others do. Another process that just then takes one of the
//! bytes is refused, and therefore tries again.

use super::check;
use crate::io::{
    mutex::lock,
    sys::types::{FileSharing, Holder, LOCKS, LockOwner},
};
use std::{
    fs::{File, TryLockError},
    io,
    os::windows::io::AsRawHandle,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};
use windows_sys::Win32::{
    Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION},
    Storage::FileSystem::{
        LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, UnlockFileEx,
    },
    System::IO::OVERLAPPED,
};

const _: () = assert!(
    LOCKS >= 1 << 62,
    "a byte that is locked is one that no file has"
);

/// The byte that is locked for a whole file.
pub(super) const WHOLE_FILE: u32 = 1 << 20;
/// How often, and how long apart, a byte is tried that another process may just be probing.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(1);

/// Locks the file, without waiting. An exclusive lock that is made shared is never free in between.
pub(crate) fn try_lock_file(file: &File, sharing: FileSharing) -> Result<(), TryLockError> {
    let is_locked = match sharing {
        FileSharing::Exclusive => try_lock(file, WHOLE_FILE, 1, LOCKFILE_EXCLUSIVE_LOCK),
        // A shared lock goes next to an exclusive one of the same handle, and unlocking ends the
        // exclusive one first. If there is none, the second shared lock ends.
        FileSharing::Shared => try_lock(file, WHOLE_FILE, 1, 0).and_then(|is_locked| {
            if is_locked && try_lock(file, WHOLE_FILE, 1, 0)? {
                unlock(file, WHOLE_FILE, 1)?;
            }
            Ok(is_locked)
        }),
    };
    match is_locked {
        Ok(true) => Ok(()),
        Ok(false) => Err(TryLockError::WouldBlock),
        Err(error) => Err(TryLockError::Error(error)),
    }
}

pub(crate) fn unlock_file(file: &File) -> io::Result<()> {
    unlock(file, WHOLE_FILE, 1)?;
    while unlock(file, WHOLE_FILE, 1).is_ok() {}
    Ok(())
}

/// Locks on bytes of a lock file, through one handle.
#[derive(Debug, Default)]
pub(crate) struct ByteLocks {
    /// The bytes that this handle has locked. Held while bytes are tried and probed, so that
    /// threads do not refuse each other.
    own: Mutex<Vec<u32>>,
}

pub(crate) fn byte_locks(_file: &File) -> ByteLocks {
    ByteLocks::default()
}

impl ByteLocks {
    /// No locks belong to a process here.
    pub(crate) fn of_process() -> Self {
        Self::default()
    }

    pub(crate) fn owner(&self) -> LockOwner {
        LockOwner::Description
    }

    /// Locks a byte, without waiting. `false` if another has locked it.
    pub(crate) fn try_lock(&self, file: &File, byte: u32) -> io::Result<bool> {
        let mut own = lock(&self.own);
        if own.contains(&byte) {
            return Ok(true);
        }
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                thread::sleep(PAUSE);
            }
            if try_lock(file, byte, 1, LOCKFILE_EXCLUSIVE_LOCK)? {
                own.push(byte);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Unlocks those of the bytes that are locked.
    pub(crate) fn unlock(&self, file: &File, first: u32, count: u32) -> io::Result<()> {
        let mut own = lock(&self.own);
        let bytes = first..first + count;
        for byte in own.extract_if(.., |byte| bytes.contains(byte)) {
            unlock(file, byte, 1)?;
        }
        Ok(())
    }

    /// Another holder of one of these bytes.
    pub(crate) fn holder(&self, file: &File, first: u32, count: u32) -> io::Result<Option<Holder>> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        // Ending a probe of a byte that is locked here would end that lock.
        if count == 1 && own.contains(&first) {
            return Ok(None);
        }
        if !try_lock(file, first, count, 0)? {
            return Ok(Some(Holder::Unknown));
        }
        unlock(file, first, count)?;
        Ok(None)
    }
}

/// Where bytes are locked.
fn at(first: u32) -> OVERLAPPED {
    let offset = LOCKS + u64::from(first);
    let mut position = OVERLAPPED::default();
    position.Anonymous.Anonymous.Offset = offset as u32;
    position.Anonymous.Anonymous.OffsetHigh = (offset >> 32) as u32;
    position
}

fn try_lock(file: &File, first: u32, count: u32, exclusive: u32) -> io::Result<bool> {
    try_lock_at(file, at(first), count, exclusive)
}

pub(super) fn try_lock_at(
    file: &File,
    mut position: OVERLAPPED,
    count: u32,
    exclusive: u32,
) -> io::Result<bool> {
    let flags = exclusive | LOCKFILE_FAIL_IMMEDIATELY;
    // SAFETY: the handle is open, and the structure is valid while the call lasts.
    let locked = unsafe { LockFileEx(file.as_raw_handle(), flags, 0, count, 0, &mut position) };
    let refusals = [ERROR_LOCK_VIOLATION, ERROR_IO_PENDING];
    match check(locked) {
        Ok(()) => {
            #[cfg(test)]
            super::mandatory::note(file, &position, count, exclusive != 0);
            Ok(true)
        }
        Err(error)
            if refusals
                .iter()
                .any(|code| error.raw_os_error() == Some(*code as i32)) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn unlock(file: &File, first: u32, count: u32) -> io::Result<()> {
    let mut position = at(first);
    #[cfg(test)]
    super::mandatory::forget(file, &position, count);
    // SAFETY: the handle is open, and the structure is valid while the call lasts.
    check(unsafe { UnlockFileEx(file.as_raw_handle(), 0, count, 0, &mut position) })
}
