//! How transactions of a script end: by a commit, or by being prepared and decided.

use super::{
    episode::FaultEpisode,
    model::{FaultTables, PREPARED},
    outcome::{CallOutcome, POISONING, Refusal},
    script::{ScriptEnd, ScriptTransaction},
};
use crate::Result;
use teak::{Database, Durability, Error, WriteTxn, testing::Call};

impl FaultEpisode<'_> {
    /// Commits the transaction, which leads to the state `next`.
    pub(super) fn commit(
        &mut self,
        txn: WriteTxn,
        next: FaultTables,
        durability: Durability,
    ) -> Result {
        let flushes = self.flush_count();
        let is_durable = durability == Durability::Durable;
        match self.classify_commit(txn.commit())? {
            CallOutcome::Done(_) => {
                let has_flushed = self.flush_count() > flushes;
                if is_durable && !has_flushed && next != self.possible_states.acknowledged {
                    bail!("a durable commit made no flush");
                }
                // A commit without changes writes nothing.
                if has_flushed || next != self.possible_states.acknowledged {
                    self.possible_states.acknowledge(next, is_durable);
                }
            }
            CallOutcome::Refused(Refusal::Disk(operation, failures))
                if POISONING.contains(&operation) =>
            {
                self.possible_states.failed = Some(next);
                let erasing = [Call::Write, Call::LogWrite];
                self.possible_states.is_erased =
                    !failures.iter().any(|call| erasing.contains(call));
            }
            CallOutcome::Refused(_) => {}
        }
        Ok(())
    }

    /// How many flushes have succeeded.
    fn flush_count(&self) -> usize {
        let flushing = [
            Call::Flush,
            Call::WriteThrough,
            Call::LogFlush,
            Call::LogWriteDirect,
        ];
        let count = |calls: &[Call]| calls.iter().filter(|call| flushing.contains(call)).count();
        count(&self.disk.call_kinds()) - count(&self.disk.failed_calls(0))
    }

    /// A transaction that an error has broken can only be rolled back.
    pub(super) fn end_broken(&mut self, txn: WriteTxn, work: &ScriptTransaction) -> Result {
        if work.end == ScriptEnd::Abort {
            return Ok(());
        }
        match txn.commit() {
            Err(Error::TransactionBroken) => Ok(()),
            Err(Error::Poisoned { .. }) if self.has_failed_merge => Ok(()),
            Err(error) => Err(failure!("committing a broken transaction: {error}")),
            Ok(_) => Err(failure!("a broken transaction was committed")),
        }
    }

    /// Prepares the transaction, and decides about it.
    pub(super) fn prepare(
        &mut self,
        database: &Database,
        txn: WriteTxn,
        next: FaultTables,
        end: ScriptEnd,
    ) -> Result {
        let acknowledged = self.possible_states.acknowledged.clone();
        let prepared = txn.prepare(PREPARED);
        if !self.is_done(prepared, acknowledged)? {
            return Ok(());
        }
        self.is_prepared = true;
        self.possible_states.settle_acknowledged();
        match end {
            ScriptEnd::PrepareAndCommit => {
                let committed = database.commit_prepared(PREPARED);
                if self.is_done(committed, next.clone())? {
                    self.is_prepared = false;
                    self.possible_states.settle(next);
                }
                Ok(())
            }
            _ => self.roll_back_prepared(database).map(drop),
        }
    }

    /// Rolls back the prepared transaction, if there is one. Returns whether there is none then.
    pub(super) fn roll_back_prepared(&mut self, database: &Database) -> Result<bool> {
        if self.is_prepared {
            let acknowledged = self.possible_states.acknowledged.clone();
            let decided = database.rollback_prepared(PREPARED);
            if self.is_done(decided, acknowledged)? {
                self.is_prepared = false;
                self.possible_states.settle_acknowledged();
            }
        }
        Ok(!self.is_prepared)
    }

    /// Classifies the result of a commit that leads to the state `next`. Returns whether it was
    /// made.
    fn is_done<T>(&mut self, result: teak::Result<T>, next: FaultTables) -> Result<bool> {
        match self.classify_commit(result)? {
            CallOutcome::Done(_) => return Ok(true),
            CallOutcome::Refused(Refusal::Disk(operation, failures))
                if POISONING.contains(&operation) =>
            {
                self.possible_states.failed = Some(next);
                self.possible_states.is_erased = !failures.contains(&Call::Write);
            }
            CallOutcome::Refused(_) => {}
        }
        Ok(false)
    }
}
