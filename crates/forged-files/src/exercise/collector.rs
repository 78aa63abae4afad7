//! The findings so far, and the rules by which answers count as findings.

use fastrand::Rng;
use std::fmt;
use teak::{Error, Result};

/// The findings so far.
pub(super) struct FindingCollector<'r> {
    pub(super) rng: &'r mut Rng,
    /// A check has found nothing, so no operation may find damage.
    pub(super) is_clean: bool,
    /// An upper bound on the number of records, regardless of the file's contents.
    pub(super) records_max: usize,
    pub(super) findings: Vec<String>,
}

impl FindingCollector<'_> {
    pub(super) fn find(&mut self, text: String) {
        // One error is found many times.
        if self.findings.len() < 3 {
            self.findings.push(text);
        }
    }

    /// The result of an operation, if it succeeded.
    pub(super) fn note<T>(&mut self, description: &str, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error @ Error::Corrupted { .. }) if self.is_clean => {
                self.find(format!(
                    "the check found nothing, but {description} fails: {error}"
                ));
                None
            }
            Err(_) => None,
        }
    }

    /// Compares two results that are equal in a valid database.
    pub(super) fn agree<T: PartialEq + fmt::Debug>(&mut self, description: &str, a: &T, b: &T) {
        if self.is_clean && a != b {
            self.find(format!(
                "the check found nothing, but {description}: {a:?} and {b:?}"
            ));
        }
    }

    /// Exhausts an iterator that may be endless. Returns the number of items before an error.
    pub(super) fn exhaust<T>(
        &mut self,
        description: &str,
        items: impl Iterator<Item = Result<T>>,
    ) -> usize {
        let mut count = 0;
        for item in items {
            if self.note(description, item).is_none() {
                break;
            }
            count += 1;
            if count > self.records_max {
                self.find(format!(
                    "{description} returns more records than the file has bytes"
                ));
                break;
            }
        }
        count
    }
}
