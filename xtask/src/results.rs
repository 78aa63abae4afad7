//! Lines about campaigns that are kept: one for each run, tab separated.
//!
//! | field | what |
//! |---|---|
//! | command | the task, as `faults` |
//! | seed | what everything random followed from |
//! | count | how much was tried |
//! | violations | how much of that went wrong |
//! | commit | the engine's, or `-` outside of a repository |
//! | further | counters, as `name=value`, each in a field of its own |

use crate::scratch;
use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
    process::Command,
};

/// What a campaign came to.
pub(crate) struct Line<'a> {
    pub(crate) command: &'a str,
    pub(crate) seed: u64,
    pub(crate) count: u64,
    pub(crate) violations: u64,
    pub(crate) counters: Vec<(String, u64)>,
}

/// Appends a line to a file, which is created if it is not there.
pub(crate) fn append(path: Option<&Path>, line: &Line<'_>) -> io::Result<()> {
    let Some(path) = path else { return Ok(()) };
    let mut text = format!(
        "{}\t{}\t{}\t{}\t{}",
        line.command,
        line.seed,
        line.count,
        line.violations,
        commit()
    );
    for (name, value) in &line.counters {
        text += &format!("\t{}={value}", name.replace([' ', '\t'], "_"));
    }
    text.push('\n');
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// The commit that the workspace is at, as far as there is one.
fn commit() -> String {
    let output = Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .current_dir(scratch::workspace())
        .output();
    let text = output
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.filter(|text| !text.is_empty())
        .unwrap_or_else(|| "-".to_owned())
}
