//! The texts of result codes, and the version of the interface.

use crate::{codes, system};
use std::{
    env,
    ffi::{CStr, CString, c_char, c_int},
    sync::OnceLock,
};

/// The version of LMDB that has this interface.
pub const VERSION: [c_int; 3] = [0, 9, 36];
/// The environment variable with the version to report instead, for programs that insist on the
/// version they were compiled for: `0.9.24`.
pub const VERSION_VARIABLE: &str = "TEAK_LMDB_VERSION";

/// The version to report, as a string and as numbers.
fn version() -> &'static (CString, [c_int; 3]) {
    static REPORTED_VERSION: OnceLock<(CString, [c_int; 3])> = OnceLock::new();
    REPORTED_VERSION.get_or_init(|| {
        let wanted = env::var(VERSION_VARIABLE).ok();
        let numbers = wanted.as_deref().and_then(numbers_in).unwrap_or(VERSION);
        let [major, minor, patch] = numbers;
        let words = format!("LMDB {major}.{minor}.{patch}: (Teak)");
        (CString::new(words).unwrap_or_default(), numbers)
    })
}

/// The three numbers of a version.
fn numbers_in(text: &str) -> Option<[c_int; 3]> {
    let numbers: Option<Vec<u8>> = text.split('.').map(|number| number.parse().ok()).collect();
    let numbers: [u8; 3] = numbers?.try_into().ok()?;
    Some(numbers.map(c_int::from))
}

/// The texts of LMDB's codes, in their order. Programs search for the name at the beginning of
/// each.
const TEXTS: [&CStr; 20] = [
    c"MDB_KEYEXIST: Key/data pair already exists",
    c"MDB_NOTFOUND: No matching key/data pair found",
    c"MDB_PAGE_NOTFOUND: Requested page not found",
    c"MDB_CORRUPTED: A page is damaged; `teak check` lists all damage",
    c"MDB_PANIC: A write or flush failed before, or the process was forked; reopen the environment",
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
    c"MDB_INCOMPATIBLE: The operation does not suit the database, or its flags differ",
    c"MDB_BAD_RSLOT: This thread has a read transaction already",
    c"MDB_BAD_TXN: Transaction must abort, has a child, or is invalid",
    c"MDB_BAD_VALSIZE: A key, value or name has an impossible size",
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

/// Returns the version of the interface, as a string and as numbers.
///
/// # Safety
///
/// Each pointer is null or points to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mdb_version(
    major: *mut c_int,
    minor: *mut c_int,
    patch: *mut c_int,
) -> *const c_char {
    let (words, numbers) = version();
    for (out, number) in [major, minor, patch].into_iter().zip(numbers) {
        // SAFETY: the caller promises that it is null or points to an int.
        if let Some(out) = unsafe { out.as_mut() } {
            *out = *number;
        }
    }
    words.as_ptr()
}

/// Returns the text of a code: one of LMDB's codes, or one of the system's.
#[unsafe(no_mangle)]
pub extern "C" fn mdb_strerror(code: c_int) -> *const c_char {
    if code > 0 {
        return system::text_of(code);
    }
    text(code).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::numbers_in;

    #[test]
    fn a_version_is_three_numbers() {
        assert_eq!(numbers_in("0.9.24"), Some([0, 9, 24]));
        for text in ["", "0.9", "0.9.24.1", "0.9.x", "0.9.-1", "0.9.1000"] {
            assert_eq!(numbers_in(text), None, "{text}");
        }
    }
}
