//! The required part of libmdbx's C interface, with lifetimes added.
//!
//! Invariants: an [`MdbxEnvironment`] is open from its creation to its drop. Each transaction
//! borrows it, and each cursor borrows its transaction, so that they end in the order that libmdbx
//! requires. Slices from libmdbx borrow the transaction, and a write transaction changes only
//! through `&mut`, so that no slice is held across a change. Threads may share an environment.
//! Everything else stays in its thread, because libmdbx ties a transaction to it.

#![allow(unsafe_code)]

mod pairs;

use anyhow::{Context, Result, bail, ensure};
use mdbx_sys as ffi;
use std::{
    ffi::{CStr, CString, c_int, c_void},
    mem::{ManuallyDrop, MaybeUninit},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::{self, NonNull},
    slice,
};

const FILE_MODE: ffi::mdbx_mode_t = 0o644;
/// The unnamed database, where the records are; number 0 has the pages that may be used again.
const RECORDS: ffi::MDBX_dbi = 1;

/// The access of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MdbxAccess {
    Read,
    Write,
    /// A commit does not wait for the disk.
    WriteLazily,
}

/// The growth of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct MdbxGeometry {
    /// The maximum size, for which addresses are reserved.
    pub(super) upper_bytes: isize,
    /// The bytes by which the file grows.
    pub(super) step_bytes: isize,
}

/// Options for opening an environment.
#[derive(Clone, Copy, Debug)]
pub(super) struct MdbxSettings {
    pub(super) flags: ffi::MDBX_env_flags_t,
    pub(super) geometry: MdbxGeometry,
    /// The number of reader slots, if not the default.
    pub(super) max_readers: Option<u32>,
    /// The flags of the unnamed database.
    pub(super) table_flags: ffi::MDBX_db_flags_t,
}

/// An open environment.
pub(crate) struct MdbxEnvironment {
    handle: NonNull<ffi::MDBX_env>,
}

// SAFETY: libmdbx lets threads begin transactions on one environment at the same time; it has locks
// of its own.
unsafe impl Sync for MdbxEnvironment {}

impl MdbxEnvironment {
    /// Opens the environment at `path`, or creates it.
    pub(super) fn open(path: &Path, settings: &MdbxSettings) -> Result<Self> {
        log_errors_only();
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is memory for the new handle.
        check(unsafe { ffi::mdbx_env_create(&raw mut handle) })?;
        let handle = NonNull::new(handle).context("libmdbx gave no environment")?;
        // From here on the drop closes it, even if opening fails, as libmdbx requires.
        let environment = Self { handle };
        // Zero is the minimum size, and disables shrinking. A negative number keeps the current
        // value or the default.
        let (lower, now, shrink, page_size) = (0, -1, 0, -1);
        let (flags, geometry) = (settings.flags, settings.geometry);
        let (upper, step) = (geometry.upper_bytes, geometry.step_bytes);
        // SAFETY: the handle is live and not yet open.
        check(unsafe {
            ffi::mdbx_env_set_geometry(handle.as_ptr(), lower, now, upper, step, shrink, page_size)
        })?;
        if let Some(readers) = settings.max_readers {
            let (option, readers) = (ffi::MDBX_opt_max_readers, u64::from(readers));
            // SAFETY: the handle is live and not yet open.
            check(unsafe { ffi::mdbx_env_set_option(handle.as_ptr(), option, readers) })?;
        }
        // SAFETY: the handle is live and not yet open, and the path ends with a zero byte.
        check(unsafe { ffi::mdbx_env_open(handle.as_ptr(), path.as_ptr(), flags, FILE_MODE) })?;
        environment
            .begin(MdbxAccess::Write)?
            .prepare(settings.table_flags)?;
        Ok(environment)
    }

    /// Begins a transaction.
    #[inline]
    pub(super) fn begin(&self, access: MdbxAccess) -> Result<MdbxTransaction<'_>> {
        let flags = match access {
            MdbxAccess::Read => ffi::MDBX_TXN_RDONLY,
            MdbxAccess::Write => ffi::MDBX_TXN_READWRITE,
            MdbxAccess::WriteLazily => ffi::MDBX_TXN_NOSYNC,
        };
        begin_within(self, ptr::null_mut(), flags)
    }

    /// Sets an option of the open environment.
    pub(super) fn set(&self, option: ffi::MDBX_option_t, value: u64) -> Result<()> {
        // SAFETY: the environment is open.
        check(unsafe { ffi::mdbx_env_set_option(self.handle.as_ptr(), option, value) })
    }

    /// Flushes all commits.
    pub(super) fn sync(&self) -> Result<()> {
        // SAFETY: the environment is open.
        match unsafe { ffi::mdbx_env_sync_ex(self.handle.as_ptr(), true, false) } {
            // There was nothing to flush.
            ffi::MDBX_RESULT_TRUE => Ok(()),
            code => check(code),
        }
    }

    /// Copies the newest state to a new file.
    pub(super) fn copy(&self, target: &Path, flags: ffi::MDBX_copy_flags_t) -> Result<()> {
        let target = CString::new(target.as_os_str().as_bytes())?;
        // SAFETY: the environment is open, and the path ends with a zero byte.
        check(unsafe { ffi::mdbx_env_copy(self.handle.as_ptr(), target.as_ptr(), flags) })
    }

    /// Shape of the tree, and page size.
    pub(super) fn page_size(&self) -> Result<u64> {
        let mut stat = MaybeUninit::<ffi::MDBX_stat>::zeroed();
        let (out, size) = (stat.as_mut_ptr(), size_of::<ffi::MDBX_stat>());
        // SAFETY: the environment is open, and `stat` is memory of that size for the result.
        check(unsafe { ffi::mdbx_env_stat_ex(self.handle.as_ptr(), ptr::null(), out, size) })?;
        // SAFETY: it is made of numbers, all of which were zero before the call filled them.
        Ok(u64::from(unsafe { stat.assume_init() }.ms_psize))
    }
}

impl Drop for MdbxEnvironment {
    fn drop(&mut self) {
        let without_flush = false;
        // SAFETY: the handle is live, and everything that borrowed it has ended.
        unsafe { ffi::mdbx_env_close_ex(self.handle.as_ptr(), without_flush) };
    }
}

/// A running transaction; dropping it aborts it.
pub(crate) struct MdbxTransaction<'e> {
    handle: NonNull<ffi::MDBX_txn>,
    environment: &'e MdbxEnvironment,
}

impl<'e> MdbxTransaction<'e> {
    /// The value of `key`.
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        let (key, mut value) = (borrowed(key), borrowed(&[]));
        let handle = self.handle.as_ptr();
        // SAFETY: the transaction is live; libmdbx reads the key and writes only to `value`.
        match unsafe { ffi::mdbx_get(handle, RECORDS, &raw const key, &raw mut value) } {
            ffi::MDBX_NOTFOUND => Ok(None),
            code => {
                check(code)?;
                // SAFETY: the call succeeded, and the slice borrows the transaction.
                Ok(Some(unsafe { as_slice(value) }))
            }
        }
    }

    /// Inserts or replaces a record.
    #[inline]
    pub(super) fn put(
        &mut self,
        key: &[u8],
        value: &[u8],
        flags: ffi::MDBX_put_flags_t,
    ) -> Result<()> {
        let (key, mut value) = (borrowed(key), borrowed(value));
        let handle = self.handle.as_ptr();
        // SAFETY: the transaction runs; without `MDBX_RESERVE` libmdbx only reads key and value.
        check(unsafe { ffi::mdbx_put(handle, RECORDS, &raw const key, &raw mut value, flags) })
    }

    /// Removes an existing record.
    pub(super) fn remove(&mut self, key: &[u8]) -> Result<()> {
        let key = borrowed(key);
        // SAFETY: the transaction runs; libmdbx only reads the key, and is given no value.
        check(unsafe { ffi::mdbx_del(self.handle.as_ptr(), RECORDS, &raw const key, ptr::null()) })
    }

    /// Prepares the unnamed database and ends the transaction.
    fn prepare(self, flags: ffi::MDBX_db_flags_t) -> Result<()> {
        let mut table = 0;
        let (handle, no_name) = (self.handle.as_ptr(), ptr::null());
        // SAFETY: the transaction is live; no name means the unnamed database, and `table` is
        // memory for its number.
        check(unsafe { ffi::mdbx_dbi_open(handle, no_name, flags, &raw mut table) })?;
        ensure!(
            table == RECORDS,
            "libmdbx numbers its tables otherwise than it did"
        );
        self.commit()
    }

    /// Commits.
    pub(super) fn commit(self) -> Result<()> {
        let transaction = ManuallyDrop::new(self);
        let handle = transaction.handle.as_ptr();
        // SAFETY: the transaction is live, and is forgotten, since the handle is invalid even if
        // committing fails.
        check(unsafe { ffi::mdbx_txn_commit_ex(handle, ptr::null_mut()) })
    }

    /// Ends a read transaction and keeps its handle for another.
    #[inline]
    pub(super) fn reset(self) -> Result<MdbxResetTransaction<'e>> {
        // SAFETY: the transaction runs; taking `self` ended every slice and cursor of it.
        check(unsafe { ffi::mdbx_txn_reset(self.handle.as_ptr()) })?;
        Ok(MdbxResetTransaction { transaction: self })
    }

    /// Opens a cursor without a position.
    pub(super) fn cursor(&self) -> Result<MdbxCursor<'_>> {
        let mut handle = ptr::null_mut();
        // SAFETY: the transaction is live, the table is always open, and `handle` is memory for the
        // new one.
        check(unsafe { ffi::mdbx_cursor_open(self.handle.as_ptr(), RECORDS, &raw mut handle) })?;
        let handle = NonNull::new(handle).context("libmdbx gave no cursor")?;
        Ok(MdbxCursor {
            handle,
            _transaction: self,
        })
    }

    /// Pages in use.
    pub(super) fn used_pages(&self) -> Result<u64> {
        let info = self.gc_info()?;
        Ok((info.pages_allocated - info.pages_gc) as u64)
    }

    /// Pages that the newest state does not use.
    pub(super) fn dead_pages(&self) -> Result<u64> {
        Ok(self.gc_info()?.pages_gc as u64)
    }

    fn gc_info(&self) -> Result<ffi::MDBX_gc_info_t> {
        let mut info = MaybeUninit::<ffi::MDBX_gc_info_t>::zeroed();
        let (out, size) = (info.as_mut_ptr(), size_of::<ffi::MDBX_gc_info_t>());
        let (handle, no_context) = (self.handle.as_ptr(), ptr::null_mut());
        // SAFETY: the transaction is live, `info` is memory of that size for the result, and there
        // is no callback.
        let code = unsafe { ffi::mdbx_gc_info(handle, out, size, None, no_context) };
        // If no page is free, it returns this code after filling in the rest.
        if code != ffi::MDBX_NOTFOUND {
            check(code)?;
        }
        // SAFETY: it is made of numbers, all of which were zero before the call filled them.
        Ok(unsafe { info.assume_init() })
    }
}

impl Drop for MdbxTransaction<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle is live (running, or at rest), and everything that borrowed it has
        // ended.
        unsafe { ffi::mdbx_txn_abort_ex(self.handle.as_ptr(), ptr::null_mut()) };
    }
}

/// A read transaction that has ended and can be taken up again.
pub(super) struct MdbxResetTransaction<'e> {
    transaction: MdbxTransaction<'e>,
}

impl<'e> MdbxResetTransaction<'e> {
    /// Renews the transaction with the newest snapshot.
    #[inline]
    pub(super) fn renew(self) -> Result<MdbxTransaction<'e>> {
        // SAFETY: the handle is live and was reset.
        check(unsafe { ffi::mdbx_txn_renew(self.transaction.handle.as_ptr()) })?;
        Ok(self.transaction)
    }
}

/// A movement of a cursor.
#[derive(Clone, Copy, Debug)]
pub(super) enum MdbxMove {
    /// To the next record, or the first if the cursor has no position.
    Next,
    /// To the previous record, or the last if the cursor has no position.
    Previous,
    /// To the next key, past all values of the current one.
    NextKey,
}

/// A cursor over the records.
pub(super) struct MdbxCursor<'t> {
    handle: NonNull<ffi::MDBX_cursor>,
    _transaction: &'t MdbxTransaction<'t>,
}

impl<'t> MdbxCursor<'t> {
    /// Moves, and returns the record there, or `None` after the last.
    #[inline]
    pub(super) fn go(&mut self, to: MdbxMove) -> Result<Option<(&'t [u8], &'t [u8])>> {
        let to = match to {
            MdbxMove::Next => ffi::MDBX_NEXT,
            MdbxMove::Previous => ffi::MDBX_PREV,
            MdbxMove::NextKey => ffi::MDBX_NEXT_NODUP,
        };
        let (mut key, mut value) = (borrowed(&[]), borrowed(&[]));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live; libmdbx writes only to `key` and
        // `value`.
        match unsafe { ffi::mdbx_cursor_get(handle, &raw mut key, &raw mut value, to) } {
            ffi::MDBX_NOTFOUND => Ok(None),
            code => {
                check(code)?;
                // SAFETY: the call succeeded, and the slices borrow the transaction.
                Ok(Some(unsafe { (as_slice(key), as_slice(value)) }))
            }
        }
    }
}

impl Drop for MdbxCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and so is its transaction, which it borrows.
        unsafe { ffi::mdbx_cursor_close(self.handle.as_ptr()) }
    }
}

/// Limits libmdbx's messages on standard error to errors.
fn log_errors_only() {
    let (level, flags) = (ffi::MDBX_LOG_ERROR, ffi::MDBX_DBG_DONTCHANGE);
    // SAFETY: it sets numbers of the library's own, and there is no callback.
    unsafe { ffi::mdbx_setup_debug(level, flags, None) };
}

/// Begins a transaction, nested in `parent` unless that is null. A parent is live, and not used
/// while this transaction is.
#[inline]
fn begin_within(
    environment: &MdbxEnvironment,
    parent: *mut ffi::MDBX_txn,
    flags: ffi::MDBX_txn_flags_t,
) -> Result<MdbxTransaction<'_>> {
    let (mut handle, open) = (ptr::null_mut(), environment.handle.as_ptr());
    let no_context = ptr::null_mut();
    // SAFETY: the environment is open, a parent is as the caller promises, and `handle` is memory
    // for the new handle.
    check(unsafe { ffi::mdbx_txn_begin_ex(open, parent, flags, &raw mut handle, no_context) })?;
    let handle = NonNull::new(handle).context("libmdbx gave no transaction")?;
    Ok(MdbxTransaction {
        handle,
        environment,
    })
}

/// libmdbx's form of a slice, for calls that only read it.
#[inline]
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
/// A successful call wrote `value`, and `'a` ends before the transaction ends or changes anything.
#[inline]
unsafe fn as_slice<'a>(value: ffi::MDBX_val) -> &'a [u8] {
    if value.iov_len == 0 {
        return &[];
    }
    // SAFETY: libmdbx points to that many bytes of its map, which do not change as long as the
    // caller promises.
    unsafe { slice::from_raw_parts(value.iov_base.cast::<u8>(), value.iov_len) }
}

/// Turns libmdbx's codes into errors.
#[inline]
fn check(code: c_int) -> Result<()> {
    if code == ffi::MDBX_SUCCESS {
        Ok(())
    } else {
        failed(code)
    }
}

#[cold]
fn failed(code: c_int) -> Result<()> {
    // SAFETY: libmdbx returns a string for every code, which is valid forever, or until the next
    // call on this thread.
    let text = unsafe { CStr::from_ptr(ffi::mdbx_strerror(code)) };
    bail!("libmdbx: {} (code {code})", text.to_string_lossy())
}
