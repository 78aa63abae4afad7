//! Reads, each compared with the model.

use super::{
    counting,
    key_range::{KeyRange, borrowed},
    multi,
    operation::TableRead,
    oracle::{AnyModel, OracleTables, TableModel},
    reading::{Direction, RawTable},
    shape::{ModelKey, ModelRecord, ModelValue},
    violation::{ModelResult, expect_bytes, expect_same},
};
use crate::Context;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::Arc,
};
use teak::{ReadTxn, Transaction};

const ALL: KeyRange = (Bound::Unbounded, Bound::Unbounded);

/// Reads `table` as seen by `txn`, where it holds `model`.
pub(crate) fn perform<T: Transaction>(
    txn: &T,
    table: &RawTable,
    model: &TableModel,
    read: &TableRead,
) -> ModelResult {
    match read {
        TableRead::Get(key) => get(txn, table, model, key),
        TableRead::GetMany(keys) => get_many(txn, table, model, keys),
        TableRead::Ends => ends(txn, table, model),
        TableRead::Scan {
            range,
            direction,
            records_max,
        } => scan(txn, table, model, range, *direction, *records_max),
        TableRead::Prefix(prefix) => scan_prefix(txn, table, model, prefix),
        TableRead::Count(description) => counting::perform(txn, table, model, description),
    }
}

/// Compares everything that `txn` sees with the model.
pub(crate) fn verify<T: Transaction>(txn: &T, tables: &OracleTables) -> ModelResult {
    list_tables(txn, tables)?;
    for (name, model) in tables.iter() {
        match &**model {
            AnyModel::Plain(model) => {
                let table = txn.open_table(name)?;
                scan(txn, &table, model, &ALL, Direction::Forwards, usize::MAX)?;
            }
            AnyModel::Multi(model) => {
                multi::reads::verify(txn, &txn.open_multi_table(name)?, model)?;
            }
        }
    }
    Ok(())
}

/// Compares the differences between two states with those between their models.
pub(crate) fn compare<'t>(
    (older, older_tables): (&ReadTxn, &'t OracleTables),
    (newer, newer_tables): (&ReadTxn, &'t OracleTables),
) -> ModelResult {
    let names: BTreeSet<_> = older_tables.keys().chain(newer_tables.keys()).collect();
    for name in names {
        let (old, new) = (older_tables.get(name), newer_tables.get(name));
        let is_plain = |table: &Arc<AnyModel>| table.plain().is_some();
        if !old.iter().chain(&new).all(|table| is_plain(table)) {
            multi::reads::compare(name, (older, old), (newer, new))?;
            continue;
        }
        let plain = |table: Option<&'t Arc<AnyModel>>| table.and_then(|table| table.plain());
        let (old, new) = (plain(old), plain(new));
        if let (Some(old), Some(new)) = (old, new)
            && (old.kind.order, &old.kind.shape) != (new.kind.order, &new.kind.shape)
        {
            // The table was dropped and created with another order, or with integers of another
            // length. The engine refuses both.
            continue;
        }
        let table: RawTable = match new {
            Some(_) => newer.open_table(name)?,
            None => older.open_table(name)?,
        };
        let mut expected = BTreeMap::new();
        for (key, value) in old.iter().flat_map(|table| table.range(&ALL)) {
            expected.insert(key, (Some(value), None));
        }
        for (key, value) in new.iter().flat_map(|table| table.range(&ALL)) {
            expected.entry(key).or_insert((None, None)).1 = Some(value);
        }
        let bytes = |value: Option<ModelValue>| value.map(|value| value.bytes().to_vec());
        let expected: BTreeMap<_, _> = expected
            .into_iter()
            .map(|(key, (old, new))| (key.to_vec(), (bytes(old), bytes(new))))
            .filter(|(_, (old, new))| old != new)
            .collect();
        let mut found = BTreeMap::new();
        let mut last: Option<Vec<u8>> = None;
        for difference in table.differences(older, newer)? {
            let difference = difference?;
            let key = difference.key().clone();
            let values = (
                difference.old_value().map(|value| value.to_vec()),
                difference.new_value().map(|value| value.to_vec()),
            );
            let model = new.or(old).context("no table")?;
            let is_after = |last: &Vec<u8>| model.sorts_before(last, &key);
            if !last.as_ref().is_none_or(is_after) {
                bail!("differences are not in the order of keys");
            }
            last = Some(key.clone());
            found.insert(key, values);
        }
        expect_same("differences", found, expected)?;
    }
    Ok(())
}

/// Compares names, options and record counts of the tables.
pub(crate) fn list_tables<T: Transaction>(txn: &T, tables: &OracleTables) -> ModelResult {
    let mut engine: Vec<_> = txn
        .tables()?
        .into_iter()
        .map(|info| (info.name, info.options, info.types, info.stat.records))
        .collect();
    engine.sort_by(|left, right| left.0.cmp(&right.0));
    let model = tables
        .iter()
        .map(|(name, table)| {
            let (options, types) = (table.options(), table.types().clone());
            (name.clone(), options, types, table.len() as u64)
        })
        .collect();
    expect_same("the list of tables", engine, model)?;
    expect_same("marks", txn.marks(), tables.marks)
}

fn get<T: Transaction>(txn: &T, table: &RawTable, model: &TableModel, key: &[u8]) -> ModelResult {
    let value = table.get(txn, key)?;
    let expected = model.get(key);
    expect_bytes("get", value, expected.map(ModelValue::bytes))?;
    expect_same(
        "contains",
        table.contains_key(txn, key)?,
        expected.is_some(),
    )?;
    let next = table.get_or_next(txn, key)?;
    let is_exact = next
        .as_ref()
        .map(|(exactness, ..)| *exactness == Ordering::Equal);
    let after = (Bound::Included(key.to_vec().into()), Bound::Unbounded);
    let expected_next = model.range(&after).next();
    let is_there = expected_next.as_ref().map(|_| expected.is_some());
    expect_same("exactness of get_or_next", is_exact, is_there)?;
    let next = next.map(|(_, key, value)| (key, value));
    expect_record("get_or_next", next, expected_next)?;
    expect_aligned(value, model)
}

fn expect_aligned(value: Option<&[u8]>, model: &TableModel) -> ModelResult {
    let align = model.kind.value_align;
    if let Some(bytes) = value.filter(|bytes| !bytes.is_empty()) {
        let at = bytes.as_ptr();
        ensure!(
            at.addr().is_multiple_of(align),
            "a value at {at:p} is not aligned to {align} bytes"
        );
    }
    Ok(())
}

fn get_many<T: Transaction>(
    txn: &T,
    table: &RawTable,
    model: &TableModel,
    keys: &[ModelKey],
) -> ModelResult {
    let slices: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
    let values = table.get_many(txn, &slices)?;
    expect_same("number of values of get_many", values.len(), keys.len())?;
    for (value, key) in values.into_iter().zip(slices) {
        expect_bytes("get_many", value, model.get(key).map(ModelValue::bytes))?;
    }
    Ok(())
}

fn ends<T: Transaction>(txn: &T, table: &RawTable, model: &TableModel) -> ModelResult {
    expect_record("first", table.first(txn)?, model.first())?;
    expect_record("last", table.last(txn)?, model.last())?;
    expect_same("len", table.len(txn)?, model.len() as u64)
}

pub(crate) fn expect_record<K: AsRef<[u8]>>(
    description: &str,
    engine: Option<(K, &[u8])>,
    model: Option<ModelRecord>,
) -> ModelResult {
    let (engine_key, engine_value) = engine.unzip();
    let (model_key, model_value) = model.unzip();
    let engine_key = engine_key.as_ref().map(AsRef::as_ref);
    expect_bytes(
        &format!("key of {description}"),
        engine_key,
        model_key.as_deref(),
    )?;
    expect_bytes(
        &format!("value of {description}"),
        engine_value,
        model_value.map(ModelValue::bytes),
    )
}

fn scan<T: Transaction>(
    txn: &T,
    table: &RawTable,
    model: &TableModel,
    range: &KeyRange,
    direction: Direction,
    records_max: usize,
) -> ModelResult {
    let mut engine = table.range(borrowed(range)).iter(txn)?;
    let mut expected = model.range(range);
    for step in 0..records_max {
        let (record, expected) = if direction.is_forwards(step) {
            (engine.next(), expected.next())
        } else {
            (engine.next_back(), expected.next_back())
        };
        let is_end = expected.is_none();
        expect_record("a range", record.transpose()?, expected)?;
        if is_end {
            break;
        }
    }
    Ok(())
}

fn scan_prefix<T: Transaction>(
    txn: &T,
    table: &RawTable,
    model: &TableModel,
    prefix: &[u8],
) -> ModelResult {
    let after = (Bound::Included(prefix.to_vec().into()), Bound::Unbounded);
    let expected: Vec<ModelRecord> = model
        .range(&after)
        .take_while(|(key, _)| key.starts_with(prefix))
        .collect();
    let mut engine = table.prefix(prefix).iter(txn)?;
    for record in expected.iter().take(200) {
        expect_record("a prefix", engine.next().transpose()?, Some(record.clone()))?;
    }
    if expected.len() <= 200 {
        expect_record("after a prefix", engine.next().transpose()?, None)?;
    }
    let last = table.prefix(prefix).iter(txn)?.next_back().transpose()?;
    expect_record("the last of a prefix", last, expected.last().cloned())
}
