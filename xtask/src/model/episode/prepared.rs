//! Prepared transactions of an episode.

use super::{ModelEpisode, ModelWriter};
use crate::model::{
    operation::ReopenMode,
    reads,
    violation::{ModelResult, expect_refused, expect_same},
};
use std::time::Duration;
use teak::{Error, WriteOptions};

/// The name of a prepared transaction.
const NAME: &str = "prepared";

impl ModelEpisode {
    /// Prepares the open transaction, perhaps opens the database again, and decides.
    pub(super) fn prepare(&mut self, is_commit: bool, reopen: Option<ReopenMode>) -> ModelResult {
        self.handles.clear();
        let Some(ModelWriter {
            txn,
            tables,
            snapshots,
            ..
        }) = self.writing.take()
        else {
            return Ok(());
        };
        match txn.prepare(NAME) {
            // It has changed the named snapshots or the geometry.
            Err(Error::InvalidArgument(text)) if text.contains("cannot be prepared") => {
                return reads::verify(&self.database()?.begin_read()?, &self.committed);
            }
            prepared => drop(prepared?),
        }
        reads::verify(&self.database()?.begin_read()?, &self.committed)?;
        self.check()?;
        if let Some(mode) = reopen {
            self.reopen(mode)?;
        }
        let database = self.database()?;
        let names: Vec<_> = database
            .prepared()?
            .into_iter()
            .map(|info| info.name)
            .collect();
        expect_same("what is prepared", names, vec![NAME.as_bytes().to_vec()])?;
        reads::verify(&database.open_prepared(NAME)?, &tables)?;
        let at_once = WriteOptions::new().timeout(Duration::ZERO);
        expect_refused!(
            "writing beside a prepared transaction",
            database.begin_write_with(at_once),
            Error::TransactionPrepared { .. }
        )?;
        match is_commit {
            true => {
                database.commit_prepared(NAME)?;
                self.publish(tables, snapshots);
            }
            false => drop(database.rollback_prepared(NAME)?),
        }
        reads::verify(&self.database()?.begin_read()?, &self.committed)?;
        self.check()
    }
}
