//! The paths of a run.

use clap::Args;
use std::path::PathBuf;

/// Where a run has its databases, and where its figures go.
#[derive(Debug, Args)]
pub(crate) struct RunPaths {
    /// Also write the figures to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Where to put the databases while the run lasts; decides which disk is measured.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,
}
