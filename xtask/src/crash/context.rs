//! A database on a simulated disk, with the history of its expected states.

use super::{
    during_flush::FlushDisturber,
    history::{CrashHistory, CrashKind, HistoryState, HistoryTables, compare, compare_all},
    process_pool::ProcessPool,
    records::HistoryChange,
    settings::CrashSettings,
    stage::{MODES, ReturnedCommit, commit_and_wait},
};
use crate::{Context, Result};
use fastrand::Rng;
use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
    ) -> Result<Self> {
        let disk = settings.new_disk();
        let database = settings.open_in(&disk, pool.as_ref(), true);
        let database = database.context("creating the database")?;
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
    pub(super) fn finish(mut self) -> Result<(SimDisk, CrashHistory)> {
        self.end_reader()?;
        self.disk.forget_on_flush();
        let disk = self.disk.clone();
        // Dropping the database closes it, which must not be recorded.
        let seen = disk.after_kill();
        let history = self.history().clone();
        Ok((seen, history))
    }

    pub(super) fn history(&self) -> MutexGuard<'_, CrashHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a commit has returned.
    pub(super) fn note_returned(&self, index: usize, is_durable: bool) {
        let (now, mut history) = (self.time(), self.history());
        history.states[index].returned = now;
        if is_durable {
            history.note_durable(index, now);
        }
    }

    /// Records that a state and all before it are durable.
    pub(super) fn note_durable(&self, index: usize) {
        let now = self.time();
        self.history().note_durable(index, now);
    }

    /// Changes something in the transaction, which is begun if there is none. An expected error
    /// rolls it back.
    pub(super) fn change(
        &mut self,
        work: impl FnOnce(&mut HistoryChange<'_>) -> teak::Result<()>,
    ) -> Result {
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
    fn begin(&mut self) -> Result<bool> {
        self.decide()?;
        let tables = self.history().newest_tables();
        if tables.prepared.is_some() {
            // The decision has failed.
            return Ok(false);
        }
        match self.database.begin_write() {
            Ok(txn) => {
                self.txn = Some((txn, tables));
                Ok(true)
            }
            Err(error) => {
                self.fail("beginning a write transaction", &error)?;
                Ok(false)
            }
        }
    }

    pub(super) fn tolerate(&self, description: &str, error: &Error) -> Result {
        let is_expected = matches!(
            error,
            Error::Io { .. }
                | Error::Full { .. }
                | Error::Poisoned { .. }
                | Error::TransactionBroken
        );
        ensure!(
            self.is_tolerant && is_expected,
            "{description} failed: {error}"
        );
        Ok(())
    }

    /// Kills the process after an expected error.
    pub(super) fn fail(&mut self, description: &str, error: &Error) -> Result {
        self.tolerate(description, error)?;
        self.kill()
    }

    /// The open transaction, and the state that it would commit.
    pub(super) fn take_open(&mut self) -> Option<(WriteTxn, HistoryTables)> {
        self.txn.take()
    }

    pub(super) fn abort(&mut self) {
        self.txn = None;
    }

    pub(super) fn commit(&mut self, mode: Durability) -> Result {
        if self.txn.is_none() {
            self.change(|change| change.put(2))?;
        }
        let Some((txn, tables)) = self.txn.take() else {
            return Ok(());
        };
        let (id, begun, tables) = (txn.id(), self.time(), tables.committed());
        let index = self.history().begin(id, tables, begun);
        self.history().seen_early = (mode == Durability::Async).then_some(index);
        let result = self.disturbed(|| commit_and_wait(&self.database, txn, mode))?;
        self.history().seen_early = None;
        if self.disk.is_killed() {
            return self.replace_killed();
        }
        match result {
            Ok(ReturnedCommit { is_new: false, .. }) => {
                self.history().states[index].gone = begun;
            }
            Ok(ReturnedCommit { flushed, .. }) => {
                self.note_returned(index, mode != Durability::Lazy && flushed.is_ok());
                if let Err(error) = flushed {
                    self.fail("flushing an asynchronous commit", &error)?;
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
    fn inspect_after_failed_commit(&mut self, index: usize) -> Result {
        self.expect_newest("after a failed commit")?;
        match self.database.begin_write() {
            Ok(_) => {
                let state = &mut self.history().states[index];
                state.gone = state.begun;
                Ok(())
            }
            Err(error) => self.fail("beginning after a failed commit", &error),
        }
    }

    /// Runs `work`, and disturbs the flushes that it makes.
    fn disturbed<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
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
    pub(super) fn commit_open(&mut self) -> Result {
        let mode = MODES[self.rng.usize(0..MODES.len())];
        match self.txn {
            Some(_) => self.commit(mode),
            None => Ok(()),
        }
    }

    /// Makes small commits one after the other.
    pub(super) fn commit_small(&mut self, mode: Durability, count: usize) -> Result {
        self.commit_open()?;
        (0..count).try_for_each(|_| {
            self.change(|change| change.put_small())?;
            self.commit(mode)
        })
    }

    pub(super) fn sync(&mut self) -> Result {
        self.commit_open()?;
        let newest = self.history().newest();
        let result = self.disturbed(|| self.database.sync())?;
        if self.disk.is_killed() {
            return self.replace_killed();
        }
        match result {
            Ok(()) => {
                self.note_durable(newest);
                Ok(())
            }
            Err(error) => self.fail("sync", &error),
        }
    }

    /// Moves pages and truncates the file, in durable commits that change no records.
    pub(super) fn compact(&mut self) -> Result {
        self.commit_open()?;
        self.decide()?;
        if self.history().newest_tables().prepared.is_some() {
            return Ok(());
        }
        let (begun, before) = (self.time(), self.read()?.id());
        // The number of these commits is known only afterwards.
        let tables = self.history().newest_tables();
        let begin = |count| {
            let id = TransactionId(before.0 + count);
            self.history().begin(id, tables.clone(), begun)
        };
        let begun_states: Vec<_> = (1..=COMPACTING_MAX).map(begin).collect();
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
        for index in begun_states {
            let mut history = self.history();
            match history.states[index].id <= last {
                true => history.note_durable(index, now),
                // The outcome of the failed commit is not known yet.
                false if compacted.is_err() && history.states[index].id.0 == last.0 + 1 => {}
                false => history.states[index].gone = begun,
            }
        }
        match compacted {
            Ok(_) => self.expect_newest("after compacting"),
            Err(error) => self.fail("compacting", &error),
        }
    }

    /// Closes the database and opens it again.
    pub(super) fn reopen(&mut self) -> Result {
        if self.has_others() {
            self.leave()?;
            return self.join();
        }
        self.commit_open()?;
        self.end_reader()?;
        let begun = self.time();
        let newest = self.history().newest();
        self.history().closes.push((begun, newest));
        if let Err(error) = self.database.clone().close() {
            return self.fail("closing", &error);
        }
        let closed = self.time();
        if self.settings.flushes_on_close {
            self.history().note_durable(newest, closed);
        }
        match self.settings.open_in(&self.disk, self.pool.as_ref(), false) {
            Ok(database) => self.database = database,
            Err(error) => return self.fail("opening after a close", &error),
        }
        let recovery = self.database.info().recovery;
        let is_expected = match recovery {
            Recovery::Clean => true,
            // Lazy commits were left. Opening has flushed them, or has joined the process that
            // closed, whose handle this program still has.
            Recovery::Killed { .. } | Recovery::Joined => !self.settings.flushes_on_close,
            _ => false,
        };
        if !is_expected {
            bail!("opening after a close reports {recovery:?}");
        }
        let durable_since = match recovery {
            Recovery::Clean => Some(closed),
            Recovery::Joined => None,
            _ => Some(self.time()),
        };
        if let Some(since) = durable_since {
            self.history().note_durable(newest, since);
        }
        self.expect_newest("after closing and opening")
    }

    /// Kills the process, and opens the database again in the same boot.
    pub(super) fn kill(&mut self) -> Result {
        self.txn = None;
        self.reader = None;
        self.disk.forget_on_flush();
        let time = self.time();
        let disk = self.disk.after_kill();
        let database = self
            .settings
            .open_in(&disk, None, false)
            .context(format_args!("opening after a kill at event {time}"))?;
        (self.disk, self.database) = (disk, database);
        if let Some(during_flush) = &self.during_flush {
            during_flush.attach(&self.disk);
        }
        self.expect_killed(time)
    }

    /// Fails unless the database is in a state that a kill at this time may leave. Records this
    /// state.
    pub(super) fn expect_killed(&mut self, time: usize) -> Result {
        let recovery = self.database.info().recovery;
        if !matches!(recovery, Recovery::Killed { .. } | Recovery::Clean) {
            bail!("opening after a kill reports {recovery:?}");
        }
        let txn = self.read()?;
        let now = self.time();
        let mut history = self.history();
        let fits = |index: &usize| {
            let HistoryState { id, tables, .. } = &history.states[*index];
            *id == txn.id() && compare_all(&self.database, &txn, tables).is_ok()
        };
        let found = history.possible(time, CrashKind::Kill).find(fits);
        if let Some(index) = found {
            history.note_opened(index, now);
        }
        let wrong = format_args!("a kill at event {time} left a state that was not committed");
        found.map(drop).context(wrong)
    }

    pub(super) fn read(&self) -> Result<ReadTxn> {
        self.database
            .begin_read()
            .context("beginning a read transaction")
    }

    pub(super) fn expect_newest(&self, when: &str) -> Result {
        let txn = self.read()?;
        let tables = self.history().newest_tables();
        compare_all(&self.database, &txn, &tables).context(when)
    }

    /// Begins a transaction that rolls back to a named snapshot, if there is one.
    pub(super) fn roll_back_to_snapshot(&mut self) -> Result {
        self.commit_open()?;
        self.change(|change| change.roll_back_to_snapshot())
    }

    pub(super) fn begin_reader(&mut self) -> Result {
        if self.reader.is_none() {
            let tables = self.history().newest_tables();
            self.reader = Some((self.read()?, tables));
        }
        Ok(())
    }

    /// Ends the reader, which must still see its snapshot.
    pub(super) fn end_reader(&mut self) -> Result {
        match self.reader.take() {
            Some((txn, tables)) => compare(&txn, &tables).context("an old reader"),
            None => Ok(()),
        }
    }

    /// Moves the clock by up to so many milliseconds.
    pub(super) fn tick(&mut self, ms_max: u64) {
        let ms = self.rng.u64(..ms_max);
        if let Some(clock) = &self.settings.clock {
            clock.advance(ms);
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
