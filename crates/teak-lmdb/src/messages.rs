//! What codes mean in words, and the version of the interface.

use crate::codes;
use std::ffi::{CStr, c_char, c_int};

/// The version of LMDB whose interface this is.
pub const VERSION: (c_int, c_int, c_int) = (0, 9, 36);

/// The texts of LMDB's codes, in their order. Programs look for the name that each begins with.
const TEXTS: [&CStr; 20] = [
    c"MDB_KEYEXIST: Key/data pair already exists",
    c"MDB_NOTFOUND: No matching key/data pair found",
    c"MDB_PAGE_NOTFOUND: Requested page not found",
    c"MDB_CORRUPTED: A page is damaged; `teak check` says what else is",
    c"MDB_PANIC: A write or flush failed before, or the process was forked; open the environment anew",
    c"MDB_VERSION_MISMATCH: The database needs a newer version",
    c"MDB_INVALID: The file is not a Teak database",
    c"MDB_MAP_FULL: Environment mapsize limit reached",
    c"MDB_DBS_FULL: Environment maxdbs limit reached",
    c"MDB_READERS_FULL: Environment maxreaders limit reached",
    c"MDB_TLS_FULL: Too many environments open",
    c"MDB_TXN_FULL: Transaction too big",
    c"MDB_CURSOR_FULL: A tree is too deep",
    c"MDB_PAGE_FULL: A page has no more space",
    c"MDB_MAP_RESIZED: Database contents grew beyond environment mapsize",
    c"MDB_INCOMPATIBLE: The operation is not for this database, or its flags are others",
    c"MDB_BAD_RSLOT: This thread has a read transaction already",
    c"MDB_BAD_TXN: Transaction must abort, has a child, or is invalid",
    c"MDB_BAD_VALSIZE: A key, value or name has a size that is not possible here",
    c"MDB_BAD_DBI: The handle of the database was closed",
];

/// The text of a code.
pub(crate) fn text(code: c_int) -> &'static CStr {
    let index = usize::try_from(code - codes::KEYEXIST).ok();
    match index.and_then(|index| TEXTS.get(index)) {
        Some(text) => text,
        None if code == 0 => c"Successful return: 0",
        None => c"Invalid error code",
    }
}

/// The version of the interface, in words and numbers.
///
/// # Safety
///
/// Each pointer is null or leads to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_version(
    major: *mut c_int,
    minor: *mut c_int,
    patch: *mut c_int,
) -> *const c_char {
    for (place, number) in [(major, VERSION.0), (minor, VERSION.1), (patch, VERSION.2)] {
        // SAFETY: the caller promises that it is null or leads to an int.
        if let Some(place) = unsafe { place.as_mut() } {
            *place = number;
        }
    }
    c"LMDB 0.9.36: (Teak)".as_ptr()
}

/// A code in words: LMDB's, or the system's.
#[unsafe(no_mangle)]
pub extern "C" fn mdb_strerror(code: c_int) -> *const c_char {
    if code > 0 {
        // SAFETY: it takes any number, and its answer stays until the thread asks again.
        return unsafe { libc::strerror(code) };
    }
    text(code).as_ptr()
}
