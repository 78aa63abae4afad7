//! The functions that the C++ part calls. They are private to the library: it does not export them.
//!
//! Functions that may fail return whether they succeeded, and fill a [`tl_status`] if they did not.
//! Objects are given as pointers, which the caller gives back to the function that frees them.

#![allow(
    non_camel_case_types,
    reason = "types have the names that they have in C"
)]

pub mod blocks;
pub mod iterators;
mod types;

use crate::{
    comparator::KeyComparator,
    directory::{self, OpenOptions},
    failure::{Failure, Result},
    lock_file::LockFile,
    removal,
    store::Store,
    system,
};
use std::{
    ffi::{c_char, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    ptr,
    sync::{Mutex, PoisonError},
};
use teak::{Database, ReadTxn};
use types::reported;
pub use types::{tl_slice, tl_status};

/// How a database is opened.
#[repr(C)]
#[derive(Debug)]
pub struct tl_options {
    /// Create the database if it does not exist.
    pub create_if_missing: bool,
    /// It must not exist.
    pub error_if_exists: bool,
    /// The application has not turned compression off.
    pub may_compress: bool,
    /// The name of the comparator.
    pub comparator_name: tl_slice,
    /// Compares two keys. `None` for the order of bytes.
    pub compare: Option<unsafe extern "C" fn(*const c_void, tl_slice, tl_slice) -> c_int>,
    /// The first argument of `compare`.
    pub comparator: *const c_void,
}

/// A database in memory that exists while it is not open.
#[derive(Debug, Default)]
pub struct tl_memory(Mutex<Option<Database>>);

/// The path of an argument.
///
/// # Safety
///
/// The bytes are valid for `'a`.
unsafe fn path<'a>(name: tl_slice) -> Result<&'a Path> {
    // SAFETY: the caller's promise.
    let path = system::path_of(unsafe { name.bytes() });
    path.ok_or_else(|| Failure::invalid_argument("the path is not UTF-8; convert it first"))
}

/// # Safety
///
/// The name is valid, and the function can be called with the comparator as long as the database is
/// open.
unsafe fn options(options: &tl_options) -> OpenOptions {
    let comparator = match options.compare {
        None => KeyComparator::Bytewise,
        Some(function) => {
            KeyComparator::Custom {
                // SAFETY: the caller's promise.
                name: unsafe { options.comparator_name.bytes() }.to_vec(),
                address: options.comparator.expose_provenance(),
                function: Box::new(move |address, a, b| {
                    let comparator = ptr::with_exposed_provenance(address);
                    // SAFETY: the application keeps its comparator as long as a database uses it,
                    // and threads may call it at the same time.
                    let order = unsafe { function(comparator, tl_slice::of(a), tl_slice::of(b)) };
                    order.cmp(&0)
                }),
            }
        }
    };
    OpenOptions {
        create_if_missing: options.create_if_missing,
        error_if_exists: options.error_if_exists,
        may_compress: options.may_compress,
        comparator,
    }
}

/// Opens a directory. NULL if that fails.
///
/// # Safety
///
/// All pointers are valid; see [`tl_options`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_open(
    name: tl_slice,
    given: *const tl_options,
    status: *mut tl_status,
) -> *mut Store {
    // SAFETY: the caller's promise.
    let opened = unsafe { reported(status, || directory::open(path(name)?, options(&*given))) };
    opened.map_or(ptr::null_mut(), |store| Box::into_raw(Box::new(store)))
}

/// A place for a database in memory.
#[unsafe(no_mangle)]
pub extern "C" fn tl_memory_new() -> *mut tl_memory {
    Box::into_raw(Box::default())
}

/// Frees a place. Open databases of it stay.
///
/// # Safety
///
/// It is one of [`tl_memory_new`], and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_memory_free(memory: *mut tl_memory) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(memory) });
}

/// Opens the database of a place, as [`tl_open`] does that of a directory.
///
/// # Safety
///
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_open_in_memory(
    memory: *const tl_memory,
    name: tl_slice,
    given: *const tl_options,
    status: *mut tl_status,
) -> *mut Store {
    // SAFETY: the caller's promise.
    let opened = unsafe {
        reported(status, || {
            let name = path(name)?;
            let mut database = (*memory).0.lock().unwrap_or_else(PoisonError::into_inner);
            // Several environments may have this name.
            let id = Path::new(&format!("memory {:p}", memory)).join(name);
            directory::open_in_memory((name, &id), &mut database, options(&*given))
        })
    };
    opened.map_or(ptr::null_mut(), |store| Box::into_raw(Box::new(store)))
}

/// Closes a database. Its snapshots and iterators may still be used.
///
/// # Safety
///
/// It is one that was opened here, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_close(store: *mut Store) {
    // SAFETY: the caller's promise.
    let store = unsafe { Box::from_raw(store) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(store)));
}

/// Gets a value: 1 if `found` was called with it, 0 if there is none, -1 on failure.
///
/// # Safety
///
/// All pointers are valid; the snapshot may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_get(
    store: *const Store,
    snapshot: *const ReadTxn,
    key: tl_slice,
    found: unsafe extern "C" fn(*mut c_void, tl_slice),
    context: *mut c_void,
    status: *mut tl_status,
) -> c_int {
    // SAFETY: the caller's promise.
    let got = unsafe {
        reported(status, || {
            (*store).get(snapshot.as_ref(), key.bytes(), |value| {
                found(context, tl_slice::of(value));
            })
        })
    };
    got.map_or(-1, c_int::from)
}

/// Writes a batch.
///
/// # Safety
///
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_write(
    store: *const Store,
    batch: tl_slice,
    is_synced: bool,
    status: *mut tl_status,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe { reported(status, || (*store).write(batch.bytes(), is_synced)).is_some() }
}

/// A snapshot of the newest state. NULL on failure.
///
/// # Safety
///
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_snapshot_new(
    store: *const Store,
    status: *mut tl_status,
) -> *mut ReadTxn {
    // SAFETY: the caller's promise.
    let snapshot = unsafe { reported(status, || (*store).snapshot()) };
    snapshot.map_or(ptr::null_mut(), |snapshot| {
        Box::into_raw(Box::new(snapshot))
    })
}

/// Frees a snapshot.
///
/// # Safety
///
/// It is one of [`tl_snapshot_new`], and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_snapshot_free(snapshot: *mut ReadTxn) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(snapshot) });
}

/// An estimate of the bytes of the records from `start` up to `limit`. 0 if it cannot be made.
///
/// # Safety
///
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_approximate_size(
    store: *const Store,
    start: tl_slice,
    limit: tl_slice,
) -> u64 {
    // SAFETY: the caller's promise.
    let estimated = catch_unwind(AssertUnwindSafe(|| unsafe {
        (*store).approximate_size(start.bytes(), limit.bytes())
    }));
    estimated.ok().and_then(Result::ok).unwrap_or(0)
}

/// Makes the file as short as possible, if that is worth the work.
///
/// # Safety
///
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_compact(store: *const Store, status: *mut tl_status) -> bool {
    // SAFETY: the caller's promise.
    unsafe { reported(status, || (*store).compact()).is_some() }
}

/// The version of the library, which the caller does not free.
#[unsafe(no_mangle)]
pub extern "C" fn tl_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Bytes of memory that a database has for itself.
///
/// # Safety
///
/// The pointer is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_memory_bytes(store: *const Store) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*store).memory_bytes() }
}

/// Takes a lock file as databases do. NULL if that fails.
///
/// # Safety
///
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_lock(name: tl_slice, status: *mut tl_status) -> *mut LockFile {
    // SAFETY: the caller's promise.
    let lock = unsafe { reported(status, || LockFile::take(path(name)?)) };
    lock.map_or(ptr::null_mut(), |lock| Box::into_raw(Box::new(lock)))
}

/// Releases a lock.
///
/// # Safety
///
/// It is one of [`tl_lock`], and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_unlock(lock: *mut LockFile) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(lock) });
}

/// Removes a database.
///
/// # Safety
///
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_destroy(name: tl_slice, status: *mut tl_status) -> bool {
    // SAFETY: the caller's promise.
    unsafe { reported(status, || removal::destroy(path(name)?)).is_some() }
}

/// Repairs a database.
///
/// # Safety
///
/// All pointers are valid; see [`tl_options`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_repair(
    name: tl_slice,
    given: *const tl_options,
    status: *mut tl_status,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        reported(status, || {
            removal::repair(path(name)?, options(&*given).comparator)
        })
        .is_some()
    }
}

/// Frees the text of a status.
///
/// # Safety
///
/// The text is one of this library, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_free_text(text: *mut c_char, len: usize) {
    let text = ptr::slice_from_raw_parts_mut(text.cast::<u8>(), len);
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(text) });
}
