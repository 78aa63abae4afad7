//! Making the file as short as it can be, or as it is to be, by a series of commits that do nothing else.
//!
//! First everything behind the end that the file is to have goes to any lower place that holds it. A large value takes pages in a row, which may
//! be nowhere though enough pages are free. So then everything behind the lowest gap goes down to it. Where the values after the gap are longer than it is,
//! some of them are *lifted*: copied behind the end, which makes the gap longer by what they took, and they come down with all others. Each such
//! gap begins behind the one before, so that this ends.

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

/// Pages that one commit moves at most.
const MOVED_AT_ONCE: u64 = 4096;
/// Commits that move nothing, so that what was moved before is free, and two records say so.
const SETTLING: usize = 4;
/// Free pages that a commit leaves, for what is on the way to pages that it moves, and for leaves that it lays out together.
const SPARED: u64 = 64;
/// Fewer free pages at the end are no reason to begin.
const TRAILING_MIN: u64 = 16;
/// A round that moves no more pages found little.
const LITTLE: u64 = 16;
/// Rounds through all tables at most to bring free pages together.
const GAP_ROUNDS_MAX: u32 = 1024;
/// How much of a file may be free that is closed, of 100, and some pages more.
const FREE_AT_REST_PERCENT: u8 = 8;
/// It is made shorter for an eighth of the time that it was open, between these.
const TIDYING: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
const TIDYING_PART: u32 = 8;
/// Larger values are not moved then.
const TIDIED_VALUE_MAX: u64 = 64 << 20;

/// How far [`Database::compact`](crate::Database::compact) is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct CompactProgress {
    /// Pages that were moved so far.
    pub moved_pages: u64,
    /// How long the file is now.
    pub file_bytes: u64,
    /// Whether the file is as short as was asked for or, where nothing was asked for, no longer than the pages that are in use or seen by somebody
    /// by more than a thirty-second part and 32 pages.
    pub is_reached: bool,
    /// At the end, if that is not reached: what was in the way.
    pub obstacle: Option<CompactObstacle>,
}

/// Why a file did not become as short as it was to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CompactObstacle {
    /// A limit of the options was reached, or `progress` broke.
    Limit,
    /// Readers see pages that would have to go, or all that keeps the pages that they would go to.
    Readers,
    /// Named snapshots do.
    NamedSnapshots,
    /// There is no room to move what is left: more is in use than was asked for, or the disk is full or the size limit reached where values
    /// would have to be copied behind the end first.
    Room,
    /// Others write, for longer than it was to wait.
    Writers,
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
    wait: Option<Duration>,
    /// Moves no huge value, and none to where the file is longer for it.
    is_tidying: bool,
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

    /// Ends where others write for longer than this before one of its commits. It waits for as long as they do if this is not called.
    #[must_use]
    pub fn wait_for_writers(mut self, limit: Duration) -> Self {
        self.wait = Some(limit);
        self
    }

    /// So many pages of the file are not too many; 0 if nothing was asked for.
    fn goal_pages(&self, used: u64, page_size: u64) -> u64 {
        let by_len = self.file_bytes.map(|bytes| (bytes / page_size).max(1));
        let by_share = self.free_percent.map(|percent| {
            let used_percent = 100u64.saturating_sub(percent.into());
            let pages = (used * 100).checked_div(used_percent);
            pages.unwrap_or(u64::MAX).max(used + used / 64 + 16)
        });
        by_len.max(by_share).unwrap_or(0)
    }

    /// How many pages a value may have that one commit moves beside others.
    fn value_pages_max(&self, page_size: u64) -> u64 {
        match self.is_tidying {
            true => TIDIED_VALUE_MAX / page_size,
            false => u64::MAX,
        }
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

/// What is moved.
#[derive(Clone, Copy, Debug)]
enum CompactionStage {
    Begin,
    /// What is behind the end that the file is to have goes to any lower place.
    Tail,
    /// The free pages between others are brought together, since values found no place.
    Gaps(Gaps),
    /// Nothing more.
    Done,
}

#[derive(Clone, Copy, Default, Debug)]
struct Gaps {
    /// Everything from here on goes to lower places.
    boundary: u64,
    /// Pages that this round has moved, and how many rounds there were.
    moved: u64,
    rounds: u32,
    /// Whether it has lifted values, and where that was the last time.
    has_lifted: bool,
    lifted_at: u64,
}

/// What one commit is to move.
enum CompactionPlan {
    Lower {
        boundary: u64,
    },
    Lift(Range<u64>),
    /// Nothing yet, or nothing more.
    Wait,
}

/// What came of it.
enum CompactionOutcome {
    /// A transaction that has moved so much, or nothing and was not worth a commit.
    Moved(u64),
    /// It found no room.
    NoRoom,
    /// It only lets earlier ones take effect.
    Waited,
    /// There is nothing to be done any more.
    Over,
}

/// A compaction that runs.
struct Compaction<'c> {
    engine: &'c Arc<Engine>,
    options: &'c CompactOptions,
    page_size: u64,
    done: CompactProgress,
    stage: CompactionStage,
    /// Whether it was to end before nothing was left to be moved.
    is_limited: bool,
    /// Commits in a row that only wait: for pages to move to, which the one before may have freed, or for the end to be cut off.
    waited: usize,
    /// Pages that one commit moves at most: less after a commit for which there was not enough room.
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

    /// Others write for too long.
    fn refused(mut self) -> CompactProgress {
        self.done.is_reached = false;
        self.done.obstacle = Some(CompactObstacle::Writers);
        self.done
    }

    /// Says what was reached, and what was in the way.
    fn finish(mut self) -> Result<CompactProgress> {
        // Begins, and so cuts. Closing does that by itself.
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
            // Another process may have changed it before this turn.
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
        // What nobody needs is released before anything is moved.
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
            // What was moved is where it was; with less there may be room for the commit itself.
            Err(Error::Full { .. }) => {
                self.most = (room / 4).max(1);
                Ok(CompactionOutcome::NoRoom)
            }
            Err(error) => Err(error),
        }
    }

    /// What is to be moved next. A stage goes on only where what it has moved is free.
    fn plan(
        &mut self,
        txn: &mut WriteTransaction,
        goal: u64,
        is_unsettled: bool,
    ) -> Result<CompactionPlan> {
        let used = txn.pages.writer.space.used_count();
        // The pages on the way to those that are moved are copied, too.
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
        // What was lifted finds its place also if somebody reads meanwhile.
        let is_held = (!is_fruitful || gaps.lifted_at == 0) && txn.pins_in_the_way()?.is_some();
        // Nothing is lifted that may have to stay behind the end.
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
    /// Before the database is closed: makes the file shorter, if more of it is free than a database wants that is at rest. All is durable
    /// then; if this fails, closing tells of it only if the disk does.
    pub(crate) fn tidy(self: &Arc<Self>, was_open: Duration) {
        let options = CompactOptions {
            free_percent: Some(FREE_AT_REST_PERCENT),
            wait: Some(TIDYING.0),
            is_tidying: true,
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
        let Some(writer) = self.try_acquire_writer(Some(TIDYING.0))? else {
            return Ok(false);
        };
        let space = &writer.space;
        let used = space.used_count().saturating_sub(space.pending_count());
        let goal = options.goal_pages(used, self.file.page_size as u64);
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

    /// Who sees pages of older states, or may, so that they are not free where something is moved.
    fn pins_in_the_way(&self) -> Result<Option<CompactObstacle>> {
        if !self.engine.flusher.published.readers()?.is_empty() {
            return Ok(Some(CompactObstacle::Readers));
        }
        let is_named = !self.pages.writer.named.live().is_empty();
        Ok(is_named.then_some(CompactObstacle::NamedSnapshots))
    }

    /// Whether a commit that changes nothing would free pages, or bring the end of the file nearer.
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

    /// Has pages of the space map moved that are behind the boundary, if there is room before.
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
