//! The codes that functions return: LMDB's, which are negative, and the system's.

use crate::system;
use std::ffi::c_int;
use teak::Error;

/// The key, or the pair, exists already.
pub const KEYEXIST: c_int = -30799;
/// The record does not exist.
pub const NOTFOUND: c_int = -30798;
/// A page was not found.
pub const PAGE_NOTFOUND: c_int = -30797;
/// The bytes in the file are not the ones that were written.
pub const CORRUPTED: c_int = -30796;
/// A write or flush failed, or the library hit a bug in itself.
pub const PANIC: c_int = -30795;
/// The file needs another version.
pub const VERSION_MISMATCH: c_int = -30794;
/// The file is not a database.
pub const INVALID: c_int = -30793;
/// The size that was set is used up.
pub const MAP_FULL: c_int = -30792;
/// The maximum number of open databases is reached.
pub const DBS_FULL: c_int = -30791;
/// The maximum number of readers is reached.
pub const READERS_FULL: c_int = -30790;
/// Too many environments.
pub const TLS_FULL: c_int = -30789;
/// The transaction is too large.
pub const TXN_FULL: c_int = -30788;
/// A tree is too deep.
pub const CURSOR_FULL: c_int = -30787;
/// A page is full.
pub const PAGE_FULL: c_int = -30786;
/// The file was made longer by another process.
pub const MAP_RESIZED: c_int = -30785;
/// The operation does not suit this database.
pub const INCOMPATIBLE: c_int = -30784;
/// The thread has a read transaction already.
pub const BAD_RSLOT: c_int = -30783;
/// The transaction has failed, was reset, or has a nested transaction.
pub const BAD_TXN: c_int = -30782;
/// The length of a key, value or name is not allowed.
pub const BAD_VALSIZE: c_int = -30781;
/// The handle was closed.
pub const BAD_DBI: c_int = -30780;

/// The reason why a function failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code(pub(crate) c_int);

/// The result of functions within this crate.
pub(crate) type CallResult<T = ()> = Result<T, Code>;

impl Code {
    pub(crate) const INVALID_ARGUMENT: Self = Self(libc::EINVAL);
    pub(crate) const NOT_FOUND: Self = Self(NOTFOUND);

    /// Whether a transaction can only be aborted after this error.
    pub(crate) fn breaks_transaction(self) -> bool {
        self.0 > 0 && self.0 != libc::EINVAL && self.0 != libc::EACCES
            || matches!(self.0, CORRUPTED | PANIC | MAP_FULL | BAD_TXN)
    }
}

impl From<Error> for Code {
    fn from(error: Error) -> Self {
        Self(match error {
            Error::Io { cause, .. } => system::code_of(&cause),
            Error::Cancelled { .. } => libc::ECANCELED,
            Error::NotFound(_) | Error::NameLost { .. } => libc::ENOENT,
            Error::AlreadyExists(_) => libc::EEXIST,
            Error::NotADatabase { .. }
            | Error::NotALockFile { .. }
            | Error::WrongKey { .. }
            | Error::KeyUnavailable { .. }
            | Error::KeyNeeded(_)
            | Error::NotEncrypted(_) => INVALID,
            Error::UnknownFormat { .. } | Error::EncryptionNotBuilt(_) => VERSION_MISMATCH,
            Error::InUse(_) | Error::OptionsDiffer { .. } | Error::TransactionPrepared { .. } => {
                libc::EBUSY
            }
            Error::Corrupted { .. } | Error::Decode { .. } => CORRUPTED,
            Error::Poisoned { .. } | Error::LocksLost(_) | Error::Forked => PANIC,
            Error::NetworkFileSystem(_) => system::ON_NETWORK,
            Error::SnapshotLost | Error::TransactionBroken => BAD_TXN,
            Error::TooManyReaders(_) => READERS_FULL,
            Error::Full { .. } | Error::HeldByReader { .. } => MAP_FULL,
            Error::KeyTooLong { .. } | Error::ValueTooLong { .. } => BAD_VALSIZE,
            Error::TableNotFound(_) => NOTFOUND,
            Error::TableMismatch { .. }
            | Error::TableTypeMismatch { .. }
            | Error::ComparisonMissing { .. }
            | Error::ComparisonMismatch { .. } => INCOMPATIBLE,
            Error::NotSorted { .. } | Error::TableExists(_) => KEYEXIST,
            Error::ReadOnly => libc::EACCES,
            _ => libc::EINVAL,
        })
    }
}

#[cfg(test)]
#[path = "codes_tests.rs"]
mod tests;
