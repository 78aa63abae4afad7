//! Making the file as short as it can be, or as it is to be, by a series of commits that do nothing else.

use super::{
    engine::{Durability, Engine},
    high_water::FREE_MIN,
    write::WriteTransaction,
};
use crate::{Error, Result, TransactionId, space::Space, tree::lower::Lowering};
use std::{
    ops::ControlFlow,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Pages that one commit moves at most.
const MOVED_AT_ONCE: u64 = 4096;
/// Commits that move nothing, so that what was moved before is free, and two records say so.
const SETTLING: usize = 4;
/// Free pages that a commit leaves, for what is on the way to pages that it moves, and for leaves that it lays out together.
const SPARED: u64 = 64;
/// How much of a file may be free that is closed, of 100, and some pages more.
const FREE_AT_REST_PERCENT: u8 = 8;
/// It is made shorter for an eighth of the time that it was open, between these.
const TIDYING: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
const TIDYING_PART: u32 = 8;

/// How far [`Database::compact`](crate::Database::compact) is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct CompactProgress {
    /// Pages that were moved so far.
    pub moved_pages: u64,
    /// How long the file is now.
    pub file_bytes: u64,
    /// Whether the file is as short as was asked for or, where nothing was asked for, nothing is left to be moved. While it is not,
    /// readers or named snapshots may see what would have to go, or be all that keeps the pages that it would go to.
    pub is_reached: bool,
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
    /// Ends where the writer's place does not come within this time, and moves no value that is larger than what one commit moves.
    patience: Option<Duration>,
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
        in_all
            .saturating_sub(moved)
            .min(self.pages_at_once(page_size))
    }

    /// How many pages one commit may move.
    fn pages_at_once(&self, page_size: u64) -> u64 {
        self.commit_bytes
            .map_or(MOVED_AT_ONCE, |bytes| (bytes / page_size).max(1))
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
            is_reached: false,
        };
        let mut is_first = true;
        // Commits in a row that only wait: for pages to move to, which the one before may have freed, or for the end to be cut off.
        let mut waited = 0;
        let mut is_ending = false;
        // Less after a commit for which there was not enough room.
        let mut most = u64::MAX;
        while waited < SETTLING {
            let txn = match options.patience {
                Some(limit) => WriteTransaction::begin_within(self, limit)?,
                None => Some(WriteTransaction::begin(self)?),
            };
            let Some(mut txn) = txn else {
                return Ok(done);
            };
            let space = &txn.pages.writer.space;
            let goal = options.goal_pages(txn.living_pages(), page_size);
            done.is_reached = needed_pages(space) <= goal;
            if is_first {
                // Another process may have changed it before this turn.
                done.file_bytes = self.file_bytes();
            }
            if is_first && done.file_bytes <= goal.saturating_mul(page_size) {
                return Ok(done);
            }
            let pages_left = match done.is_reached {
                true => 0,
                false => options.pages_left(done.moved_pages, page_size),
            };
            let ready = space.ready_count();
            let room = (ready - SPARED.min(ready / 2)).min(most);
            txn.pages.durability = Durability::Durable;
            txn.is_compacting = true;
            txn.pages.leave_zone();
            let tail = &mut txn.pages.writer.tail;
            if std::mem::take(&mut is_first) {
                tail.begin();
            }
            done.is_reached |= goal == 0 && !tail.is_emptying();
            is_ending |= !tail.is_emptying() || pages_left == 0;
            // What nobody needs is released before anything is moved.
            let is_releasing =
                !is_ending && txn.release_to_compact(options.pages_at_once(page_size))?;
            let moved = match !is_ending && room > 0 {
                true if is_releasing => Some(0),
                true => txn.compact_some(goal, pages_left.min(room), options)?,
                false => None,
            };
            let moved = match txn.commit() {
                Ok(_) => moved,
                // What was moved is where it was; with less there may be room for the commit itself.
                Err(Error::Full { .. }) => None,
                Err(error) => return Err(error),
            };
            done.moved_pages += moved.unwrap_or(0);
            done.file_bytes = self.file_bytes();
            (waited, most) = match moved {
                Some(_) => (0, most.saturating_mul(2)),
                None => (waited + 1, (room / 4).max(1)),
            };
            if !is_ending {
                is_ending = progress(done).is_break();
                thread::sleep(options.pause);
            }
        }
        // Begins, and so cuts. Closing does that by itself.
        if options.patience.is_none() {
            WriteTransaction::begin(self)?.abort();
        }
        done.file_bytes = self.file_bytes();
        Ok(done)
    }
}

impl Engine {
    /// Before the database is closed: makes the file shorter, if more of it is free than a database wants that is at rest. All is durable
    /// then; if this fails, closing tells of it only if the disk does.
    pub(super) fn tidy(self: &Arc<Self>, was_open: Duration) {
        let options = CompactOptions {
            free_percent: Some(FREE_AT_REST_PERCENT),
            patience: Some(TIDYING.0),
            ..CompactOptions::new()
        };
        // What is lazy keeps pages that are free when it is on the disk.
        if !self.is_untidy(&options).unwrap_or(false) || self.sync().is_err() {
            return;
        }
        let end = Instant::now() + (was_open / TIDYING_PART).clamp(TIDYING.0, TIDYING.1);
        let _ = self.compact(
            &options,
            &mut |_| match Instant::now() < end && !self.is_shared() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            },
        );
    }

    /// Whether other processes have the database open.
    fn is_shared(&self) -> bool {
        let shared = self.flusher.shared.as_ref();
        shared.is_some_and(|shared| shared.lock_file.has_others().unwrap_or(true))
    }

    fn is_untidy(&self, options: &CompactOptions) -> Result<bool> {
        if self.policies.move_percent == 0 || self.is_shared() {
            return Ok(false);
        }
        let Some(writer) = self.try_turn(Some(TIDYING.0))? else {
            return Ok(false);
        };
        let space = &writer.space;
        let used = space.used_count().saturating_sub(space.pending_count());
        let goal = options.goal_pages(used, self.page_size as u64);
        // What has a name stays where it is.
        let is_wanted = writer.newest.geometry.shrink_threshold_bytes == 0
            && writer.named.live().is_empty()
            && writer.is_changed;
        Ok(is_wanted && needed_pages(space) > goal + FREE_MIN)
    }
}

/// The pages that the file must have as it is.
fn needed_pages(space: &Space) -> u64 {
    space.page_count() - space.trailing_free()
}

impl WriteTransaction {
    /// Pages that are in use, or dead and seen by somebody. Right behind many lazy commits as many more are dead, and the space map
    /// lets go of them by and by.
    fn living_pages(&self) -> u64 {
        let (space, named) = (&self.pages.writer.space, &self.pages.writer.named);
        let readers = self.engine.flusher.published.table.readers();
        let read = readers.iter().map(|reader| TransactionId(reader.state));
        let older: Vec<_> = read.filter(|state| *state < self.pages.base()).collect();
        let dead = match older.is_empty() && named.live().is_empty() {
            true => space.pending_count(),
            false => self.pages.unseen_by(older.into_iter()),
        };
        space.used_count().saturating_sub(dead)
    }

    /// Moves as much of what is behind the goal as one commit should; `None` if there is no room for it.
    fn compact_some(
        &mut self,
        goal: u64,
        pages_left: u64,
        options: &CompactOptions,
    ) -> Result<Option<u64>> {
        let used = self.pages.writer.space.used_count();
        // The pages on the way to those that are moved are copied, too.
        let boundary = goal.max(used + used / 64 + 16);
        self.pages.writer.space.leave_tail(boundary);
        let mut work = Lowering {
            boundary,
            pages_left,
            looks_left: MOVED_AT_ONCE,
            moved: 0,
            takes_any_value: options.patience.is_none(),
            saved_min: 1,
        };
        match self.lower(&mut work) {
            Ok(()) => Ok(Some(work.moved)),
            Err(Error::Full { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
