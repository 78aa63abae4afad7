//! The policy of shrinking: what is free for long, where the file may end, which pages move, and
//! which free pages lose their blocks.
//!
//! All answers follow from the same few numbers ([`ShrinkPolicy`]). Nothing here reads or writes
//! the file. The other files of this folder carry the answers out.
//!
//! One idea: pages that were in use recently will be needed again (`recent_peak`, the high-water
//! mark of [`high_water`](crate::instance::high_water)). Only what is free beyond them, and beyond
//! a threshold, is free for long. The threshold is the user's `shrink_threshold_bytes`, or
//! [`FREE_MIN`] pages. No answer makes the file shorter than the user's `lower_limit_bytes`.

use crate::instance::{high_water::FREE_MIN, policies::DropLimits, writer::WriterState};
use crate::{Extent, Geometry, btree::relocate::Relocation, io::Storage};

/// A commit moves at least `MOVED_MIN * clamp(page_count / boundary, 1, MOVED_TIMES)` pages. The
/// maximum is low, because every commit waits for it.
const MOVED_MIN: u64 = 2;
const MOVED_TIMES: u64 = 4;
/// Inner pages, or leaves of tables with large values, that one commit examines.
const VISITS_MAX: u64 = 64;
/// A merge of several commits does the work of at most this many.
const COMMITS_MAX: u64 = 32;
/// The pages that a commit to the trees writes at least: a leaf, an inner page, the catalog, and
/// the free-space map.
const PAGES_PER_COMMIT: u64 = 4;
/// For commits that do this next to their own work, at least this many of sixteen leaves must be
/// saved. Leaves that are as full as with keys in random order are left alone.
const SAVED_MIN: usize = 3;
/// Bytes of holes that are punched at once.
const PUNCHED_MAX: u64 = 32 << 20;
/// The shortest hole, unless the geometry sets a smaller threshold.
const HOLE_LEN_MIN: u64 = 1 << 20;
/// Free pages that a compacting commit leaves, for the path to pages that it moves, and for leaves
/// that it merges.
const SPARED_BY_MOVING: u64 = 64;
/// Free pages that a release of dropped trees leaves for pages still to be written: for the paths
/// to the tree and to the catalog, which are longer in a large file; for the free-space map, which
/// has a page of bits for at most 32,768 pages each, and may write all of them; and for a log with
/// this many deaths in a page.
const SPARED_BY_RELEASE: u64 = 4;
const PAGES_FOR_EACH_SPARED: u64 = 4096;
const DEATHS_OF_A_PAGE: u64 = 64;

/// The policy for one file at one time. Numbers are in pages. The number of free pages at the end
/// is an argument where it matters, because counting them takes time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShrinkPolicy {
    geometry: Geometry,
    page_size: u64,
    page_count: u64,
    /// Pages in use, or dead and seen by a pin.
    used: u64,
    /// Free pages that are not known to be in a hole.
    ready: u64,
    /// The most pages that were recently in use.
    recent_peak: u64,
}

/// How many pages count as written by a merge of `commits`, or by one, that has taken `taken`
/// pages: at least as many as those commits would have written to the trees.
pub(crate) fn written_pages(taken: u64, commits: u64) -> u64 {
    match commits {
        0..=1 => taken,
        _ => taken.max(PAGES_PER_COMMIT.saturating_mul(commits)),
    }
}

/// Notes after a commit whether the file is being made shorter, or probably would be after some
/// more. Small ones are then merged soon: it proceeds with commits to the trees. `percent` is how
/// much those move.
pub(crate) fn note_shrinking(writer: &mut WriterState, storage: &dyn Storage, percent: u32) {
    let policy = shrink_policy(writer, writer.newest.geometry);
    let (space, tail) = (&writer.space, &writer.shrink.tail);
    let moves = || percent > 0 && !tail.is_resting();
    let is_probable = writer.is_to_cut(storage)
        || policy.is_mostly_free() && (moves() || space.trailing_free() > policy.threshold());
    let page_count = space.page_count();
    writer.shrink.note_probable(is_probable, page_count);
}

/// How a commit empties the end of the file next to its own work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TailGoal {
    /// Pages begin to move when the file needs more pages than this.
    pub(crate) begins_above: u64,
    /// Pages from this one on move to lower free pages. The file ends there later.
    pub(crate) boundary: u64,
}

/// How many free pages lose their blocks, and which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PunchGoal {
    /// Free pages that keep their blocks.
    pub(crate) kept: u64,
    /// The shortest hole.
    pub(crate) least: u64,
}

/// The policy for the present file, with the limits of `geometry`.
pub(crate) fn shrink_policy(writer: &WriterState, geometry: Geometry) -> ShrinkPolicy {
    let space = &writer.space;
    ShrinkPolicy {
        geometry,
        page_size: u64::from(writer.newest.page_size),
        page_count: space.page_count(),
        used: space.used_count(),
        ready: space.ready_count(),
        recent_peak: writer.shrink.high_water.of(space.page_count()),
    }
    .checked()
}

impl ShrinkPolicy {
    fn checked(self) -> Self {
        let free = self.page_count - self.used;
        assert!(self.ready <= free, "pages that are ready are free");
        assert!(
            self.recent_peak <= self.page_count,
            "no more was in use than there is"
        );
        self
    }

    /// Free pages that are negligible.
    fn threshold(&self) -> u64 {
        match self.geometry.shrink_threshold_bytes {
            0 => FREE_MIN,
            bytes => (bytes / self.page_size).max(1),
        }
    }

    /// The least number of pages that the file has by request.
    pub(crate) fn lower_limit(&self) -> u64 {
        self.geometry.lower_limit_bytes.div_ceil(self.page_size)
    }

    /// The page count after an ordinary commit, if its free end should be truncated. If the
    /// geometry sets no threshold, the pages that were recently in use stay.
    pub(crate) fn cut(&self, trailing_free: u64) -> Option<u64> {
        let free = match self.geometry.shrink_threshold_bytes {
            0 => trailing_free.min(self.page_count - self.recent_peak),
            _ => trailing_free,
        };
        let (bytes, free) = (self.page_count * self.page_size, free * self.page_size);
        let cut = (self.geometry.shrunk(bytes, free)?).div_ceil(self.page_size);
        self.check_cut(cut, trailing_free);
        Some(cut)
    }

    /// The page count after a commit of a compaction or a clean close, which truncate all of the
    /// free end. `None` if there is none.
    pub(crate) fn cut_all(&self, trailing_free: u64) -> Option<u64> {
        let cut = (self.page_count - trailing_free).max(self.lower_limit());
        if cut >= self.page_count {
            return None;
        }
        self.check_cut(cut, trailing_free);
        Some(cut)
    }

    fn check_cut(&self, cut: u64, trailing_free: u64) {
        let needed = self.page_count - trailing_free;
        assert!(trailing_free <= self.page_count - self.used, "it is free");
        assert!(
            (needed..=self.page_count).contains(&cut),
            "only free pages are cut off"
        );
    }

    /// Whether two thirds of the file are free.
    fn is_mostly_free(&self) -> bool {
        let kept = (3 * self.used).saturating_add(self.threshold());
        self.page_count > kept.max(self.lower_limit())
    }

    /// How a commit empties the end of the file. It begins when a third as much is free as is in
    /// use, and was free for a while.
    pub(crate) fn tail(&self) -> TailGoal {
        let (peak, used, threshold) = (self.recent_peak, self.used, self.threshold());
        let much = peak.max(used + used / 3).saturating_add(threshold);
        TailGoal {
            begins_above: much.max(self.lower_limit()),
            boundary: peak.max(used + used / 16).saturating_add(threshold / 4),
        }
    }

    /// The pages that a commit moves from after the boundary if it has taken `taken` pages:
    /// `percent` of them, and a little more if there is much to move. `value_pages` is the longest
    /// value that is moved although it is longer. The commit is a merge of `commits`, or one.
    pub(crate) fn tail_work(
        &self,
        taken: u64,
        percent: u64,
        value_pages: u64,
        commits: u64,
    ) -> Relocation {
        let boundary = self.tail().boundary;
        let times = (self.page_count / boundary.max(1)).clamp(1, MOVED_TIMES);
        let commits = commits.min(COMMITS_MAX);
        Relocation {
            boundary,
            pages_left: (taken * percent / 100).max(MOVED_MIN * times * commits),
            visits_left: VISITS_MAX * commits,
            value_pages_max: value_pages,
            saved_min: SAVED_MIN,
            ..Relocation::default()
        }
    }

    /// How many pages keep their blocks, and how long holes are at least. `None` if the file never
    /// shrinks.
    pub(crate) fn holes(&self) -> Option<PunchGoal> {
        if self.geometry.shrink_threshold_bytes == u64::MAX {
            return None;
        }
        let threshold = self.threshold();
        let kept = (self.recent_peak.saturating_sub(self.used))
            .saturating_add(threshold)
            .saturating_add(self.used / 16)
            .max(self.lower_limit().saturating_sub(self.used));
        let least = (HOLE_LEN_MIN / self.page_size).min(threshold).max(1);
        Some(PunchGoal { kept, least })
    }

    /// The pages that one commit of a compaction may write.
    pub(crate) fn room_to_move(&self) -> u64 {
        self.ready - SPARED_BY_MOVING.min(self.ready / 2)
    }

    /// How many pages of dropped trees a commit releases that has taken `taken` pages, and is a
    /// merge of `commits`, or one. Releasing does not grow the file.
    pub(crate) fn release_budget(
        &self,
        taken: u64,
        limits: &DropLimits,
        has_grown: bool,
        commits: u64,
    ) -> u64 {
        let most = limits.later_max.max(taken);
        let least = limits.later_min.saturating_mul(commits).min(most);
        let budget = taken.saturating_mul(limits.later_share).clamp(least, most);
        let wanted = if has_grown { limits.wanted } else { 1 };
        let spared = SPARED_BY_RELEASE + self.page_count / PAGES_FOR_EACH_SPARED;
        let room = self.ready.saturating_sub(spared);
        (budget.saturating_mul(wanted)).min(room.saturating_mul(DEATHS_OF_A_PAGE))
    }
}

/// Whether closing should compact a file that needs this many pages and should need `goal`.
pub(crate) fn is_untidy(needed: u64, goal: u64) -> bool {
    needed > goal.saturating_add(FREE_MIN)
}

impl PunchGoal {
    /// Whether punching begins with `ready` free pages.
    pub(crate) fn begins(&self, ready: u64) -> bool {
        ready / 2 > self.kept
    }

    /// Whether it goes on with `ready` free pages.
    pub(crate) fn goes_on(&self, ready: u64) -> bool {
        ready > self.kept + self.least
    }

    /// How many pages are punched at once.
    pub(crate) fn at_once(&self, ready: u64, page_size: u64) -> u64 {
        ready.saturating_sub(self.kept).min(PUNCHED_MAX / page_size)
    }

    /// The part of a free extent that may be punched: what is after the boundary, if it is long
    /// enough. Pages before it are needed for pages that are moved from after it.
    pub(crate) fn candidate(&self, free: Extent, boundary: u64) -> Option<Extent> {
        let start = u64::from(free.start.0).max(boundary);
        let len = free.end().checked_sub(start)?;
        (len >= self.least).then(|| Extent::new((free.end() - len) as u32, len as u32))
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
