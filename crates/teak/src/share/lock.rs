//! A lock that processes share and that survives the death of its holder.
//!
//! The lock is a word: its holder, or 0, and whether a process may be sleeping until it is free.
//! Taking it is one instruction, after which the word names the holder. So a holder that dies is
//! always identifiable. A waiting process checks periodically whether the holder lives, and takes
//! the lock from a dead one. A robust mutex of the C library does that too, but belongs to a
//! thread, and a write transaction may end on another thread than it began on.
//!
//! A process that arrives when the lock is free takes it, even if others wait that are not awake
//! yet. This is limited to [`PASSED_OVER_MAX`] times, so that no process waits for ever; after
//! that, an arriving process has to sleep as well.
//!
//! The threads of one process count as one. They have to exclude each other before they take the
//! lock.

use super::words::{Acquire, AtomicU32, Memory, Relaxed, Release, sleep_on, wake_one};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Set while a process may be sleeping.
const WAITED_FOR: u32 = 1 << 31;
/// A holder that is no process: a waiting process takes the lock as from a dead one.
const ABANDONED: u32 = !WAITED_FOR;
/// How often waiting processes may be passed over.
const PASSED_OVER_MAX: u32 = 16;
/// How long a process sleeps before it checks whether the holder lives.
const HOLDER_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// A lock in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct SharedLock {
    memory: Arc<Memory>,
    /// Index of the lock's 32-bit word. The next word counts how often waiting processes were
    /// passed over, and the one after it names the last taker.
    index: usize,
}

/// How a lock was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum LockOutcome {
    /// It was free.
    Free,
    /// It was free, and no other process has held it since this one did.
    Unchanged,
    /// It was held by this process, or taken from a process that died. The data that it guards may
    /// be half-changed.
    Abandoned,
}

impl SharedLock {
    pub(crate) fn new(memory: Arc<Memory>, index: usize) -> Self {
        assert!(
            memory.half_words().len() > index + 2,
            "all three words of a lock are in the memory"
        );
        Self { memory, index }
    }

    /// Waits up to `limit` for the lock; `None` if it was not free in time. `me` is not 0.
    /// `is_alive` reports whether another process lives.
    pub(crate) fn take(
        &self,
        me: u32,
        limit: Option<Duration>,
        is_alive: impl Fn(u32) -> bool,
    ) -> Option<LockOutcome> {
        debug_assert!(
            is_holder(me),
            "the token of a holder is not that of a free or an abandoned lock"
        );
        match self.word().compare_exchange(0, me, Acquire, Relaxed) {
            Ok(_) => Some(self.note_taker(me)),
            Err(_) => self.wait(me, limit, is_alive),
        }
    }

    #[cold]
    fn wait(
        &self,
        me: u32,
        limit: Option<Duration>,
        is_alive: impl Fn(u32) -> bool,
    ) -> Option<LockOutcome> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut has_slept = false;
        let mut last_check = Instant::now();
        loop {
            let found = self.word().load(Relaxed);
            let holder = found & !WAITED_FOR;
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let is_over = left == Some(Duration::ZERO);
            let is_dead = holder == me
                || holder != 0 && (is_over || last_check.elapsed() >= HOLDER_CHECK_INTERVAL) && {
                    last_check = Instant::now();
                    !is_alive(holder)
                };
            if is_dead || holder == 0 && (has_slept || self.may_pass(found)) {
                // Other processes may be sleeping as well.
                let taken = me
                    | if has_slept {
                        WAITED_FOR
                    } else {
                        found & WAITED_FOR
                    };
                if self
                    .word()
                    .compare_exchange(found, taken, Acquire, Relaxed)
                    .is_ok()
                {
                    self.note_passing(!has_slept && found & WAITED_FOR != 0);
                    let taken = self.note_taker(me);
                    return Some(if is_dead {
                        LockOutcome::Abandoned
                    } else {
                        taken
                    });
                }
                continue;
            }
            if is_over {
                return None;
            }
            let patience = left.map_or(HOLDER_CHECK_INTERVAL, |left| {
                left.min(HOLDER_CHECK_INTERVAL)
            });
            let awaited = found | WAITED_FOR;
            if found == awaited
                || self
                    .word()
                    .compare_exchange(found, awaited, Relaxed, Relaxed)
                    .is_ok()
            {
                sleep_on(self.word(), awaited, patience);
                has_slept = true;
            }
        }
    }

    /// Releases the lock that `me` took. Does nothing if another process has taken it from this one
    /// meanwhile.
    pub(crate) fn give_back(&self, me: u32) {
        debug_assert!(
            is_holder(me),
            "only a process that can hold the lock releases it"
        );
        let word = self.word();
        let mut found = word.load(Relaxed);
        loop {
            if found & !WAITED_FOR != me {
                return;
            }
            match word.compare_exchange_weak(found, found & WAITED_FOR, Release, Relaxed) {
                Ok(_) => break,
                Err(other) => found = other,
            }
        }
        if found & WAITED_FOR != 0 && !wake_one(self.word()) {
            let _ = self
                .word()
                .compare_exchange(WAITED_FOR, 0, Relaxed, Relaxed);
        }
    }

    /// Lets others take the lock from `me` as from a dead process. Does nothing if another process
    /// holds it.
    pub(crate) fn abandon(&self, me: u32) {
        let abandoned = |found: u32| {
            let is_own = found & !WAITED_FOR == me;
            is_own.then_some(found | ABANDONED)
        };
        let _ = self.word().fetch_update(Release, Relaxed, abandoned);
    }

    /// Marks the lock as free.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn forget(&self) {
        self.word().store(0, Release);
    }

    /// The present holder; 0 if there is none.
    pub(crate) fn holder(&self) -> u32 {
        self.word().load(Relaxed) & !WAITED_FOR
    }

    /// Whether a process waits for the lock, which the caller holds.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.word().load(Relaxed) & WAITED_FOR != 0
    }

    fn may_pass(&self, found: u32) -> bool {
        found & WAITED_FOR == 0 || self.passed_over().load(Relaxed) < PASSED_OVER_MAX
    }

    /// Counts how often waiting processes were passed over. Only the holder calls this.
    fn note_passing(&self, has_passed: bool) {
        let count = match has_passed {
            true => self.passed_over().load(Relaxed).wrapping_add(1),
            false => 0,
        };
        self.passed_over().store(count, Relaxed);
    }

    /// Notes the holder as the last taker. If it dies before this is done, the lock is taken as
    /// from a dead process.
    fn note_taker(&self, me: u32) -> LockOutcome {
        let last = &self.memory.half_words()[self.index + 2];
        if last.load(Relaxed) == me {
            return LockOutcome::Unchanged;
        }
        last.store(me, Relaxed);
        LockOutcome::Free
    }

    fn word(&self) -> &AtomicU32 {
        &self.memory.half_words()[self.index]
    }

    fn passed_over(&self) -> &AtomicU32 {
        &self.memory.half_words()[self.index + 1]
    }
}

/// Whether a token can be that of a process that holds a lock.
fn is_holder(token: u32) -> bool {
    token != 0 && token != ABANDONED && token & WAITED_FOR == 0
}
