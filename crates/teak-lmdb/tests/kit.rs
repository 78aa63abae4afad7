//! An environment in a directory of its own, and wrappers of the C functions with fewer pointers.

use lmdb::{
    Cursor, Environment, Transaction, Value,
    cursors::{mdb_cursor_del, mdb_cursor_get, mdb_cursor_open, mdb_cursor_put},
    data::{mdb_del, mdb_get, mdb_put},
    databases::mdb_dbi_open,
    environment_settings::mdb_env_set_maxdbs,
    environments::{mdb_env_close, mdb_env_create, mdb_env_open},
    flags::Operation,
    transactions::{mdb_txn_begin, mdb_txn_commit},
};
use std::{
    ffi::{CStr, CString, c_int, c_uint},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
    rc::Rc,
};
use tempfile::TempDir;

/// An open environment, closed when it is dropped.
pub(crate) struct Kit {
    directory: Rc<TempDir>,
    pub(crate) environment: *mut Environment,
}

pub(crate) fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

pub(crate) fn create() -> *mut Environment {
    let mut environment = ptr::null_mut();
    // SAFETY: there is memory for the handle.
    assert_eq!(unsafe { mdb_env_create(&raw mut environment) }, 0);
    environment
}

pub(crate) fn open(environment: *mut Environment, path: &Path, flags: c_uint) -> c_int {
    // SAFETY: a handle and a string.
    unsafe { mdb_env_open(environment, c_path(path).as_ptr(), flags, 0o644) }
}

impl Kit {
    pub(crate) fn new() -> Self {
        Self::with(0, |_| {})
    }

    /// An environment with these flags. `prepare` is called before it is opened.
    pub(crate) fn with(flags: c_uint, prepare: impl FnOnce(*mut Environment)) -> Self {
        Self::at(Rc::new(tempfile::tempdir().unwrap()), flags, prepare)
    }

    /// Another environment in the same directory.
    pub(crate) fn in_directory_of(other: &Self) -> Self {
        Self::at(Rc::clone(&other.directory), 0, |_| {})
    }

    fn at(directory: Rc<TempDir>, flags: c_uint, prepare: impl FnOnce(*mut Environment)) -> Self {
        let environment = create();
        // SAFETY: a handle.
        assert_eq!(unsafe { mdb_env_set_maxdbs(environment, 4) }, 0);
        prepare(environment);
        assert_eq!(open(environment, directory.path(), flags), 0);
        Self {
            directory,
            environment,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// Closes the environment and opens it again.
    pub(crate) fn reopen(&mut self, flags: c_uint) {
        // SAFETY: a handle that is not used any more.
        unsafe { mdb_env_close(self.environment) };
        self.environment = create();
        // SAFETY: a handle.
        unsafe { mdb_env_set_maxdbs(self.environment, 4) };
        assert_eq!(open(self.environment, self.directory.path(), flags), 0);
    }

    pub(crate) fn begin(&self, flags: c_uint) -> Txn {
        self.try_begin(ptr::null_mut(), flags).unwrap()
    }

    pub(crate) fn try_begin(&self, parent: *mut Transaction, flags: c_uint) -> Result<Txn, c_int> {
        let mut txn = ptr::null_mut();
        // SAFETY: handles, and memory for another one.
        match unsafe { mdb_txn_begin(self.environment, parent, flags, &raw mut txn) } {
            0 => Ok(Txn(txn)),
            code => Err(code),
        }
    }
}

impl Drop for Kit {
    fn drop(&mut self) {
        // SAFETY: a handle that is not used any more.
        unsafe { mdb_env_close(self.environment) };
    }
}

/// A C value of bytes.
pub(crate) fn value(bytes: &[u8]) -> Value {
    Value {
        len: bytes.len(),
        bytes: bytes.as_ptr().cast_mut().cast(),
    }
}

/// The bytes of a value that C received.
pub(crate) fn bytes<'b>(value: Value) -> &'b [u8] {
    if value.len == 0 {
        return &[];
    }
    // SAFETY: tests read them before the transaction changes something or ends.
    unsafe { std::slice::from_raw_parts(value.bytes.cast(), value.len) }
}

/// A transaction. The test ends it.
#[derive(Clone, Copy)]
pub(crate) struct Txn(pub(crate) *mut Transaction);

impl Txn {
    pub(crate) fn commit(self) -> c_int {
        // SAFETY: a handle that is not used any more.
        unsafe { mdb_txn_commit(self.0) }
    }

    pub(crate) fn open(self, name: Option<&CStr>, flags: c_uint) -> Result<c_uint, c_int> {
        let mut handle = 0;
        let name = name.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: a handle, a string or null, and room for a number.
        match unsafe { mdb_dbi_open(self.0, name, flags, &raw mut handle) } {
            0 => Ok(handle),
            code => Err(code),
        }
    }

    pub(crate) fn get<'b>(self, handle: c_uint, key: &[u8]) -> Result<&'b [u8], c_int> {
        let (mut key, mut data) = (value(key), Value::default());
        // SAFETY: a handle and values.
        match unsafe { mdb_get(self.0, handle, &raw mut key, &raw mut data) } {
            0 => Ok(bytes(data)),
            code => Err(code),
        }
    }

    pub(crate) fn put(self, handle: c_uint, key: &[u8], data: &[u8], flags: c_uint) -> c_int {
        self.put_value(handle, key, &mut value(data), flags)
    }

    pub(crate) fn put_value(
        self,
        handle: c_uint,
        key: &[u8],
        data: &mut Value,
        flags: c_uint,
    ) -> c_int {
        // SAFETY: a handle and values.
        unsafe { mdb_put(self.0, handle, &mut value(key), data, flags) }
    }

    pub(crate) fn del(self, handle: c_uint, key: &[u8], data: Option<&[u8]>) -> c_int {
        let mut data = data.map(value);
        let data = data.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        // SAFETY: a handle, a value, and null or another.
        unsafe { mdb_del(self.0, handle, &mut value(key), data) }
    }

    pub(crate) fn cursor(self, handle: c_uint) -> CursorHandle {
        let mut cursor = ptr::null_mut();
        assert_eq!(
            // SAFETY: a handle, and room for another one.
            unsafe { mdb_cursor_open(self.0, handle, &raw mut cursor) },
            0
        );
        CursorHandle(cursor)
    }
}

/// A record, or the code of the failure.
pub(crate) type Found<'b> = Result<(&'b [u8], &'b [u8]), c_int>;

/// A cursor. It ends with its transaction, or the test closes it.
#[derive(Clone, Copy)]
pub(crate) struct CursorHandle(pub(crate) *mut Cursor);

impl CursorHandle {
    pub(crate) fn go<'b>(self, operation: Operation) -> Found<'b> {
        self.seek(operation, &[], &[])
    }

    pub(crate) fn seek<'b>(self, operation: Operation, key: &[u8], data: &[u8]) -> Found<'b> {
        let (mut key, mut data) = (value(key), value(data));
        let number = operation as c_int;
        // SAFETY: a handle and values.
        match unsafe { mdb_cursor_get(self.0, &raw mut key, &raw mut data, number) } {
            0 => Ok((bytes(key), bytes(data))),
            code => Err(code),
        }
    }

    pub(crate) fn put(self, key: &[u8], data: &[u8], flags: c_uint) -> c_int {
        self.put_value(key, &mut value(data), flags)
    }

    pub(crate) fn put_value(self, key: &[u8], data: &mut Value, flags: c_uint) -> c_int {
        // SAFETY: a handle and values.
        unsafe { mdb_cursor_put(self.0, &mut value(key), data, flags) }
    }

    pub(crate) fn del(self, flags: c_uint) -> c_int {
        // SAFETY: a handle.
        unsafe { mdb_cursor_del(self.0, flags) }
    }
}
