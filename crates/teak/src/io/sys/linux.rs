//! Linux and Android.

#[cfg_attr(target_os = "android", path = "linux/android.rs")]
mod calls;
mod files;
mod machine;
mod mapped;
mod network;

pub(crate) use super::lacks::{ARE_THREADS_FREE, TRUNCATES_MAPPED, join};
pub(crate) use super::unix::{
    ByteLocks, Directory, FAILURES, FileAt, Mapped, REMEDIES, at_fork, borrow, create_new,
    create_private_directory, drop_anchor, file_over, flush, free_bytes, id_of, is_absent,
    is_refusal, kind, limit, memory_bytes, next_data, next_hole, open, permissions_of, raw,
    release_inherited, remove_file, set_permissions, system_page_len, truncate, try_lock_file,
    unlock_file, write_at, zeros_over,
};
pub(crate) use calls::begin_write_back;
pub(crate) use files::{
    allocate, append, attributes, byte_locks, create_unnamed, file_system, has_mark, link_unnamed,
    memory_file, open_direct, path_of, punch, rename_new, reopen, set_mark, write_durably,
};
pub(crate) use machine::{
    boot_id, process_namespace, random_bytes, sleep_on, thread_id, uptime_ms, wake_all, wake_one,
};
pub(crate) use mapped::{
    advise, anchor, catch_faults, discard, drop_cache, hide, populate, read_soon,
};
pub(crate) use network::is_on_network;
