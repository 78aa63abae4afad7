//! A database on a simulated disk, with the history of its expected states.

use super::{
    during_flush::FlushDisturber,
    history::{CrashHistory, CrashKind, HistoryState, HistoryTables, compare, compare_named},
    process_pool::ProcessPool,
    records::HistoryChange,
    settings::{BOOT, CrashSettings},
    stage::{MODES, ReturnedCommit, StageResult, commit_and_wait},
};
use fastrand::Rng;
use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
    thread,
};
use teak::{
    CompactOptions, Database, Durability, Error, ReadTxn, Recovery, Transaction, TransactionId,
    WriteTxn,
    testing::{Fault, SimDisk},
};

/// The maximum number of commits of one compaction.
const COMPACTING_MAX: u64 = 12;

pub(super) struct EpisodeContext {
    pub(super) disk: SimDisk,
    pub(super) rng: Rng,
    pub(super) settings: CrashSettings,
    /// Whether errors of the disk, or of a full disk, are expected.
    is_tolerant: bool,
    pub(super) database: Database,
    /// The open transaction, and the state that it will commit.
    txn: Option<(WriteTxn, HistoryTables)>,
    pub(super) reader: Option<(ReadTxn, HistoryTables)>,
    history: Arc<Mutex<CrashHistory>>,
    during_flush: Option<FlushDisturber>,
    /// The other processes; `None` if this workload has only one.
    pub(super) pool: Option<ProcessPool>,
}

impl EpisodeContext {
    /// Creates a new database.
    pub(super) fn new(
        settings: CrashSettings,
        rng: Rng,
        is_tolerant: bool,
        pool: Option<ProcessPool>,
    ) -> StageResult<Self> {
        let disk = SimDisk::new(settings.capacity);
        let database = match &pool {
            Some(pool) => settings.open_apart(&disk, &pool.lock_file, true),
            None => settings.open(&disk, true, BOOT),
        };
        let database = database.map_err(|error| format!("creating the database: {error}"))?;
        let mut history =
            CrashHistory::new(TransactionId(0), HistoryTables::new(), disk.event_count());
        history.closes.push((0, 0));
        Ok(Self {
            disk,
            rng,
            settings,
            is_tolerant,
            database,
            txn: None,
            reader: None,
            history: Arc::new(Mutex::new(history)),
            during_flush: None,
            pool,
        })
    }

    /// Makes commits, or at least reads the database, while flushes run.
    pub(super) fn disturb_flushes(&mut self) {
        let seed = self.rng.u64(..);
        let during_flush = FlushDisturber::new(Arc::clone(&self.history), seed);
        during_flush.attach(&self.disk);
        self.during_flush = Some(during_flush);
    }

    /// Ends everything. The result is the disk and the history.
    pub(super) fn finish(mut self) -> StageResult<(SimDisk, CrashHistory)> {
        self.end_reader()?;
        self.disk.forget_on_flush();
        let disk = self.disk.clone();
        // Dropping the database closes it, which must not be recorded.
        let seen = disk.after_kill();
        let history = self.with_history(|history| history.clone());
        Ok((seen, history))
    }

    pub(super) fn with_history<R>(&self, work: impl FnOnce(&mut CrashHistory) -> R) -> R {
        work(&mut self.history.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes something in the transaction, which is begun if there is none. An expected error
    /// rolls it back.
    pub(super) fn change(
        &mut self,
        work: impl FnOnce(&mut HistoryChange<'_>) -> teak::Result<()>,
    ) -> StageResult {
        if self.txn.is_none() && !self.begin()? {
            return Ok(());
        }
        let Some((txn, tables)) = &mut self.txn else {
            return Ok(());
        };
        if let Err(error) = work(&mut HistoryChange::new(txn, tables, &mut self.rng)) {
            self.tolerate("a change", &error)?;
            self.txn = None;
        }
        Ok(())
    }

    /// Begins a transaction. If the database refuses writes, reopens it and returns `false`.
    fn begin(&mut self) -> StageResult<bool> {
        let tables = self.with_history(|history| history.states[history.newest()].tables.clone());
        match self.database.begin_write() {
            Ok(txn) => {
                self.txn = Some((txn, tables));
                Ok(true)
            }
            Err(error) => {
                self.tolerate("beginning a write transaction", &error)?;
                self.kill()?;
                Ok(false)
            }
        }
    }

    fn tolerate(&self, description: &str, error: &Error) -> StageResult {
        let is_expected = matches!(
            error,
            Error::Io { .. }
                | Error::Full { .. }
                | Error::Poisoned { .. }
                | Error::TransactionBroken
        );
        if self.is_tolerant && is_expected {
            return Ok(());
        }
        Err(format!("{description} failed: {error}"))
    }

    pub(super) fn abort(&mut self) {
        self.txn = None;
    }

    pub(super) fn commit(&mut self, mode: Durability) -> StageResult {
        if self.txn.is_none() {
            self.change(|change| change.put(2))?;
        }
        let Some((txn, tables)) = self.txn.take() else {
            return Ok(());
        };
        let (id, begun, tables) = (txn.id(), self.time(), tables.committed());
        let index = self.with_history(|history| {
            let index = history.begin(id, tables, begun);
            history.seen_early = (mode == Durability::Async).then_some(index);
            index
        });
        let result = self.disturbed(|| commit_and_wait(&self.database, txn, mode))?;
        let now = self.time();
        self.with_history(|history| history.seen_early = None);
        if self.disk.is_killed() {
            return self.replace_killed();
        }
        match result {
            Ok(ReturnedCommit { is_new: false, .. }) => {
                self.with_history(|history| history.states[index].gone = begun);
            }
            Ok(ReturnedCommit { flushed, .. }) => {
                self.with_history(|history| {
                    history.states[index].returned = now;
                    if mode != Durability::Lazy && flushed.is_ok() {
                        history.note_durable(index, now);
                    }
                });
                if let Err(error) = flushed {
                    self.tolerate("flushing an asynchronous commit", &error)?;
                    self.kill()?;
                }
            }
            Err(error) => {
                self.tolerate("a commit", &error)?;
                self.inspect_after_failed_commit(index)?;
            }
        }
        Ok(())
    }

    /// A failed commit must be invisible. It did not happen or, if the database is poisoned, its
    /// outcome is unknown until the database is opened again.
    fn inspect_after_failed_commit(&mut self, index: usize) -> StageResult {
        self.expect_newest("after a failed commit")?;
        match self.database.begin_write() {
            Ok(_) => {
                self.with_history(|history| {
                    history.states[index].gone = history.states[index].begun;
                });
                Ok(())
            }
            Err(error) => {
                self.tolerate("beginning after a failed commit", &error)?;
                self.kill()
            }
        }
    }

    /// Runs `work`, and disturbs the flushes that it makes.
    fn disturbed<R>(&self, work: impl FnOnce() -> R) -> StageResult<R> {
        match &self.during_flush {
            Some(during_flush) => {
                let alone = self.pool.as_ref().map(|_| thread::current().id());
                during_flush.run(self.databases(), &self.disk, alone, work)
            }
            None => Ok(work()),
        }
    }

    /// The directory of the current process and those of the others.
    fn databases(&self) -> Vec<Database> {
        let others = self.pool.iter().flat_map(ProcessPool::databases);
        [&self.database]
            .into_iter()
            .chain(others)
            .cloned()
            .collect()
    }

    /// Commits the open transaction, if there is one.
    pub(super) fn commit_open(&mut self) -> StageResult {
        let mode = MODES[self.rng.usize(0..MODES.len())];
        match self.txn {
            Some(_) => self.commit(mode),
            None => Ok(()),
        }
    }

    pub(super) fn sync(&mut self) -> StageResult {
        self.commit_open()?;
        let newest = self.with_history(|history| history.newest());
        let result = self.disturbed(|| self.database.sync())?;
        if self.disk.is_killed() {
            return self.replace_killed();
        }
        match result {
            Ok(()) => {
                let now = self.time();
                self.with_history(|history| history.note_durable(newest, now));
                Ok(())
            }
            Err(error) => {
                self.tolerate("sync", &error)?;
                self.kill()
            }
        }
    }

    /// Moves pages and truncates the file, in durable commits that change no records.
    pub(super) fn compact(&mut self) -> StageResult {
        self.commit_open()?;
        let (begun, before) = (self.time(), self.read()?.id());
        // The number of these commits is known only afterwards.
        let begin = |history: &mut CrashHistory| {
            let tables = history.states[history.newest()].tables.clone();
            let begin =
                |count| history.begin(TransactionId(before.0 + count), tables.clone(), begun);
            (1..=COMPACTING_MAX).map(begin).collect::<Vec<_>>()
        };
        let begun_states = self.with_history(begin);
        let options = CompactOptions::new().max_commit_bytes(8 * self.settings.page_size as u64);
        let mut calls = 0;
        let compacted = self.database.compact(&options, &mut |_| {
            calls += 1;
            match calls < 3 {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        let (now, last) = (self.time(), self.read()?.id());
        self.with_history(|history| {
            for index in begun_states {
                match history.states[index].id <= last {
                    true => history.note_durable(index, now),
                    // The outcome of the failed commit is not known yet.
                    false if compacted.is_err() && history.states[index].id.0 == last.0 + 1 => {}
                    false => history.states[index].gone = begun,
                }
            }
        });
        match compacted {
            Ok(_) => self.expect_newest("after compacting"),
            Err(error) => {
                self.tolerate("compacting", &error)?;
                self.kill()
            }
        }
    }

    /// Closes the database and opens it again.
    pub(super) fn reopen(&mut self) -> StageResult {
        if self.has_others() {
            self.leave()?;
            return self.join();
        }
        self.commit_open()?;
        self.end_reader()?;
        let begun = self.time();
        let newest = self.with_history(|history| {
            let newest = history.newest();
            history.closes.push((begun, newest));
            newest
        });
        if let Err(error) = self.database.clone().close() {
            self.tolerate("closing", &error)?;
            return self.kill();
        }
        let closed = self.time();
        if self.settings.flushes_on_close {
            self.with_history(|history| history.note_durable(newest, closed));
        }
        let opened = match &self.pool {
            Some(pool) => self.settings.open_apart(&self.disk, &pool.lock_file, false),
            None => self.settings.open(&self.disk, false, BOOT),
        };
        match opened {
            Ok(database) => self.database = database,
            Err(error) => {
                self.tolerate("opening after a close", &error)?;
                return self.kill();
            }
        }
        let recovery = self.database.recovery();
        let is_expected = match recovery {
            Recovery::Clean => true,
            // Lazy commits were left. Opening has flushed them, or has joined the process that
            // closed, whose handle this program still has.
            Recovery::Killed { .. } | Recovery::Joined => !self.settings.flushes_on_close,
            _ => false,
        };
        if !is_expected {
            return Err(format!("opening after a close reports {recovery:?}"));
        }
        let durable_since = match recovery {
            Recovery::Clean => Some(closed),
            Recovery::Joined => None,
            _ => Some(self.time()),
        };
        if let Some(since) = durable_since {
            self.with_history(|history| history.note_durable(newest, since));
        }
        self.expect_newest("after closing and opening")
    }

    /// Kills the process, and opens the database again in the same boot.
    pub(super) fn kill(&mut self) -> StageResult {
        self.txn = None;
        self.reader = None;
        self.disk.forget_on_flush();
        let time = self.time();
        let disk = self.disk.after_kill();
        let database = self
            .settings
            .open(&disk, false, BOOT)
            .map_err(|error| format!("opening after a kill at event {time}: {error}"))?;
        (self.disk, self.database) = (disk, database);
        if let Some(during_flush) = &self.during_flush {
            during_flush.attach(&self.disk);
        }
        self.expect_killed(time)
    }

    /// Fails unless the database is in a state that a kill at this time may leave. Records this
    /// state.
    pub(super) fn expect_killed(&mut self, time: usize) -> StageResult {
        let recovery = self.database.recovery();
        if !matches!(recovery, Recovery::Killed { .. } | Recovery::Clean) {
            return Err(format!("opening after a kill reports {recovery:?}"));
        }
        let txn = self.read()?;
        let now = self.time();
        let found = self.with_history(|history| {
            let fits = |index: &usize| {
                let HistoryState { id, tables, .. } = &history.states[*index];
                *id == txn.id()
                    && compare(&txn, tables).is_ok()
                    && compare_named(&self.database, tables).is_ok()
            };
            let found = history.possible(time, CrashKind::Kill).find(fits);
            found.inspect(|&index| history.note_opened(index, now))
        });
        found
            .map(drop)
            .ok_or_else(|| format!("a kill at event {time} left a state that was not committed"))
    }

    pub(super) fn read(&self) -> StageResult<ReadTxn> {
        self.database
            .begin_read()
            .map_err(|error| format!("beginning a read transaction: {error}"))
    }

    pub(super) fn expect_newest(&self, when: &str) -> StageResult {
        let txn = self.read()?;
        let tables = self.with_history(|history| history.states[history.newest()].tables.clone());
        compare(&txn, &tables)
            .and_then(|()| compare_named(&self.database, &tables))
            .map_err(|difference| format!("{when}: {difference}"))
    }

    /// Begins a transaction that rolls back to a named snapshot, if there is one.
    pub(super) fn roll_back_to_snapshot(&mut self) -> StageResult {
        self.commit_open()?;
        self.change(|change| change.roll_back_to_snapshot())
    }

    pub(super) fn begin_reader(&mut self) -> StageResult {
        if self.reader.is_none() {
            let tables =
                self.with_history(|history| history.states[history.newest()].tables.clone());
            self.reader = Some((self.read()?, tables));
        }
        Ok(())
    }

    /// Ends the reader, which must still see its snapshot.
    pub(super) fn end_reader(&mut self) -> StageResult {
        match self.reader.take() {
            Some((txn, tables)) => {
                compare(&txn, &tables).map_err(|difference| format!("an old reader: {difference}"))
            }
            None => Ok(()),
        }
    }

    /// Lets one of the next calls to the disk fail, or all calls from then on.
    pub(super) fn plan_fault(&mut self) {
        let fault = match self.rng.u8(0..2) {
            0 => Fault::DISK_FULL,
            _ => Fault::DISK_ERROR,
        };
        let fault = match self.rng.u8(0..4) {
            0 => fault.for_ever(),
            _ => fault,
        };
        let call = self.disk.calls() + self.rng.u64(0..8);
        self.disk.fail_on(call, fault);
    }

    /// The number of events of the disk.
    pub(super) fn time(&self) -> usize {
        self.disk.event_count()
    }
}
