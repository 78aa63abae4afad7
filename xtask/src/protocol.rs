//! A small model of the protocol of records, flushes, page reuse and recovery. Every state of it is
//! checked.
//!
//! The model has no bytes: a page is the number of its write. It has everything that durability
//! depends on: four slots, the rule for reusing pages, flushes that run during commits and may
//! fail, a journal whose entries make commits durable before their pages are on the disk, kills,
//! power cuts that leave any subset of the writes since the last flush, and recovery, which all of
//! these may interrupt.
//!
//! Its steps are the transitions of the engine in `crates/teak/src/commit`, with equal names if a
//! step is one call:
//!
//! | step of the model | function of the engine | file |
//! |---|---|---|
//! | `Commit`, `FailRecord` (`write_commit`) | `write_commit`, `next_slot` | `write_commit.rs` |
//! | `BeginFlush` | `begin_flush` | `state.rs` |
//! | `CompleteFlush`, `CompleteEntry` (`complete_flush`) | `complete_flush` | `state.rs` |
//! | `FailFlush`, `FailEntry` (`fail_flush`) | `fail_flush` | `state.rs` |
//! | then | `note_failure` | `failure.rs` |
//! | `BeginEntry` | `append` | `journal.rs` |
//! | `WriteVisibleAgain` (`take_back`) | `write_visible_again` | `failure.rs` |
//! | `EraseHidden` (`take_back`) | `erase_hidden` | `failure.rs` |
//! | `CompleteFlush` of journaled commits (`flush_journaled`) | `flush_journaled` | `close.rs` |
//! | `WriteClose`, `CompleteClose`, `FailClose` | `write_close`, `fail_close` | `close.rs` |
//! | reuse of pages (`reclaim`) | `pins`, then `Space::reclaim` | `pins.rs`, `state/records.rs` |
//!
//! Deferred commits have no steps of their own: they are written as one commit.
//!
//! The search looks for: a lost acknowledged commit; a visible commit that is lost without a power
//! cut; a wrong page in a visible or recovered state; a commit that reappears after it was rolled
//! back; corruption that is reported without damage to the disk. Errors can be planted in the
//! rules, to check that each of them is found.

mod actions;
mod canonical;
mod crash;
mod decision;
mod engine;
mod engine_memory;
mod journal;
mod memtable;
mod recovery;
mod redo;
mod rules;
mod search;
mod state;
mod successors;
#[cfg(test)]
mod tests;

use crate::Result;
use clap::{Subcommand, value_parser};
use rules::{Planted, Rules, SearchBounds};
use search::{report, search};

/// Checks every state of a small model of commits, flushes, crashes and recovery
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ProtocolArguments {
    #[command(subcommand)]
    other: Option<OtherModel>,
    /// Number of commits
    #[arg(long, default_value_t = 3, value_parser = value_parser!(u8).range(0..=8))]
    commits: u8,
    /// Number of kills, power cuts, failing flushes and entries, and cache drops after a failed
    /// flush
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(0..=6))]
    mishaps: u8,
    /// Number of pages of the file
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u8).range(2..=8))]
    pages: u8,
    /// Maximum number of open readers
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u8).range(0..=2))]
    readers: u8,
    /// Number of journal entries; 0 for no journal
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(0..=3))]
    entries: u8,
    /// An error to plant in the rules, which the search must find
    #[arg(long)]
    planted: Option<Planted>,
}

/// A model of another part.
#[derive(Subcommand)]
enum OtherModel {
    Memtable(memtable::MemtableProtocolArguments),
}

/// Searches, and prints the shortest path to a violation.
pub(crate) fn run(arguments: &ProtocolArguments) -> Result {
    if let Some(OtherModel::Memtable(arguments)) = &arguments.other {
        return memtable::run(arguments);
    }
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
    let title = format!(
        "{} commits, {} mishaps, {} pages, {} readers, {} entries",
        arguments.commits, arguments.mishaps, arguments.pages, arguments.readers, arguments.entries
    );
    report(&title, || search(&rules))
}
