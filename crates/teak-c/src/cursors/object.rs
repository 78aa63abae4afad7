//! The objects of cursor handles.

use crate::{
    failure::Failure,
    ffi::{CallResult, give, teak_slice, whether},
    handles::{ExclusiveObject, HandleTable},
    names::OpenDatabase,
    records::teak_record,
    tables::teak_table,
    transactions::{Transaction, either, read, teak_txn},
};
use std::{borrow::Cow, sync::Arc};
use teak::DetachedCursor;

/// A position among the records of a table. A cursor belongs to no transaction: each call names the
/// transaction to use, and the table may change between calls. Where a key has several values, each
/// pair of key and value is a record.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct teak_cursor {
    /// Zero for none.
    pub handle: u64,
}

/// The object of a cursor handle.
pub(crate) struct CursorObject {
    pub(super) opened: Arc<OpenDatabase>,
    pub(crate) table: teak_table,
    pub(crate) free: DetachedCursor,
    /// A copy of a value that is not contiguous in a page.
    pub(super) value: Vec<u8>,
    /// Keys, and copies of such values, of records that were read in one call.
    pub(crate) together: Vec<u8>,
}

pub(super) static CURSORS: HandleTable<CursorObject> = HandleTable::new(5, "cursor");

/// The object of a cursor, to be used in a transaction.
pub(crate) fn changing<'h>(
    cursor: teak_cursor,
    transaction: &Transaction,
) -> Result<ExclusiveObject<'h, CursorObject>, Failure> {
    let held = CURSORS.change(cursor.handle)?;
    match Arc::ptr_eq(&held.opened, &transaction.opened) {
        true => Ok(held),
        false => Err(Failure::wrong_database("cursor")),
    }
}

impl CursorObject {
    /// The record that the cursor is on.
    fn record(&mut self, transaction: &Transaction) -> Result<teak_record, Failure> {
        let value = match either!(transaction, txn => self.free.value(txn))? {
            Cow::Borrowed(value) => teak_slice::new(value),
            Cow::Owned(value) => {
                self.value = value;
                teak_slice::new(&self.value)
            }
        };
        let key = teak_slice::new(self.free.key());
        Ok(teak_record { key, value })
    }
}

/// Moves a cursor, and stores the record that it is on afterwards.
///
/// # Safety
///
/// `record` is null or points to memory for one.
pub(super) unsafe fn moved(
    cursor: teak_cursor,
    txn: teak_txn,
    record: *mut teak_record,
    step: impl FnOnce(&mut DetachedCursor, &Transaction) -> Result<bool, Failure>,
) -> CallResult {
    let transaction = read(txn)?;
    let mut held = changing(cursor, &transaction)?;
    let is_there = step(&mut held.free, &transaction)?;
    if record.is_null() {
        return Ok(whether(is_there));
    }
    let reported = match is_there {
        true => held.record(&transaction)?,
        false => teak_record::NOTHING,
    };
    // SAFETY: the caller's promise.
    unsafe { give(record, reported) };
    Ok(whether(is_there))
}

pub(super) fn unknown(description: &str, number: u32) -> Failure {
    let text = format!("there is no teak_{description} {number}; teak.h lists the values");
    Failure::invalid_argument(text)
}
