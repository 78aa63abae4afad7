//! What can be wrong with a foreign file.

use std::io;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system did not give what was asked for.
    #[error("reading page {page} failed")]
    Io {
        /// The page.
        page: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The file ends before a page that is needed.
    #[error(
        "the file ends before the end of page {page}, which is in use: it was cut short, or not copied whole"
    )]
    CutShort {
        /// The page.
        page: u64,
    },
    /// These are no bytes of LMDB or libmdbx.
    #[error("this is no file of LMDB or libmdbx: {0}")]
    NotRecognised(&'static str),
    /// It is a file of one of them that cannot be read here.
    #[error("{0}")]
    Unsupported(String),
    /// What the file says cannot be.
    #[error("page {page}: {detail}")]
    Damaged {
        /// The page that says it.
        page: u64,
        /// What is wrong.
        detail: String,
    },
    /// Somebody has committed since the file was opened.
    #[error(
        "the file was at transaction {was} and is at {is} now: it changed while it was read; stop the programs that write to it, or read a copy"
    )]
    Changed {
        /// The transaction that was read.
        was: u64,
        /// The one that is there now.
        is: u64,
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
