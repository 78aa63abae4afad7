//! All that can be done with tables in which a key has several values.

use super::sample::{KEY_STEP, RECORDS_MAX};
use crate::{
    Direction, KeyStep, Multi, MultiTable, Range, ReadTxn, Result, SeekOp, SeekTarget, Transaction,
    WriteTxn, codec::Raw,
};
use std::ops::{Bound, ControlFlow};

type RawPairs = MultiTable<Raw, Raw>;
type Pair = (Vec<u8>, Vec<u8>);

/// From one key in so many of those that are read the table is split, which takes as long as
/// hundreds of reads.
const SPLIT_STEP: usize = 7;
/// Changes that are tried.
const STEPS: usize = 9;

/// Reads a table in all ways.
pub(super) fn read<T: Transaction>(txn: &T, name: &[u8]) -> Result<()> {
    let table: RawPairs = txn.open_multi_table(name)?;
    let pairs = some_pairs(txn, &table);
    let backwards = table.iter(txn)?.rev().take(RECORDS_MAX);
    let _ = backwards.take_while(Result::is_ok).count();
    let _ = (table.stat(txn), table.len(txn), table.options(txn));
    let keys = table.range(..).keys(txn)?.take(RECORDS_MAX);
    let _ = keys.take_while(Result::is_ok).count();
    let keys = table.range(..).keys(txn)?.rev().take(RECORDS_MAX);
    let _ = keys.take_while(Result::is_ok).count();
    let (mut cursor, mut last_key) = (table.cursor(txn)?, None);
    for (step, (key, value)) in pairs.iter().step_by(KEY_STEP).enumerate() {
        let _ = (table.count(txn, key), table.contains(txn, key, value));
        let _ = (table.first_value(txn, key), table.last_value(txn, key));
        if last_key != Some(key) {
            read_values(txn, &table, key)?;
        }
        last_key = Some(key);
        count(txn, &table, key, value);
        let from = (Bound::Excluded((&key[..], &value[..])), Bound::Unbounded);
        if step.is_multiple_of(SPLIT_STEP) {
            split(txn, &table.range(..), 3);
            split(txn, &table.range(&key[..]..), 70);
            split(txn, &table.range_pairs(from), 5);
        }
        let _ = table.range_pairs(from).iter(txn)?.rev().take(3).count();
        for target in [SeekTarget::Pair(key, value), SeekTarget::Value(key, value)] {
            let _ = (cursor.seek(SeekOp::GreaterOrEqual, target), cursor.next());
            let _ = (cursor.read_packed(Direction::Forward), cursor.prev());
        }
        let _ = (
            cursor.step(KeyStep::NextValue),
            cursor.step(KeyStep::PrevValue),
            cursor.count(),
        );
        let _ = (
            cursor.step(KeyStep::LastValue),
            cursor.step(KeyStep::NextKey),
            cursor.step(KeyStep::PrevKey),
        );
        let _ = (cursor.key().len(), cursor.value().is_ok());
    }
    Ok(())
}

/// Compares two states, and in them the pairs from the first one to the last one.
pub(super) fn compare(older: &ReadTxn, newer: &ReadTxn, name: &[u8]) -> Result<()> {
    let table: RawPairs = newer.open_multi_table(name)?;
    let pairs = some_pairs(newer, &table);
    let (from, to) = (pairs[0].clone(), pairs[pairs.len().max(2) - 2].clone());
    for range in [table.range(..), table.range_pairs(from..to)] {
        for (older, newer) in [(older, newer), (newer, older)] {
            let differences = range.differences(older, newer)?.take(RECORDS_MAX);
            let _ = differences.take_while(Result::is_ok).count();
        }
    }
    Ok(())
}

/// Splits a range, and reads some records and keys of each part.
fn split<T: Transaction>(txn: &T, range: &Range<'_, Raw, Raw, Multi>, parts: usize) {
    for part in range.split(txn, parts).into_iter().flatten() {
        let records = part.iter(txn).into_iter().flatten().take(3);
        let _ = records.take_while(Result::is_ok).count();
        let keys = part.keys(txn).into_iter().flatten().take(3);
        let _ = keys.take_while(Result::is_ok).count();
    }
}

fn count<T: Transaction>(txn: &T, table: &RawPairs, key: &[u8], value: &[u8]) {
    let number = table.rank(txn, key, value).unwrap_or(7);
    let _ = (table.nth(txn, number), table.range(..key).count(txn));
    let from = (Bound::Excluded((key, value)), Bound::Unbounded);
    let pairs = table.range_pairs(from);
    let _ = (pairs.count(txn), pairs.estimate(txn));
    let _ = table.range(key..).estimate(txn);
}

fn read_values<T: Transaction>(txn: &T, table: &RawPairs, key: &[u8]) -> Result<()> {
    let values = table.values(txn, key)?.rev().take(RECORDS_MAX);
    let _ = values.take_while(Result::is_ok).count();
    let mut read = 0;
    let _ = table.for_each_packed(txn, key, |values| {
        read += values.len();
        match read < RECORDS_MAX {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    Ok(())
}

/// The pairs that a scan finds before an error, and one that will not be there.
fn some_pairs<T: Transaction>(txn: &T, table: &RawPairs) -> Vec<Pair> {
    let pairs = table.iter(txn).into_iter().flatten().take(RECORDS_MAX);
    let mut pairs: Vec<_> = pairs.map_while(Result::ok).collect();
    pairs.push((b"eight by".to_vec(), b"or other".to_vec()));
    pairs
}

/// Changes a table in all ways.
pub(super) fn change(txn: &mut WriteTxn, name: &[u8]) -> Result<()> {
    let table: RawPairs = txn.open_multi_table(name)?;
    let pairs = some_pairs(txn, &table);
    for step in 0..STEPS {
        let savepoint = txn.savepoint()?;
        if change_table(txn, &table, &pairs, step).is_err() {
            txn.rollback_to(&savepoint)?;
        }
        txn.release(savepoint)?;
    }
    let _ = read(txn, name);
    Ok(())
}

fn change_table(txn: &mut WriteTxn, table: &RawPairs, pairs: &[Pair], step: usize) -> Result<()> {
    let (key, value) = &pairs[pairs.len() / 2];
    let some: Vec<(&[u8], &[u8])> = (pairs.iter().step_by(2))
        .map(|(key, value)| (&key[..], &value[..]))
        .collect();
    match step {
        0 => pairs
            .iter()
            .rev()
            .try_for_each(|(_, value)| table.insert(txn, key, value).map(drop)),
        1 => table.remove_many(txn, &some).map(drop),
        2 => table.insert_many(txn, &some).map(drop),
        3 => pairs
            .iter()
            .step_by(5)
            .try_for_each(|(key, value)| table.set_values(txn, key, &[value]).map(drop)),
        4 => (1..pairs.len()).step_by(3).try_for_each(|index| {
            table
                .remove(txn, &pairs[index].0, &pairs[index].1)
                .map(drop)
        }),
        5 => {
            let values: Vec<_> = some.iter().map(|pair| pair.1).collect();
            table.insert_values(txn, key, &values).map(drop)
        }
        6 => {
            let from = (Bound::Included((&key[..], &value[..])), Bound::Unbounded);
            table.range_pairs(from).remove(txn).map(drop)
        }
        7 => table.remove_key(txn, &pairs[0].0).map(drop),
        _ => {
            table.clear(txn)?;
            let pairs = (0..900u64).map(|i| ((i / 300).to_be_bytes(), i.to_be_bytes()));
            table.bulk_load(txn, pairs).map(drop)
        }
    }
}
