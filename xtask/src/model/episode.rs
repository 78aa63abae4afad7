//! An episode: one database from its creation on, and the model beside it.
//!
//! The same seed and number of episode always play the same operations.

use super::{
    changes::{self, Place},
    cursors::{CURSORS_MAX, Cursor, CursorOperation, CursorRead, CursorStep, walk},
    draw::View,
    elsewhere,
    multi::{self, RawMultiTable, changes::MultiChange, oracle::MultiKind, reads::MultiRead},
    operation::{Change, Elsewhere, Leave, Operation, Read, Source},
    oracle::{AnyKind, AnyModel, TableKind, TableModel, Tables},
    reads::{self, RawTable},
    settings::Settings,
    shape::{Key, SWAPPED},
    violation::{Outcome, Violation, expect_error, expect_same},
};
use fastrand::Rng;
use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
    sync::Arc,
};
use teak::{
    CachedPlace, Database, Durability, Error, Options, ReadTxn, Recovery, Savepoint, Transaction,
    WriteTxn, codec::Bytes,
};

mod more;

const RECENT_MAX: usize = 20;
/// A database with fewer records is checked after each commit.
const CHECKED_RECORDS_MAX: usize = 300;

/// What an episode did. Outlives the episode, so that it can be told after a panic.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) operation_count: u64,
    pub(crate) recent: VecDeque<Operation>,
    pub(crate) settings: Option<Settings>,
}

struct Reader {
    txn: ReadTxn,
    tables: Tables,
}

/// What reads a state, and what that holds.
enum Seen<'s> {
    Read(&'s ReadTxn, &'s Tables),
    Write(&'s WriteTxn, &'s Tables),
}

struct Writing {
    txn: WriteTxn,
    tables: Tables,
    savepoints: Vec<(Savepoint, Tables, Snapshots)>,
    snapshots: Snapshots,
    /// Whether tables have others' names or states, so that it is not known what changed them.
    is_recast: bool,
}

/// Named snapshots; `None` for one that the open transaction makes.
type Snapshots = BTreeMap<String, Option<Tables>>;

struct Episode {
    settings: Settings,
    path: PathBuf,
    key_len_max: usize,
    /// Absent only while it is being opened anew.
    database: Option<Database>,
    committed: Tables,
    /// How many write transactions have begun.
    begins: usize,
    /// How many were committed, and how often all was brought to the disk.
    commits: usize,
    syncs: usize,
    /// Places of records that were looked up.
    cached: BTreeMap<(Vec<u8>, Key), CachedPlace>,
    snapshots: Snapshots,
    writing: Option<Writing>,
    readers: Vec<Reader>,
    cursors: Vec<Cursor>,
    /// Handles outlive the transaction they come from; kept here until a table is dropped or renamed.
    handles: BTreeMap<Vec<u8>, RawTable>,
}

/// Plays the first `operations_max` operations of an episode in `directory`.
pub(crate) fn play(
    mut rng: Rng,
    directory: &Path,
    operations_max: u64,
    history: &mut History,
) -> Outcome {
    let settings = Settings::draw(&mut rng);
    history.settings = Some(settings.clone());
    let mut episode = Episode::create(settings, directory.join("model.teak"))?;
    while history.operation_count < operations_max {
        let operation = episode.view().draw(&mut rng);
        history.operation_count += 1;
        if history.recent.len() == RECENT_MAX {
            history.recent.pop_front();
        }
        history.recent.push_back(operation.clone());
        match episode.perform(&operation) {
            Err(Violation::Full(_)) if episode.settings.size_limit_bytes.is_some() => {
                episode.make_do()?;
            }
            outcome => outcome?,
        }
    }
    episode.finish()
}

impl Episode {
    fn create(settings: Settings, path: PathBuf) -> Outcome<Self> {
        let database = settings.open(&path)?;
        expect_same("page size", database.page_size(), settings.page_size)?;
        Ok(Self {
            settings,
            path,
            key_len_max: database.max_key_len(),
            database: Some(database),
            committed: Tables::default(),
            begins: 0,
            commits: 0,
            syncs: 0,
            cached: BTreeMap::new(),
            snapshots: Snapshots::new(),
            writing: None,
            readers: Vec::new(),
            cursors: Vec::new(),
            handles: BTreeMap::new(),
        })
    }

    fn database(&self) -> Outcome<&Database> {
        self.database
            .as_ref()
            .ok_or_else(|| Violation::Other("the database is not open".to_owned()))
    }

    fn view(&self) -> View<'_> {
        View {
            settings: &self.settings,
            key_len_max: self.key_len_max,
            tables: self
                .writing
                .as_ref()
                .map_or(&self.committed, |writing| &writing.tables),
            committed: &self.committed,
            readers: self.readers.iter().map(|reader| &reader.tables).collect(),
            cursors: (self.cursors.iter())
                .map(|cursor| &cursor.table[..])
                .collect(),
            is_writing: self.writing.is_some(),
            savepoint_count: self
                .writing
                .as_ref()
                .map_or(0, |writing| writing.savepoints.len()),
            snapshots: (self.writing.as_ref())
                .map_or(&self.snapshots, |writing| &writing.snapshots)
                .keys()
                .map(String::as_str)
                .collect(),
            committed_snapshots: self.snapshots.keys().map(String::as_str).collect(),
        }
    }

    fn perform(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Read(source, name, read) => self.read(*source, name, read),
            Operation::Change(name, change) => self.change(name, change),
            Operation::ReadMulti(source, name, read) => self.read_multi(*source, name, read),
            Operation::ChangeMulti(name, change) => self.change_multi(name, change),
            Operation::Walk(source, name, walk) => self.walk(*source, name, walk),
            Operation::Cursor(operation) => self.cursor(operation),
            Operation::Checkpoint => self.checkpoint(),
            Operation::ReadElsewhere(reader, name, what) => {
                self.read_elsewhere(*reader, name, what)
            }
            Operation::CreateTable(name, kind) => self.create_table(name, kind),
            Operation::DropTable(name) => self.drop_table(name),
            Operation::RenameTable(from, to) => self.rename_table(from, to),
            Operation::GetCached(source, name, key) => self.get_cached(*source, name, key),
            Operation::SetMarks(marks) => self.set_marks(*marks),
            Operation::WarmUp(how) => self.warm_up(*how),
            Operation::ListTables(source) => self.list_tables(*source),
            Operation::Savepoint => self.savepoint(),
            Operation::RollBack(index) => self.roll_back(*index),
            Operation::Release(index) => self.release(*index),
            Operation::Commit(durability) => self.commit(*durability),
            Operation::Abort => {
                self.abort();
                Ok(())
            }
            Operation::BreakOff => self.break_off(),
            Operation::OpenReader => self.open_reader(),
            Operation::CloneReader(index) => {
                let Reader { txn, tables } = &self.readers[*index];
                self.readers.push(Reader {
                    txn: txn.clone(),
                    tables: tables.clone(),
                });
                Ok(())
            }
            Operation::VerifyReader(index) => self.readers[*index].verify(),
            Operation::CloseReader(index) => self.readers.swap_remove(*index).verify(),
            Operation::RefreshReader(index) => self.refresh(*index),
            Operation::ParkReader(index) => self.park(*index),
            Operation::BeginAt(reader) => self.begin_at(*reader),
            Operation::CommitAndRead => self.commit_and_read(),
            Operation::CopyRange {
                from,
                to,
                range,
                moves,
            } => self.copy_range(from, to, range, *moves),
            Operation::DrawSequence(name, count) => self.draw_sequence(name, *count),
            Operation::SetGeometry(geometry) => self.set_geometry(*geometry),
            Operation::Compact => self.compact(),
            Operation::CreateSnapshot(name) => self.create_snapshot(name),
            Operation::DropSnapshot(name) => self.drop_snapshot(name),
            Operation::RollBackToSnapshot(name) => self.roll_back_to_snapshot(name),
            Operation::VerifySnapshots => self.verify_snapshots(),
            Operation::Compare(older, newer) => self.compare(*older, *newer),
            Operation::Sync => self.sync(),
            Operation::Check => self.check(),
            Operation::OpenCopy => self.open_copy(),
            Operation::Reopen(leave) => self.reopen(*leave),
        }
    }

    fn read(&mut self, source: Source, name: &[u8], read: &Read) -> Outcome {
        if let Source::Reader(index) = source {
            let Reader { txn, tables } = &self.readers[index];
            return reads::perform(txn, &txn.open_table(name)?, plain(tables, name)?, read);
        }
        let table = self.table(name)?;
        match &self.writing {
            Some(Writing { txn, tables, .. }) => {
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

    fn read_elsewhere(&self, reader: Option<usize>, name: &[u8], what: &Elsewhere) -> Outcome {
        let newest;
        let (txn, tables) = match reader {
            Some(index) => (&self.readers[index].txn, &self.readers[index].tables),
            None => {
                newest = self.database()?.begin_read()?;
                (&newest, &self.committed)
            }
        };
        elsewhere::perform(txn, &txn.open_table(name)?, plain(tables, name)?, what)
    }

    /// The handle of a table of the newest state.
    fn table(&mut self, name: &[u8]) -> Outcome<RawTable> {
        if let Some(table) = self.handles.get(name) {
            return Ok(table.clone());
        }
        let table: RawTable = match &self.writing {
            Some(writing) => writing.txn.open_table(name)?,
            None => self.database()?.begin_read()?.open_table(name)?,
        };
        self.handles.insert(name.to_vec(), table.clone());
        Ok(table)
    }

    fn writing(&mut self) -> Outcome<&mut Writing> {
        if self.writing.is_none() {
            let txn = self.begin()?;
            self.writing = Some(Writing {
                txn,
                tables: self.committed.clone(),
                savepoints: Vec::new(),
                snapshots: self.snapshots.clone(),
                is_recast: false,
            });
        }
        self.writing
            .as_mut()
            .ok_or_else(|| Violation::Other("no write transaction".to_owned()))
    }

    fn change(&mut self, name: &[u8], change: &Change) -> Outcome {
        let table = self.table(name)?;
        let place = Place {
            key_len_max: self.key_len_max,
            directory: &parent(&self.path),
        };
        let Writing { txn, tables, .. } = self.writing()?;
        match tables.get_mut(name).map(Arc::make_mut) {
            Some(AnyModel::Plain(model)) => changes::perform(txn, &table, model, change, &place),
            _ => Err(no_such_table()),
        }
    }

    fn read_multi(&self, source: Source, name: &[u8], read: &MultiRead) -> Outcome {
        fn perform<T: Transaction>(
            txn: &T,
            tables: &Tables,
            name: &[u8],
            read: &MultiRead,
        ) -> Outcome {
            let model = tables.get(name).and_then(|table| table.multi());
            let model = model.ok_or_else(no_such_table)?;
            multi::reads::perform(txn, &txn.open_multi_table(name)?, model, read)
        }
        match (source, &self.writing) {
            (Source::Reader(index), _) => {
                let Reader { txn, tables } = &self.readers[index];
                perform(txn, tables, name, read)?;
                multi::reads::perform_owned(txn, name, tables, read)
            }
            (_, Some(Writing { txn, tables, .. })) => perform(txn, tables, name, read),
            (_, None) => perform(&self.database()?.begin_read()?, &self.committed, name, read),
        }
    }

    fn change_multi(&mut self, name: &[u8], change: &MultiChange) -> Outcome {
        let Writing { txn, tables, .. } = self.writing()?;
        let table: RawMultiTable = txn.open_multi_table(name)?;
        match tables.get_mut(name).map(Arc::make_mut) {
            Some(AnyModel::Multi(model)) => multi::changes::perform(txn, &table, model, change),
            _ => Err(no_such_table()),
        }
    }

    fn walk(&self, source: Source, name: &[u8], walk: &(Vec<CursorStep>, CursorRead)) -> Outcome {
        self.looking(source, |view| match view {
            Seen::Read(txn, tables) => walk::perform(txn, name, any(tables, name)?, walk),
            Seen::Write(txn, tables) => walk::perform(txn, name, any(tables, name)?, walk),
        })
    }

    fn cursor(&mut self, operation: &CursorOperation) -> Outcome {
        match operation {
            CursorOperation::Open(source, name) => {
                let cursor = self.looking(*source, |view| match view {
                    Seen::Read(txn, tables) => Cursor::open(txn, name, any(tables, name)?),
                    Seen::Write(txn, tables) => Cursor::open(txn, name, any(tables, name)?),
                })?;
                self.keep_cursor(cursor);
                Ok(())
            }
            CursorOperation::Copy(slot) => {
                let copy = self.cursors[*slot].clone();
                self.keep_cursor(copy);
                Ok(())
            }
            CursorOperation::Reset(slot) => {
                self.cursors[*slot].reset();
                Ok(())
            }
            CursorOperation::Step(slot, source, step) => {
                let mut cursor = self.cursors[*slot].clone();
                self.looking(*source, |view| match view {
                    Seen::Read(txn, tables) => cursor.step(txn, tables, step),
                    Seen::Write(txn, tables) => cursor.step(txn, tables, step),
                })?;
                self.cursors[*slot] = cursor;
                Ok(())
            }
            CursorOperation::Read(slot, source, read) => {
                let mut cursor = self.cursors[*slot].clone();
                self.looking(*source, |view| match view {
                    Seen::Read(txn, tables) => cursor.read(txn, tables, read),
                    Seen::Write(txn, tables) => cursor.read(txn, tables, read),
                })?;
                self.cursors[*slot] = cursor;
                Ok(())
            }
            CursorOperation::Compare(slot, other, source) => {
                let (one, other) = (&self.cursors[*slot], &self.cursors[*other]);
                self.looking(*source, |view| match view {
                    Seen::Read(txn, tables) => one.compare(other, txn, tables),
                    Seen::Write(txn, tables) => one.compare(other, txn, tables),
                })
            }
            CursorOperation::Change(slot, change) => {
                let mut cursor = self.cursors[*slot].clone();
                let Writing { txn, tables, .. } = self.writing()?;
                cursor.change(txn, tables, change)?;
                self.cursors[*slot] = cursor;
                Ok(())
            }
        }
    }

    fn keep_cursor(&mut self, cursor: Cursor) {
        if self.cursors.len() == CURSORS_MAX {
            self.cursors.remove(0);
        }
        self.cursors.push(cursor);
    }

    /// Has `look` see a state, through what reads it.
    fn looking<R>(&self, source: Source, look: impl FnOnce(Seen<'_>) -> Outcome<R>) -> Outcome<R> {
        match (source, &self.writing) {
            (Source::Reader(index), _) => {
                let Reader { txn, tables } = &self.readers[index];
                look(Seen::Read(txn, tables))
            }
            (_, Some(Writing { txn, tables, .. })) => look(Seen::Write(txn, tables)),
            (_, None) => look(Seen::Read(&self.database()?.begin_read()?, &self.committed)),
        }
    }

    /// Commits what was done, and goes on in the same transaction, which has no savepoints then.
    fn checkpoint(&mut self) -> Outcome {
        let writing = self.writing()?;
        writing.savepoints.clear();
        writing.txn.checkpoint()?;
        let tables = writing.tables.clone();
        for state in writing.snapshots.values_mut() {
            state.get_or_insert_with(|| tables.clone());
        }
        // What it changed before is another commit's.
        writing.is_recast = true;
        self.snapshots = writing.snapshots.clone();
        self.committed = tables;
        Ok(())
    }

    fn create_table(&mut self, name: &[u8], kind: &AnyKind) -> Outcome {
        let Writing { txn, tables, .. } = self.writing()?;
        let is_refused = |error: &Error| matches!(error, Error::TableMismatch { .. });
        let what = "a table with other options";
        match kind {
            AnyKind::Plain(kind) => {
                txn.create_table_with::<Bytes, Bytes>(name, kind.options())?;
                let other = TableKind {
                    share_prefixes: !kind.share_prefixes,
                    ..kind.clone()
                };
                let result = txn.create_table_with::<Bytes, Bytes>(name, other.options());
                expect_error(what, result, is_refused)?;
                let result = txn.open_multi_table::<Bytes, Bytes>(name);
                expect_error("a table of another kind", result, is_refused)?;
            }
            AnyKind::Multi(kind) => {
                txn.create_multi_table_with::<Bytes, Bytes>(name, kind.options())?;
                let other = MultiKind {
                    counted: !kind.counted,
                    ..kind.clone()
                };
                let result = txn.create_multi_table_with::<Bytes, Bytes>(name, other.options());
                expect_error(what, result, is_refused)?;
                let result = txn.open_table::<Bytes, Bytes>(name);
                expect_error("a table of another kind", result, is_refused)?;
            }
        }
        if !tables.contains_key(name) {
            tables.insert(name.to_vec(), Arc::new(AnyModel::new(kind)));
        }
        Ok(())
    }

    fn drop_table(&mut self, name: &[u8]) -> Outcome {
        self.handles.remove(name);
        let Writing {
            txn,
            tables,
            is_recast,
            ..
        } = self.writing()?;
        *is_recast = true;
        expect_same(
            "drop_table",
            txn.drop_table(name)?,
            tables.remove(name).is_some(),
        )?;
        let result = txn.open_table::<Bytes, Bytes>(name);
        expect_error("a dropped table", result, |error| {
            matches!(error, Error::TableNotFound(_))
        })
    }

    fn rename_table(&mut self, from: &[u8], to: &[u8]) -> Outcome {
        self.handles.remove(from);
        self.handles.remove(to);
        let Writing {
            txn,
            tables,
            is_recast,
            ..
        } = self.writing()?;
        *is_recast = true;
        let result = txn.rename_table(from, to);
        match tables.get(from) {
            None => expect_error("renaming no table", result, |error| {
                matches!(error, Error::TableNotFound(_))
            }),
            Some(_) if tables.contains_key(to) => {
                expect_error("renaming to a name that is taken", result, |error| {
                    matches!(error, Error::TableExists(_))
                })
            }
            Some(table) => {
                let table = table.clone();
                tables.remove(from);
                tables.insert(to.to_vec(), table);
                Ok(result?)
            }
        }
    }

    fn list_tables(&self, source: Source) -> Outcome {
        match (source, &self.writing) {
            (Source::Reader(index), _) => {
                reads::list_tables(&self.readers[index].txn, &self.readers[index].tables)
            }
            (_, Some(writing)) => reads::list_tables(&writing.txn, &writing.tables),
            (_, None) => reads::list_tables(&self.database()?.begin_read()?, &self.committed),
        }
    }

    fn savepoint(&mut self) -> Outcome {
        let writing = self.writing()?;
        writing.savepoints.push((
            writing.txn.savepoint()?,
            writing.tables.clone(),
            writing.snapshots.clone(),
        ));
        Ok(())
    }

    fn roll_back(&mut self, index: usize) -> Outcome {
        self.handles.clear();
        let writing = self.writing()?;
        let (savepoint, tables, snapshots) = &writing.savepoints[index];
        writing.txn.rollback_to(savepoint)?;
        writing.tables = tables.clone();
        writing.snapshots = snapshots.clone();
        writing.savepoints.truncate(index + 1);
        reads::list_tables(&writing.txn, &writing.tables)
    }

    /// Releases a savepoint, and before it the ones within it.
    fn release(&mut self, index: usize) -> Outcome {
        let writing = self.writing()?;
        while writing.savepoints.len() > index {
            if let Some((savepoint, ..)) = writing.savepoints.pop() {
                writing.txn.release(savepoint)?;
            }
        }
        Ok(())
    }

    fn commit(&mut self, durability: Option<Durability>) -> Outcome {
        let Some(Writing {
            mut txn,
            tables,
            mut snapshots,
            is_recast,
            ..
        }) = self.writing.take()
        else {
            return Ok(());
        };
        if let Some(durability) = durability {
            txn.set_durability(durability);
        }
        let before = self.changes()?;
        let committed = self.commit_somehow(txn)?;
        if !is_recast {
            self.expect_changed(&before, &tables, committed)?;
        }
        for state in snapshots.values_mut() {
            state.get_or_insert_with(|| tables.clone());
        }
        self.snapshots = snapshots;
        self.committed = tables;
        // What is small is checked every time: a tag that is wrong may be right again soon.
        let records: usize = self.committed.values().map(|table| table.len()).sum();
        if records < CHECKED_RECORDS_MAX {
            return self.check();
        }
        Ok(())
    }

    /// Goes on after the size limit was reached: what was done since the last savepoint, or else the
    /// whole transaction, is given up. Nothing else may be lost by that.
    fn make_do(&mut self) -> Outcome {
        self.handles.clear();
        match &self.writing {
            Some(writing) if !writing.savepoints.is_empty() => {
                self.roll_back(writing.savepoints.len() - 1)?;
            }
            _ => self.abort(),
        }
        self.check()
    }

    fn abort(&mut self) {
        self.handles.clear();
        if let Some(writing) = self.writing.take() {
            writing.txn.abort();
        }
    }

    fn create_snapshot(&mut self, name: &str) -> Outcome {
        let writing = self.writing()?;
        writing.txn.create_snapshot(name)?;
        let again = writing.txn.create_snapshot(name);
        writing.snapshots.insert(name.to_owned(), None);
        expect_error("a snapshot of a name that is taken", again, |error| {
            matches!(error, Error::SnapshotExists(_))
        })
    }

    fn drop_snapshot(&mut self, name: &str) -> Outcome {
        let writing = self.writing()?;
        writing.txn.drop_snapshot(name)?;
        let again = writing.txn.drop_snapshot(name);
        writing.snapshots.remove(name);
        expect_error("a snapshot that is not there", again, |error| {
            matches!(error, Error::SnapshotNotFound(_))
        })
    }

    fn roll_back_to_snapshot(&mut self, name: &str) -> Outcome {
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
        // Marks stay.
        tables.marks = writing.tables.marks;
        writing.tables = tables;
        reads::list_tables(&writing.txn, &writing.tables)
    }

    fn verify_snapshots(&self) -> Outcome {
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

    fn compare(&self, older: usize, newer: Option<usize>) -> Outcome {
        let older = &self.readers[older];
        let newest;
        let newer = match newer {
            Some(index) => &self.readers[index],
            None => {
                newest = Reader {
                    txn: self.database()?.begin_read()?,
                    tables: self.committed.clone(),
                };
                &newest
            }
        };
        reads::compare((&older.txn, &older.tables), (&newer.txn, &newer.tables))
    }

    fn open_reader(&mut self) -> Outcome {
        self.readers.push(Reader {
            txn: self.database()?.begin_read()?,
            tables: self.committed.clone(),
        });
        Ok(())
    }

    fn check(&self) -> Outcome {
        let report = self.database()?.check(&mut |_| ())?;
        if !report.is_clean() {
            return Err(Violation::Other(format!(
                "check found damage: {:?}",
                report.damages
            )));
        }
        let stat = self.database()?.stat()?;
        if self
            .settings
            .size_limit_bytes
            .is_some_and(|limit| stat.file_bytes > limit)
        {
            return Err(Violation::Other(format!("over the size limit: {stat:?}")));
        }
        let records: usize = self.committed.values().map(|table| table.len()).sum();
        expect_same("records that check counts", report.records, records as u64)?;
        self.walk_pages()
    }

    /// Opens a copy of the file as it is now, write transactions under way and all: a process that
    /// was killed leaves no more and no less.
    fn open_copy(&self) -> Outcome {
        let path = self.path.with_extension("copy");
        std::fs::copy(&self.path, &path)
            .map_err(|error| Violation::Other(format!("copying the file: {error}")))?;
        let database = self.settings.open(&path)?;
        reads::verify(&database.begin_read()?, &self.committed)?;
        let report = database.check(&mut |_| ())?;
        expect_same("damages in a copy", report.damages, Vec::new())?;
        let mut txn = database.begin_write()?;
        match txn.create_table::<Bytes, Bytes>("copied") {
            Ok(_) | Err(Error::Full { .. }) => txn.abort(),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn reopen(&mut self, leave: Leave) -> Outcome {
        self.handles.clear();
        for reader in self.readers.drain(..) {
            reader.verify()?;
        }
        match (leave, self.database.take()) {
            (Leave::Close | Leave::CloseThenReadOnly, Some(database)) => database.close()?,
            (Leave::Drop, database) => drop(database),
            (_, None) => (),
        }
        if matches!(leave, Leave::CloseThenReadOnly) {
            let options = Options::new().read_only(true).comparison(&SWAPPED);
            let database = options.open(&self.path)?;
            reads::verify(&database.begin_read()?, &self.committed)?;
            let result = database.begin_write();
            expect_error(
                "writing to a database opened for reading",
                result,
                |error| matches!(error, Error::ReadOnly),
            )?;
        }
        self.database = Some(self.settings.open(&self.path)?);
        let database = self.database()?;
        if !matches!(database.recovery(), Recovery::Clean) {
            return Err(Violation::Other(format!(
                "closed in order, and found {:?}",
                database.recovery()
            )));
        }
        reads::verify(&database.begin_read()?, &self.committed)
    }

    /// Compares everything once more, before and after closing.
    fn finish(mut self) -> Outcome {
        if let Some(writing) = &self.writing {
            reads::verify(&writing.txn, &writing.tables)?;
        }
        match self.commit(None) {
            Err(Violation::Full(_)) if self.settings.size_limit_bytes.is_some() => (),
            outcome => outcome?,
        }
        self.check()?;
        self.reopen(Leave::Drop)?;
        self.verify_snapshots()?;
        self.check()
    }
}

impl Reader {
    fn verify(&self) -> Outcome {
        reads::verify(&self.txn, &self.tables)
    }
}

fn plain<'t>(tables: &'t Tables, name: &[u8]) -> Outcome<&'t TableModel> {
    let table = tables.get(name).and_then(|table| table.plain());
    table.ok_or_else(no_such_table)
}

fn any<'t>(tables: &'t Tables, name: &[u8]) -> Outcome<&'t AnyModel> {
    let table = tables.get(name).map(|table| &**table);
    table.ok_or_else(no_such_table)
}

fn no_such_table() -> Violation {
    Violation::Other("no such table in the model".to_owned())
}

fn parent(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}
