//! Steps of an episode with several processes: they attach, leave, take turns and die.

use super::{
    context::EpisodeContext,
    history::{CrashKind, compare},
    process_pool::{PROCESSES_MAX, SimulatedProcess},
    records::HistoryChange,
    stage::{MODES, StageResult, commit_and_wait},
};
use std::mem;
use teak::{Durability, Recovery, Transaction, testing};

impl EpisodeContext {
    pub(super) fn has_others(&self) -> bool {
        self.pool
            .as_ref()
            .is_some_and(|pool| !pool.others.is_empty())
    }

    /// Another process takes over.
    pub(super) fn switch_process(&mut self) -> StageResult {
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
    pub(super) fn join(&mut self) -> StageResult {
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
            .open_apart(&disk, &pool.lock_file, false)
            .map_err(|error| format!("joining: {error}"))?;
        if database.recovery() != Recovery::Joined {
            let recovery = database.recovery();
            return Err(format!("attaching reports {recovery:?}"));
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
    pub(super) fn leave(&mut self) -> StageResult {
        self.commit_open()?;
        self.end_reader()?;
        let newest = self.with_history(|history| history.newest());
        let Some(next) = self.take_other() else {
            return Ok(());
        };
        let database = mem::replace(&mut self.database, next.database);
        self.disk = next.disk;
        database
            .close()
            .map_err(|error| format!("leaving: {error}"))?;
        let now = self.time();
        if self.settings.flushes_on_close {
            self.with_history(|history| history.note_durable(newest, now));
        }
        self.expect_newest("after another process left")
    }

    /// Another process flushes a lazy commit of this one, which then makes durable ones.
    pub(super) fn sync_in_other_process(&mut self) -> StageResult {
        self.commit_open()?;
        self.commit(Durability::Lazy)?;
        let newest = self.with_history(|history| history.newest());
        let Some(pool) = self.pool.as_ref().filter(|pool| !pool.others.is_empty()) else {
            return Ok(());
        };
        let other = &pool.others[self.rng.usize(0..pool.others.len())];
        let synced = other.database.sync();
        synced.map_err(|error| format!("sync by another process: {error}"))?;
        let now = self.time();
        self.with_history(|history| history.note_durable(newest, now));
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
    pub(super) fn kill_during_commit(&mut self, calls: u64) -> StageResult {
        self.commit_open()?;
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
            committed
                .map_err(|error| format!("a commit of a process that was not killed: {error}"))?;
            testing::kill(&self.database, &self.disk);
        }
        self.replace_killed()
    }

    fn commit_until_killed(&mut self, mode: Durability) -> teak::Result<()> {
        let mut tables =
            self.with_history(|history| history.states[history.newest()].tables.clone());
        let mut txn = self.database.begin_write()?;
        HistoryChange::new(&mut txn, &mut tables, &mut self.rng).put(4)?;
        let (id, begun) = (txn.id(), self.time());
        let index = self.with_history(|history| history.begin(id, tables.committed(), begun));
        let committed = commit_and_wait(&self.database, txn, mode)?;
        committed.flushed?;
        if self.disk.is_killed() {
            // It may have learned this from a write that no other process sees.
            return Ok(());
        }
        let now = self.time();
        self.with_history(|history| {
            history.states[index].returned = now;
            if mode != Durability::Lazy {
                history.note_durable(index, now);
            }
        });
        Ok(())
    }

    /// The current process was killed. Another one takes over, and continues from the state that it
    /// finds.
    pub(super) fn replace_killed(&mut self) -> StageResult {
        let time = self.time();
        let next = self.take_other().ok_or("no process is left")?;
        // A reader of the dead process keeps nothing any more.
        self.reader = None;
        drop(mem::replace(&mut self.database, next.database));
        self.disk = next.disk;
        let failed = |error| format!("writing after a process that was killed: {error}");
        let mut txn = self.database.begin_write().map_err(failed)?;
        let found = self.with_history(|history| {
            let fits = |index: &usize| {
                let state = &history.states[*index];
                state.id.next() == txn.id() && compare(&txn, &state.tables).is_ok()
            };
            let found = history.possible(time, CrashKind::Kill).find(fits)?;
            let state = &mut history.states[found];
            state.returned = state.returned.min(time);
            for lost in &mut history.states[found + 1..] {
                lost.gone = lost.gone.min(time);
            }
            Some(found)
        });
        let found = found.ok_or_else(|| {
            let id = txn.id();
            format!("after a process was killed at event {time}, commit {id} continues from an uncommitted state")
        })?;
        // From now on readers see it, too.
        let mut tables = self.with_history(|history| history.states[found].tables.clone());
        let mut change = HistoryChange::new(&mut txn, &mut tables, &mut self.rng);
        change.put(2).map_err(failed)?;
        let (id, begun) = (txn.id(), self.time());
        let index = self.with_history(|history| history.begin(id, tables.committed(), begun));
        commit_and_wait(&self.database, txn, Durability::Lazy).map_err(failed)?;
        let now = self.time();
        self.with_history(|history| history.states[index].returned = now);
        self.expect_newest("after a process that was killed")
    }

    /// All processes are killed, and another one opens the database.
    pub(super) fn kill_all(&mut self) -> StageResult {
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
            .open_apart(&next, &pool.lock_file, false)
            .map_err(|error| {
                format!("opening after all processes were killed at event {time}: {error}")
            })?;
        self.database = database;
        self.disk = next;
        self.expect_killed(time)
    }
}
