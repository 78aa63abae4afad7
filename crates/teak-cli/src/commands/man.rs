//! `teak man`: writes the manual pages.

use crate::failure::Failure;
use crate::outputs::TextFile;
use clap::{Args, Command};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  teak man ~/.local/share/man/man1
  teak man . && man ./teak-load.1";

/// Write the manual pages of all subcommands
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ManArguments {
    /// The directory for the pages; created if it does not exist
    #[arg(value_hint = clap::ValueHint::DirPath)]
    directory: PathBuf,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &ManArguments, command: Command) -> Result<(), Failure> {
    let directory = &arguments.directory;
    fs::create_dir_all(directory).map_err(Failure::file("creating", directory))?;
    let failed = || Failure::file("writing manual pages to", directory);
    let made = tempfile::tempdir().map_err(failed())?;
    clap_mangen::generate_to(command, made.path()).map_err(failed())?;
    for page in fs::read_dir(made.path()).map_err(failed())? {
        let page = page.map_err(failed())?;
        let text = fs::read(page.path()).map_err(failed())?;
        let mut file = TextFile::create(&directory.join(page.file_name()), None)?;
        file.write_all(&text).map_err(failed())?;
        file.finish()?;
    }
    Ok(())
}
