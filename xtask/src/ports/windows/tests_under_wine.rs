//! Runs tests under wine: several in one process, because a process takes a second to start, and
//! then those that did not pass again, each in a process of its own. So one that hangs stops no
//! other, and what a test that fails prints is known.

use super::wine::Wine;
use crate::{Result, built, ports::engine::SkippedTests};
use std::{
    collections::BTreeSet,
    fmt, fs,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// The directory in which cargo runs the engine's tests.
const PACKAGE: &str = "crates/teak";
/// The tests of one process, and how many of them run at a time.
const TOGETHER: usize = 40;
const THREADS: &str = "2";
/// The longest time that a process may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// The time between two looks at a test that runs.
const PAUSE: Duration = Duration::from_millis(5);
/// The end of the output of a test that did not end.
const HANGS: &str = "(hangs)";

/// Tests of a program that are no failures.
pub(super) struct KnownTests {
    /// They are not run. By their whole names, or by the beginnings of their names if these end
    /// with `::`.
    pub(super) skipped: &'static [SkippedTests],
    /// They are run, and fail.
    pub(super) failing: &'static [ExpectedFailures],
}

/// Tests that fail for one reason, by their whole names.
pub(super) struct ExpectedFailures {
    pub(super) reason: &'static str,
    /// A part of what each test prints. With another message it has failed for another reason.
    pub(super) message: &'static str,
    pub(super) names: &'static [&'static str],
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
    let wanted = names.iter().filter(is_wanted).map(String::as_str);
    let (skipped, names): (Vec<&str>, Vec<&str>) =
        wanted.partition(|name| has(known.skipped, name));
    ensure!(!names.is_empty(), "no test has one of the names");
    let batches: Vec<&[&str]> = names.chunks(TOGETHER).collect();
    let next = AtomicUsize::new(0);
    let run_lane = |wine: &mut Wine| -> Result<WineCounts> {
        let mut counts = WineCounts::default();
        while let Some(batch) = batches.get(next.fetch_add(1, Relaxed)) {
            counts.run_batch(wine, program, batch, known)?;
        }
        Ok(counts)
    };
    let run_lane = &run_lane;
    thread::scope(|scope| {
        let threads: Vec<_> = lanes
            .iter_mut()
            .map(|wine| scope.spawn(move || run_lane(wine)))
            .collect();
        let mut all = WineCounts {
            skipped: skipped.len(),
            ..WineCounts::default()
        };
        for thread in threads {
            all.add(thread.join().map_err(|_| failure!("a thread panicked"))??);
        }
        Ok(all)
    })
}

fn print(known: &KnownTests) {
    let skipped = known.skipped.iter();
    let skipped = skipped.map(|tests| ("not run", tests.reason, tests.names));
    let failing = known.failing.iter();
    let failing = failing.map(|tests| ("fail", tests.reason, tests.names));
    for (text, reason, names) in skipped.chain(failing) {
        println!("    {text}, {reason}: {}", names.join(", "));
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

/// A part of what a test prints that is expected to fail.
fn expected_message(failing: &[ExpectedFailures], name: &str) -> Option<&'static str> {
    let tests = failing.iter().find(|tests| tests.names.contains(&name))?;
    Some(tests.message)
}

/// Whether a test failed as it should, and not in another way.
fn is_expected(printed: &str, message: &str) -> bool {
    printed.contains(message) && !printed.ends_with(HANGS)
}

impl WineCounts {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.unexpected.extend(other.unexpected);
    }

    /// Runs and counts tests, first all that should pass.
    fn run_batch(
        &mut self,
        wine: &mut Wine,
        program: &Path,
        names: &[&str],
        known: &KnownTests,
    ) -> Result {
        let may_pass = |name: &&&str| expected_message(known.failing, name).is_none();
        let together: Vec<&str> = names.iter().filter(may_pass).copied().collect();
        let begin = Instant::now();
        let printed = match together.is_empty() {
            true => String::new(),
            false => output_of(wine, program, &together)?.1,
        };
        let passed = passed(&printed);
        let time = begin.elapsed().as_secs_f64();
        println!(
            "    {} of {} passed in {time:.0} s",
            passed.len(),
            names.len()
        );
        for name in names {
            match passed.contains(name) {
                true => self.passed += 1,
                false => self.run(wine, program, name, known)?,
            }
        }
        Ok(())
    }

    /// Runs and counts a test.
    fn run(&mut self, wine: &mut Wine, program: &Path, name: &str, known: &KnownTests) -> Result {
        let (is_passed, printed) = output_of(wine, program, &[name])?;
        let failure = (!is_passed).then_some(printed);
        match (failure, expected_message(known.failing, name)) {
            (None, None) => self.passed += 1,
            (None, Some(_)) => {
                println!("    PASSES, but is in the table of failures: {name}");
                self.unexpected.push(name.to_owned());
            }
            (Some(text), Some(message)) if is_expected(&text, message) => self.failed += 1,
            (Some(text), expected) => {
                println!("    FAILED: {name}\n{text}");
                if let Some(message) = expected {
                    println!("    expected was a failure with: {message}");
                }
                self.unexpected.push(name.to_owned());
            }
        }
        Ok(())
    }
}

/// The tests that passed, by what a process of several tests printed.
fn passed(printed: &str) -> BTreeSet<&str> {
    let lines = printed.lines().map(str::trim_end);
    lines
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"))
        .collect()
}

/// Runs tests. Returns whether all passed, and the output.
fn output_of(wine: &mut Wine, program: &Path, names: &[&str]) -> Result<(bool, String)> {
    // Not a pipe: services of wine that the test starts keep what they inherit.
    let printed = tempfile::NamedTempFile::new()?;
    let output = printed.reopen()?;
    let mut command = wine.command(program, &built::workspace().join(PACKAGE));
    match names {
        [_] => command.arg("--nocapture"),
        _ => command.args(["--test-threads", THREADS]),
    };
    let mut test = command
        .arg("--exact")
        .args(names)
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
        Some(status) => Ok((status.success(), format!("{}({status})", text()?))),
        None => {
            wine.restart()?;
            let _ = test.kill();
            test.wait()?;
            Ok((false, format!("{}{HANGS}", text()?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ExpectedFailures, HANGS, SkippedTests, expected_message, has, is_expected, passed,
    };

    #[test]
    fn tests_that_passed_are_found_in_the_output_of_a_process() {
        let printed = "running 3 tests\r\ntest a::one ... ok\r\ntest a::two ... FAILED\r\n\
                       test a::three ... ok\n\ntest result: FAILED. 2 passed; 1 failed\n";
        assert_eq!(passed(printed), ["a::one", "a::three"].into());
    }

    #[test]
    fn another_failure_of_a_test_in_the_table_is_not_expected() {
        let failing = &[ExpectedFailures {
            reason: "none",
            message: "code: 1224",
            names: &["limits::one"],
        }];
        let message = expected_message(failing, "limits::one").unwrap();
        assert!(is_expected(
            "Os { code: 1224 }\n(exit status: 101)",
            message
        ));
        assert!(!is_expected("Os { code: 5 }\n(exit status: 101)", message));
        assert!(!is_expected(
            &format!("Os {{ code: 1224 }}\n{HANGS}"),
            message
        ));
        assert_eq!(expected_message(failing, "limits::one_more"), None);
    }

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
