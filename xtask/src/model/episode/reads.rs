//! Reads of an episode.

use super::{ModelEpisode, ModelReader, ModelWriter, no_such_table, plain};
use crate::model::{
    multi::{self, reads::MultiRead},
    operation::{OtherThreadRead, TableRead},
    oracle::OracleTables,
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
        if let ReadSource::Reader(index) = source {
            let ModelReader { txn, tables } = &self.readers[index];
            return reads::perform(txn, &txn.open_table(name)?, plain(tables, name)?, read);
        }
        let table = self.table(name)?;
        match &self.writing {
            Some(ModelWriter { txn, tables, .. }) => {
                reads::perform(txn, &table, plain(tables, name)?, read)
            }
            None => reads::perform(
                &self.database()?.begin_read()?,
                &table,
                plain(&self.committed, name)?,
                read,
            ),
        }
    }

    pub(super) fn read_on_other_thread(
        &self,
        reader: Option<usize>,
        name: &[u8],
        description: &OtherThreadRead,
    ) -> ModelResult {
        let newest;
        let (txn, tables) = match reader {
            Some(index) => (&self.readers[index].txn, &self.readers[index].tables),
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
        fn perform<T: Transaction>(
            txn: &T,
            tables: &OracleTables,
            name: &[u8],
            read: &MultiRead,
        ) -> ModelResult {
            let model = tables.get(name).and_then(|table| table.multi());
            let model = model.ok_or_else(no_such_table)?;
            multi::reads::perform(txn, &txn.open_multi_table(name)?, model, read)
        }
        match (source, &self.writing) {
            (ReadSource::Reader(index), _) => {
                let ModelReader { txn, tables } = &self.readers[index];
                perform(txn, tables, name, read)?;
                multi::reads::perform_owned(txn, name, tables, read)
            }
            (_, Some(ModelWriter { txn, tables, .. })) => perform(txn, tables, name, read),
            (_, None) => perform(&self.database()?.begin_read()?, &self.committed, name, read),
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
