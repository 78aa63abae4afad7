//! Locks on whole files, and on bytes of them.

use crate::io::sys::types::{FileSharing, Holder, LOCKS, LockOwner};
use std::{
    fs::{File, TryLockError},
    io,
    os::fd::AsRawFd,
};

/// Locks a file without waiting. A lock that this handle has is replaced.
pub(crate) fn try_lock_file(file: &File, sharing: FileSharing) -> Result<(), TryLockError> {
    match sharing {
        FileSharing::Exclusive => file.try_lock(),
        FileSharing::Shared => file.try_lock_shared(),
    }
}

pub(crate) fn unlock_file(file: &File) -> io::Result<()> {
    file.unlock()
}

/// The commands of `fcntl` for one kind of locks on bytes.
#[derive(Clone, Copy, Debug)]
pub(in crate::io::sys) struct LockCommands {
    pub(in crate::io::sys) owner: LockOwner,
    /// Sets a lock, or fails at once.
    pub(in crate::io::sys) set: i32,
    /// Finds another holder.
    pub(in crate::io::sys) get: i32,
}

impl LockCommands {
    /// POSIX locks, which each system has.
    pub(in crate::io::sys) const OF_PROCESS: Self = Self {
        owner: LockOwner::Process,
        set: libc::F_SETLK,
        get: libc::F_GETLK,
    };
}

/// Locks on bytes from [`LOCKS`] on, which have no content. The system drops them when the process
/// ends for any reason.
#[derive(Debug)]
pub(crate) struct ByteLocks(LockCommands);

impl ByteLocks {
    /// Locks by these commands if the system supports them for the file, and otherwise POSIX locks.
    pub(in crate::io::sys) fn with(wanted: LockCommands, file: &File) -> Self {
        let known = Self(wanted).holder(file, 0, 1);
        match known.map_err(|error| error.raw_os_error()) {
            Err(Some(libc::EINVAL)) => Self(LockCommands::OF_PROCESS),
            _ => Self(wanted),
        }
    }

    /// POSIX locks, whatever else the system supports.
    pub(crate) fn of_process() -> Self {
        Self(LockCommands::OF_PROCESS)
    }

    pub(crate) fn owner(&self) -> LockOwner {
        self.0.owner
    }

    /// Locks a byte without waiting; `false` if another holds it.
    pub(crate) fn try_lock(&self, file: &File, byte: u32) -> io::Result<bool> {
        match self.set(file, range(byte, 1, LOCKED)) {
            Ok(()) => Ok(true),
            Err(error) if is_taken(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn unlock(&self, file: &File, first: u32, count: u32) -> io::Result<()> {
        self.set(file, range(first, count, UNLOCKED))
    }

    fn set(&self, file: &File, wanted: libc::flock) -> io::Result<()> {
        loop {
            // SAFETY: the descriptor is open, and the system only reads the structure.
            if unsafe { libc::fcntl(file.as_raw_fd(), self.0.set, &raw const wanted) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINTR) {
                return Err(error);
            }
        }
    }

    /// Another holder of one of these bytes.
    pub(crate) fn holder(&self, file: &File, first: u32, count: u32) -> io::Result<Option<Holder>> {
        let mut found = range(first, count, LOCKED);
        // SAFETY: the descriptor is open, and the structure is valid for writing.
        if unsafe { libc::fcntl(file.as_raw_fd(), self.0.get, &raw mut found) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let is_held = found.l_type != UNLOCKED;
        Ok(is_held.then(|| match u32::try_from(found.l_pid) {
            // Locks of descriptions report no process id.
            Ok(process) if process > 0 => Holder::Process(process),
            _ => Holder::Unknown,
        }))
    }
}

#[allow(clippy::unnecessary_cast)] // The types differ between systems.
const LOCKED: libc::c_short = libc::F_WRLCK as libc::c_short;
#[allow(clippy::unnecessary_cast)]
const UNLOCKED: libc::c_short = libc::F_UNLCK as libc::c_short;

fn is_taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES))
}

fn range(first: u32, count: u32, kind: libc::c_short) -> libc::flock {
    debug_assert!(
        count > 0 && first.checked_add(count).is_some(),
        "bytes are locked, and from the first to the last"
    );
    // SAFETY: a plain structure of numbers, whose fields differ between systems.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = kind;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    range.l_start = LOCKS as i64 + i64::from(first);
    range.l_len = i64::from(count);
    range
}
