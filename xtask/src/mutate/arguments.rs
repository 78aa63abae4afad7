//! The command line of the campaign.

use crate::{Failure, built};
use std::{fs, path::PathBuf};

/// Violations that are printed and whose files are kept. Later ones are only counted.
pub(super) const VIOLATIONS_PRINTED_MAX: u64 = 20;

/// Opens damaged and forged files, and does with them all that can be done.
#[derive(clap::Args)]
pub(crate) struct MutateArguments {
    /// How many files
    #[arg(long, default_value_t = 50_000)]
    pub(super) files: u64,
    /// The seed of all random choices
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Open the file of this index alone
    #[arg(long)]
    pub(super) index: Option<u64>,
    /// How many forged files, after the damaged ones
    #[arg(long, default_value_t = 5_000)]
    pub(super) forged: u64,
    /// Open the forged file of this index alone
    #[arg(long, conflicts_with = "index")]
    pub(super) forged_index: Option<u64>,
    /// The directory of the programs `forged-files` and `teak`; they are built if it is not given
    #[arg(long)]
    pub(super) programs: Option<PathBuf>,
    /// Where files are kept that were not survived
    #[arg(long)]
    pub(super) keep: Option<PathBuf>,
    /// Append a line of results to this file
    #[arg(long)]
    pub(super) results: Option<PathBuf>,
    #[arg(long, hide = true, requires = "child_to")]
    pub(super) child_from: Option<u64>,
    #[arg(long, hide = true)]
    pub(super) child_to: Option<u64>,
}

impl MutateArguments {
    /// The path for a file that is kept. Its directory exists afterwards.
    pub(super) fn kept_file(&self, name: &str) -> Result<PathBuf, Failure> {
        let directory = match &self.keep {
            Some(directory) => directory.clone(),
            None => built::workspace().join("target/mutated"),
        };
        fs::create_dir_all(&directory)?;
        Ok(directory.join(name))
    }
}
