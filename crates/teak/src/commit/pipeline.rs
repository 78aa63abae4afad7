//! The commit pipeline. [`WriteTransaction::write`] has the first five steps, and
//! [`WriteTransaction::finish`] the last two:
//!
//! 1. *Tidy*: release some pages of large dropped trees, move some pages from the end of the file,
//!    take or release the pages of the journal. (`CommitLatency::tail`)
//! 2. *Roots*: compute checksums from the leaves of each changed table to its root, store the roots
//!    in the catalog, and seal the catalog in the same way.
//! 3. *Space*: append allocated and dead extents to the record's space log, or checkpoint the
//!    free-space map.
//! 4. *Pages*: write all pages that are not at their final position yet, one write for each run.
//! 5. *Record*: write the record to a slot that is not needed. Readers see the commit from then on,
//!    unless it must be durable first. While a flush runs, a small durable commit is *deferred*: it
//!    is only noted instead of steps 4 and 5, and the next flush leader writes all deferred commits
//!    together.
//! 6. *Release*: release the writer locks. The next writer builds on this commit.
//! 7. *Wait*: a durable commit waits until a flush has made it durable and visible.
//!
//! Before the record is written, nothing refers to the new pages. An error undoes the transaction,
//! and the free-space map is read again from the previous record. Once the record write has begun,
//! an error leaves the state on the disk unknown: the database refuses writes until it is reopened.

mod build_record;
mod defer;
mod hand_over;
mod journal;
mod space;

use crate::{
    Result, TransactionId,
    btree::{TreeRoot, seal},
    commit::ticket::Ticket,
    maintain::{dropped, empty_tail},
    observe::{
        events::CommitNote,
        latency::{CommitLatency, CommitStep, Stopwatch},
    },
    read::{catalog, snapshot::Snapshot},
    record::durability::Durability,
    write::transaction::WriteTransaction,
};
use space::CommitExtents;
use std::sync::Arc;

impl WriteTransaction {
    /// Commits and returns the id of the new state. A transaction without changes writes nothing
    /// and returns the id of the state that it began with.
    pub(crate) fn commit(self) -> Result<TransactionId> {
        self.finish().map(|(transaction, _)| transaction)
    }

    /// Like [`Self::commit`], but also returns the duration of each step.
    pub(crate) fn commit_measured(mut self) -> Result<(TransactionId, CommitLatency)> {
        self.timing.stopwatch = Some(Stopwatch::started());
        let (transaction, stopwatch) = self.finish()?;
        let latency = stopwatch.map(Stopwatch::stop).unwrap_or_default();
        Ok((transaction, latency))
    }

    /// Commits and returns a ticket at once. The ticket reports when the commit is durable.
    pub(crate) fn commit_async(mut self) -> Result<Ticket> {
        self.pages.limits.durability = Durability::Async;
        let engine = Arc::clone(&self.engine);
        let transaction = self.commit()?;
        Ok(engine.ticket(transaction))
    }

    /// Writes the commit, releases the writer locks, and waits until it is as durable as it asks.
    fn finish(mut self) -> Result<(TransactionId, Option<Stopwatch>)> {
        let durability = self.pages.limits.durability;
        let engine = Arc::clone(&self.engine);
        let written = self.write();
        let (mut stopwatch, note) = (self.timing.stopwatch.take(), self.timing.commit_note.take());
        // Releases the writer locks: the next writer continues while this one waits.
        drop(self);
        if written.is_err() {
            engine.committer.wake_all();
        }
        let transaction = engine.named(written)?.transaction();
        if !durability.is_seen_at_once() {
            engine.named(engine.committer.wait(transaction))?;
            stopwatch
                .iter_mut()
                .for_each(|watch| watch.note(CommitStep::Wait));
        }
        engine.note_and_deliver_commit(note, transaction, durability);
        Ok((transaction, stopwatch))
    }

    /// Writes the commit without waiting until it is on the disk. Returns the new state, or the
    /// state that the transaction began with if nothing changed.
    pub(crate) fn write(&mut self) -> Result<Arc<Snapshot>> {
        self.begin_commit()?;
        let has_none_dropped = self.tidy()?;
        self.note_step(CommitStep::Tail);
        write_roots(self)?;
        if self.pages.is_unchanged() && !self.has_news() {
            return Ok(self.commit_nothing());
        }
        write_catalog(self)?;
        self.note_step(CommitStep::Roots);
        let extents = CommitExtents::take(&mut self.pages);
        let space = space::commit_space(self, &extents);
        self.note_step(CommitStep::Space);
        let space = match space {
            // Nothing has changed, so the transaction can continue.
            Err(error) if self.named.revived.is_none() => return Err(error),
            space => space,
        };
        self.status.is_ended = true;
        let written = space.and_then(|space| hand_over::write_or_defer(self, &extents, space));
        self.pages.writer.arena.clear();
        match &written {
            Ok(_) => dropped::note_dropped(self, has_none_dropped),
            Err(_) => space::restore_space(self),
        }
        written
    }

    /// Refuses to commit after a failure, and ends savepoints.
    fn begin_commit(&mut self) -> Result<()> {
        let committer = Arc::clone(&self.engine.committer);
        self.timing.commit_note = CommitNote::begun(&committer.events);
        self.engine.refuse_poisoned()?;
        self.refuse_broken()?;
        committer.start_for(self.pages.limits.durability)?;
        if let Some(outermost) = self.outermost_savepoint() {
            self.end_savepoint(outermost)?;
        }
        debug_assert!(
            self.outermost_savepoint().is_none(),
            "no savepoint outlives its transaction"
        );
        Ok(())
    }

    /// Does some of the work that earlier commits left, if this one changes something. Returns
    /// whether no dropped trees are left.
    fn tidy(&mut self) -> Result<bool> {
        let mut has_none_dropped = dropped::has_none_dropped(self);
        let is_changed =
            !self.pages.is_unchanged() || self.tables.open.values().any(|table| table.is_changed);
        if is_changed {
            dropped::store_parked(self)?;
            has_none_dropped = dropped::release_some_dropped(self)?;
            empty_tail::empty_tail(self)?;
        }
        if is_changed || self.status.is_compacting {
            journal::change_journal(self)?;
        }
        Ok(has_none_dropped)
    }

    /// Whether there is something to commit besides changed pages.
    fn has_news(&self) -> bool {
        let revived = self.named.revived.as_ref();
        self.status.is_compacting
            || !self.named.changes.is_empty()
            || revived.is_some_and(|revived| !revived.is_empty())
            || self.pages.limits.geometry != self.base.record.geometry
            || self.marks != self.base.record.marks
    }

    /// Ends a commit without changes. Returns the state that the transaction began with.
    fn commit_nothing(&mut self) -> Arc<Snapshot> {
        let durability = self.pages.limits.durability;
        self.engine.committer.write_nothing(durability);
        self.timing.commit_note = None;
        Arc::clone(&self.base)
    }

    /// Notes the end of a step of the commit.
    fn note_step(&mut self, step: CommitStep) {
        if let Some(stopwatch) = &mut self.timing.stopwatch {
            stopwatch.note(step);
        }
    }
}

/// Seals every changed table and writes its root to the catalog.
fn write_roots(txn: &mut WriteTransaction) -> Result<()> {
    for (handle, name, mut root) in changed_roots(txn) {
        seal::seal(&mut txn.pages, &mut root)?;
        txn.change_catalog(|pages, catalog| catalog::put(pages, catalog, &name, &root))?;
        if let Some(table) = txn.tables.open.get_mut(&handle) {
            table.root = Some(root);
            table.is_changed = false;
        }
    }
    Ok(())
}

/// The changed roots, by table handle and name.
fn changed_roots(txn: &WriteTransaction) -> Vec<(usize, Vec<u8>, TreeRoot)> {
    let open = txn.tables.open.iter();
    open.filter(|(_, table)| table.is_changed)
        .filter_map(|(handle, table)| Some((*handle, table.name.clone(), table.root?)))
        .collect()
}

/// Seals the catalog, and writes the list of named snapshots.
fn write_catalog(txn: &mut WriteTransaction) -> Result<()> {
    debug_assert!(
        changed_roots(txn).is_empty(),
        "the catalog is sealed after it has the roots of all changed tables"
    );
    seal::seal(&mut txn.pages, &mut txn.catalog)?;
    txn.write_named()?;
    assert!(
        txn.pages.parked.trees.is_empty(),
        "parked trees are in the catalog"
    );
    Ok(())
}
