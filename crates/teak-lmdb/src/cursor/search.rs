//! Searches of a cursor for a key, or for a key and a value.

use super::CursorState;
use crate::{
    border::Value,
    codes::{self, CallResult, Code},
    compare::ComparisonScope,
    engine_cursor::EngineCursor,
    flags::{self, Operation},
    orders::SoughtValue,
    put::of_size,
    transaction::Transaction,
};

const NOT_FOUND: Code = Code::NOT_FOUND;

impl CursorState {
    /// Moves to a key, or with `SetRange` to the first one that is not smaller.
    pub(super) fn set(
        &mut self,
        txn: &mut Transaction,
        key: &Value,
        operation: Operation,
    ) -> CallResult {
        if key.len == 0 {
            return Err(Code(codes::BAD_VALSIZE));
        }
        // SAFETY: the client's key is valid while the function runs.
        let bytes = unsafe { key.bytes() }?;
        let open = self.open(txn)?;
        let _sought = (open.as_ref())
            .and_then(|open| SoughtValue::new(open, ComparisonScope::Keys, key, bytes));
        let mut cursor = self.any_cursor(txn)?;
        let is_exact = cursor.seek_exact(bytes).map_err(of_size)?;
        self.position.is_at_end = false;
        let is_found = is_exact || operation == Operation::SetRange && cursor.is_on_record();
        self.settle_search(cursor)?;
        self.position.is_without_value = !is_found;
        match is_found {
            true => Ok(()),
            false => Err(NOT_FOUND),
        }
    }

    /// Sets the position to the record that a search has led to, or after the last one.
    fn settle_search(&mut self, mut cursor: EngineCursor) -> CallResult {
        if cursor.is_on_record() {
            self.be_on(cursor);
        } else if cursor.last()? {
            self.be_after_last();
        } else {
            self.reset();
        }
        Ok(())
    }

    /// Moves to a pair, or with `GetBothRange` to the first value of the key that is not smaller.
    pub(super) fn set_both(
        &mut self,
        txn: &mut Transaction,
        key: Option<&mut Value>,
        data: &Value,
        operation: Operation,
    ) -> CallResult {
        self.refuse_one_value(txn, flags::DUPSORT)?;
        let key = key.ok_or(Code::INVALID_ARGUMENT)?;
        if key.len == 0 {
            return Err(Code(codes::BAD_VALSIZE));
        }
        let passed = (&*key, data);
        // SAFETY: the client's key and value are valid while the function runs.
        let (key, value) = unsafe { (key.bytes()?, data.bytes()?) };
        let open = self.open(txn)?.ok_or(NOT_FOUND)?;
        let _sought = SoughtValue::new(&open, ComparisonScope::Keys, passed.0, key);
        let _sought_value = SoughtValue::new(&open, ComparisonScope::Values, passed.1, value);
        let mut cursor = self.any_cursor(txn)?;
        self.position.is_at_end = false;
        let is_exact = cursor.seek_pair_exact(key, value).map_err(of_size)?;
        let is_of_key = cursor.is_on_record() && open.compare_keys(key, cursor.key()).is_eq();
        let is_found = is_exact || operation == Operation::GetBothRange && is_of_key;
        if !is_of_key && cursor.clone().seek_exact(key)? {
            self.be_at(key, value);
        } else {
            self.settle_search(cursor)?;
        }
        match is_found {
            true => Ok(()),
            false => Err(NOT_FOUND),
        }
    }
}
