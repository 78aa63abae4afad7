//! Functions that are notified of events, and asked about slow readers, while a database is open.

use crate::ffi::teak_slice;
use std::ffi::{c_int, c_void};
use teak::SlowReader;

/// An event.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum teak_event_kind {
    /// The database was opened.
    TEAK_EVENT_OPENED = 0,
    /// This process has committed something.
    TEAK_EVENT_COMMIT = 1,
    /// This process has flushed the file.
    TEAK_EVENT_FLUSH = 2,
    /// This process has made the file longer.
    TEAK_EVENT_GROWN = 3,
    /// This process has made the file shorter.
    TEAK_EVENT_SHRUNK = 4,
    /// A reader of an old state keeps space that a writer needs.
    TEAK_EVENT_SLOW_READER = 5,
    /// Another process died while it was writing. Its uncommitted changes are gone.
    TEAK_EVENT_WRITER_DIED = 6,
    /// A write or flush failed. Nothing can be written until the database is opened again.
    TEAK_EVENT_POISONED = 7,
    /// This process has closed the database.
    TEAK_EVENT_CLOSED = 8,
    /// An event that has no number in this version of the interface. The text describes it.
    TEAK_EVENT_OTHER = 9,
    /// This process commits into a file that was removed, renamed or replaced since it was opened.
    TEAK_EVENT_NAME_LOST = 10,
}

/// Receives events: their kind, a teak_event_kind, and a line of text for a log. It is called in
/// the thread that caused the event, possibly in several threads at a time. It must not call this
/// library, and should return soon.
pub type teak_event_function =
    Option<unsafe extern "C" fn(user: *mut c_void, kind: u32, text: teak_slice)>;

/// The answer to a slow reader.
#[repr(C)]
pub enum teak_slow_reader_choice {
    /// Grow the file, and do not ask again.
    TEAK_SLOW_READER_GROW = 0,
    /// Wait some milliseconds and check again. Ask again if nothing has changed.
    TEAK_SLOW_READER_WAIT = 1,
    /// Cancel the reader, whose next call returns TEAK_SNAPSHOT_LOST, and wait until it has ended.
    TEAK_SLOW_READER_CANCEL = 2,
    /// Give up: the write fails with TEAK_HELD_BY_READER.
    TEAK_SLOW_READER_GIVE_UP = 3,
}

/// A reader of an old state that keeps space which a write transaction needs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_slow_reader {
    /// The id of its process, 0 if that is not known here.
    pub process: u32,
    /// The number of earlier questions about the same pages.
    pub asked: u32,
    /// The system's number of its thread.
    pub thread: u64,
    /// The state that it reads.
    pub transaction: u64,
    /// The number of commits that have become visible since.
    pub lag: u64,
    /// The time since it began, in milliseconds.
    pub age_ms: u64,
    /// Pages that would be free without it.
    pub kept_pages: u64,
    /// The number of pages that the writer needs.
    pub wanted_pages: u64,
    /// The length of the file in bytes.
    pub file_bytes: u64,
    /// 1 if it was cancelled and has not ended yet.
    pub is_cancelled: u64,
}

/// Decides about a slow reader: returns a teak_slow_reader_choice. Any other number means
/// TEAK_SLOW_READER_GROW. It is called in the thread that writes, and must not use that thread's
/// transaction.
pub type teak_slow_reader_function =
    Option<unsafe extern "C" fn(user: *mut c_void, reader: *const teak_slow_reader) -> c_int>;

impl From<&SlowReader> for teak_slow_reader {
    fn from(slow: &SlowReader) -> Self {
        let reader = &slow.reader;
        Self {
            process: reader.process.unwrap_or(0),
            asked: slow.asked,
            thread: reader.thread,
            transaction: reader.transaction.0,
            lag: reader.lag,
            age_ms: u64::try_from(reader.age.as_millis()).unwrap_or(u64::MAX),
            kept_pages: reader.kept_pages,
            wanted_pages: slow.wanted_pages,
            file_bytes: slow.file_bytes,
            is_cancelled: reader.is_cancelled.into(),
        }
    }
}
