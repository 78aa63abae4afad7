//! Steps 4 and 5: the pages and the record go to the file, or the commit is deferred.

use super::{
    build_record::{build_record, build_snapshot},
    defer::pages_to_defer,
    journal::new_pages,
    space::CommitExtents,
};
use crate::{
    Error, Extent, PageNumber, Result,
    alloc::SpaceCommit,
    btree::PageSource,
    commit::{
        deferred::DeferredCommits,
        disk::{UnwrittenPage, WRITING_PAGES, write_pages},
        journal::changes::CommitChanges,
        write_commit::Commit,
        written_extents::{covers, union},
    },
    instance::policies::LostNamePolicy,
    io::{Fill, LostName},
    observe::{events::Event, latency::CommitStep},
    planted::planted,
    read::snapshot::Snapshot,
    record::{Record, durability::Durability},
    write::transaction::WriteTransaction,
};
use std::{mem, sync::Arc};

/// Writes pages and record, or defers the commit. Makes the state visible if its durability does
/// not require a flush first.
pub(super) fn write_or_defer(
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
        new_pages: new_pages(txn, taken, snapshot.record.page_count),
        deaths: match txn.journal {
            Some(_) => extents.deaths.clone(),
            None => Vec::new(),
        },
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
    counters.note_commit(taken_count, dead_count, is_deferred, work);
    if let Some(note) = &mut txn.timing.commit_note {
        note.note_bytes(taken_count * txn.engine.file.page_size as u64);
    }
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
