//! The options for opening and creating databases and tables.

mod to_engine;

pub(crate) use to_engine::{Comparisons, comparisons, durability};

use crate::{
    encryption::teak_encryption,
    events::{teak_event_function, teak_slow_reader_function},
    ffi::{Grows, teak_slice},
};
use std::ffi::{c_char, c_int, c_void};
use teak::Compression;

/// Whether a database is created.
#[repr(C)]
pub enum teak_create {
    /// Create the database if it does not exist.
    TEAK_CREATE_IF_MISSING = 0,
    /// The database must exist.
    TEAK_CREATE_NEVER = 1,
    /// The database must not exist.
    TEAK_CREATE_NEW = 2,
}

/// The access to a database.
#[repr(C)]
pub enum teak_access {
    /// Reading and writing.
    TEAK_ACCESS_WRITE = 0,
    /// Read only.
    TEAK_ACCESS_READ = 1,
}

/// Whether others may have the database open at the same time.
#[repr(C)]
pub enum teak_sharing {
    /// Other processes may open it too.
    TEAK_SHARING_PROCESSES = 0,
    /// This handle has exclusive access.
    TEAK_SHARING_ALONE = 1,
    /// Other processes may open it, and this one reads without a lock file. Writers of other
    /// processes do not know that it reads. Requires TEAK_ACCESS_READ.
    TEAK_SHARING_UNLOCKED = 2,
}

/// Whether a database may be on a network file system.
#[repr(C)]
pub enum teak_network {
    /// Return an error.
    TEAK_NETWORK_REFUSE = 0,
    /// Allow it. Only one machine may use the database.
    TEAK_NETWORK_ALLOW = 1,
}

/// How to treat parts of the file that cannot be read.
#[repr(C)]
pub enum teak_faults {
    /// Return errors. Installs a handler for SIGBUS, which passes on signals that do not concern
    /// the database.
    TEAK_FAULTS_HANDLE = 0,
    /// Install no handler. The process gets SIGBUS.
    TEAK_FAULTS_LEAVE = 1,
}

/// When a commit becomes durable.
#[repr(C)]
pub enum teak_durability {
    /// The durability stored in the file; TEAK_DURABILITY_DURABLE for a new one.
    TEAK_DURABILITY_DEFAULT = 0,
    /// Before the commit returns.
    TEAK_DURABILITY_DURABLE = 1,
    /// Soon after the commit returns. A ticket reports when.
    TEAK_DURABILITY_ASYNC = 2,
    /// When the system, a later durable commit or a limit of the options causes a flush.
    TEAK_DURABILITY_LAZY = 3,
}

/// When pages are compared with their checksums.
#[repr(C)]
pub enum teak_verification {
    /// When a page is first read.
    TEAK_VERIFICATION_FIRST_TOUCH = 0,
    /// Each time a page is read.
    TEAK_VERIFICATION_ALWAYS = 1,
    /// Never.
    TEAK_VERIFICATION_OFF = 2,
}

/// Whether the system reads ahead in parts of the file that are not in memory.
#[repr(C)]
pub enum teak_read_ahead {
    /// Never.
    TEAK_READ_AHEAD_OFF = 0,
    /// While the file is at most half as long as the machine's memory.
    TEAK_READ_AHEAD_AUTO = 1,
    /// Always.
    TEAK_READ_AHEAD_ON = 2,
}

/// The order of keys or values.
#[repr(C)]
pub enum teak_order {
    /// By bytes, from the first to the last.
    TEAK_ORDER_BYTES = 0,
    /// By bytes, from the last to the first.
    TEAK_ORDER_REVERSE_BYTES = 1,
    /// As little-endian unsigned integers of 4 or 8 bytes.
    TEAK_ORDER_INTEGER = 2,
    /// By a comparison that the database was opened with.
    TEAK_ORDER_CUSTOM = 3,
}

/// journal_bytes of teak_options: commits use no journal.
pub const TEAK_NO_JOURNAL: u64 = u64::MAX;
/// move_percent of teak_options: neither commits nor closing move pages.
pub const TEAK_MOVE_NOTHING: u32 = u32::MAX;

/// value_size of teak_table_options: the first value decides for the table.
pub const TEAK_VALUE_SIZE_AS_FIRST: u32 = u32::MAX;

/// Compares two keys and returns a number below, equal to or above zero, like memcmp. It may be
/// called from several threads at a time, and must not call this library.
pub type teak_compare_function =
    Option<unsafe extern "C" fn(user: *mut c_void, a: teak_slice, b: teak_slice) -> c_int>;

/// An order of the application, under a name that is stored in the file. The function and the
/// target of `user` must stay valid while the process has the database open.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_comparison {
    /// 1 to 64 bytes of UTF-8, ended by a zero.
    pub name: *const c_char,
    /// The order.
    pub compare: teak_compare_function,
    /// Passed to the function, or NULL.
    pub user: *mut c_void,
}

/// The limits of a file's length, and how the file grows and shrinks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_geometry {
    /// The minimum length in bytes.
    pub lower_limit_bytes: u64,
    /// The maximum length in bytes; 0 for no limit.
    pub upper_limit_bytes: u64,
    /// Bytes by which it grows; 0 for the engine's choice.
    pub growth_step_bytes: u64,
    /// Bytes that must be free at its end before it is truncated; 0 for the engine's choice,
    /// UINT64_MAX for never.
    pub shrink_threshold_bytes: u64,
}

/// The compression of a database.
#[repr(C)]
pub enum teak_compression {
    /// Pages are not compressed.
    TEAK_COMPRESSION_NONE = 0,
    /// LZ4: the fastest.
    TEAK_COMPRESSION_LZ4 = 1,
    /// Zstandard, with a level.
    TEAK_COMPRESSION_ZSTD = 2,
}

/// Options for opening a database. Zero is the default of every field except size.
///
/// ```c
/// teak_options options = {.size = sizeof options, .page_size = 16384, .sharing = TEAK_SHARING_ALONE};
/// teak_db db;
/// check(teak_db_open(path, &options, &db, &error));
/// check(teak_db_close(db, &error));
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_options {
    /// sizeof(teak_options).
    pub size: usize,
    /// The page size of a new database in bytes: a power of two from 4096 (the default) to 65536.
    pub page_size: u32,
    /// A teak_create.
    pub create: u32,
    /// A teak_access.
    pub access: u32,
    /// A teak_sharing.
    pub sharing: u32,
    /// A teak_network.
    pub network: u32,
    /// A teak_faults.
    pub faults: u32,
    /// A teak_durability, for commits that do not set one. Stored in the file.
    pub durability: u32,
    /// A teak_verification.
    pub verification: u32,
    /// Bytes that lazy commits may write before they are flushed; UINT64_MAX for no limit, 0 for
    /// the file's value. Stored in the file.
    pub flush_after_bytes: u64,
    /// The age in milliseconds at which a lazy commit is flushed; 0 for the file's value. Stored in
    /// the file.
    pub flush_after_ms: u64,
    /// The maximum length of the file; UINT64_MAX for no limit, 0 for the file's value. Stored in
    /// the file.
    pub size_limit_bytes: u64,
    /// All sizes of the file, instead of size_limit_bytes alone, or NULL for the file's values.
    /// Stored in the file.
    pub geometry: *const teak_geometry,
    /// The bytes of pages that a write transaction keeps in memory; 0 for 256 MiB.
    pub write_memory_bytes: u64,
    /// The number of pages that a commit may move from the end of the file, in per cent of those
    /// that it writes; 0 for 100, or TEAK_MOVE_NOTHING.
    pub move_percent: u32,
    /// A teak_read_ahead.
    pub read_ahead: u32,
    /// Comparisons of the application, or NULL.
    pub comparisons: *const teak_comparison,
    /// The number of comparisons.
    pub comparison_count: usize,
    /// Receives events, or NULL.
    pub on_event: teak_event_function,
    /// Passed to on_event, or NULL.
    pub event_user: *mut c_void,
    /// Decides about slow readers, or NULL: then the file grows.
    pub on_slow_reader: teak_slow_reader_function,
    /// Passed to on_slow_reader, or NULL.
    pub slow_reader_user: *mut c_void,
    /// The path of the lock file, or NULL for the path of the database with -lock appended.
    /// All processes that have the database open at the same time must use the same path.
    pub lock_file: *const c_char,
    /// The permissions of files that are created, less the mask of the process; 0 for 0666.
    pub file_mode: u32,
    /// If the file was removed, renamed or replaced since it was opened: 1 to fail commits with
    /// TEAK_FILE_NOT_FOUND, 0 to make them and report TEAK_EVENT_NAME_LOST for the first one.
    pub require_name: u32,
    /// Bytes of the journal that the file gets for small durable commits; 0 for a sixty-fourth of a
    /// file of 32 MiB or more and 4 MiB at most, or TEAK_NO_JOURNAL.
    pub journal_bytes: u64,
    /// 1 to close without a flush if every open commit is lazy: the next opening in the same boot
    /// finds them, and a power cut may take them. 0 to flush.
    pub leave_lazy: u32,
    /// 1 to leave the lock file when the last process closes the database; 0 to remove it.
    pub leave_lock_file: u32,
    /// The key of an encrypted database, with which a new database is encrypted; NULL for none.
    pub encryption: *const teak_encryption,
    /// The compression of a new database: a teak_compression. An existing database is what it is.
    pub compression: u32,
    /// The level of TEAK_COMPRESSION_ZSTD, from 1 to 19; 0 for 3.
    pub compression_level: u32,
    /// The bytes of decoded pages of an encrypted or compressed database that this process keeps in
    /// memory; 0 for 256 MiB.
    pub decoded_cache_bytes: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_options {
    const NAME: &'static str = "teak_options";
}

/// The numbers of a compression and of its level.
pub(crate) fn compression_numbers(compression: Option<Compression>) -> [u64; 2] {
    match compression {
        None => [0, 0],
        Some(Compression::Zstd(level)) => [2, level.into()],
        Some(_) => [1, 0],
    }
}

/// Options for creating a table. Zero is the default of every field except size.
///
/// ```c
/// teak_table_options options = {.size = sizeof options, .order = TEAK_ORDER_INTEGER};
/// teak_txn txn;
/// teak_table table;
/// check(teak_txn_begin_write(db, &txn, &error));
/// check(teak_table_create(txn, teak_text("blocks"), &options, &table, &error));
/// uint64_t height = 840000;
/// check(teak_insert(txn, table, (teak_slice){&height, sizeof height}, teak_text("halving"), &error));
/// check(teak_txn_commit(txn, NULL, &error));
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_table_options {
    /// sizeof(teak_table_options).
    pub size: usize,
    /// The order of keys: a teak_order.
    pub order: u32,
    /// 1 to store each key whole in its page, instead of sharing a prefix with its neighbours.
    pub whole_keys: u32,
    /// 1 for a counted table, in which ranks are found in two descents.
    pub counted: u32,
    /// The alignment of values in memory in bytes: 1 (the default), 2, 4, 8 or 16.
    pub value_align: u32,
    /// 1 if a key can have several values.
    pub several_values: u32,
    /// If keys have several values, the order of the values of a key: a teak_order.
    pub value_order: u32,
    /// If keys have several values, the size of each value in bytes: 0 for any size, or
    /// TEAK_VALUE_SIZE_AS_FIRST.
    pub value_size: u32,
    /// Zero.
    pub reserved: u32,
    /// TEAK_ORDER_CUSTOM: the name of the comparison of keys.
    pub comparison: *const c_char,
    /// TEAK_ORDER_CUSTOM: the name of the comparison of values.
    pub value_comparison: *const c_char,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_table_options {
    const NAME: &'static str = "teak_table_options";
}
