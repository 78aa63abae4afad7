//! The result of recovery.

use crate::TransactionId;

/// The findings of opening a database, and the repairs it made.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Recovery {
    /// The database had been closed.
    Clean,
    /// Other processes have it open, so no recovery was needed.
    Joined,
    /// It had not been closed, or was closed [without a flush](crate::Options::flush_on_close), but
    /// the machine stayed up: nothing is lost.
    Killed {
        /// The newest commit.
        last: TransactionId,
    },
    /// The machine went down, or its boot is unknown. The newest commit was verified and is
    /// complete.
    Verified {
        /// The newest commit.
        last: TransactionId,
    },
    /// The newest commit is incomplete, and was not known to be on the disk. Usually the machine
    /// went down during a commit, or before lazy commits were on the disk. The machine may also
    /// have stayed up: a flush failed, and the system dropped pages that had not reached the disk.
    /// The pages of that commit may also have been damaged since.
    ///
    /// An unreadable commit record counts as the record of the newest commit, because that cannot
    /// be determined. Usually the machine went down while it was written. If it was in fact an
    /// older record that was damaged later, nothing is lost.
    RolledBack {
        /// The newest commit that had begun to reach the disk, as far as is known.
        from: TransactionId,
        /// The newest complete commit, which counts now.
        to: TransactionId,
        /// Description of what was missing.
        reason: String,
    },
}
