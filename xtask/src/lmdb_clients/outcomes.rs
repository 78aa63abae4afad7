//! How the tests of a client ended.

use std::{collections::BTreeMap, fmt};

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Passed,
    Skipped,
    Failed,
}

/// How tests ended, by their names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Outcomes(BTreeMap<String, Outcome>);

impl Outcomes {
    pub(super) fn add(&mut self, name: &str, outcome: Outcome) {
        let before = self.0.insert(name.to_owned(), outcome);
        // Two of one name have failed if one has.
        if before == Some(Outcome::Failed) {
            self.0.insert(name.to_owned(), Outcome::Failed);
        }
    }

    /// Takes those of `others`, with a word before each name.
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

    pub(super) fn of(&self, name: &str) -> Option<Outcome> {
        self.0.get(name).copied()
    }

    pub(super) fn failed(&self) -> impl Iterator<Item = &str> {
        let failed = self.0.iter().filter(|(_, is)| **is == Outcome::Failed);
        failed.map(|(name, _)| name.as_str())
    }

    pub(super) fn count(&self, outcome: Outcome) -> usize {
        self.0.values().filter(|is| **is == outcome).count()
    }

    /// What a line of Rust's test programs tells.
    pub(super) fn add_line_of_cargo(&mut self, line: &str) {
        let Some((name, end)) = line
            .strip_prefix("test ")
            .and_then(|told| told.rsplit_once(" ... "))
        else {
            return;
        };
        let name = name.trim_end_matches(" - should panic");
        match end.split([' ', ',']).next() {
            Some("ok") => self.add(name, Outcome::Passed),
            Some("FAILED") => self.add(name, Outcome::Failed),
            Some("ignored") => self.add(name, Outcome::Skipped),
            _ => {}
        }
    }

    /// What a line of pytest tells. Returns the name of a test that has begun, and of which the line tells no end.
    pub(super) fn add_line_of_pytest<'l>(&mut self, line: &'l str) -> Option<&'l str> {
        let (name, end) = line.split_once(' ')?;
        if !name.contains(".py::") {
            return None;
        }
        match end.split([' ', '(']).next() {
            Some("PASSED" | "XFAIL") => self.add(name, Outcome::Passed),
            Some("SKIPPED") => self.add(name, Outcome::Skipped),
            Some("FAILED" | "ERROR" | "XPASS") => self.add(name, Outcome::Failed),
            _ => return Some(name),
        }
        None
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [passed, skipped, failed] =
            [Outcome::Passed, Outcome::Skipped, Outcome::Failed].map(|outcome| self.count(outcome));
        write!(f, "{passed} passed, {skipped} skipped, {failed} failed")
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Outcomes};

    #[test]
    fn what_cargo_prints_is_understood() {
        let mut outcomes = Outcomes::default();
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
        assert_eq!(outcomes.of("b"), Some(Outcome::Failed));
        assert_eq!(
            outcomes.of("src/lib.rs - Env (line 3) - compile"),
            Some(Outcome::Passed)
        );
    }

    #[test]
    fn what_pytest_prints_is_understood() {
        let mut outcomes = Outcomes::default();
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
    fn a_name_that_two_have_fails_if_one_fails() {
        let mut outcomes = Outcomes::default();
        outcomes.add("a", Outcome::Failed);
        outcomes.add("a", Outcome::Passed);
        let mut all = Outcomes::default();
        all.take_over("x", &outcomes);
        assert_eq!(all.failed().collect::<Vec<_>>(), ["x a"]);
    }
}
