//! The functions that RocksDB and LevelDB share, with the names of their C headers without
//! prefixes.

use std::ffi::{c_char, c_uchar, c_void};

/// An object of the library.
pub(super) type LibraryHandle = *mut c_void;

/// The functions of a library.
pub(super) struct LogStructuredCalls {
    pub(super) close: unsafe extern "C" fn(LibraryHandle),
    pub(super) get: unsafe extern "C" fn(
        LibraryHandle,
        LibraryHandle,
        *const c_char,
        usize,
        *mut usize,
        *mut *mut c_char,
    ) -> *mut c_char,
    pub(super) free: unsafe extern "C" fn(*mut c_void),
    pub(super) write:
        unsafe extern "C" fn(LibraryHandle, LibraryHandle, LibraryHandle, *mut *mut c_char),
    pub(super) create_snapshot: unsafe extern "C" fn(LibraryHandle) -> LibraryHandle,
    pub(super) release_snapshot: unsafe extern "C" fn(LibraryHandle, LibraryHandle),
    pub(super) readoptions_create: unsafe extern "C" fn() -> LibraryHandle,
    pub(super) readoptions_destroy: unsafe extern "C" fn(LibraryHandle),
    pub(super) readoptions_set_snapshot: unsafe extern "C" fn(LibraryHandle, LibraryHandle),
    pub(super) writeoptions_create: unsafe extern "C" fn() -> LibraryHandle,
    pub(super) writeoptions_destroy: unsafe extern "C" fn(LibraryHandle),
    pub(super) writeoptions_set_sync: unsafe extern "C" fn(LibraryHandle, c_uchar),
    pub(super) writebatch_create: unsafe extern "C" fn() -> LibraryHandle,
    pub(super) writebatch_destroy: unsafe extern "C" fn(LibraryHandle),
    pub(super) writebatch_put:
        unsafe extern "C" fn(LibraryHandle, *const c_char, usize, *const c_char, usize),
    pub(super) writebatch_delete: unsafe extern "C" fn(LibraryHandle, *const c_char, usize),
    pub(super) create_iterator: unsafe extern "C" fn(LibraryHandle, LibraryHandle) -> LibraryHandle,
    pub(super) iter_destroy: unsafe extern "C" fn(LibraryHandle),
    pub(super) iter_valid: unsafe extern "C" fn(LibraryHandle) -> c_uchar,
    pub(super) iter_seek_to_first: unsafe extern "C" fn(LibraryHandle),
    pub(super) iter_seek_to_last: unsafe extern "C" fn(LibraryHandle),
    pub(super) iter_seek: unsafe extern "C" fn(LibraryHandle, *const c_char, usize),
    pub(super) iter_next: unsafe extern "C" fn(LibraryHandle),
    pub(super) iter_prev: unsafe extern "C" fn(LibraryHandle),
    pub(super) iter_key: unsafe extern "C" fn(LibraryHandle, *mut usize) -> *const c_char,
    pub(super) iter_value: unsafe extern "C" fn(LibraryHandle, *mut usize) -> *const c_char,
    pub(super) iter_get_error: unsafe extern "C" fn(LibraryHandle, *mut *mut c_char),
}

/// The error text of a library.
pub(super) struct Errors {
    pub(super) text: *mut c_char,
    pub(super) free: unsafe extern "C" fn(*mut c_void),
}

/// Declares the functions of a library, and lists them.
macro_rules! calls {
    ($library:literal, $($field:ident = $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[link(name = $library)]
        unsafe extern "C" {
            $(fn $name($(_: $argument),*) $(-> $result)?;)*
        }

        /// The functions of this library.
        const CALLS: $crate::engines::log_structured::calls::LogStructuredCalls =
            $crate::engines::log_structured::calls::LogStructuredCalls { $($field: $name),* };
    };
}

pub(super) use calls;
