//! Lines of counters, one for each run, so that runs can be added up.

use crate::{Failure, scratch};
use std::{fs::OpenOptions, io::Write, path::Path, process::Command};

/// Appends a line: command, seed, count, violations, further counters by name, and the commit that the
/// engine's sources are at, with tabs between them.
pub(crate) fn append(
    file: &Path,
    command: &str,
    seed: u64,
    count: u64,
    violations: u64,
    counters: &[(&str, u64)],
) -> Result<(), Failure> {
    let mut words = vec![command.to_owned()];
    words.extend([seed, count, violations].map(|number| number.to_string()));
    words.extend(
        counters
            .iter()
            .map(|(name, value)| format!("{name}={value}")),
    );
    words.push(revision());
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    Ok(writeln!(file, "{}", words.join("\t"))?)
}

/// The commit of the sources; with a mark if the engine's have been changed since.
fn revision() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(scratch::workspace())
            .output();
        output
            .ok()
            .filter(|output| output.status.success())
            .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else {
        return "unknown".to_owned();
    };
    match git(&["status", "--porcelain", "--", "crates/teak/src"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit}+changes"),
    }
}
