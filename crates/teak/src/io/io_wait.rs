//! Estimates from recent timings whether reads wait for the disk.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Operations of a group with a longer mean time may have waited for the disk. Operations in memory
/// take less, even if a page's checksum is verified for the first time.
const OPERATION_MAX: Duration = Duration::from_micros(6);
/// Number of groups to examine after such a slow group, and (below) after a page that was not in
/// memory.
const GROUPS_AFTER_SLOW: u32 = 2;
const GROUPS_AFTER_ABSENT: u32 = 32;
const _: () = assert!(
    GROUPS_AFTER_SLOW < GROUPS_AFTER_ABSENT,
    "an absent page says more about the disk than a slow group"
);
/// If all pages were in memory and the group was slow for another reason, this many slow groups are
/// skipped before the next examination.
const SLOW_PASSED: u32 = 64;

/// Timings of groups of operations. If they wait for the disk, a system call for each page is
/// worthwhile, to have all pages of a group read at the same time. If all pages are in memory,
/// these calls would take most of the time.
#[derive(Default, Debug)]
pub(crate) struct IoWaitEstimator {
    /// Number of coming groups for which the system is asked which of their pages are in memory.
    groups: AtomicU32,
    /// Number of coming slow groups to skip.
    passed: AtomicU32,
}

impl IoWaitEstimator {
    /// The estimator for data that is always in memory.
    pub(crate) fn fast() -> &'static Self {
        static FAST: IoWaitEstimator = IoWaitEstimator {
            groups: AtomicU32::new(0),
            passed: AtomicU32::new(0),
        };
        &FAST
    }

    /// Whether pages should be announced before they are read.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.groups.load(Relaxed) > 0
    }

    /// Notes a group of operations that began at `begun`.
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
    fn pages_are_inspected_while_some_are_absent() {
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
