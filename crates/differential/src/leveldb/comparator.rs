//! The orders of keys that scripts use.

#![allow(unsafe_code)]

use super::functions::{LevelDbFunctions, Object, Start, bytes};
use std::{
    cmp::Ordering,
    ffi::{CStr, c_int},
};

/// An order of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparator {
    /// That of LevelDB.
    Bytewise,
    /// By the bytes, the greatest first.
    Backward,
    /// By length, then by bytes.
    Length,
    /// Small and large letters are equal.
    AnyCase,
    /// Only the first three bytes count.
    Prefix,
}

impl Comparator {
    pub(crate) const CUSTOM: [&'static Self; 4] = [
        &Self::Backward,
        &Self::Length,
        &Self::AnyCase,
        &Self::Prefix,
    ];

    pub(crate) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        let prefix = |key: &[u8]| key[..key.len().min(3)].to_vec();
        match self {
            Self::Bytewise => a.cmp(b),
            Self::Backward => b.cmp(a),
            Self::Length => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            Self::AnyCase => a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase()),
            Self::Prefix => prefix(a).cmp(&prefix(b)),
        }
    }

    /// Whether keys with different bytes may be equal.
    pub(crate) fn has_equal_keys(self) -> bool {
        matches!(self, Self::AnyCase | Self::Prefix)
    }

    fn name(self) -> &'static CStr {
        match self {
            Self::Bytewise => c"leveldb.BytewiseComparator",
            Self::Backward => c"backward",
            Self::Length => c"a name with spaces, of more than sixty-four bytes, as LevelDB allows",
            Self::AnyCase => c"any case",
            Self::Prefix => c"\xff prefix, no UTF-8",
        }
    }

    /// The comparator of a library; `None` for LevelDB's own.
    pub(crate) fn create(self, functions: &LevelDbFunctions) -> Option<Object> {
        let custom = Self::CUSTOM.into_iter().find(|custom| **custom == self)?;
        let state = std::ptr::from_ref(custom).cast_mut().cast();
        // SAFETY: the functions below take this state, which is static.
        Some(unsafe { (functions.comparator_create)(state, destroy, compare, name) })
    }
}

extern "C" fn destroy(_state: Object) {}

extern "C" fn compare(state: Object, a: Start, a_len: usize, b: Start, b_len: usize) -> c_int {
    // SAFETY: the state is that of `create`, and the library gives two keys.
    let (order, a, b) = unsafe {
        (
            *state.cast::<Comparator>(),
            bytes(a, a_len),
            bytes(b, b_len),
        )
    };
    order.compare(a, b) as c_int
}

extern "C" fn name(state: Object) -> Start {
    // SAFETY: the state is that of `create`.
    unsafe { *state.cast::<Comparator>() }.name().as_ptr()
}
