//! Berkeley DB and WiredTiger. Their C interfaces are structures of functions, which only C code
//! can use, so a few lines of C define the same functions for both.
//!
//! Invariants: a store outlives its connections, these their transactions, and those their cursors,
//! and each ends once. The bytes of a lookup or a step are borrowed only until the next call of the
//! connection.

#![allow(unsafe_code)]

use super::{
    Durability,
    store::{
        CacheBudget, Connection, LookupTransaction, Read, ScanDirection, Store, Write,
        wait_until_quiet,
    },
};
use anyhow::{Result, bail};
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr, slice,
};

const MISSING: c_int = 1;

type ShimHandle = *mut c_void;
type Bytes = *const c_void;

/// The functions of an engine.
struct ShimCalls {
    open: unsafe extern "C" fn(*const c_char, c_int, u64, *mut ShimHandle) -> c_int,
    sync: unsafe extern "C" fn(ShimHandle) -> c_int,
    close: unsafe extern "C" fn(ShimHandle),
    connect: unsafe extern "C" fn(ShimHandle, *mut ShimHandle) -> c_int,
    disconnect: unsafe extern "C" fn(ShimHandle),
    begin: unsafe extern "C" fn(ShimHandle, c_int, *mut ShimHandle) -> c_int,
    commit: unsafe extern "C" fn(ShimHandle) -> c_int,
    abort: unsafe extern "C" fn(ShimHandle),
    get: unsafe extern "C" fn(ShimHandle, Bytes, usize, *mut Bytes, *mut usize) -> c_int,
    put: unsafe extern "C" fn(ShimHandle, Bytes, usize, Bytes, usize) -> c_int,
    remove: unsafe extern "C" fn(ShimHandle, Bytes, usize) -> c_int,
    cursor: unsafe extern "C" fn(ShimHandle, *mut ShimHandle) -> c_int,
    next: unsafe extern "C" fn(ShimHandle, *mut Bytes, *mut usize) -> c_int,
    previous: unsafe extern "C" fn(ShimHandle, *mut Bytes, *mut usize) -> c_int,
    seek: unsafe extern "C" fn(ShimHandle, Bytes, usize, *mut Bytes, *mut usize) -> c_int,
    cursor_close: unsafe extern "C" fn(ShimHandle),
    error: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// Declares the functions of an engine, and lists them.
macro_rules! calls {
    ($list:ident: $($field:ident = $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        unsafe extern "C" {
            $(fn $name($(_: $argument),*) $(-> $result)?;)*
        }

        static $list: ShimCalls = ShimCalls { $($field: $name),* };
    };
}

#[cfg(feature = "berkeleydb")]
calls! {
    BERKELEYDB:
    open = berkeleydb_open(*const c_char, c_int, u64, *mut ShimHandle) -> c_int;
    sync = berkeleydb_sync(ShimHandle) -> c_int;
    close = berkeleydb_close(ShimHandle);
    connect = berkeleydb_connect(ShimHandle, *mut ShimHandle) -> c_int;
    disconnect = berkeleydb_disconnect(ShimHandle);
    begin = berkeleydb_begin(ShimHandle, c_int, *mut ShimHandle) -> c_int;
    commit = berkeleydb_commit(ShimHandle) -> c_int;
    abort = berkeleydb_abort(ShimHandle);
    get = berkeleydb_get(ShimHandle, Bytes, usize, *mut Bytes, *mut usize) -> c_int;
    put = berkeleydb_put(ShimHandle, Bytes, usize, Bytes, usize) -> c_int;
    remove = berkeleydb_remove(ShimHandle, Bytes, usize) -> c_int;
    cursor = berkeleydb_cursor(ShimHandle, *mut ShimHandle) -> c_int;
    next = berkeleydb_next(ShimHandle, *mut Bytes, *mut usize) -> c_int;
    previous = berkeleydb_previous(ShimHandle, *mut Bytes, *mut usize) -> c_int;
    seek = berkeleydb_seek(ShimHandle, Bytes, usize, *mut Bytes, *mut usize) -> c_int;
    cursor_close = berkeleydb_cursor_close(ShimHandle);
    error = berkeleydb_error(c_int) -> *const c_char;
}

#[cfg(feature = "wiredtiger")]
calls! {
    WIREDTIGER:
    open = wiredtiger_shim_open(*const c_char, c_int, u64, *mut ShimHandle) -> c_int;
    sync = wiredtiger_shim_sync(ShimHandle) -> c_int;
    close = wiredtiger_shim_close(ShimHandle);
    connect = wiredtiger_shim_connect(ShimHandle, *mut ShimHandle) -> c_int;
    disconnect = wiredtiger_shim_disconnect(ShimHandle);
    begin = wiredtiger_shim_begin(ShimHandle, c_int, *mut ShimHandle) -> c_int;
    commit = wiredtiger_shim_commit(ShimHandle) -> c_int;
    abort = wiredtiger_shim_abort(ShimHandle);
    get = wiredtiger_shim_get(ShimHandle, Bytes, usize, *mut Bytes, *mut usize) -> c_int;
    put = wiredtiger_shim_put(ShimHandle, Bytes, usize, Bytes, usize) -> c_int;
    remove = wiredtiger_shim_remove(ShimHandle, Bytes, usize) -> c_int;
    cursor = wiredtiger_shim_cursor(ShimHandle, *mut ShimHandle) -> c_int;
    next = wiredtiger_shim_next(ShimHandle, *mut Bytes, *mut usize) -> c_int;
    previous = wiredtiger_shim_previous(ShimHandle, *mut Bytes, *mut usize) -> c_int;
    seek = wiredtiger_shim_seek(ShimHandle, Bytes, usize, *mut Bytes, *mut usize) -> c_int;
    cursor_close = wiredtiger_shim_cursor_close(ShimHandle);
    error = wiredtiger_shim_error(c_int) -> *const c_char;
}

/// An open database.
pub(crate) struct Shim {
    calls: &'static ShimCalls,
    handle: ShimHandle,
}

// SAFETY: both engines let threads connect to a database at the same time; each thread has its own
// connection.
unsafe impl Sync for Shim {}

/// A thread's connection.
pub(crate) struct ShimConnection<'s> {
    calls: &'s ShimCalls,
    handle: ShimHandle,
}

/// A transaction; dropping it aborts it.
pub(crate) struct ShimTransaction<'c> {
    calls: &'c ShimCalls,
    handle: ShimHandle,
}

impl Shim {
    #[cfg(feature = "berkeleydb")]
    pub(crate) fn open_berkeleydb(
        directory: &Path,
        durability: Durability,
        room: CacheBudget,
    ) -> Result<Self> {
        Self::open(&BERKELEYDB, directory, durability, room)
    }

    #[cfg(feature = "wiredtiger")]
    pub(crate) fn open_wiredtiger(
        directory: &Path,
        durability: Durability,
        room: CacheBudget,
    ) -> Result<Self> {
        Self::open(&WIREDTIGER, directory, durability, room)
    }

    /// Opens the database in `directory`, or creates it.
    fn open(
        calls: &'static ShimCalls,
        directory: &Path,
        durability: Durability,
        room: CacheBudget,
    ) -> Result<Self> {
        let directory = directory.join("database");
        fs::create_dir_all(&directory)?;
        let path = CString::new(directory.as_os_str().as_bytes())?;
        let mode = match durability {
            Durability::Durable => 0,
            Durability::Lazy | Durability::Async => 1,
            Durability::Careless => 2,
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the path is zero-terminated, and there is memory for the new handle.
        let code = unsafe { (calls.open)(path.as_ptr(), mode, room.cache_bytes, &raw mut handle) };
        let opened = Self { calls, handle };
        check(calls, code)?;
        Ok(opened)
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is live, and everything that borrowed it has ended.
            unsafe { (self.calls.close)(self.handle) };
        }
    }
}

impl Store for Shim {
    type Connection<'s> = ShimConnection<'s>;

    fn connect(&self) -> Result<ShimConnection<'_>> {
        let mut handle = ptr::null_mut();
        // SAFETY: the database is open, and there is memory for the new handle.
        let code = unsafe { (self.calls.connect)(self.handle, &raw mut handle) };
        let calls = self.calls;
        let connected = ShimConnection { calls, handle };
        check(calls, code)?;
        Ok(connected)
    }

    fn sync(&self) -> Result<()> {
        // SAFETY: the database is open.
        check(self.calls, unsafe { (self.calls.sync)(self.handle) })
    }

    fn rest(&self) -> Result<()> {
        wait_until_quiet()
    }
}

impl Drop for ShimConnection<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is live, and its transactions have ended.
            unsafe { (self.calls.disconnect)(self.handle) };
        }
    }
}

impl ShimConnection<'_> {
    fn begin(&mut self, writes: c_int) -> Result<ShimTransaction<'_>> {
        let mut handle = ptr::null_mut();
        // SAFETY: the connection is live, and there is memory for the new handle.
        let code = unsafe { (self.calls.begin)(self.handle, writes, &raw mut handle) };
        check(self.calls, code)?;
        Ok(ShimTransaction {
            calls: self.calls,
            handle,
        })
    }
}

impl Connection for ShimConnection<'_> {
    type Read<'r>
        = ShimTransaction<'r>
    where
        Self: 'r;
    type Write<'w>
        = ShimTransaction<'w>
    where
        Self: 'w;

    fn read(&mut self) -> Result<ShimTransaction<'_>> {
        self.begin(0)
    }

    fn write(&mut self) -> Result<ShimTransaction<'_>> {
        self.begin(1)
    }
}

impl Drop for ShimTransaction<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the transaction runs, and its cursors are closed.
            unsafe { (self.calls.abort)(self.handle) };
        }
    }
}

impl LookupTransaction for ShimTransaction<'_> {
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        let (mut value, mut len) = (ptr::null(), 0);
        let start = key.as_ptr().cast();
        let (value_out, len_out) = (&raw mut value, &raw mut len);
        // SAFETY: the transaction is live, the key has that length, and there is memory for the
        // result.
        match unsafe { (self.calls.get)(self.handle, start, key.len(), value_out, len_out) } {
            MISSING => Ok(false),
            code => {
                check(self.calls, code)?;
                // SAFETY: the call succeeded, and the next one comes later.
                see(unsafe { shown(value, len) });
                Ok(true)
            }
        }
    }
}

impl Read for ShimTransaction<'_> {
    fn scan(
        &mut self,
        direction: ScanDirection<'_>,
        most: u64,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let (calls, mut cursor) = (self.calls, ptr::null_mut());
        // SAFETY: the transaction is live, and there is memory for the new handle.
        check(calls, unsafe {
            (calls.cursor)(self.handle, &raw mut cursor)
        })?;
        let (mut data, mut lens) = ([ptr::null(); 2], [0; 2]);
        let step = match direction {
            ScanDirection::Backwards => calls.previous,
            ScanDirection::Forwards | ScanDirection::From(_) => calls.next,
        };
        let mut go = |key: Option<&[u8]>| {
            let (data_out, lens_out) = (data.as_mut_ptr(), lens.as_mut_ptr());
            // SAFETY: the cursor is live, a key has that length, and there is memory for the
            // result.
            let code = unsafe {
                match key {
                    Some(key) => {
                        let start = key.as_ptr().cast();
                        (calls.seek)(cursor, start, key.len(), data_out, lens_out)
                    }
                    None => step(cursor, data_out, lens_out),
                }
            };
            if code == 0 {
                // SAFETY: the call succeeded, and the next one comes later.
                unsafe { see(shown(data[0], lens[0]), shown(data[1], lens[1])) };
            }
            code
        };
        let mut code = match direction {
            ScanDirection::From(key) => go(Some(key)),
            ScanDirection::Forwards | ScanDirection::Backwards => go(None),
        };
        let mut left = most - 1;
        while code == 0 && left > 0 {
            code = go(None);
            left -= 1;
        }
        // SAFETY: the cursor is live.
        unsafe { (calls.cursor_close)(cursor) };
        match code {
            MISSING => Ok(()),
            code => check(calls, code),
        }
    }
}

impl Write for ShimTransaction<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (start, value_start) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the transaction runs, and key and value are of these lengths.
        let code =
            unsafe { (self.calls.put)(self.handle, start, key.len(), value_start, value.len()) };
        check(self.calls, code)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        // SAFETY: the transaction runs, and the key is of that length.
        let code = unsafe { (self.calls.remove)(self.handle, key.as_ptr().cast(), key.len()) };
        check(self.calls, code)
    }

    fn commit(mut self) -> Result<()> {
        // The handle is invalid even if committing fails.
        let handle = std::mem::replace(&mut self.handle, ptr::null_mut());
        // SAFETY: the transaction runs.
        check(self.calls, unsafe { (self.calls.commit)(handle) })
    }
}

/// The bytes that an engine points to.
///
/// # Safety
///
/// They were found by a successful call, and the connection makes its next call after the last use
/// of the result.
unsafe fn shown<'a>(data: Bytes, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the engine points to that many bytes, which do not change as long as the caller
    // promises.
    unsafe { slice::from_raw_parts(data.cast(), len) }
}

fn check(calls: &ShimCalls, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the engine returns a string for every code, which is valid until this thread's next
    // call.
    let text = unsafe { CStr::from_ptr((calls.error)(code)) };
    bail!("{} (code {code})", text.to_string_lossy())
}
