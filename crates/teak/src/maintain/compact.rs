//! Compaction: making the file as short as possible or as requested, by a series of commits that do
//! nothing else. `compaction_plan.rs` decides what each of them moves.

use crate::{Error, Result, TransactionId, alloc::Space, btree::relocate::Relocation};
use crate::{
    instance::{engine::Engine, policies::ClosePolicy, shrink_state::ROUNDS_MAX},
    maintain::{
        compact_options::{
            CompactObstacle, CompactOptions, CompactProgress, PAGES_PER_COMMIT_MAX, slack,
        },
        compaction_plan::{CompactionFacts, CompactionOutcome, CompactionPlan, CompactionPlanner},
        dropped::release_to_compact,
        empty_tail::{policy_of, relocate},
        policy::is_untidy,
    },
    record::durability::Durability,
    write::transaction::WriteTransaction,
};
use std::{
    ops::ControlFlow,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Fewer free pages at the end are no reason to begin.
const TRAILING_MIN: u64 = 16;
/// Closing compacts for at most an eighth of the time that the database was open, within these
/// bounds.
const TIDY_TIME_LIMITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
const TIDY_TIME_DIVISOR: u32 = 8;

/// Moves pages from the end of the file to lower free positions until the goal is reached or no
/// page is left to move. Truncates the file.
pub(crate) fn compact(
    engine: &Arc<Engine>,
    options: &CompactOptions,
    progress: &mut dyn FnMut(CompactProgress) -> ControlFlow<()>,
) -> Result<CompactProgress> {
    Compaction {
        engine,
        options,
        page_size: engine.file.page_size as u64,
        done: CompactProgress {
            file_bytes: engine.file_bytes(),
            ..CompactProgress::default()
        },
        planner: CompactionPlanner::new(),
    }
    .run(progress)
}

/// A running compaction.
struct Compaction<'c> {
    engine: &'c Arc<Engine>,
    options: &'c CompactOptions,
    page_size: u64,
    done: CompactProgress,
    planner: CompactionPlanner,
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
            let outcome = self.step(txn)?;
            match outcome {
                CompactionOutcome::Over => break,
                CompactionOutcome::Moved(pages) => self.done.moved_pages += pages,
                CompactionOutcome::NoRoom | CompactionOutcome::Waited => {}
            }
            self.planner.note(outcome);
            self.done.file_bytes = self.engine.file_bytes();
            if !self.planner.is_done() {
                match progress(self.done) {
                    ControlFlow::Continue(()) => thread::sleep(self.options.pause),
                    ControlFlow::Break(()) => self.planner.end_by_limit(),
                }
            }
        }
        self.finish()
    }

    fn begin(&self) -> Result<Option<WriteTransaction>> {
        WriteTransaction::begin_within(self.engine, self.options.wait, None)
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
                self.done.obstacle = Some(match self.planner.is_limited() {
                    true => CompactObstacle::Limit,
                    false => blocking_pins(&txn)?.unwrap_or(CompactObstacle::Room),
                });
            }
            txn.abort();
        }
        self.done.file_bytes = self.engine.file_bytes();
        Ok(self.done)
    }

    fn is_reached(&self, txn: &WriteTransaction) -> Result<bool> {
        let enough = (self.options).enough_pages(living_pages(txn)?, self.page_size);
        Ok(needed_pages(&txn.pages.writer.space) <= enough)
    }

    /// One transaction.
    fn step(&mut self, mut txn: WriteTransaction) -> Result<CompactionOutcome> {
        let goal = (self.options).goal_pages(living_pages(&txn)?, self.page_size);
        self.done.is_reached = self.is_reached(&txn)?;
        let is_first = self.planner.is_first();
        if is_first {
            // Another process may have changed the length before this transaction.
            self.done.file_bytes = self.engine.file_bytes();
            if self.done.file_bytes <= goal.saturating_mul(self.page_size) {
                return Ok(CompactionOutcome::Over);
            }
            txn.pages.writer.shrink.tail.begin(ROUNDS_MAX);
            self.planner.begin();
        }
        if self.pages_left() == 0 {
            self.planner.end_by_limit();
        } else if goal > 0 && self.done.is_reached {
            self.planner.end();
        }
        txn.set_durability(Durability::Durable);
        txn.status.is_compacting = true;
        txn.pages.leave_zone();
        let is_empty_commit_useful =
            self.planner.may_wait() && is_empty_commit_useful(&txn, is_first, &self.done)?;
        let facts = self.facts(&txn, goal, is_empty_commit_useful)?;
        let plan = self.planner.plan(&facts);
        prepare_moving(&mut txn, &plan);
        // Dropped trees are released before anything is moved.
        let at_once = self.options.pages_at_once(self.page_size);
        let is_releasing = !self.planner.is_done() && release_to_compact(&mut txn, at_once)?;
        let room = self.planner.within(policy_of(&txn).room_to_move());
        let outcome = match plan {
            _ if is_releasing => CompactionOutcome::Moved(0),
            CompactionPlan::Wait if self.planner.is_done() && !is_empty_commit_useful => {
                CompactionOutcome::Over
            }
            CompactionPlan::Wait => CompactionOutcome::Waited,
            plan => self.carry_out(&mut txn, plan, room)?,
        };
        self.commit(txn, outcome, is_empty_commit_useful, room)
    }

    /// The most pages that the next commit may move.
    fn pages_left(&self) -> u64 {
        (self.options).pages_left(self.done.moved_pages, self.page_size)
    }

    /// The facts that the next plan depends on.
    fn facts(
        &self,
        txn: &WriteTransaction,
        goal: u64,
        is_empty_commit_useful: bool,
    ) -> Result<CompactionFacts> {
        let writer = &txn.pages.writer;
        let used = writer.space.used_count();
        let is_emptying = writer.shrink.tail.is_emptying();
        let is_settled = !is_emptying && !is_empty_commit_useful && !self.planner.is_done();
        let first_gap = || writer.space.first_free_page_after(slack(used));
        Ok(CompactionFacts {
            goal,
            is_reached: self.done.is_reached,
            used,
            is_emptying,
            is_empty_commit_useful,
            first_gap: is_settled.then(first_gap).flatten(),
            is_pinned: is_settled && blocking_pins(txn)?.is_some(),
            is_tail_only: self.options.is_tidying,
            is_limited: self.options.moved_bytes.is_some(),
            pages_at_once: self.options.pages_at_once(self.page_size),
        })
    }

    /// Moves what was planned, where there is room for `room` pages.
    fn carry_out(
        &self,
        txn: &mut WriteTransaction,
        plan: CompactionPlan,
        room: u64,
    ) -> Result<CompactionOutcome> {
        let work = match plan {
            CompactionPlan::Continue { boundary, .. } | CompactionPlan::Lower { boundary } => {
                Relocation {
                    boundary,
                    pages_left: self.pages_left().min(room),
                    visits_left: PAGES_PER_COMMIT_MAX,
                    value_pages_max: self.options.value_pages_max(self.page_size),
                    saved_min: 1,
                    ..Relocation::default()
                }
            }
            CompactionPlan::Lift(values) => Relocation {
                boundary: u64::MAX,
                relocated_values: values,
                pages_left: u64::MAX,
                visits_left: u64::MAX,
                saved_min: usize::MAX,
                ..Relocation::default()
            },
            CompactionPlan::Wait => return Ok(CompactionOutcome::Waited),
        };
        match work.pages_left {
            0 => Ok(CompactionOutcome::NoRoom),
            _ => compact_some(txn, work),
        }
    }

    /// Commits what a transaction has done, if that is worth a commit.
    fn commit(
        &mut self,
        txn: WriteTransaction,
        outcome: CompactionOutcome,
        is_empty_commit_useful: bool,
        room: u64,
    ) -> Result<CompactionOutcome> {
        let is_changed = !txn.pages.is_unchanged() || txn.pages.writer.space.wants_checkpoint();
        let is_wanted = match outcome {
            CompactionOutcome::Over => return Ok(outcome),
            CompactionOutcome::Moved(_) => is_changed,
            CompactionOutcome::NoRoom => is_changed || is_empty_commit_useful,
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
                self.planner.note_full(room);
                Ok(CompactionOutcome::NoRoom)
            }
            Err(error) => Err(error),
        }
    }
}

/// Before the database is closed: compacts the file if more of it is free than a closed
/// database should keep. Everything is durable then. If this fails, closing reports the error
/// only if the disk still fails.
pub(crate) fn tidy(engine: &Arc<Engine>, was_open: Duration) {
    let options = CompactOptions::for_closing(TIDY_TIME_LIMITS.0);
    // Lazy commits keep pages that become free once these commits are on the disk.
    if !closes_untidy(engine, &options).unwrap_or(false) || engine.sync().is_err() {
        return;
    }
    let end = Instant::now()
        + (was_open / TIDY_TIME_DIVISOR).clamp(TIDY_TIME_LIMITS.0, TIDY_TIME_LIMITS.1);
    let _ = compact(
        engine,
        &options,
        &mut |_| match Instant::now() < end && !is_shared(engine) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        },
    );
}

/// Whether other processes have the database open.
fn is_shared(engine: &Engine) -> bool {
    let shared = engine.committer.shared.as_ref();
    shared.is_some_and(|shared| shared.lock_file.has_others().unwrap_or(true))
}

fn closes_untidy(engine: &Engine, options: &CompactOptions) -> Result<bool> {
    let writes_nothing = engine.policies.on_close != ClosePolicy::Flush;
    if engine.policies.move_percent == 0 || writes_nothing || is_shared(engine) {
        return Ok(false);
    }
    let Some(writer) = engine.try_acquire_writer(Some(TIDY_TIME_LIMITS.0))? else {
        return Ok(false);
    };
    let space = &writer.space;
    let used = space.used_count().saturating_sub(space.pending_count());
    let goal = options.goal_pages(used, engine.file.page_size as u64);
    // Named snapshots keep their pages in place.
    let is_wanted = writer.newest.geometry.shrink_threshold_bytes == 0
        && writer.named.live().is_empty()
        && writer.is_changed;
    Ok(is_wanted && is_untidy(needed_pages(space), goal))
}

/// The pages that the file needs at present.
fn needed_pages(space: &Space) -> u64 {
    space.page_count() - space.trailing_free()
}

/// Pages that are in use, or dead but visible to a reader. Directly after many lazy commits as
/// many more pages are dead, and the free-space map releases them over time.
fn living_pages(txn: &WriteTransaction) -> Result<u64> {
    let (space, named) = (&txn.pages.writer.space, &txn.pages.writer.named);
    let readers = txn.engine.committer.published.readers()?;
    let read = readers.iter().map(|reader| TransactionId(reader.state));
    let older: Vec<_> = read.filter(|state| *state < txn.pages.base()).collect();
    let dead = match older.is_empty() && named.live().is_empty() {
        true => space.pending_count(),
        false => txn.pages.unseen_by(older.into_iter()),
    };
    Ok(space.used_count().saturating_sub(dead))
}

/// The readers or named snapshots that use pages of older states, or may use them, so that
/// moved pages do not become free.
fn blocking_pins(txn: &WriteTransaction) -> Result<Option<CompactObstacle>> {
    if !txn.engine.committer.published.readers()?.is_empty() {
        return Ok(Some(CompactObstacle::Readers));
    }
    let is_named = !txn.pages.writer.named.live().is_empty();
    Ok(is_named.then_some(CompactObstacle::NamedSnapshots))
}

/// Whether a commit without changes would free pages or shorten the file.
fn is_empty_commit_useful(
    txn: &WriteTransaction,
    is_first: bool,
    done: &CompactProgress,
) -> Result<bool> {
    let writer = &txn.pages.writer;
    let space = &writer.space;
    let lower_limit = policy_of(txn).lower_limit();
    let least = if is_first { TRAILING_MIN } else { 0 };
    let is_free = space.page_count() > lower_limit && space.trailing_free() > least;
    let is_dead = space.used_count() > living_pages(txn)?;
    Ok(is_free || writer.is_to_cut(&*txn.engine.file.storage) || is_dead && !done.is_reached)
}

/// Has pages of the free-space map after the boundary moved, if there is room before it.
fn leave_tail(txn: &mut WriteTransaction, boundary: u64) {
    let space = &mut txn.pages.writer.space;
    if space
        .first_free_page_after(0)
        .is_some_and(|free| free < boundary)
    {
        space.leave_tail(boundary);
    }
}

/// Begins the round that is planned, and has pages of the free-space map moved.
fn prepare_moving(txn: &mut WriteTransaction, plan: &CompactionPlan) {
    match plan {
        CompactionPlan::Continue { map_boundary, .. } => leave_tail(txn, *map_boundary),
        CompactionPlan::Lower { .. } => txn.pages.writer.shrink.tail.begin(1),
        CompactionPlan::Lift(values) => leave_tail(txn, values.start),
        CompactionPlan::Wait => {}
    }
}

/// Moves as much as one commit should.
fn compact_some(txn: &mut WriteTransaction, mut work: Relocation) -> Result<CompactionOutcome> {
    match relocate(txn, &mut work) {
        Ok(()) => Ok(CompactionOutcome::Moved(work.moved)),
        Err(error) if error.is_lack_of_space() => Ok(CompactionOutcome::NoRoom),
        Err(error) => Err(error),
    }
}
