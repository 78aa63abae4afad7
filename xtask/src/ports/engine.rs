//! Runs the engine's tests, and counts them.

use crate::{Context, Result, built};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The directory in which cargo runs the engine's tests.
const PACKAGE: &str = "crates/teak";
/// The beginning of the line with the counts.
const COUNTS: &str = "test result: ";

/// Tests that are not run, by parts of their names, and the reason, which is printed.
pub(super) struct SkippedTests {
    pub(super) reason: &'static str,
    pub(super) names: &'static [&'static str],
}

/// The programs of the engine's tests, and what is run of them.
pub(super) struct EngineTests<'a> {
    /// The name of the step, for the files with the output.
    pub(super) step: &'a str,
    /// Each with its kind.
    pub(super) programs: Vec<(&'static str, PathBuf)>,
    /// A command line that runs a program, put before it.
    pub(super) runner: &'a [&'a str],
    /// Only tests with one of these in their names; all if there are none.
    pub(super) filters: &'a [&'a str],
    pub(super) skipped: &'a [SkippedTests],
}

/// The counts of a program.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct TestCounts {
    pub(super) passed: u32,
    pub(super) failed: u32,
}

impl EngineTests<'_> {
    /// Runs all programs, even after a failure. Returns counts.
    pub(super) fn run(&self) -> Result<String> {
        for SkippedTests { reason, names } in self.skipped {
            println!("not run, {reason}: {}", names.join(", "));
        }
        let directory = built::target_directory()?;
        fs::create_dir_all(directory.join("ports"))?;
        let mut texts = Vec::new();
        let mut failed = 0;
        for (name, program) in &self.programs {
            let output = format!("ports/{}-{name}-tests.txt", self.step);
            let counts = self.run_program(program, &directory.join(output))?;
            ensure!(
                counts.passed + counts.failed > 0,
                "no {name} test has one of the names"
            );
            texts.push(format!("{} {name} tests", counts.passed));
            failed += counts.failed;
        }
        let texts = texts.join(", ");
        ensure!(failed == 0, "{failed} tests failed; passed: {texts}");
        Ok(format!(
            "{texts}; {} skipped by name",
            self.skipped_names().count()
        ))
    }

    fn skipped_names(&self) -> impl Iterator<Item = &'static str> {
        let names = self.skipped.iter().map(|skipped| skipped.names.iter());
        names.flatten().copied()
    }

    /// Runs a program with its output in a file, which can be read meanwhile.
    fn run_program(&self, program: &Path, output: &Path) -> Result<TestCounts> {
        println!("output of the tests: {}", output.display());
        let mut command = match self.runner {
            [] => Command::new(program),
            [runner, words @ ..] => {
                let mut command = Command::new(runner);
                command.args(words).arg(program);
                command
            }
        };
        command.args(self.filters);
        for name in self.skipped_names() {
            command.args(["--skip", name]);
        }
        let status = command
            .current_dir(built::workspace().join(PACKAGE))
            .stdout(fs::File::create(output)?)
            .status()?;
        let printed = String::from_utf8_lossy(&fs::read(output)?).into_owned();
        if !status.success() {
            println!("{printed}");
        }
        let counts = TestCounts::of(&printed);
        let counts = counts.context(format_args!("the tests did not end ({status})"))?;
        ensure!(
            status.success() || counts.failed > 0,
            "the tests passed, and their program failed ({status})"
        );
        Ok(counts)
    }
}

impl TestCounts {
    /// The counts that a program of tests printed at its end.
    pub(super) fn of(printed: &str) -> Option<Self> {
        let line = printed.lines().find_map(|line| line.strip_prefix(COUNTS))?;
        let count = |name: &str| {
            let before = line.split(name).next()?;
            before
                .split(' ')
                .rfind(|word| !word.is_empty())?
                .parse()
                .ok()
        };
        Some(Self {
            passed: count("passed")?,
            failed: count("failed")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::TestCounts;

    #[test]
    fn counts_are_those_of_the_last_line() {
        let printed = "running 3 tests\n\ntest result: FAILED. 12 passed; 3 failed; 0 ignored\n";
        let counts = TestCounts {
            passed: 12,
            failed: 3,
        };
        assert_eq!(TestCounts::of(printed), Some(counts));
        assert_eq!(TestCounts::of("running 3 tests\n"), None);
    }
}
