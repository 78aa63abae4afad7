//! Errors of reading a foreign file.

use std::{io, path::PathBuf};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system failed to read.
    #[error("reading page {page} failed")]
    Io {
        /// The page.
        page: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// The file ends before a page that is needed.
    #[error(
        "the file ends before the end of page {page}, which is in use: it was truncated, or not copied completely"
    )]
    CutShort {
        /// The page.
        page: u64,
    },
    /// The file is not one of LMDB or libmdbx.
    #[error("this is not a file of LMDB or libmdbx: {0}")]
    NotRecognised(&'static str),
    /// The file is of LMDB or libmdbx, but Teak cannot read it.
    #[error("{0}")]
    Unsupported(String),
    /// The content of the file is impossible.
    #[error("page {page}: {detail}")]
    Damaged {
        /// The page.
        page: u64,
        /// Description of the damage.
        detail: String,
    },
    /// There was a commit since the file was opened.
    #[error(
        "the file was at transaction {was} and is at {is} now: it changed while it was read; stop the programs that write to it, or read a copy"
    )]
    Changed {
        /// The transaction that was read.
        was: u64,
        /// The current transaction of the file.
        is: u64,
    },
    /// The system failed to read or write a file of a directory, or a temporary file.
    #[error("{}: the system failed", path.display())]
    File {
        /// The file, or the directory of temporary files.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The content of a file of a directory is impossible.
    #[error("{}, byte {offset}: {detail}", path.display())]
    DamagedFile {
        /// The file.
        path: PathBuf,
        /// The place in the file.
        offset: u64,
        /// Description of the damage.
        detail: String,
    },
    /// The directory is not one of LevelDB.
    #[error("this is not a directory of LevelDB: {0}")]
    NotLevelDb(String),
    /// A program has the directory open.
    #[error("another program holds the lock {}: stop it, or read a copy", path.display())]
    InUse {
        /// The lock file.
        path: PathBuf,
    },
    /// Keys are compared by a function of the application.
    #[error(
        "keys are compared by \"{name}\", a function of the application, and not by their bytes"
    )]
    OtherComparator {
        /// The name of the function.
        name: String,
    },
    /// A key is not greater than the one before.
    #[error("key {index} is not greater than the one before it")]
    NotSorted {
        /// The number of the key, from 0.
        index: u64,
    },
    /// The directory was written to since it was opened.
    #[error(
        "{} changed while it was read; stop the programs that write to it, or read a copy", path.display()
    )]
    FilesChanged {
        /// The directory.
        path: PathBuf,
    },
}

impl Error {
    /// A damage of a page.
    pub(crate) fn damaged(page: u64, detail: impl Into<String>) -> Self {
        Self::Damaged {
            page,
            detail: detail.into(),
        }
    }
}
