//! Reads of an episode.

use super::{ModelEpisode, ModelReader, no_such_table, plain};
use crate::model::{
    multi::{self, reads::MultiRead},
    operation::{OtherThreadRead, TableRead},
    other_thread,
    reading::ReadSource,
    reads,
    violation::ModelResult,
};
use teak::Transaction;

impl ModelEpisode {
    pub(super) fn read(
        &mut self,
        source: ReadSource,
        name: &[u8],
        read: &TableRead,
    ) -> ModelResult {
        let table = match source {
            ReadSource::Reader(index) => self.readers[index].txn.open_table(name)?,
            _ => self.table(name)?,
        };
        with_state!(self, source, |txn, tables| {
            reads::perform(txn, &table, plain(tables, name)?, read)
        })
    }

    pub(super) fn read_on_other_thread(
        &self,
        reader: Option<usize>,
        name: &[u8],
        description: &OtherThreadRead,
    ) -> ModelResult {
        let newest;
        let (txn, tables) = match reader {
            Some(index) => self.readers[index].state(),
            None => {
                newest = self.database()?.begin_read()?;
                (&newest, &self.committed)
            }
        };
        other_thread::perform(
            txn,
            &txn.open_table(name)?,
            plain(tables, name)?,
            description,
        )
    }

    pub(super) fn read_multi(
        &self,
        source: ReadSource,
        name: &[u8],
        read: &MultiRead,
    ) -> ModelResult {
        with_state!(self, source, |txn, tables| {
            let model = tables.get(name).and_then(|table| table.multi());
            let model = model.ok_or_else(no_such_table)?;
            multi::reads::perform(txn, &txn.open_multi_table(name)?, model, read)?;
        });
        match source {
            ReadSource::Reader(index) => {
                let (txn, tables) = self.readers[index].state();
                multi::reads::perform_owned(txn, name, tables, read)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn compare(&self, older: usize, newer: Option<usize>) -> ModelResult {
        let older = &self.readers[older];
        let newest;
        let newer = match newer {
            Some(index) => &self.readers[index],
            None => {
                newest = ModelReader {
                    txn: self.database()?.begin_read()?,
                    tables: self.committed.clone(),
                };
                &newest
            }
        };
        reads::compare((&older.txn, &older.tables), (&newer.txn, &newer.tables))
    }

    pub(super) fn open_reader(&mut self) -> ModelResult {
        self.readers.push(ModelReader {
            txn: self.database()?.begin_read()?,
            tables: self.committed.clone(),
        });
        Ok(())
    }
}
