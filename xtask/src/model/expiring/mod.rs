//! Episodes with expiring tables: one database with a clock that the episode moves, and its model.
//!
//! A table whose records do not expire is changed in the same transactions.

mod changes;
mod files;
mod operation;
mod oracle;
mod reads;
mod state;

pub(crate) use operation::ExpiringOperation;

use super::{
    operation_log::{LoggedOperation, OperationLog},
    plan::ModelPlan,
    settings::ModelSettings,
    violation::{ModelResult, ModelViolation, expect_same},
};
use crate::campaign::CampaignClock;
use fastrand::Rng;
use operation::{ExpiringChange, ExpiringDraw, ExpiringValue, NAMES};
use oracle::{ExpiringKey, ExpiringLimits, ExpiringOracle};
use state::{ExpiringState, LASTING};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use teak::{
    Database, Durability, ExpiryOptions, ReadTxn, Savepoint, Transaction, WriteTxn, codec::Raw,
};

/// The name of a snapshot.
const SNAPSHOT: &str = "snapshot";
/// The time at which an episode begins.
const BEGIN_MS: u64 = 10_000;
const READERS_MAX: usize = 6;

struct ExpiringWriter {
    txn: WriteTxn,
    state: ExpiringState,
    savepoints: Vec<(Savepoint, ExpiringState)>,
}

struct ExpiringEpisode {
    settings: ModelSettings,
    path: PathBuf,
    clock: CampaignClock,
    /// Chooses the records that reads compare.
    rng: Rng,
    /// `None` only while it is reopened.
    database: Option<Database>,
    committed: ExpiringState,
    writing: Option<ExpiringWriter>,
    readers: Vec<(ReadTxn, ExpiringState)>,
    /// The state of the named snapshot.
    snapshot: Option<ExpiringState>,
}

/// Plays the operations of an episode in `directory`.
pub(super) fn run_episode(
    mut rng: Rng,
    plan: &ModelPlan,
    directory: &Path,
    history: &mut OperationLog,
) -> ModelResult {
    let clock = CampaignClock::new(BEGIN_MS);
    let mut settings = ModelSettings::draw(&mut rng);
    settings.encoding = plan.encoding;
    settings.clock = Some(clock.clone());
    settings.size_limit_bytes = None;
    history.settings = Some(settings.clone());
    let domain = 1 << rng.u32(4..11);
    let path = directory.join("model.teak");
    let mut episode = ExpiringEpisode::create(settings, path, clock, rng.fork())?;
    while history.operation_count < plan.operations_max {
        let now_ms = episode.clock.now_ms();
        let operation = ExpiringDraw { domain, now_ms }.operation(&mut rng);
        history.note(LoggedOperation::Expiring(operation.clone()));
        episode.perform(operation)?;
    }
    episode.finish()
}

impl ExpiringEpisode {
    fn create(
        settings: ModelSettings,
        path: PathBuf,
        clock: CampaignClock,
        rng: Rng,
    ) -> ModelResult<Self> {
        let database = settings.open(&path)?;
        let mut txn = database.begin_write()?;
        txn.create_table::<Raw, Raw>(LASTING)?;
        txn.commit()?;
        Ok(Self {
            settings,
            path,
            clock,
            rng,
            database: Some(database),
            committed: ExpiringState::default(),
            writing: None,
            readers: Vec::new(),
            snapshot: None,
        })
    }

    fn database(&self) -> ModelResult<&Database> {
        self.database
            .as_ref()
            .ok_or_else(|| ModelViolation::Other("the database is not open".to_owned()))
    }

    fn perform(&mut self, operation: ExpiringOperation) -> ModelResult {
        match operation {
            ExpiringOperation::Create(table, limits) => self.create_table(table, limits),
            ExpiringOperation::Drop(table) => self.drop_table(table),
            ExpiringOperation::Change(table, change) => self.change(table, &change),
            ExpiringOperation::ChangeLasting(key, value) => self.change_lasting(key, value),
            ExpiringOperation::Read => self.read(),
            ExpiringOperation::Savepoint => self.savepoint(),
            ExpiringOperation::RollBack => self.end_savepoint(true),
            ExpiringOperation::Release => self.end_savepoint(false),
            ExpiringOperation::Commit(durability) => self.commit(durability),
            ExpiringOperation::Abort => self.abort(),
            ExpiringOperation::Prepare { is_commit, reopen } => self.prepare(is_commit, reopen),
            ExpiringOperation::OpenReader => self.open_reader(),
            ExpiringOperation::CloseReader(index) => self.close_reader(index),
            ExpiringOperation::Tick(ms) => {
                self.clock.advance(ms);
                Ok(())
            }
            ExpiringOperation::Snapshot => self.take_snapshot(),
            ExpiringOperation::Sync => Ok(self.database()?.sync()?),
            ExpiringOperation::Check => self.check(),
            ExpiringOperation::OpenCopy => self.open_copy(),
            ExpiringOperation::Reopen(mode) => {
                self.commit(Durability::Lazy)?;
                self.reopen(mode)
            }
        }
    }

    fn writing(&mut self) -> ModelResult<&mut ExpiringWriter> {
        if self.writing.is_none() {
            self.writing = Some(ExpiringWriter {
                txn: self.database()?.begin_write()?,
                state: self.committed.clone(),
                savepoints: Vec::new(),
            });
        }
        let no_writer = || ModelViolation::Other("no write transaction".to_owned());
        self.writing.as_mut().ok_or_else(no_writer)
    }

    fn create_table(&mut self, table: usize, limits: ExpiringLimits) -> ModelResult {
        let ExpiringWriter { txn, state, .. } = self.writing()?;
        if state.tables.contains_key(&table) {
            return Ok(());
        }
        let mut options = ExpiryOptions::new();
        options.ttl = limits.ttl_ms.map(Duration::from_millis);
        options.max_records = limits.max_records;
        options.max_bytes = limits.max_bytes;
        txn.create_expiring_table::<Raw, Raw>(NAMES[table], &options)?;
        let model = Arc::new(ExpiringOracle::new(limits));
        state.tables.insert(table, model);
        Ok(())
    }

    fn drop_table(&mut self, table: usize) -> ModelResult {
        let ExpiringWriter { txn, state, .. } = self.writing()?;
        let exists = state.tables.remove(&table).is_some();
        expect_same("dropped", txn.drop_table(NAMES[table])?, exists)
    }

    fn change(&mut self, table: usize, change: &ExpiringChange) -> ModelResult {
        if !self.writing()?.state.tables.contains_key(&table) {
            self.create_table(table, ExpiringLimits::default())?;
        }
        let ExpiringWriter { txn, state, .. } = self.writing()?;
        let handle = txn.open_expiring_table::<Raw, Raw>(NAMES[table])?;
        match state.tables.get_mut(&table).map(Arc::make_mut) {
            Some(model) => changes::perform(txn, &handle, model, change),
            None => Ok(()),
        }
    }

    fn change_lasting(&mut self, key: ExpiringKey, value: Option<ExpiringValue>) -> ModelResult {
        let ExpiringWriter { txn, state, .. } = self.writing()?;
        let table = txn.open_table::<Raw, Raw>(LASTING)?;
        let lasting = Arc::make_mut(&mut state.lasting);
        if let Some(value) = value {
            let value = value.bytes();
            table.insert(txn, &key, &value)?;
            lasting.insert(key, value);
            return Ok(());
        }
        let existed = lasting.remove(&key).is_some();
        expect_same("removed", table.remove(txn, &key)?, existed)
    }

    fn read(&mut self) -> ModelResult {
        match &self.writing {
            Some(writing) => reads::compare(&mut self.rng, &writing.txn, &writing.state),
            None => self.compare_newest(),
        }
    }

    /// Compares the newest state with its model.
    fn compare_newest(&mut self) -> ModelResult {
        let txn = self.database()?.begin_read()?;
        reads::compare(&mut self.rng, &txn, &self.committed)
    }

    fn savepoint(&mut self) -> ModelResult {
        let writing = self.writing()?;
        let savepoint = writing.txn.savepoint()?;
        writing.savepoints.push((savepoint, writing.state.clone()));
        Ok(())
    }

    /// Rolls back to the last savepoint, if that is wanted, and releases it.
    fn end_savepoint(&mut self, is_rolled_back: bool) -> ModelResult {
        let Some(writing) = &mut self.writing else {
            return Ok(());
        };
        let Some((savepoint, state)) = writing.savepoints.pop() else {
            return Ok(());
        };
        if is_rolled_back {
            writing.txn.rollback_to(&savepoint)?;
            writing.state = state;
            reads::compare(&mut self.rng, &writing.txn, &writing.state)?;
        }
        Ok(writing.txn.release(savepoint)?)
    }

    fn commit(&mut self, durability: Durability) -> ModelResult {
        let Some(ExpiringWriter { mut txn, state, .. }) = self.writing.take() else {
            return Ok(());
        };
        txn.set_durability(durability);
        txn.commit()?;
        self.committed = state;
        match self.rng.u8(..4) {
            0 => self.compare_newest(),
            _ => Ok(()),
        }
    }

    fn abort(&mut self) -> ModelResult {
        if let Some(writing) = self.writing.take() {
            writing.txn.abort();
        }
        Ok(())
    }

    fn open_reader(&mut self) -> ModelResult {
        if self.readers.len() < READERS_MAX {
            let txn = self.database()?.begin_read()?;
            self.readers.push((txn, self.committed.clone()));
        }
        Ok(())
    }

    /// Ends a reader, which must still see its state. It sees it at the time of its first read.
    fn close_reader(&mut self, index: u64) -> ModelResult {
        if self.readers.is_empty() {
            return Ok(());
        }
        let index = index as usize % self.readers.len();
        let (txn, state) = self.readers.swap_remove(index);
        reads::compare(&mut self.rng, &txn, &state)
    }

    /// Names the newest state, or compares and drops the named one.
    fn take_snapshot(&mut self) -> ModelResult {
        self.commit(Durability::Lazy)?;
        match self.snapshot.take() {
            Some(state) => {
                let txn = self.database()?.open_snapshot(SNAPSHOT)?;
                reads::compare(&mut self.rng, &txn, &state)?;
                drop(txn);
                self.database()?.drop_snapshot(SNAPSHOT)?;
            }
            None => {
                self.database()?.create_snapshot(SNAPSHOT)?;
                self.snapshot = Some(self.committed.clone());
            }
        }
        self.compare_newest()
    }
}
