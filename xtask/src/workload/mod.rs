//! A program that commits and reports its promises, to be killed or cut off from its disk, and the
//! inspection of its database.
//!
//! The content of a commit depends on three numbers: the seed, the commit's own number, and the
//! *life* that made it. A life is one run of the program. A lost number is used again by the next
//! life, with other content, so a state that mixes two lives matches no valid state.
//!
//! [`sharing`] has several programs that commit to one database at the same time.

mod account;
mod commit;
mod expected;
mod history;
mod inspect;
mod plan;
pub(crate) mod sharing;
mod victim;

#[cfg(test)]
mod tests;

pub(crate) use account::VictimAccount;
pub(crate) use expected::{CrashScope, ExpectedCommits};
pub(crate) use history::CommitHistory;
pub(crate) use inspect::inspect;
pub(crate) use plan::VictimPlan;
pub(crate) use victim::{VictimArguments, run};

use crate::names::value_name;

/// The kinds of commits of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum CommitScript {
    /// Durable and lazy commits; one thread makes all system calls, always in the same order
    Plain,
    /// Also asynchronous commits, and limits for lazy ones: the database's background thread
    /// flushes
    Flusher,
    /// Few durable commits and no limits: a power cut loses much
    Lazy,
}

impl CommitScript {
    pub(crate) fn name(self) -> String {
        value_name(self)
    }
}
