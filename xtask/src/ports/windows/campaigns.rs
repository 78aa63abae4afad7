//! Campaigns whose programs run under wine, and are killed.

use super::{target::TARGET, wine::Wine};
use crate::{Context, Result, built, commands, ports::targets};
use std::{env, fmt, path::Path, process::Command};

/// Loads that are killed. As many kills hit a program of this system.
const KILLS: u32 = 30;
/// How long the server of wine, which has the locks of its programs, may keep those of one that was
/// killed.
const SETTLE_MS: &str = "1000";
/// The duration of the campaign with several programs.
const STORM_SECONDS: &str = "120";
/// How many times slower programs start than those of this system.
const SLOWNESS: &str = "20";

/// Runs all campaigns. Returns their counts.
pub(super) fn run(wine: &Wine, program: &Path, directory: &Path) -> Result<String> {
    let script = directory.join("teak");
    wine.write_script(program, &script)?;
    let kills = kill(&script)?;
    let mut build = targets::cargo("build", TARGET);
    commands::run(build.args(["--package", "storm-worker"]))?;
    let built = built::target_directory()?.join(TARGET).join("debug");
    let script = directory.join("storm-worker");
    wine.write_script(&built.join("storm-worker.exe"), &script)?;
    let storm = storm(&script)?;
    Ok(format!("{kills}; storm: {storm}"))
}

/// Has several programs work on one database, and kills and stops them. Returns the counts.
fn storm(script: &Path) -> Result<String> {
    let mut storm = Command::new(env::current_exe()?);
    storm.args(["storm", "--seconds", STORM_SECONDS, "--processes", "2..4"]);
    storm.args([
        "--settle-ms",
        SETTLE_MS,
        "--slowness",
        SLOWNESS,
        "--patience",
        "60",
    ]);
    let printed = commands::output(storm.arg("--worker").arg(script))?;
    println!("{printed}");
    storm_counts(&printed).context("the storm made no commits")
}

/// The counters that `cargo xtask storm` prints, and its last line. `None` without commits.
fn storm_counts(printed: &str) -> Option<String> {
    let counters = printed.lines().filter_map(|line| {
        let mut words = line.strip_prefix("  ")?.split_whitespace();
        let (name, count) = (words.next()?, words.next()?.parse::<u64>().ok()?);
        Some((name, count))
    });
    let counters: Vec<_> = counters.collect();
    let has_commits = |(name, count): &(&str, u64)| *name == "commits" && *count > 0;
    counters.iter().find(|counter| has_commits(counter))?;
    let texts = counters
        .iter()
        .map(|(name, count)| format!("{count} {name}"));
    let last = printed.trim_end().lines().last()?;
    Some(
        texts
            .chain([last.to_owned()])
            .collect::<Vec<_>>()
            .join(", "),
    )
}

/// The loads that were killed, or had ended before.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct KilledLoads {
    all: u64,
    interrupted: u64,
}

impl fmt::Display for KilledLoads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { all, interrupted } = self;
        write!(f, "{interrupted} of {all} loads were interrupted by a kill")
    }
}

impl KilledLoads {
    /// The counts that `cargo xtask kill` prints.
    fn of(printed: &str) -> Option<Self> {
        let counts = |line: &str| {
            let (loads, rest) = line.split_once(" loads, ")?;
            let (interrupted, _) = rest.split_once(" of them interrupted")?;
            Some(Self {
                all: loads.rsplit(' ').next()?.parse().ok()?,
                interrupted: interrupted.parse().ok()?,
            })
        };
        printed.lines().find_map(counts)
    }
}

/// Kills loads at random times. This program inspects the databases.
fn kill(script: &Path) -> Result<KilledLoads> {
    let mut kill = Command::new(env::current_exe()?);
    kill.args(["kill", "--random-only", "--settle-ms", SETTLE_MS])
        .args(["--count", &(2 * KILLS).to_string()]);
    let printed = commands::output(kill.arg("--program").arg(script))?;
    println!("{printed}");
    let kills = KilledLoads::of(&printed).context("the kills were not counted")?;
    ensure!(
        kills.interrupted > 0,
        "no load was interrupted: {kills}; the machine is too slow or too fast"
    );
    Ok(kills)
}

#[cfg(test)]
mod tests {
    use super::{KilledLoads, storm_counts};

    #[test]
    fn a_storm_without_commits_shows_nothing() {
        let printed = |commits: u64| {
            format!(
                "seed 1: 9.0 s, 2.0 kills/s\n  rounds 3\n  commits {commits}\n18 kills, 0 violations\n"
            )
        };
        let text = "3 rounds, 7 commits, 18 kills, 0 violations";
        assert_eq!(storm_counts(&printed(7)).as_deref(), Some(text));
        assert_eq!(storm_counts(&printed(0)), None);
        assert_eq!(storm_counts(""), None);
    }

    #[test]
    fn killed_loads_are_counted_as_printed() {
        let printed = "loading 9 records by 1 takes 2.0 ms\nseed 1: 30 loads, 29 of them interrupted, \
                       2 of them before the first record, 7 continued from where they were\n";
        let counts = KilledLoads {
            all: 30,
            interrupted: 29,
        };
        assert_eq!(KilledLoads::of(printed), Some(counts));
        assert_eq!(
            KilledLoads::of("0 at system calls, 60 at random times"),
            None
        );
    }
}
