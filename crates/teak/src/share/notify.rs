//! A bell that is rung when a state becomes visible, for those who wait for that in whatever process.
//!
//! It is a word: how often it was rung for somebody, and whether somebody waits since. Who waits says so first and
//! looks then whether there is anything to wait for; who rings has made it so first and looks then whether somebody
//! waits. Between the two stands a fence on either side, so one of the two sees the other. Where nobody waits, ringing is a
//! look at a word that stands in the cache line of the visible state.
//!
//! Ringing takes back what who waited has said, so that who died waiting is woken once and then forgotten.

use super::words::{AcqRel, AtomicU32, Memory, Relaxed, SeqCst, fence, sleep_on, wake_all};
use std::{sync::Arc, time::Duration};

/// Set while somebody may wait.
const WAITED_FOR: u32 = 1 << 31;

/// A bell in memory that processes may share.
#[derive(Clone, Debug)]
pub(crate) struct CommitNotifier {
    memory: Arc<Memory>,
    /// Which word of 32 bits.
    index: usize,
}

impl CommitNotifier {
    pub(crate) fn new(memory: Arc<Memory>, index: usize) -> Self {
        Self { memory, index }
    }

    /// Wakes all who wait. What they wait for is so already.
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

    /// Waits until the bell is rung, for as long as `limit`, unless there is nothing to wait for any more; may return for no
    /// reason.
    pub(crate) fn wait(&self, limit: Duration, is_over: impl FnOnce() -> bool) {
        let awaited = self.word().fetch_or(WAITED_FOR, AcqRel) | WAITED_FOR;
        fence(SeqCst);
        if !is_over() {
            sleep_on(self.word(), awaited, limit);
        }
    }

    fn word(&self) -> &AtomicU32 {
        &self.memory.half_words()[self.index]
    }
}
