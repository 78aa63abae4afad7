//! Noticing that this process was forked: a child has its parent's memory and files, and none of its
//! threads and locks, so what it inherited must not be used.

use std::sync::{
    Once,
    atomic::{AtomicU32, Ordering::Relaxed},
};

/// How many forks there are between the process that loaded this code and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn note_fork() {
    FORKS.fetch_add(1, Relaxed);
}

/// A process, to be told from its children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Generation(u32);

impl Generation {
    /// That of this process. From the first call on, forks are noticed that the C library makes.
    pub(crate) fn current() -> Self {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            // SAFETY: the handler only adds to an atomic number, which a child may do at any point.
            // It can fail for lack of memory, and then forks are not noticed.
            let _ = unsafe { libc::pthread_atfork(None, None, Some(note_fork)) };
        });
        Self(FORKS.load(Relaxed))
    }

    /// Whether this is a child of the process that it is of.
    #[inline]
    pub(crate) fn is_past(self) -> bool {
        FORKS.load(Relaxed) != self.0
    }
}
