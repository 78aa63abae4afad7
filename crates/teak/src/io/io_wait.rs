//! Whether reading waits for the disk, as far as the time of what was read lately tells.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Operations of a group that take longer in the mean may have waited: what is in memory takes less, also where it is compared with
/// its checksum for the first time.
const OPERATION_MAX: Duration = Duration::from_micros(6);
/// After such a group so many are looked at, and so many after a page that was not in memory.
const GROUPS_AFTER_SLOW: u32 = 2;
const GROUPS_AFTER_ABSENT: u32 = 32;
/// Where all was in memory and slow otherwise, so many slow groups pass before it is looked again.
const SLOW_PASSED: u32 = 64;

/// How fast groups of operations are. Where they wait for the disk it is worth a call to the system for each page to have all of a group
/// read at the same time; where all is in memory those calls would take most of the time.
#[derive(Default, Debug)]
pub(crate) struct IoWaitEstimator {
    /// Groups to come for which it is asked what of their pages is in memory.
    groups: AtomicU32,
    /// Slow groups to come that are passed over.
    passed: AtomicU32,
}

impl IoWaitEstimator {
    /// Of what is always in memory.
    pub(crate) fn fast() -> &'static Self {
        static FAST: IoWaitEstimator = IoWaitEstimator {
            groups: AtomicU32::new(0),
            passed: AtomicU32::new(0),
        };
        &FAST
    }

    /// Whether pages are better asked for before they are read.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.groups.load(Relaxed) > 0
    }

    /// Notes how long a group of so many operations has taken, since it began.
    #[inline]
    pub(crate) fn note(&self, begun: Instant, operations: usize) {
        let groups = self.groups.load(Relaxed);
        if groups > 0 {
            self.groups.store(groups - 1, Relaxed);
        } else if begun.elapsed() > OPERATION_MAX * operations as u32 {
            self.note_slow();
        }
    }

    #[cold]
    fn note_slow(&self) {
        match self.passed.load(Relaxed).checked_sub(1) {
            Some(passed) => self.passed.store(passed, Relaxed),
            None => {
                self.groups.store(GROUPS_AFTER_SLOW, Relaxed);
                self.passed.store(SLOW_PASSED, Relaxed);
            }
        }
    }

    /// Notes that a page of the group was not in memory.
    pub(crate) fn note_absent(&self) {
        self.groups.store(GROUPS_AFTER_ABSENT, Relaxed);
        self.passed.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_looked_at_as_long_as_some_are_absent() {
        let io_wait = IoWaitEstimator::default();
        let slow = |count| {
            let begun = Instant::now() - Duration::from_millis(10);
            (0..count).for_each(|_| io_wait.note(begun, 32));
        };
        let fast = |count| (0..count).for_each(|_| io_wait.note(Instant::now(), 1 << 20));
        assert!(!io_wait.is_waiting());
        slow(1);
        assert!(io_wait.is_waiting());
        fast(GROUPS_AFTER_SLOW);
        assert!(
            !io_wait.is_waiting(),
            "all was in memory, and slow otherwise"
        );
        slow(SLOW_PASSED);
        assert!(!io_wait.is_waiting());
        slow(1);
        io_wait.note_absent();
        slow(GROUPS_AFTER_ABSENT - 1);
        assert!(io_wait.is_waiting());
        fast(1);
        assert!(!io_wait.is_waiting());
    }
}
