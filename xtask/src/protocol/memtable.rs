//! A small model of the memtable and its write-ahead log. Every state of it is checked.
//!
//! It has small commits that are entries of a log with two halves, merges of these into the trees,
//! flushes of both, kills, power cuts, failed flushes, other processes, closing, and recovery. The
//! trees are a list of records here: that recovery finds one no older than the last durable one is
//! the subject of the other model.
//!
//! Its steps are those of the engine:
//!
//! | step of the model | function of the engine | file, in `crates/teak/src` |
//! |---|---|---|
//! | `AddCommit` | `add_to_memtable` | `write/small_commit.rs` |
//! | `CommitToTrees` | `commit_whole` | `write/small.rs` |
//! | `BeginReader` | `MemtableState::target` | `instance/memtable.rs` |
//! | `BeginLogFlush`, `CompleteLogFlush` | `flush_log_now`, `LogFlush::wait` | `instance/log_flush.rs` |
//! | `FailLogFlush` | `fail_flush`, `Wal::cut`, `fail_log` | `instance/memtable/log.rs` |
//! | `BeginMerge` | `begin_merge`, `Wal::turn_over` | `instance/memtable.rs` |
//! | `WritePart`, `CompleteMerge` | `end_part`, `end_merge` | `write/merge.rs` |
//! | `FailMerge` | `undo_merge` | `instance/memtable.rs` |
//! | `Open` | `LeftWal::read` | `instance/wal.rs` |
//! | `MergeLeft`, `FlushLeft`, `RemoveLeft` | `merge_left`, `settle_left` | `write/merge.rs` |
//!
//! The search looks for: a commit that counts as durable and is lost by a power cut; a commit that
//! was acknowledged or seen, and is lost without one; an entry that recovery applies to a state of
//! which it is not the next, so twice, from an earlier use of a half, or without its predecessors;
//! a commit that is there again after an opened database did not have it; a failed commit that is
//! there.

mod actions;
mod canonical;
mod crash;
mod engine;
mod log;
mod merge;
mod promises;
mod recovery;
mod rules;
mod state;
#[cfg(test)]
mod tests;

use super::search::{Model, ModelSteps, report, search};
use crate::Result;
use actions::{LogAction, LogViolation, line};
use clap::value_parser;
use rules::{LogBounds, LogRules, LogWriting, PlantedInLog};
use state::{LogModel, LogPhase, ROOM_MAX};

/// Checks every state of a small model of the memtable and its log
#[derive(clap::Args)]
pub(crate) struct MemtableProtocolArguments {
    /// Number of commits
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u8).range(0..=7))]
    commits: u8,
    /// Number of kills, power cuts, and failed flushes
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(0..=4))]
    mishaps: u8,
    /// Number of closings, processes that attach, leave or die, and merges that fail
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u8).range(0..=4))]
    events: u8,
    /// Number of readers that merges stop for
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u8).range(0..=2))]
    readers: u8,
    /// Number of entries that a half of the log has room for
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(1..=ROOM_MAX as i64))]
    room: u8,
    /// How durable commits get into the log [default: both, or the one in which a planted error
    /// matters]
    #[arg(long)]
    writing: Option<LogWriting>,
    /// An error to plant in the rules, which the search must find
    #[arg(long)]
    planted: Option<PlantedInLog>,
}

/// Searches, and prints the shortest path to a violation.
pub(super) fn run(arguments: &MemtableProtocolArguments) -> Result {
    let chosen = (arguments.planted).map(PlantedInLog::writing);
    let writings = match arguments.writing.or(chosen) {
        Some(writing) => vec![writing],
        None => vec![LogWriting::Cached, LogWriting::Direct],
    };
    for writing in writings {
        let bounds = LogBounds {
            commits: arguments.commits,
            mishaps: arguments.mishaps,
            events: arguments.events,
            readers: arguments.readers,
            room: arguments.room,
            writing,
        };
        let rules = LogRules {
            planted: arguments.planted,
            bounds,
        };
        let title = format!(
            "{} commits, {} mishaps, {} events, {} readers, room for {} in a half, {writing:?}",
            bounds.commits, bounds.mishaps, bounds.events, bounds.readers, bounds.room
        );
        report(&title, || search(&rules))?;
    }
    Ok(())
}

impl Model for LogRules {
    type State = LogModel;
    type Action = LogAction;
    type Violation = LogViolation;

    fn first(&self) -> LogModel {
        LogModel::first(&self.bounds)
    }

    fn canonical(&self, state: LogModel) -> LogModel {
        canonical::canonical(state, self)
    }

    fn simplified(&self, state: LogModel) -> LogModel {
        canonical::canonical(state, self)
    }

    fn successors(&self, state: &LogModel) -> ModelSteps<Self> {
        let mut next = ModelSteps::default();
        let steps = &mut next.steps;
        match &state.phase {
            LogPhase::Down => steps.push((LogAction::Open, recovery::open(state, self))),
            LogPhase::Left {
                state: end,
                is_written,
            } => recovery::left(state, (*end, *is_written), self, steps),
            LogPhase::Running(engine) => engine::running(state, engine, self, steps),
        }
        crash::mishaps(state, self, &mut next);
        next
    }

    /// After the last mishap only what recovery finds is checked.
    fn ends_well(&self, state: &LogModel) -> bool {
        if state.mishaps_left > 0 {
            return false;
        }
        match &state.phase {
            LogPhase::Down => recovery::found(state, self).is_ok(),
            LogPhase::Left { .. } => true,
            LogPhase::Running(engine) => !engine.is_poisoned,
        }
    }

    fn line(&self, action: LogAction, _: &LogModel, next: &LogModel) -> String {
        line(action, next)
    }
}
