//! FreeBSD. Compiled and reviewed against the manuals, and never run.
//!
//! UFS may copy a block before it is overwritten (snapshots), and ZFS always does, so files are not
//! mapped for writing. Locks on bytes belong to the process.

mod files;
mod machine;

pub(crate) use super::lacks::{
    ARE_THREADS_FREE, TRUNCATES_MAPPED, append, begin_write_back, file_system, join, next_data,
    next_hole, open_direct,
};
pub(crate) use super::unix::{
    ByteLocks, Directory, FAILURES, FileAt, Mapped, REMEDIES, advise,
    anchor_is_impossible as anchor, at_fork, attributes, borrow, create_new,
    create_private_directory, create_unnamed, drop_anchor, file_over, flush, free_bytes, id_of,
    is_on_network, is_refusal, kind, limit, link_unnamed, memory_bytes, memory_file,
    no_residency as is_absent, open, permissions_of, populate, process_locks as byte_locks,
    process_namespace, random_bytes, raw, release_inherited, remove_file,
    rename_unsupported as rename_new, set_permissions, system_page_len, truncate, try_lock_file,
    unlock_file, write_at, zeros_over,
};
pub(crate) use files::{
    allocate, catch_faults, discard, drop_cache, has_mark, hide, path_of, punch, read_soon, reopen,
    set_mark, write_durably,
};
pub(crate) use machine::{boot_id, sleep_on, thread_id, uptime_ms, wake_all, wake_one};
