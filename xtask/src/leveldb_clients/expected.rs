//! The outcomes on LevelDB without which a comparison says little.

use crate::{
    Result,
    clients::outcomes::{TestOutcome, TestOutcomes},
};

/// The outcomes that a client's tests must have on LevelDB.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedTests {
    /// How many pass, at least.
    pub(super) passed: usize,
    /// Those that need not pass.
    pub(super) may_fail: &'static [&'static str],
}

impl ExpectedTests {
    /// Refuses unexpected outcomes on LevelDB.
    pub(super) fn compare(&self, original: &TestOutcomes) -> Result {
        let unexpected = |name: &&str| !self.may_fail.contains(name);
        let failed: Vec<_> = original.failed().filter(unexpected).collect();
        ensure!(failed.is_empty(), "fails on LevelDB: {}", failed.join(", "));
        let passed = original.count(TestOutcome::Passed);
        ensure!(
            passed >= self.passed,
            "{passed} tests pass on LevelDB; there should be at least {}",
            self.passed
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ExpectedTests, TestOutcome, TestOutcomes};

    #[test]
    fn failing_or_missing_tests_on_leveldb_are_refused() {
        let mut original = TestOutcomes::default();
        original.add("fails", TestOutcome::Failed);
        original.add("passes", TestOutcome::Passed);
        original.add("skipped", TestOutcome::Skipped);
        let compare = |passed, may_fail| {
            let expected = ExpectedTests { passed, may_fail };
            expected.compare(&original).map_err(|failure| failure.0)
        };
        assert_eq!(compare(1, &["fails", "passes"]), Ok(()));
        assert!(compare(1, &[]).unwrap_err().contains("fails on LevelDB"));
        let few = compare(2, &["fails"]).unwrap_err();
        assert!(few.contains("at least 2"), "{few}");
    }
}
