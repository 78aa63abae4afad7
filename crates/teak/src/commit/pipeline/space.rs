//! Step 3: the extents of the transaction go into the free-space map.

use crate::{
    Error, Extent, Result, TransactionId,
    alloc::{SpaceChange, SpaceCommit, deaths::joined},
    maintain::{
        empty_tail::rest,
        policy::written_pages,
        truncate::{cut_all_free, cut_long_free},
    },
    planted::planted,
    record::Record,
    write::{pages::WritePages, transaction::WriteTransaction},
};

/// The pages that a commit wrote, and those that died in it with their births.
pub(super) struct CommitExtents {
    pub(super) taken: Vec<Extent>,
    pub(super) deaths: Vec<(Extent, TransactionId)>,
}

impl CommitExtents {
    /// Gives back pages that were taken and not used.
    pub(super) fn take(pages: &mut WritePages) -> Self {
        let taken = pages.close_extents();
        debug_assert!(
            taken.is_sorted_by(|a, b| a.end() <= u64::from(b.start.0)),
            "no page is taken twice"
        );
        let mut deaths = joined(&pages.deaths);
        planted!(LoseDeaths => deaths.clear());
        Self { taken, deaths }
    }
}

/// Commits the extents to the free-space map. Nothing has changed if this fails.
pub(super) fn commit_space(
    txn: &mut WriteTransaction,
    extents: &CommitExtents,
) -> Result<SpaceCommit> {
    let committed = change_space(txn, extents);
    if matches!(committed, Err(Error::Full { .. })) {
        txn.pages.want_space(0);
    }
    if matches!(committed, Err(Error::Corrupted { .. })) {
        // A relocated page may be the damaged one.
        rest(txn, u64::MAX);
    }
    committed
}

fn change_space(txn: &mut WriteTransaction, extents: &CommitExtents) -> Result<SpaceCommit> {
    let transaction = txn.id();
    let page_limit = txn.pages.size_limit_pages().min(u64::from(u32::MAX));
    let taken_count = txn.pages.taken_count();
    let geometry = txn.pages.limits.geometry;
    let revived = txn.named.revived_extents();
    let writer = &mut *txn.pages.writer;
    match txn.status.is_compacting {
        true => cut_all_free(writer, geometry),
        false if txn.pages.supply.has_grown => {}
        // The decision needs free pages.
        false if txn.status.is_preparing => {}
        false => cut_long_free(writer, geometry),
    }
    let written = written_pages(taken_count, txn.commit_count);
    writer.shrink.high_water.note_written(written);
    // A checkpoint adds some extents; some may be durable by now.
    let listed = writer.written.listed_max(extents.taken.len());
    let reserved = listed.map_or(0, |count| count + 8);
    let log_room = Record::log_room(txn.base.record.len_max(), reserved);
    writer.space.commit(SpaceChange {
        transaction,
        taken: &extents.taken,
        deaths: &extents.deaths,
        revived: &revived,
        log_room,
        page_limit,
    })
}

/// After a failed write: reads the free-space map again, as of the previous record.
pub(super) fn restore_space(txn: &mut WriteTransaction) {
    let pins = txn.engine.committer.pins(&txn.pages.writer.named);
    match pins.and_then(|pins| txn.pages.writer.pinned(&txn.base).space(&pins)) {
        Ok(space) => txn.pages.writer.space = space,
        Err(_) => txn.engine.committer.poison("reloading the free-space map"),
    }
}
