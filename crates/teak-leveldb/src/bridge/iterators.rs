//! Iterators.

use super::types::{reported, status_of, tl_slice, tl_status};
use crate::{iterator::StoreIterator, store::Store};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};
use teak::ReadTxn;

/// A record of an iterator.
#[repr(C)]
#[derive(Debug)]
pub struct tl_record {
    /// The key.
    pub key: tl_slice,
    /// The value.
    pub value: tl_slice,
    /// Whether there is a record. Otherwise key and value are empty.
    pub is_valid: bool,
    /// Whether the move failed.
    pub has_failed: bool,
}

/// An iterator.
#[derive(Debug)]
pub struct tl_iterator(IteratorCell);

struct IteratorCell(StoreIterator);

impl std::fmt::Debug for IteratorCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreIterator")
    }
}

/// An iterator over the newest state, or that of a snapshot. NULL on failure.
///
/// # Safety
///
/// All pointers are valid; the snapshot may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_iterator_new(
    store: *const Store,
    snapshot: *const ReadTxn,
    status: *mut tl_status,
) -> *mut tl_iterator {
    // SAFETY: the caller's promise.
    let made = unsafe { reported(status, || (*store).iterator(snapshot.as_ref())) };
    made.map_or(ptr::null_mut(), |iterator| {
        Box::into_raw(Box::new(tl_iterator(IteratorCell(iterator))))
    })
}

/// Frees an iterator.
///
/// # Safety
///
/// It is one of [`tl_iterator_new`], and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_iterator_free(iterator: *mut tl_iterator) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(iterator) });
}

/// Moves an iterator, and shows its record.
///
/// # Safety
///
/// The iterator is used by one thread at a time, and `record` can be written.
#[inline]
unsafe fn moved(
    iterator: *mut tl_iterator,
    record: *mut tl_record,
    work: impl FnOnce(&mut StoreIterator),
) {
    // SAFETY: the caller's promise.
    let iterator = unsafe { &mut (*iterator).0.0 };
    let shown = catch_unwind(AssertUnwindSafe(|| {
        work(iterator);
        let shown = iterator.record();
        shown.map(|record| (tl_slice::of(record.key), tl_slice::of(record.value)))
    }));
    let has_panicked = shown.is_err();
    let shown = shown.ok().flatten();
    let nothing = tl_slice::of(&[]);
    let (key, value) = shown.unwrap_or((nothing, nothing));
    // SAFETY: the caller's promise.
    unsafe {
        record.write(tl_record {
            key,
            value,
            is_valid: shown.is_some(),
            has_failed: has_panicked || iterator.failure().is_some(),
        });
    }
}

/// Moves to the first record.
///
/// # Safety
///
/// The iterator is used by one thread at a time, and `record` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_iterator_first(iterator: *mut tl_iterator, record: *mut tl_record) {
    // SAFETY: the caller's promise.
    unsafe { moved(iterator, record, StoreIterator::first) }
}

/// Moves to the last record.
///
/// # Safety
///
/// The iterator is used by one thread at a time, and `record` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_iterator_last(iterator: *mut tl_iterator, record: *mut tl_record) {
    // SAFETY: the caller's promise.
    unsafe { moved(iterator, record, StoreIterator::last) }
}

/// Moves to the next record. An iterator without a record does not move.
///
/// # Safety
///
/// The iterator is used by one thread at a time, and `record` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_iterator_next(iterator: *mut tl_iterator, record: *mut tl_record) {
    // SAFETY: the caller's promise.
    unsafe { moved(iterator, record, StoreIterator::next) }
}

/// Moves to the previous record. An iterator without a record does not move.
///
/// # Safety
///
/// The iterator is used by one thread at a time, and `record` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_iterator_prev(iterator: *mut tl_iterator, record: *mut tl_record) {
    // SAFETY: the caller's promise.
    unsafe { moved(iterator, record, StoreIterator::prev) }
}

/// Moves to the first record whose key is not less than `target`.
///
/// # Safety
///
/// The iterator is used by one thread at a time, `target` is valid, and `record` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_iterator_seek(
    iterator: *mut tl_iterator,
    target: tl_slice,
    record: *mut tl_record,
) {
    // SAFETY: the caller's promise.
    unsafe { moved(iterator, record, |iterator| iterator.seek(target.bytes())) }
}

/// The error that ended the last move. Returns whether there is one.
///
/// # Safety
///
/// The iterator is valid, and `status` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_iterator_failure(
    iterator: *const tl_iterator,
    status: *mut tl_status,
) -> bool {
    // SAFETY: the caller's promise.
    let failure = unsafe { (*iterator).0.0.failure() };
    match failure {
        Some(failure) => {
            // SAFETY: the caller's promise.
            unsafe { status.write(status_of(failure.clone())) };
            true
        }
        None => false,
    }
}
