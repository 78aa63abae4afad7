//! Changes through cursors.

use super::CursorState;
use crate::{
    border::Value,
    codes::{self, CallResult, Code},
    compare::ComparisonScope,
    engine_cursor::EngineCursor,
    flags,
    handles::{MAIN, TableHandle},
    orders::{RankComparison, SoughtValue},
    put::{self, check_len, check_len_of_several, of_size, reset_cursor_positions},
    transaction::Transaction,
};
use std::ffi::c_uint;

/// The value, if keys have several. A single value, which may be large, is not read.
fn value_of_several(cursor: &EngineCursor) -> CallResult<Vec<u8>> {
    match cursor {
        EngineCursor::Multi(_) => Ok(cursor.value()?.to_vec()),
        _ => Ok(Vec::new()),
    }
}

/// The values of the key that a cursor is on.
fn values_of_key(mut cursor: EngineCursor) -> CallResult<Vec<Vec<u8>>> {
    let mut values = Vec::new();
    cursor.first_value()?;
    loop {
        values.push(cursor.value()?.to_vec());
        if !cursor.next_value()? {
            return Ok(values);
        }
    }
}

impl CursorState {
    /// Puts a record, and moves to it.
    pub(crate) fn put(
        &mut self,
        txn: &mut Transaction,
        passed_key: &Value,
        data: &mut Value,
        asked: c_uint,
    ) -> CallResult {
        if asked & flags::CURRENT != 0 {
            return self.put_here(txn, passed_key.len, data, asked);
        }
        // The pointers may lead into a page that is about to change. SAFETY: the client's key is
        // valid while the function runs.
        let key = unsafe { passed_key.bytes() }?.to_vec();
        let value = match asked & flags::RESERVE {
            // SAFETY: the client's value is valid while the function runs; of a reserved one only
            // the length is used.
            0 => unsafe { data.bytes() }?.to_vec(),
            _ => Vec::new(),
        };
        self.freeze();
        let done = put::put(txn, self.handle, passed_key, data, asked);
        if matches!(done, Ok(()) | Err(Code(codes::KEYEXIST))) {
            let value = match self.open(txn)? {
                Some(open) if open.is_multi() => &value[..],
                _ => &[],
            };
            self.be_at(&key, value);
            self.position.is_at_end = false;
            self.position.is_without_value = false;
            self.position.is_at_first_value = done.is_ok() && asked & flags::RESERVE != 0;
        }
        done
    }

    /// Replaces the value of the record that the cursor is on.
    fn put_here(
        &mut self,
        txn: &mut Transaction,
        key_len: usize,
        data: &mut Value,
        asked: c_uint,
    ) -> CallResult {
        txn.refuse_reader()?;
        check_len(key_len)?;
        self.stay(txn)?;
        let cursor = self.engine_cursor.as_ref().ok_or(Code::NOT_FOUND)?;
        let (key, old) = (cursor.key().to_vec(), value_of_several(cursor)?);
        let is_one_of_several = cursor.count() > 1;
        let open = self.open(txn)?.ok_or(Code::NOT_FOUND)?;
        let TableHandle::Multi(table) = &open.tables else {
            self.freeze();
            let asked = asked & flags::RESERVE;
            return put::put_stored(txn, self.handle, &open, &key, data, asked);
        };
        check_len_of_several(data.len)?;
        // SAFETY: the client's value is valid while the function runs.
        let new = unsafe { data.bytes() }?.to_vec();
        let has_other_size = new.len() != old.len() && txn.view()?.has_sizes(&open)?;
        if has_other_size && (is_one_of_several || asked & flags::APPENDDUP != 0) {
            return Err(Code(codes::BAD_VALSIZE));
        }
        self.freeze();
        let _sought = SoughtValue::new(&open, ComparisonScope::Values, data, &new);
        if asked & flags::APPENDDUP != 0 {
            // Another value of the current key; `mdb_load -a` does not search for it.
            let put = txn.change(|txn| table.append_value(txn, &key, &new));
            put.map_err(of_size)?;
        } else if new != old {
            let is_equal = open.compare_values(&new, &old).is_eq();
            let replaced =
                txn.change(|txn| match !is_equal && table.contains(txn, &key, &new)? {
                    true => Ok(false),
                    false => table.replace(txn, &key, &old, &new),
                });
            if !replaced.map_err(of_size)? {
                return Err(Code(codes::KEYEXIST));
            }
        }
        self.be_at(&key, &new);
        Ok(())
    }

    /// Puts several values of one size. Reports the number of values put, even if not all were.
    pub(crate) fn put_several(
        &mut self,
        txn: &mut Transaction,
        key: &Value,
        (values, size): (&[u8], usize),
        asked: c_uint,
    ) -> (usize, CallResult) {
        // The values may be in a page that is about to change.
        let values = values.to_vec();
        for (index, value) in values.chunks_exact(size).enumerate() {
            let mut data = Value::new(value);
            if let Err(code) = self.put(txn, key, &mut data, asked) {
                return (index, Err(code));
            }
        }
        (values.len() / size, Ok(()))
    }

    /// Deletes the record that the cursor is on, or its key with all values.
    pub(crate) fn delete(&mut self, txn: &mut Transaction, asked: c_uint) -> CallResult {
        txn.refuse_reader()?;
        self.stay(txn)?;
        let cursor = self.engine_cursor.as_ref().ok_or(Code::NOT_FOUND)?;
        let (key, value) = (cursor.key().to_vec(), value_of_several(cursor)?);
        let open = self.open(txn)?.ok_or(Code::NOT_FOUND)?;
        if self.handle == MAIN && txn.is_database(&key)? {
            txn.set_broken();
            return Err(Code(codes::INCOMPATIBLE));
        }
        self.freeze();
        let is_whole = asked & flags::NODUPDATA != 0;
        let delete = |txn: &mut Transaction| {
            txn.change(|txn| match &open.tables {
                TableHandle::Plain(table) => table.remove(txn, &key),
                TableHandle::Multi(table) if is_whole => Ok(table.remove_key(txn, &key)? != 0),
                TableHandle::Multi(table) => table.remove(txn, &key, &value),
            })
        };
        if !delete(txn)? && open.order(ComparisonScope::Values).is_some() {
            let mut cursor = self.new_cursor(txn)?;
            cursor.seek_exact(&key)?;
            let _ranks = RankComparison::new(values_of_key(cursor)?);
            delete(txn)?;
        }
        self.position.is_at_end = false;
        if txn.view()?.stat(&open.tables)?.records == 0 {
            self.reset();
        }
        reset_cursor_positions(txn, self.handle, &open)
    }
}
