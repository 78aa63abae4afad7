//! One flush: writes deferred commits, makes the target durable with a journal entry or a flush of
//! the disk, and makes it visible. [`group`](crate::commit::group) says how often it locks the
//! commit state, and why.

use crate::{
    Result,
    commit::{
        committer::Committer,
        deferred::TakenDeferred,
        disk::{FailedWrite, WRITING_ENTRY, WriteOutcome},
        flush_target::FlushTarget,
        group::{FlushGoal, FlushLocks, ProcessFlushLock},
        state::CommitState,
        state_lock::CommitStateGuard,
    },
    observe::events::Event,
    planted::planted,
    sync::lock,
};
use std::{io, sync::Arc, time::Instant};

/// How a target became durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SyncMethod {
    /// A flush of everything written before it began.
    Flush,
    /// A journal entry.
    Entry,
}

impl Committer {
    /// Writes deferred commits and flushes. Does nothing if another thread of this process is
    /// flushing, or if the goal is reached. Returns the outcome of the goal, if it is decided.
    pub(super) fn flush(&self, state: CommitStateGuard<'_>, goal: FlushGoal) -> Option<Result<()>> {
        let (mut state, locks) = match self.lead(state, goal) {
            Ok(led) => led,
            Err(outcome) => return outcome,
        };
        let taken = state.take_deferred();
        let newest = taken.as_ref().map_or(state.newest(), |taken| taken.written);
        let target = state.begin_flush(newest);
        drop(state);
        let FlushLocks {
            deferred_write,
            process,
        } = locks;
        let written = taken.map_or(Ok(()), |taken| self.write_deferred_of_flush(&taken));
        drop(deferred_write);
        let synced = written.and_then(|()| self.make_durable(&target));
        self.end_flush(&target, synced, goal, process)
    }

    /// Writes deferred commits, which are part of the target.
    fn write_deferred_of_flush(&self, taken: &TakenDeferred) -> WriteOutcome {
        let (mut state, written) = self.write_taken(taken);
        if let Err(failed) = &written {
            self.note_failure(&mut state, failed.operation, &failed.error);
        }
        drop(state);
        self.process_writer_lock
            .note_deferred_written(&self.commit_state);
        written
    }

    /// Returns when `target` is durable.
    fn make_durable(&self, target: &FlushTarget) -> std::result::Result<SyncMethod, FailedWrite> {
        let began = self.events.clock();
        let disk = &self.disk;
        let appended = lock(&self.journal).append(&disk.storage, disk.page_size, target);
        if let Some(bytes) = appended.map_err(FailedWrite::new(WRITING_ENTRY))? {
            self.note_flush(bytes, began);
            return Ok(SyncMethod::Entry);
        }
        if target.may_be_entry {
            self.commit_state.lock().begin_flush_without_entry();
        }
        self.flush_disk().map(|()| SyncMethod::Flush)
    }

    /// Flushes everything written so far.
    pub(super) fn flush_disk(&self) -> WriteOutcome {
        let began = self.events.clock();
        let bytes = self.disk.flush()?;
        self.note_flush(bytes, began);
        Ok(())
    }

    /// Notes a flush of the log of the memtable, or of a part of the file.
    pub(crate) fn note_flush(&self, bytes: u64, began: Option<Instant>) {
        self.counters.note_flush(bytes);
        if let Some(began) = began {
            let duration = began.elapsed();
            self.events.note(|| Event::Flush { bytes, duration });
        }
    }

    /// Notes the outcome of a flush, makes its target visible or takes it back, and resigns.
    fn end_flush(
        &self,
        target: &FlushTarget,
        synced: std::result::Result<SyncMethod, FailedWrite>,
        goal: FlushGoal,
        process: ProcessFlushLock<'_>,
    ) -> Option<Result<()>> {
        // Deferred commits that are being written meanwhile are taken back too.
        let _deferred_write_guard = synced.is_err().then(|| self.deferred_write_lock());
        let mut state = self.commit_state.lock();
        assert_eq!(
            state.own_target(),
            Some(target.commit),
            "a flush ends with the target that it began with"
        );
        match synced {
            Ok(method) if self.publish(target) => {
                let wakers = state.complete_flush(method == SyncMethod::Flush);
                self.wakers.add(wakers);
                assert!(
                    self.shows_durable(&state),
                    "readers see every durable commit"
                );
                if goal.is_open(&state) && state.is_all_durable() {
                    assert!(
                        self.shared.is_some(),
                        "a flush of everything reaches its goal, unless others take part"
                    );
                    let error = io::Error::other(
                        "the commit is no longer recorded in the lock file; another program has modified that file",
                    );
                    self.note_failure(&mut state, "waiting for a commit", &error);
                }
            }
            Ok(_) => {
                state.fail_flush();
                let error = io::Error::other("its record cannot be read any more");
                self.note_failure(&mut state, "showing a commit to readers", &error);
            }
            Err(_) if planted!(WriteOn) => state.fail_flush(),
            Err(failed) => {
                state.fail_flush();
                self.note_failure(&mut state, failed.operation, &failed.error);
            }
        }
        if state.has_failed() {
            self.take_back(&mut state);
        }
        let outcome = goal.outcome(&state);
        self.resign(state, process);
        outcome
    }

    /// Whether readers see the last durable commit. If other processes have the database open, the
    /// answer is always yes: another program may have written any numbers to the lock file.
    pub(super) fn shows_durable(&self, state: &CommitState) -> bool {
        let is_mistaken = planted!(DurableIsNewest) || planted!(SkipDeferred);
        self.shared.is_some()
            || is_mistaken
            || self.published.visible() >= state.durable().transaction
    }

    /// Makes the durable state visible to readers, unless they see a newer one. Returns `false` if
    /// another process wrote the state and its record is gone.
    fn publish(&self, target: &FlushTarget) -> bool {
        if target.commit.transaction <= self.published.visible() {
            return true;
        }
        if let Some(snapshot) = &target.unpublished {
            self.published.publish(Arc::clone(snapshot));
            return true;
        }
        let record = self
            .shared
            .as_ref()
            .map(|shared| shared.record_in(target.commit.slot));
        match record {
            Some(Ok(Some(record))) if record.transaction == target.commit.transaction => {
                self.published.publish_record(&record);
                true
            }
            Some(_) => false,
            None => {
                assert!(
                    planted!(SkipDeferred),
                    "a process alone has the snapshot of each commit that readers do not see"
                );
                true
            }
        }
    }
}
