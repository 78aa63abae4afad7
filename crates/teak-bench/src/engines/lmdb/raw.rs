//! The required part of LMDB's C interface, with lifetimes added.
//!
//! Invariants: an [`LmdbEnvironment`] is open from its creation to its drop. Each transaction
//! borrows it, and each cursor borrows its transaction, so that they end in the order that LMDB
//! requires. Slices from LMDB borrow the transaction, and a write transaction changes only through
//! `&mut`, so that no slice is held across a change. Threads may share an environment. Everything
//! else stays in its thread, because LMDB ties a transaction to it.

#![allow(unsafe_code)]

mod pairs;

use anyhow::{Context, Result, bail, ensure};
use lmdb_master_sys as ffi;
use std::{
    ffi::{CStr, CString, c_int, c_uint, c_void},
    mem::ManuallyDrop,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::{self, NonNull},
    slice,
};

const FILE_MODE: ffi::mdb_mode_t = 0o644;

/// The access of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LmdbAccess {
    Read,
    Write,
    /// A commit does not wait for the disk.
    WriteLazily,
}

/// The two tables that each environment has.
#[derive(Clone, Copy, Debug)]
pub(super) enum LmdbTable {
    /// Number 0: the pages that may be used again.
    FreeList = 0,
    /// Number 1: the unnamed database, where the records are.
    Records = 1,
}

/// A movement of a cursor.
#[derive(Clone, Copy, Debug)]
pub(super) enum LmdbMove {
    /// To the next record, or the first if the cursor has no position.
    Next,
    /// To the previous record, or the last if the cursor has no position.
    Previous,
    /// To the next key, past all values of the current one.
    NextKey,
}

/// Options for opening an environment.
#[derive(Clone, Copy, Debug)]
pub(super) struct LmdbSettings {
    pub(super) flags: c_uint,
    /// The maximum size of the file.
    pub(super) map_bytes: usize,
    /// The number of reader slots, if not the default.
    pub(super) max_readers: Option<u32>,
    /// The flags of the unnamed database.
    pub(super) table_flags: c_uint,
}

/// An open environment.
pub(crate) struct LmdbEnvironment {
    handle: NonNull<ffi::MDB_env>,
}

// SAFETY: LMDB lets threads begin transactions on one environment at the same time; it has locks of
// its own.
unsafe impl Sync for LmdbEnvironment {}

impl LmdbEnvironment {
    /// Opens the environment at `path`, or creates it.
    pub(super) fn open(path: &Path, settings: &LmdbSettings) -> Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is memory for the new handle.
        check(unsafe { ffi::mdb_env_create(&raw mut handle) })?;
        let handle = NonNull::new(handle).context("LMDB gave no environment")?;
        // From here on the drop closes it, even if opening fails, as LMDB requires.
        let environment = Self { handle };
        // SAFETY: the handle is live and not yet open.
        check(unsafe { ffi::mdb_env_set_mapsize(handle.as_ptr(), settings.map_bytes) })?;
        if let Some(readers) = settings.max_readers {
            // SAFETY: the handle is live and not yet open.
            check(unsafe { ffi::mdb_env_set_maxreaders(handle.as_ptr(), readers) })?;
        }
        let flags = settings.flags;
        // SAFETY: the handle is live and not yet open, and the path ends with a zero byte.
        check(unsafe { ffi::mdb_env_open(handle.as_ptr(), path.as_ptr(), flags, FILE_MODE) })?;
        environment
            .begin(LmdbAccess::Write)?
            .prepare(settings.table_flags)?;
        Ok(environment)
    }

    /// Begins a transaction.
    #[inline]
    pub(super) fn begin(&self, access: LmdbAccess) -> Result<LmdbTransaction<'_>> {
        let flags = match access {
            LmdbAccess::Read => ffi::MDB_RDONLY,
            LmdbAccess::Write => 0,
            LmdbAccess::WriteLazily => ffi::MDB_NOSYNC,
        };
        begin_within(self, ptr::null_mut(), flags)
    }

    /// Flushes all commits.
    pub(super) fn sync(&self) -> Result<()> {
        // SAFETY: the environment is open.
        check(unsafe { ffi::mdb_env_sync(self.handle.as_ptr(), 1) })
    }

    /// Copies the newest state to a new file.
    pub(super) fn copy(&self, target: &Path, flags: c_uint) -> Result<()> {
        let target = CString::new(target.as_os_str().as_bytes())?;
        // SAFETY: the environment is open, and the path ends with a zero byte.
        check(unsafe { ffi::mdb_env_copy2(self.handle.as_ptr(), target.as_ptr(), flags) })
    }

    /// The sizes of the map and of its used part.
    pub(super) fn info(&self) -> Result<ffi::MDB_envinfo> {
        let mut info = ffi::MDB_envinfo {
            me_mapaddr: ptr::null_mut(),
            me_mapsize: 0,
            me_last_pgno: 0,
            me_last_txnid: 0,
            me_maxreaders: 0,
            me_numreaders: 0,
        };
        // SAFETY: the environment is open, and `info` is memory for the result.
        check(unsafe { ffi::mdb_env_info(self.handle.as_ptr(), &raw mut info) })?;
        Ok(info)
    }

    /// Page size and shape of the tree.
    pub(super) fn stat(&self) -> Result<ffi::MDB_stat> {
        let mut stat = ffi::MDB_stat {
            ms_psize: 0,
            ms_depth: 0,
            ms_branch_pages: 0,
            ms_leaf_pages: 0,
            ms_overflow_pages: 0,
            ms_entries: 0,
        };
        // SAFETY: the environment is open, and `stat` is memory for the result.
        check(unsafe { ffi::mdb_env_stat(self.handle.as_ptr(), &raw mut stat) })?;
        Ok(stat)
    }
}

impl Drop for LmdbEnvironment {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and everything that borrowed it has ended.
        unsafe { ffi::mdb_env_close(self.handle.as_ptr()) }
    }
}

/// A running transaction; dropping it aborts it.
pub(crate) struct LmdbTransaction<'e> {
    handle: NonNull<ffi::MDB_txn>,
    environment: &'e LmdbEnvironment,
}

impl<'e> LmdbTransaction<'e> {
    /// The value of `key`.
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        let (mut key, mut value) = (borrowed(key), borrowed(&[]));
        let (handle, table) = (self.handle.as_ptr(), LmdbTable::Records as c_uint);
        // SAFETY: the transaction is live; LMDB reads the key and writes only to `value`.
        match unsafe { ffi::mdb_get(handle, table, &raw mut key, &raw mut value) } {
            ffi::MDB_NOTFOUND => Ok(None),
            code => {
                check(code)?;
                // SAFETY: the call succeeded, and the slice borrows the transaction.
                Ok(Some(unsafe { as_slice(value) }))
            }
        }
    }

    /// Inserts or replaces a record.
    #[inline]
    pub(super) fn put(&mut self, key: &[u8], value: &[u8], flags: c_uint) -> Result<()> {
        let (mut key, mut value) = (borrowed(key), borrowed(value));
        let (handle, table) = (self.handle.as_ptr(), LmdbTable::Records as c_uint);
        // SAFETY: the transaction runs; without `MDB_RESERVE` LMDB only reads key and value.
        check(unsafe { ffi::mdb_put(handle, table, &raw mut key, &raw mut value, flags) })
    }

    /// Removes an existing record.
    pub(super) fn remove(&mut self, key: &[u8]) -> Result<()> {
        let mut key = borrowed(key);
        let (handle, table) = (self.handle.as_ptr(), LmdbTable::Records as c_uint);
        // SAFETY: the transaction runs; LMDB only reads the key, and is given no value.
        check(unsafe { ffi::mdb_del(handle, table, &raw mut key, ptr::null_mut()) })
    }

    /// Opens the unnamed database, whose order LMDB fixes when it is first opened, and ends the
    /// transaction.
    fn prepare(self, flags: c_uint) -> Result<()> {
        let mut table = 0;
        let (handle, no_name) = (self.handle.as_ptr(), ptr::null());
        // SAFETY: the transaction is live; no name means the unnamed database, and `table` is
        // memory for its number.
        check(unsafe { ffi::mdb_dbi_open(handle, no_name, flags, &raw mut table) })?;
        ensure!(
            table == LmdbTable::Records as c_uint,
            "LMDB numbers its tables otherwise than it did"
        );
        self.commit()
    }

    /// Commits.
    pub(super) fn commit(self) -> Result<()> {
        let transaction = ManuallyDrop::new(self);
        // SAFETY: the transaction is live, and is forgotten, since the handle is invalid even if
        // committing fails.
        check(unsafe { ffi::mdb_txn_commit(transaction.handle.as_ptr()) })
    }

    /// Ends a read transaction and keeps its handle for another.
    #[inline]
    pub(super) fn reset(self) -> LmdbResetTransaction<'e> {
        // SAFETY: the transaction runs; taking `self` ended every slice and cursor of it.
        unsafe { ffi::mdb_txn_reset(self.handle.as_ptr()) };
        LmdbResetTransaction { transaction: self }
    }

    /// Opens a cursor without a position.
    pub(super) fn cursor(&self, table: LmdbTable) -> Result<LmdbCursor<'_>> {
        let mut handle = ptr::null_mut();
        let (transaction, table) = (self.handle.as_ptr(), table as c_uint);
        // SAFETY: the transaction is live, both tables are always open, and `handle` is memory for
        // the new one.
        check(unsafe { ffi::mdb_cursor_open(transaction, table, &raw mut handle) })?;
        let handle = NonNull::new(handle).context("LMDB gave no cursor")?;
        Ok(LmdbCursor {
            handle,
            _transaction: self,
        })
    }
}

impl Drop for LmdbTransaction<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle is live (running, or at rest), and everything that borrowed it has
        // ended.
        unsafe { ffi::mdb_txn_abort(self.handle.as_ptr()) }
    }
}

/// A read transaction that has ended and can be taken up again.
pub(super) struct LmdbResetTransaction<'e> {
    transaction: LmdbTransaction<'e>,
}

impl<'e> LmdbResetTransaction<'e> {
    /// Renews the transaction with the newest snapshot.
    #[inline]
    pub(super) fn renew(self) -> Result<LmdbTransaction<'e>> {
        // SAFETY: the handle is live and was reset.
        check(unsafe { ffi::mdb_txn_renew(self.transaction.handle.as_ptr()) })?;
        Ok(self.transaction)
    }
}

/// A cursor over one table.
pub(super) struct LmdbCursor<'t> {
    handle: NonNull<ffi::MDB_cursor>,
    _transaction: &'t LmdbTransaction<'t>,
}

impl<'t> LmdbCursor<'t> {
    /// Moves, and returns the record there, or `None` after the last.
    #[inline]
    pub(super) fn go(&mut self, to: LmdbMove) -> Result<Option<(&'t [u8], &'t [u8])>> {
        let to = match to {
            LmdbMove::Next => ffi::MDB_NEXT,
            LmdbMove::Previous => ffi::MDB_PREV,
            LmdbMove::NextKey => ffi::MDB_NEXT_NODUP,
        };
        let (mut key, mut value) = (borrowed(&[]), borrowed(&[]));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live; LMDB writes only to `key` and `value`.
        match unsafe { ffi::mdb_cursor_get(handle, &raw mut key, &raw mut value, to) } {
            ffi::MDB_NOTFOUND => Ok(None),
            code => {
                check(code)?;
                // SAFETY: the call succeeded, and the slices borrow the transaction.
                Ok(Some(unsafe { (as_slice(key), as_slice(value)) }))
            }
        }
    }
}

impl Drop for LmdbCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and so is its transaction, which it borrows.
        unsafe { ffi::mdb_cursor_close(self.handle.as_ptr()) }
    }
}

/// Begins a transaction, nested in `parent` unless that is null. A parent is live, and not used
/// while this transaction is.
#[inline]
fn begin_within(
    environment: &LmdbEnvironment,
    parent: *mut ffi::MDB_txn,
    flags: c_uint,
) -> Result<LmdbTransaction<'_>> {
    let (mut handle, open) = (ptr::null_mut(), environment.handle.as_ptr());
    // SAFETY: the environment is open, a parent is as the caller promises, and `handle` is memory
    // for the new handle.
    check(unsafe { ffi::mdb_txn_begin(open, parent, flags, &raw mut handle) })?;
    let handle = NonNull::new(handle).context("LMDB gave no transaction")?;
    Ok(LmdbTransaction {
        handle,
        environment,
    })
}

/// LMDB's form of a slice, for calls that only read it.
#[inline]
fn borrowed(bytes: &[u8]) -> ffi::MDB_val {
    ffi::MDB_val {
        mv_size: bytes.len(),
        mv_data: bytes.as_ptr().cast::<c_void>().cast_mut(),
    }
}

/// The bytes that LMDB points to.
///
/// # Safety
///
/// A successful call wrote `value`, and `'a` ends before the transaction ends or changes anything.
#[inline]
unsafe fn as_slice<'a>(value: ffi::MDB_val) -> &'a [u8] {
    if value.mv_size == 0 {
        return &[];
    }
    // SAFETY: LMDB points to that many bytes of its map, which do not change as long as the caller
    // promises.
    unsafe { slice::from_raw_parts(value.mv_data.cast::<u8>(), value.mv_size) }
}

/// Turns LMDB's codes into errors.
#[inline]
fn check(code: c_int) -> Result<()> {
    if code == ffi::MDB_SUCCESS {
        Ok(())
    } else {
        failed(code)
    }
}

#[cold]
fn failed(code: c_int) -> Result<()> {
    // SAFETY: LMDB returns a string for every code, which is valid forever, or until the next call
    // on this thread.
    let text = unsafe { CStr::from_ptr(ffi::mdb_strerror(code)) };
    bail!("LMDB: {} (code {code})", text.to_string_lossy())
}
