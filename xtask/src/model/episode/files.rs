//! Checks of the file of an episode, and reopening.

use super::ModelEpisode;
use crate::model::{
    operation::ReopenMode,
    reads,
    shape::SWAPPED,
    violation::{ModelResult, ModelViolation, expect_refused, expect_same},
};
use std::ops::ControlFlow;
use teak::{Error, Options, Recovery, codec::Raw};

impl ModelEpisode {
    pub(super) fn check(&self) -> ModelResult {
        let report = self.database()?.check(&mut |_| ControlFlow::Continue(()))?;
        if !report.is_clean() {
            bail!("check found damage: {:?}", report.damages);
        }
        let stat = self.database()?.stat()?;
        if self
            .settings
            .size_limit_bytes
            .is_some_and(|limit| stat.file_bytes > limit)
        {
            bail!("over the size limit: {stat:?}");
        }
        let records: usize = self.committed.values().map(|table| table.len()).sum();
        expect_same("records that check counts", report.records, records as u64)?;
        self.walk_pages()
    }

    /// Opens a copy of the file in its present state, even during a write transaction. A killed
    /// process would leave exactly this file.
    pub(super) fn open_copy(&self) -> ModelResult {
        let path = self.path.with_extension("copy");
        std::fs::copy(&self.path, &path)
            .map_err(|error| ModelViolation::Other(format!("copying the file: {error}")))?;
        let database = self.settings.open(&path)?;
        reads::verify(&database.begin_read()?, &self.committed)?;
        let report = database.check(&mut |_| ControlFlow::Continue(()))?;
        expect_same("damages in a copy", report.damages, Vec::new())?;
        let mut txn = database.begin_write()?;
        match txn.create_table::<Raw, Raw>("copied") {
            Ok(_) | Err(Error::Full { .. }) => txn.abort(),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    pub(super) fn reopen(&mut self, leave: ReopenMode) -> ModelResult {
        self.handles.clear();
        for reader in self.readers.drain(..) {
            reader.verify()?;
        }
        match (leave, self.database.take()) {
            (ReopenMode::Close | ReopenMode::CloseThenReadOnly, Some(database)) => {
                database.close()?
            }
            (ReopenMode::Drop, database) => drop(database),
            (_, None) => (),
        }
        if matches!(leave, ReopenMode::CloseThenReadOnly) {
            let options = Options::new().read_only(true).comparison(&SWAPPED);
            let database = self.settings.encoding.apply(options).open(&self.path)?;
            reads::verify(&database.begin_read()?, &self.committed)?;
            let result = database.begin_write();
            expect_refused!(
                "writing to a database opened for reading",
                result,
                Error::ReadOnly
            )?;
        }
        self.database = Some(self.settings.open(&self.path)?);
        let database = self.database()?;
        if !matches!(database.info().recovery, Recovery::Clean) {
            bail!(
                "after a regular close, opening found {:?}",
                database.info().recovery
            );
        }
        reads::verify(&database.begin_read()?, &self.committed)
    }
}
