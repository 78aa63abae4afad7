//! Results of the tests of a client.

use std::{collections::BTreeMap, fmt};

/// The result of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TestOutcome {
    Passed,
    Skipped,
    Failed,
}

/// Results of tests by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct TestOutcomes(BTreeMap<String, TestOutcome>);

impl TestOutcomes {
    pub(super) fn add(&mut self, name: &str, outcome: TestOutcome) {
        let before = self.0.insert(name.to_owned(), outcome);
        // Two tests of one name count as failed if one of them failed.
        if before == Some(TestOutcome::Failed) {
            self.0.insert(name.to_owned(), TestOutcome::Failed);
        }
    }

    /// Adds the outcomes of `others`, with a prefix before each name.
    pub(super) fn take_over(&mut self, word: &str, others: &Self) {
        for (name, outcome) in &others.0 {
            self.add(&format!("{word} {name}"), *outcome);
        }
    }

    pub(super) fn take_over_all(&mut self, others: &Self) {
        for (name, outcome) in &others.0 {
            self.add(name, *outcome);
        }
    }

    pub(super) fn of(&self, name: &str) -> Option<TestOutcome> {
        self.0.get(name).copied()
    }

    pub(super) fn failed(&self) -> impl Iterator<Item = &str> {
        let failed = self.0.iter().filter(|(_, is)| **is == TestOutcome::Failed);
        failed.map(|(name, _)| name.as_str())
    }

    pub(super) fn count(&self, outcome: TestOutcome) -> usize {
        self.0.values().filter(|is| **is == outcome).count()
    }

    /// Parses a line of Rust's test programs.
    pub(super) fn add_line_of_cargo(&mut self, line: &str) {
        let Some((name, end)) = line
            .strip_prefix("test ")
            .and_then(|message| message.rsplit_once(" ... "))
        else {
            return;
        };
        let name = name.trim_end_matches(" - should panic");
        match end.split([' ', ',']).next() {
            Some("ok") => self.add(name, TestOutcome::Passed),
            Some("FAILED") => self.add(name, TestOutcome::Failed),
            Some("ignored") => self.add(name, TestOutcome::Skipped),
            _ => {}
        }
    }

    /// Parses a line of pytest. Returns the name of a test that has begun, if the line does not
    /// report its end.
    pub(super) fn add_line_of_pytest<'l>(&mut self, line: &'l str) -> Option<&'l str> {
        let (name, end) = line.split_once(' ')?;
        if !name.contains(".py::") {
            return None;
        }
        match end.split([' ', '(']).next() {
            Some("PASSED" | "XFAIL") => self.add(name, TestOutcome::Passed),
            Some("SKIPPED") => self.add(name, TestOutcome::Skipped),
            Some("FAILED" | "ERROR" | "XPASS") => self.add(name, TestOutcome::Failed),
            _ => return Some(name),
        }
        None
    }
}

impl fmt::Display for TestOutcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [passed, skipped, failed] = [
            TestOutcome::Passed,
            TestOutcome::Skipped,
            TestOutcome::Failed,
        ]
        .map(|outcome| self.count(outcome));
        write!(f, "{passed} passed, {skipped} skipped, {failed} failed")
    }
}

#[cfg(test)]
mod tests {
    use super::{TestOutcome, TestOutcomes};

    #[test]
    fn output_of_cargo_is_read() {
        let mut outcomes = TestOutcomes::default();
        for line in [
            "running 4 tests",
            "test cursor::test::a ... ok",
            "test b - should panic ... FAILED",
            "test c ... ignored, not here",
            "test src/lib.rs - Env (line 3) - compile ... ok",
            "test result: FAILED. 2 passed; 1 failed",
        ] {
            outcomes.add_line_of_cargo(line);
        }
        assert_eq!(outcomes.to_string(), "2 passed, 1 skipped, 1 failed");
        assert_eq!(outcomes.of("b"), Some(TestOutcome::Failed));
        assert_eq!(
            outcomes.of("src/lib.rs - Env (line 3) - compile"),
            Some(TestOutcome::Passed)
        );
    }

    #[test]
    fn output_of_pytest_is_read() {
        let mut outcomes = TestOutcomes::default();
        let begun = [
            "tests/a_test.py::A::one PASSED                 [ 50%]",
            "tests/a_test.py::A::two SKIPPED (not here)     [ 75%]",
            "tests/a_test.py::A::three Fatal Python error: Segmentation fault",
            "FAILED tests/a_test.py::A::four - told again",
        ]
        .map(|line| outcomes.add_line_of_pytest(line));
        assert_eq!(begun, [None, None, Some("tests/a_test.py::A::three"), None]);
        assert_eq!(outcomes.to_string(), "1 passed, 1 skipped, 0 failed");
    }

    #[test]
    fn a_shared_name_fails_if_one_test_fails() {
        let mut outcomes = TestOutcomes::default();
        outcomes.add("a", TestOutcome::Failed);
        outcomes.add("a", TestOutcome::Passed);
        let mut all = TestOutcomes::default();
        all.take_over("x", &outcomes);
        assert_eq!(all.failed().collect::<Vec<_>>(), ["x a"]);
    }
}
