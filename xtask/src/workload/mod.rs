//! A program that commits and says what it was promised, to be killed or cut off from its disk, and
//! what looks at what it leaves.
//!
//! The content of a commit follows from three numbers: the seed, the commit's own number, and the
//! *life* that made it. A life is one run of the program. A lost number is used again by the next
//! life, with other content, so a state that mixes two lives matches no valid state.
//!
//! [`sharing`] has several programs that commit to one database at once.

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

/// Which commits the program makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum CommitScript {
    /// Durable and lazy ones; every call to the system is made by one thread, in the same order
    /// each time
    Plain,
    /// Asynchronous ones too, and limits for lazy ones: the database's own thread flushes
    Flusher,
    /// Hardly a durable one, and no limits: what is lost in a power cut is much
    Lazy,
}

impl CommitScript {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Flusher => "flusher",
            Self::Lazy => "lazy",
        }
    }
}
