//! The states that a workload has committed, and those among them that a crash may leave.
//!
//! Times are counts of events of the simulated disk. An event before time *t* happened before a
//! crash after the first *t* events.

use super::expiring::{EXPIRING, compare_expiring};
use crate::{Context, Result, campaign::database::expect_records};
use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
    sync::Arc,
};
use teak::{Database, Recovery, TableTypes, Transaction, TransactionId, codec::Raw};

/// The name of the prepared transaction.
pub(super) const PREPARED: &str = "prepared";

/// A table in which a key has several values. In the model a pair is one key without a value.
pub(super) const MULTI: &str = "delta";
/// The length of the key in such a pair.
pub(super) const MULTI_KEY_LEN: usize = 4;

/// The records of a table.
pub(super) type TableRecords = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// Tables by name, and the named snapshots. Cheap to clone, because each state has its own copy.
#[derive(Clone, Default, Debug)]
pub(super) struct HistoryTables {
    tables: BTreeMap<&'static str, Arc<TableRecords>>,
    /// The recorded types of tables that have any.
    pub(super) types: BTreeMap<&'static str, TableTypes>,
    pub(super) named: BTreeMap<&'static str, Arc<HistoryTables>>,
    /// Those of the prepared transaction.
    pub(super) prepared: Option<Arc<HistoryTables>>,
    /// The names that the open transaction gives to its state.
    names: Vec<&'static str>,
}

impl HistoryTables {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Names the state that the open transaction commits.
    pub(super) fn name(&mut self, name: &'static str) {
        self.names.push(name);
    }

    /// Whether a snapshot of this name exists, or will exist after the commit.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.named.contains_key(name) || self.names.contains(&name)
    }

    /// The tables and names after the transaction has committed.
    pub(super) fn committed(mut self) -> Self {
        for name in std::mem::take(&mut self.names) {
            let state = self.without_named();
            self.named.insert(name, Arc::new(state));
        }
        self
    }

    /// The tables of a named snapshot.
    pub(super) fn roll_back_to_snapshot(&mut self, name: &str) {
        let state = Arc::clone(&self.named[name]);
        self.take_tables_of(&state);
    }

    /// Replaces the tables by those of another state.
    pub(super) fn take_tables_of(&mut self, state: &Self) {
        (self.tables, self.types) = (state.tables.clone(), state.types.clone());
    }

    /// Only the tables.
    pub(super) fn without_named(&self) -> Self {
        Self {
            tables: self.tables.clone(),
            types: self.types.clone(),
            ..Self::default()
        }
    }
}

impl Deref for HistoryTables {
    type Target = BTreeMap<&'static str, Arc<TableRecords>>;

    fn deref(&self) -> &Self::Target {
        &self.tables
    }
}

impl DerefMut for HistoryTables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.tables
    }
}

/// The time of events that never happen.
pub(super) const NEVER: usize = usize::MAX;

/// How a crash happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CrashKind {
    /// A power cut: only the contents of the disk remain.
    Power,
    /// The process was killed: everything that was written remains.
    Kill,
}

/// A state that was committed, or whose commit was attempted.
#[derive(Clone, Debug)]
pub(super) struct HistoryState {
    pub(super) id: TransactionId,
    pub(super) tables: HistoryTables,
    /// The time at which its commit began.
    pub(super) begun: usize,
    /// The time at which its commit returned.
    pub(super) returned: usize,
    /// The time at which it was acknowledged as durable.
    pub(super) durable: usize,
    /// The time from which a failed commit is known to be undone.
    pub(super) gone: usize,
}

/// All states, oldest first. Each one was made from an earlier one.
#[derive(Clone, Debug)]
pub(super) struct CrashHistory {
    pub(super) states: Vec<HistoryState>,
    /// The time at which a close began, and the state that was closed.
    pub(super) closes: Vec<(usize, usize)>,
    /// Whether the history begins after a power cut, in another boot than that of the first state.
    pub(super) is_after_power_cut: bool,
    /// The newest commit that the first recovery rolled back, and the end of that recovery. Until
    /// then, its record and those before it may still exist.
    pub(super) rolled_back: Option<(TransactionId, usize)>,
    /// A commit in progress that becomes visible on its write.
    pub(super) seen_early: Option<usize>,
}

impl CrashHistory {
    /// Begins with a durable state.
    pub(super) fn new(id: TransactionId, tables: HistoryTables, time: usize) -> Self {
        let state = HistoryState {
            id,
            tables,
            begun: time,
            returned: time,
            durable: time,
            gone: NEVER,
        };
        Self {
            states: vec![state],
            closes: Vec::new(),
            is_after_power_cut: false,
            rolled_back: None,
            seen_early: None,
        }
    }

    /// Records that a commit begins. Returns its index.
    pub(super) fn begin(&mut self, id: TransactionId, tables: HistoryTables, time: usize) -> usize {
        self.states.push(HistoryState {
            id,
            tables,
            begun: time,
            returned: NEVER,
            durable: NEVER,
            gone: NEVER,
        });
        self.states.len() - 1
    }

    /// The newest state whose commit returned, which readers see.
    pub(super) fn newest(&self) -> usize {
        let is_there = |state: &HistoryState| state.returned != NEVER && state.gone == NEVER;
        self.states.iter().rposition(is_there).unwrap_or(0)
    }

    /// The tables of that state.
    pub(super) fn newest_tables(&self) -> HistoryTables {
        self.states[self.newest()].tables.clone()
    }

    /// The state that a reader sees while a flush runs.
    pub(super) fn seen(&self) -> usize {
        self.seen_early.unwrap_or_else(|| self.newest())
    }

    /// Records that a state and all before it are durable.
    pub(super) fn note_durable(&mut self, index: usize, time: usize) {
        let state = &mut self.states[index];
        state.returned = state.returned.min(time);
        state.durable = state.durable.min(time);
    }

    /// Records that the database was opened after a kill and is in this state.
    pub(super) fn note_opened(&mut self, index: usize, time: usize) {
        self.note_durable(index, time);
        for lost in &mut self.states[index + 1..] {
            lost.gone = lost.gone.min(time);
        }
    }

    /// The states that a crash at this time may leave, newest first.
    pub(super) fn possible(&self, time: usize, cut: CrashKind) -> impl Iterator<Item = usize> {
        let is_kept = |state: &HistoryState| match cut {
            CrashKind::Power => state.durable <= time,
            CrashKind::Kill => state.returned <= time,
        };
        let least = self.states.iter().rposition(is_kept).unwrap_or(0);
        (least..self.states.len()).rev().filter(move |&index| {
            self.states[index].begun <= time && self.states[index].gone > time
        })
    }

    /// The history after a crash: the database was reopened at time `opened`, was in the state
    /// `index`, and reported this recovery.
    pub(super) fn after_crash(
        &self,
        (time, cut): (usize, CrashKind),
        index: usize,
        opened: usize,
        recovery: &Recovery,
    ) -> Self {
        let mut history = match cut {
            CrashKind::Power => {
                let state = &self.states[index];
                let mut history = Self::new(state.id, state.tables.clone(), 0);
                history.is_after_power_cut = true;
                if self.was_closed(time, index) {
                    history.closes.push((0, 0));
                }
                history
            }
            CrashKind::Kill => {
                let mut history = self.until(time);
                history.note_opened(index, opened);
                // Only a flush rules out that a rolled-back commit reappears. Opening after a close
                // needs none.
                if let Some((_, over)) = &mut history.rolled_back
                    && *over > time
                {
                    *over = match recovery {
                        Recovery::Clean => NEVER,
                        _ => opened,
                    };
                }
                history
            }
        };
        if let Recovery::RolledBack { from, .. } = recovery {
            // A newer record may have been erased in the cache only.
            let newer = self.rolled_back.filter(|(_, over)| *over > time);
            let from = newer.map_or(*from, |(newer, _)| newer.max(*from));
            history.rolled_back = Some((from, opened));
        }
        history
    }

    /// The history without later states.
    fn until(&self, time: usize) -> Self {
        let mut history = self.clone();
        history.states.retain(|state| state.begun <= time);
        for state in &mut history.states {
            for instant in [&mut state.returned, &mut state.durable, &mut state.gone] {
                if *instant > time {
                    *instant = NEVER;
                }
            }
        }
        history.closes.retain(|(begun, _)| *begun <= time);
        history
    }

    /// Whether a commit that was rolled back may still have its record.
    pub(super) fn may_come_back(&self, time: usize, id: TransactionId) -> bool {
        self.rolled_back
            .is_some_and(|(from, over)| self.states[0].id < id && id <= from && time < over)
    }

    /// Whether the record of a commit may exist.
    pub(super) fn was_begun(&self, time: usize, id: TransactionId) -> bool {
        let mut states = self.states.iter();
        states.any(|state| state.id == id && state.begun <= time) || self.may_come_back(time, id)
    }

    /// Whether a close had begun by then, with the database in this state.
    pub(super) fn was_closed(&self, time: usize, index: usize) -> bool {
        self.closes
            .iter()
            .any(|&(begun, closed)| begun <= time && closed == index)
    }
}

/// Fails unless `txn` sees exactly these tables and records, and these are the named snapshots.
pub(super) fn compare_all(
    database: &Database,
    txn: &impl Transaction,
    tables: &HistoryTables,
) -> Result {
    compare(txn, tables)?;
    compare_named(database, tables).context("snapshots")?;
    compare_prepared(database, tables).context("the prepared transaction")
}

/// Fails with a description unless exactly this transaction is prepared, if any.
fn compare_prepared(database: &Database, tables: &HistoryTables) -> Result {
    let found = database.prepared()?;
    let count = usize::from(tables.prepared.is_some());
    ensure!(found.len() == count, "{found:?} instead of {count}");
    match &tables.prepared {
        Some(prepared) => compare(&database.open_prepared(PREPARED)?, prepared),
        None => Ok(()),
    }
}

/// Fails with a description unless these are exactly the named snapshots.
fn compare_named(database: &Database, tables: &HistoryTables) -> Result {
    let found = database.snapshots()?;
    let names = found.iter().map(|snapshot| snapshot.name.as_slice());
    if !names.eq(tables.named.keys().map(|name| name.as_bytes())) {
        let expected: Vec<_> = tables.named.keys().collect();
        bail!("the snapshots are {found:?}, not {expected:?}");
    }
    for (name, tables) in &tables.named {
        let state = database.open_snapshot(name)?;
        compare(&state, tables).context(format_args!("snapshot {name}"))?;
    }
    Ok(())
}

/// Fails with a description unless `txn` sees exactly these tables and records.
pub(super) fn compare(txn: &impl Transaction, tables: &HistoryTables) -> Result {
    let found = txn.tables().context("tables")?;
    let names = found.iter().map(|table| table.name.as_slice());
    if !names.eq(tables.keys().map(|name| name.as_bytes())) {
        let names: Vec<_> = found
            .iter()
            .map(|table| table.name.escape_ascii().to_string())
            .collect();
        let expected: Vec<_> = tables.keys().collect();
        bail!("the tables are {names:?}, not {expected:?}");
    }
    for ((name, _), table) in tables.iter().zip(found) {
        let expected = tables.types.get(name).cloned().unwrap_or_default();
        let found = table.types;
        ensure!(
            found == expected,
            "the types of {name} are {found}, not {expected}"
        );
    }
    tables.iter().try_for_each(|(name, records)| match *name {
        MULTI => compare_pairs(txn, name, records),
        EXPIRING => compare_expiring(txn, name, records),
        _ => expect_records(txn, name, records.iter()),
    })
}

fn compare_pairs(txn: &impl Transaction, name: &str, records: &TableRecords) -> Result {
    let failed = format_args!("reading table {name}");
    let table = txn.open_multi_table::<Raw, Raw>(name).context(failed)?;
    let count = table.len(txn).context(failed)?;
    let mut pairs = table.iter(txn).context(failed)?;
    for expected in records.keys() {
        let pair = pairs.next().transpose().context(failed)?;
        let pair = pair.map(|(key, value)| [key, value].concat());
        if pair.as_ref() != Some(expected) {
            let (found, expected) = (
                pair.map(|pair| pair.escape_ascii().to_string()),
                expected.escape_ascii(),
            );
            bail!("table {name}: pair {found:?} where \"{expected}\" should be");
        }
    }
    if count != records.len() as u64 || pairs.next().is_some() {
        let expected = records.len();
        bail!("table {name} has {count} pairs or more, not {expected}");
    }
    Ok(())
}
