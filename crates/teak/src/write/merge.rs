//! Merging the memtable into the trees.

use crate::{Result, page::value::StoredValue, record::durability::Durability};
use crate::{
    btree::insert::Existing,
    instance::{engine::Engine, held_writer_lock::HeldWriterLock, memtable::MemtableState},
    write::transaction::WriteTransaction,
};
use std::sync::Arc;

/// Who needs the commits of the memtable in the trees.
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

    /// Merges the memtable. The caller may have the turn, but not the writer's state.
    ///
    /// # Errors
    ///
    /// As with [`Self::show_memtable`].
    #[cold]
    pub(crate) fn merge_memtable(self: &Arc<Self>, reason: MergeReason) -> Result<()> {
        self.refuse_forked()?;
        let writer = self.take_writer_state()?;
        let mut memtable = self.memtable.lock();
        if memtable.is_empty() {
            return Ok(());
        }
        self.refuse_poisoned()?;
        self.named(self.committer.refuse_evicted())?;
        let mut txn = WriteTransaction::begin_for(self, writer, memtable.commit_count())?;
        txn.apply(&memtable)?;
        txn.commit()?;
        self.end_memtable(&mut memtable, reason);
        Ok(())
    }

    /// Empties the memtable, all of whose commits are in the trees.
    pub(crate) fn end_memtable(&self, memtable: &mut MemtableState, reason: MergeReason) {
        let is_for_reader = reason == MergeReason::Reader;
        self.memtable.note_merged(memtable, is_for_reader);
        if let Some(shared) = &self.committer.shared {
            shared.region.set_memtable_owner(0);
        }
        let process_lock = &self.committer.process_writer_lock;
        process_lock.keep(false);
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
        let mut txn = Self::begin_for(engine, writer, memtable.commit_count())?;
        let limits = &txn.pages.limits;
        let (durability, expected) = (limits.durability, limits.expected);
        txn.apply(&memtable)?;
        txn.checkpoint()?;
        engine.end_memtable(&mut memtable, MergeReason::Limits);
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
        self.set_durability(Durability::Lazy);
        for (handle, name, key, value) in memtable.records() {
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
}
