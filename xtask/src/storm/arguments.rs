//! The command line of a worker.

use super::misbehaviour::Misbehaviour;
use std::path::PathBuf;

/// The database, in the directory of a round.
pub(super) const DATABASE: &str = "storm.teak";

/// The maximum number of threads of a worker. One more may write for the inspection.
pub(super) const THREADS_MAX: u64 = 8;

/// Works on the database of a storm
#[derive(clap::Args)]
pub(crate) struct WorkerArguments {
    /// The directory of the round
    #[arg(long)]
    pub(super) directory: PathBuf,
    /// The number of this worker in the round
    #[arg(long)]
    pub(super) number: u64,
    #[arg(long)]
    pub(super) seed: u64,
    #[arg(long)]
    pub(super) page_size: usize,
    #[arg(long, value_enum)]
    pub(super) role: Role,
    /// Forks sometimes
    #[arg(long)]
    pub(super) fork: bool,
    /// Handles the files like other programs
    #[arg(long)]
    pub(super) meddle: bool,
    /// Does something wrong on purpose
    #[arg(long = "break")]
    pub(super) misbehaviour: Option<Misbehaviour>,
}

/// The role of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Role {
    /// Reads and writes until it is killed or asked to end
    Work,
    /// Checks everything as the only process
    Inspect,
    /// Checks everything, while another process works
    InspectDuringWork,
}
