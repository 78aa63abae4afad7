//! Limits that only go down: today's counts may not increase.

use crate::Result;

/// Compares counts with their limits, and collects the deviations.
#[derive(Default)]
pub(crate) struct Ratchet {
    pub(crate) complaints: Vec<String>,
    /// Limits that can be lowered.
    pub(crate) hints: Vec<String>,
}

impl Ratchet {
    pub(crate) fn compare(&mut self, subject: &str, count: usize, limit: usize) {
        if count > limit {
            self.complaints
                .push(format!("{subject}: {count}, limit {limit}"));
        } else if count < limit {
            self.hints.push(format!(
                "{subject}: {count}; lower the limit from {limit} to {count}"
            ));
        }
    }

    /// Prints all deviations. Fails if there are complaints.
    pub(crate) fn finish(self, task: &str) -> Result {
        for line in self.hints.iter().chain(&self.complaints) {
            println!("{line}");
        }
        println!(
            "{task}: {} complaints, {} limits can be lowered",
            self.complaints.len(),
            self.hints.len()
        );
        if self.complaints.is_empty() {
            Ok(())
        } else {
            Err(failure!("{task}: there are complaints"))
        }
    }
}
