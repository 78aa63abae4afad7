//! Reads of a table in which a key has several values, each compared with the model.

use super::{
    super::{
        counting::{self, PairCounting},
        key_range::{KeyRange, borrowed},
        oracle::{AnyModel, OracleTables},
        reading::Direction,
        shape::ModelKey,
        violation::{ModelResult, expect_bytes, expect_same},
    },
    RawMultiTable,
    oracle::{MultiModel, Pair, PairRange, borrowed_pairs},
};
use std::{
    cmp::Ordering,
    collections::BTreeSet,
    ops::{Bound, ControlFlow},
    sync::Arc,
};
use teak::{DetachedCursor, ReadTxn, SeekOp, SeekTarget, Transaction};

/// A read of one table.
#[derive(Clone, Debug)]
pub(crate) enum MultiRead {
    /// Everything about one key.
    Key(ModelKey),
    Contains(Pair),
    Keys,
    Range(KeyRange, Direction, usize),
    RangePairs(PairRange, Direction, usize),
    Count(PairCounting),
}

/// Reads `table` as seen by `txn`, where it holds `model`.
pub(crate) fn perform<T: Transaction>(
    txn: &T,
    table: &RawMultiTable,
    model: &MultiModel,
    read: &MultiRead,
) -> ModelResult {
    match read {
        MultiRead::Key(key) => read_key(txn, table, model, key),
        MultiRead::Contains(pair) => {
            let is_there = table.contains(txn, &pair.0, &pair.1)?;
            expect_same("contains", is_there, model.contains(pair))?;
            let next = table.get_or_next(txn, &pair.0, &pair.1)?;
            let is_exact = |exactness| exactness == Ordering::Equal;
            let next = next.map(|(exactness, key, value)| (is_exact(exactness), key, value));
            let expected = model.at_or_after(pair);
            let expected = expected.map(|(key, value)| (is_there, key.to_vec(), value.to_vec()));
            expect_same("get_or_next", next, expected)
        }
        MultiRead::Keys => keys(txn, table, model),
        MultiRead::Range(range, direction, pairs_max) => scan(
            table.range(borrowed(range)).iter(txn)?,
            model.range(range),
            *direction,
            *pairs_max,
        ),
        MultiRead::RangePairs(range, direction, pairs_max) => scan(
            table.range_pairs(borrowed_pairs(range)).iter(txn)?,
            model.range_pairs(range).into_iter(),
            *direction,
            *pairs_max,
        ),
        MultiRead::Count(description) => counting::perform_multi(txn, table, model, description),
    }
}

/// Reads with handles that own a share of the transaction.
pub(crate) fn perform_owned(
    txn: &ReadTxn,
    name: &[u8],
    tables: &OracleTables,
    read: &MultiRead,
) -> ModelResult {
    let table: RawMultiTable = txn.open_multi_table(name)?;
    let Some(model) = tables.get(name).and_then(|table| table.multi()) else {
        return Ok(());
    };
    match read {
        MultiRead::Key(key) => {
            let values = table.range(&**key..=key).owned(txn)?;
            let expected = model.values(key).map(|value| (key.clone(), value));
            scan(values, expected, Direction::Forwards, usize::MAX)
        }
        MultiRead::Range(range, direction, pairs_max) => scan(
            table.range(borrowed(range)).owned(txn)?,
            model.range(range),
            *direction,
            *pairs_max,
        ),
        MultiRead::RangePairs(range, direction, pairs_max) => scan(
            table.range_pairs(borrowed_pairs(range)).owned(txn)?,
            model.range_pairs(range).into_iter(),
            *direction,
            *pairs_max,
        ),
        MultiRead::Contains((key, value)) => {
            let mut cursor = DetachedCursor::new(&table);
            let target = SeekTarget::Value(key, value);
            let is_there = cursor.seek(txn, SeekOp::LessOrEqual, target)?;
            let expected = model.values(key).rfind(|other| {
                !model.sorts_before(&(key.clone(), value.clone()), &(key.clone(), other.clone()))
            });
            expect_same("seek among values", is_there, expected.is_some())?;
            let value = cursor.value(txn)?;
            let found = is_there.then_some(&*value);
            expect_bytes("value of a detached cursor", found, expected.as_deref())
        }
        MultiRead::Keys | MultiRead::Count(_) => Ok(()),
    }
}

/// Compares everything in the table.
pub(crate) fn verify<T: Transaction>(
    txn: &T,
    table: &RawMultiTable,
    model: &MultiModel,
) -> ModelResult {
    let all = (Bound::Unbounded, Bound::Unbounded);
    scan(
        table.iter(txn)?,
        model.range(&all),
        Direction::Forwards,
        usize::MAX,
    )?;
    keys(txn, table, model)?;
    expect_same("len", table.len(txn)?, model.len() as u64)
}

/// A state of a table, in the engine and in the model.
type MultiState<'s> = (&'s ReadTxn, Option<&'s Arc<AnyModel>>);

/// Compares the differences between two states with those between their models.
pub(crate) fn compare(name: &[u8], older: MultiState<'_>, newer: MultiState<'_>) -> ModelResult {
    let models = [older.1, newer.1].map(|table| table.map(|table| table.multi()));
    let (old, new) = match models {
        // The table was dropped and created with another kind, which is refused.
        [Some(None), _] | [_, Some(None)] => return Ok(()),
        [old, new] => (old.flatten(), new.flatten()),
    };
    let is_other = |old: &MultiModel, new: &MultiModel| {
        let (old, new) = (&old.kind, &new.kind);
        (old.order, old.value_order, &old.shape, &old.value_shape)
            != (new.order, new.value_order, &new.shape, &new.value_shape)
    };
    if let (Some(old), Some(new)) = (old, new)
        && is_other(old, new)
    {
        return Ok(());
    }
    let Some(model) = new.or(old) else {
        return Ok(());
    };
    let all = (Bound::Unbounded, Bound::Unbounded);
    let pairs = |model: Option<&MultiModel>| -> BTreeSet<Pair> {
        model.iter().flat_map(|model| model.range(&all)).collect()
    };
    let (old, new) = (pairs(old), pairs(new));
    let changed: Vec<Pair> = old.symmetric_difference(&new).cloned().collect();
    let table: RawMultiTable = match newer.1 {
        Some(_) => newer.0.open_multi_table(name)?,
        None => older.0.open_multi_table(name)?,
    };
    let mut differences = table.differences(older.0, newer.0)?;
    for pair in model.sorted(&changed) {
        let found = differences.next().transpose()?;
        let found = found.map(|difference| {
            let (old, new) = (difference.old_value(), difference.new_value());
            let key = difference.key().clone();
            (key, old.or(new).cloned().unwrap_or_default(), old.is_none())
        });
        let is_inserted = new.contains(&pair);
        let expected = Some((pair.0.to_vec(), pair.1.to_vec(), is_inserted));
        expect_same("a pair that differs", found, expected)?;
    }
    expect_same(
        "differences after the last",
        differences.next().is_some(),
        false,
    )
}

fn read_key<T: Transaction>(
    txn: &T,
    table: &RawMultiTable,
    model: &MultiModel,
    key: &ModelKey,
) -> ModelResult {
    let (mut values, mut expected) = (table.values(txn, key)?, model.values(key));
    let count = model.count(key);
    expect_same("count", table.count(txn, key)?, count as u64)?;
    expect_same("len of values", values.len(), count as u64)?;
    let stat = table.value_stat(txn, key)?;
    let stat = stat.map_or(0, |stat| stat.records);
    expect_same("records of value_stat", stat, count as u64)?;
    let is_there = table.contains_key(txn, key)?;
    expect_same("contains_key", is_there, count > 0)?;
    let first = table.first_value(txn, key)?;
    expect_bytes(
        "first_value",
        first.as_deref(),
        model.values(key).next().as_deref(),
    )?;
    let last = table.last_value(txn, key)?;
    let expected_last = model.values(key).next_back();
    expect_bytes("last_value", last.as_deref(), expected_last.as_deref())?;
    if model.kind.is_packed() {
        let mut packed = Vec::new();
        table.for_each_packed(txn, key, |values| {
            packed.extend_from_slice(values);
            ControlFlow::Continue(())
        })?;
        let all: Vec<u8> = model.values(key).flat_map(|value| value.to_vec()).collect();
        expect_bytes("for_each_packed", Some(&packed), Some(&all))?;
    }
    for step in 0.. {
        let (value, expected) = match step % 3 == 2 {
            true => (values.next_back(), expected.next_back()),
            false => (values.next(), expected.next()),
        };
        let value = value.transpose()?;
        expect_bytes("a value", value.as_deref(), expected.as_deref())?;
        if value.is_none() {
            break;
        }
    }
    Ok(())
}

fn keys<T: Transaction>(txn: &T, table: &RawMultiTable, model: &MultiModel) -> ModelResult {
    let mut keys = table.range(..).keys(txn)?;
    for (key, count) in model.keys() {
        let (found, values) = keys.next().transpose()?.unzip();
        expect_bytes("a key", found.as_deref(), Some(&key))?;
        expect_same("its count", values, Some(count))?;
    }
    expect_same("keys after the last", keys.next().is_some(), false)
}

fn scan(
    mut engine: impl DoubleEndedIterator<Item = teak::Result<(Vec<u8>, Vec<u8>)>>,
    mut expected: impl DoubleEndedIterator<Item = Pair>,
    direction: Direction,
    pairs_max: usize,
) -> ModelResult {
    for step in 0..pairs_max {
        let (pair, expected) = match direction.is_forwards(step) {
            true => (engine.next(), expected.next()),
            false => (engine.next_back(), expected.next_back()),
        };
        let (key, value) = pair.transpose()?.unzip();
        let (expected_key, expected_value) = expected.unzip();
        expect_bytes("key of a range", key.as_deref(), expected_key.as_deref())?;
        expect_bytes(
            "value of a range",
            value.as_deref(),
            expected_value.as_deref(),
        )?;
        if key.is_none() {
            break;
        }
    }
    Ok(())
}
