//! Lookups of RocksDB that LevelDB lacks: without copying values, and of many keys at once.

use super::calls::{Errors, LibraryHandle, LogStructuredCalls};
use anyhow::Result;
use std::{ffi::c_char, ptr, slice};

#[link(name = "rocksdb")]
unsafe extern "C" {
    fn rocksdb_column_family_handle_destroy(_: LibraryHandle);
    fn rocksdb_get_pinned(
        _: LibraryHandle,
        _: LibraryHandle,
        _: *const c_char,
        _: usize,
        _: *mut *mut c_char,
    ) -> LibraryHandle;
    fn rocksdb_pinnableslice_value(_: LibraryHandle, _: *mut usize) -> *const c_char;
    fn rocksdb_pinnableslice_destroy(_: LibraryHandle);
    fn rocksdb_batched_multi_get_cf(
        _: LibraryHandle,
        _: LibraryHandle,
        _: LibraryHandle,
        _: usize,
        _: *const *const c_char,
        _: *const usize,
        _: *mut LibraryHandle,
        _: *mut *mut c_char,
        _: bool,
    );
}

/// Lookups that do not copy values.
pub(super) struct PinnedLookups {
    calls: &'static LogStructuredCalls,
    family: LibraryHandle,
}

impl Drop for PinnedLookups {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and the database is open until this is dropped.
        unsafe { rocksdb_column_family_handle_destroy(self.family) };
    }
}

impl PinnedLookups {
    /// Lookups in `family`, which is released with them.
    pub(super) fn new(calls: &'static LogStructuredCalls, family: LibraryHandle) -> Self {
        Self { calls, family }
    }

    pub(super) fn get(
        &self,
        database: LibraryHandle,
        options: LibraryHandle,
        key: &[u8],
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<bool> {
        let mut errors = Errors::new(self.calls);
        let start = key.as_ptr().cast::<c_char>();
        // SAFETY: database and options are valid, and the key has that length.
        let found = unsafe {
            rocksdb_get_pinned(database, options, start, key.len(), errors.out_pointer())
        };
        errors.check()?;
        Ok(show(found, see))
    }

    pub(super) fn get_many(
        &self,
        database: LibraryHandle,
        options: LibraryHandle,
        keys: &[&[u8]],
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        let starts: Vec<*const c_char> = keys.iter().map(|key| key.as_ptr().cast()).collect();
        let lens: Vec<usize> = keys.iter().map(|key| key.len()).collect();
        let mut values: Vec<LibraryHandle> = vec![ptr::null_mut(); keys.len()];
        let mut texts: Vec<*mut c_char> = vec![ptr::null_mut(); keys.len()];
        // SAFETY: all handles are valid, and the arrays of keys, lengths, values and errors have
        // the given length.
        unsafe {
            rocksdb_batched_multi_get_cf(
                database,
                options,
                self.family,
                keys.len(),
                starts.as_ptr(),
                lens.as_ptr(),
                values.as_mut_ptr(),
                texts.as_mut_ptr(),
                false,
            );
        }
        for (value, text) in values.into_iter().zip(texts) {
            show(value, see);
            let errors = Errors {
                text,
                free: self.calls.free,
            };
            errors.check()?;
        }
        Ok(())
    }
}

/// Passes the value to `see`, if there is one, and releases it.
fn show(found: LibraryHandle, see: &mut dyn FnMut(&[u8])) -> bool {
    if found.is_null() {
        return false;
    }
    let mut len = 0;
    // SAFETY: the library returned a value, which does not change until it is released, and which
    // this function owns.
    unsafe {
        let value = rocksdb_pinnableslice_value(found, &raw mut len);
        see(slice::from_raw_parts(value.cast::<u8>(), len));
        rocksdb_pinnableslice_destroy(found);
    }
    true
}
