//! Comparisons of a state with its model.

use super::{
    operation::NAMES,
    oracle::{ExpiringLimits, ExpiringOracle},
    state::{ExpiringState, LASTING, RawExpiringTable},
};
use crate::{
    campaign::{database::expect_records, ms_of, time_of},
    model::violation::{ModelResult, expect_same},
};
use fastrand::Rng;
use std::time::Duration;
use teak::{Transaction, codec::Raw};

/// Keys that are looked up in each comparison.
const LOOKUPS: usize = 12;

/// Fails unless the transaction and the model hold the same tables and records.
pub(super) fn compare(rng: &mut Rng, txn: &impl Transaction, state: &ExpiringState) -> ModelResult {
    let found: Vec<Vec<u8>> = txn.tables()?.into_iter().map(|info| info.name).collect();
    let names = state.tables.keys().map(|table| NAMES[*table]);
    let mut expected: Vec<_> = names
        .chain([LASTING])
        .map(|it| it.as_bytes().to_vec())
        .collect();
    expected.sort();
    expect_same("tables", found, expected)?;
    for (table, model) in &state.tables {
        let table = txn.open_expiring_table::<Raw, Raw>(NAMES[*table])?;
        compare_table(rng, txn, &table, model)?;
    }
    Ok(expect_records(txn, LASTING, state.lasting.iter())?)
}

fn compare_table(
    rng: &mut Rng,
    txn: &impl Transaction,
    table: &RawExpiringTable,
    model: &ExpiringOracle,
) -> ModelResult {
    let now_ms = ms_of(table.now(txn)?);
    let expected = model.live(now_ms);
    let count = expected.len() as u64;
    expect_same("counted records", table.stat(txn)?.records, count)?;
    expect_same("length", table.len(txn)?, count)?;
    let options = table.options(txn)?;
    let limits = ExpiringLimits {
        ttl_ms: options
            .ttl
            .as_ref()
            .map(Duration::as_millis)
            .map(|ms| ms as u64),
        max_records: options.max_records,
        max_bytes: options.max_bytes,
    };
    expect_same("limits", limits, model.limits)?;
    let mut found = table.iter(txn)?;
    for (key, record) in &expected {
        let pair = found.next().transpose()?;
        let expected = Some((key.to_vec(), &record.value[..]));
        expect_same("the next record", pair, expected)?;
    }
    expect_same("after the last record", found.next().transpose()?, None)?;
    let backwards = table.iter(txn)?.rev().map(|record| Ok(record?.0));
    let backwards: Vec<Vec<u8>> = backwards.collect::<teak::Result<_>>()?;
    let reversed: Vec<Vec<u8>> = expected.keys().rev().map(|key| key.to_vec()).collect();
    expect_same("backwards", backwards, reversed)?;
    let first = table.first(txn)?.map(|(key, _)| key);
    expect_same("first", first.as_deref(), expected.keys().next().copied())?;
    let last = table.last(txn)?.map(|(key, _)| key);
    expect_same(
        "last",
        last.as_deref(),
        expected.keys().next_back().copied(),
    )?;
    compare_parts(rng, txn, table, (model, now_ms))
}

/// Compares ranges and single records.
fn compare_parts(
    rng: &mut Rng,
    txn: &impl Transaction,
    table: &RawExpiringTable,
    (model, now_ms): (&ExpiringOracle, u64),
) -> ModelResult {
    let expected = model.live(now_ms);
    let key = |rng: &mut Rng| match expected.keys().nth(rng.usize(..expected.len() + 1)) {
        Some(key) => key.to_vec(),
        None => rng.u16(..2000).to_be_bytes().repeat(2),
    };
    let (low, high) = (key(rng), key(rng));
    let range = table.range(txn, &low[..]..&high[..])?;
    let found: Vec<Vec<u8>> = range
        .map(|record| Ok(record?.0))
        .collect::<teak::Result<_>>()?;
    let in_range = |key: &&&[u8]| low[..] <= ***key && ***key < high[..];
    let wanted: Vec<Vec<u8>> = (expected.keys().filter(in_range))
        .map(|key| key.to_vec())
        .collect();
    expect_same("range", found, wanted)?;
    let keys: Vec<Vec<u8>> = (0..LOOKUPS).map(|_| key(rng)).collect();
    for (key, value) in keys.iter().zip(table.get_many(txn, &keys)?) {
        let record = model.live_record(key, now_ms);
        let wanted = record.map(|record| &record.value[..]);
        expect_same("one of several lookups", value, wanted)?;
        expect_same("lookup", table.get(txn, key)?, wanted)?;
        expect_same("contains", table.contains_key(txn, key)?, record.is_some())?;
        let found = table.get_with_expiry(txn, key)?;
        let wanted = record.map(|record| (&record.value[..], record.expires_ms.map(time_of)));
        expect_same("with expiry", found, wanted)?;
    }
    Ok(())
}
