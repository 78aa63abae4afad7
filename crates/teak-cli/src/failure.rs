//! Failures of a subcommand: the exit code, and the message with what happened and what to do.

use crate::text::{Malformed, ReadError, shown_path};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// Why a subcommand failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the engine.
    Engine(teak::Error),
    /// A key was not found.
    NotFound(String),
    /// The arguments contradict each other, or do not suit the database.
    Usage(String),
    /// Another process has been writing for longer than the timeout.
    Busy(String),
    /// Damage was found.
    Damaged(String),
    /// The loaded records differ from the input.
    Unverified(String),
    /// The source of an import cannot be read.
    Source(String),
    /// The input is malformed.
    Input(Malformed),
    /// A record of the input cannot be stored.
    Record {
        /// The line of its key in the input.
        line: u64,
        /// The error of the engine.
        error: teak::Error,
    },
    /// An input or output file failed.
    File {
        /// The operation that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Standard output failed. A reader that has ended is not an error: `teak dump | head`.
    Output(io::Error),
    /// Another failure, with its context.
    During {
        /// The work that was done before, or that failed.
        context: String,
        /// The failure itself.
        cause: Box<Failure>,
    },
}

/// The exit codes, as the help and `docs/program.md` list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureKind {
    NotFound = 1,
    Usage = 2,
    Damaged = 3,
    Unavailable = 4,
    MalformedInput = 5,
    Other = 6,
}

impl From<teak::Error> for Failure {
    fn from(error: teak::Error) -> Self {
        Self::Engine(error)
    }
}

impl Failure {
    /// Converts an error of a reader of `path`.
    pub(crate) fn reading(path: &Path) -> impl FnOnce(ReadError) -> Self {
        move |error| match error {
            ReadError::Malformed(malformed) => Self::Input(malformed),
            ReadError::Io(source) => Self::File {
                action: "reading",
                path: path.to_owned(),
                source,
            },
        }
    }

    /// Converts a system error about `path`.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Converts a system error of opening a database, or a backup of one.
    pub(crate) fn opening(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| match error.kind() {
            io::ErrorKind::NotFound => teak::Error::NotFound(path.to_owned()).into(),
            _ => Self::file("opening", path)(error),
        }
    }

    /// Adds that the work is done, if a command fails while it writes its report.
    pub(crate) fn after_work(self) -> Self {
        match &self {
            Self::Output(_) if !self.is_broken_pipe() => Self::During {
                context: "the work is done; only its report is missing".to_owned(),
                cause: Box::new(self),
            },
            _ => self,
        }
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn root(&self) -> &Self {
        match self {
            Self::During { cause, .. } => cause.root(),
            _ => self,
        }
    }

    pub(crate) fn contexts(&self) -> Vec<&str> {
        match self {
            Self::During { context, cause } => {
                let mut contexts = cause.contexts();
                contexts.push(context);
                contexts
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn message(&self) -> String {
        match self {
            // The only callbacks that do so are those for signals.
            Self::Engine(teak::Error::Cancelled { operation, .. }) => {
                format!("{operation} was interrupted; nothing of the result was kept")
            }
            Self::Engine(error) => error.to_string(),
            Self::NotFound(text)
            | Self::Usage(text)
            | Self::Busy(text)
            | Self::Damaged(text)
            | Self::Unverified(text)
            | Self::Source(text) => text.clone(),
            Self::Input(malformed) => format!("{malformed}; correct the input, or create it again"),
            Self::Record { line, error } => {
                format!("the record in line {line} of the input cannot be stored: {error}")
            }
            Self::File {
                action,
                path,
                source,
            } => format!(
                "{action} {} failed: {source}{}",
                shown_path(path),
                advice(source)
            ),
            Self::Output(source) => {
                format!("writing the output failed: {source}{}", advice(source))
            }
            Self::During { cause, .. } => cause.message(),
        }
    }

    /// The kind of the failure, which decides the exit code.
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            Self::Engine(error) => engine_kind(error),
            Self::NotFound(_) => FailureKind::NotFound,
            Self::Usage(_) => FailureKind::Usage,
            Self::Damaged(_) | Self::Unverified(_) => FailureKind::Damaged,
            Self::Busy(_) | Self::Source(_) => FailureKind::Unavailable,
            Self::Input(_) => FailureKind::MalformedInput,
            Self::Record { error, .. } => match engine_kind(error) {
                // This argument came from the input, not from the command line.
                FailureKind::Usage => FailureKind::MalformedInput,
                kind => kind,
            },
            Self::File { .. } | Self::Output(_) => FailureKind::Other,
            Self::During { cause, .. } => cause.kind(),
        }
    }
}

fn advice(error: &io::Error) -> String {
    teak::remedy(error).map_or_else(String::new, |remedy| format!("; {remedy}"))
}

fn engine_kind(error: &teak::Error) -> FailureKind {
    use teak::Error;
    match error {
        Error::TableNotFound(_) | Error::SnapshotNotFound(_) | Error::PreparedNotFound(_) => {
            FailureKind::NotFound
        }
        Error::InvalidArgument(_)
        | Error::Encode { .. }
        | Error::TableExists(_)
        | Error::SnapshotExists(_)
        | Error::TableMismatch { .. }
        | Error::TableTypeMismatch { .. }
        | Error::ComparisonMissing { .. }
        | Error::ComparisonMismatch { .. }
        | Error::KeyTooLong { .. }
        | Error::ValueTooLong { .. } => FailureKind::Usage,
        Error::Corrupted { .. } | Error::Decode { .. } => FailureKind::Damaged,
        Error::NotFound(_)
        | Error::NameLost { .. }
        | Error::AlreadyExists(_)
        | Error::NotADatabase { .. }
        | Error::NotALockFile { .. }
        | Error::UnknownFormat { .. }
        | Error::WrongKey { .. }
        | Error::KeyUnavailable { .. }
        | Error::KeyNeeded(_)
        | Error::EncryptionNotBuilt(_)
        | Error::NotEncrypted(_)
        | Error::NetworkFileSystem(_)
        | Error::TooManyReaders(_)
        | Error::InUse(_)
        | Error::TransactionPrepared { .. } => FailureKind::Unavailable,
        Error::NotSorted { .. } => FailureKind::MalformedInput,
        _ => FailureKind::Other,
    }
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
