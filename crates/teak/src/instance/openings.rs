//! How often this process has a database open, and whether it is still open.

use crate::{read::readers::Readers, sync::lock};
use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};

/// The openings of one database in this process.
///
/// Invariant: while there is an opening, the readers keep their slots between two reads.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    count: Mutex<u32>,
    /// Whether the last opening was closed.
    is_closing: AtomicBool,
    /// Whether nothing can be begun any more.
    closed: AtomicBool,
}

impl Openings {
    /// Counts one more opening. `false` if the database is being closed.
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

    /// The last handle of an opening goes: with the last opening, nobody begins anything any more.
    pub(crate) fn end(&self, readers: &Readers, was_closed: bool) {
        let mut count = self.count();
        *count -= u32::from(!was_closed);
        if *count == 0 {
            readers.close();
        }
    }

    /// Counts one opening less; says whether it was the last. Then nobody opens the database again before it is closed.
    pub(crate) fn closes_with_this(&self) -> bool {
        let mut count = self.count();
        *count -= 1;
        if *count == 0 {
            self.is_closing.store(true, Ordering::Release);
        }
        *count == 0
    }

    /// The last opening could not be closed, and stays.
    pub(crate) fn stay_open(&self) {
        let mut count = self.count();
        *count += 1;
        self.is_closing.store(false, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Says that nothing can be begun any more.
    pub(crate) fn set_closed(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Undoes [`Self::set_closed`], so that a test can break a process off and go on.
    #[cfg(test)]
    pub(crate) fn unset_closed(&self) {
        self.closed.store(false, Ordering::Release);
    }

    fn count(&self) -> MutexGuard<'_, u32> {
        lock(&self.count)
    }
}
