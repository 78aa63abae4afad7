//! Teak's side.

mod handle;
mod walk;

use crate::{
    deviations::Deviation,
    kind::{BY_LEN, KINDS},
    operation::{
        Answer, CopyMode, CursorMove, Direction, Operation, OperationGroup, PutMode, ReadView,
        RecordPart, TableIndex, TransactionEnd, append_record,
    },
    side::TestedEngine,
    translate::of_error,
};
use handle::{PlainTable, TableHandle, ValueTable};
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use teak::{
    Database, Durability, Error, KeyStep, MultiTableDef, Options, ReadTxn, Result, Savepoint,
    SeekOp, TableDef, Transaction, WriteTxn,
};
use walk::TeakCursor;

/// The options for an episode's databases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) page_size: usize,
    pub(crate) write_memory_bytes: usize,
}

/// Teak, with the objects that a script has open.
pub(crate) struct Teak {
    path: PathBuf,
    setup: Setup,
    handles: Vec<Option<TableHandle>>,
    slots: Vec<Option<TeakCursor>>,
    readers: Vec<Option<ReadTxn>>,
    savepoints: Vec<Savepoint>,
    writer: Option<WriteTxn>,
    database: Option<Database>,
}

impl Teak {
    /// Makes a new database in the file at `path`.
    pub(crate) fn create(
        path: &Path,
        setup: Setup,
        slot_count: usize,
        reader_count: usize,
    ) -> Result<Self> {
        let mut teak = Self {
            path: path.to_owned(),
            setup,
            handles: KINDS.iter().map(|_| None).collect(),
            slots: (0..slot_count).map(|_| None).collect(),
            readers: (0..reader_count).map(|_| None).collect(),
            savepoints: Vec::new(),
            writer: None,
            database: None,
        };
        teak.open()?;
        Ok(teak)
    }

    fn open(&mut self) -> Result<()> {
        let options = Options::new()
            .page_size(self.setup.page_size)
            .write_memory_bytes(self.setup.write_memory_bytes)
            .comparison(&BY_LEN)
            .durability(Durability::Lazy);
        self.database = Some(options.open(&self.path)?);
        Ok(())
    }

    fn database(&self) -> Result<&Database> {
        (self.database.as_ref()).ok_or_else(|| not_open("database"))
    }

    /// The write transaction, which is begun if there is none.
    fn writer(&mut self) -> Result<&mut WriteTxn> {
        if self.writer.is_none() {
            self.writer = Some(self.database()?.begin_write()?);
        }
        self.writer.as_mut().ok_or_else(|| not_open("writer"))
    }

    fn reader(&self, reader: usize) -> Result<&ReadTxn> {
        self.readers[reader]
            .as_ref()
            .ok_or_else(|| not_open("reader"))
    }

    fn close_slots(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = None);
    }

    /// The write transaction, with a table's handle.
    fn change(&mut self, table: TableIndex) -> Result<(&mut WriteTxn, &TableHandle)> {
        self.writer()?;
        let writer = self.writer.as_mut().ok_or_else(|| not_open("writer"))?;
        let handle = self.handles[table].as_ref();
        Ok((writer, handle.ok_or_else(|| no_table(table))?))
    }

    fn answer(&mut self, operation: &Operation) -> Result<Answer> {
        match operation.group() {
            OperationGroup::States => self.answer_of_states(operation),
            OperationGroup::Cursors => self.answer_of_cursors(operation),
            OperationGroup::Reading => self.answer_of_reading(operation),
            OperationGroup::Changes => self.answer_of_change(operation),
        }
    }

    /// Operations on tables, transactions, readers and the database.
    fn answer_of_states(&mut self, operation: &Operation) -> Result<Answer> {
        match operation {
            Operation::Create { table } => self.create_table(*table)?,
            Operation::Drop { table } => {
                if !self.writer()?.drop_table(KINDS[*table].name)? {
                    return Ok(Answer::NotFound);
                }
            }
            Operation::BeginNested => {
                self.close_slots();
                let savepoint = self.writer()?.savepoint()?;
                self.savepoints.push(savepoint);
            }
            Operation::EndNested(end) => {
                self.close_slots();
                let savepoint = self.savepoints.pop();
                let savepoint = savepoint.ok_or_else(|| not_open("savepoint"))?;
                if *end == TransactionEnd::Abort {
                    self.writer()?.rollback_to(&savepoint)?;
                }
                self.writer()?.release(savepoint)?;
            }
            Operation::End(end) => {
                self.close_slots();
                let writer = self.writer.take().ok_or_else(|| not_open("writer"))?;
                match end {
                    TransactionEnd::Commit => writer.commit().map(drop)?,
                    TransactionEnd::Abort => writer.abort(),
                }
            }
            Operation::OpenReader(reader) => {
                self.readers[*reader] = Some(self.database()?.begin_read()?);
            }
            Operation::RenewReader(reader) => {
                let reader = self.readers[*reader].as_mut();
                reader.ok_or_else(|| not_open("reader"))?.refresh()?;
            }
            Operation::CloseReader(reader) => self.readers[*reader] = None,
            Operation::Reopen { copied } => {
                let copy = self.path.with_extension("copy");
                if let Some(mode) = copied {
                    self.copy_to(&copy, *mode)?;
                }
                if let Some(database) = self.database.take() {
                    database.close()?;
                }
                if copied.is_some() {
                    std::fs::rename(&copy, &self.path).map_err(|error| {
                        Error::InvalidArgument(format!("the copy cannot be renamed: {error}"))
                    })?;
                }
                self.open()?;
            }
            other => return Ok(unexpected(other)),
        }
        Ok(Answer::Done)
    }

    fn copy_to(&self, copy: &Path, mode: CopyMode) -> Result<()> {
        let go_on = ControlFlow::Continue(());
        match mode {
            CopyMode::Whole => self
                .database()?
                .backup(copy, None, &mut |_| go_on)
                .map(drop),
            CopyMode::Dense => (self.database()?.begin_read()?)
                .copy_dense(copy, &mut |_| go_on)
                .map(drop),
        }
    }

    /// Cursors that stay open while tables change.
    fn answer_of_cursors(&mut self, operation: &Operation) -> Result<Answer> {
        match operation {
            Operation::Open { slot, table } => {
                self.slots[*slot] = None;
                let (writer, handle) = self.change(*table)?;
                self.slots[*slot] = Some(TeakCursor::new(writer, handle)?);
                Ok(Answer::Done)
            }
            Operation::Move { slot, to } => {
                self.writer()?;
                let (writer, slot) = (self.writer.as_ref(), self.slots[*slot].as_mut());
                let slot = slot.ok_or_else(|| not_open("cursor"))?;
                slot.go(writer.ok_or_else(|| not_open("writer"))?, to)
            }
            Operation::Refresh { slot, .. } => {
                let (writer, slot) = self.writer_and_slot(*slot)?;
                slot.go(writer, &CursorMove::Current)
            }
            Operation::PutAt {
                slot,
                key,
                value,
                mode,
            } => {
                let (writer, slot) = self.writer_and_slot(*slot)?;
                slot.put(writer, key, value, *mode)
            }
            Operation::DeleteAt { slot, is_whole_key } => {
                let (writer, slot) = self.writer_and_slot(*slot)?;
                slot.delete(writer, *is_whole_key)
            }
            other => Ok(unexpected(other)),
        }
    }

    fn answer_of_reading(&mut self, operation: &Operation) -> Result<Answer> {
        match operation {
            Operation::Get { view, table, key } => {
                self.read(*view, *table, |reading| reading.get(key))
            }
            Operation::Stat { view, table } => {
                self.read(*view, *table, |reading| reading.records_count())
            }
            Operation::Compare {
                view,
                table,
                of,
                one,
                other,
            } => self.read(*view, *table, |reading| reading.compare((one, other), *of)),
            Operation::Walk { view, table, moves } => {
                self.read(*view, *table, |reading| reading.walk(moves))
            }
            Operation::Packed {
                view, table, key, ..
            } => self.read(*view, *table, |reading| reading.packed(key)),
            other => Ok(unexpected(other)),
        }
    }

    fn writer_and_slot(&mut self, slot: usize) -> Result<(&mut WriteTxn, &mut TeakCursor)> {
        self.writer()?;
        let writer = self.writer.as_mut().ok_or_else(|| not_open("writer"))?;
        let slot = self.slots[slot].as_mut();
        Ok((writer, slot.ok_or_else(|| not_open("cursor"))?))
    }

    fn create_table(&mut self, table: TableIndex) -> Result<()> {
        let kind = &KINDS[table];
        let (writer, options) = (self.writer()?, kind.options());
        self.handles[table] = Some(match kind.is_multi() {
            false => TableHandle::Plain(TableDef::new(kind.name).options(options).create(writer)?),
            true => TableHandle::Multi(
                MultiTableDef::new(kind.name)
                    .options(options)
                    .create(writer)?,
            ),
        });
        Ok(())
    }

    /// Changes of records without a cursor.
    fn answer_of_change(&mut self, operation: &Operation) -> Result<Answer> {
        match operation {
            Operation::Clear { table } => {
                match self.change(*table)? {
                    (writer, TableHandle::Plain(table)) => table.clear(writer)?,
                    (writer, TableHandle::Multi(table)) => table.clear(writer)?,
                }
                Ok(Answer::Done)
            }
            Operation::Put {
                table,
                key,
                value,
                mode,
            } => {
                let (writer, handle) = self.change(*table)?;
                handle.put(writer, key, value, *mode)
            }
            Operation::PutMany { table, key, values } => {
                let is_packed = values.len().is_multiple_of(2);
                let (writer, TableHandle::Multi(table)) = self.change(*table)? else {
                    return Ok(unexpected(operation));
                };
                let values: Vec<_> = values.iter().map(Vec::as_slice).collect();
                // The size of the values may be unknown before the first one.
                Ok(Answer::Number(
                    match is_packed && !table.is_empty(writer)? {
                        true => table.insert_packed(writer, key, &values.concat())?,
                        false => table.insert_values(writer, key, &values)?,
                    },
                ))
            }
            Operation::PutOdd { table, key, value } => {
                self.close_slots();
                let (writer, handle) = self.change(*table)?;
                let savepoint = writer.savepoint()?;
                let put = handle.put(writer, key, value, PutMode::Upsert);
                writer.rollback_to(&savepoint)?;
                writer.release(savepoint)?;
                put
            }
            Operation::Delete { table, key, value } => {
                let is_there = match (self.change(*table)?, value) {
                    ((writer, TableHandle::Plain(table)), _) => table.remove(writer, key)?,
                    ((writer, TableHandle::Multi(table)), None) => {
                        table.remove_key(writer, key)? > 0
                    }
                    ((writer, TableHandle::Multi(table)), Some(value)) => {
                        table.remove(writer, key, value)?
                    }
                };
                Ok(if is_there {
                    Answer::Done
                } else {
                    Answer::NotFound
                })
            }
            other => Ok(unexpected(other)),
        }
    }

    fn read<R>(
        &mut self,
        view: ReadView,
        table: TableIndex,
        read: impl FnOnce(&dyn TableReader) -> Result<R>,
    ) -> Result<R> {
        if view == ReadView::Writer {
            self.writer()?;
        }
        let handle = self.handles[table].as_ref();
        let handle = handle.ok_or_else(|| no_table(table))?;
        match view {
            ReadView::Reader(reader) => read(&(self.reader(reader)?, handle)),
            ReadView::Writer => {
                let writer = self.writer.as_ref();
                read(&(writer.ok_or_else(|| not_open("writer"))?, handle))
            }
        }
    }
}

impl TableHandle {
    fn put(
        &self,
        writer: &mut WriteTxn,
        key: &[u8],
        value: &[u8],
        mode: PutMode,
    ) -> Result<Answer> {
        match self {
            Self::Plain(table) => put_record(table, writer, key, value, mode),
            Self::Multi(table) => put_pair(table, writer, key, value, mode),
        }
    }
}

fn put_record(
    table: &PlainTable,
    writer: &mut WriteTxn,
    key: &[u8],
    value: &[u8],
    mode: PutMode,
) -> Result<Answer> {
    match mode {
        PutMode::NewKey => {
            if !table.insert_new(writer, key, value)? {
                let existing = table.get(writer, key)?.map(<[u8]>::to_vec);
                return Ok(Answer::Exists(existing));
            }
        }
        PutMode::Append => table.append(writer, key, value)?,
        PutMode::Reserve => {
            let fill = |space: &mut [u8]| space.copy_from_slice(value);
            table.insert_with(writer, key, value.len(), fill)?;
        }
        PutMode::Upsert => table.insert(writer, key, value)?,
        PutMode::NewPair | PutMode::AppendValue | PutMode::Current => {
            return Ok(Answer::Unexpected(format!("{mode:?} of a record")));
        }
    }
    Ok(Answer::Done)
}

fn put_pair(
    table: &ValueTable,
    writer: &mut WriteTxn,
    key: &[u8],
    value: &[u8],
    mode: PutMode,
) -> Result<Answer> {
    match mode {
        PutMode::Upsert => drop(table.insert(writer, key, value)?),
        PutMode::NewPair => {
            if !table.insert(writer, key, value)? {
                return Ok(Answer::Exists(None));
            }
        }
        PutMode::NewKey => {
            if let Some(first) = table.insert_new_key(writer, key, value)? {
                return Ok(Answer::Exists(Some(first)));
            }
        }
        PutMode::Append => {
            let mut cursor = table.cursor(writer)?;
            if cursor.last()? && cursor.key() == key {
                Deviation::AppendToLastKey.meet();
                return Ok(Answer::NotLast);
            }
            table.append(writer, key, value)?;
        }
        PutMode::AppendValue => table.append_value(writer, key, value)?,
        PutMode::Reserve | PutMode::Current => {
            return Ok(Answer::Unexpected(format!("{mode:?} of a pair")));
        }
    }
    Ok(Answer::Done)
}

/// A table in some transaction.
trait TableReader {
    fn get(&self, key: &[u8]) -> Result<Answer>;
    fn records_count(&self) -> Result<Answer>;
    fn compare(&self, items: (&[u8], &[u8]), of: RecordPart) -> Result<Answer>;
    fn walk(&self, moves: &[CursorMove]) -> Result<Answer>;
    fn packed(&self, key: &[u8]) -> Result<Answer>;
    fn records(&self, direction: Direction, records: &mut Vec<u8>) -> Result<Answer>;
}

impl<T: Transaction> TableReader for (&T, &TableHandle) {
    fn get(&self, key: &[u8]) -> Result<Answer> {
        let value = match self.1 {
            TableHandle::Plain(table) => table.get(self.0, key)?.map(<[u8]>::to_vec),
            TableHandle::Multi(table) => table.first_value(self.0, key)?,
        };
        Ok(value.map_or(Answer::NotFound, Answer::Value))
    }

    fn records_count(&self) -> Result<Answer> {
        let stat = match self.1 {
            TableHandle::Plain(table) => table.stat(self.0)?,
            TableHandle::Multi(table) => table.stat(self.0)?,
        };
        Ok(Answer::Number(stat.records))
    }

    fn compare(&self, (one, other): (&[u8], &[u8]), of: RecordPart) -> Result<Answer> {
        Ok(Answer::Order(match (self.1, of) {
            (TableHandle::Plain(table), _) => table.compare_keys(self.0, one, other)?,
            (TableHandle::Multi(table), RecordPart::Keys) => {
                table.compare_keys(self.0, one, other)?
            }
            (TableHandle::Multi(table), RecordPart::Values) => {
                table.compare_values(self.0, one, other)?
            }
        }))
    }

    fn walk(&self, moves: &[CursorMove]) -> Result<Answer> {
        walk::through(self.1, self.0, moves)
    }

    fn packed(&self, key: &[u8]) -> Result<Answer> {
        let TableHandle::Multi(table) = self.1 else {
            return Ok(Answer::Unexpected("packed values of a record".to_owned()));
        };
        let mut cursor = table.cursor(self.0)?;
        if !cursor.seek(SeekOp::Equal, key)? {
            return Ok(Answer::NotFound);
        }
        let mut all = Vec::new();
        while let Some(values) = cursor.read_packed(teak::Direction::Forward)? {
            all.extend_from_slice(values);
            if !cursor.step(KeyStep::NextValue)? {
                break;
            }
        }
        Ok(Answer::Value(all))
    }

    fn records(&self, direction: Direction, records: &mut Vec<u8>) -> Result<Answer> {
        match (self.1, direction) {
            (TableHandle::Plain(table), Direction::Forward) => {
                for record in table.iter(self.0)? {
                    let (key, value) = record?;
                    append_record(records, &key, value);
                }
            }
            (TableHandle::Plain(table), Direction::Back) => {
                for record in table.iter(self.0)?.rev() {
                    let (key, value) = record?;
                    append_record(records, &key, value);
                }
            }
            (TableHandle::Multi(table), Direction::Forward) => {
                for pair in table.iter(self.0)? {
                    let (key, value) = pair?;
                    append_record(records, &key, &value);
                }
            }
            (TableHandle::Multi(table), Direction::Back) => {
                for pair in table.iter(self.0)?.rev() {
                    let (key, value) = pair?;
                    append_record(records, &key, &value);
                }
            }
        }
        Ok(Answer::Done)
    }
}

impl TestedEngine for Teak {
    fn perform(&mut self, operation: &Operation) -> Answer {
        self.answer(operation)
            .unwrap_or_else(|error| of_error(&error))
    }

    fn records(
        &mut self,
        view: ReadView,
        table: TableIndex,
        direction: Direction,
        records: &mut Vec<u8>,
    ) -> Answer {
        let read = self.read(view, table, |reading| reading.records(direction, records));
        read.unwrap_or_else(|error| of_error(&error))
    }
}

fn no_table(table: TableIndex) -> Error {
    Error::TableNotFound(KINDS[table].name.to_owned())
}

fn not_open(description: &str) -> Error {
    Error::InvalidArgument(format!("the script has no {description} open"))
}

fn unexpected(operation: &Operation) -> Answer {
    Answer::Unexpected(format!("unexpected operation {operation:?}"))
}
