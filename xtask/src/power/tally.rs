//! Counts of power cuts.

use super::scenario::PowerCutOutcome;
use crate::{
    Result,
    campaign::{Campaign, named},
};
use teak::Recovery;

/// The counts of the cuts so far.
#[derive(Default)]
pub(super) struct PowerTally {
    pub(super) cuts: u64,
    pub(super) violations: u64,
    /// Cuts that left no database, or one without a commit.
    early: u64,
    /// Cuts that were followed by another one without an inspection.
    unseen: u64,
    /// Cuts that left a write-ahead log.
    with_log: u64,
    verified: u64,
    rolled_back: u64,
    /// Cuts that lost commits, and the number of lost commits.
    losing: u64,
    lost_commits: u64,
    /// Cuts that lost all commits since a close, which leaves no trace.
    lost_after_close: u64,
}

impl PowerTally {
    pub(super) fn note(&mut self, outcome: PowerCutOutcome) {
        match outcome {
            PowerCutOutcome::NotInspected => self.unseen += 1,
            PowerCutOutcome::Nothing => self.early += 1,
            PowerCutOutcome::Found {
                number,
                lost_commits,
                recovery,
                has_log,
            } => {
                self.with_log += u64::from(has_log);
                self.early += u64::from(number == 0);
                self.losing += u64::from(lost_commits > 0);
                self.lost_commits += lost_commits;
                match recovery {
                    Some(Recovery::Verified { .. }) => self.verified += 1,
                    Some(Recovery::RolledBack { .. }) => self.rolled_back += 1,
                    None => {}
                    _ => self.lost_after_close += u64::from(lost_commits > 0),
                }
            }
        }
    }

    pub(super) fn finish(&self, run: &Campaign<'_>) -> Result {
        let counters = named([
            ("early", self.early),
            ("unseen", self.unseen),
            ("with_log", self.with_log),
            ("verified", self.verified),
            ("rolled_back", self.rolled_back),
            ("losing", self.losing),
            ("lost_commits", self.lost_commits),
            ("lost_after_close", self.lost_after_close),
        ]);
        run.print_counters(&counters);
        let failure = "a power cut violated a promise";
        run.finish(
            (self.cuts, "power cuts"),
            self.violations,
            &counters,
            failure,
        )
    }
}
