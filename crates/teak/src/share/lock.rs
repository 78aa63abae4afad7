//! A lock that processes share, and that outlives whoever dies with it.
//!
//! It is a word: who holds it, or 0, and whether somebody may sleep until it is free. Taking it is one
//! instruction, and the word says from then on whose it is; so nothing is in between at which a process could
//! die unnoticed. Who waits looks now and then whether the holder lives, and takes the lock from the dead. A lock of
//! the C library would do that too, but belongs to a thread, and a write transaction may end on another one than it
//! began on.
//!
//! Who comes when it is free takes it, even if others wait who are not awake yet. So that none of them waits for
//! ever, that happens only so often, and then who comes has to sleep as well.
//!
//! Threads of one process count as one: they have to keep each other out before they come here.

use crate::io::{Memory, sleep_on, wake_one};
use std::{
    sync::{
        Arc,
        atomic::{
            AtomicU32,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};

/// Set while somebody may sleep.
const WAITED_FOR: u32 = 1 << 31;
/// A holder that is no process: whoever waits takes the lock from the dead.
const ABANDONED: u32 = !WAITED_FOR;
/// So often somebody is passed over.
const PASSED_OVER_MAX: u32 = 16;
/// So long one sleeps before looking whether the holder lives.
const PATIENCE: Duration = Duration::from_millis(20);

/// A lock in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct SharedLock {
    memory: Arc<Memory>,
    /// Which word of 32 bits. The one behind it counts how often somebody was passed over, and the next says who took the
    /// lock last.
    index: usize,
}

/// How a lock was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum LockOutcome {
    /// It was free.
    Free,
    /// It was free, and nobody else has had it since this process had.
    Unchanged,
    /// This process had it; or it was taken from a process that died with it. What it guards may be half-changed.
    Abandoned,
}

impl SharedLock {
    pub(crate) fn new(memory: Arc<Memory>, index: usize) -> Self {
        Self { memory, index }
    }

    /// Waits for the lock, for as long as `limit`; `None` if that was not enough. `me` is not 0, and `is_alive` tells of others.
    pub(crate) fn take(
        &self,
        me: u32,
        limit: Option<Duration>,
        is_alive: impl Fn(u32) -> bool,
    ) -> Option<LockOutcome> {
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
        let mut looked = Instant::now();
        loop {
            let found = self.word().load(Relaxed);
            let holder = found & !WAITED_FOR;
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let is_over = left == Some(Duration::ZERO);
            let is_dead = holder == me
                || holder != 0 && (is_over || looked.elapsed() >= PATIENCE) && {
                    looked = Instant::now();
                    !is_alive(holder)
                };
            if is_dead || holder == 0 && (has_slept || self.may_pass(found)) {
                // Others may sleep as well.
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
            let patience = left.map_or(PATIENCE, |left| left.min(PATIENCE));
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

    /// Gives the lock back that `me` took. Does nothing if another process has taken it from this one meanwhile.
    pub(crate) fn give_back(&self, me: u32) {
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

    /// Has others take the lock from `me` as from the dead. Does nothing if another process has it.
    pub(crate) fn abandon(&self, me: u32) {
        let abandoned = |found: u32| {
            let is_own = found & !WAITED_FOR == me;
            is_own.then_some(found | ABANDONED)
        };
        let _ = self.word().fetch_update(Release, Relaxed, abandoned);
    }

    /// Nobody has it.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn forget(&self) {
        self.word().store(0, Release);
    }

    /// Who has the lock at this moment; 0 if nobody has.
    pub(crate) fn holder(&self) -> u32 {
        self.word().load(Relaxed) & !WAITED_FOR
    }

    /// Whether somebody waits for the lock, which is the caller's.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.word().load(Relaxed) & WAITED_FOR != 0
    }

    fn may_pass(&self, found: u32) -> bool {
        found & WAITED_FOR == 0 || self.passed_over().load(Relaxed) < PASSED_OVER_MAX
    }

    /// Only who has the lock counts.
    fn note_passing(&self, has_passed: bool) {
        let count = match has_passed {
            true => self.passed_over().load(Relaxed).wrapping_add(1),
            false => 0,
        };
        self.passed_over().store(count, Relaxed);
    }

    /// Who dies before this is done leaves a lock that is taken from the dead.
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
