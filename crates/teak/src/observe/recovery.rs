//! What opening a database found.

use crate::TransactionId;

/// What opening a database found and did.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Recovery {
    /// The database had been closed.
    Clean,
    /// Other processes have it open, so there was nothing to be done.
    Joined,
    /// It had not been closed, but the machine stayed up: nothing is lost.
    Killed {
        /// The newest commit.
        last: TransactionId,
    },
    /// The machine went down, or does not tell whether it did; the newest commit was verified and is
    /// whole.
    Verified {
        /// The newest commit.
        last: TransactionId,
    },
    /// The newest commit is not whole, and was not known to be on the disk. As a rule the machine
    /// went down in the middle of a commit, or before lazy commits were on the disk. It may have
    /// stayed up, too: a flush failed, and the system dropped what did not reach the disk. And what
    /// that commit wrote may have rotted since.
    ///
    /// A commit record that is there and cannot be read counts as that of the newest commit, since
    /// nobody can tell: as a rule the machine went down while it was written. If in truth it was an
    /// older one, and has rotted, nothing is lost.
    RolledBack {
        /// The newest commit that had begun to reach the disk, as far as can be told.
        from: TransactionId,
        /// The newest whole one, which counts now.
        to: TransactionId,
        /// What was missing.
        reason: String,
    },
}
