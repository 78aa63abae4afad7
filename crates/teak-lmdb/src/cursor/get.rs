//! `mdb_cursor_get`: moves a cursor and returns the record there.

use super::{
    Cursor, CursorState,
    steps::{MissedStep, RangeEnd, StepUnit},
};
use crate::{
    border::Value,
    codes::{CallResult, Code},
    engine_cursor::EngineCursor,
    flags::Operation,
    transaction::Transaction,
};

impl Cursor {
    /// Moves from a record of a plain table to the next one in a read transaction, which most calls
    /// ask for. Does nothing and returns `None` if the call needs more than that.
    ///
    /// # Safety
    ///
    /// No other function runs that changes the transaction.
    #[inline(always)]
    pub(crate) unsafe fn next_of_reader(
        &self,
        key: Option<&mut Value>,
        data: Option<&mut Value>,
    ) -> Option<CallResult> {
        let mut inner = self.0.try_borrow_mut().ok()?;
        let inner = &mut *inner;
        // SAFETY: a cursor's transaction is null or exists, and the caller promises the rest.
        let is_blocked = unsafe { inner.transaction.as_ref() }?
            .refuse_blocked()
            .is_err();
        if is_blocked || inner.is_of_writer {
            return None;
        }
        let Some(EngineCursor::Plain(cursor)) = &mut inner.engine_cursor else {
            return None;
        };
        let done = match cursor.next() {
            Ok(true) => {
                inner.position.is_without_value = false;
                inner.position.is_at_end = false;
                return Some(give_plain_record(cursor, key, data));
            }
            Ok(false) => Ok(Some(MissedStep::Left(None))),
            Err(error) => Err(error.into()),
        };
        Some(inner.settle(done, RangeEnd::Last))
    }
}

/// Returns the record that a cursor is on.
#[inline(always)]
fn give_plain_record(
    cursor: &teak::Cursor<'static>,
    key: Option<&mut Value>,
    data: Option<&mut Value>,
) -> CallResult {
    if let Some(data) = data {
        *data = Value::new(cursor.value()?);
    }
    if let Some(key) = key {
        *key = Value::new(cursor.key());
    }
    Ok(())
}

impl CursorState {
    /// Runs an operation. Stores the record there in `key` and `data`, unless they are `None`.
    pub(crate) fn get(
        &mut self,
        txn: &mut Transaction,
        key: Option<&mut Value>,
        data: Option<&mut Value>,
        operation: Operation,
    ) -> CallResult {
        use Operation as Op;
        match operation {
            Op::First => self.go_to_end(txn, RangeEnd::First)?,
            Op::Last => self.go_to_end(txn, RangeEnd::Last)?,
            Op::Next => self.next(txn, StepUnit::Record)?,
            Op::NextDup => self.next(txn, StepUnit::Value)?,
            Op::NextNodup => self.next(txn, StepUnit::Key)?,
            Op::Prev => self.prev(txn, StepUnit::Record)?,
            Op::PrevDup => self.prev(txn, StepUnit::Value)?,
            Op::PrevNodup => self.prev(txn, StepUnit::Key)?,
            Op::GetCurrent => self.stay(txn)?,
            Op::Set | Op::SetKey | Op::SetRange => {
                let key = key.ok_or(Code::INVALID_ARGUMENT)?;
                self.set(txn, key, operation)?;
                let key = (operation != Op::Set).then_some(key);
                return self.give_record(key, data);
            }
            Op::GetBoth | Op::GetBothRange => {
                let data = data.ok_or(Code::INVALID_ARGUMENT)?;
                self.set_both(txn, key, data, operation)?;
                return self.give_record(None, Some(data));
            }
            Op::FirstDup => return self.go_to_value(txn, (key, data), RangeEnd::First),
            Op::LastDup => return self.go_to_value(txn, (key, data), RangeEnd::Last),
            Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple => {
                let data = data.ok_or(Code::INVALID_ARGUMENT)?;
                return self.get_multiple(txn, (key, data), operation);
            }
        }
        self.give_record(key, data)
    }

    /// Stores the record that the cursor is on.
    #[inline(always)]
    pub(super) fn give_record(
        &self,
        key: Option<&mut Value>,
        data: Option<&mut Value>,
    ) -> CallResult {
        let cursor = self.engine_cursor.as_ref().ok_or(Code::NOT_FOUND)?;
        if let Some(data) = data {
            *data = Value::new(cursor.value()?);
        }
        if let Some(key) = key {
            *key = Value::new(cursor.key());
        }
        Ok(())
    }
}
