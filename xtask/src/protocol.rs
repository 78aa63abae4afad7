//! The protocol of records, flushes, reuse of pages and recovery, as a small model of which every
//! state is looked at.
//!
//! The model has no bytes: a page is the number of its write. It has all that the promises of
//! durability hang upon: four slots, the rule by which pages are used again, flushes that run while
//! commits go on and that may fail, a journal whose entries make commits durable before their pages
//! are on the disk, kills, power cuts that leave any of what was written since the last flush, and
//! recovery, which may be interrupted by all of these.
//!
//! Its steps are the transitions of the engine, in `crates/teak/src/commit`, under the same names where
//! a step is one call:
//!
//! | step of the model | in the engine |
//! |---|---|
//! | `Commit`, `FailRecord` (`write_commit`) | `write_commit` in `write_commit.rs`, with the slot of `next_slot` |
//! | `BeginFlush` | `begin_flush` in `state.rs` |
//! | `CompleteFlush`, `CompleteEntry` (`complete_flush`) | `complete_flush` in `state.rs` |
//! | `FailFlush`, `FailEntry` (`fail_flush`) | `fail_flush` in `state.rs`, then `note_failure` in `failure.rs` |
//! | `BeginEntry` | `append` in `journal.rs` |
//! | `WriteVisibleAgain`, `EraseHidden` (`take_back`) | `write_visible_again`, `erase_hidden` (`take_back`) in `failure.rs` |
//! | `CompleteFlush` of what is journaled (`flush_journaled`) | `flush_journaled` in `close.rs` |
//! | `WriteClose`, `CompleteClose`, `FailClose` | `write_close`, `fail_close` in `close.rs` |
//! | reuse of pages (`reclaim`) | `pins` in `pins.rs` and `state/records.rs`, then `Space::reclaim` |
//!
//! Deferred commits have no steps of their own: they are written as one commit.
//!
//! The search looks for: an acknowledged commit that is lost; a visible commit that is lost without
//! a power cut; a wrong page in a state that is visible or was recovered; a commit that reappears
//! after it was rolled back; corruption that is reported where nothing has rotted. Errors can be
//! planted in the rules, to see that each of them is found.

mod actions;
mod canonical;
mod crash;
mod decision;
mod engine;
mod engine_memory;
mod journal;
mod recovery;
mod redo;
mod rules;
mod search;
mod state;
mod successors;
#[cfg(test)]
mod tests;

use crate::Failure;
use clap::value_parser;
use rules::{Planted, Rules, SearchBounds};
use search::search;
use std::time::Instant;

/// Looks at every state of a small model of commits, flushes, crashes and recovery
#[derive(clap::Args)]
pub(crate) struct ProtocolArguments {
    /// Commits in all
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u8).range(0..=8))]
    commits: u8,
    /// Kills, power cuts, flushes and entries that fail, and caches that drop what such a flush
    /// left, in all
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(0..=6))]
    mishaps: u8,
    /// Pages of the file
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u8).range(2..=8))]
    pages: u8,
    /// Readers at a time
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u8).range(0..=2))]
    readers: u8,
    /// Entries that the journal has room for; 0: there is no journal
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(0..=3))]
    entries: u8,
    /// An error to plant in the rules; the search must find it
    #[arg(long)]
    planted: Option<Planted>,
}

/// Searches, and prints the shortest path to a violation.
pub(crate) fn run(arguments: &ProtocolArguments) -> Result<(), Failure> {
    let rules = Rules {
        planted: arguments.planted,
        bounds: SearchBounds {
            pages: arguments.pages,
            commits: arguments.commits,
            mishaps: arguments.mishaps,
            readers: arguments.readers,
            entries: arguments.entries,
        },
    };
    let begin = Instant::now();
    let outcome = search(&rules);
    println!(
        "{} commits, {} mishaps, {} pages, {} readers, {} entries: up to {} steps, {} endings, {:.1} s",
        arguments.commits,
        arguments.mishaps,
        arguments.pages,
        arguments.readers,
        arguments.entries,
        outcome.depth,
        outcome.endings,
        begin.elapsed().as_secs_f64()
    );
    if let Some(found) = &outcome.violation {
        println!("violation: {}", found.violation);
        for (line, number) in found.trace.iter().zip(1..) {
            println!("{number:>4}. {line}");
        }
    }
    let violations = usize::from(outcome.violation.is_some());
    println!("{} states, {violations} violations", outcome.states);
    match outcome.violation {
        None => Ok(()),
        Some(_) => Err(Failure("the protocol breaks a promise".to_owned())),
    }
}
