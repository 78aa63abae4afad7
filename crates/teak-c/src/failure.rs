//! The reason for the failure of a function.

use crate::teak_code;
use std::{io, path::Path};
use teak::Error;

/// An error that is to be reported to C.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: teak_code,
    pub(crate) message: String,
    pub(crate) system_code: i32,
    pub(crate) page: u64,
    pub(crate) reader: (u32, u64),
    pub(crate) number: u64,
}

impl Failure {
    #[cold]
    fn new(code: teak_code, message: String) -> Self {
        Self {
            code,
            message,
            system_code: 0,
            page: u64::MAX,
            reader: (0, 0),
            number: 0,
        }
    }

    #[cold]
    pub(crate) fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(teak_code::TEAK_INVALID_ARGUMENT, message.into())
    }

    #[cold]
    pub(crate) fn too_new(description: &str) -> Self {
        let text = format!(
            "{description} sets fields that this library does not know; upgrade the library, or leave them zero"
        );
        Self::new(teak_code::TEAK_TOO_NEW, text)
    }

    #[cold]
    pub(crate) fn invalid_handle(noun: &str, handle: u64) -> Self {
        let text = match handle {
            0 => format!("this {noun} handle is empty; open or begin the {noun} first"),
            _ => format!(
                "there is no {noun} of handle {handle:#x}; it was closed, has ended, or never existed"
            ),
        };
        Self::new(teak_code::TEAK_INVALID_HANDLE, text)
    }

    #[cold]
    pub(crate) fn in_use(noun: &str) -> Self {
        let text = format!(
            "this {noun} is in use by another call, of another thread or from a callback; wait until that call has returned"
        );
        Self::busy(text)
    }

    #[cold]
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self::new(teak_code::TEAK_BUSY, message.into())
    }

    #[cold]
    pub(crate) fn too_many(noun: &str) -> Self {
        let text = format!("there are no handles left for another {noun}; close some");
        Self::new(teak_code::TEAK_OTHER, text)
    }

    #[cold]
    pub(crate) fn wrong_database(noun: &str) -> Self {
        let text = format!(
            "this {noun} belongs to another database, or to an earlier opening of this one; open it with this handle"
        );
        Self::new(teak_code::TEAK_WRONG_DATABASE, text)
    }

    #[cold]
    pub(crate) fn wrong_transaction(message: &str) -> Self {
        Self::new(teak_code::TEAK_WRONG_TRANSACTION, message.to_owned())
    }

    #[cold]
    pub(crate) fn wrong_table(message: &str) -> Self {
        Self::new(teak_code::TEAK_TABLE_MISMATCH, message.to_owned())
    }

    /// A file that cannot be opened.
    #[cold]
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        let remedy = teak::remedy(error).unwrap_or("check who may read it");
        let text = format!("{path:?} cannot be opened ({error}); {remedy}");
        Self {
            system_code: error.raw_os_error().unwrap_or(0),
            ..Self::new(teak_code::TEAK_IO, text)
        }
    }

    /// The first damage that a check found.
    #[cold]
    pub(crate) fn damaged(damage: &teak::Damage) -> Self {
        let page = damage.page.map(|page| page.0.into());
        let subject = page.map_or("the database".to_owned(), |page: u64| {
            format!("page {page}")
        });
        let text = format!(
            "{subject} is damaged ({}), found by the check; restore a backup, or save the readable part with `teak salvage`",
            damage.detail
        );
        Self {
            page: page.unwrap_or(u64::MAX),
            ..Self::new(teak_code::TEAK_CORRUPTED, text)
        }
    }

    /// The failure for a panic.
    #[cold]
    pub(crate) fn panicked(payload: &(dyn std::any::Any + Send)) -> Self {
        let text = match (
            payload.downcast_ref::<&str>(),
            payload.downcast_ref::<String>(),
        ) {
            (Some(text), _) => text,
            (None, Some(text)) => text.as_str(),
            (None, None) => "no details are known",
        };
        let text = format!("internal error of the library ({text}); please report it");
        Self::new(teak_code::TEAK_PANIC, text)
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        use teak_code as C;
        let mut failure = Self::new(C::TEAK_OTHER, error.to_string());
        failure.code = match error {
            Error::Io { cause, .. } => {
                failure.system_code = cause.raw_os_error().unwrap_or(0);
                C::TEAK_IO
            }
            Error::Cancelled { .. } => C::TEAK_CANCELLED,
            Error::NotFound(_) | Error::NameLost { .. } => C::TEAK_FILE_NOT_FOUND,
            Error::AlreadyExists(_) => C::TEAK_FILE_EXISTS,
            Error::NotADatabase { .. } | Error::NotALockFile { .. } => C::TEAK_NOT_A_DATABASE,
            Error::UnknownFormat { .. } | Error::EncryptionNotBuilt(_) => C::TEAK_UNKNOWN_FORMAT,
            Error::WrongKey { .. } => C::TEAK_WRONG_KEY,
            Error::KeyUnavailable { .. } => C::TEAK_KEY_UNAVAILABLE,
            Error::KeyNeeded(_) => C::TEAK_KEY_NEEDED,
            Error::NotEncrypted(_) => C::TEAK_NOT_ENCRYPTED,
            Error::InUse(_) => C::TEAK_IN_USE,
            Error::Corrupted { page, .. } => {
                failure.page = page.0.into();
                C::TEAK_CORRUPTED
            }
            Error::Poisoned { .. } | Error::LocksLost(_) => C::TEAK_POISONED,
            Error::NetworkFileSystem(_) => C::TEAK_NETWORK_FILE_SYSTEM,
            Error::OptionsDiffer { .. } => C::TEAK_OPTIONS_DIFFER,
            Error::Forked => C::TEAK_FORKED,
            Error::SnapshotLost => C::TEAK_SNAPSHOT_LOST,
            Error::SnapshotStale { newest, .. } => {
                failure.number = newest.0;
                C::TEAK_SNAPSHOT_STALE
            }
            Error::SnapshotNotFound(_) => C::TEAK_SNAPSHOT_NOT_FOUND,
            Error::SnapshotExists(_) => C::TEAK_SNAPSHOT_EXISTS,
            Error::TransactionPrepared { .. } => C::TEAK_TRANSACTION_PREPARED,
            Error::PreparedNotFound(_) => C::TEAK_PREPARED_NOT_FOUND,
            Error::HeldByReader {
                process,
                thread,
                transaction,
                ..
            } => {
                failure.reader = (process.unwrap_or(0), thread);
                failure.number = transaction.0;
                C::TEAK_HELD_BY_READER
            }
            Error::TooManyReaders(_) => C::TEAK_TOO_MANY_READERS,
            Error::Full { .. } => C::TEAK_FULL,
            Error::KeyTooLong { .. } => C::TEAK_KEY_TOO_LONG,
            Error::ValueTooLong { .. } => C::TEAK_VALUE_TOO_LONG,
            Error::SequenceExhausted { .. } => C::TEAK_SEQUENCE_EXHAUSTED,
            Error::TableNotFound(_) => C::TEAK_TABLE_NOT_FOUND,
            Error::TableExists(_) => C::TEAK_TABLE_EXISTS,
            Error::TableMismatch { .. } | Error::TableTypeMismatch { .. } => C::TEAK_TABLE_MISMATCH,
            Error::ComparisonMissing { .. } => C::TEAK_COMPARISON_MISSING,
            Error::ComparisonMismatch { .. } => C::TEAK_COMPARISON_MISMATCH,
            Error::Decode { .. } => C::TEAK_DECODE,
            Error::NotSorted { index } => {
                failure.number = index;
                C::TEAK_NOT_SORTED
            }
            Error::ReadOnly => C::TEAK_READ_ONLY,
            Error::TransactionBroken => C::TEAK_TRANSACTION_BROKEN,
            Error::InvalidArgument(_) | Error::Encode { .. } => C::TEAK_INVALID_ARGUMENT,
            _ => C::TEAK_OTHER,
        };
        failure
    }
}
