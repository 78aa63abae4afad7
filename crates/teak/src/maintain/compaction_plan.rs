//! Plans the next moves of a compaction. Plain numbers in, a plan out.
//!
//! First, everything after the file's future end goes to any lower position that has room. A large
//! value needs contiguous pages, which may not exist although enough pages are free. Therefore, in
//! the next stage, everything after the lowest gap moves down into it. If the values after the gap
//! are longer than the gap, some of them are *lifted*: copied to the end of the file, which
//! enlarges the gap by their pages. They come down later with everything else. Each such gap begins
//! after the previous one, so the process ends.

use super::compact_options::slack;
use std::ops::Range;

/// Commits that move nothing. After them the pages moved before are free, and two records say so.
const FREEING_COMMITS: usize = 4;
/// A round that moves no more pages than this has found little.
const MOVED_PAGES_MIN: u64 = 16;
/// The most rounds through all tables to combine free pages.
const GAP_ROUNDS_MAX: u32 = 1024;

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

/// The pages that one commit moves.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum CompactionPlan {
    /// The round goes on: pages from `boundary` on go to lower positions, those of the free-space
    /// map from `map_boundary` on.
    Continue { boundary: u64, map_boundary: u64 },
    /// A round begins: pages from `boundary` on go to lower positions.
    Lower { boundary: u64 },
    /// Values that begin here are copied to the end of the file.
    Lift(Range<u64>),
    /// Nothing yet, or nothing more.
    Wait,
}

/// The result of one transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CompactionOutcome {
    /// The transaction moved this many pages. With 0 it may not have been worth a commit.
    Moved(u64),
    /// It found no room.
    NoRoom,
    /// It only lets earlier commits take effect.
    Waited,
    /// Nothing is left to do.
    Over,
}

/// The facts that a plan depends on. Numbers are in pages.
#[derive(Clone, Debug)]
pub(super) struct CompactionFacts {
    pub(super) goal: u64,
    /// Whether the file is short enough.
    pub(super) is_reached: bool,
    pub(super) used: u64,
    /// Whether the present round goes on.
    pub(super) is_emptying: bool,
    /// Whether a commit without changes would free pages or shorten the file.
    pub(super) is_empty_commit_useful: bool,
    /// The first gap that is not needed as slack.
    pub(super) first_gap: Option<u64>,
    /// Whether readers or named snapshots keep moved pages from becoming free.
    pub(super) is_pinned: bool,
    /// Whether only the tail is moved, as when a database is closed.
    pub(super) is_tail_only: bool,
    /// Whether the pages to move are limited. Then no value is lifted that may have to stay at the
    /// end of the file.
    pub(super) is_limited: bool,
    /// The most pages that are lifted at once.
    pub(super) pages_at_once: u64,
}

/// Plans the commits of a compaction.
#[derive(Debug)]
pub(super) struct CompactionPlanner {
    stage: CompactionStage,
    /// Whether a limit ended it before everything was moved.
    is_limited: bool,
    /// Number of successive commits that only wait: for pages that the previous commit may have
    /// freed, or for the truncation.
    waited: usize,
    /// The most pages that one commit moves. Reduced after a commit that found not enough room.
    most: u64,
}

impl CompactionPlanner {
    pub(super) fn new() -> Self {
        Self {
            stage: CompactionStage::Begin,
            is_limited: false,
            waited: 0,
            most: u64::MAX,
        }
    }

    /// Whether nothing has been planned yet.
    pub(super) fn is_first(&self) -> bool {
        matches!(self.stage, CompactionStage::Begin)
    }

    /// Whether nothing more is moved.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, CompactionStage::Done)
    }

    /// Whether a limit ended it before everything was moved.
    pub(super) fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Whether another commit may be made that only waits.
    pub(super) fn may_wait(&self) -> bool {
        self.waited < FREEING_COMMITS
    }

    /// Begins with the tail.
    pub(super) fn begin(&mut self) {
        assert!(self.is_first(), "a compaction begins once");
        self.stage = CompactionStage::Tail;
    }

    /// Moves nothing more.
    pub(super) fn end(&mut self) {
        self.stage = CompactionStage::Done;
    }

    /// Moves nothing more, because of a limit.
    pub(super) fn end_by_limit(&mut self) {
        self.is_limited = true;
        self.end();
    }

    /// Chooses what is moved next. A stage continues only when the pages that it moved from are
    /// free.
    pub(super) fn plan(&mut self, facts: &CompactionFacts) -> CompactionPlan {
        if facts.is_emptying {
            // The inner pages above moved pages are copied too.
            let map_boundary = facts.goal.max(facts.used + slack(facts.used));
            let boundary = match self.stage {
                CompactionStage::Tail => map_boundary,
                CompactionStage::Gaps(gaps) => gaps.boundary,
                CompactionStage::Begin | CompactionStage::Done => return CompactionPlan::Wait,
            };
            return CompactionPlan::Continue {
                boundary,
                map_boundary,
            };
        }
        if facts.is_empty_commit_useful || self.is_done() {
            return CompactionPlan::Wait;
        }
        self.next_gap(facts).unwrap_or_else(|| {
            self.end();
            CompactionPlan::Wait
        })
    }

    /// The next round of the stage that combines gaps. `None` if there is none.
    fn next_gap(&mut self, facts: &CompactionFacts) -> Option<CompactionPlan> {
        let gaps = match self.stage {
            CompactionStage::Gaps(gaps) => gaps,
            _ => Gaps {
                moved: u64::MAX,
                ..Gaps::default()
            },
        };
        let is_fruitful = gaps.moved > if gaps.has_lifted { 0 } else { MOVED_PAGES_MIN };
        // Lifted values find their positions even if there are readers meanwhile.
        let is_held = facts.is_pinned && (!is_fruitful || gaps.lifted_at == 0);
        let is_limited = facts.is_limited && !is_fruitful;
        self.is_limited |= is_limited;
        let is_over = facts.is_reached
            || facts.is_tail_only
            || gaps.rounds >= GAP_ROUNDS_MAX
            || is_held
            || is_limited;
        let boundary = facts.first_gap.filter(|_| !is_over)?;
        if !is_fruitful && boundary <= gaps.lifted_at {
            return None;
        }
        self.stage = CompactionStage::Gaps(Gaps {
            boundary,
            moved: 0,
            rounds: gaps.rounds + 1,
            has_lifted: !is_fruitful,
            lifted_at: if is_fruitful {
                gaps.lifted_at
            } else {
                boundary
            },
        });
        Some(match is_fruitful {
            true => CompactionPlan::Lower { boundary },
            false => CompactionPlan::Lift(boundary..boundary.saturating_add(facts.pages_at_once)),
        })
    }

    /// How many pages the next commit may move, if there is room for `room`.
    pub(super) fn within(&self, room: u64) -> u64 {
        room.min(self.most)
    }

    /// Notes that the commit of moved pages found no room, where there was room for `room`.
    pub(super) fn note_full(&mut self, room: u64) {
        self.most = (room / 4).max(1);
    }

    /// Notes the result of a transaction. The compaction ends when some in a row found no room.
    pub(super) fn note(&mut self, outcome: CompactionOutcome) {
        match outcome {
            CompactionOutcome::Moved(pages) => {
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
                if !self.may_wait() {
                    self.end();
                }
            }
            CompactionOutcome::Waited => self.waited += 1,
            CompactionOutcome::Over => {}
        }
    }
}

#[cfg(test)]
#[path = "compaction_plan_tests.rs"]
mod tests;
