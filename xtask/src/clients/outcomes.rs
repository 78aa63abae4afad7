//! Results of the tests of a client.

use std::{collections::BTreeMap, fmt};

/// The result of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TestOutcome {
    Passed,
    Skipped,
    Failed,
}

/// Results of tests by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TestOutcomes(BTreeMap<String, TestOutcome>);

impl TestOutcomes {
    pub(crate) fn add(&mut self, name: &str, outcome: TestOutcome) {
        let before = self.0.insert(name.to_owned(), outcome);
        // Two tests of one name count as failed if one of them failed.
        if before == Some(TestOutcome::Failed) {
            self.0.insert(name.to_owned(), TestOutcome::Failed);
        }
    }

    /// Adds the outcomes of `others`, with a prefix before each name.
    pub(crate) fn take_over(&mut self, word: &str, others: &Self) {
        for (name, outcome) in &others.0 {
            self.add(&format!("{word} {name}"), *outcome);
        }
    }

    pub(crate) fn take_over_all(&mut self, others: &Self) {
        for (name, outcome) in &others.0 {
            self.add(name, *outcome);
        }
    }

    pub(crate) fn of(&self, name: &str) -> Option<TestOutcome> {
        self.0.get(name).copied()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn failed(&self) -> impl Iterator<Item = &str> {
        let failed = self.0.iter().filter(|(_, is)| **is == TestOutcome::Failed);
        failed.map(|(name, _)| name.as_str())
    }

    pub(crate) fn count(&self, outcome: TestOutcome) -> usize {
        self.0.values().filter(|is| **is == outcome).count()
    }

    /// Parses a line of Rust's test programs.
    pub(crate) fn add_line_of_cargo(&mut self, line: &str) {
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

    /// Parses a line of `go test -v`.
    pub(crate) fn add_line_of_go(&mut self, line: &str) {
        let Some((outcome, test)) = line
            .trim_start()
            .strip_prefix("--- ")
            .and_then(|end| end.split_once(": "))
        else {
            return;
        };
        let name = test.split(' ').next().unwrap_or_default();
        match outcome {
            "PASS" => self.add(name, TestOutcome::Passed),
            "FAIL" => self.add(name, TestOutcome::Failed),
            "SKIP" => self.add(name, TestOutcome::Skipped),
            _ => {}
        }
    }

    /// Parses a line of TAP, the format of JavaScript's tests, in the test `part`. Assertions of
    /// one name in a part are numbered.
    pub(crate) fn add_line_of_tap(
        &mut self,
        part: &str,
        line: &str,
        numbered: &mut BTreeMap<String, u32>,
    ) {
        let (outcome, test) = match (line.strip_prefix("ok "), line.strip_prefix("not ok ")) {
            (Some(test), _) if test.contains("# SKIP") => (TestOutcome::Skipped, test),
            (Some(test), _) => (TestOutcome::Passed, test),
            (_, Some(test)) => (TestOutcome::Failed, test),
            _ => return,
        };
        let (_, name) = test.split_once(' ').unwrap_or(("", test));
        let name = format!("{part}: {name}");
        let count = numbered.entry(name.clone()).or_default();
        *count += 1;
        self.add(&format!("{name} ({count})"), outcome);
    }

    /// Parses a line of pytest. Returns the name of a test that has begun, if the line does not
    /// report its end.
    pub(crate) fn add_line_of_pytest<'l>(&mut self, line: &'l str) -> Option<&'l str> {
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
    use std::collections::BTreeMap;

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
    fn output_of_go_is_read() {
        let mut outcomes = TestOutcomes::default();
        for line in [
            "=== RUN   TestA",
            "--- PASS: TestA (0.00s)",
            "    --- FAIL: TestA/part (0.00s)",
            "--- SKIP: TestB (0.00s)",
            "PASS",
        ] {
            outcomes.add_line_of_go(line);
        }
        assert_eq!(outcomes.to_string(), "1 passed, 1 skipped, 1 failed");
        assert_eq!(outcomes.of("TestA/part"), Some(TestOutcome::Failed));
    }

    #[test]
    fn output_of_tap_is_read() {
        let mut outcomes = TestOutcomes::default();
        let mut numbered = BTreeMap::new();
        for line in [
            "# put",
            "ok 1 no error",
            "ok 2 no error",
            "not ok 3 equal",
            "1..3",
        ] {
            outcomes.add_line_of_tap("put", line, &mut numbered);
        }
        assert_eq!(outcomes.to_string(), "2 passed, 0 skipped, 1 failed");
        assert_eq!(outcomes.failed().collect::<Vec<_>>(), ["put: equal (1)"]);
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
