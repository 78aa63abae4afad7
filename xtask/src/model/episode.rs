//! An episode: one database from its creation on, and its model.
//!
//! Episodes with equal seeds and numbers play equal operations.

use super::{
    changes::{self, ChangeContext},
    cursors::ModelCursor,
    draw::DrawContext,
    multi::{self, RawMultiTable, changes::MultiChange},
    operation::{ModelChange, ModelOperation, ReopenMode},
    operation_log::{LoggedOperation, OperationLog},
    oracle::{AnyModel, OracleTables, TableModel},
    plan::ModelPlan,
    reading::RawTable,
    settings::ModelSettings,
    shape::ModelKey,
    violation::{ModelResult, ModelViolation, expect_same},
};
use fastrand::Rng;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use teak::{CachedLookup, Database, Durability, ReadTxn, Savepoint, Transaction, WriteTxn};

/// Evaluates an expression with the transaction and the model of a state.
macro_rules! with_state {
    ($episode:expr, $source:expr, |$txn:ident, $tables:ident| $work:expr) => {
        match ($source, &$episode.writing) {
            (ReadSource::Reader(index), _) => {
                let ($txn, $tables) = $episode.readers[index].state();
                $work
            }
            (_, Some(writing)) => {
                let ($txn, $tables) = (&writing.txn, &writing.tables);
                $work
            }
            (_, None) => {
                let ($txn, $tables) = (&$episode.database()?.begin_read()?, &$episode.committed);
                $work
            }
        }
    };
}

mod cursors;
mod files;
mod prepared;
mod reads;
mod snapshots;
mod tables;
mod transactions;

/// A database with fewer records is checked after half of the commits.
const CHECKED_RECORDS_MAX: usize = 300;

struct ModelReader {
    txn: ReadTxn,
    tables: OracleTables,
}

struct ModelWriter {
    txn: WriteTxn,
    tables: OracleTables,
    savepoints: Vec<(Savepoint, OracleTables, Snapshots)>,
    snapshots: Snapshots,
    /// Whether a table got another one's name or state, so that its last change is unknown.
    is_recast: bool,
}

/// Named snapshots; `None` for one that the open transaction makes.
type Snapshots = BTreeMap<String, Option<OracleTables>>;

struct ModelEpisode {
    settings: ModelSettings,
    path: PathBuf,
    key_len_max: usize,
    /// `None` only while it is reopened.
    database: Option<Database>,
    committed: OracleTables,
    /// The number of write transactions that have begun.
    begins: usize,
    /// The number of commits, and the number of flushes.
    commits: usize,
    syncs: usize,
    /// Cached lookups.
    cached: BTreeMap<(Vec<u8>, ModelKey), CachedLookup>,
    snapshots: Snapshots,
    writing: Option<ModelWriter>,
    readers: Vec<ModelReader>,
    cursors: Vec<ModelCursor>,
    /// Handles outlive the transaction that made them. They are kept here until a table is dropped
    /// or renamed.
    handles: BTreeMap<Vec<u8>, RawTable>,
}

/// Plays the operations of an episode in `directory`.
pub(super) fn run_episode(
    mut rng: Rng,
    plan: &ModelPlan,
    directory: &Path,
    history: &mut OperationLog,
) -> ModelResult {
    let mut settings = ModelSettings::draw(&mut rng);
    settings.encoding = plan.encoding;
    settings.page_size = plan.encoding.page_size(settings.page_size);
    history.settings = Some(settings.clone());
    let mut episode = ModelEpisode::create(settings, directory.join("model.teak"))?;
    while history.operation_count < plan.operations_max {
        let operation = episode.view().draw(&mut rng);
        history.note(LoggedOperation::Lasting(operation.clone()));
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
        expect_same("page size", database.info().page_size, settings.page_size)?;
        Ok(Self {
            settings,
            path,
            key_len_max: database.info().max_key_len,
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
            ModelOperation::Prepare { is_commit, reopen } => self.prepare(*is_commit, *reopen),
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
            ModelOperation::SetTypes(name, types) => self.set_types(name, types),
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

    /// Continues with a write transaction that has just begun from the committed state.
    fn write_with(&mut self, txn: WriteTxn) {
        self.writing = Some(ModelWriter {
            txn,
            tables: self.committed.clone(),
            savepoints: Vec::new(),
            snapshots: self.snapshots.clone(),
            is_recast: false,
        });
    }

    fn writing(&mut self) -> ModelResult<&mut ModelWriter> {
        if self.writing.is_none() {
            let txn = self.begin()?;
            self.write_with(txn);
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

    fn change_multi(&mut self, name: &[u8], change: &MultiChange) -> ModelResult {
        let ModelWriter { txn, tables, .. } = self.writing()?;
        let table: RawMultiTable = txn.open_multi_table(name)?;
        match tables.get_mut(name).map(Arc::make_mut) {
            Some(AnyModel::Multi(model)) => multi::changes::perform(txn, &table, model, change),
            _ => Err(no_such_table()),
        }
    }

    /// Commits, and continues in the same transaction, which then has no savepoints.
    fn checkpoint(&mut self) -> ModelResult {
        let writing = self.writing()?;
        writing.savepoints.clear();
        writing.txn.checkpoint()?;
        // Its earlier changes belong to another commit.
        writing.is_recast = true;
        let (tables, snapshots) = (writing.tables.clone(), writing.snapshots.clone());
        self.publish(tables, snapshots);
        self.writing()?.snapshots = self.snapshots.clone();
        Ok(())
    }

    /// Continues with the state of a commit, and its named snapshots.
    fn publish(&mut self, tables: OracleTables, mut snapshots: Snapshots) {
        for state in snapshots.values_mut() {
            state.get_or_insert_with(|| tables.clone());
        }
        self.snapshots = snapshots;
        self.committed = tables;
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
        super::reads::list_tables(&writing.txn, &writing.tables)
    }

    /// Releases a savepoint, and before it those nested in it.
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
            snapshots,
            is_recast,
            ..
        }) = self.writing.take()
        else {
            return Ok(());
        };
        if let Some(durability) = durability {
            txn.set_durability(durability);
        }
        // Checks merge the memtable, so several commits are made without.
        if self.commits % 8 >= 4 {
            self.commit_in_turn(txn)?;
            self.publish(tables, snapshots);
            return Ok(());
        }
        let before = self.changes()?;
        let committed = self.commit_in_turn(txn)?;
        if !is_recast {
            self.expect_changed(&before, &tables, committed)?;
        }
        self.publish(tables, snapshots);
        // A small database is checked, because a wrong checksum may soon be correct
        // again.
        let records: usize = self.committed.values().map(|table| table.len()).sum();
        if records < CHECKED_RECORDS_MAX {
            return self.check();
        }
        Ok(())
    }

    /// Continues after the size limit was reached: rolls back to the last savepoint, or else the
    /// whole transaction. Nothing else may be lost.
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

    /// Compares everything once more, before and after closing.
    fn finish(mut self) -> ModelResult {
        let read = match &self.writing {
            Some(writing) => super::reads::verify(&writing.txn, &writing.tables),
            None => Ok(()),
        };
        match read.and_then(|()| self.commit(None)) {
            Err(ModelViolation::Full(_)) if self.settings.size_limit_bytes.is_some() => {
                self.abort();
            }
            outcome => outcome?,
        }
        self.check()?;
        self.reopen(ReopenMode::Drop)?;
        self.verify_snapshots()?;
        self.check()
    }
}

impl ModelReader {
    fn state(&self) -> (&ReadTxn, &OracleTables) {
        (&self.txn, &self.tables)
    }

    fn verify(&self) -> ModelResult {
        super::reads::verify(&self.txn, &self.tables)
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
