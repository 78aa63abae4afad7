//! Conditional changes of one record, made in the engine and in the model.

use super::{
    oracle::TableModel,
    reading::RawTable,
    shape::{ModelKey, ModelValue},
    violation::{ModelResult, expect_bytes, expect_refused, expect_same},
};
use teak::{Error, WriteTxn};

/// A conditional change of one record.
#[derive(Clone, Debug)]
pub(crate) enum PointChange {
    GetOrInsert(ModelKey, ModelValue),
    Update(ModelKey, ModelValue),
    Replace(ModelKey, ModelValue),
    Take(ModelKey),
    RemoveIf(ModelKey, ModelValue),
    /// The expected value, and the new one.
    CompareAndSwap(ModelKey, Option<ModelValue>, Option<ModelValue>),
    /// Changes the value to this one, or removes it.
    Modify(ModelKey, Option<ModelValue>),
    /// A value that is written in place.
    InsertWith(ModelKey, ModelValue),
    /// Appends after the last record; refused if the key is not greater.
    Append(ModelKey, ModelValue),
}

/// Changes `table` in `txn` and `model` in the same way.
pub(crate) fn perform(
    txn: &mut WriteTxn,
    table: &RawTable,
    model: &mut TableModel,
    change: &PointChange,
) -> ModelResult {
    match change {
        PointChange::GetOrInsert(key, value) => {
            let entry = table.entry(txn, key)?;
            let found = entry.get()?.map(<[u8]>::to_vec);
            entry.or_insert(value.bytes())?;
            let expected = model.get(key);
            if expected.is_none() {
                model.insert(key, *value);
            }
            expect_value("get_or_insert", found, expected)
        }
        PointChange::Update(key, value) => {
            let is_there = model.get(key).is_some();
            if is_there {
                model.insert(key, *value);
            }
            expect_same("update", table.update(txn, key, value.bytes())?, is_there)
        }
        PointChange::Replace(key, value) => {
            let old = table.entry(txn, key)?.insert(value.bytes())?;
            expect_value("replace", old, model.insert(key, *value))
        }
        PointChange::Take(key) => {
            let expected = model.get(key);
            model.remove(key);
            expect_value("take", table.entry(txn, key)?.remove()?, expected)
        }
        PointChange::RemoveIf(key, value) => {
            let is_equal = is_same(model.get(key), Some(*value));
            if is_equal {
                model.remove(key);
            }
            let swapped = table.compare_and_swap(txn, key, Some(value.bytes()), None)?;
            expect_same("remove_if", swapped == Ok(()), is_equal)
        }
        PointChange::CompareAndSwap(key, old, new) => {
            compare_and_swap(txn, table, model, (key, *old, *new))
        }
        PointChange::Modify(key, new) => {
            let entry = table.entry(txn, key)?;
            let seen = match new {
                Some(value) => entry.insert(value.bytes())?,
                None => entry.remove()?,
            };
            let expected = model.get(key);
            put(model, key, *new);
            expect_value("modify", seen, expected)
        }
        PointChange::InsertWith(key, value) => {
            let bytes = value.bytes();
            table.insert_with(txn, key, bytes.len(), |space| space.copy_from_slice(bytes))?;
            model.insert(key, *value);
            Ok(())
        }
        PointChange::Append(key, value) => append(txn, table, model, (key, value)),
    }
}

fn compare_and_swap(
    txn: &mut WriteTxn,
    table: &RawTable,
    model: &mut TableModel,
    (key, old, new): (&ModelKey, Option<ModelValue>, Option<ModelValue>),
) -> ModelResult {
    let there = model.get(key);
    let expected = match is_same(there, old) {
        true => Ok(()),
        false => Err(there.map(|value| value.bytes().to_vec())),
    };
    if expected == Ok(()) {
        put(model, key, new);
    }
    let (old, new) = (old.map(ModelValue::bytes), new.map(ModelValue::bytes));
    let swap = table.compare_and_swap(txn, key, old, new)?;
    expect_same("compare_and_swap", swap, expected)
}

fn append(
    txn: &mut WriteTxn,
    table: &RawTable,
    model: &mut TableModel,
    (key, value): (&ModelKey, &ModelValue),
) -> ModelResult {
    let last = model.last();
    let result = table.append(txn, key, value.bytes());
    if last.is_none_or(|(last, _)| model.sorts_before(&last, key)) {
        result?;
        model.insert(key, *value);
        return Ok(());
    }
    expect_refused!(
        "a record before the last",
        result,
        Error::NotSorted { index } if *index == model.len() as u64
    )
}

fn put(model: &mut TableModel, key: &[u8], value: Option<ModelValue>) {
    match value {
        Some(value) => drop(model.insert(key, value)),
        None => drop(model.remove(key)),
    }
}

/// Pieces of the pattern may begin elsewhere and have equal bytes.
fn is_same(left: Option<ModelValue>, right: Option<ModelValue>) -> bool {
    left.map(ModelValue::bytes) == right.map(ModelValue::bytes)
}

fn expect_value(
    description: &str,
    engine: Option<Vec<u8>>,
    model: Option<ModelValue>,
) -> ModelResult {
    expect_bytes(description, engine.as_deref(), model.map(ModelValue::bytes))
}
