//! Calls for tables with several values per key, with nested transactions and cursors that write.

use super::{
    MdbxCursor, MdbxEnvironment, MdbxTransaction, RECORDS, as_slice, begin_within, borrowed, check,
};
use anyhow::{Result, ensure};
use mdbx_sys as ffi;
use std::{ffi::c_void, mem::MaybeUninit, ptr};

impl<'e> MdbxTransaction<'e> {
    /// Begins a nested transaction; committing it keeps its changes.
    pub(in super::super) fn nested(&mut self) -> Result<MdbxTransaction<'_>> {
        let environment: &MdbxEnvironment = self.environment;
        begin_within(environment, self.handle.as_ptr(), ffi::MDBX_TXN_READWRITE)
    }

    /// Opens a cursor that writes, without a position.
    pub(in super::super) fn write_cursor(&mut self) -> Result<MdbxWriteCursor<'_>> {
        Ok(MdbxWriteCursor(self.cursor()?))
    }

    /// The number of pairs or records that the table stores.
    pub(in super::super) fn len(&self) -> Result<u64> {
        let mut stat = MaybeUninit::<ffi::MDBX_stat>::zeroed();
        let (out, size) = (stat.as_mut_ptr(), size_of::<ffi::MDBX_stat>());
        // SAFETY: the transaction is live, and `stat` is memory of that size for the result.
        check(unsafe { ffi::mdbx_dbi_stat(self.handle.as_ptr(), RECORDS, out, size) })?;
        // SAFETY: it is made of numbers, all of which were zero before the call filled them.
        Ok(unsafe { stat.assume_init() }.ms_entries)
    }

    /// Removes all records.
    pub(in super::super) fn clear(&mut self) -> Result<()> {
        // SAFETY: the transaction runs, and no slice or cursor of it is held.
        check(unsafe { ffi::mdbx_drop(self.handle.as_ptr(), RECORDS, false) })
    }

    /// Estimates the number of records from `low` to before `high`.
    #[inline]
    pub(in super::super) fn estimate_range(&self, low: &[u8], high: &[u8]) -> Result<u64> {
        let (low, high, mut about) = (borrowed(low), borrowed(high), 0);
        let (handle, no_value) = (self.handle.as_ptr(), ptr::null());
        let (begin, end) = (&raw const low, &raw const high);
        // SAFETY: the transaction is live; libmdbx reads the keys, and `about` is memory for the
        // result.
        check(unsafe {
            ffi::mdbx_estimate_range(
                handle,
                RECORDS,
                begin,
                no_value,
                end,
                no_value,
                &raw mut about,
            )
        })?;
        Ok(about.unsigned_abs() as u64)
    }

    /// Removes records from `low` to before `high`, which are keys of records, and returns their
    /// number.
    pub(in super::super) fn remove_range(&mut self, low: &[u8], high: &[u8]) -> Result<u64> {
        let transaction: &Self = self;
        let (mut begin, mut end) = (transaction.cursor()?, transaction.cursor()?);
        ensure!(
            begin.find_key(low)? && end.find_key(high)?,
            "a range to remove does not begin and end with a record"
        );
        let (begin, end, mut removed) = (begin.handle, end.handle, 0);
        let (is_end_removed, out) = (false, &raw mut removed);
        // SAFETY: both cursors are live and of this transaction, no slice of it is held, and
        // `removed` is memory for the result.
        check(unsafe {
            ffi::mdbx_cursor_delete_range(begin.as_ptr(), end.as_ptr(), is_end_removed, out)
        })?;
        Ok(removed)
    }
}

impl<'t> MdbxCursor<'t> {
    /// Moves to the first record at or after `key`; `None` if there is none.
    pub(in super::super) fn seek(&mut self, key: &[u8]) -> Result<Option<(&'t [u8], &'t [u8])>> {
        let (mut key, mut value) = (borrowed(key), borrowed(&[]));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live; libmdbx reads the given key and writes
        // only to `key` and `value`.
        let code = unsafe {
            ffi::mdbx_cursor_get(handle, &raw mut key, &raw mut value, ffi::MDBX_SET_RANGE)
        };
        if code == ffi::MDBX_NOTFOUND {
            return Ok(None);
        }
        check(code)?;
        // SAFETY: the call succeeded, and the slices borrow the transaction.
        Ok(Some(unsafe { (as_slice(key), as_slice(value)) }))
    }

    /// Moves to the first value of `key`; returns whether it exists.
    #[inline]
    pub(in super::super) fn find_key(&mut self, key: &[u8]) -> Result<bool> {
        self.find(key, &[], ffi::MDBX_SET)
    }

    /// Moves to a pair; returns whether it exists.
    #[inline]
    pub(in super::super) fn find_pair(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.find(key, value, ffi::MDBX_GET_BOTH)
    }

    #[inline]
    fn find(&mut self, key: &[u8], value: &[u8], flags: ffi::MDBX_cursor_op) -> Result<bool> {
        let (mut key, mut value) = (borrowed(key), borrowed(value));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live; libmdbx reads key and value, and writes
        // only to `key` and `value`.
        match unsafe { ffi::mdbx_cursor_get(handle, &raw mut key, &raw mut value, flags) } {
            ffi::MDBX_NOTFOUND => Ok(false),
            code => check(code).map(|()| true),
        }
    }

    /// The number of values of the current key.
    #[inline]
    pub(in super::super) fn count(&self) -> Result<u64> {
        let mut count = 0;
        // SAFETY: the cursor and its transaction are live, and `count` is memory for the result.
        check(unsafe { ffi::mdbx_cursor_count(self.handle.as_ptr(), &raw mut count) })?;
        Ok(count as u64)
    }

    /// The values from the current one, which is `first`, to the end of their page. libmdbx returns
    /// nothing for a key with one value.
    #[inline]
    pub(in super::super) fn packed(&mut self, first: &'t [u8]) -> Result<&'t [u8]> {
        let packed = self.multiple(first, ffi::MDBX_GET_MULTIPLE)?;
        Ok(packed.unwrap_or(first))
    }

    /// The values of the next page of the same key, if there is one.
    #[inline]
    pub(in super::super) fn next_packed(&mut self) -> Result<Option<&'t [u8]>> {
        self.multiple(&[], ffi::MDBX_NEXT_MULTIPLE)
    }

    #[inline]
    fn multiple(
        &mut self,
        first: &'t [u8],
        flags: ffi::MDBX_cursor_op,
    ) -> Result<Option<&'t [u8]>> {
        let (mut key, mut value) = (borrowed(&[]), borrowed(first));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live; libmdbx writes only to `key` and
        // `value`.
        match unsafe { ffi::mdbx_cursor_get(handle, &raw mut key, &raw mut value, flags) } {
            ffi::MDBX_NOTFOUND => Ok(None),
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
pub(in super::super) struct MdbxWriteCursor<'t>(MdbxCursor<'t>);

impl MdbxWriteCursor<'_> {
    /// Adds adjacent values of `size` bytes to `key`.
    pub(in super::super) fn put_packed(
        &mut self,
        key: &[u8],
        values: &[u8],
        size: usize,
    ) -> Result<()> {
        let mut key = borrowed(key);
        let mut data = [
            ffi::MDBX_val {
                iov_len: size,
                iov_base: values.as_ptr().cast::<c_void>().cast_mut(),
            },
            ffi::MDBX_val {
                iov_len: values.len() / size,
                iov_base: ptr::null_mut(),
            },
        ];
        let handle = self.0.handle.as_ptr();
        // SAFETY: cursor and transaction are live; libmdbx reads the key and that many values, and
        // writes to the second part of `data`.
        check(unsafe {
            ffi::mdbx_cursor_put(handle, &raw mut key, data.as_mut_ptr(), ffi::MDBX_MULTIPLE)
        })
    }
}
