//! The failing tests of a client, each with the reason. A test that passes must be removed from the
//! list, so that the list only becomes shorter.

use super::outcomes::{TestOutcome, TestOutcomes};
use crate::{Failure, Result};

/// Separates the name of a test and the reason.
const SEPARATOR: &str = " | ";

/// Tests that fail, with the reasons.
#[derive(Debug)]
pub(crate) struct Exceptions<'l>(Vec<(&'l str, &'l str)>);

impl<'l> Exceptions<'l> {
    /// A list: a test in each line that does not begin with `#`, then the reason.
    pub(crate) fn parse(list: &'l str) -> Result<Self> {
        let lines = list
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let pairs = lines.map(|line| match line.split_once(SEPARATOR) {
            Some((name, reason)) if !reason.trim().is_empty() => Ok((name.trim(), reason.trim())),
            _ => Err(failure!(
                "the list of exceptions has no reason for {line:?}: write NAME{SEPARATOR}REASON"
            )),
        });
        pairs.collect::<Result<_, _>>().map(Self)
    }

    /// Refuses outcomes that do not match the list.
    pub(crate) fn compare(&self, outcomes: &TestOutcomes) -> Result {
        let mut faults = Vec::new();
        for failed in outcomes.failed() {
            if !self.0.iter().any(|(name, _)| *name == failed) {
                faults.push(format!("{failed} fails"));
            }
        }
        for (name, reason) in &self.0 {
            match outcomes.of(name) {
                Some(TestOutcome::Failed) => println!("  excepted: {name}: {reason}"),
                Some(_) => faults.push(format!("{name} no longer fails: remove it from the list")),
                None => faults.push(format!("there is no test {name}: remove it from the list")),
            }
        }
        if outcomes.count(TestOutcome::Passed) == 0 {
            faults.push("no test has passed".to_owned());
        }
        match faults.is_empty() {
            true => Ok(()),
            false => Err(Failure(faults.join("\n  "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exceptions, TestOutcome, TestOutcomes};

    #[test]
    fn the_list_names_exactly_the_failing_tests() {
        let mut outcomes = TestOutcomes::default();
        outcomes.add("a", TestOutcome::Failed);
        outcomes.add("b c", TestOutcome::Passed);
        let compare = |list: &str| {
            let exceptions = Exceptions::parse(list).unwrap();
            exceptions
                .compare(&outcomes)
                .map_err(|failure| failure.0)
                .err()
        };
        assert_eq!(compare("# why\n\na | it reads the file"), None);
        assert!(compare("").unwrap().contains("a fails"));
        assert!(
            compare("a | x\nb c | y")
                .unwrap()
                .contains("b c no longer fails")
        );
        assert!(
            compare("a | x\nd | y")
                .unwrap()
                .contains("there is no test d")
        );
    }

    #[test]
    fn every_exception_has_a_reason() {
        assert!(Exceptions::parse("a").is_err());
        assert!(Exceptions::parse("a |  ").is_err());
    }

    #[test]
    fn a_run_without_tests_is_refused() {
        let exceptions = Exceptions::parse("").unwrap();
        assert!(exceptions.compare(&TestOutcomes::default()).is_err());
    }
}
