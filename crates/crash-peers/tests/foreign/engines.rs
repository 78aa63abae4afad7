//! LMDB and libmdbx, as far as the comparison needs them.
//!
//! Invariants: an environment is open from its creation to its drop, and no transaction or cursor
//! outlives the call that began it. Bytes of the map are copied out before a call returns.

#![allow(unsafe_code)]

use std::{
    ffi::{CString, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr, slice,
};

/// A change of a table.
pub(super) enum Change {
    Put(Vec<u8>, Vec<u8>),
    /// Removes a key with all its values.
    Remove(Vec<u8>),
}

/// A table: its name, unless it is the main one, and its flags, which are equal in both engines.
pub(super) struct Kind {
    pub(super) name: Option<&'static str>,
    pub(super) flags: u32,
}

/// How an engine writes to its file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    Called,
    Mapped,
}

/// A key and a value.
pub(super) type Record = (Vec<u8>, Vec<u8>);

/// One of the engines.
pub(super) trait Peer {
    /// Creates missing tables, makes the changes, each in the table of its index, and commits.
    fn commit(&self, kinds: &[Kind], changes: &[(usize, Change)]);

    /// All records of a table, according to the engine.
    fn records(&self, kind: &Kind) -> Vec<Record>;
}

macro_rules! peer {
    ($name:ident, $ffi:ident, $env:ident, $val:ident { $data:ident, $len:ident }, $create:ident, $next:ident, $not_found:ident,
     $key_exist:ident, $read_only:ident, $begin:ident, $commit:ident, $abort:ident, $open:ident, $put:ident, $del:ident, $cursor_open:ident,
     $cursor_get:ident, $cursor_close:ident, $close:ident) => {
        pub(super) struct $name(*mut $ffi::$env);

        impl $name {
            fn table(txn: *mut $ffi::Txn, kind: &Kind, more: u32) -> Option<u32> {
                let name = kind.name.map(|name| CString::new(name).expect("a name"));
                let name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
                let mut table = 0;
                // SAFETY: the transaction is live, the name is null or zero-terminated, and `table`
                // is memory for the number.
                match unsafe { $ffi::$open(txn, name, (kind.flags | more) as _, &raw mut table) } {
                    $ffi::$not_found => None,
                    code => {
                        must(code);
                        Some(table)
                    }
                }
            }

            fn begin(&self, flags: u32) -> *mut $ffi::Txn {
                let mut txn = ptr::null_mut();
                // SAFETY: the environment is open, and `txn` is memory for the handle.
                must(unsafe { $ffi::$begin(self.0, ptr::null_mut(), flags as _, &raw mut txn) });
                txn
            }
        }

        impl Peer for $name {
            fn commit(&self, kinds: &[Kind], changes: &[(usize, Change)]) {
                let txn = self.begin(0);
                let open = |kind| {
                    Self::table(txn, kind, $ffi::$create as u32).expect("the table can be opened")
                };
                let tables: Vec<u32> = kinds.iter().map(open).collect();
                let borrowed = |bytes: &[u8]| $ffi::$val {
                    $data: bytes.as_ptr().cast::<c_void>().cast_mut(),
                    $len: bytes.len(),
                };
                for (table, change) in changes {
                    let table = tables[*table];
                    let (code, fine) = match change {
                        Change::Put(key, value) => {
                            let (mut key, mut value) = (borrowed(key), borrowed(value));
                            let (key, value) = (&raw mut key, &raw mut value);
                            // SAFETY: the transaction runs, the table is open, and the engine only
                            // reads both.
                            let code = unsafe { $ffi::$put(txn, table, key, value, 0) };
                            (code, $ffi::$key_exist)
                        }
                        Change::Remove(key) => {
                            let mut key = borrowed(key);
                            let (key, every) = (&raw mut key, ptr::null_mut());
                            // SAFETY: the transaction runs, the table is open, and the engine only
                            // reads the key.
                            let code = unsafe { $ffi::$del(txn, table, key, every) };
                            (code, $ffi::$not_found)
                        }
                    };
                    if code != fine {
                        must(code);
                    }
                }
                // SAFETY: the transaction runs, and is not used again.
                must(unsafe { $ffi::$commit(txn) });
            }

            fn records(&self, kind: &Kind) -> Vec<Record> {
                let txn = self.begin($ffi::$read_only as u32);
                let mut records = Vec::new();
                if let Some(table) = Self::table(txn, kind, 0) {
                    let mut cursor = ptr::null_mut();
                    // SAFETY: the transaction is live, and `cursor` is memory for the handle.
                    must(unsafe { $ffi::$cursor_open(txn, table, &raw mut cursor) });
                    loop {
                        let nothing = || $ffi::$val {
                            $data: ptr::null_mut(),
                            $len: 0,
                        };
                        let (mut key, mut value) = (nothing(), nothing());
                        // SAFETY: the cursor is open, and the engine writes only to key and value.
                        let code = unsafe {
                            $ffi::$cursor_get(cursor, &raw mut key, &raw mut value, $ffi::$next)
                        };
                        if code == $ffi::$not_found {
                            break;
                        }
                        must(code);
                        let copied = |slice: &$ffi::$val| match slice.$len {
                            0 => Vec::new(),
                            // SAFETY: the engine points to that many bytes of its map, which do not
                            // change while the transaction is live.
                            len => unsafe { slice::from_raw_parts(slice.$data.cast::<u8>(), len) }
                                .to_vec(),
                        };
                        records.push((copied(&key), copied(&value)));
                    }
                    // SAFETY: the cursor is open, and not used again.
                    unsafe { $ffi::$cursor_close(cursor) };
                }
                // SAFETY: the transaction runs, and is not used again.
                let _ = unsafe { $ffi::$abort(txn) };
                records
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the environment is open, and has no transactions.
                let _ = unsafe { $ffi::$close(self.0) };
            }
        }
    };
}

mod lmdb {
    pub(super) use lmdb_master_sys::*;
    pub(super) type Txn = MDB_txn;
}

mod mdbx {
    pub(super) use mdbx_sys::*;
    use std::ptr;
    pub(super) type Txn = MDBX_txn;

    pub(super) unsafe fn begin(
        env: *mut MDBX_env,
        parent: *mut Txn,
        flags: MDBX_txn_flags_t,
        txn: *mut *mut Txn,
    ) -> i32 {
        // SAFETY: the caller's promise; there is no context.
        unsafe { mdbx_txn_begin_ex(env, parent, flags, txn, ptr::null_mut()) }
    }

    pub(super) unsafe fn commit(txn: *mut Txn) -> i32 {
        // SAFETY: the caller's promise; latencies are not requested.
        unsafe { mdbx_txn_commit_ex(txn, ptr::null_mut()) }
    }

    pub(super) unsafe fn abort(txn: *mut Txn) -> i32 {
        // SAFETY: the caller's promise; latencies are not requested.
        unsafe { mdbx_txn_abort_ex(txn, ptr::null_mut()) }
    }

    pub(super) unsafe fn close(env: *mut MDBX_env) -> i32 {
        // SAFETY: the caller's promise; unflushed data is flushed.
        unsafe { mdbx_env_close_ex(env, false) }
    }
}

peer!(
    Lmdb,
    lmdb,
    MDB_env,
    MDB_val { mv_data, mv_size },
    MDB_CREATE,
    MDB_NEXT,
    MDB_NOTFOUND,
    MDB_KEYEXIST,
    MDB_RDONLY,
    mdb_txn_begin,
    mdb_txn_commit,
    mdb_txn_abort,
    mdb_dbi_open,
    mdb_put,
    mdb_del,
    mdb_cursor_open,
    mdb_cursor_get,
    mdb_cursor_close,
    mdb_env_close
);
peer!(
    Mdbx,
    mdbx,
    MDBX_env,
    MDBX_val { iov_base, iov_len },
    MDBX_CREATE,
    MDBX_NEXT,
    MDBX_NOTFOUND,
    MDBX_KEYEXIST,
    MDBX_TXN_RDONLY,
    begin,
    commit,
    abort,
    mdbx_dbi_open,
    mdbx_put,
    mdbx_del,
    mdbx_cursor_open,
    mdbx_cursor_get,
    mdbx_cursor_close,
    close
);

impl Lmdb {
    pub(super) fn create(path: &Path, writing: Writing) -> Self {
        let path = CString::new(path.as_os_str().as_bytes()).expect("a path");
        let mut env = ptr::null_mut();
        // SAFETY: `env` is memory for the handle.
        must(unsafe { lmdb::mdb_env_create(&raw mut env) });
        let mut flags = lmdb::MDB_NOSUBDIR | lmdb::MDB_NOSYNC | lmdb::MDB_NOTLS;
        if writing == Writing::Mapped {
            flags |= lmdb::MDB_WRITEMAP;
        }
        // SAFETY: the environment is not open yet, and the path ends with a zero byte.
        unsafe {
            must(lmdb::mdb_env_set_mapsize(env, 256 << 20));
            must(lmdb::mdb_env_set_maxdbs(env, 32));
            must(lmdb::mdb_env_open(env, path.as_ptr(), flags, 0o644));
        }
        Self(env)
    }
}

impl Mdbx {
    pub(super) fn create(path: &Path, page_size: usize, writing: Writing) -> Self {
        let (level, flags) = (mdbx::MDBX_LOG_FATAL, mdbx::MDBX_DBG_DONTCHANGE);
        // SAFETY: this sets numbers of the library, and there is no callback.
        unsafe { mdbx::mdbx_setup_debug(level, flags, None) };
        let path = CString::new(path.as_os_str().as_bytes()).expect("a path");
        let mut env = ptr::null_mut();
        // SAFETY: `env` is memory for the handle.
        must(unsafe { mdbx::mdbx_env_create(&raw mut env) });
        let mut flags = mdbx::MDBX_NOSUBDIR | mdbx::MDBX_SAFE_NOSYNC;
        if writing == Writing::Mapped {
            flags |= mdbx::MDBX_WRITEMAP;
        }
        // SAFETY: the environment is not open yet, and the path ends with a zero byte.
        unsafe {
            must(mdbx::mdbx_env_set_geometry(
                env,
                0,
                -1,
                256 << 20,
                1 << 20,
                2 << 20,
                page_size as isize,
            ));
            must(mdbx::mdbx_env_set_option(env, mdbx::MDBX_opt_max_db, 32));
            must(mdbx::mdbx_env_open(env, path.as_ptr(), flags, 0o644));
        }
        Self(env)
    }
}

fn must(code: c_int) {
    assert_eq!(code, 0, "the call failed");
}
