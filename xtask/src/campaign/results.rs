//! The counts of a run, which are printed, appended to a file and turned into an exit code.
//!
//! `--results FILE` appends one line for each run. Its fields are separated by tabs: the task, the
//! seed, the count, the violations, further counters as `name=value`, and the commit of the engine
//! as `commit=id`, followed by `+` if the sources differ from that commit. There is no date, so a
//! repeated run appends the same line.

use crate::{Result, built};
use std::{
    fmt::Display,
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

/// Counters with their names.
pub(crate) type Counters = Vec<(String, u64)>;

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

    /// Prints the duration, and the rate of this many units.
    pub(crate) fn print_rate(&self, description: impl Display, count: u64, unit: &str) {
        let seconds = self.begin.elapsed().as_secs_f64();
        let rate = count as f64 / seconds;
        let seed = self.seed;
        println!("seed {seed}{description}: {seconds:.1} s, {rate:.1} {unit}/s");
    }

    /// Prints each counter.
    pub(crate) fn print_counters(&self, counters: &Counters) {
        for (name, count) in counters {
            println!("  {name:<16} {count:>10}");
        }
    }

    /// Appends the line of results and prints the count, in `unit`. Fails with the text `failure`
    /// if there are violations.
    pub(crate) fn finish(
        &self,
        (count, unit): (u64, &str),
        violations: u64,
        counters: &Counters,
        failure: &str,
    ) -> Result {
        self.append(count, violations, counters)?;
        println!("{count} {unit}, {violations} violations");
        ensure!(violations == 0, "{failure}");
        Ok(())
    }

    /// Appends the line of results.
    pub(crate) fn append(&self, count: u64, violations: u64, counters: &Counters) -> Result {
        let Some(path) = self.results else {
            return Ok(());
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{}", self.line(count, violations, counters))?;
        Ok(())
    }

    fn line(&self, count: u64, violations: u64, counters: &Counters) -> String {
        let (command, seed) = (self.command, self.seed);
        let mut line = format!("{command}\tseed={seed}\tcount={count}\tviolations={violations}");
        for (name, value) in counters {
            line += &format!("\t{name}={value}");
        }
        let commit = self.commit.as_deref().unwrap_or("unknown");
        line + "\tcommit=" + commit
    }
}

/// Counters with their names.
pub(crate) fn named<const COUNT: usize>(counters: [(&str, u64); COUNT]) -> Counters {
    counters
        .map(|(name, value)| (name.to_owned(), value))
        .into()
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
        assert_eq!(
            run.line(100, 0, &named([("kill", 3)])),
            "crash\tseed=7\tcount=100\tviolations=0\tkill=3\tcommit=abc123"
        );
    }
}
