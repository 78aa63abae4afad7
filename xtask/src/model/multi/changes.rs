//! Changes of a table in which a key has several values, made in the engine and in the model.

use super::{
    super::{
        key_range::{KeyRange, borrowed},
        shape::ModelKey,
        violation::{
            ModelResult, expect_bytes, expect_kept, expect_refused, expect_same, not_kept,
        },
    },
    RawMultiTable,
    oracle::{MultiModel, Pair, PairRange, borrowed_pairs},
};
use std::ops::Deref;
use teak::{Action, BulkOptions, Error, WriteTxn, codec::Raw};

/// A change of one table.
#[derive(Clone, Debug)]
pub(crate) enum MultiChange {
    Insert(Pair),
    InsertNewKey(Pair),
    InsertValues(ModelKey, Vec<ModelKey>),
    /// Like `InsertValues`, with the values in one packed slice.
    InsertPacked(ModelKey, Vec<ModelKey>),
    InsertMany(Vec<Pair>),
    /// The first value becomes the second.
    Replace(ModelKey, ModelKey, ModelKey),
    SetValues(ModelKey, Vec<ModelKey>),
    Append(Pair),
    AppendValue(Pair),
    /// This value becomes the other one, or is removed, whatever the key has.
    Modify(Pair, Option<ModelKey>),
    CompareAndSwap(ModelKey, Option<ModelKey>, Option<ModelKey>),
    Remove(Pair),
    RemoveKey(ModelKey),
    RemoveMany(Vec<Pair>),
    RemoveRange(KeyRange),
    RemovePairs(PairRange),
    BulkLoad(Vec<Pair>),
    BulkLoadUnsorted(Vec<Pair>, usize),
    /// Unsorted pairs where they must be sorted: refused, and rolled back.
    BulkLoadWrong(Vec<Pair>),
    /// A value that is too long, or has another size than all others.
    InsertWrong(ModelKey, usize),
    Clear,
    /// Changes within a nested transaction, and whether it is kept.
    Nested(Vec<MultiChange>, bool),
}

/// Changes `table` in `txn` and `model` in the same way.
pub(crate) fn perform(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    model: &mut MultiModel,
    change: &MultiChange,
) -> ModelResult {
    match change {
        MultiChange::Insert(pair) => {
            let is_new = table.insert(txn, &pair.0, &pair.1)?;
            expect_same("insert", is_new, model.insert(pair))
        }
        MultiChange::InsertNewKey(pair) => insert_new_key(txn, table, model, pair),
        MultiChange::InsertValues(key, values) => {
            let added = table.insert_values(txn, key, &slices(values))?;
            let pairs = pairs_of(key, values);
            expect_same("insert_values", added, model.insert_all(&pairs))
        }
        MultiChange::InsertPacked(key, values) => insert_packed(txn, table, model, (key, values)),
        MultiChange::InsertMany(pairs) => {
            let added = table.insert_many(txn, &pair_slices(pairs))?;
            expect_same("insert_many", added, model.insert_all(pairs))
        }
        MultiChange::Replace(key, old, new) => replace(txn, table, model, (key, old, new)),
        MultiChange::SetValues(key, values) => set_values(txn, table, model, (key, values)),
        MultiChange::Nested(changes, keep) => nested(txn, table, model, (changes, *keep)),
        MultiChange::Append(pair) => append(txn, table, model, (pair, false)),
        MultiChange::AppendValue(pair) => append(txn, table, model, (pair, true)),
        MultiChange::Modify(pair, new) => modify(txn, table, model, (pair, new.as_ref())),
        MultiChange::CompareAndSwap(key, old, new) => {
            let swapped = table.compare_and_swap(txn, key, old.as_deref(), new.as_deref())?;
            let expected = compare_and_swap(model, key, (old.as_ref(), new.as_ref()));
            expect_same("compare_and_swap", swapped, expected)
        }
        MultiChange::Remove(pair) => {
            let was_there = table.remove(txn, &pair.0, &pair.1)?;
            expect_same("remove", was_there, model.remove(pair))
        }
        MultiChange::RemoveKey(key) => {
            let count = table.remove_key(txn, key)?;
            expect_same("remove_key", count, model.remove_key(key))
        }
        MultiChange::RemoveMany(pairs) => {
            let count = table.remove_many(txn, &pair_slices(pairs))?;
            expect_same("remove_many", count, model.remove_all(pairs))
        }
        MultiChange::RemoveRange(range) => {
            let count = table.range(borrowed(range)).remove(txn)?;
            let pairs: Vec<_> = model.range(range).collect();
            expect_same("remove_range", count, model.remove_all(&pairs))
        }
        MultiChange::RemovePairs(range) => {
            let count = table.range_pairs(borrowed_pairs(range)).remove(txn)?;
            let pairs = model.range_pairs(range);
            expect_same("remove_pairs", count, model.remove_all(&pairs))
        }
        MultiChange::BulkLoad(pairs) => {
            let count = table.bulk_load(txn, pair_slices(pairs))?;
            expect_same("bulk_load", count, model.insert_all(pairs))
        }
        MultiChange::BulkLoadUnsorted(pairs, memory_bytes) => {
            bulk_load_unsorted(txn, table, model, (pairs, *memory_bytes))
        }
        MultiChange::BulkLoadWrong(pairs) => refuse_unsorted(txn, table, pairs),
        MultiChange::InsertWrong(key, len) => refuse_size(txn, table, key, *len),
        MultiChange::Clear => clear(txn, table, model),
    }
}

fn clear(txn: &mut WriteTxn, table: &RawMultiTable, model: &mut MultiModel) -> ModelResult {
    table.clear(txn)?;
    model.clear();
    Ok(())
}

fn set_values(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    model: &mut MultiModel,
    (key, values): (&ModelKey, &[ModelKey]),
) -> ModelResult {
    let before = table.set_values(txn, key, &slices(values))?;
    let expected = model.remove_key(key);
    model.insert_all(&pairs_of(key, values));
    expect_same("set_values", before, expected)
}

fn bulk_load_unsorted(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    model: &mut MultiModel,
    (pairs, memory_bytes): (&[Pair], usize),
) -> ModelResult {
    let options = BulkOptions::new().memory_bytes(memory_bytes);
    let slices = pair_slices(pairs);
    let count = table.bulk_load_unsorted(txn, slices, options, &mut |_| ())?;
    model.insert_all(pairs);
    expect_same(
        "bulk_load_unsorted",
        count,
        model.sorted(pairs).len() as u64,
    )
}

fn refuse_unsorted(txn: &mut WriteTxn, table: &RawMultiTable, pairs: &[Pair]) -> ModelResult {
    let result = txn.nested(|txn| table.bulk_load(txn, pair_slices(pairs)));
    expect_refused!("pairs that are not sorted", result, Error::NotSorted { .. })
}

fn refuse_size(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    key: &ModelKey,
    len: usize,
) -> ModelResult {
    let result = table.insert(txn, key, vec![7; len]);
    expect_refused!(
        "a value of a wrong size",
        result,
        Error::ValueTooLong { .. } | Error::InvalidArgument(_)
    )
}

fn insert_new_key(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    model: &mut MultiModel,
    pair: &Pair,
) -> ModelResult {
    let first = table.insert_new_key(txn, &pair.0, &pair.1)?;
    let expected = model.values(&pair.0).next();
    if expected.is_none() {
        model.insert(pair);
    }
    expect_bytes("insert_new_key", first.as_deref(), expected.as_deref())
}

fn insert_packed(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    model: &mut MultiModel,
    (key, values): (&ModelKey, &[ModelKey]),
) -> ModelResult {
    let packed = values.iter().flat_map(|value| value.iter().copied());
    let packed: Vec<u8> = packed.collect();
    let added = match table.insert_packed(txn, key, &packed) {
        // The size is unknown until there is a value.
        Err(Error::InvalidArgument(_)) if model.len() == 0 || !model.kind.is_packed() => {
            return Ok(());
        }
        added => added?,
    };
    expect_same(
        "insert_packed",
        added,
        model.insert_all(&pairs_of(key, values)),
    )
}

fn replace(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    model: &mut MultiModel,
    (key, old, new): (&ModelKey, &ModelKey, &ModelKey),
) -> ModelResult {
    let result = table.replace(txn, key, old, new);
    let (old, new) = ((key.clone(), old.clone()), (key.clone(), new.clone()));
    match (model.contains(&old), model.contains(&new)) {
        (false, _) => expect_same("replace", result?, false),
        (true, true) if old != new => expect_refused!(
            "replacing by what is there",
            result,
            Error::InvalidArgument(_)
        ),
        (true, _) => {
            model.remove(&old);
            model.insert(&new);
            expect_same("replace", result?, true)
        }
    }
}

fn nested(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    model: &mut MultiModel,
    (changes, keep): (&[MultiChange], bool),
) -> ModelResult {
    let mut inner = model.clone();
    let mut outcome = Ok(());
    let result = txn.nested(|txn| {
        let mut changes = changes.iter();
        outcome = changes.try_for_each(|change| perform(txn, table, &mut inner, change));
        match keep && outcome.is_ok() {
            true => Ok(()),
            false => Err(not_kept()),
        }
    });
    outcome?;
    expect_kept(result, keep)?;
    if keep {
        *model = inner;
    }
    Ok(())
}

fn modify(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    model: &mut MultiModel,
    (pair, new): (&Pair, Option<&ModelKey>),
) -> ModelResult {
    let old = table.modify(txn, &pair.0, &pair.1, |old| -> teak::Result<_> {
        let action = new.map_or_else(Action::<Raw>::remove, Action::<Raw>::put);
        Ok((action, old.map(<[u8]>::to_vec)))
    })?;
    let was_there = model.remove(pair);
    if let Some(new) = new {
        model.insert(&(pair.0.clone(), new.clone()));
    }
    let expected = was_there.then_some(&pair.1[..]);
    expect_bytes("modify", old.as_deref(), expected)
}

/// Appends a pair to the table, or a value to its key, if it is after the last one.
fn append(
    txn: &mut WriteTxn,
    table: &RawMultiTable,
    model: &mut MultiModel,
    (pair, is_value): (&Pair, bool),
) -> ModelResult {
    let last_value = model.values(&pair.0).next_back();
    let (last, result) = match is_value {
        true => (
            last_value.map(|value| (pair.0.clone(), value)),
            table.append_value(txn, &pair.0, &pair.1),
        ),
        false => (model.prev(None), table.append(txn, &pair.0, &pair.1)),
    };
    if last.is_some_and(|last| !model.sorts_before(&last, pair)) {
        return expect_refused!("appending before the last", result, Error::NotSorted { .. });
    }
    model.insert(pair);
    Ok(result?)
}

/// Compares the result and the effect of a swap.
fn compare_and_swap(
    model: &mut MultiModel,
    key: &ModelKey,
    (old, new): (Option<&ModelKey>, Option<&ModelKey>),
) -> bool {
    let pair = |value: &ModelKey| (key.clone(), value.clone());
    match (old, new) {
        (None, None) => true,
        (None, Some(new)) => model.insert(&pair(new)),
        (Some(old), None) => model.remove(&pair(old)),
        (Some(old), Some(new)) => {
            let is_possible =
                model.contains(&pair(old)) && (old == new || !model.contains(&pair(new)));
            if is_possible {
                model.remove(&pair(old));
                model.insert(&pair(new));
            }
            is_possible
        }
    }
}

fn pairs_of(key: &ModelKey, values: &[ModelKey]) -> Vec<Pair> {
    let pairs = values.iter().map(|value| (key.clone(), value.clone()));
    pairs.collect()
}

fn slices(values: &[ModelKey]) -> Vec<&[u8]> {
    values.iter().map(ModelKey::deref).collect()
}

fn pair_slices(pairs: &[Pair]) -> Vec<(&[u8], &[u8])> {
    pairs
        .iter()
        .map(|(key, value)| (&**key, &**value))
        .collect()
}
