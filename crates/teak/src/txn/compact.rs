//! Making the file as short as it can be, or as it is to be, by a series of commits that do nothing else.

use super::{
    engine::{Durability, Engine},
    write::WriteTransaction,
};
use crate::{Result, space::Space, tree::lower::Lowering};
use std::{ops::ControlFlow, sync::Arc, thread, time::Duration};

/// Pages that one commit moves at most.
const MOVED_AT_ONCE: u64 = 4096;
/// Commits that move nothing, so that what was moved before is free, and two records say so.
const SETTLING: usize = 4;

/// How far [`Database::compact`](crate::Database::compact) is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct CompactProgress {
    /// Pages that were moved so far.
    pub moved_pages: u64,
    /// How long the file is now.
    pub file_bytes: u64,
}

/// How short [`Database::compact_with`](crate::Database::compact_with) makes the file, and how much it does for that, and how fast.
/// Without any of these it makes it as short as it can, as fast as it can.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CompactOptions {
    file_bytes: Option<u64>,
    free_percent: Option<u8>,
    moved_bytes: Option<u64>,
    commit_bytes: Option<u64>,
    pause: Duration,
}

impl CompactOptions {
    /// No target and no limit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends when the file is no longer than this. Only what is behind that is moved.
    #[must_use]
    pub fn until_file_bytes(mut self, bytes: u64) -> Self {
        self.file_bytes = Some(bytes);
        self
    }

    /// Ends when no more than this part of the file is free, of a hundred, or 16 pages and a sixty-fourth: that much is always left
    /// for the pages on the way to those that are moved. If there is a length as well, it ends with what is reached first.
    #[must_use]
    pub fn until_free_percent(mut self, percent: u8) -> Self {
        self.free_percent = Some(percent);
        self
    }

    /// Ends when about so many bytes were moved.
    #[must_use]
    pub fn max_moved_bytes(mut self, bytes: u64) -> Self {
        self.moved_bytes = Some(bytes);
        self
    }

    /// Moves about so many bytes with each commit, at most: 4,096 pages if this is not called. Others can write between two commits.
    #[must_use]
    pub fn max_commit_bytes(mut self, bytes: u64) -> Self {
        self.commit_bytes = Some(bytes);
        self
    }

    /// Waits so long between two commits that move something: none if this is not called.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// So many pages of the file are not too many.
    fn goal_pages(&self, used: u64, page_size: u64) -> u64 {
        let by_len = self.file_bytes.map(|bytes| bytes / page_size);
        let by_share = self.free_percent.map(|percent| {
            let used_percent = 100u64.saturating_sub(percent.into());
            (used * 100).checked_div(used_percent).unwrap_or(u64::MAX)
        });
        by_len.max(by_share).unwrap_or(0)
    }

    /// How many pages the next commit may move.
    fn pages_left(&self, moved: u64, page_size: u64) -> u64 {
        let in_all = self.moved_bytes.map_or(u64::MAX, |bytes| bytes / page_size);
        let at_once = self
            .commit_bytes
            .map_or(MOVED_AT_ONCE, |bytes| (bytes / page_size).max(1));
        in_all.saturating_sub(moved).min(at_once)
    }
}

impl Engine {
    /// Moves pages from the end of the file to free ones before it, until that is enough or none is left, and cuts the end off.
    pub(crate) fn compact(
        self: &Arc<Self>,
        options: &CompactOptions,
        progress: &mut dyn FnMut(CompactProgress) -> ControlFlow<()>,
    ) -> Result<CompactProgress> {
        let page_size = self.page_size as u64;
        let mut done = CompactProgress {
            moved_pages: 0,
            file_bytes: self.file_bytes(),
        };
        let mut is_first = true;
        let mut settling = 0;
        while settling < SETTLING {
            let mut txn = WriteTransaction::begin(self)?;
            let space = &txn.pages.writer.space;
            let goal = options.goal_pages(space.used_count(), page_size);
            if is_first && done.file_bytes <= goal.saturating_mul(page_size) {
                return Ok(done);
            }
            let pages_left = match needed_pages(space) <= goal {
                true => 0,
                false => options.pages_left(done.moved_pages, page_size),
            };
            txn.pages.durability = Durability::Durable;
            txn.is_compacting = true;
            let tail = &mut txn.pages.writer.tail;
            if std::mem::take(&mut is_first) {
                tail.begin();
            }
            let is_emptying = settling == 0 && tail.is_emptying() && pages_left > 0;
            let moved = match is_emptying {
                true => txn.compact_some(goal, pages_left)?,
                false => 0,
            };
            txn.commit()?;
            done.moved_pages += moved;
            done.file_bytes = self.file_bytes();
            if !is_emptying || moved > 0 && progress(done).is_break() {
                settling += 1;
            } else if moved > 0 {
                thread::sleep(options.pause);
            }
        }
        // Begins, and so cuts.
        WriteTransaction::begin(self)?.abort();
        done.file_bytes = self.file_bytes();
        Ok(done)
    }
}

/// The pages that the file must have as it is.
fn needed_pages(space: &Space) -> u64 {
    space.page_count() - space.trailing_free()
}

impl WriteTransaction {
    /// Moves as much of what is behind the goal as one commit should.
    fn compact_some(&mut self, goal: u64, pages_left: u64) -> Result<u64> {
        let used = self.pages.writer.space.used_count();
        // The pages on the way to those that are moved are copied, too.
        let boundary = goal.max(used + used / 64 + 16);
        self.pages.writer.space.leave_tail(boundary);
        let mut work = Lowering {
            boundary,
            pages_left,
            looks_left: MOVED_AT_ONCE,
            moved: 0,
            takes_any_value: true,
        };
        self.lower(&mut work)?;
        Ok(work.moved)
    }
}
