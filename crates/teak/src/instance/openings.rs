//! How many openings of a database this process has, and whether it is closed.

use crate::{read::readers::Readers, sync::lock};
use std::{
    sync::{
        Mutex, MutexGuard, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// The openings of one database in this process.
///
/// Invariant: while there is an opening, readers keep their slots between two reads.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    count: Mutex<u32>,
    /// Whether the last opening was closed.
    is_closing: AtomicBool,
    /// Whether no operation can begin any more.
    closed: AtomicBool,
    /// When closing was over, with or without an error.
    close_ended: OnceLock<Instant>,
}

impl Openings {
    /// Counts a new opening. Returns `false` if the database is being closed.
    pub(crate) fn begin(&self, readers: &Readers) -> bool {
        let mut count = self.count();
        if self.is_closing.load(Ordering::Acquire) {
            return false;
        }
        if *count == 0 {
            readers.open();
        }
        *count += 1;
        true
    }

    /// Notes that the last handle of an opening is dropped. After the last opening no operation
    /// begins any more.
    pub(crate) fn end(&self, readers: &Readers, was_closed: bool) {
        let mut count = self.count();
        *count -= u32::from(!was_closed);
        if *count == 0 {
            readers.close();
        }
    }

    /// Whether no opening is left.
    pub(crate) fn is_unopened(&self) -> bool {
        *self.count() == 0
    }

    /// Counts one opening less. Returns whether it was the last one. In that case no new opening is
    /// possible before the database is closed.
    pub(crate) fn closes_with_this(&self) -> bool {
        let mut count = self.count();
        *count -= 1;
        if *count == 0 {
            self.is_closing.store(true, Ordering::Release);
        }
        *count == 0
    }

    /// Notes that the last opening could not be closed and stays.
    pub(crate) fn stay_open(&self) {
        let mut count = self.count();
        *count += 1;
        self.is_closing.store(false, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Refuses all new operations from now on.
    pub(crate) fn set_closed(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Notes that closing is over.
    pub(crate) fn note_close_ended(&self) {
        self.close_ended.get_or_init(Instant::now);
    }

    /// When closing was over.
    pub(crate) fn close_ended(&self) -> Option<Instant> {
        self.close_ended.get().copied()
    }

    /// Whether a thread is closing the database, and no operation can begin any more.
    pub(crate) fn is_being_closed(&self) -> bool {
        self.is_closed() && self.close_ended().is_none()
    }

    /// Undoes [`Self::set_closed`], so that a test can interrupt a process and continue.
    #[cfg(test)]
    pub(crate) fn unset_closed(&self) {
        self.closed.store(false, Ordering::Release);
    }

    fn count(&self) -> MutexGuard<'_, u32> {
        lock(&self.count)
    }
}
