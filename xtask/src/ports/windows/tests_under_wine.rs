//! Runs tests under wine, each in a process of its own: one that hangs stops no other.

use super::wine::Wine;
use crate::{Result, built, ports::engine::SkippedTests};
use std::{
    fmt, fs,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// The directory in which cargo runs the engine's tests.
const PACKAGE: &str = "crates/teak";
/// The longest time that a test may take.
const PATIENCE: Duration = Duration::from_secs(180);
/// The time between two looks at a test that runs.
const PAUSE: Duration = Duration::from_millis(5);
/// The end of the output of a test that did not end.
const HANGS: &str = "(hangs)";
/// Tests that take longer are printed.
const SLOW: Duration = Duration::from_secs(60);

/// Tests of a program that are no failures, by their whole names, or by the beginnings of their
/// names if these end with `::`.
pub(super) struct KnownTests {
    /// They are not run.
    pub(super) skipped: &'static [SkippedTests],
    /// They are run, and fail.
    pub(super) failing: &'static [SkippedTests],
}

/// The counts of a program.
#[derive(Default, Debug)]
pub(super) struct WineCounts {
    passed: usize,
    /// Tests that failed as expected.
    failed: usize,
    skipped: usize,
    /// Names of those that failed and should not, or the other way round.
    pub(super) unexpected: Vec<String>,
}

impl fmt::Display for WineCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, failed, skipped) = (self.passed, self.failed, self.skipped);
        write!(
            f,
            "{passed} passed, {failed} failed as expected, {skipped} not run"
        )
    }
}

/// Runs the tests of a program that have one of the filters in their names; all if there are none.
pub(super) fn run(
    lanes: &mut [Wine],
    program: &Path,
    filters: &[&str],
    known: &KnownTests,
) -> Result<WineCounts> {
    print(known);
    let names = list(&lanes[0], program)?;
    let is_wanted =
        |name: &&String| filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
    let names: Vec<&String> = names.iter().filter(is_wanted).collect();
    ensure!(!names.is_empty(), "no test has one of the names");
    let next = AtomicUsize::new(0);
    let run_lane = |wine: &mut Wine| -> Result<WineCounts> {
        let mut counts = WineCounts::default();
        while let Some(name) = names.get(next.fetch_add(1, Relaxed)) {
            counts.run(wine, program, name, known)?;
        }
        Ok(counts)
    };
    let run_lane = &run_lane;
    thread::scope(|scope| {
        let threads: Vec<_> = lanes
            .iter_mut()
            .map(|wine| scope.spawn(move || run_lane(wine)))
            .collect();
        let mut all = WineCounts::default();
        for thread in threads {
            all.add(thread.join().map_err(|_| failure!("a thread panicked"))??);
        }
        Ok(all)
    })
}

fn print(known: &KnownTests) {
    for (text, tests) in [("not run", known.skipped), ("fail", known.failing)] {
        for SkippedTests { reason, names } in tests {
            println!("    {text}, {reason}: {}", names.join(", "));
        }
    }
}

/// The names of all tests of a program.
fn list(wine: &Wine, program: &Path) -> Result<Vec<String>> {
    let mut list = wine.command(program, &built::workspace().join(PACKAGE));
    let output = list
        .args(["--list", "--format", "terse"])
        .stdin(Stdio::null())
        .output()?;
    ensure!(
        output.status.success(),
        "the tests cannot be listed ({})",
        output.status
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    let names = printed
        .lines()
        .filter_map(|line| line.trim_end().strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

/// Whether a table has a test.
fn has(tests: &[SkippedTests], name: &str) -> bool {
    let is_it = |known: &&str| match known.ends_with("::") {
        true => name.starts_with(*known),
        false => name == *known,
    };
    tests.iter().any(|tests| tests.names.iter().any(is_it))
}

impl WineCounts {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.unexpected.extend(other.unexpected);
    }

    /// Runs and counts a test.
    fn run(&mut self, wine: &mut Wine, program: &Path, name: &str, known: &KnownTests) -> Result {
        if has(known.skipped, name) {
            self.skipped += 1;
            return Ok(());
        }
        let begin = Instant::now();
        let failure = failure_of(wine, program, name)?;
        let time = begin.elapsed();
        if time > SLOW {
            println!("    {:>6.1} s  {name}", time.as_secs_f64());
        }
        match (failure, has(known.failing, name)) {
            (None, false) => self.passed += 1,
            (None, true) => {
                println!("    PASSES, but is in the table of failures: {name}");
                self.unexpected.push(name.to_owned());
            }
            (Some(text), true) if !text.ends_with(HANGS) => self.failed += 1,
            (Some(text), _) => {
                println!("    FAILED: {name}\n{text}");
                self.unexpected.push(name.to_owned());
            }
        }
        Ok(())
    }
}

/// The output of a test that failed.
fn failure_of(wine: &mut Wine, program: &Path, name: &str) -> Result<Option<String>> {
    // Not a pipe: services of wine that the test starts keep what they inherit.
    let printed = tempfile::NamedTempFile::new()?;
    let output = printed.reopen()?;
    let mut command = wine.command(program, &built::workspace().join(PACKAGE));
    let mut test = command
        .args(["--exact", "--nocapture", name])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()?;
    let begin = Instant::now();
    let status = loop {
        match test.try_wait()? {
            Some(status) => break Some(status),
            None if begin.elapsed() > PATIENCE => break None,
            None => thread::sleep(PAUSE),
        }
    };
    let text = || fs::read(printed.path()).map(|text| String::from_utf8_lossy(&text).into_owned());
    match status {
        Some(status) if status.success() => Ok(None),
        Some(status) => Ok(Some(format!("{}({status})", text()?))),
        None => {
            wine.restart()?;
            let _ = test.kill();
            test.wait()?;
            Ok(Some(format!("{}{HANGS}", text()?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SkippedTests, has};

    #[test]
    fn tests_are_known_by_whole_names_and_by_modules() {
        let tests = &[SkippedTests {
            reason: "none",
            names: &["locks::one", "faults::"],
        }];
        let names = [
            "locks::one",
            "locks::one_more",
            "faults::any",
            "io::faults::any",
        ];
        assert_eq!(
            names.map(|name| has(tests, name)),
            [true, false, true, false]
        );
    }
}
