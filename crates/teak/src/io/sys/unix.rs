//! The part that all Unix systems share.

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
mod bsd;
mod directory;
mod faults;
mod files;
mod lacks;
mod locks;
mod mapped;
mod process;

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
pub(crate) use bsd::is_on_network;
#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
pub(super) use bsd::system_value;
pub(super) use directory::mode;
pub(crate) use directory::{Directory, is_refusal};
pub(super) use faults::{Signal, catch_signals};
pub(super) use files::open_with;
pub(crate) use files::{
    FileAt, attributes, create_new, create_private_directory, flush, free_bytes, id_of, kind,
    next_data, next_hole, open, permissions_of, remove_file, set_permissions, truncate, write_at,
};
pub(crate) use lacks::{
    anchor_is_impossible, create_unnamed, link_unnamed, memory_file, no_residency, populate,
    process_locks, process_namespace, rename_unsupported,
};
pub(super) use locks::LockCommands;
pub(crate) use locks::{ByteLocks, try_lock_file, unlock_file};
pub(crate) use mapped::{Mapped, advise, discard, file_over, hide, is_absent, zeros_over};
pub(crate) use process::{
    FAILURES, REMEDIES, at_fork, borrow, drop_anchor, limit, memory_bytes, random_bytes, raw,
    release_inherited, system_page_len, uptime_ms,
};
pub(super) use process::{clock_ms, uuid_of, weak};
