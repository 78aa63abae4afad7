//! LMDB's C functions, with types that keep their dependencies alive.
//!
//! Invariants: a transaction holds its environment and its parent, and a cursor holds its
//! transaction, so each handle is live as long as its value. No cursor exists when a transaction
//! ends. Bytes of the map are copied before a call returns to safe code, or passed to a closure
//! that cannot change anything.

#![allow(unsafe_code)]

use super::code::{LmdbCode, text};
use crate::{
    kind::{Kind, Order, compare_by_len},
    operation::RecordPart,
    translate::table_flags,
};
use anyhow::{Context, Result};
use lmdb_master_sys as ffi;
use std::{
    cmp::Ordering,
    ffi::{CString, c_int, c_uint, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::{self, NonNull},
    rc::Rc,
    slice,
};

/// The number of an open table.
pub(crate) type Table = ffi::MDB_dbi;

const FILE_MODE: ffi::mdb_mode_t = 0o644;
const MAP_BYTES: usize = 4 << 30;

/// An open environment.
pub(crate) struct Environment {
    handle: NonNull<ffi::MDB_env>,
}

impl Environment {
    /// Opens the environment in the file at `path`, or creates it.
    pub(crate) fn open(path: &Path, table_count: usize) -> Result<Rc<Self>> {
        let flags = ffi::MDB_NOSUBDIR | ffi::MDB_NORDAHEAD | ffi::MDB_NOSYNC | ffi::MDB_NOTLS;
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is memory for the new handle.
        must(unsafe { ffi::mdb_env_create(&raw mut handle) })?;
        let handle = NonNull::new(handle).context("LMDB gave no environment")?;
        // From here on the drop closes it, even if opening fails, as LMDB requires.
        let environment = Self { handle };
        // SAFETY: the handle is live and not yet open.
        must(unsafe { ffi::mdb_env_set_mapsize(handle.as_ptr(), MAP_BYTES) })?;
        // SAFETY: the handle is live and not yet open.
        must(unsafe { ffi::mdb_env_set_maxdbs(handle.as_ptr(), table_count as c_uint) })?;
        // SAFETY: the handle is live and not yet open, and the path ends with a zero byte.
        must(unsafe { ffi::mdb_env_open(handle.as_ptr(), path.as_ptr(), flags, FILE_MODE) })?;
        Ok(Rc::new(environment))
    }
}

impl Environment {
    /// Copies the environment to the new file at `path`.
    pub(crate) fn copy(&self, path: &Path, is_dense: bool) -> Result<(), LmdbCode> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| libc::EINVAL)?;
        let flags = if is_dense { ffi::MDB_CP_COMPACT } else { 0 };
        // SAFETY: the environment is open, and the path ends with a zero byte.
        check(unsafe { ffi::mdb_env_copy2(self.handle.as_ptr(), path.as_ptr(), flags) })
    }
}

/// The comparison of [`Order::ByLen`] for LMDB.
///
/// # Safety
///
/// Both point to values whose bytes do not change.
unsafe extern "C" fn by_len(one: *const ffi::MDB_val, other: *const ffi::MDB_val) -> c_int {
    // SAFETY: the caller's promise.
    let (one, other) = unsafe { (as_slice(&*one), as_slice(&*other)) };
    compare_by_len(one, other) as c_int
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and every transaction would hold the environment.
        unsafe { ffi::mdb_env_close(self.handle.as_ptr()) }
    }
}

/// A transaction. It is aborted on drop unless it was committed.
pub(crate) struct Transaction {
    handle: NonNull<ffi::MDB_txn>,
    is_running: bool,
    _environment: Rc<Environment>,
    _parent: Option<Rc<Transaction>>,
}

impl Transaction {
    fn begin(
        environment: &Rc<Environment>,
        parent: Option<&Rc<Self>>,
        flags: c_uint,
    ) -> Result<Rc<Self>, LmdbCode> {
        let mut handle = ptr::null_mut();
        let of_parent = parent.map_or(ptr::null_mut(), |parent| parent.handle.as_ptr());
        let of = environment.handle.as_ptr();
        // SAFETY: the environment is open, a parent is live, and `handle` is memory for the new
        // handle.
        check(unsafe { ffi::mdb_txn_begin(of, of_parent, flags, &raw mut handle) })?;
        Ok(Rc::new(Self {
            handle: NonNull::new(handle).ok_or(ffi::MDB_PANIC)?,
            is_running: true,
            _environment: environment.clone(),
            _parent: parent.cloned(),
        }))
    }

    /// Begins a write transaction, nested in `parent` if there is one.
    pub(crate) fn write(
        environment: &Rc<Environment>,
        parent: Option<&Rc<Self>>,
    ) -> Result<Rc<Self>, LmdbCode> {
        Self::begin(environment, parent, 0)
    }

    /// Begins a read transaction of the newest state.
    pub(crate) fn read(environment: &Rc<Environment>) -> Result<Rc<Self>, LmdbCode> {
        Self::begin(environment, None, ffi::MDB_RDONLY)
    }

    /// Commits. Nothing else may hold the transaction.
    pub(crate) fn commit(self: Rc<Self>) -> Result<(), LmdbCode> {
        let mut transaction = Rc::try_unwrap(self).map_err(|_| ffi::MDB_BAD_TXN)?;
        transaction.is_running = false;
        // SAFETY: the transaction runs, no cursor and no child holds it, and it is not used again,
        // even if committing fails.
        check(unsafe { ffi::mdb_txn_commit(transaction.handle.as_ptr()) })
    }

    /// Opens a table by its name.
    fn open_table(&self, name: &str, flags: c_uint) -> Result<Table, LmdbCode> {
        let name = CString::new(name).map_err(|_| libc::EINVAL)?;
        let mut table = 0;
        let handle = self.handle.as_ptr();
        // SAFETY: the transaction is live, the name is zero-terminated, and `table` is memory for
        // the number.
        check(unsafe { ffi::mdb_dbi_open(handle, name.as_ptr(), flags, &raw mut table) })?;
        Ok(table)
    }

    /// Opens a table with this name and kind, and sets the comparisons of the kind.
    pub(crate) fn open_kind(&self, kind: &Kind, flags: c_uint) -> Result<Table, LmdbCode> {
        let table = self.open_table(kind.name, table_flags(kind) | flags)?;
        let handle = self.handle.as_ptr();
        if kind.keys.order == Order::ByLen {
            // SAFETY: the transaction runs, its table is open, and the function is static.
            check(unsafe { ffi::mdb_set_compare(handle, table, Some(by_len)) })?;
        }
        if kind
            .values
            .is_some_and(|values| values.order == Order::ByLen)
        {
            // SAFETY: the transaction runs, the keys of its table have several values, and the
            // function is static.
            check(unsafe { ffi::mdb_set_dupsort(handle, table, Some(by_len)) })?;
        }
        Ok(table)
    }

    /// Compares two keys of a table, or two values of a key.
    pub(crate) fn compare(
        &self,
        table: Table,
        (one, other): (&[u8], &[u8]),
        of: RecordPart,
    ) -> Ordering {
        let (handle, one, other) = (self.handle.as_ptr(), borrowed(one), borrowed(other));
        let compare = match of {
            RecordPart::Keys => ffi::mdb_cmp,
            RecordPart::Values => ffi::mdb_dcmp,
        };
        // SAFETY: the transaction runs, its table is open and has comparable values if values are
        // given, and LMDB only reads both.
        unsafe { compare(handle, table, &raw const one, &raw const other) }.cmp(&0)
    }

    /// Ends the snapshot of a reader, and begins one of the newest state.
    pub(crate) fn renew(&self) -> Result<(), LmdbCode> {
        // SAFETY: the transaction only reads, and no cursor of it is used before it is renewed.
        unsafe { ffi::mdb_txn_reset(self.handle.as_ptr()) };
        // SAFETY: the transaction only reads, and was reset.
        check(unsafe { ffi::mdb_txn_renew(self.handle.as_ptr()) })
    }

    /// The first value of a key.
    pub(crate) fn get(&self, table: Table, key: &[u8]) -> Result<Vec<u8>, LmdbCode> {
        let (mut key, mut value) = (borrowed(key), borrowed(&[]));
        let handle = self.handle.as_ptr();
        // SAFETY: the transaction is live; LMDB reads the key and writes only to `value`.
        check(unsafe { ffi::mdb_get(handle, table, &raw mut key, &raw mut value) })?;
        // SAFETY: the call succeeded, and nothing changes until the bytes are copied.
        Ok(unsafe { as_slice(&value) }.to_vec())
    }

    /// Puts a record. An error includes the existing value, where LMDB returns it.
    pub(crate) fn put(
        &self,
        table: Table,
        key: &[u8],
        value: &[u8],
        flags: c_uint,
    ) -> Result<(), (LmdbCode, Vec<u8>)> {
        let (mut key, mut data) = (borrowed(key), borrowed(value));
        let handle = self.handle.as_ptr();
        // SAFETY: the transaction is live; LMDB reads the key and the bytes of `data`, and may
        // point `data` elsewhere.
        let code = unsafe { ffi::mdb_put(handle, table, &raw mut key, &raw mut data, flags) };
        // SAFETY: after success, or for an existing value, `data` was set by LMDB or this call.
        unsafe { finish_put(code, data, value, flags) }
    }

    /// Deletes a key, or one value of it.
    pub(crate) fn delete(
        &self,
        table: Table,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), LmdbCode> {
        let mut key = borrowed(key);
        let mut value = value.map(borrowed);
        let value = value.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        // SAFETY: the transaction runs; LMDB reads key and value.
        check(unsafe { ffi::mdb_del(self.handle.as_ptr(), table, &raw mut key, value) })
    }

    /// The number of records of a table.
    pub(crate) fn entries(&self, table: Table) -> Result<u64, LmdbCode> {
        let mut stat = ffi::MDB_stat {
            ms_psize: 0,
            ms_depth: 0,
            ms_branch_pages: 0,
            ms_leaf_pages: 0,
            ms_overflow_pages: 0,
            ms_entries: 0,
        };
        // SAFETY: the transaction is live, and `stat` is memory for the counts.
        check(unsafe { ffi::mdb_stat(self.handle.as_ptr(), table, &raw mut stat) })?;
        Ok(stat.ms_entries as u64)
    }

    /// Removes all records of a table, and the table itself if `is_deleted`.
    pub(crate) fn drop_table(&self, table: Table, is_deleted: bool) -> Result<(), LmdbCode> {
        // SAFETY: the transaction is live, and the caller opens the table again before it is used.
        check(unsafe { ffi::mdb_drop(self.handle.as_ptr(), table, c_int::from(is_deleted)) })
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.is_running {
            // SAFETY: the handle is live. No cursor and no child exists, because these hold the
            // transaction.
            unsafe { ffi::mdb_txn_abort(self.handle.as_ptr()) }
        }
    }
}

/// A cursor.
pub(crate) struct Cursor {
    handle: NonNull<ffi::MDB_cursor>,
    _transaction: Rc<Transaction>,
}

impl Cursor {
    pub(crate) fn open(transaction: &Rc<Transaction>, table: Table) -> Result<Self, LmdbCode> {
        let mut handle = ptr::null_mut();
        let of = transaction.handle.as_ptr();
        // SAFETY: the transaction is live, its table is open, and `handle` is memory for the new
        // cursor.
        check(unsafe { ffi::mdb_cursor_open(of, table, &raw mut handle) })?;
        Ok(Self {
            handle: NonNull::new(handle).ok_or(ffi::MDB_PANIC)?,
            _transaction: transaction.clone(),
        })
    }

    /// Moves, and passes key and value to `visit`: the given ones where LMDB returns none.
    pub(crate) fn move_to<R>(
        &mut self,
        (key, value): (&[u8], &[u8]),
        operation: ffi::MDB_cursor_op,
        visit: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<R, LmdbCode> {
        let (mut key, mut value) = (borrowed(key), borrowed(value));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live. LMDB reads key and value, and may point
        // them elsewhere.
        check(unsafe { ffi::mdb_cursor_get(handle, &raw mut key, &raw mut value, operation) })?;
        // SAFETY: the call succeeded, and nothing changes while `visit` runs, which has neither
        // cursor nor transaction.
        Ok(unsafe { visit(as_slice(&key), as_slice(&value)) })
    }

    /// Puts a record with the cursor. An error includes the existing value, where LMDB returns it.
    pub(crate) fn put(
        &mut self,
        key: &[u8],
        value: &[u8],
        flags: c_uint,
    ) -> Result<(), (LmdbCode, Vec<u8>)> {
        let (mut key, mut data) = (borrowed(key), borrowed(value));
        let handle = self.handle.as_ptr();
        // SAFETY: the cursor and its transaction are live; LMDB reads the key and the bytes of
        // `data`, and may point `data` elsewhere.
        let code = unsafe { ffi::mdb_cursor_put(handle, &raw mut key, &raw mut data, flags) };
        // SAFETY: after success, or for an existing value, `data` was set by LMDB or this call.
        unsafe { finish_put(code, data, value, flags) }
    }

    /// Puts adjacent values of `size` bytes. Returns how many LMDB reports as stored.
    pub(crate) fn put_many(
        &mut self,
        key: &[u8],
        values: &[u8],
        size: usize,
    ) -> Result<usize, LmdbCode> {
        let mut key = borrowed(key);
        let (mut first, mut count) = (borrowed(values), borrowed(&[]));
        first.mv_size = size;
        count.mv_size = values.len() / size;
        let mut data = [first, count];
        let (handle, flags) = (self.handle.as_ptr(), ffi::MDB_MULTIPLE);
        // SAFETY: the cursor and its transaction are live; `data` has two elements, the first of
        // which points to that many values of this size.
        check(unsafe {
            ffi::mdb_cursor_put(handle, &raw mut key, data.as_mut_ptr(), flags as c_uint)
        })?;
        Ok(data[1].mv_size)
    }

    /// Deletes the current record.
    pub(crate) fn delete(&mut self, flags: c_uint) -> Result<(), LmdbCode> {
        // SAFETY: the cursor and its transaction are live.
        check(unsafe { ffi::mdb_cursor_del(self.handle.as_ptr(), flags) })
    }

    /// The number of values of the key.
    pub(crate) fn count(&self) -> Result<u64, LmdbCode> {
        let mut count = 0;
        // SAFETY: the cursor and its transaction are live, and `count` is memory for the number.
        check(unsafe { ffi::mdb_cursor_count(self.handle.as_ptr(), &raw mut count) })?;
        Ok(count as u64)
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and so is its transaction, which the cursor holds.
        unsafe { ffi::mdb_cursor_close(self.handle.as_ptr()) }
    }
}

/// Fills reserved space, and reads an existing value.
///
/// # Safety
///
/// `data` is the result of a call that just put `value` with `flags` and returned `code`.
unsafe fn finish_put(
    code: c_int,
    data: ffi::MDB_val,
    value: &[u8],
    flags: c_uint,
) -> Result<(), (LmdbCode, Vec<u8>)> {
    if code == ffi::MDB_KEYEXIST && flags & ffi::MDB_NOOVERWRITE != 0 {
        // SAFETY: LMDB has pointed `data` to the existing value.
        return Err((code, unsafe { as_slice(&data) }.to_vec()));
    }
    check(code).map_err(|code| (code, Vec::new()))?;
    if flags & ffi::MDB_RESERVE != 0 {
        // SAFETY: LMDB has pointed `data` to that much space in a page of this transaction.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), data.mv_data.cast(), value.len()) };
    }
    Ok(())
}

/// LMDB's form of a slice, for calls that only read it.
fn borrowed(bytes: &[u8]) -> ffi::MDB_val {
    ffi::MDB_val {
        mv_size: bytes.len(),
        mv_data: bytes.as_ptr().cast::<c_void>().cast_mut(),
    }
}

/// The bytes that a value points to.
///
/// # Safety
///
/// `value` points to bytes that do not change while the slice is used.
unsafe fn as_slice(value: &ffi::MDB_val) -> &[u8] {
    if value.mv_size == 0 {
        return &[];
    }
    // SAFETY: there are that many bytes, as the caller promises.
    unsafe { slice::from_raw_parts(value.mv_data.cast::<u8>(), value.mv_size) }
}

fn check(code: c_int) -> Result<(), LmdbCode> {
    match code {
        ffi::MDB_SUCCESS => Ok(()),
        code => Err(code),
    }
}

fn must(code: c_int) -> Result<()> {
    check(code).map_err(|code| anyhow::anyhow!("LMDB: {}", text(code)))
}
