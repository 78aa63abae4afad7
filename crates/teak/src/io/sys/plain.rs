//! A Unix that can do nothing special. On systems that can do more, it shows that what depends on
//! their specialities works without them.

pub(crate) use super::lacks::{
    TRUNCATES_MAPPED, allocate, append, begin_write_back, drop_cache, file_system, has_mark,
    is_on_network, join, next_data, next_hole, open_direct, punch, read_soon, set_mark,
    write_durably,
};
pub(crate) use super::poll::{sleep_on, wake_all, wake_one};
use super::types::Access;
pub(crate) use super::unix::{
    ByteLocks, Directory, FAILURES, FileAt, Mapped, REMEDIES, advise,
    anchor_is_impossible as anchor, at_fork, attributes, borrow, create_new,
    create_private_directory, create_unnamed, discard, drop_anchor, file_over, flush, free_bytes,
    hide, id_of, is_refusal, kind, limit, link_unnamed, memory_bytes, memory_file,
    no_residency as is_absent, open, permissions_of, populate, process_locks as byte_locks,
    process_namespace, random_bytes, raw, release_inherited, remove_file,
    rename_unsupported as rename_new, set_permissions, system_page_len, truncate, try_lock_file,
    unlock_file, uptime_ms, write_at, zeros_over,
};
use super::unix::{Signal, catch_signals};
use std::{
    fs::File,
    io,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// As where a thread can neither begin nor end while another one does.
pub(crate) const ARE_THREADS_FREE: bool = false;

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

/// Each Unix raises this signal with one of these codes.
pub(crate) fn catch_faults(absorb: fn(usize) -> bool) -> io::Result<()> {
    const SIGNALS: &[Signal] = &[Signal {
        number: libc::SIGBUS,
        codes: &[libc::BUS_ADRERR, libc::BUS_OBJERR],
    }];
    catch_signals(SIGNALS, absorb)
}
