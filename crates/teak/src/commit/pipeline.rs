//! The commit pipeline.
//!
//! 1. *Seal*: compute checksums from the leaves of each changed table to its root, store the roots
//!    in the catalog, and seal the catalog in the same way.
//! 2. *Space*: append allocated and dead extents to the record's space log, or checkpoint the
//!    free-space map.
//! 3. *Write*: write all pages that are not at their final position yet, one write for each extent.
//! 4. *Record*: the flusher writes the record to a slot that is not needed. Readers see the commit
//!    from then on, unless it must be durable first. While a flush runs, a small durable commit is
//!    deferred: it is only noted instead of steps 3 and 4, and the next flush leader writes all
//!    deferred commits together.
//! 5. *Wait*: a durable commit releases the writer lock and waits until the flusher has made it
//!    durable and visible.
//!
//! Before the record is written, nothing refers to the new pages. An error undoes the transaction,
//! and the free-space map is read again from the previous record. Once the record write has begun,
//! an error leaves the state on the disk unknown: the database refuses writes until it is reopened.

use crate::{
    Error, Extent, Result, TransactionId,
    alloc::{SpaceChange, SpaceCommit},
    btree::{PageSource, TreeRoot, seal},
    io::{Fill, LostName, Mapping},
    planted::planted,
    record::{JOURNAL, Record, TABLE_KINDS},
};
use crate::{
    alloc::deaths::{contains, joined},
    clock::now_ms,
    commit::{
        deferred::DeferredCommits,
        flush::Commit,
        journal::changes::CommitChanges,
        page_writes::{UnwrittenPage, WRITING_PAGES, write_pages},
        ticket::Ticket,
        written_extents::union,
    },
    instance::policies::LostNamePolicy,
    observe::{
        events::{CommitNote, Event},
        latency::{CommitLatency, CommitStep, Stopwatch},
    },
    read::{named_list, roots::KnownRoots, snapshot::Snapshot},
    record::durability::Durability,
    write::transaction::WriteTransaction,
};
use std::sync::Arc;

/// The most bytes of pages of one deferred commit, and of all deferred commits.
const DEFERRED_BYTES_MAX: usize = 256 << 10;
const ALL_DEFERRED_BYTES_MAX: usize = 2 << 20;

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
        Ok((
            transaction,
            stopwatch.map(Stopwatch::stop).unwrap_or_default(),
        ))
    }

    fn finish(mut self) -> Result<(TransactionId, Option<Stopwatch>)> {
        let durability = self.pages.limits.durability;
        let engine = Arc::clone(&self.engine);
        let written = self.write();
        let (mut stopwatch, note) = (self.timing.stopwatch.take(), self.timing.commit_note.take());
        // The next writer continues while this one waits.
        drop(self);
        if written.is_err() {
            engine.flusher.wake_all();
        }
        let transaction = engine.named(written)?.transaction();
        if !durability.is_seen_at_once() {
            engine.named(engine.flusher.wait(transaction))?;
            stopwatch
                .iter_mut()
                .for_each(|watch| watch.note(CommitStep::Wait));
        }
        engine.note_and_deliver_commit(note, transaction, durability);
        Ok((transaction, stopwatch))
    }

    /// Commits and returns a ticket at once. The ticket reports when the commit is durable.
    pub(crate) fn commit_async(mut self) -> Result<Ticket> {
        self.pages.limits.durability = Durability::Async;
        let engine = Arc::clone(&self.engine);
        let transaction = self.commit()?;
        Ok(engine.ticket(transaction))
    }

    /// Notes the end of a step of the commit.
    fn note_step(&mut self, step: CommitStep) {
        if let Some(stopwatch) = &mut self.timing.stopwatch {
            stopwatch.note(step);
        }
    }

    /// Writes the commit without waiting until it is on the disk. Returns the new state, or the
    /// state that the transaction began with if nothing changed.
    pub(crate) fn write(&mut self) -> Result<Arc<Snapshot>> {
        let flusher = Arc::clone(&self.engine.flusher);
        self.timing.commit_note = CommitNote::begun(&flusher.events);
        flusher.refuse_poisoned()?;
        self.refuse_broken()?;
        flusher.start_for(self.pages.limits.durability)?;
        if let Some(outermost) = self.outermost_savepoint() {
            self.end_savepoint(outermost)?;
        }
        let mut is_none_dropped = self.has_none_dropped();
        let is_changed =
            !self.pages.is_unchanged() || self.tables.open.values().any(|table| table.is_changed);
        if is_changed {
            self.keep_parked()?;
            is_none_dropped = self.release_some_dropped()?;
            self.empty_tail()?;
        }
        if is_changed || self.status.is_compacting {
            self.change_journal()?;
        }
        self.note_step(CommitStep::Tail);
        self.write_roots()?;
        let has_news = self.status.is_compacting
            || !self.named.changes.is_empty()
            || self
                .named
                .revived
                .as_ref()
                .is_some_and(|revived| !revived.is_empty())
            || self.pages.limits.geometry != self.base.record.geometry
            || self.marks != self.base.record.marks;
        if self.pages.is_unchanged() && !has_news {
            flusher.write_nothing(self.pages.limits.durability);
            self.timing.commit_note = None;
            return Ok(Arc::clone(&self.base));
        }
        seal::seal(&mut self.pages, &mut self.catalog)?;
        self.write_named()?;
        assert!(
            self.pages.parked.trees.is_empty(),
            "what was parked is in the catalog"
        );
        self.note_step(CommitStep::Roots);
        let taken = self.pages.settle();
        let mut deaths = joined(&self.pages.deaths);
        planted!(LoseDeaths => deaths.clear());
        let committed = self.commit_space(&taken, &deaths);
        if matches!(committed, Err(Error::Full { .. })) {
            self.pages.want_space(0);
        }
        if matches!(committed, Err(Error::Corrupted { .. })) {
            // A relocated page may be the damaged one.
            self.rest(u64::MAX);
        }
        self.note_step(CommitStep::Space);
        let committed = match committed {
            Err(error) if self.named.revived.is_none() => return Err(error),
            committed => committed,
        };
        self.status.is_ended = true;
        let written = committed.and_then(|committed| self.write_all(&taken, &deaths, committed));
        self.pages.writer.arena.clear();
        match &written {
            Ok(_) => self.note_dropped(is_none_dropped),
            Err(_) => self.restore_space(),
        }
        written
    }

    /// Seals every changed table and writes its root to the catalog.
    fn write_roots(&mut self) -> Result<()> {
        for (handle, name, mut root) in self.changed_roots() {
            seal::seal(&mut self.pages, &mut root)?;
            self.change_catalog(|pages, catalog| {
                crate::read::catalog::put(pages, catalog, &name, &root)
            })?;
            if let Some(table) = self.tables.open.get_mut(&handle) {
                table.root = Some(root);
                table.is_changed = false;
            }
        }
        Ok(())
    }

    /// The changed roots, by table handle and name.
    fn changed_roots(&self) -> Vec<(usize, Vec<u8>, TreeRoot)> {
        let changed = self
            .tables
            .open
            .iter()
            .filter(|(_, table)| table.is_changed);
        changed
            .filter_map(|(handle, table)| Some((*handle, table.name.clone(), table.root?)))
            .collect()
    }

    /// Commits the transaction's extents to the free-space map. Nothing has changed if this fails.
    fn commit_space(
        &mut self,
        taken: &[Extent],
        deaths: &[(Extent, TransactionId)],
    ) -> Result<SpaceCommit> {
        let page_size = self.engine.file.page_size;
        let transaction = self.id();
        let page_limit = self.pages.size_limit_pages().min(u64::from(u32::MAX));
        let taken_count = self.pages.taken_count();
        let writer = &mut *self.pages.writer;
        match self.status.is_compacting {
            true => writer.cut_all_free(self.pages.limits.geometry),
            false if self.pages.supply.has_grown => {}
            false => writer.cut_long_free(self.pages.limits.geometry),
        }
        writer.shrink.high_water.note_written(taken_count);
        let written = writer.written.with(taken);
        // A checkpoint adds some extents; some may be durable by now.
        let reserved = written.map_or(0, |extents| extents.len() + 8);
        let log_room = Record::log_room(page_size, reserved);
        writer.space.commit(SpaceChange {
            transaction,
            taken,
            deaths,
            revived: self.named.revived.as_deref().unwrap_or_default(),
            log_room,
            page_limit,
        })
    }

    /// Writes pages and record. Makes the state visible if its durability does not require a flush
    /// first.
    fn write_all(
        &mut self,
        taken: &[Extent],
        deaths: &[(Extent, TransactionId)],
        committed: SpaceCommit,
    ) -> Result<Arc<Snapshot>> {
        let page_count = self.pages.writer.space.page_count();
        self.pages.extend_file(page_count, Fill::HugePages)?;
        let mapping = self.engine.file.storage.mapping();
        let mapping = mapping.map_err(Error::io("mapping the file"))?;
        self.pages.mark_mapped();
        let deferred = self.pages_to_defer(&committed, deaths);
        if deferred.is_none() {
            self.write_every_page(&committed)?;
        }
        self.pages.refuse_lost()?;
        let storage = &self.engine.file.storage;
        storage.refuse_cut().map_err(Error::io(WRITING_PAGES))?;
        self.refuse_lost_name()?;
        let taken = union(taken, &committed.checkpoint_taken);
        let bytes = taken
            .iter()
            .map(|extent| u64::from(extent.len))
            .sum::<u64>()
            * self.engine.file.page_size as u64;
        let record = self.record(
            committed,
            &union(&taken, self.named.revived.as_deref().unwrap_or_default()),
            page_count,
        );
        let snapshot = Arc::new(self.new_snapshot(record.clone(), mapping, &taken)?);
        self.note_step(CommitStep::Write);
        let changes = CommitChanges {
            new_pages: self.new_pages(&taken, page_count),
            deaths: match self.journal {
                Some(_) => deaths.to_vec(),
                None => Vec::new(),
            },
            journal: self.journal,
            mapping: Arc::clone(&snapshot.mapping),
        };
        let flusher = &self.engine.flusher;
        let is_deferred = deferred.is_some();
        self.pages.writer.unwritten = match deferred {
            Some(pages) => {
                let deferred = DeferredCommits {
                    snapshot: Arc::clone(&snapshot),
                    pages: Arc::clone(&pages),
                };
                flusher.defer(deferred, &changes)?;
                pages
            }
            None => {
                flusher.write(Commit {
                    snapshot: Arc::clone(&snapshot),
                    durability: self.pages.limits.durability,
                    bytes,
                    mapped: self.pages.mapped().cloned(),
                    changes,
                })?;
                Arc::default()
            }
        };
        let dead = deaths.iter().map(|(extent, _)| u64::from(extent.len)).sum();
        let taken = bytes / self.engine.file.page_size as u64;
        let work = std::mem::take(&mut self.pages.work);
        flusher.counters.note_commit(taken, dead, is_deferred, work);
        if let Some(note) = &mut self.timing.commit_note {
            note.note_bytes(bytes);
        }
        self.pages.writer.note_record(record, deaths);
        if let Some(pins) = self.named.pins.take() {
            self.pages.writer.named = pins;
        }
        self.note_step(CommitStep::Record);
        Ok(snapshot)
    }

    /// Reports once that the file has lost its name, or refuses to commit, depending on the policy.
    fn refuse_lost_name(&self) -> Result<()> {
        let Some(LostName { path, moved_to, .. }) = self.engine.file.storage.lost_name() else {
            return Ok(());
        };
        if self.engine.policies.without_name == LostNamePolicy::Refuse {
            return Err(Error::NameLost { path, moved_to });
        }
        if self.engine.file.is_first_loss_of_name() {
            let events = &self.engine.flusher.events;
            events.note(|| Event::NameLost { path, moved_to });
        }
        Ok(())
    }

    /// The pages of this commit and of earlier deferred ones that are not in the file, if the
    /// commit should be deferred. `None` if it should be written now.
    fn pages_to_defer(
        &mut self,
        committed: &SpaceCommit,
        deaths: &[(Extent, TransactionId)],
    ) -> Option<Arc<[UnwrittenPage]>> {
        // Pages that a later deferred commit no longer uses are never written. A commit whose state
        // must stay is therefore not deferred.
        let is_fit = self.pages.limits.durability == Durability::Durable
            && (self.named.pins.is_none() || planted!(DeferNamed))
            && !self.status.stays
            && committed.checkpoint_pages.is_empty()
            && !self.engine.flusher.process_writer_lock.has_waiters()
            && self.pages.writer.arena.mapped_bytes() == 0
            && self.pages.dirty_bytes() <= DEFERRED_BYTES_MAX
            && self.pages.writer.unwritten.len() * self.engine.file.page_size
                <= ALL_DEFERRED_BYTES_MAX;
        if !is_fit {
            return None;
        }
        let in_file = self.engine.flusher.written_under_flush()?;
        // A commit that may find the disk full must not share its write with others.
        if !self.pages.supply.is_secured {
            return None;
        }
        let transaction = self.id();
        let is_left =
            |page: &&UnwrittenPage| page.transaction > in_file && !contains(deaths, page.number);
        let before = self.pages.writer.unwritten.iter().filter(is_left);
        let mut all: Vec<_> = before.cloned().collect();
        let own = self.pages.unwritten_pages().into_iter();
        all.extend(own.map(|(number, bytes)| UnwrittenPage {
            number,
            bytes: bytes.into(),
            transaction,
        }));
        all.sort_unstable_by_key(|page| page.number);
        Some(all.into())
    }

    /// Writes deferred commits, and the pages of this commit.
    fn write_every_page(&mut self, committed: &SpaceCommit) -> Result<()> {
        if !planted!(SkipDeferred) {
            self.engine.flusher.write_deferred()?;
        }
        self.engine.flusher.refuse_evicted()?;
        let storage = Arc::clone(&self.engine.file.storage);
        let mut pages = self.pages.unwritten_pages();
        let checkpointed = committed.checkpoint_pages.iter();
        pages.extend(checkpointed.map(|(number, page)| (*number, &page[..])));
        pages.sort_unstable_by_key(|(number, _)| *number);
        write_pages(&*storage, self.engine.file.page_size, &pages).map_err(Error::io(WRITING_PAGES))
    }

    /// Builds the record of this commit, which wrote the pages `taken`.
    fn record(&mut self, committed: SpaceCommit, taken: &[Extent], page_count: u64) -> Record {
        // A deferred commit gets another slot and sequence when it is written.
        let (slot, sequence, (flushed, durable), last_target) = {
            let state = self.engine.flusher.commit_state.lock();
            let sequence = state.newest.sequence + 1;
            let durable = (state.flushed.transaction, state.durable.transaction);
            (state.next_slot(), sequence, durable, state.last_target())
        };
        let (page_size, transaction) = (self.engine.file.page_size, self.id());
        let writer = &mut *self.pages.writer;
        writer
            .written
            .forget(planted!(VerifyTooLittle => last_target, else flushed));
        let written = writer.written.with(taken);
        writer.written.note(transaction, taken, last_target);
        let fits = |extents: &Vec<Extent>| {
            committed.log.len() <= Record::log_room(page_size, extents.len())
        };
        let mut record = Record {
            slot,
            sequence,
            transaction,
            durable_transaction: planted!(KnownTooMuch => transaction, else flushed),
            acknowledged: durable,
            journal: self.journal,
            time_ms: now_ms(),
            asked_durable: self.pages.limits.durability != Durability::Lazy,
            clean_close: planted!(AlwaysClean),
            page_count,
            geometry: self.pages.limits.geometry,
            catalog_root: self.catalog.encode(),
            marks: self.marks,
            space_roots: committed.roots,
            written: written.filter(fits),
            space_log: committed.log,
            ..writer.newest.without_lists()
        };
        named_list::note(&mut record, &self.named.list);
        let mut roots = self.tables.open.values().filter_map(|table| table.root);
        if roots.any(|root| root.is_special()) {
            record.features.incompatible |= TABLE_KINDS;
        }
        if record.journal.is_some() {
            record.features.incompatible |= JOURNAL;
        }
        record
    }

    /// The state after this commit, with the roots that are known.
    fn new_snapshot(
        &self,
        record: Record,
        mapping: Arc<Mapping>,
        taken: &[Extent],
    ) -> Result<Snapshot> {
        let checked = self.base.checked.covering(record.page_count);
        // The pages were sealed just now, so their checksums are known to match.
        taken.iter().for_each(|extent| checked.note(*extent));
        let mut roots = match self.tables.has_other_roots {
            true => KnownRoots::default(),
            false => self.base.known_roots().clone(),
        };
        for (handle, table) in &self.tables.open {
            roots.change(*handle, table.root);
        }
        let comparisons = self.base.comparisons.clone();
        let mut snapshot = Snapshot::new(record, mapping, checked, comparisons, roots)?;
        snapshot.note_counts_of(&self.pages.writer.space);
        Ok(snapshot)
    }

    /// After a failed write: reads the free-space map again, as of the previous record.
    fn restore_space(&mut self) {
        let pins = self.engine.flusher.pins(&self.pages.writer.named);
        match pins.and_then(|pins| self.pages.writer.pinned(&self.base).space(&pins)) {
            Ok(space) => self.pages.writer.space = space,
            Err(_) => self.engine.flusher.poison("reloading the free-space map"),
        }
    }
}
