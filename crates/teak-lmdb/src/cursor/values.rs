//! The values of a cursor's key: their number, the first and last one, and many at once.

use super::{
    CursorState,
    steps::{RangeEnd, StepUnit},
};
use crate::{
    border::Value,
    codes::{self, CallResult, Code},
    flags::{self, Operation},
    handles::MAIN,
    transaction::Transaction,
};
use std::ffi::c_uint;

const NOT_FOUND: Code = Code::NOT_FOUND;

impl CursorState {
    /// Refuses a database without `flag`, which is one of the flags of several values.
    pub(crate) fn refuse_one_value(&self, txn: &mut Transaction, flag: c_uint) -> CallResult {
        let found = match self.open(txn)? {
            Some(open) => open.flags,
            None if self.handle == MAIN => txn.main_flags()?,
            None => 0,
        };
        match found & flag {
            0 => Err(Code(codes::INCOMPATIBLE)),
            _ => Ok(()),
        }
    }

    /// Moves to the first or last value of the key.
    pub(super) fn go_to_value(
        &mut self,
        txn: &mut Transaction,
        (key, data): (Option<&mut Value>, Option<&mut Value>),
        end: RangeEnd,
    ) -> CallResult {
        if data.is_none() || self.is_nowhere() {
            return Err(Code::INVALID_ARGUMENT);
        }
        self.refuse_one_value(txn, flags::DUPSORT)?;
        self.stay(txn)?;
        self.position.is_at_end = false;
        let Some(cursor) = &mut self.engine_cursor else {
            return Err(NOT_FOUND);
        };
        if cursor.count() == 1 {
            return self.give_record(key, data);
        }
        match end {
            RangeEnd::First => cursor.first_value()?,
            RangeEnd::Last => cursor.last_value()?,
        };
        self.give_record(None, data)
    }

    /// Returns values of one size, at most a page of them.
    pub(super) fn get_multiple(
        &mut self,
        txn: &mut Transaction,
        (key, data): (Option<&mut Value>, &mut Value),
        operation: Operation,
    ) -> CallResult {
        if operation == Operation::GetMultiple && self.is_nowhere() {
            return Err(Code::INVALID_ARGUMENT);
        }
        self.refuse_one_value(txn, flags::DUPFIXED)?;
        match operation {
            Operation::NextMultiple => {
                self.next(txn, StepUnit::Value)?;
                self.give_record(key, None)?;
            }
            Operation::PrevMultiple if self.is_nowhere() => {
                self.go_to_end(txn, RangeEnd::Last)?;
                self.give_record(key, None)?;
            }
            _ => self.stay(txn)?,
        }
        let cursor = self.engine_cursor.as_mut().ok_or(NOT_FOUND)?;
        if cursor.count() == 1 {
            return match operation {
                // The client has the value already.
                Operation::GetMultiple => Ok(()),
                _ => Err(NOT_FOUND),
            };
        }
        if cursor.clone().packed()?.is_none() {
            // The table has values of several sizes: one value at a time.
            if operation == Operation::PrevMultiple && !cursor.prev_value()? {
                return Err(NOT_FOUND);
            }
            *data = Value::new(cursor.value()?);
            return Ok(());
        }
        cursor.go_to_page_start()?;
        if operation == Operation::PrevMultiple {
            if !cursor.prev_value()? {
                return Err(NOT_FOUND);
            }
            cursor.go_to_page_start()?;
        }
        *data = Value::new(cursor.packed()?.ok_or(NOT_FOUND)?);
        Ok(())
    }

    /// The number of values of the key. The caller has called [`Self::refuse_one_value`].
    pub(crate) fn count(&mut self, txn: &mut Transaction) -> CallResult<usize> {
        self.stay(txn)?;
        let cursor = self.engine_cursor.as_ref().ok_or(NOT_FOUND)?;
        Ok(cursor.count() as usize)
    }
}
