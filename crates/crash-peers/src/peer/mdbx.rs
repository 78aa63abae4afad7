//! libmdbx, through its C functions.
//!
//! Invariants: an environment is open from its creation to its drop. A transaction ends on the
//! thread that began it, and no slice of it is held beyond its end.

#![allow(unsafe_code)]

use super::{
    connection::{Change, Peer, RecordVisitor},
    engine::Engine,
};
use anyhow::{Context, Result, bail};
use mdbx_sys as ffi;
use std::{
    ffi::{CStr, CString, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::{self, NonNull},
    slice,
};

const FILE_MODE: ffi::mdbx_mode_t = 0o644;
const MAP_BYTES: isize = 16 << 20;
/// The growth step of the file in bytes. It is small, so that the file grows often, and only after
/// a search for free pages.
const STEP_BYTES: isize = 64 << 10;

/// An open environment.
pub(super) struct MdbxEnvironment {
    handle: NonNull<ffi::MDBX_env>,
}

impl MdbxEnvironment {
    /// Opens the environment in the file at `path`, or creates it.
    pub(super) fn open(path: &Path, engine: Engine) -> Result<Self> {
        let sync = match engine {
            Engine::MdbxSafeNosync => ffi::MDBX_SAFE_NOSYNC,
            Engine::MdbxNometasync => ffi::MDBX_NOMETASYNC,
            _ => ffi::MDBX_SYNC_DURABLE,
        };
        let flags = ffi::MDBX_NOSUBDIR | ffi::MDBX_NORDAHEAD | sync;
        silence_log();
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is memory for the new handle.
        check(unsafe { ffi::mdbx_env_create(&raw mut handle) })?;
        let handle = NonNull::new(handle).context("libmdbx returned no environment")?;
        // From here on the drop closes it, even if opening fails, as libmdbx requires.
        let environment = Self { handle };
        let (lower, now, page_size) = (0, -1, 4096);
        let (upper, growth, shrink) = (MAP_BYTES, STEP_BYTES, 2 * STEP_BYTES);
        // SAFETY: the handle is live and not yet open.
        check(unsafe {
            let handle = handle.as_ptr();
            ffi::mdbx_env_set_geometry(handle, lower, now, upper, growth, shrink, page_size)
        })?;
        // SAFETY: the handle is live and not yet open, and the path ends with a zero byte.
        check(unsafe { ffi::mdbx_env_open(handle.as_ptr(), path.as_ptr(), flags, FILE_MODE) })?;
        Ok(environment)
    }

    fn begin(&self, flags: ffi::MDBX_txn_flags_t) -> Result<MdbxTransaction> {
        let mut handle = ptr::null_mut();
        let (environment, no_parent) = (self.handle.as_ptr(), ptr::null_mut());
        // SAFETY: the environment is open, and `handle` is memory for the new handle.
        check(unsafe {
            ffi::mdbx_txn_begin_ex(
                environment,
                no_parent,
                flags,
                &raw mut handle,
                ptr::null_mut(),
            )
        })?;
        let handle = NonNull::new(handle).context("libmdbx returned no transaction")?;
        let mut transaction = MdbxTransaction {
            handle,
            table: 0,
            is_running: true,
        };
        let table = &raw mut transaction.table;
        // SAFETY: the transaction is live; no name means the unnamed database, and `table` is
        // memory for its number.
        check(unsafe {
            ffi::mdbx_dbi_open(handle.as_ptr(), ptr::null(), ffi::MDBX_DB_DEFAULTS, table)
        })?;
        Ok(transaction)
    }
}

impl Drop for MdbxEnvironment {
    fn drop(&mut self) {
        let without_sync = false;
        // SAFETY: the handle is live, and no transaction outlives the call that began it.
        unsafe { ffi::mdbx_env_close_ex(self.handle.as_ptr(), without_sync) };
    }
}

impl Peer for MdbxEnvironment {
    fn commit(&self, changes: &[Change]) -> Result<()> {
        let mut transaction = self.begin(ffi::MDBX_TXN_READWRITE)?;
        for change in changes {
            transaction.make(change)?;
        }
        transaction.is_running = false;
        // SAFETY: the transaction is live, and is not used again, because the handle is invalid
        // even if committing fails.
        check(unsafe { ffi::mdbx_txn_commit_ex(transaction.handle.as_ptr(), ptr::null_mut()) })
    }

    fn sync(&self) -> Result<()> {
        let (force, or_fail) = (true, false);
        // SAFETY: the environment is open.
        match unsafe { ffi::mdbx_env_sync_ex(self.handle.as_ptr(), force, or_fail) } {
            // There was nothing to flush.
            ffi::MDBX_RESULT_TRUE => Ok(()),
            code => check(code),
        }
    }

    fn visit(&self, visit: &mut RecordVisitor<'_>) -> Result<()> {
        let transaction = self.begin(ffi::MDBX_TXN_RDONLY)?;
        let cursor = MdbxCursor::open(&transaction)?;
        let (mut key, mut value) = (borrowed(&[]), borrowed(&[]));
        loop {
            let (at, key_out, value_out) = (cursor.handle, &raw mut key, &raw mut value);
            // SAFETY: the cursor and its transaction are live; libmdbx writes only to `key` and
            // `value`.
            match unsafe { ffi::mdbx_cursor_get(at, key_out, value_out, ffi::MDBX_NEXT) } {
                ffi::MDBX_NOTFOUND => return Ok(()),
                code => check(code)?,
            }
            // SAFETY: the call succeeded, and the transaction runs until both were visited.
            let (key, value) = unsafe { (as_slice(&key), as_slice(&value)) };
            visit(key, value)?;
        }
    }
}

/// A transaction. It is aborted on drop unless it was committed.
struct MdbxTransaction {
    handle: NonNull<ffi::MDBX_txn>,
    /// The unnamed database, which has the records.
    table: ffi::MDBX_dbi,
    is_running: bool,
}

impl MdbxTransaction {
    fn make(&mut self, change: &Change) -> Result<()> {
        let (handle, table) = (self.handle.as_ptr(), self.table);
        match change {
            Change::Put(key, value) => {
                let (key, mut value) = (borrowed(key), borrowed(value));
                // SAFETY: the transaction runs; without `MDBX_RESERVE` libmdbx only reads key and
                // value.
                check(unsafe {
                    ffi::mdbx_put(
                        handle,
                        table,
                        &raw const key,
                        &raw mut value,
                        ffi::MDBX_UPSERT,
                    )
                })
            }
            Change::Delete(key) => {
                let key = borrowed(key);
                // SAFETY: the transaction runs; libmdbx reads the key.
                match unsafe { ffi::mdbx_del(handle, table, &raw const key, ptr::null()) } {
                    ffi::MDBX_NOTFOUND => Ok(()),
                    code => check(code),
                }
            }
        }
    }
}

impl Drop for MdbxTransaction {
    fn drop(&mut self) {
        if self.is_running {
            // SAFETY: the handle is live, and its cursors are closed.
            unsafe { ffi::mdbx_txn_abort_ex(self.handle.as_ptr(), ptr::null_mut()) };
        }
    }
}

/// A cursor over the records.
struct MdbxCursor<'t> {
    handle: *mut ffi::MDBX_cursor,
    _transaction: &'t MdbxTransaction,
}

impl<'t> MdbxCursor<'t> {
    fn open(transaction: &'t MdbxTransaction) -> Result<Self> {
        let mut handle = ptr::null_mut();
        let of = transaction.handle.as_ptr();
        // SAFETY: the transaction is live, its table is open, and `handle` is memory for the new
        // cursor.
        check(unsafe { ffi::mdbx_cursor_open(of, transaction.table, &raw mut handle) })?;
        Ok(Self {
            handle,
            _transaction: transaction,
        })
    }
}

impl Drop for MdbxCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and so is its transaction, which it borrows.
        unsafe { ffi::mdbx_cursor_close(self.handle) }
    }
}

/// Silences libmdbx's messages about errors, which it also returns.
fn silence_log() {
    let (level, flags) = (ffi::MDBX_LOG_FATAL, ffi::MDBX_DBG_DONTCHANGE);
    // SAFETY: this sets numbers of the library, and there is no callback.
    unsafe { ffi::mdbx_setup_debug(level, flags, None) };
}

/// libmdbx's form of a slice, for calls that only read it.
fn borrowed(bytes: &[u8]) -> ffi::MDBX_val {
    ffi::MDBX_val {
        iov_base: bytes.as_ptr().cast::<c_void>().cast_mut(),
        iov_len: bytes.len(),
    }
}

/// The bytes that libmdbx points to.
///
/// # Safety
///
/// `value` was written by a successful call, and its transaction is live and unchanged while the
/// slice is used.
unsafe fn as_slice(value: &ffi::MDBX_val) -> &[u8] {
    if value.iov_len == 0 {
        return &[];
    }
    // SAFETY: libmdbx points to that many bytes of its map, which the caller promises not to
    // change.
    unsafe { slice::from_raw_parts(value.iov_base.cast::<u8>(), value.iov_len) }
}

/// Turns libmdbx's codes into errors.
fn check(code: c_int) -> Result<()> {
    if code == ffi::MDBX_SUCCESS {
        return Ok(());
    }
    // SAFETY: libmdbx returns a string for every code, which is valid forever, or until the next
    // call on this thread.
    let text = unsafe { CStr::from_ptr(ffi::mdbx_strerror(code)) };
    bail!("libmdbx: {} (code {code})", text.to_string_lossy())
}
