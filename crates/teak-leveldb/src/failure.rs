//! Errors, as LevelDB has them.

use std::{io, path::Path};

/// A result of this crate.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// The kinds of errors, with the numbers that `leveldb::Status` has for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Kind {
    NotFound = 1,
    Corruption = 2,
    NotSupported = 3,
    InvalidArgument = 4,
    Io = 5,
}

/// An error: its kind, and the text after the kind's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }

    pub(crate) fn corruption(text: impl Into<String>) -> Self {
        Self::new(Kind::Corruption, text)
    }

    pub(crate) fn invalid_argument(text: impl Into<String>) -> Self {
        Self::new(Kind::InvalidArgument, text)
    }

    /// The failure after a panic in this library.
    pub(crate) fn panicked() -> Self {
        Self::new(Kind::Io, "internal error of the library; please report it")
    }

    /// The failure of an operation of the system. A file that is missing is an error of its own for
    /// LevelDB.
    pub(crate) fn system(context: impl std::fmt::Display, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => Kind::NotFound,
            _ => Kind::Io,
        };
        Self::new(kind, format!("{context}: {}", system_text(error)))
    }

    /// A function from errors of the system, of an operation on a file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::system(path.display(), &error)
    }
}

/// The text of an error as C has it, without Rust's number.
fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

impl From<teak::Error> for Failure {
    fn from(error: teak::Error) -> Self {
        use teak::Error;
        let kind = match &error {
            Error::Corrupted { .. }
            | Error::NotADatabase { .. }
            | Error::Decode { .. }
            | Error::TableNotFound(_) => Kind::Corruption,
            Error::InvalidArgument(_)
            | Error::KeyTooLong { .. }
            | Error::WrongKey { .. }
            | Error::KeyUnavailable { .. }
            | Error::KeyNeeded(_)
            | Error::NotEncrypted(_)
            | Error::ComparisonMissing { .. }
            | Error::ComparisonMismatch { .. } => Kind::InvalidArgument,
            Error::UnknownFormat { .. } | Error::EncryptionNotBuilt(_) => Kind::NotSupported,
            _ => Kind::Io,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<teak_foreign::Error> for Failure {
    fn from(error: teak_foreign::Error) -> Self {
        use teak_foreign::Error;
        let kind = match &error {
            Error::DamagedFile { .. } | Error::NotLevelDb(_) => Kind::Corruption,
            Error::OtherComparator { .. } | Error::Unsupported(_) => Kind::NotSupported,
            _ => Kind::Io,
        };
        let mut text = error.to_string();
        if let Error::File { source, .. } = &error {
            text = format!("{text}: {}", system_text(source));
        }
        Self::new(kind, text)
    }
}
