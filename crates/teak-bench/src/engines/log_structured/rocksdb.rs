//! RocksDB, opened through its C interface.

use super::{
    LogStructured,
    calls::{Errors, LibraryHandle, LogStructuredCalls, calls},
    pinned::PinnedLookups,
};
use crate::engines::{Durability, store::CacheBudget};
use anyhow::Result;
use std::{
    ffi::{CString, c_char, c_int, c_uchar, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr, thread,
};

/// The size of the write buffer in memory.
const BUFFER_BYTES: usize = 64 << 20;
/// The size of the write buffer if memory is limited.
const BUFFER_BYTES_MIN: usize = 4 << 20;
const BLOOM_BITS: f64 = 10.0;
const NO_COMPRESSION: c_int = 0;
pub(crate) const LZ4: c_int = 4;
pub(crate) const ZSTD: c_int = 7;

calls! {
    "rocksdb",
    close = rocksdb_close(LibraryHandle);
    get = rocksdb_get(LibraryHandle, LibraryHandle, *const c_char, usize, *mut usize, *mut *mut c_char) -> *mut c_char;
    free = rocksdb_free(*mut c_void);
    write = rocksdb_write(LibraryHandle, LibraryHandle, LibraryHandle, *mut *mut c_char);
    create_snapshot = rocksdb_create_snapshot(LibraryHandle) -> LibraryHandle;
    release_snapshot = rocksdb_release_snapshot(LibraryHandle, LibraryHandle);
    readoptions_create = rocksdb_readoptions_create() -> LibraryHandle;
    readoptions_destroy = rocksdb_readoptions_destroy(LibraryHandle);
    readoptions_set_snapshot = rocksdb_readoptions_set_snapshot(LibraryHandle, LibraryHandle);
    writeoptions_create = rocksdb_writeoptions_create() -> LibraryHandle;
    writeoptions_destroy = rocksdb_writeoptions_destroy(LibraryHandle);
    writeoptions_set_sync = rocksdb_writeoptions_set_sync(LibraryHandle, c_uchar);
    writebatch_create = rocksdb_writebatch_create() -> LibraryHandle;
    writebatch_destroy = rocksdb_writebatch_destroy(LibraryHandle);
    writebatch_put = rocksdb_writebatch_put(LibraryHandle, *const c_char, usize, *const c_char, usize);
    writebatch_delete = rocksdb_writebatch_delete(LibraryHandle, *const c_char, usize);
    create_iterator = rocksdb_create_iterator(LibraryHandle, LibraryHandle) -> LibraryHandle;
    iter_destroy = rocksdb_iter_destroy(LibraryHandle);
    iter_valid = rocksdb_iter_valid(LibraryHandle) -> c_uchar;
    iter_seek_to_first = rocksdb_iter_seek_to_first(LibraryHandle);
    iter_seek_to_last = rocksdb_iter_seek_to_last(LibraryHandle);
    iter_seek = rocksdb_iter_seek(LibraryHandle, *const c_char, usize);
    iter_next = rocksdb_iter_next(LibraryHandle);
    iter_prev = rocksdb_iter_prev(LibraryHandle);
    iter_key = rocksdb_iter_key(LibraryHandle, *mut usize) -> *const c_char;
    iter_value = rocksdb_iter_value(LibraryHandle, *mut usize) -> *const c_char;
    iter_get_error = rocksdb_iter_get_error(LibraryHandle, *mut *mut c_char);
}

#[link(name = "rocksdb")]
unsafe extern "C" {
    fn rocksdb_open_column_families(
        _: LibraryHandle,
        _: *const c_char,
        _: c_int,
        _: *const *const c_char,
        _: *const LibraryHandle,
        _: *mut LibraryHandle,
        _: *mut *mut c_char,
    ) -> LibraryHandle;
    fn rocksdb_options_create() -> LibraryHandle;
    fn rocksdb_options_destroy(_: LibraryHandle);
    fn rocksdb_options_set_create_if_missing(_: LibraryHandle, _: c_uchar);
    fn rocksdb_options_set_compression(_: LibraryHandle, _: c_int);
    fn rocksdb_options_set_write_buffer_size(_: LibraryHandle, _: usize);
    fn rocksdb_options_increase_parallelism(_: LibraryHandle, _: c_int);
    fn rocksdb_options_set_level_compaction_dynamic_level_bytes(_: LibraryHandle, _: c_uchar);
    fn rocksdb_options_set_block_based_table_factory(_: LibraryHandle, _: LibraryHandle);
    fn rocksdb_block_based_options_create() -> LibraryHandle;
    fn rocksdb_block_based_options_set_block_cache(_: LibraryHandle, _: LibraryHandle);
    fn rocksdb_block_based_options_set_filter_policy(_: LibraryHandle, _: LibraryHandle);
    fn rocksdb_cache_create_lru(_: usize) -> LibraryHandle;
    fn rocksdb_filterpolicy_create_bloom_full(_: f64) -> LibraryHandle;
}

static FUNCTIONS: LogStructuredCalls = CALLS;

/// Opens the database in `directory`, or creates it.
pub(crate) fn open(
    directory: &Path,
    durability: Durability,
    room: CacheBudget,
) -> Result<LogStructured> {
    open_compressed(directory, durability, room, NO_COMPRESSION)
}

/// Opens the database in `directory`, or creates it, with a compression.
pub(crate) fn open_compressed(
    directory: &Path,
    durability: Durability,
    room: CacheBudget,
    compression: c_int,
) -> Result<LogStructured> {
    let path = CString::new(directory.join("rocksdb").as_os_str().as_bytes())?;
    let cache_bytes = usize::try_from(room.cache_bytes)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (mut errors, mut family) = (Errors::new(&FUNCTIONS), ptr::null_mut());
    // SAFETY: options are made, set and used as the header says; cache, filter, table options and
    // the family's handle live as long as the process.
    let database = unsafe {
        let table = rocksdb_block_based_options_create();
        rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru(cache_bytes));
        let filter = rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS);
        rocksdb_block_based_options_set_filter_policy(table, filter);
        let options = rocksdb_options_create();
        rocksdb_options_set_create_if_missing(options, 1);
        rocksdb_options_set_compression(options, compression);
        rocksdb_options_set_write_buffer_size(
            options,
            (cache_bytes / 4).clamp(BUFFER_BYTES_MIN, BUFFER_BYTES),
        );
        rocksdb_options_increase_parallelism(options, threads.max(2) as c_int);
        rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
        rocksdb_options_set_block_based_table_factory(options, table);
        // The family that every database has. It is opened by name to get its handle.
        let (name, options_of_family) = (c"default".as_ptr(), options);
        let database = rocksdb_open_column_families(
            options,
            path.as_ptr(),
            1,
            &raw const name,
            &raw const options_of_family,
            &raw mut family,
            errors.out_pointer(),
        );
        rocksdb_options_destroy(options);
        database
    };
    errors.check()?;
    let is_durable = durability == Durability::Durable;
    let mut store = LogStructured::new(&FUNCTIONS, database, is_durable);
    store.pinned = Some(PinnedLookups::new(&FUNCTIONS, family));
    Ok(store)
}
