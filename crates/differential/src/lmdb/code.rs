//! Return codes of LMDB, and their texts.

#![allow(unsafe_code)]

use lmdb_master_sys as ffi;
use std::ffi::{CStr, c_int};

/// A code of LMDB other than success.
pub(crate) type LmdbCode = c_int;

/// LMDB's text for a code.
pub(crate) fn text(code: LmdbCode) -> String {
    // SAFETY: LMDB returns a string for every code, which is valid until the next call on this
    // thread.
    let text = unsafe { CStr::from_ptr(ffi::mdb_strerror(code)) };
    format!("{} (code {code})", text.to_string_lossy())
}
