//! Counts, estimates and divisions of the engine, compared with the model.

use super::{
    key_range::{KeyRange, borrowed},
    multi::{
        RawMultiTable,
        oracle::{MultiModel, Pair, PairRange, borrowed_pairs},
    },
    oracle::TableModel,
    reading::RawTable,
    shape::{ModelKey, ModelValue},
    violation::{ModelResult, expect_refused, expect_same},
};
use std::{fmt::Debug, ops::Bound};
use teak::{Error, Estimate, Transaction};

/// The counts that are compared in a table.
#[derive(Clone, Debug)]
pub(crate) struct TableCounting<P, R> {
    /// The rank of this record.
    pub(crate) of: P,
    /// The record at this rank.
    pub(crate) number: u64,
    pub(crate) range: R,
    /// Keys, which can be estimated and divided.
    pub(crate) keys: KeyRange,
    pub(crate) parts: usize,
}

pub(crate) type KeyCounting = TableCounting<ModelKey, KeyRange>;
pub(crate) type PairCounting = TableCounting<Pair, PairRange>;

/// Counts in a table with one value for each key.
pub(crate) fn perform<T: Transaction>(
    txn: &T,
    table: &RawTable,
    model: &TableModel,
    description: &KeyCounting,
) -> ModelResult {
    let rank = table.rank(txn, &description.of);
    let nth = table.nth(txn, description.number);
    expect_position(model.kind.counted, rank, nth, || {
        let before = (Bound::Unbounded, Bound::Excluded(description.of.clone()));
        let all = (Bound::Unbounded, Bound::Unbounded);
        let nth = model.range(&all).nth(description.number as usize);
        let nth = nth.map(|(key, value)| (key.to_vec(), value.bytes()));
        (model.range(&before).count(), nth)
    })?;
    let records: Vec<_> = model.range(&description.keys).collect();
    let range = borrowed(&description.keys);
    let count = table.range(range).count(txn)?;
    expect_same("count_range", count, records.len() as u64)?;
    expect_close(table.range(range).estimate(txn)?, count)?;
    let owned = |(key, value): &(ModelKey, ModelValue)| (key.to_vec(), value.bytes().to_vec());
    let expected: Vec<_> = records.iter().map(owned).collect();
    let mut parts = Vec::new();
    for part in table.range(range).split(txn, description.parts)? {
        let records = part.iter(txn)?;
        let records = records.map(|record| record.map(|(key, value)| (key, value.to_vec())));
        let records = records.collect::<teak::Result<Vec<_>>>()?;
        if !parts.is_empty() {
            let first = records.first().map(|(key, _)| (&key[..], None));
            expect_same(
                "the start of a part",
                Some(part.low()),
                first.map(Bound::Included),
            )?;
        }
        parts.push(records);
    }
    expect_parts(parts, expected, description.parts, model.kind.counted)
}

/// Counts in a table in which a key has several values.
pub(crate) fn perform_multi<T: Transaction>(
    txn: &T,
    table: &RawMultiTable,
    model: &MultiModel,
    description: &PairCounting,
) -> ModelResult {
    let rank = table.rank(txn, &description.of.0, &description.of.1);
    let nth = table.nth(txn, description.number);
    let owned = |(key, value): Pair| (key.to_vec(), value.to_vec());
    expect_position(model.kind.counted, rank, nth, || {
        let before = (Bound::Unbounded, Bound::Excluded(description.of.clone()));
        let all = (Bound::Unbounded, Bound::Unbounded);
        let nth = model.range(&all).nth(description.number as usize);
        (model.range_pairs(&before).len(), nth.map(owned))
    })?;
    let count = table
        .range_pairs(borrowed_pairs(&description.range))
        .count(txn)?;
    let expected = model.range_pairs(&description.range).len() as u64;
    expect_same("count_range_pairs", count, expected)?;
    expect_close(
        table
            .range_pairs(borrowed_pairs(&description.range))
            .estimate(txn)?,
        count,
    )?;
    let expected: Vec<_> = model.range(&description.keys).map(owned).collect();
    let range = borrowed(&description.keys);
    let count = table.range(range).count(txn)?;
    expect_same("count_range", count, expected.len() as u64)?;
    expect_close(table.range(range).estimate(txn)?, count)?;
    let mut parts: Vec<Vec<_>> = Vec::new();
    for part in table.range(range).split(txn, description.parts)? {
        let pairs = part.iter(txn)?.collect::<teak::Result<Vec<_>>>()?;
        if let Some((last_key, _)) = parts.last().and_then(|pairs| pairs.last()) {
            // A part that begins with a key begins with all its values.
            let first = pairs
                .first()
                .map(|(key, value)| (&key[..], (key == last_key).then_some(&value[..])));
            expect_same(
                "the start of a part",
                Some(part.low()),
                first.map(Bound::Included),
            )?;
        }
        parts.push(pairs);
    }
    expect_parts(parts, expected, description.parts, model.kind.counted)
}

/// Compares a rank and the record at a number, which only tables that count records have.
fn expect_position<R: PartialEq + Debug>(
    is_counted: bool,
    rank: teak::Result<u64>,
    nth: teak::Result<Option<R>>,
    expected: impl FnOnce() -> (usize, Option<R>),
) -> ModelResult {
    if !is_counted {
        expect_refused!("rank", rank, Error::InvalidArgument(_))?;
        return expect_refused!("nth", nth, Error::InvalidArgument(_));
    }
    let (expected_rank, expected_nth) = expected();
    expect_same("rank", rank?, expected_rank as u64)?;
    expect_same("nth", nth?, expected_nth)
}

/// Fails unless the true count is within the bounds of the estimate.
fn expect_close(estimate: Estimate, count: u64) -> ModelResult {
    let Estimate {
        records,
        at_least,
        at_most,
        ..
    } = estimate;
    let is_right = (at_least..=at_most).contains(&count)
        && (at_least..=at_most).contains(&records)
        && (!estimate.is_exact() || records == count);
    ensure!(
        is_right,
        "there are {count}, and the estimate is {estimate:?}"
    );
    Ok(())
}

/// Fails unless the parts cover everything, none is empty unless all are, and their sizes are even
/// if the table counts records.
fn expect_parts<T: PartialEq + Debug>(
    parts: Vec<Vec<T>>,
    expected: Vec<T>,
    wanted: usize,
    is_even: bool,
) -> ModelResult {
    let lens: Vec<_> = parts.iter().map(Vec::len).collect();
    let (least, most) = (lens.iter().min().copied(), lens.iter().max().copied());
    let is_uneven = is_even && most.unwrap_or(0) - least.unwrap_or(0) > 1;
    if lens.len() > wanted || is_uneven || (lens.len() > 1 && least == Some(0)) {
        bail!("{wanted} parts: {lens:?}");
    }
    expect_same("the parts", parts.into_iter().flatten().collect(), expected)
}
