//! Locks on single bytes of a lock file: one for the gate, and one for each process.

use crate::planted::planted;
use std::{fs::File, io, os::fd::AsRawFd};

/// Offset of the locked bytes. The file has no content there.
pub(super) const LOCKS: i64 = 1 << 62;
/// The most processes that may have a database open.
pub(crate) const PROCESSES_MAX: u32 = 4096;
const _: () = assert!(
    LOCKS.checked_add(PROCESSES_MAX as i64 + 1).is_some(),
    "there is a byte to lock for each process, and one for the gate"
);

/// The owner of the locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Locks {
    /// The open file description.
    OfDescription,
    /// The process (POSIX).
    OfProcess,
}

impl Locks {
    /// The commands to lock, and to query the holder.
    pub(super) fn commands(self) -> [libc::c_int; 2] {
        match self {
            Self::OfDescription => [libc::F_OFD_SETLK, libc::F_OFD_GETLK],
            Self::OfProcess => [libc::F_SETLK, libc::F_GETLK],
        }
    }

    /// The kind that the system supports for this file.
    pub(super) fn of_system(file: &File) -> Self {
        let known = holder(file, Self::OfDescription, 0, 1);
        match known.map_err(|error| error.raw_os_error()) {
            Err(Some(libc::EINVAL)) => Self::OfProcess,
            _ if planted!(LocksOfProcess) => Self::OfProcess,
            _ => Self::OfDescription,
        }
    }
}

pub(super) fn byte_of(entry_index: u32) -> u32 {
    debug_assert!(
        entry_index < PROCESSES_MAX,
        "an entry index from the shared memory was checked"
    );
    entry_index + 1
}

pub(super) fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES))
}

pub(super) fn range(first: u32, count: u32, kind: libc::c_int) -> libc::flock {
    debug_assert!(
        count > 0 && first + count <= PROCESSES_MAX + 1,
        "only bytes that stand for the gate or for a process are locked"
    );
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: LOCKS + i64::from(first),
        l_len: i64::from(count),
        l_pid: 0,
    }
}

/// Locks or unlocks a byte, without waiting.
pub(super) fn lock(file: &File, locks: Locks, byte: u32, kind: libc::c_int) -> io::Result<()> {
    let wanted = range(byte, 1, kind);
    let [at_once, _] = locks.commands();
    loop {
        // SAFETY: the descriptor is open, and the system only reads the structure.
        if unsafe { libc::fcntl(file.as_raw_fd(), at_once, &raw const wanted) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}

/// Whether another process has locked one of these bytes.
pub(super) fn is_locked(file: &File, locks: Locks, first: u32, count: u32) -> io::Result<bool> {
    Ok(holder(file, locks, first, count)?.is_some())
}

/// The id of another process that has locked one of these bytes.
pub(super) fn holder(
    file: &File,
    locks: Locks,
    first: u32,
    count: u32,
) -> io::Result<Option<libc::pid_t>> {
    let mut found = range(first, count, libc::F_WRLCK);
    let [_, query] = locks.commands();
    // SAFETY: the descriptor is open, and the structure is valid for writing.
    if unsafe { libc::fcntl(file.as_raw_fd(), query, &raw mut found) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_held = found.l_type != libc::F_UNLCK as libc::c_short;
    Ok(is_held.then_some(found.l_pid))
}
