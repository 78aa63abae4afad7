//! The error type of the engine. Each text says what happened and what to do about it.

mod key_range;
mod limit;
mod remedy;

pub use key_range::KeyRange;

pub use remedy::remedy;
pub(crate) use remedy::unwrapped;

use limit::limit;

use crate::types::{PageNumber, TransactionId};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The result of the functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the engine.
///
/// The text ([`Display`](std::fmt::Display)) says what happened, to which file, table, key or page,
/// and what to do next. It contains the error of the operating system, so
/// [`source`](std::error::Error::source) is always `None`. `docs/errors.md` lists all errors, with
/// exit codes and codes of the C interface.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("{operation}{} failed: {cause}{}{}", in_brackets(path.as_deref()), after(remedy(cause)), limit(operation, cause))]
    Io {
        /// The operation that failed.
        operation: &'static str,
        /// The file, or the database it belongs to.
        path: Option<PathBuf>,
        /// The error of the system, unchanged: `ENOSPC` stays `ENOSPC`.
        cause: io::Error,
    },
    /// The file does not exist, and was not to be created.
    #[error("there is no database at {}; create it, or correct the path", shown(.0))]
    NotFound(PathBuf),
    /// A database was to be created where a file exists.
    #[error("{} already exists; open it, or remove it first", shown(.0))]
    AlreadyExists(PathBuf),
    /// The file is not a Teak database.
    #[error("{} is not a Teak database ({reason}); nothing was changed", shown(.path))]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// A description of the content that was found.
        reason: String,
    },
    /// The file uses features of a newer version of Teak.
    #[error("{} needs a newer version of Teak ({detail}); upgrade to open it", database(path.as_deref()))]
    UnknownFormat {
        /// The file, or the database it belongs to.
        path: Option<PathBuf>,
        /// The unknown feature.
        detail: String,
    },
    /// The database is open elsewhere and cannot be shared: it was opened exclusively, by another
    /// version of Teak, or with a lock file that was removed; or this process has closed it and
    /// still reads.
    #[error(
        "{} is in use by another process or handle, or by a child of a process that has ended; close or end it first", shown(.0)
    )]
    InUse(PathBuf),
    /// A file that is not a lock file has the name of the database's lock file.
    #[error(
        "{} has the name of the database's lock file, but is not a lock file ({reason}); nothing was changed; move it away, or use another lock file (`Options::lock_file`, `teak --lock-file`)", shown(.path)
    )]
    NotALockFile {
        /// The file.
        path: PathBuf,
        /// A description of the content that was found.
        reason: String,
    },
    /// The content of the file is not what was written.
    #[error(
        "page {page} is damaged ({detail}), found by {detected_by}{}; run `teak check` to list all damage, then restore a backup, or save the readable part with `teak salvage`",
        location(table.as_deref(), keys.as_deref())
    )]
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
    #[error(
        "an earlier write or flush of {} failed, so its state on disk is uncertain; close the database and reopen it, which verifies it",
        database(path.as_deref())
    )]
    Poisoned {
        /// The file of the database.
        path: Option<PathBuf>,
    },
    /// The system has released the locks by which other processes know that this one lives, and
    /// another process has taken its slot. Nothing was written since. Code in this process has
    /// unlocked or closed files that it did not open.
    #[error(
        "this process lost its locks on {}, so other processes took it for dead; nothing was written since; find the code that \
         unlocks or closes files that it did not open, then close the database and reopen it", shown(.0)
    )]
    LocksLost(PathBuf),
    /// The file was removed, renamed or replaced while it was open, so nobody would find the
    /// commit. See [`Options::require_name`](crate::Options::require_name).
    #[error(
        "{}; the transaction was not committed; put the file back, or close the database and open the right one",
        loss_text(.path, .moved_to.as_deref())
    )]
    NameLost {
        /// The name that the file had.
        path: PathBuf,
        /// The present name of the file; `None` if it has none.
        moved_to: Option<PathBuf>,
    },
    /// The file is on a network file system, where processes of several machines cannot share it.
    #[error(
        "{} is on a network file system; move it to a local one, or set `Options::allow_network` if only one machine uses it", shown(.0)
    )]
    NetworkFileSystem(PathBuf),
    /// This process has the database open with other options that matter.
    #[error(
        "this process has the database open with another `{option}`; use the same value, or that handle or a clone of it"
    )]
    OptionsDiffer {
        /// The name of the option in [`Options`](crate::Options).
        option: &'static str,
    },
    /// This process was forked from the one that opened the database.
    #[error(
        "this process was forked from the one that opened the database, and cannot use its handles and transactions; open the database in this process"
    )]
    Forked,
    /// The read transaction was cancelled, or lost its state while it was parked, because a writer
    /// wanted the space.
    #[error(
        "this read transaction has lost its state: it was cancelled, or was parked while a writer wanted the space; drop it and begin a new one"
    )]
    SnapshotLost,
    /// A write transaction was to begin at the state of a reader, but there is a newer commit,
    /// whether readers see it yet or not.
    #[error(
        "the reader sees the state of transaction {held}, but transaction {newest} is newer; begin at the newest state, or refresh the reader and decide again"
    )]
    SnapshotStale {
        /// The state that the reader sees.
        held: TransactionId,
        /// The newest commit.
        newest: TransactionId,
    },
    /// No named snapshot has this name.
    #[error(
        "there is no snapshot {0:?}; `Database::snapshots` and `teak snapshot list` list the snapshots"
    )]
    SnapshotNotFound(String),
    /// A named snapshot has this name already.
    #[error("snapshot {0:?} already exists; drop it first, or choose another name")]
    SnapshotExists(String),
    /// A write transaction wanted space that is kept only for a reader of an old state, and the
    /// application decided not to grow the file.
    #[error(
        "all reusable space is held by a reader ({kept_bytes} bytes, {lag} commits behind, {}, thread {thread}); end that reader, or let the file grow",
        reader_process(*process)
    )]
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
    #[error("{0} read transactions are open, which is the maximum; end some of them")]
    TooManyReaders(usize),
    /// The size limit of the database is reached.
    #[error(
        "the database has reached its size limit of {limit_bytes} bytes; raise the limit, or delete records and commit"
    )]
    Full {
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// A key is longer than the longest that the page size allows.
    #[error("a key of {len} bytes is too long; keys of this database have at most {max} bytes")]
    KeyTooLong {
        /// Length of the key in bytes.
        len: usize,
        /// The greatest possible length in bytes.
        max: usize,
    },
    /// The sequence of a table has too few numbers left.
    #[error(
        "the sequence of table {table:?} is at {next} and has fewer than {count} numbers left; draw fewer, or keep the numbers in records"
    )]
    SequenceExhausted {
        /// The table.
        table: String,
        /// The next number.
        next: u64,
        /// How many were wanted.
        count: u64,
    },
    /// A value of a multi-value table is longer than the longest that the page size allows.
    #[error(
        "a value of {len} bytes is too long for a multi-value table; values there have at most {max} bytes"
    )]
    ValueTooLong {
        /// Length of the value in bytes.
        len: usize,
        /// The greatest possible length in bytes.
        max: usize,
    },
    /// No table has this name.
    #[error(
        "there is no table {0:?}; list the tables with `Transaction::tables` or `teak tables`, or create it with `WriteTxn::create_table` or `teak table create`"
    )]
    TableNotFound(String),
    /// A table has this name already.
    #[error("table {0:?} already exists; choose another name, or drop it first")]
    TableExists(String),
    /// The table was created with other options than those given.
    #[error(
        "table {name:?} has other options ({detail}); open it with the options it was created with"
    )]
    TableMismatch {
        /// The table.
        name: String,
        /// The difference.
        detail: String,
    },
    /// The comparison of a table was not registered when the database was opened.
    #[error(
        "table {table:?} uses the comparison {comparison:?}, which was not registered; open the database with it (`Options::comparison`)"
    )]
    ComparisonMissing {
        /// The table.
        table: String,
        /// The name of the comparison.
        comparison: String,
    },
    /// The keys of a table are not in the order of its comparison.
    #[error(
        "the keys of table {table:?} are not in the order of the comparison {comparison:?}; open the database with the comparison that the table was created with"
    )]
    ComparisonMismatch {
        /// The table.
        table: String,
        /// The name of the comparison.
        comparison: String,
    },
    /// The codec cannot decode a key or value.
    #[error(
        "a record cannot be read as {expected}: {detail}; open the table with the types it was written with"
    )]
    Decode {
        /// The type of the codec.
        expected: &'static str,
        /// A description of the bytes that were found.
        detail: String,
    },
    /// The input of a bulk load is not sorted.
    #[error(
        "record {index} of the input is not greater than the one before it; sort the input, or load it as unsorted"
    )]
    NotSorted {
        /// The index of the record, counted from 0.
        index: u64,
    },
    /// The database was opened read-only.
    #[error("the database is open read-only; open it for writing")]
    ReadOnly,
    /// The transaction met an error in the middle of a change, and can only be rolled back.
    #[error("an earlier error left this transaction unfinished; roll it back and begin again")]
    TransactionBroken,
    /// An option or argument is invalid.
    #[error("{0}")]
    InvalidArgument(String),
}

impl Error {
    pub(crate) fn io(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io {
            operation,
            path: None,
            cause,
        }
    }

    pub(crate) fn unknown_format(detail: impl Into<String>) -> Self {
        Self::UnknownFormat {
            path: None,
            detail: detail.into(),
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
            Self::Io {
                operation,
                path: None,
                cause,
            } => Self::Io {
                operation,
                path: Some(file.to_path_buf()),
                cause,
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

#[cfg(test)]
#[path = "error/document_tests.rs"]
mod document_tests;
