//! Information about readers of old states, and the application's decisions about them.

use crate::{TransactionId, share::ReaderId};
use std::{fmt, sync::Arc, time::Duration};

/// A read transaction of any process.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ReaderInfo {
    /// The id of its process; `None` if that is not known here, for example in another PID
    /// namespace.
    pub process: Option<u32>,
    /// The system's id of the thread that began it.
    pub thread: u64,
    /// The time since it began, to within some milliseconds.
    pub age: Duration,
    /// The state that it reads.
    pub transaction: TransactionId,
    /// Number of commits that have become visible since.
    pub lag: u64,
    /// Whether it is parked: its state is given up when space is needed.
    pub is_parked: bool,
    /// Number of pages that would be free if no reader used this state. Other readers of the same
    /// state keep the same pages.
    pub kept_pages: u64,
    /// The size of these pages in bytes.
    pub kept_bytes: u64,
    /// Whether it was cancelled, and has not ended yet.
    pub is_cancelled: bool,
    /// The id of the open database, and of the reader there.
    pub(crate) id: (u64, ReaderId),
}

/// A reader of an old state that keeps space that a write transaction wants.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SlowReader {
    /// The reader that keeps the most.
    pub reader: ReaderInfo,
    /// Number of pages wanted.
    pub wanted_pages: u64,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// How often this was asked before, for the same pages.
    pub asked: u32,
}

/// The reaction of a write transaction to a [`SlowReader`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SlowReaderChoice {
    /// Waits some milliseconds, checks again, and asks again if nothing has changed.
    Wait,
    /// Cancels the reader, like [`Database::cancel_reader`](crate::Database::cancel_reader), and
    /// waits for it to end as with [`Self::Wait`]. An idle reader does not end. In that case the
    /// application is asked again, with `reader.is_cancelled` set.
    Cancel,
    /// Grows the file, and does not ask again.
    Grow,
    /// Gives up: the operation fails with [`Error::HeldByReader`](crate::Error::HeldByReader).
    GiveUp,
}

/// The application's decision about slow readers.
pub(crate) type Ask = dyn Fn(&SlowReader) -> SlowReaderChoice + Send + Sync;

/// The application's callback for slow readers.
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
