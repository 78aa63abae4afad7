//! All that can be done with states: named ones, and what differs between them.

use super::{judge::Judge, reads};
use teak::{Database, ReadTxn, Result, Transaction, codec::Bytes};

/// Named states that are read.
const STATES_MAX: usize = 2;

/// The names of states, some by chance.
fn some_names(judge: &mut Judge<'_>, database: &Database) -> Vec<Vec<u8>> {
    let snapshots = judge.note("the snapshots", database.snapshots());
    let mut names: Vec<_> = (snapshots.into_iter().flatten())
        .map(|snapshot| snapshot.name)
        .collect();
    judge.rng.shuffle(&mut names);
    names.truncate(STATES_MAX);
    names
}

/// Reads named states, and what differs between them and the newest.
pub(super) fn read(judge: &mut Judge<'_>, database: &Database) {
    let mut last: Option<ReadTxn> = None;
    for name in some_names(judge, database) {
        let Some(state) = judge.note("a named state", database.open_snapshot(&name)) else {
            continue;
        };
        reads::all(judge, &state);
        reads::walk(judge, &state);
        differ(judge, &state, database);
        if let Some(last) = last.replace(state.clone()) {
            between(judge, &last, &state);
        }
    }
}

/// What differs between a state and the newest.
pub(super) fn differ(judge: &mut Judge<'_>, older: &ReadTxn, database: &Database) {
    if let Some(newest) = judge.note("a reader", database.begin_read()) {
        between(judge, older, &newest);
    }
}

/// What differs between two states, one way and the other.
fn between(judge: &mut Judge<'_>, a: &ReadTxn, b: &ReadTxn) {
    for (older, newer) in [(a, b), (b, a)] {
        let tables = judge.note("tables that changed", newer.changed_tables(older));
        for (name, _) in tables.into_iter().flatten().take(4) {
            let result = differences(judge, &name, older, newer);
            judge.note("differences", result);
        }
    }
}

fn differences(judge: &mut Judge<'_>, name: &[u8], older: &ReadTxn, newer: &ReadTxn) -> Result<()> {
    if let Ok(table) = newer.open_table::<Bytes, Bytes>(name) {
        judge.exhaust("differences", table.differences(older, newer)?);
        let from = &[judge.rng.u8(..)][..];
        judge.exhaust("differences", table.differences_in(older, newer, from..)?);
    } else if let Ok(table) = newer.open_multi_table::<Bytes, Bytes>(name) {
        judge.exhaust("differences of pairs", table.differences(older, newer)?);
    }
    Ok(())
}

/// Makes and drops names.
pub(super) fn change(judge: &mut Judge<'_>, database: &Database) {
    judge.note("naming a state", database.create_snapshot("a name"));
    for name in some_names(judge, database) {
        judge.note("dropping a name", database.drop_snapshot(&name));
    }
    let result = database.begin_write().and_then(|mut txn| {
        txn.create_snapshot("another name")?;
        let _ = txn.drop_snapshot("a name");
        let table = txn.create_table::<Bytes, Bytes>("with a name")?;
        table.insert(&mut txn, b"key", b"value")?;
        txn.commit()
    });
    judge.note("naming what is committed", result);
}

/// Goes back to a named state.
pub(super) fn roll_back(judge: &mut Judge<'_>, database: &Database) {
    for name in some_names(judge, database) {
        let result = roll_back_to(judge, database, &name);
        judge.note("rolling back to a named state", result);
    }
}

fn roll_back_to(judge: &mut Judge<'_>, database: &Database, name: &[u8]) -> Result<()> {
    let mut txn = database.begin_write()?;
    txn.roll_back_to_snapshot(name)?;
    reads::all(judge, &txn);
    let table = txn.create_table::<Bytes, Bytes>("since")?;
    table.insert(&mut txn, b"key", b"value")?;
    txn.commit().map(drop)
}
