//! The file: mapping, growing, vectored writes, flush. All calls of the operating system are in
//! the folder `sys`.
//!
//! There are two implementations of [`Storage`]: the real file, and a simulated disk that records
//! every write, flush and resize and can produce any state that a crash could have left.
//!
//! Invariants:
//!
//! 1. A slice into a [`Mapping`] exists only for pages that nobody writes meanwhile. A [`Pinned`]
//!    mapping is the witness, and the head of `io/pinned.rs` has the reasons.
//! 2. A [`WritableExtent`] exists only for pages that no snapshot can see, and no two overlap. The
//!    function that gives one out is unsafe: the caller has taken the pages.
//! 3. Bytes that change in place (commit records) are copied with [`Mapping::copy`], never
//!    borrowed.
//! 4. No mapping gives access to bytes beyond the length of the file.

#[cfg(any(test, feature = "testing"))]
mod abilities;
mod address_range;
mod advice;
mod arc_cell;
mod boot;
mod byte_locks;
mod clock;
mod coded_file;
mod coded_storage;
mod compression;
mod faults;
mod fetched;
mod file;
pub(crate) mod file_reads;
mod forks;
mod frames;
mod held_file;
mod inline;
mod io_wait;
mod key_buffer;
mod lock_file;
mod lock_file_name;
mod lock_header;
mod locked;
mod log_file;
mod log_storage;
mod mapped_log;
mod mapping;
mod memory;
mod mutex;
mod page_codec;
mod pinned;
mod ranges;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod sim;
mod source;
mod storage;
mod sys;
mod system;
mod temporary;
mod worker;
mod writable;

#[cfg(any(test, feature = "testing"))]
pub use abilities::Abilities;
#[cfg(test)]
pub(crate) use abilities::can;
pub use advice::ReadAhead;
pub(crate) use arc_cell::ArcCell;
pub(crate) use boot::{boot_id, random_id};
pub(crate) use byte_locks::PROCESSES_MAX;
pub(crate) use clock::{thread_id, uptime_ms};
pub(crate) use coded_file::CODED_RESERVED_LEN;
pub(crate) use coded_storage::{Codecs, CodedStorage};
pub use compression::Compression;
pub(crate) use faults::{Faults, handle_faults};
pub use fetched::ReadAt;
pub use file::Create;
pub(crate) use file::{
    Created, FILE_MODE, FileStorage, LostName, directory_of, flush_directory, is_on_network,
    lock_exclusively, needs_temporary_names, read_head, rename_new,
};
pub(crate) use forks::ForkGeneration;
pub(crate) use frames::Frames;
pub(crate) use inline::{InlineBytes, InlineText};
pub(crate) use io_wait::IoWaitEstimator;
#[allow(unreachable_pub)] // Hidden methods of a public trait take it.
pub use key_buffer::CursorKey;
pub(crate) use key_buffer::KeyBuffer;
pub(crate) use lock_file::{GateGuard, LockFile};
pub(crate) use lock_file_name::{is_open_here, without_suffix};
pub(crate) use lock_header::{LOCK_MAGIC, LockMode};
pub(crate) use log_storage::{BLOCK_LEN, HALF_LEN, LogLocation, LogPart, LogStorage};
pub(crate) use mapping::{Mapping, prefetch, prefetch_lines};
pub(crate) use memory::{LINE, Memory};
pub(crate) use page_codec::{Content, EntryKind, PageCodec, opened};
pub(crate) use pinned::Pinned;
pub(crate) use source::SourceStorage;
pub(crate) use storage::{Fill, Storage};
pub(crate) use sys::{
    Access, Failure, FileAt, FileId, FilePermissions, FileSharing, Limit, Links, TRUNCATES_MAPPED,
    create_new, create_private_directory, free_bytes, id_of, limit as system_limit, open,
    permissions_of, process_namespace, punch, remove_file, set_permissions, sleep_on, wake_all,
    wake_one,
};
pub(crate) use system::refuse_file_len;
pub(crate) use temporary::TemporaryFile;
pub(crate) use worker::Worker;
pub(crate) use writable::{WritableExtent, WritableMapping};
