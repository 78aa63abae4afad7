//! What a program is told, and asked, while a database is open.

use crate::border::teak_slice;
use std::ffi::{c_int, c_void};
use teak::SlowReader;

/// What has happened.
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
    /// A reader of an old state keeps space that is wanted.
    TEAK_EVENT_SLOW_READER = 5,
    /// Another process died while it wrote. What it had not committed is gone.
    TEAK_EVENT_WRITER_DIED = 6,
    /// A write or flush failed: nothing can be written until the database is opened anew.
    TEAK_EVENT_POISONED = 7,
    /// This process has closed the database.
    TEAK_EVENT_CLOSED = 8,
    /// Something that this version of the interface has no number for; the text says what.
    TEAK_EVENT_OTHER = 9,
    /// This process commits into a file that was removed, renamed or replaced since it was opened.
    TEAK_EVENT_NAME_LOST = 10,
}

/// Is told of events: their kind, a teak_event_kind, and a line of text for a log. It is called by whichever thread something happens in, several at a time; it must
/// not call this library, and should return soon.
pub type teak_event_function =
    Option<unsafe extern "C" fn(user: *mut c_void, kind: u32, text: teak_slice)>;

/// What a write transaction does about a slow reader.
#[repr(C)]
pub enum teak_slow_reader_choice {
    /// It makes the file longer, and does not ask again.
    TEAK_SLOW_READER_GROW = 0,
    /// It waits some milliseconds and looks again, and asks again if nothing has changed.
    TEAK_SLOW_READER_WAIT = 1,
    /// It cancels the reader, whose next call answers TEAK_SNAPSHOT_LOST, and waits until that has ended.
    TEAK_SLOW_READER_CANCEL = 2,
    /// It gives up: TEAK_HELD_BY_READER.
    TEAK_SLOW_READER_GIVE_UP = 3,
}

/// A reader of an old state that keeps space which a write transaction wants.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_slow_reader {
    /// The id of its process, 0 if that is not known here.
    pub process: u32,
    /// How often this was asked before, for the same pages.
    pub asked: u32,
    /// The system's number of its thread.
    pub thread: u64,
    /// The state that it reads.
    pub transaction: u64,
    /// So many commits have become visible since.
    pub lag: u64,
    /// How long ago it began, in milliseconds.
    pub age_ms: u64,
    /// Pages that would be free without it.
    pub kept_pages: u64,
    /// So many pages are wanted.
    pub wanted_pages: u64,
    /// How long the file is.
    pub file_bytes: u64,
    /// 1 if it was cancelled, and has not ended yet.
    pub is_cancelled: u64,
}

/// Is asked what to do about a slow reader: answers with a teak_slow_reader_choice; another number is TEAK_SLOW_READER_GROW. It is called by the thread that writes, and must
/// not use its transaction.
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
