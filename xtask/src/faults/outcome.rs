//! The outcomes of calls, and which calls of the disk lead to them when they fail.

use teak::testing::Call;

/// The operations whose failure poisons the database.
pub(super) const POISONING: [&str; 4] = [
    "writing the commit record",
    "writing to the journal",
    "flushing the file",
    "flushing the write-ahead log",
];

/// After a failure of one of these calls, commits go to the trees.
pub(super) const LEADING_TO_TREES: [Call; 3] = [Call::LogCreate, Call::LogFill, Call::LogWrite];

/// Calls of merges and flushes by other threads, or after a commit in the log. Later calls report
/// their failure. A durable commit whose flush of the log fails is there all the same if a merge
/// with it was flushed meanwhile.
pub(super) const MERGING: [Call; 5] = [
    Call::Write,
    Call::WriteThrough,
    Call::Writable,
    Call::Flush,
    Call::LogFlush,
];

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
