//! LMDB 1.0, as a library that is loaded at run time: its functions have the same names as those of
//! LMDB 0.9, which is linked.
//!
//! `cargo xtask lmdb1` makes the library. On 64-bit machines its types, flags and functions are
//! those of 0.9. The settings are the same too.
//!
//! Invariants: as in [`super::lmdb`]: an environment outlives its transactions, and these their
//! cursors. The bytes of a lookup are borrowed only during the callback.

#![allow(unsafe_code)]

use super::{
    Durability, KeyOrder, PageWriteMode,
    store::{
        CacheBudget, Connection, LookupTransaction, Read, ScanDirection, Store, StorePair, Write,
    },
};
use anyhow::{Context, Result, bail};
use libloading::Library;
use lmdb_master_sys as ffi;
use std::{
    env,
    ffi::{CStr, CString, c_char, c_int, c_uint, c_void},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr, slice,
};

/// The variable with the path of the library, if it is elsewhere.
const VARIABLE: &str = "TEAK_BENCH_LMDB1";
/// Its path relative to this program.
const USUAL_PATH: &str = "../lmdb-1/liblmdb1.so";
const FILE_NAME: &str = "bench.mdb";
const FILE_MODE: c_uint = 0o644;
const MAP_BYTES_SPARE: u64 = 1 << 30;
const MAP_BYTES_PER_DATA_BYTE: u64 = 8;

type Lmdb1Environment = *mut ffi::MDB_env;
type Lmdb1RawTransaction = *mut ffi::MDB_txn;
type Lmdb1Cursor = *mut ffi::MDB_cursor;
type Lmdb1Value = ffi::MDB_val;
type Lmdb1Table = c_uint;

/// Declares the functions of the library that are used, and looks them up.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions.
        struct Lmdb1Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Lmdb1Functions {
            /// # Safety
            ///
            /// The library is LMDB 1.0, and stays loaded as long as the functions are used.
            unsafe fn of(library: &Library) -> Result<Self> {
                Ok(Self {
                    // SAFETY: as the caller promises, the functions are of these types.
                    $($name: *unsafe { library.get(concat!("mdb_", stringify!($name)))? },)*
                })
            }
        }
    };
}

functions! {
    strerror(c_int) -> *const c_char;
    env_create(*mut Lmdb1Environment) -> c_int;
    env_set_mapsize(Lmdb1Environment, usize) -> c_int;
    env_open(Lmdb1Environment, *const c_char, c_uint, c_uint) -> c_int;
    env_sync(Lmdb1Environment, c_int) -> c_int;
    env_close(Lmdb1Environment) -> ();
    txn_begin(Lmdb1Environment, Lmdb1RawTransaction, c_uint, *mut Lmdb1RawTransaction) -> c_int;
    txn_commit(Lmdb1RawTransaction) -> c_int;
    txn_abort(Lmdb1RawTransaction) -> ();
    dbi_open(Lmdb1RawTransaction, *const c_char, c_uint, *mut Lmdb1Table) -> c_int;
    get(Lmdb1RawTransaction, Lmdb1Table, *const Lmdb1Value, *mut Lmdb1Value) -> c_int;
    put(Lmdb1RawTransaction, Lmdb1Table, *const Lmdb1Value, *mut Lmdb1Value, c_uint) -> c_int;
    del(Lmdb1RawTransaction, Lmdb1Table, *const Lmdb1Value, *mut Lmdb1Value) -> c_int;
    cursor_open(Lmdb1RawTransaction, Lmdb1Table, *mut Lmdb1Cursor) -> c_int;
    cursor_get(Lmdb1Cursor, *mut Lmdb1Value, *mut Lmdb1Value, ffi::MDB_cursor_op) -> c_int;
    cursor_close(Lmdb1Cursor) -> ();
}

/// An open environment.
pub(crate) struct Lmdb1 {
    functions: Lmdb1Functions,
    environment: Lmdb1Environment,
    table: Lmdb1Table,
    _library: Library,
}

// SAFETY: LMDB lets threads begin transactions on one environment at the same time; it has locks of
// its own.
unsafe impl Sync for Lmdb1 {}

/// A running transaction; dropping it aborts it.
pub(crate) struct Lmdb1Transaction<'e> {
    environment: &'e Lmdb1,
    handle: Lmdb1RawTransaction,
}

impl Lmdb1 {
    /// Opens the environment in `directory`, or creates it.
    pub(crate) fn open(
        directory: &Path,
        durability: Durability,
        room: CacheBudget,
        writing: PageWriteMode,
    ) -> Result<Self> {
        let mut flags = ffi::MDB_NOSUBDIR | ffi::MDB_NORDAHEAD;
        if durability != Durability::Durable {
            flags |= ffi::MDB_NOSYNC;
        }
        if writing == PageWriteMode::Map {
            flags |= ffi::MDB_WRITEMAP;
        }
        let library_path = library_path()?;
        let advice = || {
            format!(
                "cannot load {}; `cargo xtask lmdb1` makes it",
                library_path.display()
            )
        };
        // SAFETY: the library does nothing when it is loaded.
        let library = unsafe { Library::new(&library_path) }.with_context(advice)?;
        // SAFETY: the library was made by that task, and is kept as long as the functions.
        let functions = unsafe { Lmdb1Functions::of(&library) }.with_context(advice)?;
        let mut opened = Self {
            functions,
            environment: ptr::null_mut(),
            table: 0,
            _library: library,
        };
        let path = CString::new(directory.join(FILE_NAME).as_os_str().as_bytes())?;
        let map_bytes = room.data_bytes * MAP_BYTES_PER_DATA_BYTE + MAP_BYTES_SPARE;
        // SAFETY: there is memory for the handles, handles are live, and the path is
        // zero-terminated.
        unsafe {
            let code = (opened.functions.env_create)(&raw mut opened.environment);
            opened.check(code)?;
            let (functions, environment) = (&opened.functions, opened.environment);
            let map_bytes = usize::try_from(map_bytes)?;
            opened.check((functions.env_set_mapsize)(environment, map_bytes))?;
            let (path, mode) = (path.as_ptr(), FILE_MODE);
            opened.check((functions.env_open)(environment, path, flags, mode))?;
        }
        let transaction = opened.begin(0)?;
        let mut table = 0;
        let flags = match room.keys {
            KeyOrder::Bytes => 0,
            KeyOrder::Integers => ffi::MDB_INTEGERKEY,
        };
        // SAFETY: the transaction runs; no name means the unnamed database.
        let code = unsafe {
            (opened.functions.dbi_open)(transaction.handle, ptr::null(), flags, &raw mut table)
        };
        opened.check(code)?;
        transaction.commit()?;
        opened.table = table;
        Ok(opened)
    }

    fn begin(&self, flags: c_uint) -> Result<Lmdb1Transaction<'_>> {
        let mut handle = ptr::null_mut();
        let begin = self.functions.txn_begin;
        // SAFETY: the environment is open, and there is memory for the new handle.
        self.check(unsafe { begin(self.environment, ptr::null_mut(), flags, &raw mut handle) })?;
        Ok(Lmdb1Transaction {
            environment: self,
            handle,
        })
    }

    fn check(&self, code: c_int) -> Result<()> {
        if code == ffi::MDB_SUCCESS {
            return Ok(());
        }
        // SAFETY: LMDB returns a string for every code, which is valid forever.
        let text = unsafe { CStr::from_ptr((self.functions.strerror)(code)) };
        bail!("LMDB 1.0: {} (code {code})", text.to_string_lossy())
    }
}

/// The path of the library.
fn library_path() -> Result<PathBuf> {
    if let Some(library_path) = env::var_os(VARIABLE) {
        return Ok(library_path.into());
    }
    let program = env::current_exe().context("cannot find this program's path")?;
    Ok(program.with_file_name("").join(USUAL_PATH))
}

impl Drop for Lmdb1 {
    fn drop(&mut self) {
        if !self.environment.is_null() {
            // SAFETY: the handle is live, and everything that borrowed it has ended.
            unsafe { (self.functions.env_close)(self.environment) };
        }
    }
}

impl Store for Lmdb1 {
    type Connection<'s> = &'s Lmdb1;

    fn connect(&self) -> Result<&Self> {
        Ok(self)
    }

    fn sync(&self) -> Result<()> {
        // SAFETY: the environment is open.
        self.check(unsafe { (self.functions.env_sync)(self.environment, 1) })
    }
}

impl Connection for &Lmdb1 {
    type Read<'r>
        = Lmdb1Transaction<'r>
    where
        Self: 'r;
    type Write<'w>
        = Lmdb1Transaction<'w>
    where
        Self: 'w;

    #[inline]
    fn read(&mut self) -> Result<Lmdb1Transaction<'_>> {
        self.begin(ffi::MDB_RDONLY)
    }

    #[inline]
    fn write(&mut self) -> Result<Lmdb1Transaction<'_>> {
        self.begin(0)
    }
}

impl Lmdb1Transaction<'_> {
    fn put_with(&mut self, key: &[u8], value: &[u8], flags: c_uint) -> Result<()> {
        let (key, mut value) = (borrowed(key), borrowed(value));
        let (put, table) = (self.environment.functions.put, self.environment.table);
        // SAFETY: the transaction runs; without `MDB_RESERVE` LMDB only reads key and value.
        let code = unsafe { put(self.handle, table, &raw const key, &raw mut value, flags) };
        self.environment.check(code)
    }
}

impl Drop for Lmdb1Transaction<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the transaction runs, and everything that borrowed it has ended.
            unsafe { (self.environment.functions.txn_abort)(self.handle) };
        }
    }
}

impl LookupTransaction for Lmdb1Transaction<'_> {
    #[inline]
    fn get(&mut self, key: &[u8], mut see: impl FnMut(&[u8])) -> Result<bool> {
        let (key, mut value) = (borrowed(key), borrowed(&[]));
        let (get, table) = (self.environment.functions.get, self.environment.table);
        // SAFETY: the transaction is live; LMDB reads the key and writes only to `value`.
        match unsafe { get(self.handle, table, &raw const key, &raw mut value) } {
            ffi::MDB_NOTFOUND => Ok(false),
            code => {
                self.environment.check(code)?;
                // SAFETY: the call succeeded, and nothing changes while the value is shown.
                see(unsafe { as_slice(&value) });
                Ok(true)
            }
        }
    }
}

impl Read for Lmdb1Transaction<'_> {
    fn scan(
        &mut self,
        direction: ScanDirection<'_>,
        most: u64,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let Lmdb1 {
            functions, table, ..
        } = self.environment;
        let (first, step, key) = match direction {
            ScanDirection::Forwards => (ffi::MDB_FIRST, ffi::MDB_NEXT, &[][..]),
            ScanDirection::Backwards => (ffi::MDB_LAST, ffi::MDB_PREV, &[][..]),
            ScanDirection::From(key) => (ffi::MDB_SET_RANGE, ffi::MDB_NEXT, key),
        };
        let (mut key, mut value, mut cursor) = (borrowed(key), borrowed(&[]), ptr::null_mut());
        // SAFETY: the transaction is live, and there is memory for the new handle.
        let code = unsafe { (functions.cursor_open)(self.handle, *table, &raw mut cursor) };
        self.environment.check(code)?;
        let (mut go, mut left) = (first, most);
        let code = loop {
            // SAFETY: the cursor is live; LMDB reads the given key and writes only to `key` and
            // `value`.
            let code = unsafe { (functions.cursor_get)(cursor, &raw mut key, &raw mut value, go) };
            if code != ffi::MDB_SUCCESS {
                break code;
            }
            // SAFETY: the call succeeded, and nothing changes while the record is shown.
            unsafe { see(as_slice(&key), as_slice(&value)) };
            left -= 1;
            if left == 0 {
                break code;
            }
            go = step;
        };
        // SAFETY: the cursor is live, and so is its transaction.
        unsafe { (functions.cursor_close)(cursor) };
        match code {
            ffi::MDB_NOTFOUND => Ok(()),
            code => self.environment.check(code),
        }
    }
}

impl Write for Lmdb1Transaction<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_with(key, value, 0)
    }

    fn append(&mut self, records: &[StorePair<'_>]) -> Result<()> {
        records
            .iter()
            .try_for_each(|(key, value)| self.put_with(key, value, ffi::MDB_APPEND))
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<()> {
        let key = borrowed(key);
        let (del, table) = (self.environment.functions.del, self.environment.table);
        // SAFETY: the transaction runs; LMDB only reads the key, and is given no value.
        let code = unsafe { del(self.handle, table, &raw const key, ptr::null_mut()) };
        self.environment.check(code)
    }

    #[inline]
    fn commit(mut self) -> Result<()> {
        let commit = self.environment.functions.txn_commit;
        // The handle is invalid even if committing fails.
        let handle = std::mem::replace(&mut self.handle, ptr::null_mut());
        // SAFETY: the transaction runs.
        self.environment.check(unsafe { commit(handle) })
    }
}

/// LMDB's form of a slice, for calls that only read it.
#[inline]
fn borrowed(bytes: &[u8]) -> Lmdb1Value {
    Lmdb1Value {
        mv_size: bytes.len(),
        mv_data: bytes.as_ptr().cast::<c_void>().cast_mut(),
    }
}

/// The bytes that LMDB points to.
///
/// # Safety
///
/// `value` was written by a successful call, and its transaction neither ends nor changes anything
/// while the result is used.
#[inline]
unsafe fn as_slice(value: &Lmdb1Value) -> &[u8] {
    if value.mv_size == 0 {
        return &[];
    }
    // SAFETY: LMDB points to that many bytes of its map, which do not change as long as the caller
    // promises.
    unsafe { slice::from_raw_parts(value.mv_data.cast::<u8>(), value.mv_size) }
}
