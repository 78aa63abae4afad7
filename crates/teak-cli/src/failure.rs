//! What a subcommand can end with other than success, and how that is told: the exit code, the
//! message with what to do, and the causes beneath it.

use crate::text::{Malformed, ReadError, shown_path};
use serde::Serialize;
use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a subcommand did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine refused.
    Engine(teak::Error),
    /// A key is not there.
    NotFound(String),
    /// The arguments do not fit each other, or the database.
    Usage(String),
    /// Others have been writing for longer than was to be waited.
    Busy(String),
    /// The check found damages.
    Damaged(String),
    /// What was loaded is not what reads back.
    Unverified(String),
    /// What is to be imported cannot be read as it is.
    Source(String),
    /// The input is not what it should be.
    Input(Malformed),
    /// The engine refused a record of the input.
    Record {
        /// The line of the input that its key is in.
        line: u64,
        /// Why.
        error: teak::Error,
    },
    /// An input or output file failed.
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// Standard output failed. That its reader has gone is no error: `teak dump | head`.
    Output(io::Error),
    /// Another failure, with what went before it.
    During {
        /// What had been done, or was being done.
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
    /// Turns what a reader of `path` says into a failure.
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

    /// Turns what the system says of `path` into a failure.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Turns what the system says when a database, or a backup of one, is opened into a failure.
    pub(crate) fn opening(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| match error.kind() {
            io::ErrorKind::NotFound => teak::Error::NotFound(path.to_owned()).into(),
            _ => Self::file("opening", path)(error),
        }
    }

    /// Of a command that has changed something before it wrote its report: says so.
    pub(crate) fn after_work(self) -> Self {
        match &self {
            Self::Output(_) if !self.is_broken_pipe() => Self::During {
                context: "what was to be done is done; only the report of it is missing".to_owned(),
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
            Self::Engine(error) => error.to_string(),
            Self::NotFound(text)
            | Self::Usage(text)
            | Self::Busy(text)
            | Self::Damaged(text)
            | Self::Unverified(text)
            | Self::Source(text) => text.clone(),
            Self::Input(malformed) => format!("{malformed}; correct the input, or make it again"),
            Self::Record { line, error } => {
                format!("the record in line {line} of the input cannot be stored: {error}")
            }
            Self::File {
                action,
                path,
                source,
            } => format!("{action} {} failed{}", shown_path(path), advice(source)),
            Self::Output(source) => format!("writing the output failed{}", advice(source)),
            Self::During { cause, .. } => cause.message(),
        }
    }

    /// The errors beneath this one, without those that its message repeats.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut next: Option<&(dyn StdError + 'static)> = match self {
            Self::Engine(error) | Self::Record { error, .. } => error.source(),
            Self::File { source, .. } | Self::Output(source) => Some(source),
            _ => None,
        };
        let message = self.message();
        let mut causes = Vec::new();
        while let Some(cause) = next {
            let text = cause.to_string();
            if !message.contains(&text) {
                causes.push(text);
            }
            next = cause.source();
        }
        causes
    }

    /// What the failure counts as, and so the exit code.
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            Self::Engine(error) => engine_kind(error),
            Self::NotFound(_) => FailureKind::NotFound,
            Self::Usage(_) => FailureKind::Usage,
            Self::Damaged(_) | Self::Unverified(_) => FailureKind::Damaged,
            Self::Busy(_) | Self::Source(_) => FailureKind::Unavailable,
            Self::Input(_) => FailureKind::MalformedInput,
            Self::Record { error, .. } => match engine_kind(error) {
                // What would be a wrong argument anywhere else came from the input here.
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
        Error::TableNotFound(_) | Error::SnapshotNotFound(_) => FailureKind::NotFound,
        Error::InvalidArgument(_)
        | Error::TableExists(_)
        | Error::SnapshotExists(_)
        | Error::TableMismatch { .. }
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
        | Error::UnknownFormat(_)
        | Error::NetworkFileSystem(_)
        | Error::TooManyReaders(_)
        | Error::InUse(_) => FailureKind::Unavailable,
        Error::NotSorted { .. } => FailureKind::MalformedInput,
        _ => FailureKind::Other,
    }
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
