//! Changes of one table, made in the engine and in the model.

use super::{
    key_range::borrowed,
    operation::{ModelChange, NestedTransaction},
    oracle::TableModel,
    points,
    reading::RawTable,
    shape::{ModelRecord, ModelValue},
    violation::{ModelResult, expect_kept, expect_refused, expect_same, not_kept},
};
use std::path::Path;
use teak::{BulkOptions, Error, WriteTxn};

/// The properties of the database that the changes of an episode need.
pub(crate) struct ChangeContext<'a> {
    pub(crate) key_len_max: usize,
    /// The directory for sorted runs on disk.
    pub(crate) directory: &'a Path,
}

/// Changes `table` in `txn` and `model` in the same way.
pub(crate) fn perform(
    txn: &mut WriteTxn,
    table: &RawTable,
    model: &mut TableModel,
    change: &ModelChange,
    context: &ChangeContext<'_>,
) -> ModelResult {
    match change {
        ModelChange::Insert(key, value) => {
            table.insert(txn, key, value.bytes())?;
            let before = model.insert(key, *value);
            let found = table.get(txn, key)?.unwrap_or_default();
            // An equal value need not be written.
            let is_same = before.is_some_and(|before| before.bytes() == value.bytes());
            let is_changed = found.is_empty() || is_same || txn.is_changed(found);
            expect_same(
                "whether what was inserted is in a changed page",
                is_changed,
                true,
            )
        }
        ModelChange::InsertNew(key, value) => insert_new(txn, table, model, key, *value),
        ModelChange::InsertTooLong => insert_too_long(txn, table, context.key_len_max),
        ModelChange::Point(change) => points::perform(txn, table, model, change),
        ModelChange::InsertMany(records) => insert_many(txn, table, model, records),
        ModelChange::Remove(key) => {
            expect_same("remove", table.remove(txn, key)?, model.remove(key))
        }
        ModelChange::RemoveMany(keys) => {
            let slices: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
            let removed = keys.iter().filter(|key| model.remove(key)).count();
            expect_same(
                "remove_many",
                table.remove_many(txn, &slices)?,
                removed as u64,
            )
        }
        ModelChange::RemoveRange(range) => expect_same(
            "remove_range",
            table.range(borrowed(range)).remove(txn)?,
            model.remove_range(range),
        ),
        ModelChange::Clear => {
            table.clear(txn)?;
            model.clear();
            Ok(())
        }
        ModelChange::BulkLoad(records) => bulk_load(txn, table, model, records),
        ModelChange::BulkLoadUnsorted {
            records,
            memory_bytes,
        } => {
            // Little memory, so that some of the input is sorted on disk.
            let options = BulkOptions::new().memory_bytes(*memory_bytes);
            let options = options.directory(context.directory);
            bulk_load_unsorted(txn, table, model, records, options)
        }
        ModelChange::BulkLoadWrong(records) => {
            let result = txn.nested(|txn| table.bulk_load(txn, slices(records)));
            expect_refused!(
                "records that are not sorted",
                result,
                Error::NotSorted { index } if *index + 1 == records.len() as u64
            )
        }
        ModelChange::Nested(layers) => nested(txn, table, model, layers),
    }
}

fn insert_new(
    txn: &mut WriteTxn,
    table: &RawTable,
    model: &mut TableModel,
    key: &[u8],
    value: ModelValue,
) -> ModelResult {
    let is_new = model.get(key).is_none();
    if is_new {
        model.insert(key, value);
    }
    expect_same(
        "insert_new",
        table.insert_new(txn, key, value.bytes())?,
        is_new,
    )
}

fn insert_too_long(txn: &mut WriteTxn, table: &RawTable, key_len_max: usize) -> ModelResult {
    let result = table.insert(txn, vec![7; key_len_max + 1], b"value");
    expect_refused!("a key that is too long", result, Error::KeyTooLong { .. })
}

fn insert_many(
    txn: &mut WriteTxn,
    table: &RawTable,
    model: &mut TableModel,
    records: &[ModelRecord],
) -> ModelResult {
    let pairs: Vec<_> = slices(records).collect();
    let added = table.insert_many(txn, &pairs)?;
    let new = records
        .iter()
        .filter(|(key, value)| model.insert(key, *value).is_none());
    expect_same("insert_many", added, new.count() as u64)
}

fn bulk_load(
    txn: &mut WriteTxn,
    table: &RawTable,
    model: &mut TableModel,
    records: &[ModelRecord],
) -> ModelResult {
    let count = table.bulk_load(txn, slices(records))?;
    insert_all(model, records);
    expect_same("bulk_load", count, records.len() as u64)
}

fn bulk_load_unsorted(
    txn: &mut WriteTxn,
    table: &RawTable,
    model: &mut TableModel,
    records: &[ModelRecord],
    options: BulkOptions,
) -> ModelResult {
    let count = table.bulk_load_unsorted(txn, slices(records), options, &mut |_| ())?;
    insert_all(model, records);
    expect_same(
        "bulk_load_unsorted",
        count,
        model.sorted(records).len() as u64,
    )
}

/// Nested transactions, each in the one before it.
fn nested(
    txn: &mut WriteTxn,
    table: &RawTable,
    model: &mut TableModel,
    layers: &[NestedTransaction],
) -> ModelResult {
    let Some((NestedTransaction { records, keep }, within)) = layers.split_first() else {
        return Ok(());
    };
    let mut inner = model.clone();
    let mut outcome = Ok(());
    let result = txn.nested(|txn| {
        for (key, value) in slices(records) {
            table.insert(txn, key, value)?;
        }
        insert_all(&mut inner, records);
        outcome = nested(txn, table, &mut inner, within);
        match keep {
            true => Ok(()),
            false => Err(not_kept()),
        }
    });
    outcome?;
    expect_kept(result, *keep)?;
    if *keep {
        *model = inner;
    }
    Ok(())
}

fn slices(records: &[ModelRecord]) -> impl Iterator<Item = (&[u8], &[u8])> {
    records.iter().map(|(key, value)| (&**key, value.bytes()))
}

fn insert_all(model: &mut TableModel, records: &[ModelRecord]) {
    for (key, value) in records {
        model.insert(key, *value);
    }
}
