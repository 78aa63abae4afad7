//! Steps of an episode that prepare a transaction, and decide about it.
//!
//! While a transaction is prepared no other one begins, so every step that writes decides first.

use super::{
    context::EpisodeContext,
    history::{CrashHistory, HistoryTables, PREPARED},
};
use crate::{Context, Result};
use fastrand::Rng;
use std::time::Duration;
use teak::{
    Database, Durability, Error, Transaction, TransactionId, WriteOptions, testing::SimDisk,
};

impl EpisodeContext {
    /// Prepares a transaction that changes records, and perhaps rolls back to a named snapshot.
    pub(super) fn prepare(&mut self) -> Result {
        self.commit_open()?;
        let before = self.history().newest_tables();
        // Also a transaction that changes nothing.
        match self.rng.u8(0..8) {
            0 => self.change(|_| Ok(()))?,
            1 => self.change(|change| change.drop_table())?,
            _ => {
                if self.rng.u8(0..4) == 0 {
                    self.change(|change| change.roll_back_to_snapshot())?;
                }
                self.change(|change| change.put(6))?;
                self.change(|change| change.remove(10))?;
            }
        }
        let Some((mut txn, tables)) = self.take_open() else {
            return Ok(());
        };
        // A decision before the change has made another state.
        let before = match before.prepared {
            Some(_) => self.history().newest_tables(),
            None => before,
        };
        txn.set_durability(Durability::Lazy);
        let (id, begun) = (txn.id().next(), self.time());
        let index = self
            .history()
            .begin(id, before.with_prepared(tables), begun);
        match txn.prepare(PREPARED) {
            Ok(_) => {
                self.note_returned(index, true);
                self.expect_newest("after a transaction was prepared")
            }
            Err(error) => self.inspect_after_failure("preparing", &error, index),
        }
    }

    /// Decides about the prepared transaction, if there is one.
    pub(super) fn decide(&mut self) -> Result {
        let tables = self.history().newest_tables();
        if tables.prepared.is_none() {
            return Ok(());
        }
        let (id, begun) = (self.read()?.id().next(), self.time());
        let is_commit = self.rng.bool();
        let index = self.history().begin(id, tables.decided(is_commit), begun);
        match decide(&self.database, is_commit) {
            Ok(_) => {
                self.note_returned(index, true);
                self.expect_newest("after a decision")
            }
            Err(error) => self.inspect_after_failure("deciding", &error, index),
        }
    }

    /// Like the inspection of a failed commit, if another transaction may be prepared.
    fn inspect_after_failure(&mut self, step: &str, error: &Error, index: usize) -> Result {
        self.tolerate(step, error)?;
        self.expect_newest(step)?;
        let at_once = WriteOptions::new().timeout(Duration::ZERO);
        match self.database.begin_write_with(at_once) {
            Ok(_) | Err(Error::TransactionPrepared { .. }) => {
                let state = &mut self.history().states[index];
                state.gone = state.begun;
                Ok(())
            }
            Err(error) => self.fail(step, &error),
        }
    }
}

fn decide(database: &Database, is_commit: bool) -> teak::Result<TransactionId> {
    match is_commit {
        true => database.commit_prepared(PREPARED),
        false => database.rollback_prepared(PREPARED),
    }
}

/// Decides about a transaction that was found prepared after a crash.
pub(super) fn decide_after_crash(
    database: &Database,
    disk: &SimDisk,
    history: &mut CrashHistory,
    rng: &mut Rng,
) -> Result {
    let tables = history.newest_tables();
    if tables.prepared.is_none() {
        return Ok(());
    }
    let failed = "deciding after recovery";
    let at_once = WriteOptions::new().timeout(Duration::ZERO);
    let refused = database.begin_write_with(at_once);
    ensure!(
        matches!(refused, Err(Error::TransactionPrepared { .. })),
        "a transaction begins while another one is prepared"
    );
    let id = database.begin_read().context(failed)?.id().next();
    let is_commit = rng.bool();
    let index = history.begin(id, tables.decided(is_commit), disk.event_count());
    decide(database, is_commit).context(failed)?;
    history.note_durable(index, disk.event_count());
    if let Some((_, over)) = &mut history.rolled_back {
        *over = disk.event_count().min(*over);
    }
    Ok(())
}

impl HistoryTables {
    /// These tables with a transaction that is prepared and has those.
    fn with_prepared(mut self, tables: Self) -> Self {
        self.prepared = Some(tables.committed().without_named().into());
        self
    }

    /// The tables after a decision.
    fn decided(mut self, is_commit: bool) -> Self {
        if let Some(prepared) = self.prepared.take()
            && is_commit
        {
            self.take_tables_of(&prepared);
        }
        self
    }
}
