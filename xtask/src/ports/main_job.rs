//! The job of README's demonstration: the program loads sample records, shows them, and checks the
//! database.

use crate::{Result, built, commands};
use std::{fs, path::Path, process::Command};

/// The sample records, below the root of the workspace.
pub(super) const SAMPLE: &str = "examples/data/coins-702861.dump";

/// Runs the job in a directory. `teak` makes the command for the program, whose working directory
/// is that directory, and in which `root` is the name of that directory.
pub(super) fn run(directory: &Path, root: &str, teak: impl Fn() -> Command) -> Result {
    let sample = fs::read_to_string(built::workspace().join(SAMPLE))?;
    fs::write(directory.join("coins.dump"), &sample)?;
    let path = |name: &str| format!("{root}{name}");
    let (dump, database) = (path("coins.dump"), path("coins.teak"));
    let run = |words: &[&str]| commands::output(teak().args(words));
    run(&["load", &dump, &database])?;
    run(&["stat", &database])?;
    run(&["check", &database])?;
    run(&["scan", &database, "--table", "coins", "--limit", "3"])?;
    let dumped = run(&["dump", &database, "--table", "coins"])?;
    ensure!(
        records(&dumped).eq(records(&sample)),
        "the dumped records differ from the loaded ones"
    );
    fs::remove_file(directory.join("coins.teak"))?;
    Ok(())
}

/// The lines of a dump that are keys and values.
fn records(dump: &str) -> impl Iterator<Item = &str> {
    dump.lines().filter(|line| line.starts_with(' '))
}
