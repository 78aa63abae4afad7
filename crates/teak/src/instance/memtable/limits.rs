//! When the memtable is merged, and by which thread.

use super::{MemtableState, SMALL_CHANGES_MAX};
use std::time::{Duration, Instant};

/// With this many changes the memtable is merged, while no reader asks for a merge. With each one
/// that does, the number is halved, down to the other one, so that readers do not wait for long
/// merges. It is also smaller if the trees are small: a merge of so many changes copies most of
/// their pages, which are not free again before a flush.
pub(crate) const CHANGES_MAX: usize = 32768;
/// The most changes in it: with twice [`CHANGES_MAX`] commits wait until it is merged, but other
/// threads may be adding theirs.
pub(crate) const CAPACITY_MAX: usize = 2 * CHANGES_MAX + 16 * SMALL_CHANGES_MAX;
pub(super) const CHANGES_MIN: usize = 8;
/// With each other merge it becomes so many times as large, but only twice right after one for a
/// reader, so that it stays the same if they alternate. Few merges after many readers are small
/// then: each copies a leaf for nearly each change, and is flushed if commits are durable.
const GROWTH: usize = 8;
/// The most changes in it with trees of few pages, of which half are merged at once.
pub(crate) const CAPACITY_OF_SMALL_TREES: usize = 2 * 8192 + SMALL_CHANGES_MAX;
/// With this many commits it is merged while the file is being made shorter.
const COMMITS_SHRINKING: u64 = 8;
/// From this many changes on, another thread merges. Waking it for fewer would take longer.
const IN_BACKGROUND: usize = 256;
/// With this part of a half of the log used, in hundredths, it is merged, or commits wait for that.
pub(super) const HALF_FULL: usize = 50;
const NEARLY_FULL: usize = 90;
/// How long a commit stays in the memtable.
const AGE_MAX: Duration = Duration::from_secs(1);
/// How often it is decided whether it is merged because of that.
pub(crate) const AGE_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The thread that has to merge the memtable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MergeBy {
    None,
    Another,
    This,
}

impl MemtableState {
    /// Sets for how many changes there is room, and whether the file is being made shorter.
    pub(crate) fn set_capacity(&mut self, capacity: usize, is_shrinking: bool) {
        (self.capacity, self.is_shrinking) = (capacity, is_shrinking);
    }

    /// With this many changes it should be merged.
    fn limit(&self) -> usize {
        // With twice the number there still is room for a transaction.
        let spare = SMALL_CHANGES_MAX.min(self.capacity / 2);
        (self.change_limit.max(CHANGES_MIN)).min((self.capacity - spare) / 2)
    }

    /// Notes a merge, for a reader or not.
    pub(super) fn note_merge(&mut self, is_for_reader: bool) {
        let limit = match (is_for_reader, self.is_after_reader) {
            (true, _) => self.change_limit / 2,
            (false, true) => self.change_limit * 2,
            (false, false) => self.change_limit.max(CHANGES_MIN) * GROWTH,
        };
        self.is_after_reader = is_for_reader;
        self.change_limit = limit.clamp(CHANGES_MIN, CHANGES_MAX);
    }

    /// Whether it need not be merged yet, if a commit stays at most `age_max`.
    pub(crate) fn is_young(&mut self, age_max: Duration) -> bool {
        let age_max = age_max.min(AGE_MAX);
        let is_old = |since: Instant| since.elapsed() >= age_max;
        let is_young = !self.is_full() && !self.newer_since.is_none_or(is_old);
        // A thread that was asked to merge may have found that the limit is higher now.
        self.is_asked &= !is_young;
        is_young
    }

    /// Whether it should be merged.
    pub(crate) fn is_full(&self) -> bool {
        self.newer.change_count >= self.limit()
            || self.log_fill() >= HALF_FULL
            || self.is_shrinking && self.newer.commit_count >= COMMITS_SHRINKING
    }

    /// Whether commits should wait until it has been merged.
    pub(crate) fn is_overfull(&self) -> bool {
        let count = &self.newer;
        match self.is_merged_in_background() {
            true => {
                count.change_count >= 2 * self.limit()
                    || self.log_fill() >= NEARLY_FULL
                    || self.is_shrinking && count.commit_count >= 2 * COMMITS_SHRINKING
            }
            false => self.is_full(),
        }
    }

    /// Whether another thread merges it when it is full.
    pub(crate) fn is_merged_in_background(&self) -> bool {
        let is_small = self.is_shrinking && self.newer.change_count < IN_BACKGROUND;
        self.limit() >= IN_BACKGROUND && !is_small
    }

    /// The thread that has to merge it after a commit.
    pub(crate) fn merge_by(&mut self) -> MergeBy {
        if self.is_overfull() {
            MergeBy::This
        } else if self.is_full() && !self.is_asked {
            self.is_asked = true;
            MergeBy::Another
        } else {
            MergeBy::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{BEGIN_MAX, Memtable},
        *,
    };
    use crate::{
        TransactionId,
        instance::{memtable_records::CommitBatch, small_changes::SmallChanges},
        record::durability::Durability,
    };
    use std::thread;

    /// A memtable with room for this many changes, and as many commits of one change.
    fn filled(capacity: usize, commits: u64) -> MemtableState {
        let mut state = MemtableState {
            capacity,
            change_limit: CHANGES_MAX,
            newer_since: Some(Instant::now()),
            ..MemtableState::default()
        };
        for commit in 1..=commits {
            state
                .newer
                .add(TransactionId(commit), SmallChanges::default());
        }
        state.newer.change_count = commits as usize;
        state
    }

    #[test]
    fn it_stays_until_its_first_commit_is_old() {
        let mut state = filled(1 << 20, 5);
        assert!(state.is_young(Duration::MAX));
        assert!(!state.is_young(Duration::ZERO), "the user wants it sooner");
        state.newer_since = Instant::now().checked_sub(AGE_MAX);
        assert!(!state.is_young(Duration::MAX));
        state.newer_since = None;
        assert!(!state.is_young(Duration::MAX), "an earlier process left it");
    }

    #[test]
    fn it_is_merged_before_the_room_in_the_file_is_used_up() {
        assert!(!filled(4 * IN_BACKGROUND, IN_BACKGROUND as u64 - 1).is_full());
        let state = filled(4 * IN_BACKGROUND, IN_BACKGROUND as u64);
        assert!(state.is_full() && !state.is_overfull());
        assert!(filled(4 * IN_BACKGROUND, 2 * IN_BACKGROUND as u64).is_overfull());
    }

    #[test]
    fn merges_become_larger_and_smaller_ones_for_readers() {
        let mut state = filled(CAPACITY_MAX, 1);
        state.change_limit = CHANGES_MIN;
        let mut merge = |is_for_reader| {
            state.note_merge(is_for_reader);
            state.change_limit
        };
        assert_eq!([merge(false), merge(false)], [64, 512]);
        assert_eq!([merge(true), merge(true)], [256, 128]);
        assert_eq!([merge(false), merge(true), merge(false)], [256, 128, 256]);
        assert_eq!([merge(false), merge(false)], [2048, 16384]);
        assert_eq!([merge(false), merge(false)], [CHANGES_MAX, CHANGES_MAX]);
    }

    #[test]
    fn a_file_that_is_being_made_shorter_gets_merges_of_few_commits() {
        let mut state = filled(1 << 20, COMMITS_SHRINKING);
        assert_eq!(state.merge_by(), MergeBy::None);
        state.set_capacity(1 << 20, true);
        assert_eq!(state.merge_by(), MergeBy::This);
    }

    #[test]
    fn commits_wait_for_room_as_long_as_another_thread_merges() {
        let memtable = Memtable::new(None, Durability::Lazy);
        *memtable.lock() = MemtableState {
            merging: Some(CommitBatch::default()),
            ..filled(CAPACITY_MAX, 2 * CHANGES_MAX as u64)
        };
        thread::scope(|scope| {
            let waiting = scope.spawn(|| memtable.wait_for_room());
            thread::sleep(3 * BEGIN_MAX);
            assert!(!waiting.is_finished(), "the merge goes on");
            memtable.lock().newer = CommitBatch::default();
            memtable.merge_changed.notify_all();
        });
    }

    #[test]
    fn commits_do_not_wait_for_room_if_no_thread_merges() {
        let memtable = Memtable::new(None, Durability::Lazy);
        *memtable.lock() = filled(CAPACITY_MAX, 2 * CHANGES_MAX as u64);
        memtable.wait_for_room();
        assert!(memtable.lock().is_overfull());
    }
}
