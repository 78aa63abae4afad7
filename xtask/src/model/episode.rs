//! An episode: one database from its creation on, and the model beside it.
//!
//! The same seed and number of episode always play the same operations.

use super::{
    changes::{self, ChangeContext},
    cursors::{CURSORS_MAX, CursorOperation, CursorRead, CursorStep, ModelCursor, walk},
    draw::DrawContext,
    multi::{self, RawMultiTable, changes::MultiChange, oracle::MultiKind, reads::MultiRead},
    operation::{ModelChange, ModelOperation, OtherThreadRead, ReadSource, ReopenMode, TableRead},
    oracle::{AnyModel, AnyTableKind, OracleTables, TableKind, TableModel},
    other_thread,
    reads::{self, RawTable},
    settings::ModelSettings,
    shape::{ModelKey, SWAPPED},
    violation::{ModelResult, ModelViolation, expect_error, expect_same},
};
use fastrand::Rng;
use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
    sync::Arc,
};
use teak::{
    CachedLookup, Database, Durability, Error, Options, ReadTxn, Recovery, Savepoint, Transaction,
    WriteTxn, codec::Bytes,
};

mod more;

const RECENT_MAX: usize = 20;
/// A database with fewer records is checked after each commit.
const CHECKED_RECORDS_MAX: usize = 300;

/// What an episode did. Outlives the episode, so that it can be told after a panic.
#[derive(Default)]
pub(crate) struct OperationLog {
    pub(crate) operation_count: u64,
    pub(crate) recent: VecDeque<ModelOperation>,
    pub(crate) settings: Option<ModelSettings>,
}

struct ModelReader {
    txn: ReadTxn,
    tables: OracleTables,
}

/// What reads a state, and what that holds.
enum ReadHandle<'s> {
    Read(&'s ReadTxn, &'s OracleTables),
    Write(&'s WriteTxn, &'s OracleTables),
}

struct ModelWriter {
    txn: WriteTxn,
    tables: OracleTables,
    savepoints: Vec<(Savepoint, OracleTables, Snapshots)>,
    snapshots: Snapshots,
    /// Whether tables have others' names or states, so that it is not known what changed them.
    is_recast: bool,
}

/// Named snapshots; `None` for one that the open transaction makes.
type Snapshots = BTreeMap<String, Option<OracleTables>>;

struct ModelEpisode {
    settings: ModelSettings,
    path: PathBuf,
    key_len_max: usize,
    /// Absent only while it is being opened anew.
    database: Option<Database>,
    committed: OracleTables,
    /// How many write transactions have begun.
    begins: usize,
    /// How many were committed, and how often all was brought to the disk.
    commits: usize,
    syncs: usize,
    /// Places of records that were looked up.
    cached: BTreeMap<(Vec<u8>, ModelKey), CachedLookup>,
    snapshots: Snapshots,
    writing: Option<ModelWriter>,
    readers: Vec<ModelReader>,
    cursors: Vec<ModelCursor>,
    /// Handles outlive the transaction they come from; kept here until a table is dropped or renamed.
    handles: BTreeMap<Vec<u8>, RawTable>,
}

/// Plays the first `operations_max` operations of an episode in `directory`.
pub(crate) fn run_episode(
    mut rng: Rng,
    directory: &Path,
    operations_max: u64,
    history: &mut OperationLog,
) -> ModelResult {
    let settings = ModelSettings::draw(&mut rng);
    history.settings = Some(settings.clone());
    let mut episode = ModelEpisode::create(settings, directory.join("model.teak"))?;
    while history.operation_count < operations_max {
        let operation = episode.view().draw(&mut rng);
        history.operation_count += 1;
        if history.recent.len() == RECENT_MAX {
            history.recent.pop_front();
        }
        history.recent.push_back(operation.clone());
        match episode.perform(&operation) {
            Err(ModelViolation::Full(_)) if episode.settings.size_limit_bytes.is_some() => {
                episode.recover_from_full()?;
            }
            outcome => outcome?,
        }
    }
    episode.finish()
}

impl ModelEpisode {
    fn create(settings: ModelSettings, path: PathBuf) -> ModelResult<Self> {
        let database = settings.open(&path)?;
        expect_same("page size", database.page_size(), settings.page_size)?;
        Ok(Self {
            settings,
            path,
            key_len_max: database.max_key_len(),
            database: Some(database),
            committed: OracleTables::default(),
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

    fn database(&self) -> ModelResult<&Database> {
        self.database
            .as_ref()
            .ok_or_else(|| ModelViolation::Other("the database is not open".to_owned()))
    }

    fn view(&self) -> DrawContext<'_> {
        DrawContext {
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

    fn perform(&mut self, operation: &ModelOperation) -> ModelResult {
        match operation {
            ModelOperation::Read(source, name, read) => self.read(*source, name, read),
            ModelOperation::Change(name, change) => self.change(name, change),
            ModelOperation::ReadMulti(source, name, read) => self.read_multi(*source, name, read),
            ModelOperation::ChangeMulti(name, change) => self.change_multi(name, change),
            ModelOperation::Walk(source, name, walk) => self.walk(*source, name, walk),
            ModelOperation::Cursor(operation) => self.cursor(operation),
            ModelOperation::Checkpoint => self.checkpoint(),
            ModelOperation::ReadOnOtherThread(reader, name, description) => {
                self.read_on_other_thread(*reader, name, description)
            }
            ModelOperation::CreateTable(name, kind) => self.create_table(name, kind),
            ModelOperation::DropTable(name) => self.drop_table(name),
            ModelOperation::RenameTable(from, to) => self.rename_table(from, to),
            ModelOperation::GetCached(source, name, key) => self.get_cached(*source, name, key),
            ModelOperation::SetMarks(marks) => self.set_marks(*marks),
            ModelOperation::WarmUp(mode) => self.warm_up(*mode),
            ModelOperation::ListTables(source) => self.list_tables(*source),
            ModelOperation::Savepoint => self.savepoint(),
            ModelOperation::RollBack(index) => self.roll_back(*index),
            ModelOperation::Release(index) => self.release(*index),
            ModelOperation::Commit(durability) => self.commit(*durability),
            ModelOperation::Abort => {
                self.abort();
                Ok(())
            }
            ModelOperation::BreakOff => self.expect_only_rollback(),
            ModelOperation::OpenReader => self.open_reader(),
            ModelOperation::CloneReader(index) => {
                let ModelReader { txn, tables } = &self.readers[*index];
                self.readers.push(ModelReader {
                    txn: txn.clone(),
                    tables: tables.clone(),
                });
                Ok(())
            }
            ModelOperation::VerifyReader(index) => self.readers[*index].verify(),
            ModelOperation::CloseReader(index) => self.readers.swap_remove(*index).verify(),
            ModelOperation::RefreshReader(index) => self.refresh(*index),
            ModelOperation::ParkReader(index) => self.park(*index),
            ModelOperation::BeginAt(reader) => self.begin_at(*reader),
            ModelOperation::CommitAndRead => self.commit_and_read(),
            ModelOperation::CopyRange {
                from,
                to,
                range,
                moves,
            } => self.copy_range(from, to, range, *moves),
            ModelOperation::DrawSequence(name, count) => self.draw_sequence(name, *count),
            ModelOperation::SetGeometry(geometry) => self.set_geometry(*geometry),
            ModelOperation::Compact => self.compact(),
            ModelOperation::CreateSnapshot(name) => self.create_snapshot(name),
            ModelOperation::DropSnapshot(name) => self.drop_snapshot(name),
            ModelOperation::RollBackToSnapshot(name) => self.roll_back_to_snapshot(name),
            ModelOperation::VerifySnapshots => self.verify_snapshots(),
            ModelOperation::Compare(older, newer) => self.compare(*older, *newer),
            ModelOperation::Sync => self.sync(),
            ModelOperation::Check => self.check(),
            ModelOperation::OpenCopy => self.open_copy(),
            ModelOperation::Reopen(leave) => self.reopen(*leave),
        }
    }

    fn read(&mut self, source: ReadSource, name: &[u8], read: &TableRead) -> ModelResult {
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

    fn read_on_other_thread(
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

    /// The handle of a table of the newest state.
    fn table(&mut self, name: &[u8]) -> ModelResult<RawTable> {
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

    fn writing(&mut self) -> ModelResult<&mut ModelWriter> {
        if self.writing.is_none() {
            let txn = self.begin()?;
            self.writing = Some(ModelWriter {
                txn,
                tables: self.committed.clone(),
                savepoints: Vec::new(),
                snapshots: self.snapshots.clone(),
                is_recast: false,
            });
        }
        self.writing
            .as_mut()
            .ok_or_else(|| ModelViolation::Other("no write transaction".to_owned()))
    }

    fn change(&mut self, name: &[u8], change: &ModelChange) -> ModelResult {
        let table = self.table(name)?;
        let context = ChangeContext {
            key_len_max: self.key_len_max,
            directory: &parent(&self.path),
        };
        let ModelWriter { txn, tables, .. } = self.writing()?;
        match tables.get_mut(name).map(Arc::make_mut) {
            Some(AnyModel::Plain(model)) => changes::perform(txn, &table, model, change, &context),
            _ => Err(no_such_table()),
        }
    }

    fn read_multi(&self, source: ReadSource, name: &[u8], read: &MultiRead) -> ModelResult {
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

    fn change_multi(&mut self, name: &[u8], change: &MultiChange) -> ModelResult {
        let ModelWriter { txn, tables, .. } = self.writing()?;
        let table: RawMultiTable = txn.open_multi_table(name)?;
        match tables.get_mut(name).map(Arc::make_mut) {
            Some(AnyModel::Multi(model)) => multi::changes::perform(txn, &table, model, change),
            _ => Err(no_such_table()),
        }
    }

    fn walk(
        &self,
        source: ReadSource,
        name: &[u8],
        walk: &(Vec<CursorStep>, CursorRead),
    ) -> ModelResult {
        self.looking(source, |view| match view {
            ReadHandle::Read(txn, tables) => walk::perform(txn, name, any(tables, name)?, walk),
            ReadHandle::Write(txn, tables) => walk::perform(txn, name, any(tables, name)?, walk),
        })
    }

    fn cursor(&mut self, operation: &CursorOperation) -> ModelResult {
        match operation {
            CursorOperation::Open(source, name) => {
                let cursor = self.looking(*source, |view| match view {
                    ReadHandle::Read(txn, tables) => {
                        ModelCursor::open(txn, name, any(tables, name)?)
                    }
                    ReadHandle::Write(txn, tables) => {
                        ModelCursor::open(txn, name, any(tables, name)?)
                    }
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
                    ReadHandle::Read(txn, tables) => cursor.step(txn, tables, step),
                    ReadHandle::Write(txn, tables) => cursor.step(txn, tables, step),
                })?;
                self.cursors[*slot] = cursor;
                Ok(())
            }
            CursorOperation::Read(slot, source, read) => {
                let mut cursor = self.cursors[*slot].clone();
                self.looking(*source, |view| match view {
                    ReadHandle::Read(txn, tables) => cursor.read(txn, tables, read),
                    ReadHandle::Write(txn, tables) => cursor.read(txn, tables, read),
                })?;
                self.cursors[*slot] = cursor;
                Ok(())
            }
            CursorOperation::Compare(slot, other, source) => {
                let (one, other) = (&self.cursors[*slot], &self.cursors[*other]);
                self.looking(*source, |view| match view {
                    ReadHandle::Read(txn, tables) => one.compare(other, txn, tables),
                    ReadHandle::Write(txn, tables) => one.compare(other, txn, tables),
                })
            }
            CursorOperation::Change(slot, change) => {
                let mut cursor = self.cursors[*slot].clone();
                let ModelWriter { txn, tables, .. } = self.writing()?;
                cursor.change(txn, tables, change)?;
                self.cursors[*slot] = cursor;
                Ok(())
            }
        }
    }

    fn keep_cursor(&mut self, cursor: ModelCursor) {
        if self.cursors.len() == CURSORS_MAX {
            self.cursors.remove(0);
        }
        self.cursors.push(cursor);
    }

    /// Has `read_state` see a state, through what reads it.
    fn looking<R>(
        &self,
        source: ReadSource,
        read_state: impl FnOnce(ReadHandle<'_>) -> ModelResult<R>,
    ) -> ModelResult<R> {
        match (source, &self.writing) {
            (ReadSource::Reader(index), _) => {
                let ModelReader { txn, tables } = &self.readers[index];
                read_state(ReadHandle::Read(txn, tables))
            }
            (_, Some(ModelWriter { txn, tables, .. })) => {
                read_state(ReadHandle::Write(txn, tables))
            }
            (_, None) => read_state(ReadHandle::Read(
                &self.database()?.begin_read()?,
                &self.committed,
            )),
        }
    }

    /// Commits what was done, and goes on in the same transaction, which has no savepoints then.
    fn checkpoint(&mut self) -> ModelResult {
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

    fn create_table(&mut self, name: &[u8], kind: &AnyTableKind) -> ModelResult {
        let ModelWriter { txn, tables, .. } = self.writing()?;
        let is_refused = |error: &Error| matches!(error, Error::TableMismatch { .. });
        let description = "a table with other options";
        match kind {
            AnyTableKind::Plain(kind) => {
                txn.create_table_with::<Bytes, Bytes>(name, kind.options())?;
                let other = TableKind {
                    share_prefixes: !kind.share_prefixes,
                    ..kind.clone()
                };
                let result = txn.create_table_with::<Bytes, Bytes>(name, other.options());
                expect_error(description, result, is_refused)?;
                let result = txn.open_multi_table::<Bytes, Bytes>(name);
                expect_error("a table of another kind", result, is_refused)?;
            }
            AnyTableKind::Multi(kind) => {
                txn.create_multi_table_with::<Bytes, Bytes>(name, kind.options())?;
                let other = MultiKind {
                    counted: !kind.counted,
                    ..kind.clone()
                };
                let result = txn.create_multi_table_with::<Bytes, Bytes>(name, other.options());
                expect_error(description, result, is_refused)?;
                let result = txn.open_table::<Bytes, Bytes>(name);
                expect_error("a table of another kind", result, is_refused)?;
            }
        }
        if !tables.contains_key(name) {
            tables.insert(name.to_vec(), Arc::new(AnyModel::new(kind)));
        }
        Ok(())
    }

    fn drop_table(&mut self, name: &[u8]) -> ModelResult {
        self.handles.remove(name);
        let ModelWriter {
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

    fn rename_table(&mut self, from: &[u8], to: &[u8]) -> ModelResult {
        self.handles.remove(from);
        self.handles.remove(to);
        let ModelWriter {
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

    fn list_tables(&self, source: ReadSource) -> ModelResult {
        match (source, &self.writing) {
            (ReadSource::Reader(index), _) => {
                reads::list_tables(&self.readers[index].txn, &self.readers[index].tables)
            }
            (_, Some(writing)) => reads::list_tables(&writing.txn, &writing.tables),
            (_, None) => reads::list_tables(&self.database()?.begin_read()?, &self.committed),
        }
    }

    fn savepoint(&mut self) -> ModelResult {
        let writing = self.writing()?;
        writing.savepoints.push((
            writing.txn.savepoint()?,
            writing.tables.clone(),
            writing.snapshots.clone(),
        ));
        Ok(())
    }

    fn roll_back(&mut self, index: usize) -> ModelResult {
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
    fn release(&mut self, index: usize) -> ModelResult {
        let writing = self.writing()?;
        while writing.savepoints.len() > index {
            if let Some((savepoint, ..)) = writing.savepoints.pop() {
                writing.txn.release(savepoint)?;
            }
        }
        Ok(())
    }

    fn commit(&mut self, durability: Option<Durability>) -> ModelResult {
        let Some(ModelWriter {
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
        let committed = self.commit_in_turn(txn)?;
        if !is_recast {
            self.expect_changed(&before, &tables, committed)?;
        }
        for state in snapshots.values_mut() {
            state.get_or_insert_with(|| tables.clone());
        }
        self.snapshots = snapshots;
        self.committed = tables;
        // What is small is checked every time: a checksum that is wrong may be right again soon.
        let records: usize = self.committed.values().map(|table| table.len()).sum();
        if records < CHECKED_RECORDS_MAX {
            return self.check();
        }
        Ok(())
    }

    /// Goes on after the size limit was reached: what was done since the last savepoint, or else the
    /// whole transaction, is given up. Nothing else may be lost by that.
    fn recover_from_full(&mut self) -> ModelResult {
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

    fn create_snapshot(&mut self, name: &str) -> ModelResult {
        let writing = self.writing()?;
        writing.txn.create_snapshot(name)?;
        let again = writing.txn.create_snapshot(name);
        writing.snapshots.insert(name.to_owned(), None);
        expect_error("a snapshot of a name that is taken", again, |error| {
            matches!(error, Error::SnapshotExists(_))
        })
    }

    fn drop_snapshot(&mut self, name: &str) -> ModelResult {
        let writing = self.writing()?;
        writing.txn.drop_snapshot(name)?;
        let again = writing.txn.drop_snapshot(name);
        writing.snapshots.remove(name);
        expect_error("a snapshot that is not there", again, |error| {
            matches!(error, Error::SnapshotNotFound(_))
        })
    }

    fn roll_back_to_snapshot(&mut self, name: &str) -> ModelResult {
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

    fn verify_snapshots(&self) -> ModelResult {
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

    fn compare(&self, older: usize, newer: Option<usize>) -> ModelResult {
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

    fn open_reader(&mut self) -> ModelResult {
        self.readers.push(ModelReader {
            txn: self.database()?.begin_read()?,
            tables: self.committed.clone(),
        });
        Ok(())
    }

    fn check(&self) -> ModelResult {
        let report = self.database()?.check(&mut |_| ())?;
        if !report.is_clean() {
            return Err(ModelViolation::Other(format!(
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
            return Err(ModelViolation::Other(format!(
                "over the size limit: {stat:?}"
            )));
        }
        let records: usize = self.committed.values().map(|table| table.len()).sum();
        expect_same("records that check counts", report.records, records as u64)?;
        self.walk_pages()
    }

    /// Opens a copy of the file as it is now, write transactions under way and all: a process that
    /// was killed leaves no more and no less.
    fn open_copy(&self) -> ModelResult {
        let path = self.path.with_extension("copy");
        std::fs::copy(&self.path, &path)
            .map_err(|error| ModelViolation::Other(format!("copying the file: {error}")))?;
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

    fn reopen(&mut self, leave: ReopenMode) -> ModelResult {
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
            return Err(ModelViolation::Other(format!(
                "closed in order, and found {:?}",
                database.recovery()
            )));
        }
        reads::verify(&database.begin_read()?, &self.committed)
    }

    /// Compares everything once more, before and after closing.
    fn finish(mut self) -> ModelResult {
        if let Some(writing) = &self.writing {
            reads::verify(&writing.txn, &writing.tables)?;
        }
        match self.commit(None) {
            Err(ModelViolation::Full(_)) if self.settings.size_limit_bytes.is_some() => (),
            outcome => outcome?,
        }
        self.check()?;
        self.reopen(ReopenMode::Drop)?;
        self.verify_snapshots()?;
        self.check()
    }
}

impl ModelReader {
    fn verify(&self) -> ModelResult {
        reads::verify(&self.txn, &self.tables)
    }
}

fn plain<'t>(tables: &'t OracleTables, name: &[u8]) -> ModelResult<&'t TableModel> {
    let table = tables.get(name).and_then(|table| table.plain());
    table.ok_or_else(no_such_table)
}

fn any<'t>(tables: &'t OracleTables, name: &[u8]) -> ModelResult<&'t AnyModel> {
    let table = tables.get(name).map(|table| &**table);
    table.ok_or_else(no_such_table)
}

fn no_such_table() -> ModelViolation {
    ModelViolation::Other("no such table in the model".to_owned())
}

fn parent(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}
