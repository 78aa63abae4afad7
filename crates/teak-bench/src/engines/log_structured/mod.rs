//! RocksDB and LevelDB, through the C interfaces that they share. A batch serves as write
//! transaction, a snapshot as read transaction.
//!
//! Both have the same functions with different names; [`calls`] lists them. The lookups that only
//! RocksDB has are in [`pinned`].
//!
//! Invariants: handles are freed once, by the drop of their owner; snapshots and batches borrow the
//! database.

#![allow(unsafe_code)]

mod calls;
#[cfg(feature = "leveldb")]
pub(crate) mod leveldb;
#[cfg(feature = "rocksdb")]
mod pinned;
#[cfg(feature = "rocksdb")]
pub(crate) mod rocksdb;

use super::store::{
    Connection, LookupTransaction, Read, ScanDirection, Store, StorePair, Write, wait_until_quiet,
};
use anyhow::{Result, bail};
use calls::{Errors, LibraryHandle, LogStructuredCalls};
use std::{
    ffi::{CStr, c_char, c_uchar},
    ptr, slice,
};

/// An open database.
pub(crate) struct LogStructured {
    calls: &'static LogStructuredCalls,
    database: LibraryHandle,
    /// The options for writing commits.
    commits: LibraryHandle,
    /// The options for flushing everything written.
    sync: LibraryHandle,
    /// The options for reading without a snapshot.
    reads: LibraryHandle,
    /// RocksDB's own lookups; dropped before the database.
    #[cfg(feature = "rocksdb")]
    pinned: Option<pinned::PinnedLookups>,
}

// SAFETY: the libraries let threads use a database, and options that do not change, at the same
// time.
unsafe impl Sync for LogStructured {}

/// A snapshot, and the options for reading it.
pub(crate) struct LogStructuredRead<'s> {
    store: &'s LogStructured,
    snapshot: LibraryHandle,
    options: LibraryHandle,
}

/// A write transaction.
pub(crate) struct LogStructuredWrite<'s> {
    store: &'s LogStructured,
    batch: LibraryHandle,
}

impl LogStructured {
    fn new(calls: &'static LogStructuredCalls, database: LibraryHandle, is_durable: bool) -> Self {
        // SAFETY: creating options has no preconditions, and they exist when they are set.
        unsafe {
            let (commits, sync) = ((calls.writeoptions_create)(), (calls.writeoptions_create)());
            (calls.writeoptions_set_sync)(commits, c_uchar::from(is_durable));
            (calls.writeoptions_set_sync)(sync, 1);
            Self {
                calls,
                database,
                commits,
                sync,
                reads: (calls.readoptions_create)(),
                #[cfg(feature = "rocksdb")]
                pinned: None,
            }
        }
    }

    fn lookup(
        &self,
        options: LibraryHandle,
        key: &[u8],
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<bool> {
        #[cfg(feature = "rocksdb")]
        if let Some(pinned) = &self.pinned {
            return pinned.get(self.database, options, key, see);
        }
        let (mut errors, mut len) = (Errors::new(self.calls), 0);
        let (start, key_len) = (key.as_ptr().cast::<c_char>(), key.len());
        // SAFETY: database and options are valid, and the key has that length.
        let value = unsafe {
            (self.calls.get)(
                self.database,
                options,
                start,
                key_len,
                &raw mut len,
                errors.out_pointer(),
            )
        };
        errors.check()?;
        if value.is_null() {
            return Ok(false);
        }
        // SAFETY: the library gave memory of that length, which is ours to free.
        unsafe {
            see(slice::from_raw_parts(value.cast::<u8>(), len));
            (self.calls.free)(value.cast());
        }
        Ok(true)
    }

    fn write_batch(&self, options: LibraryHandle, batch: LibraryHandle) -> Result<()> {
        let mut errors = Errors::new(self.calls);
        // SAFETY: database, options and batch are valid.
        unsafe { (self.calls.write)(self.database, options, batch, errors.out_pointer()) };
        errors.check()
    }
}

impl Drop for LogStructured {
    fn drop(&mut self) {
        #[cfg(feature = "rocksdb")]
        drop(self.pinned.take());
        // SAFETY: all handles are valid, and nothing borrows the database any more.
        unsafe {
            (self.calls.readoptions_destroy)(self.reads);
            (self.calls.writeoptions_destroy)(self.commits);
            (self.calls.writeoptions_destroy)(self.sync);
            (self.calls.close)(self.database);
        }
    }
}

impl Store for LogStructured {
    type Connection<'s> = &'s LogStructured;

    fn connect(&self) -> Result<&Self> {
        Ok(self)
    }

    fn sync(&self) -> Result<()> {
        // A batch that waits for the disk flushes the earlier part of the log too.
        let mut connection = self;
        let batch = connection.write()?;
        self.write_batch(self.sync, batch.batch)
    }

    fn rest(&self) -> Result<()> {
        wait_until_quiet()
    }
}

impl Connection for &LogStructured {
    type Read<'r>
        = LogStructuredRead<'r>
    where
        Self: 'r;
    type Write<'w>
        = LogStructuredWrite<'w>
    where
        Self: 'w;

    fn read(&mut self) -> Result<LogStructuredRead<'_>> {
        // SAFETY: the database is open, and the snapshot lives as long as the options.
        unsafe {
            let snapshot = (self.calls.create_snapshot)(self.database);
            let options = (self.calls.readoptions_create)();
            (self.calls.readoptions_set_snapshot)(options, snapshot);
            Ok(LogStructuredRead {
                store: self,
                snapshot,
                options,
            })
        }
    }

    fn write(&mut self) -> Result<LogStructuredWrite<'_>> {
        Ok(LogStructuredWrite {
            store: self,
            // SAFETY: creating a batch has no preconditions.
            batch: unsafe { (self.calls.writebatch_create)() },
        })
    }
}

impl Drop for LogStructuredRead<'_> {
    fn drop(&mut self) {
        let calls = self.store.calls;
        // SAFETY: both are valid, and nothing uses them any more.
        unsafe {
            (calls.readoptions_destroy)(self.options);
            (calls.release_snapshot)(self.store.database, self.snapshot);
        }
    }
}

impl LookupTransaction for LogStructuredRead<'_> {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        self.store.lookup(self.options, key, &mut see)
    }
}

impl Read for LogStructuredRead<'_> {
    fn get_many(&mut self, keys: &[&[u8]], mut see: impl FnMut(&[u8])) -> Result<()> {
        #[cfg(feature = "rocksdb")]
        if let Some(pinned) = &self.store.pinned {
            return pinned.get_many(self.store.database, self.options, keys, &mut see);
        }
        keys.iter()
            .try_for_each(|key| self.get(key, &mut see).map(drop))
    }

    fn scan(
        &mut self,
        direction: ScanDirection<'_>,
        most: u64,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let calls = self.store.calls;
        // SAFETY: database and options are valid; the iterator lives until the end of this
        // function.
        let cursor = unsafe { (calls.create_iterator)(self.store.database, self.options) };
        // SAFETY: the iterator is valid; the bytes it points to do not change until it moves.
        unsafe {
            match direction {
                ScanDirection::Forwards => (calls.iter_seek_to_first)(cursor),
                ScanDirection::Backwards => (calls.iter_seek_to_last)(cursor),
                ScanDirection::From(key) => {
                    (calls.iter_seek)(cursor, key.as_ptr().cast(), key.len())
                }
            }
            let mut left = most;
            while left > 0 && (calls.iter_valid)(cursor) != 0 {
                let (mut key_len, mut value_len) = (0, 0);
                let key = (calls.iter_key)(cursor, &raw mut key_len);
                let value = (calls.iter_value)(cursor, &raw mut value_len);
                see(
                    slice::from_raw_parts(key.cast::<u8>(), key_len),
                    slice::from_raw_parts(value.cast::<u8>(), value_len),
                );
                left -= 1;
                match direction {
                    ScanDirection::Backwards => (calls.iter_prev)(cursor),
                    ScanDirection::Forwards | ScanDirection::From(_) => (calls.iter_next)(cursor),
                }
            }
            let mut errors = Errors::new(calls);
            (calls.iter_get_error)(cursor, errors.out_pointer());
            (calls.iter_destroy)(cursor);
            errors.check()
        }
    }
}

impl Drop for LogStructuredWrite<'_> {
    fn drop(&mut self) {
        // SAFETY: the batch is valid, and nothing uses it any more.
        unsafe { (self.store.calls.writebatch_destroy)(self.batch) };
    }
}

impl LookupTransaction for LogStructuredWrite<'_> {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        self.store.lookup(self.store.reads, key, &mut see)
    }
}

impl Write for LogStructuredWrite<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (start, value_start) = (key.as_ptr().cast(), value.as_ptr().cast());
        let put = self.store.calls.writebatch_put;
        // SAFETY: the batch is valid; it copies key and value, which have these lengths.
        unsafe { put(self.batch, start, key.len(), value_start, value.len()) };
        Ok(())
    }

    fn put_all(&mut self, records: &[StorePair<'_>]) -> Result<()> {
        records
            .iter()
            .try_for_each(|(key, value)| self.put(key, value))
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        let delete = self.store.calls.writebatch_delete;
        // SAFETY: the batch is valid; it copies the key, which has that length.
        unsafe { delete(self.batch, key.as_ptr().cast(), key.len()) };
        Ok(())
    }

    fn commit(self) -> Result<()> {
        self.store.write_batch(self.store.commits, self.batch)
    }
}

impl Errors {
    fn new(calls: &'static LogStructuredCalls) -> Self {
        Self {
            text: ptr::null_mut(),
            free: calls.free,
        }
    }

    /// The pointer at which the library stores its error text.
    fn out_pointer(&mut self) -> *mut *mut c_char {
        &raw mut self.text
    }

    fn check(self) -> Result<()> {
        if self.text.is_null() {
            return Ok(());
        }
        // SAFETY: the library wrote a text that ends with a zero byte, and is ours to free.
        let text = unsafe {
            let text = CStr::from_ptr(self.text).to_string_lossy().into_owned();
            (self.free)(self.text.cast());
            text
        };
        bail!(text)
    }
}
