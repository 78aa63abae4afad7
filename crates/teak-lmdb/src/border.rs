//! The border to C: what crosses it, and that panics do not.

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
    /// Its length in bytes: `mv_size`.
    pub len: usize,
    /// Where it begins: `mv_data`.
    pub bytes: *mut c_void,
}

impl Value {
    /// What is in `bytes`, for C to look at.
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
    /// They are there, and stay as they are, for `'v`.
    pub(crate) unsafe fn bytes<'v>(self) -> CallResult<&'v [u8]> {
        if self.len == 0 {
            return Ok(&[]);
        }
        if self.bytes.is_null() || isize::try_from(self.len).is_err() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: not null, of a length that memory can have, and the caller promises the rest.
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
    /// The size of a page.
    pub page_size: c_uint,
    /// Levels of pages.
    pub depth: c_uint,
    /// Inner pages.
    pub branch_pages: usize,
    /// Leaves.
    pub leaf_pages: usize,
    /// Pages of large values.
    pub overflow_pages: usize,
    /// Records.
    pub entries: usize,
}

/// What there is to know of an environment: `MDB_envinfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentInfo {
    /// Null: the file is mapped wherever there is room.
    pub map_address: *mut c_void,
    /// How long the file may become.
    pub map_size: usize,
    /// The number of the last page.
    pub last_page: usize,
    /// The last commit.
    pub last_transaction: usize,
    /// As many readers as there may be.
    pub max_readers: c_uint,
    /// As many places of readers as were needed.
    pub reader_count: c_uint,
}

/// What C is told of `work`: 0, or why it was not done.
pub(crate) fn answer(work: impl FnOnce() -> CallResult) -> c_int {
    match caught(work) {
        Ok(()) => 0,
        Err(Code(code)) => code,
    }
}

/// Does `work`, of which C is told nothing.
pub(crate) fn unanswered(work: impl FnOnce() -> CallResult) {
    let _ = caught(work);
}

/// What `work` says, or that it has panicked.
pub(crate) fn caught<T>(work: impl FnOnce() -> CallResult<T>) -> CallResult<T> {
    // What a panic leaves half done is a transaction, which is broken then, or its own.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Code(codes::PANIC)))
}

/// What a pointer of C's leads to, which must not be null.
///
/// # Safety
///
/// It is null or leads to a `T` that nobody else changes for `'h`.
pub(crate) unsafe fn shared<'h, T>(pointer: *const T) -> CallResult<&'h T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(Code::INVALID_ARGUMENT)
}

/// The same, to be changed.
///
/// # Safety
///
/// It is null or leads to a `T` that nobody else uses for `'h`.
pub(crate) unsafe fn own<'h, T>(pointer: *mut T) -> CallResult<&'h mut T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or(Code::INVALID_ARGUMENT)
}

/// The key and the data of a call, which may be one value. Then the key is copied to `copy`.
///
/// # Safety
///
/// Each is null or leads to a value that nobody else uses as long as `copy` is borrowed.
pub(crate) unsafe fn key_and_data(
    key: *mut Value,
    data: *mut Value,
    copy: &mut Value,
) -> CallResult<(&Value, &mut Value)> {
    if key != data {
        // SAFETY: the caller's promise; they are two.
        return Ok(unsafe { (shared(key)?, own(data)?) });
    }
    // SAFETY: the caller's promise; nothing else leads to it here.
    let data = unsafe { own(data) }?;
    *copy = *data;
    Ok((copy, data))
}

/// What a handle stands for, unless that is over.
///
/// # Safety
///
/// Nobody else changes it for `'h`.
#[inline]
pub(crate) unsafe fn live<'h, T: HasRegistry>(handle: *mut T) -> CallResult<&'h T> {
    let found = T::registry().find(handle).ok_or(Code::INVALID_ARGUMENT)?;
    // SAFETY: what is registered is there, and the caller promises the rest.
    Ok(unsafe { &*found })
}

/// The same, to be changed.
///
/// # Safety
///
/// Nobody else uses it for `'h`.
#[inline]
pub(crate) unsafe fn live_mut<'h, T: HasRegistry>(handle: *mut T) -> CallResult<&'h mut T> {
    let found = T::registry().find(handle).ok_or(Code::INVALID_ARGUMENT)?;
    // SAFETY: what is registered is there, and the caller promises the rest.
    Ok(unsafe { &mut *found })
}
