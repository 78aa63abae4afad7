//! What cursors change.

use super::Inner;
use crate::{
    border::Value,
    codes::{self, Code, Outcome},
    flags,
    handles::{MAIN, Tables},
    put::{self, check_len, check_len_of_several, forget_places, of_size},
    transaction::Transaction,
};
use std::ffi::c_uint;

impl Inner {
    /// Puts a record, and goes to it.
    pub(crate) fn put(
        &mut self,
        txn: &mut Transaction,
        key: &[u8],
        data: &mut Value,
        asked: c_uint,
    ) -> Outcome {
        if asked & flags::CURRENT != 0 {
            return self.put_here(txn, key, data, asked);
        }
        // They may lead to what is about to change.
        let key = key.to_vec();
        let value = match asked & flags::RESERVE {
            // SAFETY: the client gives a value that is there while the function runs; of a reserved one only the length counts.
            0 => unsafe { data.bytes() }?.to_vec(),
            _ => Vec::new(),
        };
        self.freeze();
        let done = put::put(txn, self.handle, &key, data, asked);
        if matches!(done, Ok(()) | Err(Code(codes::KEYEXIST))) {
            let value = match self.open(txn)? {
                Some(open) if open.is_multi() => &value[..],
                _ => &[],
            };
            self.be_at(&key, value);
            self.is_at_end = false;
            self.is_without_value = false;
        }
        done
    }

    /// Gives the record that the cursor is on another value.
    fn put_here(
        &mut self,
        txn: &mut Transaction,
        key: &[u8],
        data: &mut Value,
        asked: c_uint,
    ) -> Outcome {
        txn.refuse_reader()?;
        check_len(key.len())?;
        self.stay(txn)?;
        let walk = self.walk.as_ref().ok_or(Code::NOT_FOUND)?;
        let (key, old) = (walk.key().to_vec(), walk.value()?.to_vec());
        let open = self.open(txn)?.ok_or(Code::NOT_FOUND)?;
        let Tables::Multi(table) = &open.tables else {
            self.freeze();
            return put::put(txn, self.handle, &key, data, asked & flags::RESERVE);
        };
        check_len_of_several(data.len)?;
        // SAFETY: the client gives a value that is there while the function runs.
        let new = unsafe { data.bytes() }?.to_vec();
        self.freeze();
        if new != old {
            let replaced = txn.change(|txn| match table.contains(txn, &key, &new)? {
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

    /// Puts several values of one size; says of how many it was done, also if not of all.
    pub(crate) fn put_several(
        &mut self,
        txn: &mut Transaction,
        key: &[u8],
        (values, size): (&[u8], usize),
        asked: c_uint,
    ) -> (usize, Outcome) {
        let (key, values) = (key.to_vec(), values.to_vec());
        for (index, value) in values.chunks_exact(size).enumerate() {
            let mut data = Value::new(value);
            if let Err(code) = self.put(txn, &key, &mut data, asked) {
                return (index, Err(code));
            }
        }
        (values.len() / size, Ok(()))
    }

    /// Deletes the record that the cursor is on, or its key with all values.
    pub(crate) fn delete(&mut self, txn: &mut Transaction, asked: c_uint) -> Outcome {
        txn.refuse_reader()?;
        self.stay(txn)?;
        let walk = self.walk.as_ref().ok_or(Code::NOT_FOUND)?;
        let (key, value) = (walk.key().to_vec(), walk.value()?.to_vec());
        let open = self.open(txn)?.ok_or(Code::NOT_FOUND)?;
        if self.handle == MAIN && txn.is_database(&key)? {
            txn.set_broken();
            return Err(Code(codes::INCOMPATIBLE));
        }
        self.freeze();
        let is_whole = asked & flags::NODUPDATA != 0;
        let deleted = txn.change(|txn| match &open.tables {
            Tables::Plain(table) => table.remove(txn, &key),
            Tables::Multi(table) if is_whole => Ok(table.remove_key(txn, &key)? != 0),
            Tables::Multi(table) => table.remove(txn, &key, &value),
        });
        deleted?;
        self.is_at_end = false;
        if txn.view()?.stat(&open.tables)?.records == 0 {
            self.reset();
        }
        forget_places(txn, self.handle, &open)
    }
}
