//! The one error type of the engine. Each text says what happened and what to do about it.

mod key_range;
mod limit;
mod remedy;

pub use key_range::KeyRange;

pub use remedy::remedy;
pub(crate) use remedy::unwrapped;

use limit::limit;

use crate::{
    planted::{Planted, is_planted},
    types::{PageNumber, TransactionId},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// What the functions of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("{operation}{} failed: {source}{}{}", in_brackets(path.as_deref()), after(remedy(source)), limit(operation, source))]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file, or the database that was used.
        path: Option<PathBuf>,
        /// What the system answered; `ENOSPC` stays `ENOSPC`.
        source: io::Error,
    },
    /// There is no such file and it was not to be created.
    #[error("there is no database at {}; create it, or correct the path", shown(.0))]
    NotFound(PathBuf),
    /// A database was to be created where a file is already.
    #[error("{} exists already; open it, or remove it first", shown(.0))]
    AlreadyExists(PathBuf),
    /// The file is not a Teak database.
    #[error("{} is not a Teak database ({reason}); nothing was changed", shown(.path))]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        reason: String,
    },
    /// The file was written by a version that uses features this one does not know.
    #[error("this database needs a newer version of Teak ({0}); upgrade to open it")]
    UnknownFormat(String),
    /// Somebody has the database open who cannot share it: for himself alone, or with another version of Teak,
    /// or by a lock file that was removed, or this process has closed it and still reads.
    #[error("{} is in use by another process or handle, or by a child that a process left behind; close or end that first", shown(.0))]
    InUse(PathBuf),
    /// Something else stands where the lock file of the database belongs.
    #[error(
        "{} stands where the lock file of the database belongs, and is none ({reason}); nothing was changed; move it away, or name another lock file (`Options::lock_file`, `teak --lock-file`)", shown(.path)
    )]
    NotALockFile {
        /// What stands there.
        path: PathBuf,
        /// What was found instead.
        reason: String,
    },
    /// What is on disk is not what was written there.
    #[error(
        "page {page} is damaged ({detail}), found by {detected_by}{}; run `teak check` to see what else is, then restore a backup, or save what can be read with `teak salvage`",
        place(table.as_deref(), keys.as_deref())
    )]
    Corrupted {
        /// The page.
        page: PageNumber,
        /// What is wrong with it.
        detail: String,
        /// The operation that came across it.
        detected_by: &'static str,
        /// The table that was read or changed.
        table: Option<String>,
        /// The keys of that table that the page has, or, if it is an inner page, that are below it.
        keys: Option<Box<KeyRange>>,
    },
    /// A write or flush failed before: nothing can be written until the database is opened anew.
    #[error(
        "an earlier write or flush failed, so what is on disk is uncertain; close the database and open it again to verify it"
    )]
    Poisoned,
    /// The system has let go of the locks by which other processes know that this one lives, and another process has
    /// taken its place. Nothing was written since. Code in this process has unlocked or closed files that it did not open.
    #[error(
        "the locks that this process had on {} are gone, so others took it for dead; nothing was written since; find what \
         unlocks or closes files that it did not open, then close the database and open it again", shown(.0)
    )]
    LocksLost(PathBuf),
    /// The file of the database was removed, renamed or replaced while it was open, so nobody would find what is committed: see
    /// [`Options::require_name`](crate::Options::require_name).
    #[error(
        "{}; the transaction was not committed; put the file back, or close the database and open the one that is wanted",
        loss_text(.path, .moved_to.as_deref())
    )]
    NameLost {
        /// The name that the file had.
        path: PathBuf,
        /// Where the file is now; `None` if it has no name.
        moved_to: Option<PathBuf>,
    },
    /// The file is on a network file system, where processes of several machines could not share it.
    #[error(
        "{} is on a network file system; put it on a local one, or insist with `Options::allow_network` if one machine alone uses it", shown(.0)
    )]
    NetworkFileSystem(PathBuf),
    /// This process has the database open with other options that matter.
    #[error(
        "this process has the database open with another `{option}`; open it with the same, or use that handle or a clone of it"
    )]
    OptionsDiffer {
        /// The option, as [`Options`](crate::Options) calls it.
        option: &'static str,
    },
    /// This process was forked from the one that opened the database.
    #[error(
        "this process was forked from the one that opened the database, whose handles and transactions it cannot use; open the database in this process"
    )]
    Forked,
    /// A writer wanted the space that this read transaction kept: it has lost its state while it was parked, or was cancelled.
    #[error(
        "this read transaction kept space that was wanted, and has lost its state while it was parked or was cancelled; drop it and begin a new one"
    )]
    SnapshotLost,
    /// A write transaction was to begin on the state that a reader sees, and there is a newer one, whether readers see it yet or not.
    #[error(
        "the reader sees the state of transaction {held}, and there is one of {newest} by now; begin on the newest one, or refresh the reader and decide anew"
    )]
    SnapshotStale {
        /// The state that the reader sees.
        held: TransactionId,
        /// The newest commit.
        newest: TransactionId,
    },
    /// There is no named snapshot of that name.
    #[error(
        "there is no snapshot {0:?}; `Database::snapshots` and `teak snapshot list` tell which there are"
    )]
    SnapshotNotFound(String),
    /// There is a named snapshot of that name already.
    #[error("there is a snapshot {0:?} already; drop it first, or choose another name")]
    SnapshotExists(String),
    /// A write transaction wanted space that is kept for a reader of an old state alone, and was told not to make the file longer.
    #[error(
        "there is no space but what a reader keeps ({kept_bytes} bytes, {lag} commits behind, {}, thread {thread}); end that reader, or let the file become longer",
        reader_process(*process)
    )]
    HeldByReader {
        /// The id of its process, if that is known here.
        process: Option<u32>,
        /// The system's number of its thread.
        thread: u64,
        /// The state that it reads.
        transaction: TransactionId,
        /// So many commits have become visible since.
        lag: u64,
        /// What would be free without it.
        kept_bytes: u64,
    },
    /// There is no place for another reader.
    #[error("{0} read transactions are open, and there is no place for more; end some")]
    TooManyReaders(usize),
    /// The upper limit of the size that was set is reached.
    #[error(
        "the database has reached its size limit of {limit_bytes} bytes; raise the limit, or delete records and commit"
    )]
    Full {
        /// The limit.
        limit_bytes: u64,
    },
    /// A key is longer than a page of this database can carry.
    #[error("a key of {len} bytes is too long; the longest key of this database has {max} bytes")]
    KeyTooLong {
        /// Its length.
        len: usize,
        /// The longest possible.
        max: usize,
    },
    /// The sequence of a table does not have so many numbers any more.
    #[error(
        "the sequence of table {table:?} is at {next}, and there are not {count} numbers more; draw fewer, or keep the numbers in records"
    )]
    SequenceExhausted {
        /// The table.
        table: String,
        /// The number that would come next.
        next: u64,
        /// How many were asked for.
        count: u64,
    },
    /// A value of a key that has several is longer than a page of this database can carry.
    #[error(
        "a value of {len} bytes is too long for a table in which a key has several; the longest of this database has {max} bytes"
    )]
    ValueTooLong {
        /// Its length.
        len: usize,
        /// The longest possible.
        max: usize,
    },
    /// There is no table of that name.
    #[error(
        "there is no table {0:?}; `Transaction::tables` and `teak tables` list those there are, and `WriteTxn::create_table` and `teak table create` make one"
    )]
    TableNotFound(String),
    /// A table of that name exists already.
    #[error("table {0:?} exists already; choose another name, or drop it first")]
    TableExists(String),
    /// The table was created with other options than those asked for.
    #[error(
        "table {name:?} has other options ({detail}); open it with the options it was created with"
    )]
    TableMismatch {
        /// The table.
        name: String,
        /// What differs.
        detail: String,
    },
    /// A table is in the order of a comparison that the database was not opened with.
    #[error(
        "table {table:?} is in the order of the comparison {comparison:?}, which is missing; open the database with it (`Options::comparison`)"
    )]
    ComparisonMissing {
        /// The table.
        table: String,
        /// The name of the comparison.
        comparison: String,
    },
    /// The keys of a table are in another order than its comparison says.
    #[error(
        "the keys of table {table:?} are in another order than the comparison {comparison:?} says; open the database with the comparison that the table was made with"
    )]
    ComparisonMismatch {
        /// The table.
        table: String,
        /// The name of the comparison.
        comparison: String,
    },
    /// Bytes of a key or value that its codec cannot read.
    #[error(
        "a record cannot be read as {expected}: {detail}; open the table with the types it was written with"
    )]
    Decode {
        /// The type asked for.
        expected: &'static str,
        /// What was found.
        detail: String,
    },
    /// Input that had to be sorted was not.
    #[error(
        "record {index} of the input is not behind the one before it; sort the input, or load it as unsorted"
    )]
    NotSorted {
        /// Which record, counted from 0.
        index: u64,
    },
    /// The database was opened for reading only.
    #[error("the database is open for reading only; open it for writing")]
    ReadOnly,
    /// The transaction met an error halfway through a change and can only be rolled back.
    #[error("an earlier error left this transaction unfinished; roll it back and begin again")]
    TransactionBroken,
    /// An option or argument makes no sense.
    #[error("{0}")]
    InvalidArgument(String),
}

impl Error {
    pub(crate) fn io(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            operation,
            path: None,
            source: match is_planted(Planted::HideCode) {
                true => io::Error::from_raw_os_error(5),
                false => source,
            },
        }
    }

    /// Names the file that an operation failed on, unless it has a name already.
    pub(crate) fn at(self, file: &Path) -> Self {
        match self {
            Self::Io {
                operation,
                path: None,
                source,
            } => Self::Io {
                operation,
                path: Some(file.to_path_buf()),
                source,
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
            Self::Io { source, .. } => is_full(source),
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

/// A path as text that no terminal takes for anything else.
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

fn after(remedy: Option<&str>) -> String {
    remedy.map_or_else(String::new, |remedy| format!("; {remedy}"))
}

fn reader_process(process: Option<u32>) -> String {
    process.map_or_else(
        || "of a process that is not known here".to_owned(),
        |process| format!("process {process}"),
    )
}

/// How a file lost its name.
pub(crate) fn loss_text(path: &Path, moved_to: Option<&Path>) -> String {
    let path = shown(path);
    match moved_to {
        Some(now) => format!("the database was at {path}, and is at {} now", shown(now)),
        None => format!("the database at {path} was removed or replaced while it was open"),
    }
}

/// Where in a table damage is, as far as that is known.
fn place(table: Option<&str>, keys: Option<&KeyRange>) -> String {
    match (table, keys) {
        (Some(table), Some(keys)) => format!(" in table {table:?}, {keys}"),
        (Some(table), None) => format!(" in table {table:?}"),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
#[path = "error/document_tests.rs"]
mod document_tests;
