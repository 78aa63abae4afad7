//! Options, progress and results of a compaction.

use std::time::Duration;

/// The most pages that one commit moves.
pub(super) const PAGES_PER_COMMIT_MAX: u64 = 4096;
/// Percentage of a closed file that may be free, plus some pages.
const FREE_AT_REST_PERCENT: u8 = 8;
/// Larger values are not moved when closing.
const TIDIED_VALUE_MAX: u64 = 64 << 20;

/// Progress of [`Database::compact`](crate::Database::compact).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct CompactProgress {
    /// Pages moved so far.
    pub moved_pages: u64,
    /// Present length of the file in bytes.
    pub file_bytes: u64,
    /// Whether the file is as short as requested. Without a request: whether it exceeds the pages
    /// that are in use or still visible to a reader by at most a thirty-second part and 32 pages.
    pub is_reached: bool,
    /// At the end, if the goal is not reached: the obstacle.
    pub obstacle: Option<CompactObstacle>,
}

/// Why a file did not become as short as requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CompactObstacle {
    /// A limit of the options was reached, or `progress` returned `Break`.
    Limit,
    /// Readers use pages that would have to go, or pages in all positions that these could go to.
    Readers,
    /// Named snapshots use such pages.
    NamedSnapshots,
    /// There is no room to move the rest. Either more is in use than was requested, or values would
    /// first have to be copied to the end of the file and the disk is full or the size limit
    /// reached.
    Room,
    /// Other writers held the writer lock longer than the wait limit.
    Writers,
}

/// How short [`Database::compact`](crate::Database::compact) makes the file, how much
/// work it does, and how fast. Without any option it makes the file as short as possible, as fast
/// as possible.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CompactOptions {
    file_bytes: Option<u64>,
    free_percent: Option<u8>,
    pub(super) moved_bytes: Option<u64>,
    commit_bytes: Option<u64>,
    pub(super) pause: Duration,
    pub(super) wait: Option<Duration>,
    /// Moves no huge values, and does not grow the file.
    pub(super) is_tidying: bool,
}

impl CompactOptions {
    /// Creates options without a goal and without limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends when the file has at most this many bytes. Only pages after that length are moved.
    #[must_use]
    pub fn until_file_bytes(mut self, bytes: u64) -> Self {
        self.file_bytes = Some(bytes);
        self
    }

    /// Ends when at most this percentage of the file is free, or 16 pages and a sixty-fourth: that
    /// much always remains for the inner pages above moved ones. If a length is given as well, the
    /// goal reached first counts.
    #[must_use]
    pub fn until_free_percent(mut self, percent: u8) -> Self {
        self.free_percent = Some(percent);
        self
    }

    /// Ends when about this many bytes were moved.
    #[must_use]
    pub fn max_moved_bytes(mut self, bytes: u64) -> Self {
        self.moved_bytes = Some(bytes);
        self
    }

    /// Moves at most about this many bytes with each commit. The default is 4,096 pages. Other
    /// writers can proceed between two commits.
    #[must_use]
    pub fn max_commit_bytes(mut self, bytes: u64) -> Self {
        self.commit_bytes = Some(bytes);
        self
    }

    /// Waits this long between two commits that move pages. The default is no pause.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Ends if other writers keep the writer lock longer than this before one of its commits. By
    /// default it waits without limit.
    #[must_use]
    pub fn wait_for_writers(mut self, limit: Duration) -> Self {
        self.wait = Some(limit);
        self
    }

    /// Options to compact a database before it is closed, which waits at most `wait` for writers.
    pub(super) fn for_closing(wait: Duration) -> Self {
        Self {
            free_percent: Some(FREE_AT_REST_PERCENT),
            wait: Some(wait),
            is_tidying: true,
            ..Self::new()
        }
    }

    /// The goal in pages; 0 without a goal.
    pub(super) fn goal_pages(&self, used: u64, page_size: u64) -> u64 {
        let by_len = self.file_bytes.map(|bytes| (bytes / page_size).max(1));
        let by_share = self.free_percent.map(|percent| {
            let used_percent = 100u64.saturating_sub(percent.into());
            let pages = (used * 100).checked_div(used_percent);
            pages.unwrap_or(u64::MAX).max(used + slack(used))
        });
        by_len.max(by_share).unwrap_or(0)
    }

    /// A file of this many pages is short enough.
    pub(super) fn enough_pages(&self, living: u64, page_size: u64) -> u64 {
        match self.goal_pages(living, page_size) {
            0 => living + living / 32 + 32,
            goal => goal,
        }
    }

    /// The most pages of a value that one commit moves together with others.
    pub(super) fn value_pages_max(&self, page_size: u64) -> u64 {
        match self.is_tidying {
            true => TIDIED_VALUE_MAX / page_size,
            false => u64::MAX,
        }
    }

    /// The most pages that the next commit may move.
    pub(super) fn pages_left(&self, moved: u64, page_size: u64) -> u64 {
        let in_all = self.moved_bytes.map_or(u64::MAX, |bytes| bytes / page_size);
        in_all
            .saturating_sub(moved)
            .min(self.pages_at_once(page_size))
    }

    /// The most pages that one commit may move.
    pub(super) fn pages_at_once(&self, page_size: u64) -> u64 {
        self.commit_bytes
            .map_or(PAGES_PER_COMMIT_MAX, |bytes| (bytes / page_size).max(1))
    }
}

/// Free pages that always remain for the inner pages above moved ones, which are copied too.
pub(super) fn slack(used: u64) -> u64 {
    used / 64 + 16
}
