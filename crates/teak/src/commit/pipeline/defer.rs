//! Which commits are deferred, with which pages.

use super::space::CommitExtents;
use crate::{
    alloc::{SpaceCommit, deaths::contains},
    commit::disk::UnwrittenPage,
    planted::planted,
    record::durability::Durability,
    write::transaction::WriteTransaction,
};
use std::sync::Arc;

/// The most bytes of pages of one deferred commit, and of all deferred commits.
const DEFERRED_BYTES_MAX: usize = 256 << 10;
const ALL_DEFERRED_BYTES_MAX: usize = 2 << 20;
const _: () = assert!(DEFERRED_BYTES_MAX <= ALL_DEFERRED_BYTES_MAX);

/// The pages of this commit and of earlier deferred ones that are not in the file, if the commit
/// should be deferred. `None` if it should be written now.
pub(super) fn pages_to_defer(
    txn: &mut WriteTransaction,
    space: &SpaceCommit,
    extents: &CommitExtents,
) -> Option<Arc<[UnwrittenPage]>> {
    if !is_fit(txn, space) {
        return None;
    }
    let in_file = txn.engine.committer.written_under_flush()?;
    // A commit that may find the disk full must not share its write with others.
    if !txn.pages.supply.is_secured {
        return None;
    }
    let transaction = txn.id();
    debug_assert!(
        (txn.pages.writer.unwritten.iter()).all(|page| page.transaction < transaction),
        "pages that are not in the file are those of earlier commits"
    );
    let is_left = |page: &&UnwrittenPage| {
        page.transaction > in_file && !contains(&extents.deaths, page.number)
    };
    let before = txn.pages.writer.unwritten.iter().filter(is_left);
    let mut all: Vec<_> = before.cloned().collect();
    let own = txn.pages.unwritten_pages().into_iter();
    all.extend(own.map(|(number, bytes)| UnwrittenPage {
        number,
        bytes: bytes.into(),
        transaction,
    }));
    all.sort_unstable_by_key(|page| page.number);
    Some(all.into())
}

/// Whether the commit may be deferred. Pages that a later deferred commit no longer uses are never
/// written. A commit whose state must stay is therefore not deferred.
fn is_fit(txn: &WriteTransaction, space: &SpaceCommit) -> bool {
    let page_size = txn.engine.file.page_size;
    txn.pages.limits.durability == Durability::Durable
        && (txn.named.pins.is_none() || planted!(DeferNamed))
        && !txn.status.stays
        && space.checkpoint_pages.is_empty()
        && !txn.engine.committer.process_writer_lock.has_waiters()
        && txn.pages.writer.arena.mapped_bytes() == 0
        && txn.pages.dirty_bytes() <= DEFERRED_BYTES_MAX
        && txn.pages.writer.unwritten.len() * page_size <= ALL_DEFERRED_BYTES_MAX
}
