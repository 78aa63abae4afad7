//! Conversions of scalar arguments.

use crate::{ffi::teak_slice, records::teak_bound};
use std::ffi::c_void;

pub(super) fn slice(data: *const c_void, len: usize) -> teak_slice {
    teak_slice { data, len }
}

pub(super) fn bound(kind: u32, data: *const c_void, len: usize) -> teak_bound {
    teak_bound {
        kind,
        reserved: 0,
        key: slice(data, len),
    }
}
