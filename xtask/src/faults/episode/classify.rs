//! Whether the result of a call is right for the failures of the disk meanwhile.

use super::FaultEpisode;
use crate::Result;
use teak::{Error, testing::Call};

/// The operations whose failure poisons the database.
pub(super) const POISONING: [&str; 4] = [
    "writing the commit record",
    "writing to the journal",
    "flushing the file",
    "flushing the write-ahead log",
];

/// After a failure of one of these calls, commits go to the trees.
const LEADING_TO_TREES: [Call; 3] = [Call::LogCreate, Call::LogFill, Call::LogWrite];

/// Calls of merges and flushes by other threads, or after a commit in the log. Later calls report
/// their failure.
const MERGING: [Call; 4] = [Call::Write, Call::WriteThrough, Call::Writable, Call::Flush];

/// A correct result of a call of the engine.
pub(super) enum CallOutcome<T> {
    Done(T),
    /// Correctly refused.
    Refused(Refusal),
}

pub(super) enum Refusal {
    /// Failed with the error of the disk, in this operation, after these failed calls.
    Disk(&'static str, Vec<Call>),
    Other,
}

impl FaultEpisode<'_> {
    /// Classifies the result of opening or closing, which may remove the log. Nobody needs it then,
    /// and it may stay.
    pub(super) fn classify_end<T>(&mut self, result: teak::Result<T>) -> Result<CallOutcome<T>> {
        match self.script.has_log {
            true => {
                let harmless = [Call::SetLen, Call::Punch, Call::Allocate, Call::Mapping];
                self.classify_failures(&[&harmless[..], &[Call::LogFlush]].concat(), result)
            }
            false => self.classify(result),
        }
    }

    /// Classifies the result of a call that does not grow the file, unless it merges small commits.
    pub(super) fn classify<T>(&mut self, result: teak::Result<T>) -> Result<CallOutcome<T>> {
        match self.script.has_log {
            true => self.classify_begin(result),
            false => self.classify_failures(&[], result),
        }
    }

    /// Classifies the result of a call that may grow the file or fill its holes. The engine tries
    /// several modes for that.
    pub(super) fn classify_growing<T>(
        &mut self,
        result: teak::Result<T>,
    ) -> Result<CallOutcome<T>> {
        self.classify_failures(&[Call::SetLen, Call::Allocate, Call::Mapping], result)
    }

    /// Like [`Self::classify`], for calls that truncate the file or punch holes. A failure changes
    /// nothing. If tables were dropped, such a call releases some of their pages first.
    pub(super) fn classify_begin<T>(&mut self, result: teak::Result<T>) -> Result<CallOutcome<T>> {
        let cutting = [Call::SetLen, Call::Punch];
        let growing = [Call::Allocate, Call::Mapping];
        match (self.releases(), self.script.has_log) {
            (true, _) => {
                self.classify_failures(&[&cutting, &growing, self.may_wait()].concat(), result)
            }
            (false, true) => self.classify_failures(&[cutting, growing].concat(), result),
            (false, false) => self.classify_failures(&cutting, result),
        }
    }

    /// Classifies the result of a commit, which may grow the file and release parts of dropped
    /// tables.
    pub(super) fn classify_commit<T>(&mut self, result: teak::Result<T>) -> Result<CallOutcome<T>> {
        let growing = [Call::SetLen, Call::Allocate, Call::Mapping];
        match self.releases() {
            true => self.classify_failures(&[&growing, self.may_wait()].concat(), result),
            false => self.classify_failures(&growing, result),
        }
    }

    /// Whether parts of dropped tables may remain.
    fn releases(&self) -> bool {
        self.has_dropped && self.script.releases_in_parts()
    }

    /// The calls that may fail during that release, which then waits until the disk has space.
    fn may_wait(&self) -> &'static [Call] {
        match [libc::ENOSPC, libc::EDQUOT].contains(&self.errno) {
            true => &[Call::Write, Call::Writable],
            false => &[],
        }
    }

    pub(super) fn classify_failures<T>(
        &mut self,
        harmless: &[Call],
        result: teak::Result<T>,
    ) -> Result<CallOutcome<T>> {
        let failures = self.disk.failed_calls(self.failures_known);
        self.failures_known += failures.len();
        let is_of_merge = |call: &Call| MERGING.contains(call);
        self.has_failed_merge |= self.script.has_log && failures.iter().any(is_of_merge);
        match result {
            Ok(value) => {
                if self.is_poisoned && !failures.is_empty() {
                    bail!("something was written although the database is poisoned");
                }
                let mut harmless = [harmless, &LEADING_TO_TREES].concat();
                if self.script.has_log {
                    harmless.extend(MERGING);
                }
                if failures.iter().any(|call| !harmless.contains(call)) {
                    bail!("an error was swallowed, of {failures:?}");
                }
                if !failures.is_empty() {
                    self.site.get_or_insert("growing, in another mode");
                }
                Ok(CallOutcome::Done(value))
            }
            Err(Error::Io {
                operation, cause, ..
            }) => {
                if failures.is_empty() {
                    bail!("an error without a cause: {operation}: {cause}");
                }
                if cause.raw_os_error() != Some(self.errno) {
                    bail!("not the error of the disk: {cause}");
                }
                self.site.get_or_insert(operation);
                if POISONING.contains(&operation) {
                    self.is_poisoned = true;
                }
                Ok(CallOutcome::Refused(Refusal::Disk(operation, failures)))
            }
            Err(Error::Poisoned { .. }) if self.is_poisoned && failures.is_empty() => {
                Ok(CallOutcome::Refused(Refusal::Other))
            }
            Err(Error::Poisoned { .. }) if self.has_failed_merge => {
                self.is_poisoned = true;
                Ok(CallOutcome::Refused(Refusal::Other))
            }
            Err(Error::Full { .. }) if self.script.size_limit_bytes.is_some() => {
                Ok(CallOutcome::Refused(Refusal::Other))
            }
            Err(error) => Err(failure!("the wrong error: {error} ({failures:?})")),
        }
    }
}
