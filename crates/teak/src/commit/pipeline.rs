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
//! which gives its pages back, or, from step 4 on, reads the free-space map again from the previous
//! record. Once the record write has begun, an error leaves the state on the disk unknown: the
//! database refuses writes until it is reopened.

mod build_record;
mod defer;
mod journal;
pub(crate) mod prepare;
mod space;

use crate::{
    Error, Extent, PageNumber, Result, TransactionId,
    alloc::SpaceCommit,
    btree::{PageSource, TreeRoot, seal},
    commit::{
        deferred::DeferredCommits,
        disk::{UnwrittenPage, WRITING_PAGES, write_pages},
        journal::changes::CommitChanges,
        ticket::Ticket,
        write_commit::Commit,
        written_extents::{covers, union},
    },
    instance::policies::LostNamePolicy,
    io::{Fill, LostName},
    maintain::{dropped, empty_tail, policy::note_shrinking},
    observe::{
        events::{CommitNote, Event},
        latency::{CommitLatency, CommitStep, Stopwatch},
    },
    planted::planted,
    read::{catalog, snapshot::Snapshot},
    record::{Record, durability::Durability},
    write::{prepared::refuse_prepared, transaction::WriteTransaction},
};
use build_record::{build_record, build_snapshot};
use defer::pages_to_defer;
use space::CommitExtents;
use std::{mem, sync::Arc};

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
        self.set_durability(Durability::Async);
        let engine = Arc::clone(&self.engine);
        let transaction = self.commit()?;
        Ok(engine.ticket(transaction))
    }

    /// Writes the commit, releases the writer locks, and waits until it is as durable as it asks.
    fn finish(mut self) -> Result<(TransactionId, Option<Stopwatch>)> {
        let durability = self.pages.limits.durability;
        let (engine, id) = (Arc::clone(&self.engine), self.id());
        let span = self.timing.spans.enter_last_commit(durability);
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
        span.end(transaction == id);
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
            // Nothing has changed: the transaction gives its pages back.
            Err(error) if self.named.revived.is_none() => return Err(error),
            space => space,
        };
        self.status.is_ended = true;
        let written = space.and_then(|space| write_or_defer(self, &extents, space));
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
        if !self.status.is_deciding {
            refuse_prepared(&self.pages.writer.named)?;
        }
        committer.start_for(self.pages.limits.durability)?;
        self.pages.writer.last_durability = Some(self.pages.limits.durability);
        if !self.status.is_merging {
            (self.engine.memtable).note_durability(self.pages.limits.durability);
        }
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
        if self.status.is_preparing {
            // The tables are those of the state that the transaction began with.
            return Ok(has_none_dropped);
        }
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
            || self.status.is_merging
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

/// Makes the catalog that of the state that this transaction makes, sealed, for a transaction that
/// is prepared.
fn write_tables(txn: &mut WriteTransaction) -> Result<()> {
    dropped::store_parked(txn)?;
    write_roots(txn)?;
    seal::seal(&mut txn.pages, &mut txn.catalog)
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

/// Writes pages and record, or defers the commit. Makes the state visible if its durability does
/// not require a flush first.
fn write_or_defer(
    txn: &mut WriteTransaction,
    extents: &CommitExtents,
    space: SpaceCommit,
) -> Result<Arc<Snapshot>> {
    let page_count = txn.pages.writer.space.page_count();
    txn.pages.extend_file(page_count, Fill::HugePages)?;
    let mapping = txn.engine.file.storage.mapping();
    let mapping = mapping.map_err(Error::io("mapping the file"))?;
    txn.pages.mark_mapped();
    let taken = union(&extents.taken, &space.checkpoint_taken);
    let taken_count = taken.iter().map(|extent| u64::from(extent.len)).sum();
    debug_assert!(
        taken.last().is_none_or(|last| last.end() <= page_count),
        "the pages of a commit are in its file"
    );
    let deferred = pages_to_defer(txn, &space, extents);
    if deferred.is_none() {
        write_every_page(txn, &space, &taken)?;
    }
    refuse_lost(txn)?;
    let record = build_record(txn, space, &taken, page_count);
    let noted = record.without_written();
    let snapshot = Arc::new(build_snapshot(txn, record, mapping, &taken)?);
    txn.note_step(CommitStep::Write);
    let is_deferred = deferred.is_some();
    let changes = changes(txn, extents, &taken, &snapshot);
    txn.pages.writer.unwritten = match deferred {
        Some(pages) => defer(txn, &snapshot, pages, &changes)?,
        None => write_record(txn, &snapshot, taken_count, changes)?,
    };
    note_commit(txn, extents, taken_count, is_deferred);
    note_record(txn, noted, extents);
    let percent = txn.engine.policies.move_percent;
    note_shrinking(&mut txn.pages.writer, &*txn.engine.file.storage, percent);
    Ok(snapshot)
}

/// Writes deferred commits, and the pages of this commit.
fn write_every_page(
    txn: &mut WriteTransaction,
    space: &SpaceCommit,
    taken: &[Extent],
) -> Result<()> {
    if !planted!(SkipDeferred) {
        txn.engine.committer.write_deferred()?;
    }
    txn.engine.committer.refuse_evicted()?;
    let mut pages = txn.pages.unwritten_pages();
    let checkpointed = space.checkpoint_pages.iter();
    pages.extend(checkpointed.map(|(number, page)| (*number, &page[..])));
    pages.sort_unstable_by_key(|(number, _)| *number);
    let is_taken = |number: PageNumber| covers(taken, Extent::new(number.0, 1));
    debug_assert!(
        pages.iter().all(|(number, _)| is_taken(*number)),
        "a commit writes only pages that it has taken, which no snapshot sees"
    );
    let file = &txn.engine.file;
    write_pages(&*file.storage, file.page_size, &pages).map_err(Error::io(WRITING_PAGES))
}

/// Fails if pages were lost, or if the file was cut short or has lost its name.
fn refuse_lost(txn: &WriteTransaction) -> Result<()> {
    txn.pages.refuse_lost()?;
    let storage = &txn.engine.file.storage;
    storage.refuse_cut().map_err(Error::io(WRITING_PAGES))?;
    refuse_lost_name(txn)
}

/// Reports once that the file has lost its name, or refuses to commit, depending on the policy.
fn refuse_lost_name(txn: &WriteTransaction) -> Result<()> {
    let Some(LostName { path, moved_to, .. }) = txn.engine.file.storage.lost_name() else {
        return Ok(());
    };
    if txn.engine.policies.without_name == LostNamePolicy::Refuse {
        return Err(Error::NameLost { path, moved_to });
    }
    if txn.engine.file.is_first_loss_of_name() {
        let events = &txn.engine.committer.events;
        events.note(|| Event::NameLost { path, moved_to });
    }
    Ok(())
}

/// The changes of this commit, for the journal.
fn changes(
    txn: &WriteTransaction,
    extents: &CommitExtents,
    taken: &[Extent],
    snapshot: &Snapshot,
) -> CommitChanges {
    CommitChanges {
        base: txn.base.transaction(),
        new_pages: journal::new_pages(txn, taken, snapshot.record.page_count),
        deaths: match txn.journal {
            Some(_) => extents.deaths.clone(),
            None => Vec::new(),
        },
        is_to_shrink: txn.pages.writer.is_to_shrink(&*txn.engine.file.storage),
        journal: txn.journal,
        mapping: Arc::clone(&snapshot.mapping),
    }
}

/// Defers the commit. Returns its unwritten pages, on which the next writer builds.
fn defer(
    txn: &WriteTransaction,
    snapshot: &Arc<Snapshot>,
    pages: Arc<[UnwrittenPage]>,
    changes: &CommitChanges,
) -> Result<Arc<[UnwrittenPage]>> {
    debug_assert!(
        txn.pages.limits.durability == Durability::Durable && !txn.status.stays,
        "of deferred commits only what the last one uses is written, when it is durable"
    );
    let deferred = DeferredCommits {
        snapshot: Arc::clone(snapshot),
        pages: Arc::clone(&pages),
    };
    txn.engine.committer.defer(deferred, changes)?;
    Ok(pages)
}

/// Writes the record. No page is unwritten then.
fn write_record(
    txn: &WriteTransaction,
    snapshot: &Arc<Snapshot>,
    taken_count: u64,
    changes: CommitChanges,
) -> Result<Arc<[UnwrittenPage]>> {
    txn.engine.committer.write_commit(Commit {
        snapshot: Arc::clone(snapshot),
        durability: txn.pages.limits.durability,
        bytes: taken_count * txn.engine.file.page_size as u64,
        mapped: txn.pages.mapped().cloned(),
        changes,
    })?;
    Ok(Arc::default())
}

/// Counts the commit.
fn note_commit(
    txn: &mut WriteTransaction,
    extents: &CommitExtents,
    taken_count: u64,
    is_deferred: bool,
) {
    let deaths = extents.deaths.iter();
    let dead_count = deaths.map(|(extent, _)| u64::from(extent.len)).sum();
    let work = mem::take(&mut txn.pages.work);
    let counters = &txn.engine.committer.counters;
    // The other state of a transaction that is prepared is no commit.
    let count = match txn.status.is_preparing {
        true => 1,
        false => txn.commit_count,
    };
    counters.note_commit(count, (taken_count, dead_count), is_deferred, work);
    let bytes = taken_count * txn.engine.file.page_size as u64;
    if let Some(note) = &mut txn.timing.commit_note {
        note.note_bytes(bytes);
    }
    (txn.timing.spans).note_commit(txn.id(), taken_count, bytes);
}

/// Notes the record for the next writer.
fn note_record(txn: &mut WriteTransaction, record: Record, extents: &CommitExtents) {
    debug_assert_eq!(record.transaction, txn.id(), "the record is of this commit");
    debug_assert!(
        txn.id() > txn.base.transaction(),
        "a commit is newer than the state that it builds on"
    );
    txn.pages.writer.note_record(record, &extents.deaths);
    if let Some(pins) = txn.named.pins.take() {
        txn.pages.writer.named = pins;
    }
    txn.note_step(CommitStep::Record);
}
