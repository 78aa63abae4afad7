//! The error type of the engine. Each text says what happened and what to do about it.

mod display;
mod key_range;
mod limit;
mod remedy;

pub use key_range::KeyRange;

pub use remedy::remedy;

use crate::types::{PageNumber, TableTypes, TransactionId};
use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The result of the functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the engine.
///
/// The text ([`Display`](std::fmt::Display)) says what happened, to which file, table, key or page,
/// and what to do next. It contains the error of the operating system, so
/// [`source`](std::error::Error::source) is always `None`, and a chain of errors repeats nothing.
/// Clones share that error. `docs/errors.md` lists all errors, with exit codes and codes of the C
/// interface.
///
/// ```
/// use teak::{Create, Error, Options};
/// # let directory = tempfile::tempdir()?;
/// let missing = directory.path().join("missing/coins.teak");
/// let error = Options::new().create(Create::New).open(&missing).unwrap_err();
/// let Error::Io { path, cause, .. } = error.clone() else { panic!("{error}") };
/// assert_eq!((path, cause.kind()), (Some(missing), std::io::ErrorKind::NotFound));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file.
    Io {
        /// The operation that failed.
        operation: &'static str,
        /// The file, or the database it belongs to.
        path: Option<PathBuf>,
        /// The error of the system, unchanged: `ENOSPC` stays `ENOSPC`.
        cause: Arc<io::Error>,
    },
    /// The file does not exist, and was not to be created.
    NotFound(PathBuf),
    /// A database was to be created where a file exists.
    AlreadyExists(PathBuf),
    /// The file is not a Teak database.
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// A description of the content that was found.
        reason: String,
    },
    /// The file uses features of a newer version of Teak.
    UnknownFormat {
        /// The file, or the database it belongs to.
        path: Option<PathBuf>,
        /// The unknown feature.
        detail: String,
    },
    /// The database is open elsewhere and cannot be shared: it was opened exclusively, by another
    /// version of Teak, or with a lock file that was removed; or this process has closed it and
    /// still reads.
    InUse(PathBuf),
    /// A file that is not a lock file has the name of the database's lock file.
    NotALockFile {
        /// The file.
        path: PathBuf,
        /// A description of the content that was found.
        reason: String,
    },
    /// The content of the file is not what was written.
    Corrupted {
        /// The damaged page.
        page: PageNumber,
        /// Description of the damage.
        detail: String,
        /// The operation that found it.
        detected_by: &'static str,
        /// The table that was read or changed.
        table: Option<String>,
        /// The keys of the table that are on this page, or below it if it is an inner page.
        keys: Option<Box<KeyRange>>,
    },
    /// A write or flush failed earlier. Nothing can be written until the database is reopened.
    Poisoned {
        /// The file of the database.
        path: Option<PathBuf>,
    },
    /// The system has released the locks by which other processes know that this one lives, and
    /// another process has taken its slot. Nothing was written since. Code in this process has
    /// unlocked or closed files that it did not open.
    LocksLost(PathBuf),
    /// The file was removed, renamed or replaced while it was open, so nobody would find the
    /// commit. See [`Options::require_name`](crate::Options::require_name).
    NameLost {
        /// The name that the file had.
        path: PathBuf,
        /// The present name of the file; `None` if it has none.
        moved_to: Option<PathBuf>,
    },
    /// The file is on a network file system, where processes of several machines cannot share it.
    NetworkFileSystem(PathBuf),
    /// The database is encrypted, and the key that was given does not open it.
    WrongKey {
        /// The file of the database.
        path: Option<PathBuf>,
        /// Why it does not.
        reason: &'static str,
    },
    /// The key of an encrypted database could not be read or fetched.
    KeyUnavailable {
        /// The source of the key, and what happened.
        reason: String,
    },
    /// The database is encrypted, and no key was given.
    KeyNeeded(PathBuf),
    /// The database is encrypted, and this program was built without the feature `encryption`.
    EncryptionNotBuilt(PathBuf),
    /// A key was given for a database that is not encrypted.
    NotEncrypted(PathBuf),
    /// This process has the database open with other options that matter.
    OptionsDiffer {
        /// The name of the option in [`Options`](crate::Options).
        option: &'static str,
    },
    /// This process was forked from the one that opened the database.
    Forked,
    /// The read transaction was cancelled, or lost its state while it was parked, because a writer
    /// wanted the space.
    SnapshotLost,
    /// A write transaction was to begin at the state of a reader, but there is a newer commit,
    /// whether readers see it yet or not.
    SnapshotStale {
        /// The state that the reader sees.
        held: TransactionId,
        /// The newest commit.
        newest: TransactionId,
    },
    /// No named snapshot has this name.
    SnapshotNotFound(String),
    /// A named snapshot has this name already.
    SnapshotExists(String),
    /// A transaction is prepared, and nothing else can be written until it is committed or rolled
    /// back.
    TransactionPrepared {
        /// The name of the prepared transaction.
        name: String,
    },
    /// No prepared transaction has this name.
    PreparedNotFound(String),
    /// A write transaction wanted space that is kept only for a reader of an old state, and the
    /// application decided not to grow the file.
    HeldByReader {
        /// The id of the reader's process, if it is known here.
        process: Option<u32>,
        /// The system's id of the reader's thread.
        thread: u64,
        /// The state that it reads.
        transaction: TransactionId,
        /// Number of commits that have become visible since.
        lag: u64,
        /// Number of bytes that would be free without it.
        kept_bytes: u64,
    },
    /// There is no slot for another reader.
    TooManyReaders(usize),
    /// The size limit of the database is reached.
    Full {
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// A key is longer than the longest that the page size allows.
    KeyTooLong {
        /// Length of the key in bytes.
        len: usize,
        /// The greatest possible length in bytes.
        max: usize,
    },
    /// The sequence of a table has too few numbers left.
    SequenceExhausted {
        /// The table.
        table: String,
        /// The next number.
        next: u64,
        /// How many were wanted.
        count: u64,
    },
    /// A value of a multi-value table is longer than the longest that the page size allows.
    ValueTooLong {
        /// Length of the value in bytes.
        len: usize,
        /// The greatest possible length in bytes.
        max: usize,
    },
    /// No table has this name.
    TableNotFound(String),
    /// A table has this name already.
    TableExists(String),
    /// The table is of another kind, or was created with other options than those given.
    TableMismatch {
        /// The table.
        name: String,
        /// The kind or options that the table has.
        stored: String,
        /// The kind or options that it was opened or created with.
        asked: String,
    },
    /// The table was created with codecs of other names than those it is opened with.
    TableTypeMismatch {
        /// The table.
        name: String,
        /// The names that are recorded with the table.
        stored: Box<TableTypes>,
        /// The names of the codecs that it was opened or created with.
        asked: Box<TableTypes>,
    },
    /// The comparison of a table was not registered when the database was opened.
    ComparisonMissing {
        /// The table.
        table: String,
        /// The name of the comparison.
        comparison: String,
    },
    /// The keys of a table are not in the order of its comparison.
    ComparisonMismatch {
        /// The table.
        table: String,
        /// The name of the comparison.
        comparison: String,
    },
    /// The codec cannot decode a key or value.
    Decode {
        /// The name of the codec.
        expected: Cow<'static, str>,
        /// A description of the bytes that were found.
        detail: String,
    },
    /// The codec has no encoding for a key or value that was given.
    Encode {
        /// The name of the codec.
        expected: Cow<'static, str>,
        /// The reason.
        detail: String,
    },
    /// The input of a bulk load is not sorted.
    NotSorted {
        /// The index of the record, counted from 0.
        index: u64,
    },
    /// The database was opened read-only.
    ReadOnly,
    /// The progress callback ended the operation. Nothing of its result is kept.
    Cancelled {
        /// The operation that ended.
        operation: &'static str,
        /// The file that was being written or checked, if it is known.
        path: Option<PathBuf>,
    },
    /// The transaction met an error in the middle of a change, and can only be rolled back.
    TransactionBroken,
    /// An option or argument is invalid.
    InvalidArgument(String),
}

impl Error {
    pub(crate) fn io(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io {
            operation,
            path: None,
            cause: Arc::new(cause),
        }
    }

    pub(crate) fn unknown_format(detail: impl Into<String>) -> Self {
        Self::UnknownFormat {
            path: None,
            detail: detail.into(),
        }
    }

    pub(crate) fn cancelled(operation: &'static str) -> Self {
        Self::Cancelled {
            operation,
            path: None,
        }
    }

    pub(crate) fn poisoned() -> Self {
        Self::Poisoned { path: None }
    }

    /// Adds the path of the file or database to an error that can have one, unless it has one
    /// already.
    pub(crate) fn at(self, file: &Path) -> Self {
        match self {
            Self::UnknownFormat { path: None, detail } => Self::UnknownFormat {
                path: Some(file.to_path_buf()),
                detail,
            },
            Self::Poisoned { path: None } => Self::Poisoned {
                path: Some(file.to_path_buf()),
            },
            Self::WrongKey { path: None, reason } => Self::WrongKey {
                path: Some(file.to_path_buf()),
                reason,
            },
            Self::Io {
                operation,
                path: None,
                cause,
            } => Self::Io {
                operation,
                path: Some(file.to_path_buf()),
                cause,
            },
            Self::Cancelled {
                operation,
                path: None,
            } => Self::Cancelled {
                operation,
                path: Some(file.to_path_buf()),
            },
            other => other,
        }
    }

    pub(crate) fn corrupted(
        page: PageNumber,
        detected_by: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self::Corrupted {
            page,
            detail: detail.into(),
            detected_by,
            table: None,
            keys: None,
        }
    }

    /// Returns an error of a codec a second time.
    pub(crate) fn of_encoding(&self) -> Self {
        match self {
            Self::Encode { expected, detail } => Self::Encode {
                expected: expected.clone(),
                detail: detail.clone(),
            },
            other => Self::InvalidArgument(other.to_string()),
        }
    }

    /// Whether there is no space: none that is left, that is free, or that the system gives.
    pub(crate) fn is_lack_of_space(&self) -> bool {
        match self {
            Self::Full { .. } | Self::HeldByReader { .. } => true,
            Self::Io { cause, .. } => is_full(cause),
            _ => false,
        }
    }
}

/// Whether an error says that there are no blocks left.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// A path as text, with escapes for control and hidden characters.
pub(crate) fn shown(path: &Path) -> String {
    let quoted = format!("{path:?}");
    let shown = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    shown.unwrap_or(&quoted).to_owned()
}

fn in_brackets(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| format!(" ({})", shown(path)))
}

fn database(path: Option<&Path>) -> String {
    path.map_or_else(|| "this database".to_owned(), shown)
}

fn after(remedy: Option<&str>) -> String {
    remedy.map_or_else(String::new, |remedy| format!("; {remedy}"))
}

fn reader_process(process: Option<u32>) -> String {
    process.map_or_else(
        || "an unknown process (another PID namespace)".to_owned(),
        |process| format!("process {process}"),
    )
}

/// How a file lost its name.
pub(crate) fn loss_text(path: &Path, moved_to: Option<&Path>) -> String {
    let path = shown(path);
    match moved_to {
        Some(now) => format!("the database was moved from {path} to {}", shown(now)),
        None => format!("the database at {path} was removed or replaced while it was open"),
    }
}

/// Where in a table damage is, as far as that is known.
fn location(table: Option<&str>, keys: Option<&KeyRange>) -> String {
    match (table, keys) {
        (Some(table), Some(keys)) => format!(" in table {table:?}, {keys}"),
        (Some(table), None) => format!(" in table {table:?}"),
        (None, _) => String::new(),
    }
}

#[cfg(any(test, feature = "testing"))]
pub(crate) mod samples;

#[cfg(test)]
#[path = "error/document_tests.rs"]
mod document_tests;

/// The error of a call that otherwise returns a record. If the call wrote an error where the record
/// is returned, the record would be in memory, and not in registers. A type of its own would be
/// found when the compiler infers the error type of an application's closure.
pub(crate) type BoxedError = Box<Error>;

/// Like `Box::from`, but not inlined into the loops over records.
#[cold]
#[inline(never)]
pub(crate) fn boxed(error: Error) -> BoxedError {
    error.into()
}
