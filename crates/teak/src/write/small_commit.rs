//! Adding the changes of a small transaction to the memtable.

use crate::instance::{
    engine::Engine,
    held_writer_lock::HeldWriterLock,
    log_flush::FLUSHING,
    memtable::{
        MemtableState,
        limits::{CAPACITY_MAX, CAPACITY_OF_SMALL_TREES, MergeBy},
    },
    small_changes::SmallChanges,
};
use crate::{
    Result, TransactionId,
    io::{FILE_MODE, HALF_LEN, LockMode, free_bytes},
    planted::planted,
    record::durability::Durability,
};
use std::{io, mem, sync::Arc};

/// The pages that merging a change takes at most: a path in trees of this depth, and what splits.
const PAGES_PER_CHANGE: u64 = 8;
/// With room for fewer changes the memtable is not used.
const CAPACITY_MIN: u64 = 16;
/// With less room in the file or on the disk, commits go to the trees, which report that it is full
/// before they are acknowledged.
const PAGES_MIN: u64 = 4096;
const FREE_BYTES_MIN: u64 = 64 << 20;

/// Whether the changes of a commit are in the memtable.
pub(crate) enum Added {
    Yes {
        merge_by: MergeBy,
        /// Whether the commit has to wait for a flush of the log.
        is_durable: bool,
    },
    No,
}

/// Adds the changes of commit `id` to the memtable, if that is possible, and takes them. The caller
/// has the permit to write.
pub(crate) fn add_to_memtable(
    engine: &Arc<Engine>,
    id: TransactionId,
    changes: &mut SmallChanges,
    durability: Durability,
) -> Result<Added> {
    debug_assert!(
        !changes.is_empty(),
        "a commit without changes makes no state"
    );
    // Declared in the order of the locks.
    let writer;
    let mut memtable = engine.memtable.lock();
    let is_first = memtable.is_empty();
    if is_first {
        drop(memtable);
        writer = engine.take_writer_state()?;
        memtable = engine.memtable.lock();
        // Nobody else adds commits.
        if !begin_memtable(engine, id, &mut memtable, &writer)? {
            return Ok(Added::No);
        }
    }
    let is_kept = memtable.keeps_next(durability == Durability::Durable);
    let expected = durability;
    let durability = match is_kept {
        true => Durability::Durable,
        false => durability,
    };
    let is_loggable = durability != Durability::Durable
        || is_log_durable(engine, &memtable) && memtable.name_log();
    let is_loggable = is_loggable && is_alone(engine);
    if !is_loggable || !memtable.log(changes, is_kept) {
        if memtable.is_empty() {
            if is_loggable {
                // There is no room for the log. The next commits would look for it in vain.
                engine.memtable.pause();
            }
            engine.leave_memtable(&mut memtable);
        }
        return Ok(Added::No);
    }
    debug_assert!(
        durability == Durability::Durable || memtable.pending().is_none(),
        "a commit that does not wait for a flush has its entry in the file"
    );
    (engine.memtable).add(&mut memtable, mem::take(changes), durability);
    engine.memtable.note_expected(expected);
    debug_assert_eq!(memtable.last(), Some(id), "commits are numbered in order");
    debug_assert!(changes.is_empty(), "the memtable has taken the changes");
    if is_first {
        // The thread was there when the memtable began. It may have looked before the commit was
        // added.
        let _ = engine.merge_later();
    }
    Ok(Added::Yes {
        merge_by: memtable.merge_by(),
        is_durable: durability == Durability::Durable,
    })
}

/// Returns when a durable commit in the log is on the disk.
pub(super) fn flush_and_check(engine: &Engine, commit: TransactionId) -> Result<()> {
    let flushed = flush_log(engine, commit);
    // Others that have declared this process dead may have recovered before.
    engine.named(flushed.and_then(|()| engine.committer.refuse_evicted()))
}

/// Returns when a durable commit that was added to the log is on the disk. The caller holds no
/// lock.
///
/// # Errors
///
/// [`Error::Io`](crate::Error::Io) if a flush fails. The database takes no writes any more then.
pub(crate) fn flush_log(engine: &Engine, commit: TransactionId) -> Result<()> {
    debug_assert!(
        engine
            .memtable
            .lock()
            .last()
            .is_none_or(|last| last >= commit),
        "a commit is added before it is flushed"
    );
    match (engine.memtable.log_flush).wait(commit, || flush_log_now(engine)) {
        // A merge may have been flushed.
        Err(_) if engine.durable_in_trees() >= commit => Ok(()),
        flushed => flushed,
    }
}

/// Flushes the log, and returns the last durable commit that is on the disk then.
fn flush_log_now(engine: &Engine) -> io::Result<TransactionId> {
    let mut memtable = engine.memtable.lock();
    let (target, flush) = (memtable.flush_target(), memtable.begin_flush());
    drop(memtable);
    debug_assert!(
        target.last > TransactionId(0),
        "only durable commits wait for a flush"
    );
    let began = engine.committer.events.clock();
    let unfinished = UnfinishedLogFlush(engine);
    let flushed = match flush {
        Ok(Some(_)) if planted!(LogUnflushed) => Ok(()),
        Ok(Some(flush)) => flush.perform(),
        // The database was closed, which makes every commit durable.
        Ok(None) if engine.durable_in_trees() >= target.last => Ok(()),
        Ok(None) => Err(io::Error::other("the log was removed")),
        Err(error) => Err(error),
    };
    mem::forget(unfinished);
    let mut memtable = engine.memtable.lock();
    match &flushed {
        Ok(()) => memtable.note_flushed(target),
        // Before anybody can merge the commits that are cut.
        Err(failure) => fail_log(engine, &mut memtable, failure),
    }
    drop(memtable);
    if flushed.is_ok() {
        engine.committer.note_flush(0, began);
    }
    flushed.map(|()| target.last)
}

/// Notes a failed flush of the log.
fn fail_log(engine: &Engine, memtable: &mut MemtableState, failure: &io::Error) {
    memtable.fail_flush();
    engine.committer.fail_log(FLUSHING, failure);
}

/// Ends a flush of the log that panics.
struct UnfinishedLogFlush<'e>(&'e Engine);

impl Drop for UnfinishedLogFlush<'_> {
    fn drop(&mut self) {
        let failure = io::Error::other("the thread that flushed panicked");
        fail_log(self.0, &mut self.0.memtable.lock(), &failure);
    }
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
    let Some(capacity) = memtable_capacity(engine, writer) else {
        // Until then threads that commit durably share flushes of the trees.
        engine.memtable.pause();
        return Ok(false);
    };
    let durable = engine.durable_in_trees();
    debug_assert!(
        durable <= base.transaction(),
        "the newest commit in the trees follows those that are durable there"
    );
    // If the log begins again, that writes over a half.
    let is_log_kept = memtable.is_log_needed(durable)
        && !memtable.goes_on_after(base.transaction(), durable)
        && !planted!(LogReused);
    if base.transaction().next() != id || is_log_kept {
        return Ok(false);
    }
    if let Some(shared) = &engine.committer.shared {
        shared.region.set_memtable_owner(shared.me());
    }
    let mode = || LockMode::for_database(&engine.file.path, FILE_MODE);
    let is_begun =
        is_alone(engine) && memtable.begin(base, durable, mode) && engine.merge_later().is_ok();
    match is_begun {
        true => {
            assert!(memtable.is_empty(), "it gets its first commit after this");
            memtable.set_capacity(capacity, writer.shrink.is_shrinking);
            engine.committer.process_writer_lock.set_kept(true);
        }
        false => engine.leave_memtable(memtable),
    }
    Ok(is_begun)
}

/// Whether a power cut loses no commit that the log follows.
fn is_log_durable(engine: &Engine, memtable: &MemtableState) -> bool {
    let (follows, _) = memtable.log_follows();
    follows <= engine.durable_in_trees() || planted!(LogFollowsAny)
}

/// For how many changes there is certainly room in the file and on the disk, beside as many that
/// are being merged; `None` if commits have to go to the trees. Commits that would not fit must not
/// be acknowledged.
pub(super) fn memtable_capacity(engine: &Engine, writer: &HeldWriterLock) -> Option<usize> {
    if engine.file.storage.lost_name().is_some() || engine.openings.is_unopened() {
        return None;
    }
    let page_size = engine.page_size() as u64;
    let page_limit = writer.newest.geometry.upper_limit_bytes / page_size;
    let rest = page_limit.saturating_sub(writer.space.page_count());
    let rest = rest.saturating_add(writer.space.ready_count());
    let free = free_bytes(&engine.file.path).unwrap_or(u64::MAX);
    // The log may grow.
    let free = free.saturating_sub(2 * HALF_LEN as u64);
    // Each merge also works on dropped tables, the end of the file, and the free-space map.
    let pages = rest.min(free / page_size).saturating_sub(PAGES_MIN / 2);
    let live_pages = writer.space.used_count() - writer.space.pending_count();
    let wanted = live_pages.clamp(CAPACITY_OF_SMALL_TREES as u64, CAPACITY_MAX as u64);
    let changes = (pages / (2 * PAGES_PER_CHANGE)).min(wanted);
    let has_room = rest >= PAGES_MIN && free >= FREE_BYTES_MIN;
    (has_room && changes >= CAPACITY_MIN).then_some(changes as usize)
}

/// Waits until the newest commit is durable, if the log has to begin after it. Without that,
/// threads that commit durably to the trees would go on there: the newest commit of one is still
/// being flushed when the next one begins. The caller has the permit.
pub(super) fn settle_newest(engine: &Arc<Engine>) -> Result<()> {
    let (newest, durable) = (engine.committer.newest(), engine.durable_in_trees());
    let memtable = engine.memtable.lock();
    let is_to_begin = memtable.is_empty()
        && memtable.is_usable()
        && !memtable.goes_on_after(newest, durable)
        && is_alone(engine);
    drop(memtable);
    if !is_to_begin || durable >= newest {
        return Ok(());
    }
    let settled = engine.committer.wait_without_waking(newest);
    debug_assert!(
        settled.is_err() || engine.durable_in_trees() >= newest,
        "a thread that has waited for a commit finds it on the disk"
    );
    engine.committer.wake_all_in_background();
    engine.named(settled)
}

/// Whether no other process has the database open, as far as this one knows.
pub(super) fn is_alone(engine: &Engine) -> bool {
    let shared = engine.committer.shared.as_ref();
    shared.is_none_or(|shared| shared.is_alone()) || planted!(SharedMemtable)
}
