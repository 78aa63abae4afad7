//! Compaction: making the file as short as possible or as requested, by a series of commits that do
//! nothing else.
//!
//! First, everything after the file's future end goes to any lower position that has room. A large
//! value needs contiguous pages, which may not exist although enough pages are free. Therefore, in
//! the next stage, everything after the lowest gap moves down into it. If the values after the gap
//! are longer than the gap, some of them are *lifted*: copied to the end of the file, which
//! enlarges the gap by their pages. They come down later with everything else. Each such gap begins
//! after the previous one, so the process ends.

use crate::{Error, Result, TransactionId, alloc::Space, btree::relocate::Relocation};
use crate::{
    instance::{engine::Engine, high_water::FREE_MIN, truncate_state::ROUNDS_MAX},
    record::durability::Durability,
    write::transaction::WriteTransaction,
};
use std::{
    ops::{ControlFlow, Range},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// The most pages that one commit moves.
const MOVED_AT_ONCE: u64 = 4096;
/// Commits that move nothing. After them the pages moved before are free, and two records say so.
const SETTLING: usize = 4;
/// Free pages that a commit leaves, for the path to pages that it moves, and for leaves that it
/// merges.
const SPARED: u64 = 64;
/// Fewer free pages at the end are no reason to begin.
const TRAILING_MIN: u64 = 16;
/// A round that moves no more pages than this has found little.
const LITTLE: u64 = 16;
/// The most rounds through all tables to combine free pages.
const GAP_ROUNDS_MAX: u32 = 1024;
/// Percentage of a closed file that may be free, plus some pages.
const FREE_AT_REST_PERCENT: u8 = 8;
/// Closing compacts for at most an eighth of the time that the database was open, within these
/// bounds.
const TIDYING: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
const TIDYING_PART: u32 = 8;
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

/// How short [`Database::compact_with`](crate::Database::compact_with) makes the file, how much
/// work it does, and how fast. Without any option it makes the file as short as possible, as fast
/// as possible.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CompactOptions {
    file_bytes: Option<u64>,
    free_percent: Option<u8>,
    moved_bytes: Option<u64>,
    commit_bytes: Option<u64>,
    pause: Duration,
    wait: Option<Duration>,
    /// Moves no huge values, and does not grow the file.
    is_tidying: bool,
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

    /// The goal in pages; 0 without a goal.
    fn goal_pages(&self, used: u64, page_size: u64) -> u64 {
        let by_len = self.file_bytes.map(|bytes| (bytes / page_size).max(1));
        let by_share = self.free_percent.map(|percent| {
            let used_percent = 100u64.saturating_sub(percent.into());
            let pages = (used * 100).checked_div(used_percent);
            pages.unwrap_or(u64::MAX).max(used + used / 64 + 16)
        });
        by_len.max(by_share).unwrap_or(0)
    }

    /// The most pages of a value that one commit moves together with others.
    fn value_pages_max(&self, page_size: u64) -> u64 {
        match self.is_tidying {
            true => TIDIED_VALUE_MAX / page_size,
            false => u64::MAX,
        }
    }

    /// The most pages that the next commit may move.
    fn pages_left(&self, moved: u64, page_size: u64) -> u64 {
        let in_all = self.moved_bytes.map_or(u64::MAX, |bytes| bytes / page_size);
        in_all
            .saturating_sub(moved)
            .min(self.pages_at_once(page_size))
    }

    /// The most pages that one commit may move.
    fn pages_at_once(&self, page_size: u64) -> u64 {
        self.commit_bytes
            .map_or(MOVED_AT_ONCE, |bytes| (bytes / page_size).max(1))
    }
}

impl Engine {
    /// Moves pages from the end of the file to lower free positions until the goal is reached or no
    /// page is left to move. Truncates the file.
    pub(crate) fn compact(
        self: &Arc<Self>,
        options: &CompactOptions,
        progress: &mut dyn FnMut(CompactProgress) -> ControlFlow<()>,
    ) -> Result<CompactProgress> {
        Compaction {
            engine: self,
            options,
            page_size: self.file.page_size as u64,
            done: CompactProgress {
                file_bytes: self.file_bytes(),
                ..CompactProgress::default()
            },
            stage: CompactionStage::Begin,
            is_limited: false,
            waited: 0,
            most: u64::MAX,
        }
        .run(progress)
    }
}

/// The stage of a compaction.
#[derive(Clone, Copy, Debug)]
enum CompactionStage {
    Begin,
    /// Pages after the file's future end go to any lower position.
    Tail,
    /// Gaps between used pages are combined, because values found no room.
    Gaps(Gaps),
    /// Nothing more is moved.
    Done,
}

#[derive(Clone, Copy, Default, Debug)]
struct Gaps {
    /// Everything from this page on goes to lower positions.
    boundary: u64,
    /// Pages that this round has moved, and (below) the number of rounds.
    moved: u64,
    rounds: u32,
    /// Whether values were lifted, and (below) the position of the last lift.
    has_lifted: bool,
    lifted_at: u64,
}

/// What one commit moves.
enum CompactionPlan {
    Lower {
        boundary: u64,
    },
    Lift(Range<u64>),
    /// Nothing yet, or nothing more.
    Wait,
}

/// The result of one transaction.
enum CompactionOutcome {
    /// The transaction moved this many pages. With 0 it may not have been worth a commit.
    Moved(u64),
    /// It found no room.
    NoRoom,
    /// It only lets earlier commits take effect.
    Waited,
    /// Nothing is left to do.
    Over,
}

/// A running compaction.
struct Compaction<'c> {
    engine: &'c Arc<Engine>,
    options: &'c CompactOptions,
    page_size: u64,
    done: CompactProgress,
    stage: CompactionStage,
    /// Whether a limit ended it before everything was moved.
    is_limited: bool,
    /// Number of successive commits that only wait: for pages that the previous commit may have
    /// freed, or for the truncation.
    waited: usize,
    /// The most pages that one commit moves. Reduced after a commit that found not enough room.
    most: u64,
}

impl Compaction<'_> {
    fn run(
        mut self,
        progress: &mut dyn FnMut(CompactProgress) -> ControlFlow<()>,
    ) -> Result<CompactProgress> {
        loop {
            let Some(txn) = self.begin()? else {
                return Ok(self.refused());
            };
            match self.step(txn)? {
                CompactionOutcome::Over => break,
                CompactionOutcome::Moved(pages) => {
                    self.done.moved_pages += pages;
                    if let CompactionStage::Gaps(gaps) = &mut self.stage {
                        gaps.moved += pages;
                    }
                    self.most = self.most.saturating_mul(2);
                    if pages > 0 {
                        self.waited = 0;
                    }
                }
                CompactionOutcome::NoRoom => {
                    self.waited += 1;
                    if self.waited >= SETTLING {
                        self.stage = CompactionStage::Done;
                    }
                }
                CompactionOutcome::Waited => self.waited += 1,
            }
            self.done.file_bytes = self.engine.file_bytes();
            if !matches!(self.stage, CompactionStage::Done) {
                match progress(self.done) {
                    ControlFlow::Continue(()) => thread::sleep(self.options.pause),
                    ControlFlow::Break(()) => {
                        self.stage = CompactionStage::Done;
                        self.is_limited = true;
                    }
                }
            }
        }
        self.finish()
    }

    fn begin(&self) -> Result<Option<WriteTransaction>> {
        match self.options.wait {
            Some(limit) => WriteTransaction::begin_within(self.engine, limit),
            None => WriteTransaction::begin(self.engine).map(Some),
        }
    }

    /// The result if other writers took too long.
    fn refused(mut self) -> CompactProgress {
        self.done.is_reached = false;
        self.done.obstacle = Some(CompactObstacle::Writers);
        self.done
    }

    /// Determines what was reached, and what the obstacle was.
    fn finish(mut self) -> Result<CompactProgress> {
        // Beginning a transaction truncates the file. Closing does that by itself.
        if !self.options.is_tidying {
            let Some(txn) = self.begin()? else {
                return Ok(self.refused());
            };
            self.done.is_reached = self.is_reached(&txn)?;
            if !self.done.is_reached {
                self.done.obstacle = Some(match self.is_limited {
                    true => CompactObstacle::Limit,
                    false => txn.pins_in_the_way()?.unwrap_or(CompactObstacle::Room),
                });
            }
            txn.abort();
        }
        self.done.file_bytes = self.engine.file_bytes();
        Ok(self.done)
    }

    fn is_reached(&self, txn: &WriteTransaction) -> Result<bool> {
        let living = txn.living_pages()?;
        let enough = match self.options.goal_pages(living, self.page_size) {
            0 => living + living / 32 + 32,
            goal => goal,
        };
        Ok(needed_pages(&txn.pages.writer.space) <= enough)
    }

    /// One transaction.
    fn step(&mut self, mut txn: WriteTransaction) -> Result<CompactionOutcome> {
        let goal = (self.options).goal_pages(txn.living_pages()?, self.page_size);
        self.done.is_reached = self.is_reached(&txn)?;
        let is_first = matches!(self.stage, CompactionStage::Begin);
        if is_first {
            // Another process may have changed the length before this transaction.
            self.done.file_bytes = self.engine.file_bytes();
            if self.done.file_bytes <= goal.saturating_mul(self.page_size) {
                return Ok(CompactionOutcome::Over);
            }
            txn.pages.writer.tail.begin(ROUNDS_MAX);
            self.stage = CompactionStage::Tail;
        }
        let pages_left = (self.options).pages_left(self.done.moved_pages, self.page_size);
        if goal > 0 && self.done.is_reached || pages_left == 0 {
            self.is_limited |= pages_left == 0;
            self.stage = CompactionStage::Done;
        }
        txn.pages.limits.durability = Durability::Durable;
        txn.status.is_compacting = true;
        txn.pages.leave_zone();
        let is_unsettled = self.waited < SETTLING && txn.is_unsettled(is_first, &self.done)?;
        let plan = self.plan(&mut txn, goal, is_unsettled)?;
        // Dropped trees are released before anything is moved.
        let at_once = self.options.pages_at_once(self.page_size);
        let is_done = matches!(self.stage, CompactionStage::Done);
        let is_releasing = !is_done && txn.release_to_compact(at_once)?;
        let ready = txn.pages.writer.space.ready_count();
        let room = (ready - SPARED.min(ready / 2)).min(self.most);
        let outcome = match plan {
            _ if is_releasing => CompactionOutcome::Moved(0),
            CompactionPlan::Wait if is_done && !is_unsettled => CompactionOutcome::Over,
            CompactionPlan::Wait => CompactionOutcome::Waited,
            CompactionPlan::Lower { .. } if room == 0 => CompactionOutcome::NoRoom,
            CompactionPlan::Lower { boundary } => {
                let work = Relocation {
                    boundary,
                    pages_left: pages_left.min(room),
                    visits_left: MOVED_AT_ONCE,
                    value_pages_max: self.options.value_pages_max(self.page_size),
                    saved_min: 1,
                    ..Relocation::default()
                };
                txn.compact_some(work)?
            }
            CompactionPlan::Lift(values) => txn.compact_some(Relocation {
                boundary: u64::MAX,
                relocated_values: values,
                pages_left: u64::MAX,
                visits_left: u64::MAX,
                saved_min: usize::MAX,
                ..Relocation::default()
            })?,
        };
        let is_changed = !txn.pages.is_unchanged() || txn.pages.writer.space.wants_checkpoint();
        let is_wanted = match outcome {
            CompactionOutcome::Over => return Ok(outcome),
            CompactionOutcome::Moved(_) => is_changed,
            CompactionOutcome::NoRoom => is_changed || is_unsettled,
            CompactionOutcome::Waited => true,
        };
        if !is_wanted {
            txn.abort();
            return Ok(outcome);
        }
        match txn.commit() {
            Ok(_) => Ok(outcome),
            // The pages are back at their old positions. With fewer pages there may be room for the
            // commit itself.
            Err(Error::Full { .. }) => {
                self.most = (room / 4).max(1);
                Ok(CompactionOutcome::NoRoom)
            }
            Err(error) => Err(error),
        }
    }

    /// Chooses what is moved next. A stage continues only when the pages that it moved from are
    /// free.
    fn plan(
        &mut self,
        txn: &mut WriteTransaction,
        goal: u64,
        is_unsettled: bool,
    ) -> Result<CompactionPlan> {
        let used = txn.pages.writer.space.used_count();
        // The inner pages above moved pages are copied too.
        let slack = used / 64 + 16;
        if txn.pages.writer.tail.is_emptying() {
            let boundary = match self.stage {
                CompactionStage::Tail => goal.max(used + slack),
                CompactionStage::Gaps(gaps) => gaps.boundary,
                CompactionStage::Begin | CompactionStage::Done => return Ok(CompactionPlan::Wait),
            };
            txn.leave_tail(goal.max(used + slack));
            return Ok(CompactionPlan::Lower { boundary });
        }
        if is_unsettled || matches!(self.stage, CompactionStage::Done) {
            return Ok(CompactionPlan::Wait);
        }
        let gaps = match self.stage {
            CompactionStage::Gaps(gaps) => gaps,
            _ => Gaps {
                moved: u64::MAX,
                ..Gaps::default()
            },
        };
        let first_gap = txn.pages.writer.space.first_free_page_after(slack);
        let is_fruitful = gaps.moved > if gaps.has_lifted { 0 } else { LITTLE };
        // Lifted values find their positions even if there are readers meanwhile.
        let is_held = (!is_fruitful || gaps.lifted_at == 0) && txn.pins_in_the_way()?.is_some();
        // No value is lifted that may have to stay at the end of the file.
        let is_limited = !is_fruitful && self.options.moved_bytes.is_some();
        self.is_limited |= is_limited;
        let is_over = self.done.is_reached
            || self.options.is_tidying
            || gaps.rounds >= GAP_ROUNDS_MAX
            || is_held
            || is_limited;
        let Some(boundary) = first_gap.filter(|_| !is_over) else {
            self.stage = CompactionStage::Done;
            return Ok(CompactionPlan::Wait);
        };
        let mut next = Gaps {
            boundary,
            moved: 0,
            rounds: gaps.rounds + 1,
            has_lifted: !is_fruitful,
            ..gaps
        };
        if !is_fruitful && boundary <= gaps.lifted_at {
            self.stage = CompactionStage::Done;
            return Ok(CompactionPlan::Wait);
        }
        let plan = match is_fruitful {
            true => {
                txn.pages.writer.tail.begin(1);
                CompactionPlan::Lower { boundary }
            }
            false => {
                next.lifted_at = boundary;
                txn.leave_tail(boundary);
                let at_once = self.options.pages_at_once(self.page_size);
                CompactionPlan::Lift(boundary..boundary.saturating_add(at_once))
            }
        };
        self.stage = CompactionStage::Gaps(next);
        Ok(plan)
    }
}

impl Engine {
    /// Before the database is closed: compacts the file if more of it is free than a closed
    /// database should keep. Everything is durable then. If this fails, closing reports the error
    /// only if the disk still fails.
    pub(crate) fn tidy(self: &Arc<Self>, was_open: Duration) {
        let options = CompactOptions {
            free_percent: Some(FREE_AT_REST_PERCENT),
            wait: Some(TIDYING.0),
            is_tidying: true,
            ..CompactOptions::new()
        };
        // Lazy commits keep pages that become free once these commits are on the disk.
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
        let Some(writer) = self.try_acquire_writer(Some(TIDYING.0))? else {
            return Ok(false);
        };
        let space = &writer.space;
        let used = space.used_count().saturating_sub(space.pending_count());
        let goal = options.goal_pages(used, self.file.page_size as u64);
        // Named snapshots keep their pages in place.
        let is_wanted = writer.newest.geometry.shrink_threshold_bytes == 0
            && writer.named.live().is_empty()
            && writer.is_changed;
        Ok(is_wanted && needed_pages(space) > goal + FREE_MIN)
    }
}

/// The pages that the file needs at present.
fn needed_pages(space: &Space) -> u64 {
    space.page_count() - space.trailing_free()
}

impl WriteTransaction {
    /// Pages that are in use, or dead but visible to a reader. Directly after many lazy commits as
    /// many more pages are dead, and the free-space map releases them over time.
    fn living_pages(&self) -> Result<u64> {
        let (space, named) = (&self.pages.writer.space, &self.pages.writer.named);
        let readers = self.engine.flusher.published.readers()?;
        let read = readers.iter().map(|reader| TransactionId(reader.state));
        let older: Vec<_> = read.filter(|state| *state < self.pages.base()).collect();
        let dead = match older.is_empty() && named.live().is_empty() {
            true => space.pending_count(),
            false => self.pages.unseen_by(older.into_iter()),
        };
        Ok(space.used_count().saturating_sub(dead))
    }

    /// The readers or named snapshots that use pages of older states, or may use them, so that
    /// moved pages do not become free.
    fn pins_in_the_way(&self) -> Result<Option<CompactObstacle>> {
        if !self.engine.flusher.published.readers()?.is_empty() {
            return Ok(Some(CompactObstacle::Readers));
        }
        let is_named = !self.pages.writer.named.live().is_empty();
        Ok(is_named.then_some(CompactObstacle::NamedSnapshots))
    }

    /// Whether a commit without changes would free pages or shorten the file.
    fn is_unsettled(&self, is_first: bool, done: &CompactProgress) -> Result<bool> {
        let writer = &self.pages.writer;
        let space = &writer.space;
        let lower_limit =
            self.pages.limits.geometry.lower_limit_bytes / self.engine.file.page_size as u64;
        let least = if is_first { TRAILING_MIN } else { 0 };
        let is_free = space.page_count() > lower_limit && space.trailing_free() > least;
        let is_dead = space.used_count() > self.living_pages()?;
        Ok(is_free || writer.is_to_cut(&*self.engine.file.storage) || is_dead && !done.is_reached)
    }

    /// Has pages of the free-space map after the boundary moved, if there is room before it.
    fn leave_tail(&mut self, boundary: u64) {
        let space = &mut self.pages.writer.space;
        if space
            .first_free_page_after(0)
            .is_some_and(|free| free < boundary)
        {
            space.leave_tail(boundary);
        }
    }

    /// Moves as much as one commit should.
    fn compact_some(&mut self, mut work: Relocation) -> Result<CompactionOutcome> {
        match self.relocate(&mut work) {
            Ok(()) => Ok(CompactionOutcome::Moved(work.moved)),
            Err(error) if error.is_lack_of_space() => Ok(CompactionOutcome::NoRoom),
            Err(error) => Err(error),
        }
    }
}
