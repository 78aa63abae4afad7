//! LMDB, through its C functions.
//!
//! Invariants: an environment is open from its creation to its drop. A transaction ends on the
//! thread that began it, and no slice of it is held beyond its end.

#![allow(unsafe_code)]

use super::{
    connection::{Change, Peer, RecordVisitor},
    engine::Engine,
};
use anyhow::{Context, Result, bail};
use lmdb_master_sys as ffi;
use std::{
    ffi::{CStr, CString, c_int, c_uint, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::{self, NonNull},
    slice,
};

const FILE_MODE: ffi::mdb_mode_t = 0o644;
const MAP_BYTES: usize = 64 << 20;

/// An open environment.
pub(super) struct LmdbEnvironment {
    handle: NonNull<ffi::MDB_env>,
}

impl LmdbEnvironment {
    /// Opens the environment in the file at `path`, or creates it.
    pub(super) fn open(path: &Path, engine: Engine) -> Result<Self> {
        let sync = match engine {
            Engine::LmdbNosync => ffi::MDB_NOSYNC,
            Engine::LmdbNometasync => ffi::MDB_NOMETASYNC,
            _ => 0,
        };
        let flags = ffi::MDB_NOSUBDIR | ffi::MDB_NORDAHEAD | sync;
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is memory for the new handle.
        check(unsafe { ffi::mdb_env_create(&raw mut handle) })?;
        let handle = NonNull::new(handle).context("LMDB returned no environment")?;
        // From here on the drop closes it, even if opening fails, as LMDB requires.
        let environment = Self { handle };
        // SAFETY: the handle is live and not yet open.
        check(unsafe { ffi::mdb_env_set_mapsize(handle.as_ptr(), MAP_BYTES) })?;
        // SAFETY: the handle is live and not yet open, and the path ends with a zero byte.
        check(unsafe { ffi::mdb_env_open(handle.as_ptr(), path.as_ptr(), flags, FILE_MODE) })?;
        Ok(environment)
    }

    fn begin(&self, flags: c_uint) -> Result<LmdbTransaction> {
        let mut handle = ptr::null_mut();
        let (environment, no_parent) = (self.handle.as_ptr(), ptr::null_mut());
        // SAFETY: the environment is open, and `handle` is memory for the new handle.
        check(unsafe { ffi::mdb_txn_begin(environment, no_parent, flags, &raw mut handle) })?;
        let handle = NonNull::new(handle).context("LMDB returned no transaction")?;
        let mut transaction = LmdbTransaction {
            handle,
            table: 0,
            is_running: true,
        };
        let table = &raw mut transaction.table;
        // SAFETY: the transaction is live; no name means the unnamed database, and `table` is
        // memory for its number.
        check(unsafe { ffi::mdb_dbi_open(handle.as_ptr(), ptr::null(), 0, table) })?;
        Ok(transaction)
    }
}

impl Drop for LmdbEnvironment {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and no transaction outlives the call that began it.
        unsafe { ffi::mdb_env_close(self.handle.as_ptr()) }
    }
}

impl Peer for LmdbEnvironment {
    fn commit(&self, changes: &[Change]) -> Result<()> {
        let mut transaction = self.begin(0)?;
        for change in changes {
            transaction.make(change)?;
        }
        transaction.is_running = false;
        // SAFETY: the transaction is live, and is not used again, because the handle is invalid
        // even if committing fails.
        check(unsafe { ffi::mdb_txn_commit(transaction.handle.as_ptr()) })
    }

    fn sync(&self) -> Result<()> {
        let force = 1;
        // SAFETY: the environment is open.
        check(unsafe { ffi::mdb_env_sync(self.handle.as_ptr(), force) })
    }

    fn visit(&self, visit: &mut RecordVisitor<'_>) -> Result<()> {
        let transaction = self.begin(ffi::MDB_RDONLY)?;
        let cursor = LmdbCursor::open(&transaction)?;
        let (mut key, mut value) = (borrowed(&[]), borrowed(&[]));
        loop {
            let (at, key_out, value_out) = (cursor.handle, &raw mut key, &raw mut value);
            // SAFETY: the cursor and its transaction are live; LMDB writes only to `key` and
            // `value`.
            match unsafe { ffi::mdb_cursor_get(at, key_out, value_out, ffi::MDB_NEXT) } {
                ffi::MDB_NOTFOUND => return Ok(()),
                code => check(code)?,
            }
            // SAFETY: the call succeeded, and the transaction runs until both were visited.
            let (key, value) = unsafe { (as_slice(&key), as_slice(&value)) };
            visit(key, value)?;
        }
    }
}

/// A transaction. It is aborted on drop unless it was committed.
struct LmdbTransaction {
    handle: NonNull<ffi::MDB_txn>,
    /// The unnamed database, which has the records.
    table: ffi::MDB_dbi,
    is_running: bool,
}

impl LmdbTransaction {
    fn make(&mut self, change: &Change) -> Result<()> {
        let (handle, table) = (self.handle.as_ptr(), self.table);
        match change {
            Change::Put(key, value) => {
                let (mut key, mut value) = (borrowed(key), borrowed(value));
                // SAFETY: the transaction runs; without `MDB_RESERVE` LMDB only reads key and
                // value.
                check(unsafe { ffi::mdb_put(handle, table, &raw mut key, &raw mut value, 0) })
            }
            Change::Delete(key) => {
                let mut key = borrowed(key);
                // SAFETY: the transaction runs; LMDB reads the key.
                match unsafe { ffi::mdb_del(handle, table, &raw mut key, ptr::null_mut()) } {
                    ffi::MDB_NOTFOUND => Ok(()),
                    code => check(code),
                }
            }
        }
    }
}

impl Drop for LmdbTransaction {
    fn drop(&mut self) {
        if self.is_running {
            // SAFETY: the handle is live, and its cursors are closed.
            unsafe { ffi::mdb_txn_abort(self.handle.as_ptr()) }
        }
    }
}

/// A cursor over the records.
struct LmdbCursor<'t> {
    handle: *mut ffi::MDB_cursor,
    _transaction: &'t LmdbTransaction,
}

impl<'t> LmdbCursor<'t> {
    fn open(transaction: &'t LmdbTransaction) -> Result<Self> {
        let mut handle = ptr::null_mut();
        let of = transaction.handle.as_ptr();
        // SAFETY: the transaction is live, its table is open, and `handle` is memory for the new
        // cursor.
        check(unsafe { ffi::mdb_cursor_open(of, transaction.table, &raw mut handle) })?;
        Ok(Self {
            handle,
            _transaction: transaction,
        })
    }
}

impl Drop for LmdbCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and so is its transaction, which it borrows.
        unsafe { ffi::mdb_cursor_close(self.handle) }
    }
}

/// LMDB's form of a slice, for calls that only read it.
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
/// `value` was written by a successful call, and its transaction is live and unchanged while the
/// slice is used.
unsafe fn as_slice(value: &ffi::MDB_val) -> &[u8] {
    if value.mv_size == 0 {
        return &[];
    }
    // SAFETY: LMDB points to that many bytes of its map, which the caller promises not to change.
    unsafe { slice::from_raw_parts(value.mv_data.cast::<u8>(), value.mv_size) }
}

/// Turns LMDB's codes into errors.
fn check(code: c_int) -> Result<()> {
    if code == ffi::MDB_SUCCESS {
        return Ok(());
    }
    // SAFETY: LMDB returns a string for every code, which is valid forever, or until the next call
    // on this thread.
    let text = unsafe { CStr::from_ptr(ffi::mdb_strerror(code)) };
    bail!("LMDB: {} (code {code})", text.to_string_lossy())
}
