//! The command line of the campaign.

use crate::{Result, built, campaign::CampaignArguments};
use std::{fs, path::PathBuf};

/// Violations that are printed with their files saved. Later ones are only counted.
pub(super) const VIOLATIONS_PRINTED_MAX: u64 = 20;

/// Opens damaged and forged files, and performs all operations on them
#[derive(clap::Args)]
pub(crate) struct MutateArguments {
    /// Number of damaged files
    #[arg(long, default_value_t = 50_000)]
    pub(super) files: u64,
    #[command(flatten)]
    pub(super) campaign: CampaignArguments,
    /// Only open the file with this index
    #[arg(long)]
    pub(super) index: Option<u64>,
    /// Number of forged files, after the damaged ones
    #[arg(long, default_value_t = 5_000)]
    pub(super) forged: u64,
    /// Only open the forged file with this index
    #[arg(long, conflicts_with = "index")]
    pub(super) forged_index: Option<u64>,
    /// Number of encrypted files with a flipped bit, after the other files
    #[arg(long, default_value_t = 0)]
    pub(super) flips: u64,
    /// Number of encrypted files that are damaged in other ways: as by disks and copies, with
    /// exchanged pages and records, or with old ones
    #[arg(long, default_value_t = 0)]
    pub(super) encrypted: u64,
    /// Only open the encrypted file with this index
    #[arg(long, conflicts_with_all = ["index", "forged_index"])]
    pub(super) encrypted_index: Option<u64>,
    /// Number of damaged directories of LevelDB, after the damaged files
    #[arg(long, default_value_t = 0)]
    pub(super) leveldb: u64,
    /// Only read the directory of LevelDB with this index
    #[arg(long, conflicts_with_all = ["index", "forged_index"])]
    pub(super) leveldb_index: Option<u64>,
    /// The library with LevelDB's interface, which converts some of the directories; built if it is
    /// not given
    #[arg(long)]
    pub(super) library: Option<PathBuf>,
    /// The directory of the programs `forged-files` and `teak`; they are built if it is not given
    #[arg(long)]
    pub(super) programs: Option<PathBuf>,
    /// The directory for files that show violations
    #[arg(long)]
    pub(super) keep: Option<PathBuf>,
    #[arg(long, hide = true, requires = "child_to")]
    pub(super) child_from: Option<u64>,
    #[arg(long, hide = true)]
    pub(super) child_to: Option<u64>,
    #[arg(long, hide = true, requires = "child_from")]
    pub(super) child_of_leveldb: bool,
    /// The directory of the encrypted databases
    #[arg(long, hide = true, requires = "child_from")]
    pub(super) child_of_encrypted: Option<PathBuf>,
}

impl MutateArguments {
    /// The path for a saved file. Creates its directory.
    pub(super) fn kept_file(&self, name: &str) -> Result<PathBuf> {
        let directory = match &self.keep {
            Some(directory) => directory.clone(),
            None => built::workspace().join("target/mutated"),
        };
        fs::create_dir_all(&directory)?;
        Ok(directory.join(name))
    }
}
