//! Calls for tables with several values per key, with nested transactions and cursors that write.

use super::{
    LmdbCursor, LmdbEnvironment, LmdbMove, LmdbTable, LmdbTransaction, as_slice, begin_within,
    borrowed, check,
};
use anyhow::Result;
use lmdb_master_sys as ffi;
use std::ffi::{c_uint, c_void};

impl<'e> LmdbTransaction<'e> {
    /// Begins a nested transaction; committing it keeps its changes.
    pub(in super::super) fn nested(&mut self) -> Result<LmdbTransaction<'_>> {
        let environment: &LmdbEnvironment = self.environment;
        begin_within(environment, self.handle.as_ptr(), 0)
    }

    /// Opens a cursor that writes, without a position.
    pub(in super::super) fn write_cursor(&mut self) -> Result<LmdbWriteCursor<'_>> {
        Ok(LmdbWriteCursor(self.cursor(LmdbTable::Records)?))
    }

    /// The number of pairs or records that the table stores.
    pub(in super::super) fn len(&self) -> Result<u64> {
        let mut stat = ffi::MDB_stat {
            ms_psize: 0,
            ms_depth: 0,
            ms_branch_pages: 0,
            ms_leaf_pages: 0,
            ms_overflow_pages: 0,
            ms_entries: 0,
        };
        let (handle, table) = (self.handle.as_ptr(), LmdbTable::Records as c_uint);
        // SAFETY: the transaction is live, and `stat` is memory for the result.
        check(unsafe { ffi::mdb_stat(handle, table, &raw mut stat) })?;
        Ok(stat.ms_entries as u64)
    }

    /// Removes all records.
    pub(in super::super) fn clear(&mut self) -> Result<()> {
        let (handle, table) = (self.handle.as_ptr(), LmdbTable::Records as c_uint);
        // SAFETY: the transaction runs, and no slice or cursor of it is held.
        check(unsafe { ffi::mdb_drop(handle, table, 0) })
    }
}

impl<'t> LmdbCursor<'t> {
    /// Moves to the first record at or after `key`; `None` if there is none.
    pub(in super::super) fn seek(&mut self, key: &[u8]) -> Result<Option<(&'t [u8], &'t [u8])>> {
        let (mut key, mut value) = (borrowed(key), borrowed(&[]));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live; LMDB reads the given key and writes only
        // to `key` and `value`.
        let code = unsafe {
            ffi::mdb_cursor_get(handle, &raw mut key, &raw mut value, ffi::MDB_SET_RANGE)
        };
        if code == ffi::MDB_NOTFOUND {
            return Ok(None);
        }
        check(code)?;
        // SAFETY: the call succeeded, and the slices borrow the transaction.
        Ok(Some(unsafe { (as_slice(key), as_slice(value)) }))
    }

    /// Moves to the first value of `key`; returns whether it exists.
    #[inline]
    pub(in super::super) fn find_key(&mut self, key: &[u8]) -> Result<bool> {
        self.find(key, &[], ffi::MDB_SET)
    }

    /// Moves to a pair; returns whether it exists.
    #[inline]
    pub(in super::super) fn find_pair(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.find(key, value, ffi::MDB_GET_BOTH)
    }

    #[inline]
    fn find(&mut self, key: &[u8], value: &[u8], flags: ffi::MDB_cursor_op) -> Result<bool> {
        let (mut key, mut value) = (borrowed(key), borrowed(value));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live; LMDB reads key and value, and writes
        // only to `key` and `value`.
        match unsafe { ffi::mdb_cursor_get(handle, &raw mut key, &raw mut value, flags) } {
            ffi::MDB_NOTFOUND => Ok(false),
            code => check(code).map(|()| true),
        }
    }

    /// The number of values of the current key.
    #[inline]
    pub(in super::super) fn count(&self) -> Result<u64> {
        let mut count = 0;
        // SAFETY: the cursor and its transaction are live, and `count` is memory for the result.
        check(unsafe { ffi::mdb_cursor_count(self.handle.as_ptr(), &raw mut count) })?;
        Ok(count as u64)
    }

    /// The values from the current one, which is `first`, to the end of their page. LMDB returns
    /// nothing for a key with one value.
    #[inline]
    pub(in super::super) fn packed(&mut self, first: &'t [u8]) -> Result<&'t [u8]> {
        let packed = self.multiple(first, ffi::MDB_GET_MULTIPLE)?;
        Ok(packed.unwrap_or(first))
    }

    /// The values of the next page of the same key, if there is one.
    #[inline]
    pub(in super::super) fn next_packed(&mut self) -> Result<Option<&'t [u8]>> {
        self.multiple(&[], ffi::MDB_NEXT_MULTIPLE)
    }

    #[inline]
    fn multiple(&mut self, first: &'t [u8], flags: ffi::MDB_cursor_op) -> Result<Option<&'t [u8]>> {
        let (mut key, mut value) = (borrowed(&[]), borrowed(first));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live; LMDB writes only to `key` and `value`.
        match unsafe { ffi::mdb_cursor_get(handle, &raw mut key, &raw mut value, flags) } {
            ffi::MDB_NOTFOUND => Ok(None),
            code => {
                check(code)?;
                // SAFETY: the call succeeded; the slice, or `first` if nothing was written, borrows
                // the transaction.
                Ok(Some(unsafe { as_slice(value) }))
            }
        }
    }
}

/// A cursor of a write transaction. It returns no slices, since its changes may move them.
pub(in super::super) struct LmdbWriteCursor<'t>(LmdbCursor<'t>);

impl LmdbWriteCursor<'_> {
    /// Adds adjacent values of `size` bytes to `key`.
    pub(in super::super) fn put_packed(
        &mut self,
        key: &[u8],
        values: &[u8],
        size: usize,
    ) -> Result<()> {
        let mut key = borrowed(key);
        let mut data = [
            ffi::MDB_val {
                mv_size: size,
                mv_data: values.as_ptr().cast::<c_void>().cast_mut(),
            },
            ffi::MDB_val {
                mv_size: values.len() / size,
                mv_data: std::ptr::null_mut(),
            },
        ];
        let handle = self.0.handle.as_ptr();
        // SAFETY: cursor and transaction are live; LMDB reads the key and that many values, and
        // writes to the second part of `data`.
        check(unsafe {
            ffi::mdb_cursor_put(handle, &raw mut key, data.as_mut_ptr(), ffi::MDB_MULTIPLE)
        })
    }

    /// Removes records from `low` to before `high` one by one, and returns their number.
    pub(in super::super) fn remove_range(&mut self, low: &[u8], high: &[u8]) -> Result<u64> {
        let (mut found, mut removed) = (self.0.seek(low)?, 0);
        while found.is_some_and(|(key, _)| key < high) {
            // SAFETY: cursor and transaction are live, and no slice from them is used any more.
            check(unsafe { ffi::mdb_cursor_del(self.0.handle.as_ptr(), 0) })?;
            removed += 1;
            found = self.0.go(LmdbMove::Next)?;
        }
        Ok(removed)
    }
}
