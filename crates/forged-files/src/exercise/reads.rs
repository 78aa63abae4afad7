//! All reads of tables with one value per key.

use super::{
    collector::FindingCollector,
    cursors, expiring, pairs,
    tables::{Plain, some_tables},
};
use std::{iter, ops::ControlFlow};
use teak::{Database, ReadTxn, Result, TableInfo, Transaction};

/// The number of keys to look up.
const KEYS_MAX: usize = 6;

/// Reads the newest state.
pub(super) fn newest(collector: &mut FindingCollector<'_>, database: &Database) {
    let Some(mut txn) = collector.note("a reader", database.begin_read()) else {
        return;
    };
    all(collector, &txn);
    owned(collector, &txn);
    let _ = (
        txn.lag(),
        txn.read_faults(),
        txn.info(),
        txn.marks(),
        txn.id(),
    );
    let _ = txn.refresh();
    let parked = txn.park();
    if let Some(txn) = parked.ok().and_then(|parked| parked.resume().ok()) {
        collector.note("the tables", txn.tables());
    }
}

/// Reads some tables of a state with all functions that borrow from a transaction.
pub(super) fn all<T: Transaction>(collector: &mut FindingCollector<'_>, txn: &T) {
    expiring::read(collector, txn);
    for info in some_tables(collector, txn) {
        if info.options.is_multi() {
            pairs::read(collector, txn, &info);
        } else {
            let table = collector.note("opening a table", txn.open_table(&info.name));
            if let Some(table) = table {
                let result = table_in(collector, txn, &table, &info);
                collector.note("reading", result);
            }
        }
    }
}

/// Every page of every table.
pub(super) fn walk(collector: &mut FindingCollector<'_>, txn: &ReadTxn) {
    let max = collector.records_max;
    let mut visits = 0;
    let walked = txn.walk_pages(&mut |_| {
        visits += 1;
        match visits > max {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    collector.note("a walk over pages", walked);
    if visits > max {
        collector.find("a walk visits more pages than the file has bytes".to_owned());
    }
}

/// Random keys among those that a scan finds before an error, and one that probably does not exist.
pub(super) fn some_keys<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    table: &Plain,
) -> Vec<Vec<u8>> {
    let records = table.iter(txn).into_iter().flatten().take(500);
    let mut keys: Vec<_> = records.map_while(|r| r.ok().map(|(key, _)| key)).collect();
    collector.rng.shuffle(&mut keys);
    keys.truncate(KEYS_MAX);
    keys.push(b"eight by".to_vec());
    keys
}

fn table_in<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    table: &Plain,
    info: &TableInfo,
) -> Result<()> {
    let there = collector.exhaust("a scan", table.iter(txn)?);
    let back = collector.exhaust("a scan back", table.iter(txn)?.rev());
    collector.agree("a scan and one back differ", &there, &back);
    let mut records = table.iter(txn)?;
    let lent = iter::from_fn(|| records.lend().map(|lent| lent.map(drop)).transpose());
    let lent = collector.exhaust("a lending scan", lent);
    collector.agree("a scan and a lending one differ", &there, &lent);
    collector.agree(
        "a scan and the count differ",
        &(there as u64),
        &info.stat.records,
    );
    let keys = some_keys(collector, txn, table);
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    collector.note("many lookups", table.get_many(txn, &slices));
    collector.note("the first record", table.first(txn));
    collector.note("the last record", table.last(txn));
    let _ = (table.stat(txn), table.len(txn), table.is_empty(txn));
    let _ = table.options(txn);
    for key in &slices {
        collector.note("a lookup", table.get(txn, key));
        collector.note("a lookup of the next", table.get_or_next(txn, key));
        collector.note("a lookup", table.contains_key(txn, key));
        collector.exhaust("a range", table.range(*key..).iter(txn)?.take(40));
        collector.exhaust(
            "a range back",
            table.range(..*key).iter(txn)?.rev().take(40),
        );
        if let Some(prefix) =
            collector.note("a prefix", table.prefix(&key[..key.len() / 2]).iter(txn))
        {
            collector.exhaust("a prefix", prefix.take(40));
        }
        let rank = collector.note("a rank", table.rank(txn, key));
        let count = collector.note("a count", table.range(..*key).count(txn));
        if rank.is_some() {
            collector.agree("a rank and a count differ", &rank, &count);
        }
        let number = rank.unwrap_or_else(|| collector.rng.u64(..));
        collector.note("the n-th record", table.nth(txn, number));
        collector.note("an estimate", table.range(*key..).estimate(txn));
    }
    let (a, b) = (slices[0], slices[slices.len() / 2]);
    collector.note("a count", table.range(a.min(b)..a.max(b)).count(txn));
    let parts = [1, 2, 3, 7, 1000][collector.rng.usize(0..5)];
    let parts = collector.note("a split", table.range(..).split(txn, parts));
    let mut sum = 0;
    for part in parts.iter().flatten() {
        sum += collector.exhaust("a part", part.iter(txn)?);
    }
    collector.agree("a scan and its parts differ", &there, &sum);
    cursors::borrowing(collector, table.cursor(txn)?, &slices, &[])?;
    cursors::free(
        collector,
        txn,
        teak::DetachedCursor::new(table),
        &slices,
        &[],
    );
    Ok(())
}

/// Reads some tables through iterators that own the transaction.
fn owned(collector: &mut FindingCollector<'_>, txn: &ReadTxn) {
    for info in some_tables(collector, txn) {
        let result = match info.options.is_multi() {
            true => pairs::owned(collector, txn, &info),
            false => owned_in(collector, txn, &info),
        };
        collector.note("reading what is owned", result);
    }
}

fn owned_in(collector: &mut FindingCollector<'_>, txn: &ReadTxn, info: &TableInfo) -> Result<()> {
    let table: Plain = txn.open_table(&info.name)?;
    let keys = some_keys(collector, txn, &table);
    collector.exhaust("an owned range", table.range(..).owned(txn)?);
    collector.exhaust("an owned range back", table.range(..).owned(txn)?.rev());
    for part in table.range(..).split(txn, 3)? {
        collector.exhaust("an owned part", part.owned(txn)?);
    }
    for key in &keys {
        collector.note("an owned lookup", table.get_owned(txn, key));
        collector.exhaust(
            "an owned range",
            table.range(&key[..]..).owned(txn)?.take(5),
        );
    }
    Ok(())
}
