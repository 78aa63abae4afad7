//! Checks of the file of an episode, reopening, and prepared transactions.

use super::{ExpiringEpisode, ExpiringWriter, reads};
use crate::model::{
    operation::ReopenMode,
    violation::{ModelResult, ModelViolation, expect_same},
};
use std::ops::ControlFlow;
use teak::{Durability, Options, Recovery};

/// The name of a prepared transaction.
const PREPARED: &str = "prepared";

impl ExpiringEpisode {
    /// Fails if a check of the newest state finds damage.
    pub(super) fn check(&self) -> ModelResult {
        let report = self.database()?.check(&mut |_| ControlFlow::Continue(()))?;
        expect_same("damages", report.damages, Vec::new())
    }

    /// Opens a copy of the file, such as a killed process would leave.
    pub(super) fn open_copy(&mut self) -> ModelResult {
        // Commits in the write-ahead log are not in the file.
        self.database()?.sync()?;
        let path = self.path.with_extension("copy");
        std::fs::copy(&self.path, &path)
            .map_err(|error| ModelViolation::Other(format!("copying the file: {error}")))?;
        let database = self.settings.open(&path)?;
        reads::compare(&mut self.rng, &database.begin_read()?, &self.committed)?;
        let report = database.check(&mut |_| ControlFlow::Continue(()))?;
        expect_same("damages in a copy", report.damages, Vec::new())
    }

    pub(super) fn reopen(&mut self, mode: ReopenMode) -> ModelResult {
        for (txn, state) in self.readers.drain(..) {
            reads::compare(&mut self.rng, &txn, &state)?;
        }
        match (mode, self.database.take()) {
            (ReopenMode::Close | ReopenMode::CloseThenReadOnly, Some(database)) => {
                database.close()?;
            }
            (_, database) => drop(database),
        }
        if matches!(mode, ReopenMode::CloseThenReadOnly) {
            let options = self.settings.encoding.apply(Options::new());
            let options = self.clock.apply(options.read_only(true));
            let database = options.open(&self.path)?;
            reads::compare(&mut self.rng, &database.begin_read()?, &self.committed)?;
        }
        self.database = Some(self.settings.open(&self.path)?);
        let recovery = self.database()?.info().recovery;
        if recovery != Recovery::Clean {
            bail!("after a regular close, opening found {recovery:?}");
        }
        self.compare_newest()
    }

    /// Prepares the open transaction, perhaps opens the database again, and decides.
    pub(super) fn prepare(&mut self, is_commit: bool, reopen: Option<ReopenMode>) -> ModelResult {
        let Some(ExpiringWriter { txn, state, .. }) = self.writing.take() else {
            return Ok(());
        };
        txn.prepare(PREPARED)?;
        self.compare_newest()?;
        if let Some(mode) = reopen {
            self.reopen(mode)?;
        }
        let prepared = self.database()?.open_prepared(PREPARED)?;
        reads::compare(&mut self.rng, &prepared, &state)?;
        drop(prepared);
        match is_commit {
            true => {
                self.database()?.commit_prepared(PREPARED)?;
                self.committed = state;
            }
            false => drop(self.database()?.rollback_prepared(PREPARED)?),
        }
        self.compare_newest()?;
        self.check()
    }

    /// Compares everything once more, before and after closing.
    pub(super) fn finish(mut self) -> ModelResult {
        self.read()?;
        self.commit(Durability::Durable)?;
        self.check()?;
        self.reopen(ReopenMode::Drop)?;
        self.check()
    }
}
