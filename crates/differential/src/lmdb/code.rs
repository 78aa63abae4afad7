//! Codes that LMDB returns, and their texts.

#![allow(unsafe_code)]

use lmdb_master_sys as ffi;
use std::ffi::{CStr, c_int};

/// What LMDB returns, other than success.
pub(crate) type LmdbCode = c_int;

/// LMDB's text for a code.
pub(crate) fn text(code: LmdbCode) -> String {
    // SAFETY: LMDB answers every code with a text that stands until the next call on this thread.
    let text = unsafe { CStr::from_ptr(ffi::mdb_strerror(code)) };
    format!("{} (code {code})", text.to_string_lossy())
}
