//! macOS, iOS and their relatives. Compiled and reviewed against the manuals, and never run.
//!
//! A commit is durable by `F_FULLFSYNC`, which std's flushes use: `F_BARRIERFSYNC` only orders
//! writes. Without it, a file is flushed by `fsync`, which leaves the disk's own cache. APFS writes
//! each block to a new place, so files are not mapped for writing.

mod files;
mod machine;

pub(crate) use super::lacks::{
    ARE_THREADS_FREE, TRUNCATES_MAPPED, append, begin_write_back, file_system, join, next_data,
    next_hole, open_direct, write_durably,
};
pub(crate) use super::unix::{
    ByteLocks, Directory, FAILURES, FileAt, Mapped, REMEDIES, advise,
    anchor_is_impossible as anchor, at_fork, attributes, borrow, create_new,
    create_private_directory, create_unnamed, discard, drop_anchor, file_over, free_bytes, hide,
    id_of, is_absent, is_on_network, is_refusal, kind, limit, link_unnamed, memory_bytes,
    memory_file, open, permissions_of, populate, process_namespace, random_bytes, raw,
    release_inherited, remove_file, set_permissions, system_page_len, truncate, try_lock_file,
    unlock_file, write_at, zeros_over,
};
pub(crate) use files::{
    allocate, byte_locks, catch_faults, drop_cache, flush, has_mark, path_of, punch, read_soon,
    rename_new, reopen, set_mark,
};
pub(crate) use machine::{boot_id, sleep_on, thread_id, uptime_ms, wake_all, wake_one};
