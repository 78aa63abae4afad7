//! The commit notification: a word on which threads of any process wait until a state becomes
//! visible.
//!
//! The word contains the number of wake-ups, and whether a thread may have been waiting since the
//! last one. A waiter first sets that bit and then checks whether it still has to wait. A notifier
//! first makes the state visible and then checks the bit. Both have a fence between the two steps,
//! so one of the two sees the other. If no thread waits, notifying is one read of a word in the
//! cache line of the visible state.
//!
//! Notifying clears the bit, so a process that died while waiting is woken once and then forgotten.

use super::words::{AcqRel, AtomicU32, Memory, Relaxed, SeqCst, fence, sleep_on, wake_all};
use std::{sync::Arc, time::Duration};

/// Set while a thread may wait.
const WAITED_FOR: u32 = 1 << 31;

/// A commit notification in memory that processes may share.
#[derive(Clone, Debug)]
pub(crate) struct CommitNotifier {
    memory: Arc<Memory>,
    /// Index of its 32-bit word.
    index: usize,
}

impl CommitNotifier {
    pub(crate) fn new(memory: Arc<Memory>, index: usize) -> Self {
        Self { memory, index }
    }

    /// Wakes all waiting threads. The state that they wait for is visible already.
    pub(crate) fn notify(&self) {
        fence(SeqCst);
        if self.word().load(Relaxed) & WAITED_FOR != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let notified = |found: u32| Some(found.wrapping_add(1) & !WAITED_FOR);
        let _ = self.word().fetch_update(AcqRel, Relaxed, notified);
        wake_all(self.word());
    }

    /// Waits up to `limit` for a notification, unless `is_over` returns `true`. May return
    /// spuriously.
    pub(crate) fn wait(&self, limit: Duration, is_over: impl FnOnce() -> bool) {
        let awaited = self.word().fetch_or(WAITED_FOR, AcqRel) | WAITED_FOR;
        fence(SeqCst);
        if !is_over() {
            sleep_on(self.word(), awaited, limit);
        }
    }

    /// Whether a thread may be waiting.
    pub(crate) fn is_awaited(&self) -> bool {
        self.word().load(Relaxed) & WAITED_FOR != 0
    }

    fn word(&self) -> &AtomicU32 {
        &self.memory.half_words()[self.index]
    }
}
