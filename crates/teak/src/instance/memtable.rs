//! The memtable: small commits that are not in the trees yet.
//!
//! A small transaction only adds its changes to the memtable, and to its write-ahead log, so that
//! they survive the death of the process. A durable one then waits until the log is on the disk
//! (`log_flush.rs`). Many such commits are then *merged*: one transaction applies all their changes
//! to the trees, in the order of the keys, and commits. The memtable is merged before anything that
//! needs the newest state in the trees: a transaction that does not fit it, a flush, a close. It is
//! also merged when it is full, and when its oldest commit is old (`memtable/limits.rs`).
//!
//! Only a process that has the database open alone uses its memtable: another process would not
//! know of the commits in it. A process that joins waits until the owner of the memtable has merged
//! it (`share/region.rs`).
//!
//! A reader that begins keeps the commits so far, and looks records up in them, and then in the
//! trees. Only for more than that it needs trees with those commits ([`ReadTarget`]): a merge stops
//! at the states of such readers, and gives them theirs.
//!
//! A thread that merges takes the commits so far, which stay visible to small transactions until
//! they are in the trees. Meanwhile new commits follow them, in the other half of the log.
//!
//! Locks: a small transaction holds the [permit](super::writer_permit) to write from its beginning to
//! its end, but not the writer's state, so that other threads can merge meanwhile. A thread that
//! merges holds that state. The memtable is locked only while commits are added, and when a merge
//! begins and ends. Order: permit, writer's state, memtable, commit state.

pub(crate) mod limits;
mod log;

use crate::{
    Checksum, TransactionId, btree::TreeRoot, io::LogLocation, page::key::KeyOrder,
    planted::planted, read::snapshot::Snapshot, record::durability::Durability,
};
use crate::{
    instance::{
        log_flush::LogFlush,
        memtable_records::{CommitBatch, MemtableRecords, MemtableView},
        read_target::ReadTarget,
        small_changes::SmallChanges,
        wal::{LeftWal, Wal, WalPosition},
    },
    sync::lock,
};
use std::{
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool, AtomicU8, AtomicU32, Ordering::Acquire, Ordering::Relaxed,
            Ordering::Release,
        },
    },
    time::{Duration, Instant},
};

/// The most changes of one transaction, and the most bytes of them in the log.
pub(crate) const SMALL_CHANGES_MAX: usize = 1024;
pub(crate) const SMALL_BYTES_MAX: usize = 256 << 10;
/// The most bytes of one record: larger ones would be written twice.
pub(crate) const SMALL_RECORD_MAX: usize = 8 << 10;
/// A transaction with more changes that came in the order of their keys is not small: its changes
/// are probably of few leaves, which it copies at once.
pub(crate) const ORDERED_MAX: usize = 16;
/// At how many states before its last one a merge stops for readers.
const TARGETS_MAX: usize = 16;
/// If readers ask for a merge after fewer commits than this, merging saves little.
const WORTHWHILE: u64 = 4;
/// How many transactions go to the trees at once after that.
const DIRECT: u32 = 64;
/// And after one with more than [`ORDERED_MAX`] changes that was begun as a small one in vain: all
/// of its changes were made twice.
const DIRECT_AFTER_OUTGROWN: u32 = 16;
/// After this many durable commits to the trees, small ones go to the log. A program that makes
/// only a few does not create one.
const DURABLE_RUN: u32 = 16;

/// Whether the memtable may have changes of a table: each key is compared as bytes, and each value
/// that is short enough can be stored.
pub(crate) fn is_plain(root: &TreeRoot) -> bool {
    let is_of_bytes = matches!(root.order, KeyOrder::Bytes | KeyOrder::ReverseBytes);
    is_of_bytes && !root.is_special() && !root.kind.fixed && !root.kind.first_decides
}

/// How long a commit waits for another thread to begin a merge before it merges itself.
const BEGIN_MAX: Duration = Duration::from_millis(20);

/// The memtable of a database.
#[derive(Debug)]
pub(crate) struct Memtable {
    /// Whether it has commits. Changed with the state locked.
    is_filled: AtomicBool,
    /// The durability of the last commit, as a byte. That of the next is expected to be the same.
    expected: AtomicU8,
    /// How many durable commits went to the trees since one was too large for the memtable.
    durable_run: AtomicU32,
    /// How many transactions from now on go to the trees at once.
    direct_count: AtomicU32,
    pub(crate) log_flush: LogFlush,
    state: Mutex<MemtableState>,
    /// Notified when a merge begins, and when one ends.
    merge_changed: Condvar,
}

/// The commits in a memtable, and its log.
#[derive(Default, Debug)]
pub(crate) struct MemtableState {
    /// The commit in the trees that those here follow. It is the newest one there, except at the
    /// end of a merge.
    base: Option<Arc<Snapshot>>,
    /// Commits that a thread is merging.
    merging: Option<CommitBatch>,
    /// The commits after those.
    newer: CommitBatch,
    /// When the first of them was added.
    newer_since: Option<Instant>,
    /// Commits that readers end with, in order, and that are not in the trees.
    targets: Vec<Arc<ReadTarget>>,
    /// The last commit that readers see: durable ones after it are not on the disk yet, and no
    /// merge has begun with them.
    visible: TransactionId,
    /// The place after it in the log.
    visible_position: WalPosition,
    /// The last commit in the log, and the last durable one there.
    last_logged: TransactionId,
    last_durable: TransactionId,
    /// With this many changes it should be merged.
    change_limit: usize,
    /// Whether the last merge was for a reader.
    is_after_reader: bool,
    /// The most changes for which there is room in the file and on the disk.
    capacity: usize,
    /// Whether the file is being made shorter, which proceeds with commits in the trees.
    is_shrinking: bool,
    /// Whether it takes no commits until it has been merged: after a failed merge or append, with
    /// commits that an earlier process left, or if there is no room for more.
    is_closed: bool,
    /// Whether another thread was asked to merge, and has not begun.
    is_asked: bool,
    wal: Option<Wal>,
    /// The log that an earlier process left, until it is merged.
    left: LeftWal,
    /// Where the log is created; `None` if the memtable is not used, or not any more.
    location: Option<Arc<dyn LogLocation>>,
}

/// The commits to merge.
pub(crate) struct ToMerge {
    pub(crate) records: Arc<MemtableRecords>,
    /// The commit in the trees that they follow.
    pub(crate) base: TransactionId,
    /// The states to make of them: one for each reader that ends in the middle, and the last.
    pub(crate) parts: Vec<MergePart>,
    /// Whether durable commits are among them.
    pub(crate) has_durable: bool,
    /// Whether they come from the log of an earlier process.
    pub(crate) is_left: bool,
}

/// A part of the commits to merge.
pub(crate) struct MergePart {
    /// The last of them, and how the log names it; zero if it does not.
    pub(crate) last: TransactionId,
    pub(crate) log_end: Checksum,
}

impl Memtable {
    /// A memtable whose log is at `location`; `None` if it is never used. `durability` is that of
    /// the database.
    pub(crate) fn new(location: Option<Arc<dyn LogLocation>>, durability: Durability) -> Self {
        Self {
            is_filled: AtomicBool::new(false),
            expected: AtomicU8::new(durability.to_byte()),
            durable_run: AtomicU32::new(0),
            direct_count: AtomicU32::new(0),
            log_flush: LogFlush::default(),
            state: Mutex::new(MemtableState {
                location,
                ..MemtableState::default()
            }),
            merge_changed: Condvar::new(),
        }
    }

    /// Whether it has commits.
    #[inline]
    pub(crate) fn is_filled(&self) -> bool {
        self.is_filled.load(Acquire)
    }

    /// Whether the next transaction should be a small one. `durability` is that of the transaction,
    /// if it is known.
    pub(crate) fn is_wanted(&self, durability: Option<Durability>) -> bool {
        let is_small = self.takes(self.expects(durability));
        let is_direct = |count: u32| count.checked_sub(1);
        is_small && (self.direct_count.fetch_update(Relaxed, Relaxed, is_direct)).is_err()
    }

    /// The durability of the next transaction: its own, if that is known, or that of the last one.
    pub(crate) fn expects(&self, durability: Option<Durability>) -> Durability {
        durability.unwrap_or_else(|| Durability::from_byte(self.expected.load(Relaxed)))
    }

    /// Whether small commits of this durability go to the memtable.
    pub(crate) fn takes(&self, durability: Durability) -> bool {
        match durability {
            Durability::Lazy => true,
            Durability::Durable => self.durable_run.load(Relaxed) >= DURABLE_RUN,
            Durability::Async => false,
        }
    }

    /// Notes the durability of a commit, which is that of the next one perhaps.
    pub(crate) fn note_expected(&self, durability: Durability) {
        self.expected.store(durability.to_byte(), Relaxed);
    }

    /// Notes the durability of a commit to the trees.
    pub(crate) fn note_durability(&self, durability: Durability) {
        self.note_expected(durability);
        if durability == Durability::Durable {
            let next = |run: u32| run.checked_add(1).filter(|run| *run <= DURABLE_RUN);
            let _ = self.durable_run.fetch_update(Relaxed, Relaxed, next);
        }
    }

    /// Has the next transactions go to the trees.
    pub(crate) fn pause(&self) {
        self.direct_count.store(DIRECT, Relaxed);
        self.note_outgrown(0);
    }

    /// Notes that a transaction with so many changes was begun as a small one in vain.
    pub(crate) fn note_outgrown(&self, changes: usize) {
        if changes > ORDERED_MAX {
            self.direct_count.fetch_max(DIRECT_AFTER_OUTGROWN, Relaxed);
        }
        if self.expects(None) == Durability::Durable {
            self.durable_run.store(0, Relaxed);
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, MemtableState> {
        lock(&self.state)
    }

    /// Waits while it is overfull, and another thread merges or soon begins to.
    pub(crate) fn wait_for_room(&self) {
        let mut state = self.lock();
        let mut idle_since = Instant::now();
        while state.is_overfull() && !state.newer.is_empty() && idle_since.elapsed() < BEGIN_MAX {
            let waited = self.merge_changed.wait_timeout(state, BEGIN_MAX);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.merging.is_some() {
                idle_since = Instant::now();
            }
        }
    }

    /// Takes all commits, to merge them. Others can be added meanwhile. The caller has the writer's
    /// state until [`Self::end_merge`] or [`MemtableState::undo_merge`].
    ///
    /// Commits go on in the other half of the log, unless a durable one needs what is there: the
    /// last commit that is durable in the trees is `durable`.
    pub(crate) fn begin_merge(&self, durable: TransactionId) -> ToMerge {
        let begun = self.lock().begin_merge(durable);
        self.merge_changed.notify_all();
        begun
    }

    /// Adds a commit. Its changes are in the log.
    pub(crate) fn add(
        &self,
        state: &mut MemtableState,
        changes: SmallChanges,
        durability: Durability,
    ) {
        let last = state.last();
        let id = last
            .expect("a memtable that takes commits has a base")
            .next();
        if state.newer.is_empty() {
            state.newer_since = Some(Instant::now());
        }
        state.newer.add(id, changes);
        state.last_logged = id;
        match durability.is_seen_at_once() {
            true => state.show(id, state.position()),
            false => state.last_durable = id,
        }
        self.is_filled.store(true, Release);
    }

    /// Notes that the commits of [`MemtableState::begin_merge`] are in the trees, whose newest
    /// state is `merged`. `is_for_reader` says that a reader has asked for that. Returns whether no
    /// later commits are left.
    pub(crate) fn end_merge(
        &self,
        state: &mut MemtableState,
        merged: Arc<Snapshot>,
        is_for_reader: bool,
    ) -> bool {
        let batch = (state.merging.take()).expect("a merge has taken the commits");
        if is_for_reader && batch.merged_count + batch.commit_count < WORTHWHILE {
            self.direct_count.store(DIRECT, Relaxed);
        }
        self.merge_changed.notify_all();
        state.note_merge(is_for_reader);
        state.left.remove();
        state.left = LeftWal::default();
        state.is_closed = false;
        match state.is_empty() {
            true => self.clear(state),
            false => state.base = Some(merged),
        }
        state.is_empty()
    }

    /// Notes that there are no commits.
    pub(crate) fn clear(&self, state: &mut MemtableState) {
        debug_assert!(state.is_empty(), "no commits are given up");
        state.base = None;
        self.is_filled.store(false, Release);
    }
}

impl MemtableState {
    pub(crate) fn is_empty(&self) -> bool {
        self.commit_count() == 0
    }

    /// Number of commits in it.
    pub(crate) fn commit_count(&self) -> u64 {
        let merging = self.merging.as_ref();
        self.newer.commit_count + merging.map_or(0, |batch| batch.commit_count)
    }

    /// Takes no more commits. Those that it has stay in the log.
    pub(crate) fn abandon(&mut self) {
        self.location = None;
    }

    /// Takes no more commits until it has been merged.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    /// The newest commit in the trees, if there are commits here.
    pub(crate) fn base(&self) -> Option<&Arc<Snapshot>> {
        self.base.as_ref()
    }

    /// The last commit; `None` if it is empty.
    pub(crate) fn last(&self) -> Option<TransactionId> {
        let base = self.base.as_ref()?;
        Some(TransactionId(base.transaction().0 + self.commit_count()))
    }

    /// The commits so far. They stay the same while the view lives.
    pub(crate) fn view(&self, last: TransactionId) -> MemtableView {
        let merging = self.merging.as_ref();
        MemtableView {
            newer: Arc::clone(&self.newer.records),
            merging: merging.map(|batch| Arc::clone(&batch.records)),
            last,
        }
    }

    /// The last commit that readers see. If it is in the trees, that is the newest one there.
    pub(crate) fn visible(&self) -> Option<TransactionId> {
        let base = self.base.as_ref()?;
        Some(self.visible.max(base.transaction()))
    }

    /// Shows a commit and all before it to readers.
    fn show(&mut self, commit: TransactionId, position: WalPosition) {
        if commit > self.visible {
            (self.visible, self.visible_position) = (commit, position);
        }
    }

    /// The target of a reader that ends with the last commit that readers see; `None` if those of
    /// other readers end with too many others.
    pub(crate) fn target(&mut self) -> Option<Arc<ReadTarget>> {
        let last = self.visible()?;
        self.targets.retain(|target| Arc::strong_count(target) > 1);
        let ends = self.targets.chunk_by(|a, b| a.transaction == b.transaction);
        let is_new = (self.targets.last()).is_none_or(|target| target.transaction < last);
        if is_new && ends.count() >= TARGETS_MAX {
            return None;
        }
        self.wal.as_ref()?;
        let mut log_end = self.visible_position.last_entry;
        planted!(PartUnnamed => log_end = Checksum(0));
        let target = Arc::new(ReadTarget::new(last, log_end));
        self.targets.push(Arc::clone(&target));
        Some(target)
    }

    /// Takes the targets of the readers that end with this commit, and forgets those of readers
    /// that have ended.
    pub(crate) fn take_targets(&mut self, merged: TransactionId) -> Vec<Arc<ReadTarget>> {
        self.targets.retain(|target| Arc::strong_count(target) > 1);
        let is_merged = |target: &Arc<ReadTarget>| target.transaction <= merged;
        let after = self.targets.partition_point(is_merged);
        let taken: Vec<_> = self.targets.drain(..after).collect();
        let mut ends = taken.iter().map(|target| target.transaction);
        debug_assert!(
            ends.all(|end| end == merged),
            "a merge stops at the state of each reader"
        );
        taken
    }

    /// The part of [`Memtable::begin_merge`] that changes the state.
    pub(crate) fn begin_merge(&mut self, durable: TransactionId) -> ToMerge {
        assert!(self.merging.is_none(), "one thread merges at a time");
        let base = self.base.as_ref().map(|base| base.transaction());
        let last = self.last().unwrap_or_default();
        self.is_asked = false;
        let batch = mem::take(&mut self.newer);
        let records = Arc::clone(&batch.records);
        self.merging = Some(batch);
        let is_left = self.left.commit_count() > 0;
        let mut log_end = Checksum(0);
        let is_older_half_needed = self.is_older_half_needed(durable);
        if let Some(wal) = &mut self.wal
            && !is_left
        {
            log_end = wal.position().last_entry;
            wal.begin_merge();
            if !self.is_closed && (!is_older_half_needed || planted!(LogReused)) {
                wal.turn_over(last);
            }
        }
        // Readers that begin from now on see them: this merge stops for earlier ones only.
        self.show(last, self.position());
        let is_live = |target: &&Arc<ReadTarget>| Arc::strong_count(target) > 1;
        let within = self.targets.iter().filter(is_live);
        let mut parts: Vec<_> = within
            .map(|target| MergePart {
                last: target.transaction,
                log_end: target.log_end,
            })
            .filter(|part| part.last < last)
            .collect();
        parts.dedup_by_key(|part| part.last);
        parts.push(MergePart { last, log_end });
        ToMerge {
            has_durable: is_left || self.last_durable > base.unwrap_or_default(),
            records,
            base: base.unwrap_or_default(),
            parts,
            is_left,
        }
    }

    /// Notes that the commits up to `merged` are in the trees, while the others are being merged.
    pub(crate) fn end_part(&mut self, merged: Arc<Snapshot>) {
        let base = self.base.as_ref().map(|base| base.transaction());
        let before = base.unwrap_or_default();
        let batch = self.merging.as_mut();
        let batch = batch.expect("a merge has taken the commits");
        let count = merged.transaction().0 - before.0;
        batch.commit_count -= count;
        batch.merged_count += count;
        assert!(batch.commit_count > 0, "the last part ends the merge");
        self.base = Some(merged);
    }

    /// Notes that the commits of [`Self::begin_merge`] are not in the trees. Until they are, no
    /// other is added: both halves of the log are in use.
    pub(crate) fn undo_merge(&mut self) {
        let Some(mut batch) = self.merging.take() else {
            return;
        };
        batch.records.append(&self.newer.records);
        batch.commit_count += self.newer.commit_count;
        batch.change_count += self.newer.change_count;
        self.newer = batch;
        self.is_closed = true;
    }

    /// Whether the memtable can be used, as far as is known.
    pub(crate) fn is_usable(&self) -> bool {
        self.location.is_some() && !self.is_closed
    }
}
