//! The border to C: the types that cross it, and the functions that keep panics from crossing it.

use crate::{
    codes::{self, CallResult, Code},
    registry::HasRegistry,
};
use std::{
    ffi::{c_int, c_uint, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
};

/// A key or a value: `MDB_val`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The length in bytes: `mv_size`.
    pub len: usize,
    /// The first byte: `mv_data`.
    pub bytes: *mut c_void,
}

impl Value {
    /// A value for C to read.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self {
            len: bytes.len(),
            bytes: bytes.as_ptr().cast_mut().cast(),
        }
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// The bytes are readable and do not change for `'v`.
    pub(crate) unsafe fn bytes<'v>(self) -> CallResult<&'v [u8]> {
        if self.len == 0 {
            return Ok(&[]);
        }
        if self.bytes.is_null() || isize::try_from(self.len).is_err() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: the pointer is not null, the length is possible, and the caller promises the
        // rest.
        Ok(unsafe { slice::from_raw_parts(self.bytes.cast(), self.len) })
    }
}

impl Default for Value {
    fn default() -> Self {
        Self {
            len: 0,
            bytes: ptr::null_mut(),
        }
    }
}

/// Counts of a database: `MDB_stat`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// The size of a page in bytes.
    pub page_size: c_uint,
    /// The number of levels of pages.
    pub depth: c_uint,
    /// The number of inner pages.
    pub branch_pages: usize,
    /// The number of leaf pages.
    pub leaf_pages: usize,
    /// The number of pages of large values.
    pub overflow_pages: usize,
    /// The number of records.
    pub entries: usize,
}

/// Properties of an environment: `MDB_envinfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentInfo {
    /// The address of a fixed map. Always null.
    pub map_address: *mut c_void,
    /// The limit of the file's length in bytes.
    pub map_size: usize,
    /// The number of the last page.
    pub last_page: usize,
    /// The number of the last commit.
    pub last_transaction: usize,
    /// The maximum number of readers.
    pub max_readers: c_uint,
    /// The number of reader slots that were ever used at once.
    pub reader_count: c_uint,
}

/// Runs `work`. Returns 0, or the code of its error.
pub(crate) fn answer(work: impl FnOnce() -> CallResult) -> c_int {
    match caught(work) {
        Ok(()) => 0,
        Err(Code(code)) => code,
    }
}

/// Runs `work` for a function without a result.
pub(crate) fn unanswered(work: impl FnOnce() -> CallResult) {
    let _ = caught(work);
}

/// Runs `work` and turns a panic into [`codes::PANIC`].
pub(crate) fn caught<T>(work: impl FnOnce() -> CallResult<T>) -> CallResult<T> {
    // A panic leaves either objects of `work` itself half changed, or a transaction, which is
    // broken from then on.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Code(codes::PANIC)))
}

/// The object at a pointer of C's, which must not be null.
///
/// # Safety
///
/// It is null or points to a `T` that nobody else changes for `'h`.
pub(crate) unsafe fn shared<'h, T>(pointer: *const T) -> CallResult<&'h T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(Code::INVALID_ARGUMENT)
}

/// Like [`shared`], for an object to change.
///
/// # Safety
///
/// It is null or points to a `T` that nobody else uses for `'h`.
pub(crate) unsafe fn own<'h, T>(pointer: *mut T) -> CallResult<&'h mut T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or(Code::INVALID_ARGUMENT)
}

/// The key and the data of a call. If both are one value, the key is a copy in `copy`.
///
/// # Safety
///
/// Each is null or points to a value that nobody else uses while `copy` is borrowed.
pub(crate) unsafe fn key_and_data(
    key: *mut Value,
    data: *mut Value,
    copy: &mut Value,
) -> CallResult<(&Value, &mut Value)> {
    if key != data {
        // SAFETY: the caller's promise; the two differ.
        return Ok(unsafe { (shared(key)?, own(data)?) });
    }
    // SAFETY: the caller's promise; there is no other reference to it here.
    let data = unsafe { own(data) }?;
    *copy = *data;
    Ok((copy, data))
}

/// The object of a handle. Refuses a handle that has ended.
///
/// # Safety
///
/// Nobody else changes it for `'h`.
#[inline]
pub(crate) unsafe fn live<'h, T: HasRegistry>(handle: *mut T) -> CallResult<&'h T> {
    let found = T::registry().find(handle).ok_or(Code::INVALID_ARGUMENT)?;
    // SAFETY: registered objects exist, and the caller promises the rest.
    Ok(unsafe { &*found })
}

/// Like [`live`], for an object to change.
///
/// # Safety
///
/// Nobody else uses it for `'h`.
#[inline]
pub(crate) unsafe fn live_mut<'h, T: HasRegistry>(handle: *mut T) -> CallResult<&'h mut T> {
    let found = T::registry().find(handle).ok_or(Code::INVALID_ARGUMENT)?;
    // SAFETY: registered objects exist, and the caller promises the rest.
    Ok(unsafe { &mut *found })
}
