//! Steps of an episode with several processes: they attach, leave, take turns and die.

use super::{
    context::EpisodeContext,
    history::{CrashKind, compare},
    process_pool::{PROCESSES_MAX, SimulatedProcess},
    records::HistoryChange,
    stage::{MODES, commit_and_wait},
};
use crate::{Context, Result};
use std::mem;
use teak::{Durability, Recovery, Transaction, testing};

impl EpisodeContext {
    pub(super) fn has_others(&self) -> bool {
        self.pool
            .as_ref()
            .is_some_and(|pool| !pool.others.is_empty())
    }

    /// Another process takes over.
    pub(super) fn switch_process(&mut self) -> Result {
        self.commit_open()?;
        let Some(pool) = self.pool.as_mut().filter(|pool| !pool.others.is_empty()) else {
            return Ok(());
        };
        let next = self.rng.usize(0..pool.others.len());
        let next = &mut pool.others[next];
        mem::swap(&mut self.database, &mut next.database);
        mem::swap(&mut self.disk, &mut next.disk);
        self.expect_newest("after another process")
    }

    /// Another process attaches, and may become the current one.
    pub(super) fn join(&mut self) -> Result {
        self.commit_open()?;
        let Some(pool) = &mut self.pool else {
            return Ok(());
        };
        if pool.others.len() + 1 >= PROCESSES_MAX {
            return Ok(());
        }
        let disk = self.disk.for_another();
        let database = self
            .settings
            .open_in(&disk, Some(pool), false)
            .context("joining")?;
        if database.info().recovery != Recovery::Joined {
            let recovery = database.info().recovery;
            bail!("attaching reports {recovery:?}");
        }
        let mut newcomer = SimulatedProcess { database, disk };
        if self.rng.bool() {
            mem::swap(&mut self.database, &mut newcomer.database);
            mem::swap(&mut self.disk, &mut newcomer.disk);
        }
        pool.others.push(newcomer);
        self.expect_newest("after another process attached")
    }

    /// The process leaves, unless it is the only one.
    pub(super) fn leave(&mut self) -> Result {
        self.commit_open()?;
        self.end_reader()?;
        let newest = self.history().newest();
        let Some(next) = self.take_other() else {
            return Ok(());
        };
        let database = mem::replace(&mut self.database, next.database);
        self.disk = next.disk;
        database.close().context("leaving")?;
        if self.settings.flushes_on_close {
            self.note_durable(newest);
        }
        self.expect_newest("after another process left")
    }

    /// Another process flushes a lazy commit of this one, which then makes durable ones.
    pub(super) fn sync_in_other_process(&mut self) -> Result {
        self.commit_open()?;
        self.commit(Durability::Lazy)?;
        let newest = self.history().newest();
        let Some(pool) = self.pool.as_ref().filter(|pool| !pool.others.is_empty()) else {
            return Ok(());
        };
        let other = &pool.others[self.rng.usize(0..pool.others.len())];
        let synced = other.database.sync();
        synced.context("sync by another process")?;
        self.note_durable(newest);
        self.commit(Durability::Durable)?;
        self.commit(Durability::Durable)
    }

    fn take_other(&mut self) -> Option<SimulatedProcess> {
        let pool = self.pool.as_mut().filter(|pool| !pool.others.is_empty())?;
        let next = self.rng.usize(0..pool.others.len());
        Some(pool.others.swap_remove(next))
    }

    /// Kills the process during a commit, after `calls` calls to the disk and a few more, or after
    /// the commit.
    pub(super) fn kill_during_commit(&mut self, calls: u64) -> Result {
        self.commit_open()?;
        self.decide()?;
        if !self.has_others() {
            self.join()?;
        }
        if !self.has_others() {
            return Ok(());
        }
        let calls = calls + self.rng.u64(0..3);
        let mode = MODES[self.rng.usize(0..MODES.len())];
        // A lazy commit stores to mapped memory. A death in a call of another thread does not
        // prevent that.
        if mode != Durability::Lazy {
            testing::kill_after(&self.database, &self.disk, calls);
        }
        let committed = self.commit_until_killed(mode);
        if !self.disk.is_killed() {
            committed.context("a commit of a process that was not killed")?;
            testing::kill(&self.database, &self.disk);
        }
        self.replace_killed()
    }

    fn commit_until_killed(&mut self, mode: Durability) -> teak::Result<()> {
        let mut tables = self.history().newest_tables();
        let mut txn = self.database.begin_write()?;
        HistoryChange::new(&mut txn, &mut tables, &mut self.rng).put(4)?;
        let (id, begun) = (txn.id(), self.time());
        let index = self.history().begin(id, tables.committed(), begun);
        let committed = commit_and_wait(&self.database, txn, mode)?;
        committed.flushed?;
        if self.disk.is_killed() {
            // It may have learned this from a write that no other process sees.
            return Ok(());
        }
        self.note_returned(index, mode != Durability::Lazy);
        Ok(())
    }

    /// The current process was killed. Another one takes over, and continues from the state that it
    /// finds.
    pub(super) fn replace_killed(&mut self) -> Result {
        let time = self.time();
        let next = self.take_other().context("no process is left")?;
        // A reader of the dead process keeps nothing any more.
        self.reader = None;
        drop(mem::replace(&mut self.database, next.database));
        self.disk = next.disk;
        let failed = "writing after a process that was killed";
        let mut txn = self.database.begin_write().context(failed)?;
        let mut history = self.history();
        let fits = |index: &usize| {
            let state = &history.states[*index];
            state.id.next() == txn.id() && compare(&txn, &state.tables).is_ok()
        };
        let found = history.possible(time, CrashKind::Kill).find(fits);
        let found = found.context(format_args!(
            "after a process was killed at event {time}, commit {} continues from an uncommitted state",
            txn.id()
        ))?;
        // From now on readers see it, too.
        let state = &mut history.states[found];
        state.returned = state.returned.min(time);
        let mut tables = state.tables.clone();
        for lost in &mut history.states[found + 1..] {
            lost.gone = lost.gone.min(time);
        }
        drop(history);
        let mut change = HistoryChange::new(&mut txn, &mut tables, &mut self.rng);
        change.put(2).context(failed)?;
        let (id, begun) = (txn.id(), self.time());
        let index = self.history().begin(id, tables.committed(), begun);
        commit_and_wait(&self.database, txn, Durability::Lazy).context(failed)?;
        self.note_returned(index, false);
        self.expect_newest("after a process that was killed")
    }

    /// All processes are killed, and another one opens the database.
    pub(super) fn kill_all(&mut self) -> Result {
        self.abort();
        self.reader = None;
        let time = self.time();
        let next = self.disk.for_another();
        let Some(pool) = &mut self.pool else {
            return Ok(());
        };
        for process in pool.others.drain(..) {
            testing::kill(&process.database, &process.disk);
        }
        testing::kill(&self.database, &self.disk);
        let database = self
            .settings
            .open_in(&next, Some(pool), false)
            .context(format_args!(
                "opening after all processes were killed at event {time}"
            ))?;
        self.database = database;
        self.disk = next;
        self.expect_killed(time)
    }
}
