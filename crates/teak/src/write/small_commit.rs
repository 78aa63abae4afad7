//! Adding the changes of a small transaction to the memtable.

use crate::{
    Result, TransactionId,
    io::{FILE_MODE, LockMode, free_bytes},
    planted::planted,
};
use crate::{
    instance::{
        engine::Engine,
        held_writer_lock::HeldWriterLock,
        memtable::{AGE_MAX, CHANGES_MAX, MemtableState, SmallChange},
    },
    write::merge::MergeReason,
};
use std::{mem, sync::Arc};

/// The pages that merging a full memtable takes at most: a path for each change, in trees of this
/// depth, and what splits.
const MERGED_PAGES_MAX: u64 = CHANGES_MAX as u64 * 8;
/// With less room on the disk, commits go to the trees, which report that the disk is full before
/// they are acknowledged.
const FREE_BYTES_MIN: u64 = 64 << 20;

/// Whether the changes of a commit are in the memtable.
pub(super) enum Added {
    Yes { is_to_merge: bool },
    No,
}

/// Adds the changes of commit `id` to the memtable, if that is possible, and takes them. The caller
/// has the permit to write.
pub(super) fn add_to_memtable(
    engine: &Arc<Engine>,
    id: TransactionId,
    changes: &mut Vec<SmallChange>,
) -> Result<Added> {
    debug_assert!(
        !changes.is_empty(),
        "a commit without changes makes no state"
    );
    // Declared in the order of the locks.
    let writer;
    let mut memtable = engine.memtable.lock();
    if memtable.is_empty() {
        drop(memtable);
        writer = engine.take_writer_state()?;
        memtable = engine.memtable.lock();
        // Nobody else adds commits.
        if !begin_memtable(engine, id, &mut memtable, &writer)? {
            return Ok(Added::No);
        }
    }
    if !is_alone(engine) || !memtable.log(changes) {
        if memtable.is_empty() {
            engine.end_memtable(&mut memtable, MergeReason::Limits);
        }
        return Ok(Added::No);
    }
    (engine.memtable).add(&mut memtable, mem::take(changes));
    debug_assert_eq!(memtable.last(), Some(id), "commits are numbered in order");
    // After the last opening, nobody waits for the thread that merges.
    let is_to_merge = memtable.is_full() || engine.openings.is_unopened();
    Ok(Added::Yes { is_to_merge })
}

/// Begins to use the empty memtable for commit `id`. Returns `false` if the commit has to go to the
/// trees.
fn begin_memtable(
    engine: &Arc<Engine>,
    id: TransactionId,
    memtable: &mut MemtableState,
    writer: &HeldWriterLock,
) -> Result<bool> {
    let base = engine.named(engine.committer.base_in_trees())?;
    let Some(base) = base.filter(|base| base.transaction() == writer.newest.transaction) else {
        return Ok(false);
    };
    // Commits that would not fit the file must not be acknowledged.
    let page_limit = writer.newest.geometry.upper_limit_bytes / engine.page_size() as u64;
    let rest = page_limit.saturating_sub(writer.space.page_count());
    if rest.saturating_add(writer.space.ready_count()) < MERGED_PAGES_MAX
        || free_bytes(&engine.file.path).is_some_and(|free| free < FREE_BYTES_MIN)
        || engine.file.storage.lost_name().is_some()
        || engine.openings.is_unopened()
        || base.transaction().next() != id
    {
        return Ok(false);
    }
    if let Some(shared) = &engine.committer.shared {
        shared.region.set_memtable_owner(shared.me());
    }
    let mode = || LockMode::for_database(&engine.file.path, FILE_MODE);
    let is_begun = is_alone(engine)
        && memtable.begin(base, mode)
        && (engine.merger).ask(engine, AGE_MAX, merge_old).is_ok();
    match is_begun {
        true => {
            assert!(memtable.is_empty(), "it gets its first commit after this");
            engine.committer.process_writer_lock.set_kept(true);
        }
        false => engine.end_memtable(memtable, MergeReason::Limits),
    }
    Ok(is_begun)
}

/// Whether no other process has the database open, as far as this one knows.
pub(super) fn is_alone(engine: &Engine) -> bool {
    let shared = engine.committer.shared.as_ref();
    shared.is_none_or(|shared| shared.is_alone()) || planted!(SharedMemtable)
}

fn merge_old(engine: &Arc<Engine>) {
    // The next reader or writer reports an error. Without space it is tried again later.
    if engine.merge_memtable(MergeReason::Limits).is_err() && engine.refuse_poisoned().is_ok() {
        let _ = engine.merger.ask(engine, AGE_MAX, merge_old);
    }
}
