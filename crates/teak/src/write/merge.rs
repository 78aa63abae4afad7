//! Merging the memtable into the trees.

use crate::{
    Error, PageNumber, Result, TransactionId, page::max_key_len, planted::planted,
    read::snapshot::Snapshot, record::durability::Durability,
};
use crate::{
    btree::PageSource,
    instance::{
        engine::Engine,
        held_writer_lock::HeldWriterLock,
        memtable::{MemtableState, MergePart, ToMerge, is_plain, limits::AGE_CHECK_INTERVAL},
        read_buffer::give_trees,
        small_changes::RecordChange,
    },
    write::{
        small_commit::{flush_log, is_alone, memtable_capacity},
        transaction::WriteTransaction,
    },
};
use std::{io, mem, sync::Arc, time::Duration};

/// How long a thread waits for the writer's state before it checks whether another one has merged.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);
/// When a merge is tried again that has failed.
const AGAIN_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Why the memtable is merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MergeReason {
    Reader,
    /// The memtable is overfull. The thread merges it unless another one makes room first.
    Full,
    /// Its commits are old, or have to be in the trees.
    Limits,
}

impl MergeReason {
    /// Whether another thread has merged, as far as that was the reason.
    fn is_met(self, memtable: &MemtableState) -> bool {
        self == Self::Full && !memtable.is_overfull()
    }
}

impl Engine {
    /// Makes all commits so far visible to readers that begin now.
    ///
    /// # Errors
    ///
    /// The errors of a commit. The commits stay in the memtable and its log.
    #[inline]
    pub(crate) fn show_memtable(self: &Arc<Self>) -> Result<()> {
        match self.memtable.is_filled() {
            true => self.merge_memtable(MergeReason::Reader),
            false => Ok(()),
        }
    }

    /// Merges the commits that are in the memtable now. The caller may have the writer lock, but
    /// not the writer's state.
    ///
    /// # Errors
    ///
    /// As with [`Self::show_memtable`].
    #[cold]
    pub(crate) fn merge_memtable(self: &Arc<Self>, reason: MergeReason) -> Result<()> {
        self.refuse_forked()?;
        let writer_lock = self.writer_lock.as_ref().ok_or(Error::ReadOnly)?;
        if reason == MergeReason::Full && self.memtable.lock().is_merged_in_background() {
            self.merger.hurry();
            self.memtable.wait_for_room();
        }
        let Some(last) = self.memtable.lock().last() else {
            return Ok(());
        };
        let guard = loop {
            // Not by the newest state in the trees: that is there before its readers get it.
            let memtable = self.memtable.lock();
            let base = memtable.base();
            if base.is_none_or(|base| base.transaction() >= last) || reason.is_met(&memtable) {
                return Ok(());
            }
            drop(memtable);
            // Another thread merges. A whole transaction keeps the writer's state until it ends; it
            // has merged before.
            if let Some(guard) = writer_lock.take(Some(CHECK_INTERVAL)) {
                break guard;
            }
        };
        let merged = self.merge_with(self.held_writer_lock(guard), reason);
        // Wakers and hooks may begin to read.
        self.committer.wake_all();
        self.named(merged)
    }

    fn merge_with(self: &Arc<Self>, writer: HeldWriterLock, reason: MergeReason) -> Result<()> {
        let mut memtable = self.memtable.lock();
        if memtable.is_empty() || reason.is_met(&memtable) {
            return Ok(());
        }
        let usable = self.refuse_poisoned();
        if let Err(refused) = usable.and_then(|()| self.committer.refuse_evicted()) {
            // Another process may recover the database, and these commits from their log.
            memtable.abandon();
            self.release_memtable();
            return Err(refused);
        }
        drop(memtable);
        let (txn, merging) = begin_merge(self, writer)?;
        self.finish_merge(txn, &merging, reason)
    }

    /// Finishes what [`begin_merge`] has begun.
    pub(crate) fn finish_merge(
        self: &Arc<Self>,
        mut txn: WriteTransaction,
        merging: &ToMerge,
        reason: MergeReason,
    ) -> Result<()> {
        let unfinished = UndoneMerge(self);
        txn.event_delivery.disarm();
        txn.merge_parts(merging)?;
        // It was armed again after each part.
        txn.event_delivery.disarm();
        let merged = txn.write()?;
        self.settle_left(merging, merged.transaction())?;
        mem::forget(unfinished);
        assert_eq!(
            merged.transaction(),
            txn.id(),
            "a merge makes the last of its commits"
        );
        // Still with the writer's state: no writer collects pins before small transactions pin the
        // new state.
        self.end_merge(merged, reason, &txn.pages.writer);
        Ok(())
    }

    /// Before a merge, makes the commits of the older half of the log durable in the trees, if
    /// durable commits need that half and the present one is filling up. Others are added to the
    /// memtable meanwhile.
    fn free_log(&self) -> Result<()> {
        planted!(LogReused => return Ok(()));
        let durable = self.durable_in_trees();
        let needed = self.memtable.lock().needed_in_trees(durable);
        match needed {
            Some(commit) => self.committer.wait_without_waking(commit),
            None => Ok(()),
        }
    }

    /// Before a merge, has all entries of the log written: readers see the merge when it begins,
    /// and commits that they have seen survive the death of the process.
    fn write_log(&self) -> Result<()> {
        loop {
            let mut memtable = self.memtable.lock();
            (memtable.write_out()).map_err(Error::io("writing the write-ahead log"))?;
            let pending = memtable.pending();
            drop(memtable);
            match pending {
                Some(durable) => flush_log(self, durable)?,
                None => return Ok(()),
            }
        }
    }

    /// Waits until the commits of a log that an earlier process left are durable in the trees,
    /// before the log is removed: they may be durable there.
    fn settle_left(&self, merging: &ToMerge, last: TransactionId) -> Result<()> {
        match merging.is_left {
            true => self.committer.wait_without_waking(last),
            false => Ok(()),
        }
    }

    /// Merges the commits of the log that an earlier process left.
    ///
    /// # Errors
    ///
    /// The errors of a commit, and [`Error::Corrupted`] if the log does not fit the tables.
    pub(crate) fn merge_left(self: &Arc<Self>) -> Result<()> {
        if self.memtable.is_filled()
            && let Some(writer) = self.try_acquire_writer(None)?
        {
            self.named(WriteTransaction::begin_merged(self, writer).map(drop))?;
        }
        Ok(())
    }

    /// Notes that the commits that were merged are in the trees.
    fn end_merge(
        self: &Arc<Self>,
        merged: Arc<Snapshot>,
        reason: MergeReason,
        writer: &HeldWriterLock,
    ) {
        let mut memtable = self.memtable.lock();
        give_trees(self, &mut memtable, merged.transaction());
        let is_for_reader = reason == MergeReason::Reader;
        let is_all = (self.memtable).end_merge(&mut memtable, merged, is_for_reader);
        if is_all {
            return self.release_memtable();
        }
        match memtable_capacity(self, writer) {
            Some(capacity) => memtable.set_capacity(capacity, writer.shrink.is_shrinking),
            None => memtable.close(),
        }
        let is_full = memtable.is_full();
        drop(memtable);
        // If the thread cannot begin, the next reader or writer merges.
        let _ = self.merge_later();
        if is_full {
            self.merger.hurry();
        }
    }

    /// Notes that the first commits that are being merged are in the trees.
    fn end_part(self: &Arc<Self>, merged: Arc<Snapshot>) {
        let mut memtable = self.memtable.lock();
        give_trees(self, &mut memtable, merged.transaction());
        memtable.end_part(merged);
    }

    /// Has another thread merge when the commits are old enough.
    pub(crate) fn merge_later(self: &Arc<Self>) -> io::Result<()> {
        self.merger.ask(self, AGE_CHECK_INTERVAL, merge_old)
    }

    /// Stops using the empty memtable.
    pub(crate) fn leave_memtable(&self, memtable: &mut MemtableState) {
        self.memtable.clear(memtable);
        self.release_memtable();
    }

    /// Lets other processes join and write.
    fn release_memtable(&self) {
        debug_assert!(!self.generation.is_past(), "a forked child has no memtable");
        if let Some(shared) = &self.committer.shared {
            shared.region.clear_memtable_owner(shared.me());
        }
        let process_lock = &self.committer.process_writer_lock;
        process_lock.set_kept(false);
        process_lock.note_deferred_written(&self.committer.commit_state);
    }
}

/// Merges the commits if they are old. Returns after what time that is to be asked again.
fn merge_old(engine: &Arc<Engine>) -> Option<Duration> {
    // By a thread that waits for commits, or a process that has joined.
    let is_awaited = engine.committer.published.notifier.is_awaited() || !is_alone(engine);
    // The time until a flush begins with the merge.
    let age_max = engine.policies.flush_limits.age / 2;
    if !is_awaited && engine.memtable.lock().is_young(age_max) {
        return Some(AGE_CHECK_INTERVAL);
    }
    if engine.merge_memtable(MergeReason::Limits).is_ok() {
        return None;
    }
    // The next reader or writer reports an error.
    if engine.refuse_poisoned().is_err() {
        // The memtable is abandoned, so that other processes can join and recover.
        let _ = engine.merge_memtable(MergeReason::Limits);
        return None;
    }
    // Without space, for example. Trying takes long if there are many commits.
    Some(AGAIN_AFTER_FAILURE)
}

/// Begins a transaction that merges the commits in the memtable, which is not empty. Others can be
/// added from then on.
pub(crate) fn begin_merge(
    engine: &Arc<Engine>,
    writer: HeldWriterLock,
) -> Result<(WriteTransaction, ToMerge)> {
    engine.free_log()?;
    engine.write_log()?;
    // A flush may have failed meanwhile.
    engine.refuse_poisoned()?;
    let durable = engine.durable_in_trees();
    let mut merging = None;
    let txn = WriteTransaction::begin_for(engine, writer, || {
        let begun = merging.insert(engine.memtable.begin_merge(durable));
        assert!(
            begun.parts[0].last > begun.base,
            "commits to merge follow those in the trees"
        );
        begun.parts[0].last.0 - begun.base.0
    })?;
    debug_assert!(txn.tables.open.is_empty(), "it has done nothing yet");
    let merging = merging.expect("a transaction that begins has asked for its commits");
    Ok((txn, merging))
}

/// Undoes a merge that did not succeed. Dropped before the transaction: that has the writer's
/// state, and its events may let an application begin to read.
struct UndoneMerge<'e>(&'e Engine);

impl Drop for UndoneMerge<'_> {
    fn drop(&mut self) {
        let mut memtable = self.0.memtable.lock();
        memtable.undo_merge();
        if self.0.refuse_poisoned().is_err() {
            // Another process may recover the database, and these commits from their log.
            memtable.abandon();
            self.0.release_memtable();
        }
    }
}

impl WriteTransaction {
    /// Begins on the newest state, of which the commits in the memtable are a part. The caller has
    /// the permit, so no commits are added meanwhile.
    pub(crate) fn begin_merged(engine: &Arc<Engine>, writer: HeldWriterLock) -> Result<Self> {
        if engine.memtable.lock().is_empty() {
            return Self::begin_for(engine, writer, || 1);
        }
        engine.refuse_poisoned()?;
        let (mut txn, merging) = begin_merge(engine, writer)?;
        let unfinished = UndoneMerge(engine);
        let limits = &txn.pages.limits;
        let (durability, expected) = (limits.durability, limits.expected);
        txn.merge_parts(&merging)?;
        let last = txn.id();
        let merged = txn.commit_and_stay()?;
        assert_eq!(
            merged.transaction(),
            last,
            "a merge makes the last of its commits"
        );
        engine.settle_left(&merging, last)?;
        mem::forget(unfinished);
        engine.end_merge(merged, MergeReason::Limits, &txn.pages.writer);
        debug_assert!(
            !engine.memtable.is_filled(),
            "nobody else adds commits to the memtable"
        );
        // Wakers may want the writer lock, which is still held here.
        engine.committer.wake_all_in_background();
        txn.begin_again()?;
        txn.pages.limits.durability = durability;
        txn.pages.limits.expected = expected;
        Ok(txn)
    }

    /// Applies all changes of the memtable. Commits those before its last part.
    pub(crate) fn merge_parts(&mut self, merging: &ToMerge) -> Result<()> {
        let mut after = merging.base;
        let mut parts = merging.parts.iter().peekable();
        while let Some(part) = parts.next() {
            debug_assert_eq!(self.id(), part.last, "a part makes the last of its commits");
            self.merge_part(merging, after, part)?;
            after = part.last;
            if let Some(next) = parts.peek() {
                let merged = self.commit_and_stay()?;
                self.engine.end_part(merged);
                self.begin_again_for(next.last.0 - after.0)?;
            }
        }
        Ok(())
    }

    /// Applies the changes of the commits after `after`.
    fn merge_part(
        &mut self,
        merging: &ToMerge,
        after: TransactionId,
        part: &MergePart,
    ) -> Result<()> {
        self.set_durability(match merging.has_durable && !planted!(LogReused) {
            // The log is needed until the merged state is on the disk.
            true => Durability::Async,
            false => Durability::Lazy,
        });
        self.status.is_merging = true;
        self.status.log_end = part.log_end;
        // The file grows instead: a hook of the application may begin to read.
        self.pages.limits.slow_readers = None;
        let changes = merging.records.changes_between(after, part.last);
        if merging.is_left {
            for RecordChange { handle, change } in &changes {
                self.refuse_unfit(*handle, change.table, change.key)?;
            }
        }
        self.apply(&changes)
    }

    /// Refuses a change of a log that no small transaction would have made.
    fn refuse_unfit(&self, handle: usize, name: &[u8], key: &[u8]) -> Result<()> {
        let root = self.root_of(handle, name)?;
        let is_fit = root.is_some_and(|root| is_plain(&root))
            && key.len() <= max_key_len(self.pages.page_size());
        match is_fit {
            true => Ok(()),
            false => {
                let detail = "an entry of the write-ahead log does not fit its table; remove the log to \
                              give its commits up";
                Err(Error::corrupted(PageNumber(0), "recovery", detail))
            }
        }
    }
}
