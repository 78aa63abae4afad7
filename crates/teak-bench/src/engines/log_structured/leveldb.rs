//! LevelDB, opened through its C interface.

use super::{
    LogStructured,
    calls::{Errors, LibraryHandle, LogStructuredCalls, calls},
};
use crate::engines::{Durability, store::CacheBudget};
use anyhow::Result;
use std::{
    ffi::{CString, c_char, c_int, c_uchar, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
};

/// The size of the write buffer in memory.
const BUFFER_BYTES: usize = 64 << 20;
/// The size of the write buffer if memory is limited.
const BUFFER_BYTES_MIN: usize = 4 << 20;
const FILE_BYTES: usize = 32 << 20;
const BLOOM_BITS: c_int = 10;
const NO_COMPRESSION: c_int = 0;
pub(crate) const SNAPPY: c_int = 1;

calls! {
    "leveldb",
    close = leveldb_close(LibraryHandle);
    get = leveldb_get(LibraryHandle, LibraryHandle, *const c_char, usize, *mut usize, *mut *mut c_char) -> *mut c_char;
    free = leveldb_free(*mut c_void);
    write = leveldb_write(LibraryHandle, LibraryHandle, LibraryHandle, *mut *mut c_char);
    create_snapshot = leveldb_create_snapshot(LibraryHandle) -> LibraryHandle;
    release_snapshot = leveldb_release_snapshot(LibraryHandle, LibraryHandle);
    readoptions_create = leveldb_readoptions_create() -> LibraryHandle;
    readoptions_destroy = leveldb_readoptions_destroy(LibraryHandle);
    readoptions_set_snapshot = leveldb_readoptions_set_snapshot(LibraryHandle, LibraryHandle);
    writeoptions_create = leveldb_writeoptions_create() -> LibraryHandle;
    writeoptions_destroy = leveldb_writeoptions_destroy(LibraryHandle);
    writeoptions_set_sync = leveldb_writeoptions_set_sync(LibraryHandle, c_uchar);
    writebatch_create = leveldb_writebatch_create() -> LibraryHandle;
    writebatch_destroy = leveldb_writebatch_destroy(LibraryHandle);
    writebatch_put = leveldb_writebatch_put(LibraryHandle, *const c_char, usize, *const c_char, usize);
    writebatch_delete = leveldb_writebatch_delete(LibraryHandle, *const c_char, usize);
    create_iterator = leveldb_create_iterator(LibraryHandle, LibraryHandle) -> LibraryHandle;
    iter_destroy = leveldb_iter_destroy(LibraryHandle);
    iter_valid = leveldb_iter_valid(LibraryHandle) -> c_uchar;
    iter_seek_to_first = leveldb_iter_seek_to_first(LibraryHandle);
    iter_seek_to_last = leveldb_iter_seek_to_last(LibraryHandle);
    iter_seek = leveldb_iter_seek(LibraryHandle, *const c_char, usize);
    iter_next = leveldb_iter_next(LibraryHandle);
    iter_prev = leveldb_iter_prev(LibraryHandle);
    iter_key = leveldb_iter_key(LibraryHandle, *mut usize) -> *const c_char;
    iter_value = leveldb_iter_value(LibraryHandle, *mut usize) -> *const c_char;
    iter_get_error = leveldb_iter_get_error(LibraryHandle, *mut *mut c_char);
}

#[link(name = "leveldb")]
unsafe extern "C" {
    fn leveldb_open(_: LibraryHandle, _: *const c_char, _: *mut *mut c_char) -> LibraryHandle;
    fn leveldb_options_create() -> LibraryHandle;
    fn leveldb_options_destroy(_: LibraryHandle);
    fn leveldb_options_set_create_if_missing(_: LibraryHandle, _: c_uchar);
    fn leveldb_options_set_compression(_: LibraryHandle, _: c_int);
    fn leveldb_options_set_write_buffer_size(_: LibraryHandle, _: usize);
    fn leveldb_options_set_max_file_size(_: LibraryHandle, _: usize);
    fn leveldb_options_set_cache(_: LibraryHandle, _: LibraryHandle);
    fn leveldb_options_set_filter_policy(_: LibraryHandle, _: LibraryHandle);
    fn leveldb_cache_create_lru(_: usize) -> LibraryHandle;
    fn leveldb_filterpolicy_create_bloom(_: c_int) -> LibraryHandle;
}

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
    static FUNCTIONS: LogStructuredCalls = CALLS;
    let path = CString::new(directory.join("leveldb").as_os_str().as_bytes())?;
    let cache_bytes = usize::try_from(room.cache_bytes)?;
    let mut errors = Errors::new(&FUNCTIONS);
    // SAFETY: options are made, set and used as the header says; cache and filter live as long as
    // the process, which has one database.
    let database = unsafe {
        let options = leveldb_options_create();
        leveldb_options_set_create_if_missing(options, 1);
        leveldb_options_set_compression(options, compression);
        leveldb_options_set_write_buffer_size(
            options,
            (cache_bytes / 4).clamp(BUFFER_BYTES_MIN, BUFFER_BYTES),
        );
        leveldb_options_set_max_file_size(options, FILE_BYTES);
        leveldb_options_set_cache(options, leveldb_cache_create_lru(cache_bytes));
        let filter = leveldb_filterpolicy_create_bloom(BLOOM_BITS);
        leveldb_options_set_filter_policy(options, filter);
        let database = leveldb_open(options, path.as_ptr(), errors.out_pointer());
        leveldb_options_destroy(options);
        database
    };
    errors.check()?;
    let is_durable = durability == Durability::Durable;
    Ok(LogStructured::new(&FUNCTIONS, database, is_durable))
}
