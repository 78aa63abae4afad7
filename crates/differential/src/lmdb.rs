//! LMDB's side.

mod calls;
pub(crate) mod code;

use crate::{
    deviations::Deviation,
    kind::KINDS,
    operation::{
        Answer, CopyMode, CursorMove, Direction, Operation, OperationGroup, PutMode, ReadView,
        TableIndex, TransactionEnd, append_record,
    },
    side::TestedEngine,
    translate::{cursor_operation, of_code, of_cursor_code, of_put_code, put_flags},
};
use anyhow::Result;
use calls::{Cursor, Environment, Table, Transaction};
use code::LmdbCode;
use lmdb_master_sys as ffi;
use std::{
    path::{Path, PathBuf},
    rc::Rc,
};

/// The open tables of a state, by their index.
type OpenTables = Vec<Option<Table>>;

/// LMDB, with the objects that a script has open.
pub(crate) struct Lmdb {
    path: PathBuf,
    slots: Vec<Option<Cursor>>,
    readers: Vec<Option<(Rc<Transaction>, OpenTables)>>,
    /// The write transactions, from the outermost to the innermost.
    writers: Vec<Rc<Transaction>>,
    tables: OpenTables,
    environment: Option<Rc<Environment>>,
}

impl Lmdb {
    /// Makes a new environment in the file at `path`.
    pub(crate) fn create(path: &Path, slot_count: usize, reader_count: usize) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            slots: (0..slot_count).map(|_| None).collect(),
            readers: (0..reader_count).map(|_| None).collect(),
            writers: Vec::new(),
            tables: vec![None; KINDS.len()],
            environment: Some(Environment::open(path, KINDS.len())?),
        })
    }

    fn environment(&self) -> Result<&Rc<Environment>, LmdbCode> {
        self.environment.as_ref().ok_or(ffi::MDB_PANIC)
    }

    /// The innermost write transaction. Begins one if there is none.
    fn writer(&mut self) -> Result<&Rc<Transaction>, LmdbCode> {
        if self.writers.is_empty() {
            let writer = Transaction::write(self.environment()?, None)?;
            self.writers.push(writer);
        }
        self.writers.last().ok_or(ffi::MDB_BAD_TXN)
    }

    /// The transaction of a view, and a table in it, if it exists.
    fn view(
        &mut self,
        view: ReadView,
        table: TableIndex,
    ) -> Result<(&Rc<Transaction>, Option<Table>), LmdbCode> {
        match view {
            ReadView::Writer => {
                let table = self.tables[table];
                Ok((self.writer()?, table))
            }
            ReadView::Reader(reader) => {
                let (reader, tables) = self.readers[reader].as_ref().ok_or(libc::EINVAL)?;
                Ok((reader, tables[table]))
            }
        }
    }

    /// Updates the list of existing tables, which a transaction may have changed.
    fn find_tables(&mut self) -> Result<(), LmdbCode> {
        let txn = Transaction::write(self.environment()?, None)?;
        for (table, kind) in self.tables.iter_mut().zip(KINDS) {
            *table = match txn.open_kind(kind, 0) {
                Err(ffi::MDB_NOTFOUND) => None,
                opened => Some(opened?),
            };
        }
        txn.commit()
    }

    fn close_slots(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = None);
    }

    fn answer(&mut self, operation: &Operation) -> Result<Answer, LmdbCode> {
        match operation.group() {
            OperationGroup::States => self.answer_of_states(operation),
            OperationGroup::Cursors => self.answer_of_cursors(operation),
            OperationGroup::Reading => self.answer_of_reading(operation),
            OperationGroup::Changes => self.answer_of_change(operation),
        }
    }

    /// Operations on tables, transactions, readers and the environment.
    fn answer_of_states(&mut self, operation: &Operation) -> Result<Answer, LmdbCode> {
        match operation {
            Operation::Create { table } => {
                let kind = &KINDS[*table];
                self.tables[*table] = Some(self.writer()?.open_kind(kind, ffi::MDB_CREATE)?);
            }
            Operation::Drop { table } => {
                Deviation::Handles.meet();
                self.writer()?;
                let Some(handle) = self.tables[*table].take() else {
                    return Ok(Answer::NotFound);
                };
                self.writer()?.drop_table(handle, true)?;
            }
            Operation::BeginNested => {
                self.close_slots();
                let outer = self.writer()?.clone();
                let nested = Transaction::write(self.environment()?, Some(&outer))?;
                self.writers.push(nested);
            }
            Operation::EndNested(end) | Operation::End(end) => {
                self.close_slots();
                let writer = self.writers.pop().ok_or(ffi::MDB_BAD_TXN)?;
                match end {
                    TransactionEnd::Commit => writer.commit()?,
                    TransactionEnd::Abort => drop(writer),
                }
                if self.writers.is_empty() {
                    self.find_tables()?;
                }
            }
            Operation::OpenReader(reader) => {
                let txn = Transaction::read(self.environment()?)?;
                self.readers[*reader] = Some((txn, self.tables.clone()));
            }
            Operation::RenewReader(reader) => {
                let now = self.tables.clone();
                let (txn, tables) = self.readers[*reader].as_mut().ok_or(libc::EINVAL)?;
                txn.renew()?;
                *tables = now;
            }
            Operation::CloseReader(reader) => self.readers[*reader] = None,
            Operation::Reopen { copied } => {
                if let Some(mode) = copied {
                    let copy = self.path.with_extension("copy");
                    self.environment()?.copy(&copy, *mode == CopyMode::Dense)?;
                    self.environment = None;
                    std::fs::rename(copy, &self.path).map_err(|_| ffi::MDB_PANIC)?;
                }
                self.environment = None;
                let opened = Environment::open(&self.path, KINDS.len());
                self.environment = Some(opened.map_err(|_| ffi::MDB_PANIC)?);
                self.find_tables()?;
            }
            other => return Ok(unexpected(other)),
        }
        Ok(Answer::Done)
    }

    /// Cursors that stay open while tables change.
    fn answer_of_cursors(&mut self, operation: &Operation) -> Result<Answer, LmdbCode> {
        Ok(match operation {
            Operation::Open { slot, table } => {
                self.slots[*slot] = None;
                let (txn, Some(handle)) = self.view(ReadView::Writer, *table)? else {
                    return Ok(Answer::NoTable);
                };
                let cursor = Cursor::open(txn, handle)?;
                self.slots[*slot] = Some(cursor);
                Answer::Done
            }
            Operation::Move { slot, to } => self.slot(*slot)?.go(to),
            Operation::Refresh { slot, key, value } => {
                let to = CursorMove::GetBoth(key.clone(), value.clone());
                self.slot(*slot)?.go(&to)
            }
            Operation::PutAt {
                slot,
                key,
                value,
                mode,
            } => of_put(*mode, self.slot(*slot)?.put(key, value, put_flags(*mode))),
            Operation::DeleteAt { slot, is_whole_key } => {
                let flags = if *is_whole_key { ffi::MDB_NODUPDATA } else { 0 };
                let deleted = self.slot(*slot)?.delete(flags);
                deleted.map_or_else(of_cursor_code, |()| Answer::Done)
            }
            other => unexpected(other),
        })
    }

    fn slot(&mut self, slot: usize) -> Result<&mut Cursor, LmdbCode> {
        self.slots[slot].as_mut().ok_or(libc::EINVAL)
    }

    fn answer_of_reading(&mut self, operation: &Operation) -> Result<Answer, LmdbCode> {
        let (Operation::Get { view, table, .. }
        | Operation::Stat { view, table }
        | Operation::Compare { view, table, .. }
        | Operation::Walk { view, table, .. }
        | Operation::Packed { view, table, .. }) = operation
        else {
            return Ok(unexpected(operation));
        };
        let (txn, Some(handle)) = self.view(*view, *table)? else {
            return Ok(Answer::NoTable);
        };
        Ok(match operation {
            Operation::Get { key, .. } => Answer::Value(txn.get(handle, key)?),
            Operation::Stat { .. } => Answer::Number(txn.entries(handle)?),
            Operation::Compare { of, one, other, .. } => {
                Answer::Order(txn.compare(handle, (one, other), *of))
            }
            Operation::Walk { moves, .. } => walk(txn, handle, moves)?,
            Operation::Packed { key, direction, .. } => {
                packed(Cursor::open(txn, handle)?, key, *direction)?
            }
            other => unexpected(other),
        })
    }

    /// Changes of records without a cursor.
    fn answer_of_change(&mut self, operation: &Operation) -> Result<Answer, LmdbCode> {
        let (Operation::Clear { table }
        | Operation::Put { table, .. }
        | Operation::PutMany { table, .. }
        | Operation::PutOdd { table, .. }
        | Operation::Delete { table, .. }) = operation
        else {
            return Ok(unexpected(operation));
        };
        let (txn, Some(handle)) = self.view(ReadView::Writer, *table)? else {
            return Ok(Answer::NoTable);
        };
        let txn = txn.clone();
        Ok(match operation {
            Operation::Clear { .. } => {
                txn.drop_table(handle, false)?;
                Answer::Done
            }
            Operation::Put {
                key, value, mode, ..
            } => of_put(*mode, txn.put(handle, key, value, put_flags(*mode))),
            Operation::PutMany { key, values, .. } => {
                let before = txn.entries(handle)?;
                put_all(Cursor::open(&txn, handle)?, key, values)?;
                Answer::Number(txn.entries(handle)? - before)
            }
            Operation::PutOdd { key, value, .. } => {
                self.close_slots();
                let nested = Transaction::write(self.environment()?, Some(&txn))?;
                of_put(PutMode::Upsert, nested.put(handle, key, value, 0))
            }
            Operation::Delete { key, value, .. } => {
                txn.delete(handle, key, value.as_deref())?;
                Answer::Done
            }
            other => unexpected(other),
        })
    }
}

impl TestedEngine for Lmdb {
    fn perform(&mut self, operation: &Operation) -> Answer {
        self.answer(operation).unwrap_or_else(of_code)
    }

    fn records(
        &mut self,
        view: ReadView,
        table: TableIndex,
        direction: Direction,
        records: &mut Vec<u8>,
    ) -> Answer {
        let mut read = || {
            let (txn, Some(handle)) = self.view(view, table)? else {
                return Ok(Answer::NoTable);
            };
            let mut cursor = Cursor::open(txn, handle)?;
            let step = match direction {
                Direction::Forward => ffi::MDB_NEXT,
                Direction::Back => ffi::MDB_PREV,
            };
            loop {
                let append = |key: &[u8], value: &[u8]| append_record(records, key, value);
                match cursor.move_to((&[], &[]), step, append) {
                    Err(ffi::MDB_NOTFOUND) => return Ok(Answer::Done),
                    moved => moved?,
                }
            }
        };
        read().unwrap_or_else(of_code)
    }
}

impl Cursor {
    /// Moves the cursor, or counts.
    fn go(&mut self, to: &CursorMove) -> Answer {
        let Some(operation) = cursor_operation(to) else {
            return self.count().map_or_else(of_cursor_code, Answer::Number);
        };
        let nothing: &[u8] = &[];
        let given = match to {
            CursorMove::Set(key) | CursorMove::SetKey(key) | CursorMove::SetRange(key) => {
                (&key[..], nothing)
            }
            CursorMove::GetBoth(key, value) | CursorMove::GetBothRange(key, value) => {
                (&key[..], &value[..])
            }
            _ => (nothing, nothing),
        };
        let pair = |key: &[u8], value: &[u8]| Answer::Pair(key.to_vec(), value.to_vec());
        let went = self.move_to(given, operation, pair);
        let went = match to {
            // These return only the value.
            CursorMove::FirstValue | CursorMove::LastValue if went.is_ok() => {
                self.move_to((nothing, nothing), ffi::MDB_GET_CURRENT, pair)
            }
            _ => went,
        };
        went.unwrap_or_else(of_cursor_code)
    }
}

/// Walks over an unchanging state.
fn walk(txn: &Rc<Transaction>, table: Table, moves: &[CursorMove]) -> Result<Answer, LmdbCode> {
    let mut cursor = Cursor::open(txn, table)?;
    let mut answers = Vec::with_capacity(moves.len());
    for to in moves {
        let answer = cursor.go(to);
        if answer == Answer::NotFound && to.loses_position() {
            cursor = Cursor::open(txn, table)?;
        }
        answers.push(answer);
    }
    Ok(Answer::Several(answers))
}

fn unexpected(operation: &Operation) -> Answer {
    Answer::Unexpected(format!("unexpected operation {operation:?}"))
}

fn of_put(mode: PutMode, put: Result<(), (LmdbCode, Vec<u8>)>) -> Answer {
    match put {
        Ok(()) => Answer::Done,
        Err(error) => of_put_code(mode, error),
    }
}

/// Puts values of one size, continuing whenever LMDB stops.
fn put_all(mut cursor: Cursor, key: &[u8], values: &[Vec<u8>]) -> Result<(), LmdbCode> {
    let (size, mut left) = (values.first().map_or(1, Vec::len), values);
    while !left.is_empty() {
        let stored = cursor.put_many(key, &left.concat(), size)?;
        if stored < left.len() {
            Deviation::StoppedPutMany.meet();
        }
        left = left.get(stored + 1..).unwrap_or_default();
    }
    Ok(())
}

/// All values of a key, page by page.
fn packed(mut cursor: Cursor, key: &[u8], direction: Direction) -> Result<Answer, LmdbCode> {
    Deviation::PackedPages.meet();
    let copied = |_: &[u8], value: &[u8]| value.to_vec();
    let nothing: (&[u8], &[u8]) = (&[], &[]);
    let mut all = cursor.move_to((key, &[]), ffi::MDB_SET_KEY, copied)?;
    if cursor.count()? == 1 {
        // The operation returns nothing for a single value.
        return Ok(Answer::Value(all));
    }
    let next = match direction {
        Direction::Forward => ffi::MDB_NEXT_MULTIPLE,
        Direction::Back => {
            // LMDB cannot read the page of the last value after moving to it, but can after
            // searching for it.
            let last = cursor.move_to(nothing, ffi::MDB_LAST_DUP, copied)?;
            cursor.move_to((key, &last), ffi::MDB_GET_BOTH, copied)?;
            ffi::MDB_PREV_MULTIPLE
        }
    };
    all = cursor.move_to(nothing, ffi::MDB_GET_MULTIPLE, copied)?;
    loop {
        match (cursor.move_to(nothing, next, copied), direction) {
            (Err(ffi::MDB_NOTFOUND), _) => return Ok(Answer::Value(all)),
            (values, Direction::Forward) => all.extend(values?),
            (values, Direction::Back) => all = [values?, all].concat(),
        }
    }
}
