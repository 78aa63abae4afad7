//! Differences in parts, for languages that copy a part of them in each call.

use crate::{
    codes::teak_code,
    error::{answer, teak_error},
    records::teak_record,
    snapshots::{each_difference, teak_difference_function},
    tables::teak_table,
    transactions::teak_txn,
};
use std::ffi::c_void;

/// As teak_differences, for the differences after a record; for all if `after` is NULL. Its value
/// counts only if keys have several. Walking on from the last difference of an earlier call costs
/// one descent.
///
/// Threads, lives, errors: as teak_differences.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn teak_flat_differences(
    older: u64,
    newer: u64,
    table: u64,
    after: *const teak_record,
    each: teak_difference_function,
    user: *mut c_void,
    count: *mut u64,
    error: *mut teak_error,
) -> teak_code {
    let (older, newer) = (teak_txn { handle: older }, teak_txn { handle: newer });
    let table = teak_table { number: table };
    // SAFETY: C's promise.
    unsafe {
        answer(error, || {
            let after = match after.as_ref() {
                Some(record) => Some((record.key.bytes()?, record.value.bytes()?)),
                None => None,
            };
            each_difference(older, newer, table, after, each, user, count)
        })
    }
}
