//! Results of long runs, kept in the repository: one line for each run.
//!
//! The fields of a line have tabs between them: the task, the seed, how much was looked at, the
//! violations, further counters as `name=value`, and the commit of the engine as `commit=id`, with
//! a `+` behind it if the sources differ from that commit. There is no date, so that a run that is
//! repeated says the same.

use crate::{Failure, scratch};
use std::{fs::OpenOptions, io::Write, path::Path, process::Command};

/// What a run found.
pub(crate) struct ResultLine {
    pub(crate) command: &'static str,
    pub(crate) seed: u64,
    pub(crate) count: u64,
    pub(crate) violations: u64,
    pub(crate) counters: Vec<(String, u64)>,
    /// As [`commit`] said when the run began, since that is what was built.
    pub(crate) commit: Option<String>,
}

/// Counters with their names.
pub(crate) fn named<const COUNT: usize>(counters: [(&str, u64); COUNT]) -> Vec<(String, u64)> {
    let counters = counters.into_iter();
    counters
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Appends the line to a file, if one was named, which is made if it is missing.
pub(crate) fn append(path: Option<&Path>, line: &ResultLine) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{}", text(line))?;
    Ok(())
}

fn text(line: &ResultLine) -> String {
    let mut fields = vec![
        line.command.to_owned(),
        format!("seed={}", line.seed),
        format!("count={}", line.count),
        format!("violations={}", line.violations),
    ];
    let counters = line.counters.iter();
    fields.extend(counters.map(|(name, value)| format!("{name}={value}")));
    fields.push(format!(
        "commit={}",
        line.commit.as_deref().unwrap_or("unknown")
    ));
    fields.join("\t")
}

/// The commit of the sources.
pub(crate) fn commit() -> Option<String> {
    let id = git(&["rev-parse", "--short", "HEAD"])?;
    let is_changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if is_changed { id + "+" } else { id })
}

fn git(arguments: &[&str]) -> Option<String> {
    output("git", arguments)
}

/// What a program prints in the workspace, if it succeeds.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(scratch::workspace())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_field_for_each_counter() {
        let line = ResultLine {
            command: "crash",
            seed: 7,
            count: 100,
            violations: 0,
            counters: vec![("kill".to_owned(), 3)],
            commit: Some("abc123".to_owned()),
        };
        assert_eq!(
            text(&line),
            "crash\tseed=7\tcount=100\tviolations=0\tkill=3\tcommit=abc123"
        );
    }
}
