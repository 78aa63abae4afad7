//! A Unix that can do nothing special. On systems that can do more, it shows that what depends on
//! their specialities works without them.

pub(crate) use super::poll::{sleep_on, wake_all, wake_one};
use super::types::{Access, Allocate};
pub(crate) use super::unix::{
    ByteLocks, Directory, FAILURES, FileAt, Mapped, advise, anchor_is_impossible as anchor, append,
    at_fork, attributes, begin_write_back, borrow, create_new, create_private_directory,
    create_unnamed, drop_anchor, every_byte_is_data as next_data, file_over, file_system, flush,
    id_of, is_refusal, kind, limit, link_unnamed, memory_bytes, memory_file,
    no_hole_is_known as next_hole, no_residency as is_absent, open, permissions_of, populate,
    process_locks as byte_locks, process_namespace, random_bytes, raw, release_inherited,
    remove_file, rename_unsupported as rename_new, set_permissions, system_page_len, truncate,
    try_lock_file, unlock_file, uptime_ms, write_at, write_durably, zeros_over,
};
use super::unix::{Signal, catch_signals};
use std::{
    fs::File,
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// No boot is known, so that after each opening the machine may have gone down.
pub(crate) fn boot_id() -> Option<[u8; 16]> {
    None
}

/// A number that no other thread of the process has.
pub(crate) fn thread_id() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    THREADS.fetch_add(1, Relaxed)
}

pub(crate) fn reopen(_file: &File, _access: Access) -> Option<File> {
    None
}

pub(crate) fn path_of(_file: &File) -> Option<PathBuf> {
    None
}

pub(crate) fn allocate(
    _file: &File,
    _range: Range<u64>,
    _allocation: Allocate,
) -> io::Result<bool> {
    Ok(false)
}

pub(crate) fn punch(_file: &File, _range: Range<u64>) -> io::Result<bool> {
    Ok(false)
}

pub(crate) fn is_on_network(_existing: &Path) -> bool {
    false
}

pub(crate) fn set_mark(_file: &File) {}

pub(crate) fn has_mark(_file: &File) -> bool {
    false
}

pub(crate) fn read_soon(_file: &File, _offset: u64, _len: u64) {}

pub(crate) fn drop_cache(_file: &File) {}

/// Each Unix raises this signal with one of these codes.
pub(crate) fn catch_faults(absorb: fn(usize) -> bool) -> io::Result<()> {
    const SIGNALS: &[Signal] = &[Signal {
        number: libc::SIGBUS,
        codes: &[libc::BUS_ADRERR, libc::BUS_OBJERR],
    }];
    catch_signals(SIGNALS, absorb)
}
