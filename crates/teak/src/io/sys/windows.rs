//! Windows 10 (version 1803, which has placeholders for mapped files) and later.
//!
//! - Files are read through views and written by calls, never through a view: a full disk could not
//!   be an error then. Lock files are the exception: they get their blocks before.
//! - A view ends where the file ends. A placeholder reserves the addresses after it, and
//!   [`Mapped::show`] puts the next view there. A file with a view does not become shorter.
//! - Locks are mandatory here: a locked byte can be neither read nor written through another
//!   handle. Only bytes far beyond all data are locked.
//! - Words in shared memory cannot wake another process. Each word on which threads wait has events
//!   with names. Where these are refused, threads look at the word every 1 to 16 milliseconds.

mod directory;
mod events;
mod faults;
mod files;
mod locks;
mod machine;
#[cfg(test)]
#[path = "windows/mandatory_tests.rs"]
mod mandatory;
mod mapped;
mod section;
mod sections;
mod waiting;

pub(crate) use super::lacks::REMEDIES;
pub(crate) use super::lacks::{
    append, begin_write_back, drop_cache, file_system, free_bytes, has_mark, next_data, next_hole,
    open_direct, punch, read_soon, set_mark, write_durably,
};
pub(crate) use directory::{
    Directory, create_unnamed, is_refusal, link_unnamed, remove_file, rename_new,
};
pub(crate) use faults::catch_faults;
pub(crate) use files::{
    FileAt, TRUNCATES_MAPPED, allocate, attributes, create_new, create_private_directory, flush,
    id_of, is_on_network, kind, memory_file, open, path_of, permissions_of, reopen,
    set_permissions, truncate, write_at,
};
pub(crate) use locks::{ByteLocks, byte_locks, try_lock_file, unlock_file};
pub(crate) use machine::{
    ARE_THREADS_FREE, FAILURES, anchor, at_fork, boot_id, borrow, drop_anchor, join, limit,
    memory_bytes, process_namespace, random_bytes, raw, release_inherited, system_page_len,
    thread_id, uptime_ms,
};
pub(crate) use mapped::{Mapped, advise, discard, hide, is_absent, populate};
pub(crate) use sections::{file_over, zeros_over};
pub(crate) use waiting::{sleep_on, wake_all, wake_one};

use std::io;
use windows_sys::core::BOOL;

/// The system's error if a call has failed.
fn check(answer: BOOL) -> io::Result<()> {
    match answer {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
