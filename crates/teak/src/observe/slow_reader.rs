//! What a program learns about readers of old states, and what it decides.

use crate::{TransactionId, share::ReaderId};
use std::{fmt, sync::Arc, time::Duration};

/// A read transaction of any process.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ReaderInfo {
    /// The id of its process; `None` if that is not known here, as in another PID namespace.
    pub process: Option<u32>,
    /// The system's number of the thread that began it.
    pub thread: u64,
    /// How long ago it began, to within some milliseconds.
    pub age: Duration,
    /// The state that it reads.
    pub transaction: TransactionId,
    /// So many commits have become visible since.
    pub lag: u64,
    /// Whether it is parked: what it sees is given up when space is wanted.
    pub is_parked: bool,
    /// Pages that would be free if nobody read this state. Other readers of the same state keep the same ones.
    pub kept_pages: u64,
    /// The bytes of these pages.
    pub kept_bytes: u64,
    /// Whether it was cancelled, and has not ended yet.
    pub is_cancelled: bool,
    /// The open database, and the reader there.
    pub(crate) id: (u64, ReaderId),
}

/// A reader of an old state that keeps space which a write transaction wants.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SlowReader {
    /// The one that keeps the most.
    pub reader: ReaderInfo,
    /// So many pages are wanted.
    pub wanted_pages: u64,
    /// How long the file is.
    pub file_bytes: u64,
    /// How often this was asked before, for the same pages.
    pub asked: u32,
}

/// What a write transaction does about a [`SlowReader`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SlowReaderChoice {
    /// It waits some milliseconds and looks again, and asks again if nothing has changed.
    Wait,
    /// It cancels the reader, as [`Database::cancel_reader`](crate::Database::cancel_reader) does, and waits like that until
    /// that has ended. A reader that does nothing does not end: then it is asked again, and `reader.is_cancelled` is set.
    Cancel,
    /// It makes the file longer, and does not ask again.
    Grow,
    /// It gives up: [`Error::HeldByReader`](crate::Error::HeldByReader).
    GiveUp,
}

/// What a program has to say about slow readers.
pub(crate) type Ask = dyn Fn(&SlowReader) -> SlowReaderChoice + Send + Sync;

/// Whom to ask.
#[derive(Clone)]
pub(crate) struct SlowReaderHook(Arc<Ask>);

impl SlowReaderHook {
    pub(crate) fn new(
        ask: impl Fn(&SlowReader) -> SlowReaderChoice + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(ask))
    }

    /// Asks what to do about a slow reader.
    pub(crate) fn ask(&self, slow: &SlowReader) -> SlowReaderChoice {
        (self.0)(slow)
    }
}

impl fmt::Debug for SlowReaderHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlowReaderHook")
    }
}
