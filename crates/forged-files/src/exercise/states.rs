//! All operations on states: named ones, and their differences.

use super::{collector::FindingCollector, reads};
use teak::{Database, ReadTxn, Result, Transaction, codec::Raw};

/// Named states that are read.
const STATES_MAX: usize = 2;

/// The names of states, some of them random.
fn some_names(collector: &mut FindingCollector<'_>, database: &Database) -> Vec<Vec<u8>> {
    let snapshots = collector.note("the snapshots", database.snapshots());
    let mut names: Vec<_> = (snapshots.into_iter().flatten())
        .map(|snapshot| snapshot.name)
        .collect();
    collector.rng.shuffle(&mut names);
    names.truncate(STATES_MAX);
    names
}

/// Reads named states, and their differences from the newest one.
pub(super) fn read(collector: &mut FindingCollector<'_>, database: &Database) {
    let mut last: Option<ReadTxn> = None;
    for name in some_names(collector, database) {
        let Some(state) = collector.note("a named state", database.open_snapshot(&name)) else {
            continue;
        };
        reads::all(collector, &state);
        reads::walk(collector, &state);
        differ(collector, &state, database);
        if let Some(last) = last.replace(state.clone()) {
            between(collector, &last, &state);
        }
    }
}

/// The differences between a state and the newest one.
pub(super) fn differ(collector: &mut FindingCollector<'_>, older: &ReadTxn, database: &Database) {
    if let Some(newest) = collector.note("a reader", database.begin_read()) {
        between(collector, older, &newest);
    }
}

/// The differences between two states, in both directions.
fn between(collector: &mut FindingCollector<'_>, a: &ReadTxn, b: &ReadTxn) {
    for (older, newer) in [(a, b), (b, a)] {
        let tables = collector.note("tables that changed", newer.changed_tables(older));
        for (name, _) in tables.into_iter().flatten().take(4) {
            let result = differences(collector, &name, older, newer);
            collector.note("differences", result);
        }
    }
}

fn differences(
    collector: &mut FindingCollector<'_>,
    name: &[u8],
    older: &ReadTxn,
    newer: &ReadTxn,
) -> Result<()> {
    if let Ok(table) = newer.open_table::<Raw, Raw>(name) {
        collector.exhaust("differences", table.differences(older, newer)?);
        let from = &[collector.rng.u8(..)][..];
        collector.exhaust(
            "differences",
            table.range(from..).differences(older, newer)?,
        );
    } else if let Ok(table) = newer.open_multi_table::<Raw, Raw>(name) {
        collector.exhaust("differences of pairs", table.differences(older, newer)?);
    }
    Ok(())
}

/// Creates and drops named states.
pub(super) fn change(collector: &mut FindingCollector<'_>, database: &Database) {
    collector.note("naming a state", database.create_snapshot("a name"));
    for name in some_names(collector, database) {
        collector.note("dropping a name", database.drop_snapshot(&name));
    }
    let result = database.begin_write().and_then(|mut txn| {
        txn.create_snapshot("another name")?;
        let _ = txn.drop_snapshot("a name");
        let table = txn.create_table::<Raw, Raw>("with a name")?;
        table.insert(&mut txn, b"key", b"value")?;
        txn.commit()
    });
    collector.note("naming what is committed", result);
}

/// Rolls back to a named state.
pub(super) fn roll_back(collector: &mut FindingCollector<'_>, database: &Database) {
    for name in some_names(collector, database) {
        let result = roll_back_to(collector, database, &name);
        collector.note("rolling back to a named state", result);
    }
}

fn roll_back_to(
    collector: &mut FindingCollector<'_>,
    database: &Database,
    name: &[u8],
) -> Result<()> {
    let mut txn = database.begin_write()?;
    txn.roll_back_to_snapshot(name)?;
    reads::all(collector, &txn);
    let table = txn.create_table::<Raw, Raw>("since")?;
    table.insert(&mut txn, b"key", b"value")?;
    txn.commit().map(drop)
}
