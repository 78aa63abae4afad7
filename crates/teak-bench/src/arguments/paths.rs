//! The paths of a run.

use clap::Args;
use std::path::PathBuf;

/// The paths of a run's databases and figures.
#[derive(Debug, Args)]
pub(crate) struct RunPaths {
    /// Also write the figures to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// The directory for the databases during the run, which decides the disk that is measured.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,
}
