//! The record of a commit, and the snapshot of its state.

use crate::{
    Extent, Result, TransactionId,
    alloc::SpaceCommit,
    clock::now_ms,
    commit::written_extents::{covers, union},
    io::Mapping,
    planted::planted,
    read::{named_list, roots::KnownRoots, snapshot::Snapshot},
    record::{JOURNAL, Record, TABLE_KINDS, durability::Durability},
    write::transaction::WriteTransaction,
};
use std::sync::Arc;

/// Builds the record of this commit, which wrote the pages `taken`.
pub(super) fn build_record(
    txn: &mut WriteTransaction,
    space: SpaceCommit,
    taken: &[Extent],
    page_count: u64,
) -> Record {
    // A deferred commit gets another slot and sequence when it is written.
    let (slot, sequence, (flushed, durable), last_target) = {
        let state = txn.engine.committer.commit_state.lock();
        let known = (state.flushed().transaction, state.durable().transaction);
        let sequence = state.newest().sequence + 1;
        (state.next_slot(), sequence, known, state.last_target())
    };
    let (len_max, transaction) = (txn.base.record.len_max(), txn.id());
    let written = note_written(txn, taken, flushed, last_target);
    let fits = |extents: &Vec<Extent>| space.log.len() <= Record::log_room(len_max, extents.len());
    let mut record = Record {
        slot,
        sequence,
        transaction,
        flushed_transaction: planted!(KnownTooMuch => transaction, else flushed),
        acknowledged: durable,
        log_end: txn.status.log_end,
        journal: txn.journal,
        time_ms: now_ms(),
        requested_durable: txn.pages.limits.durability != Durability::Lazy,
        clean_close: planted!(AlwaysClean),
        page_count,
        geometry: txn.pages.limits.geometry,
        catalog_root: txn.catalog.encode(),
        marks: txn.marks,
        space_roots: space.roots,
        written: written.filter(fits),
        space_log: space.log,
        ..txn.pages.writer.newest.without_lists()
    };
    let pins = txn.named.pins.as_ref();
    let pins = pins.unwrap_or(&txn.pages.writer.named);
    debug_assert!(
        record.space_log.len()
            <= Record::log_room(len_max, record.written.as_ref().map_or(0, Vec::len)),
        "the lists of a record leave room for what encryption adds"
    );
    named_list::note(&mut record, &txn.named.list, pins);
    let mut roots = txn.tables.open.values().filter_map(|table| table.root);
    if txn.status.has_special || roots.any(|root| root.is_special()) {
        record.features.incompatible |= TABLE_KINDS;
    }
    if record.journal.is_some() {
        record.features.incompatible |= JOURNAL;
    }
    record
}

/// Notes the pages that this commit wrote or revived. Returns all extents that may not be on the
/// disk; `None` if there are too many to list.
fn note_written(
    txn: &mut WriteTransaction,
    taken: &[Extent],
    flushed: TransactionId,
    last_target: TransactionId,
) -> Option<Vec<Extent>> {
    let transaction = txn.id();
    let taken = union(taken, &txn.named.revived_extents());
    let written = &mut txn.pages.writer.written;
    written.forget(planted!(VerifyTooLittle => last_target, else flushed));
    let all = written.with(&taken);
    debug_assert!(
        (all.as_ref()).is_none_or(|all| taken.iter().all(|extent| covers(all, *extent))),
        "recovery verifies every page that a commit wrote"
    );
    written.note(transaction, &taken, last_target);
    all
}

/// The state after this commit, with the roots that are known.
pub(super) fn build_snapshot(
    txn: &WriteTransaction,
    record: Record,
    mapping: Arc<Mapping>,
    taken: &[Extent],
) -> Result<Snapshot> {
    let verified = txn.base.verified.covering(record.page_count);
    // The pages were sealed just now, so their checksums are known to match.
    // Pages with a codec are noted when they are read, if their frames are there then.
    if !mapping.is_coded() {
        taken.iter().for_each(|extent| verified.note(*extent));
    }
    let mut roots = match txn.tables.has_other_roots {
        true => KnownRoots::default(),
        false => txn.base.known_roots().clone(),
    };
    for (handle, table) in &txn.tables.open {
        roots.change(*handle, table.root);
    }
    let comparisons = txn.base.comparisons.clone();
    let mut snapshot = Snapshot::new(record, mapping, verified, comparisons, roots)?;
    snapshot.note_counts_of(&txn.pages.writer.space);
    Ok(snapshot)
}
