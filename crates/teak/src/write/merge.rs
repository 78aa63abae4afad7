//! Merging the memtable into the trees.

use crate::{
    Error, PageNumber, Result,
    page::{max_key_len, value::StoredValue},
    record::durability::Durability,
};
use crate::{
    btree::{PageSource, insert::Existing},
    instance::{
        engine::Engine,
        held_writer_lock::HeldWriterLock,
        memtable::{MemtableState, is_plain},
    },
    write::transaction::WriteTransaction,
};
use std::{sync::Arc, time::Duration};

/// How long a thread waits for the writer's state before it checks whether another one has merged.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// Why the memtable is merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MergeReason {
    Reader,
    /// The memtable is full, or its commits are old.
    Limits,
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

    /// Merges the memtable. The caller may have the writer lock, but not the writer's state.
    ///
    /// # Errors
    ///
    /// As with [`Self::show_memtable`].
    #[cold]
    pub(crate) fn merge_memtable(self: &Arc<Self>, reason: MergeReason) -> Result<()> {
        self.refuse_forked()?;
        let writer_lock = self.writer_lock.as_ref().ok_or(Error::ReadOnly)?;
        let guard = loop {
            if !self.memtable.is_filled() {
                return Ok(());
            }
            // A whole transaction keeps the writer's state until it ends. It has merged before.
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
        if memtable.is_empty() {
            return Ok(());
        }
        let usable = self.refuse_poisoned();
        if let Err(refused) = usable.and_then(|()| self.committer.refuse_evicted()) {
            // Another process may recover the database, and these commits from their log.
            memtable.abandon();
            self.release_memtable();
            return Err(refused);
        }
        let mut txn = WriteTransaction::begin_for(self, writer, memtable.commit_count())?;
        txn.event_delivery.disarm();
        txn.apply(&memtable)?;
        let merged = txn.write()?.transaction();
        assert_eq!(
            Some(merged),
            memtable.last(),
            "the merged state has the number of the last commit"
        );
        drop(txn);
        self.end_memtable(&mut memtable, reason);
        Ok(())
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

    /// Empties the memtable, all of whose commits are in the trees.
    pub(crate) fn end_memtable(&self, memtable: &mut MemtableState, reason: MergeReason) {
        let is_for_reader = reason == MergeReason::Reader;
        self.memtable.note_merged(memtable, is_for_reader);
        self.release_memtable();
    }

    /// Lets other processes join and write.
    fn release_memtable(&self) {
        if let Some(shared) = &self.committer.shared {
            shared.region.set_memtable_owner(0);
        }
        let process_lock = &self.committer.process_writer_lock;
        process_lock.set_kept(false);
        process_lock.note_deferred_written(&self.committer.commit_state);
    }
}

impl WriteTransaction {
    /// Begins on the newest state, of which the commits in the memtable are a part.
    pub(crate) fn begin_merged(engine: &Arc<Engine>, writer: HeldWriterLock) -> Result<Self> {
        let mut memtable = engine.memtable.lock();
        if memtable.is_empty() {
            return Self::begin_for(engine, writer, 1);
        }
        engine.refuse_poisoned()?;
        let mut txn = Self::begin_for(engine, writer, memtable.commit_count())?;
        let limits = &txn.pages.limits;
        let (durability, expected) = (limits.durability, limits.expected);
        let merged = txn.apply(&memtable).and_then(|()| txn.checkpoint());
        if let Err(error) = merged {
            // It delivers events when it ends, whose hooks may begin to read.
            drop(memtable);
            return Err(error);
        }
        assert_eq!(
            engine.committer.newest(),
            memtable.last().unwrap_or_default(),
            "the merged state has the number of the last commit"
        );
        engine.end_memtable(&mut memtable, MergeReason::Limits);
        assert!(memtable.is_empty(), "all commits are in the trees");
        drop(memtable);
        if txn.status.is_broken {
            txn.roll_back()?;
        }
        txn.pages.limits.durability = durability;
        txn.pages.limits.expected = expected;
        Ok(txn)
    }

    /// Applies all changes of the memtable.
    fn apply(&mut self, memtable: &MemtableState) -> Result<()> {
        debug_assert_eq!(
            self.commit_count,
            memtable.commit_count(),
            "a merge is as many commits as the memtable has"
        );
        self.set_durability(Durability::Lazy);
        self.status.is_merging = true;
        // The file grows instead: a hook of the application may begin to read.
        self.pages.limits.slow_readers = None;
        for (handle, name, key, value) in memtable.records() {
            if memtable.is_left() {
                self.refuse_unfit(handle, name, key)?;
            }
            match value {
                Some(value) => {
                    let value = StoredValue::inline(value);
                    self.insert(handle, name, key, value, Existing::Replace)?;
                }
                None => {
                    self.remove(handle, name, key)?;
                }
            }
        }
        Ok(())
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
