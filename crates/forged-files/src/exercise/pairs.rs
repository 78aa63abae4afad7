//! All operations on tables in which a key has several values.

use super::{collector::FindingCollector, cursors};
use std::{
    iter,
    ops::{Bound, ControlFlow},
};
use teak::{
    Action, DetachedCursor, MultiTable, MultiTableDef, ReadTxn, Result, TableInfo, Transaction,
    WriteTxn, codec::Raw,
};

pub(super) type Multi = MultiTable<Raw, Raw>;
type Pair = (Vec<u8>, Vec<u8>);

const PAIRS_MAX: usize = 6;
/// The kinds of changes.
pub(super) const CHANGES: usize = 22;

/// Performs all reads of a table.
pub(super) fn read<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    info: &TableInfo,
) {
    if let Some(table) = collector.note("opening a table", txn.open_multi_table(&info.name)) {
        let result = table_in(collector, txn, &table, info);
        collector.note("reading", result);
    }
}

/// Random pairs among those that a scan finds before an error, and one that probably does not
/// exist.
pub(super) fn some_pairs<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    table: &Multi,
) -> Vec<Pair> {
    let pairs = table.iter(txn).into_iter().flatten().take(1000);
    let mut pairs: Vec<_> = pairs.map_while(Result::ok).collect();
    collector.rng.shuffle(&mut pairs);
    pairs.truncate(PAIRS_MAX);
    pairs.push((b"eight by".to_vec(), b"or other".to_vec()));
    pairs
}

fn table_in<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    table: &Multi,
    info: &TableInfo,
) -> Result<()> {
    let there = collector.exhaust("a scan of pairs", table.iter(txn)?);
    let back = collector.exhaust("a scan of pairs back", table.iter(txn)?.rev());
    collector.agree("a scan and one back differ", &there, &back);
    let mut pairs = table.iter(txn)?;
    let lent = iter::from_fn(|| pairs.lend_back().map(|lent| lent.map(drop)).transpose());
    let lent = collector.exhaust("a lending scan back", lent);
    collector.agree("a scan and a lending one back differ", &there, &lent);
    collector.agree(
        "a scan and the count differ",
        &(there as u64),
        &info.stat.records,
    );
    let (of_keys, last) = count_keys(collector, txn, table)?;
    collector.agree(
        "a scan and the counts of keys differ",
        &(there as u64),
        &of_keys,
    );
    collector.exhaust("the values of a key", table.values(txn, &last)?);
    collector.exhaust("the values of a key back", table.values(txn, &last)?.rev());
    let pairs = some_pairs(collector, txn, table);
    for (key, value) in &pairs {
        exercise_pair(collector, txn, table, (key, value))?;
    }
    let parts = [1, 2, 3, 7, 1000][collector.rng.usize(0..5)];
    let parts = collector.note("a split", table.range(..).split(txn, parts));
    let mut sum = 0;
    for part in parts.iter().flatten() {
        sum += collector.exhaust("a part", part.iter(txn)?);
    }
    collector.agree("a scan and its parts differ", &there, &sum);
    let _ = (table.stat(txn), table.len(txn), table.is_empty(txn));
    let _ = table.options(txn);
    let (keys, values): (Vec<_>, Vec<_>) = (pairs.iter())
        .map(|(key, value)| (&key[..], &value[..]))
        .unzip();
    cursors::borrowing(collector, table.cursor(txn)?, &keys, &values)?;
    cursors::free(collector, txn, DetachedCursor::new(table), &keys, &values);
    Ok(())
}

/// The number of values of all keys, and the last key.
fn count_keys<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    table: &Multi,
) -> Result<(u64, Vec<u8>)> {
    let mut value_count = 0;
    let mut last = Vec::new();
    for key in table.range(..).keys(txn)? {
        let Some((key, _)) = collector.note("a scan of keys", key) else {
            break;
        };
        let count = collector.note("a count of values", table.count(txn, &key));
        value_count = count.unwrap_or(0).saturating_add(value_count);
        // The root of a nested tree has the number of values. Only a scan of the values shows a
        // wrong number.
        if value_count > collector.records_max as u64 {
            break;
        }
        last = key;
    }
    Ok((value_count, last))
}

/// Performs all reads that take a key or a pair.
fn exercise_pair<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    table: &Multi,
    (key, value): (&[u8], &[u8]),
) -> Result<()> {
    collector.note("a pair", table.contains(txn, key, value));
    collector.note("a key", table.contains_key(txn, key));
    collector.note("the first value", table.first_value(txn, key));
    collector.note("the last value", table.last_value(txn, key));
    collector.note("the next pair", table.get_or_next(txn, key, value));
    collector.note("statistics of a key", table.value_stat(txn, key));
    collector.exhaust("values", table.values(txn, key)?.take(300));
    let mut read = 0;
    let max = collector.records_max;
    let packed = table.for_each_packed(txn, key, |values| {
        read += values.len().max(1);
        match read > max {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    if packed.is_ok() && read > max {
        collector.find("packed values have more bytes than the file".to_owned());
    }
    let rank = collector.note("a rank", table.rank(txn, key, value));
    let before = (Bound::Unbounded, Bound::Excluded((key, value)));
    let count = collector.note("a count of pairs", table.range_pairs(before).count(txn));
    if rank.is_some() {
        collector.agree("a rank and a count of pairs differ", &rank, &count);
    }
    let number = rank.unwrap_or_else(|| collector.rng.u64(..));
    collector.note("the n-th pair", table.nth(txn, number));
    collector.note("a count", table.range(..key).count(txn));
    collector.note("an estimate", table.range(key..).estimate(txn));
    collector.note("an estimate", table.range_pairs(before).estimate(txn));
    collector.exhaust("pairs", table.range_pairs(before).iter(txn)?.rev().take(40));
    collector.exhaust("pairs", table.range(key..).iter(txn)?.take(40));
    collector.note("pairs that split", table.range(key..).split(txn, 5));
    collector.note("pairs that split", table.range_pairs(before).split(txn, 5));
    Ok(())
}

/// Reads a table through iterators that own the transaction.
pub(super) fn owned(
    collector: &mut FindingCollector<'_>,
    txn: &ReadTxn,
    info: &TableInfo,
) -> Result<()> {
    let table: Multi = txn.open_multi_table(&info.name)?;
    collector.exhaust("an owned scan of pairs", table.range(..).owned(txn)?);
    collector.exhaust("an owned scan back", table.range(..).owned(txn)?.rev());
    let pairs = some_pairs(collector, txn, &table);
    for (key, value) in &pairs {
        collector.exhaust("owned values", table.range(key..=key).owned(txn)?);
        let before = (Bound::Unbounded, Bound::Excluded((&key[..], &value[..])));
        collector.exhaust(
            "owned pairs",
            table.range_pairs(before).owned(txn)?.rev().take(9),
        );
    }
    Ok(())
}

/// Makes one change to a table.
pub(super) fn change(
    collector: &mut FindingCollector<'_>,
    txn: &mut WriteTxn,
    table: &Multi,
    pairs: &[Pair],
    step: usize,
) -> Result<()> {
    let (key, value) = &pairs[collector.rng.usize(0..pairs.len())];
    let other = &pairs[collector.rng.usize(0..pairs.len())].1;
    let some: Vec<(&[u8], &[u8])> = (pairs.iter())
        .map(|(key, value)| (&key[..], &value[..]))
        .collect();
    let values: Vec<&[u8]> = some.iter().map(|pair| pair.1).collect();
    let from = (Bound::Included((&key[..], &value[..])), Bound::Unbounded);
    match step {
        0 => (pairs.iter()).try_for_each(|(_, value)| table.insert(txn, key, value).map(drop)),
        1 => table.remove_many(txn, &some).map(drop),
        2 => table.insert_many(txn, &some).map(drop),
        3 => table.set_values(txn, key, &[value]).map(drop),
        4 => (pairs.iter()).try_for_each(|(key, value)| table.remove(txn, key, value).map(drop)),
        5 => table.insert_values(txn, key, &values).map(drop),
        6 => table.range_pairs(from).remove(txn).map(drop),
        7 => table.remove_key(txn, key).map(drop),
        8 => table.range(..&key[..]).remove(txn).map(drop),
        9 => table.insert_new_key(txn, key, value).map(drop),
        10 => table.insert_packed(txn, key, &value.repeat(3)).map(drop),
        11 => table.replace(txn, key, value, other).map(drop),
        12 => table.set_values(txn, key, &values).map(drop),
        13 => table.modify(txn, key, value, |_| Ok((Action::remove(), ()))),
        14 => table
            .compare_and_swap(txn, key, Some(value), Some(other))
            .map(drop),
        15 => table.append_value(txn, key, [0xff; 8]).map(drop),
        16 => table.append(txn, [0xff; 8], value).map(drop),
        17 | 18 => {
            let options = table.options(txn)?;
            let target = MultiTableDef::<Raw, Raw>::new("target")
                .options(options)
                .create(txn)?;
            match step {
                17 => table.range(..).copy_to(txn, &target).map(drop),
                _ => table.range(&key[..]..).move_to(txn, &target).map(drop),
            }
        }
        19 => {
            table.clear(txn)?;
            let pairs = (0..900u64).map(|i| ((i / 300).to_be_bytes(), i.to_be_bytes()));
            table.bulk_load(txn, pairs).map(drop)
        }
        20 => {
            let pairs = (0..600u64).map(|i| ((i % 3).to_le_bytes(), i.to_le_bytes()));
            table
                .bulk_load_unsorted(txn, pairs, Default::default(), &mut |_| {})
                .map(drop)
        }
        _ => {
            for i in 0..300_u64 {
                table.insert(
                    txn,
                    key,
                    i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes(),
                )?;
            }
            Ok(())
        }
    }
}
