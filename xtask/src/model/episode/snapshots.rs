//! Named snapshots of an episode.

use super::ModelEpisode;
use crate::model::{
    reads,
    violation::{ModelResult, expect_refused, expect_same},
};
use teak::Error;

impl ModelEpisode {
    pub(super) fn create_snapshot(&mut self, name: &str) -> ModelResult {
        let writing = self.writing()?;
        writing.txn.create_snapshot(name)?;
        let again = writing.txn.create_snapshot(name);
        writing.snapshots.insert(name.to_owned(), None);
        expect_refused!(
            "a snapshot of a name that is taken",
            again,
            Error::SnapshotExists(_)
        )
    }

    pub(super) fn drop_snapshot(&mut self, name: &str) -> ModelResult {
        let writing = self.writing()?;
        writing.txn.drop_snapshot(name)?;
        let again = writing.txn.drop_snapshot(name);
        writing.snapshots.remove(name);
        expect_refused!(
            "a snapshot that is not there",
            again,
            Error::SnapshotNotFound(_)
        )
    }

    pub(super) fn roll_back_to_snapshot(&mut self, name: &str) -> ModelResult {
        self.handles.clear();
        let mut tables = self.snapshots[name].clone().unwrap_or_default();
        let writing = self.writing()?;
        writing.is_recast = true;
        // Sometimes the state before is kept.
        let keep = format!("before {name}");
        if name.len().is_multiple_of(2) && !writing.snapshots.contains_key(&keep) {
            writing.txn.create_snapshot(&keep)?;
            writing.snapshots.insert(keep, Some(writing.tables.clone()));
        }
        writing.txn.roll_back_to_snapshot(name)?;
        // Marks are not rolled back.
        tables.marks = writing.tables.marks;
        writing.tables = tables;
        reads::list_tables(&writing.txn, &writing.tables)
    }

    pub(super) fn verify_snapshots(&self) -> ModelResult {
        let database = self.database()?;
        let found: Vec<_> = (database.snapshots()?.into_iter())
            .map(|info| String::from_utf8_lossy(&info.name).into_owned())
            .collect();
        let names: Vec<_> = self.snapshots.keys().cloned().collect();
        expect_same("the names of snapshots", found, names)?;
        for (name, tables) in &self.snapshots {
            let tables = tables.as_ref().into_iter();
            for tables in tables {
                reads::verify(&database.open_snapshot(name)?, tables)?;
            }
        }
        Ok(())
    }
}
