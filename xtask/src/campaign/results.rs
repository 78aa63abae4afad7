//! The counts of a run, which are printed, appended to a file and turned into an exit code.
//!
//! `--results FILE` appends one line for each run. Its fields are separated by tabs: the task, the
//! seed, the count, the violations, further counters as `name=value`, and the commit of the engine
//! as `commit=id`, followed by `+` if the sources differ from that commit. There is no date, so a
//! repeated run appends the same line.

use crate::{Failure, built};
use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    time::Instant,
};

// The arguments that all campaigns share. A doc comment would replace the help of the task.
#[derive(clap::Args)]
pub(crate) struct CampaignArguments {
    /// The seed of all random choices; the timing of processes may still differ between runs
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Append a line of results to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

impl CampaignArguments {
    /// Begins a run of the task `command`.
    pub(crate) fn begin(&self, command: &'static str) -> Campaign<'_> {
        Campaign::begin(command, self.seed, self.results.as_deref())
    }
}

/// A run of a campaign.
pub(crate) struct Campaign<'a> {
    command: &'static str,
    seed: u64,
    results: Option<&'a Path>,
    begin: Instant,
    /// The commit at the start, because that is what was built.
    commit: Option<String>,
}

/// The counts of a run.
pub(crate) struct CampaignCounts {
    pub(crate) count: u64,
    /// The counted things, in the plural.
    pub(crate) unit: &'static str,
    pub(crate) violations: u64,
    pub(crate) counters: Vec<(String, u64)>,
}

impl<'a> Campaign<'a> {
    /// Begins a run. Its line goes to the file `results`, which is created if necessary.
    pub(crate) fn begin(command: &'static str, seed: u64, results: Option<&'a Path>) -> Self {
        Self {
            command,
            seed,
            results,
            begin: Instant::now(),
            commit: commit(),
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Appends the line of results and prints the counts. Fails with the text `failure` if there
    /// are violations.
    pub(crate) fn finish(&self, counts: &CampaignCounts, failure: &str) -> Result<(), Failure> {
        self.append(counts)?;
        let CampaignCounts {
            count,
            unit,
            violations,
            ..
        } = counts;
        println!("{count} {unit}, {violations} violations");
        match violations {
            0 => Ok(()),
            _ => Err(Failure(failure.to_owned())),
        }
    }

    /// Appends the line of results.
    pub(crate) fn append(&self, counts: &CampaignCounts) -> Result<(), Failure> {
        let Some(path) = self.results else {
            return Ok(());
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{}", self.line(counts))?;
        Ok(())
    }

    fn line(&self, counts: &CampaignCounts) -> String {
        let mut fields = vec![
            self.command.to_owned(),
            format!("seed={}", self.seed),
            format!("count={}", counts.count),
            format!("violations={}", counts.violations),
        ];
        let counters = counts.counters.iter();
        fields.extend(counters.map(|(name, value)| format!("{name}={value}")));
        let commit = self.commit.as_deref().unwrap_or("unknown");
        fields.push(format!("commit={commit}"));
        fields.join("\t")
    }
}

/// Counters with their names.
pub(crate) fn named<const COUNT: usize>(counters: [(&str, u64); COUNT]) -> Vec<(String, u64)> {
    let counters = counters.into_iter();
    counters
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The commit of the sources.
fn commit() -> Option<String> {
    let id = built::output("git", &["rev-parse", "--short", "HEAD"])?;
    let status = ["status", "--porcelain", "--untracked-files=no"];
    let is_changed = !built::output("git", &status)?.is_empty();
    Some(if is_changed { id + "+" } else { id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_field_for_each_counter() {
        let run = Campaign {
            command: "crash",
            seed: 7,
            results: None,
            begin: Instant::now(),
            commit: Some("abc123".to_owned()),
        };
        let counts = CampaignCounts {
            count: 100,
            unit: "images",
            violations: 0,
            counters: vec![("kill".to_owned(), 3)],
        };
        assert_eq!(
            run.line(&counts),
            "crash\tseed=7\tcount=100\tviolations=0\tkill=3\tcommit=abc123"
        );
    }
}
