//! Thread id and time, cheap enough for every reader to record.

use std::cell::Cell;

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The system's id of this thread.
#[inline]
pub(crate) fn thread_id() -> u64 {
    THREAD
        .try_with(|known| match known.get() {
            0 => {
                // SAFETY: the call only returns a number.
                let id = unsafe { libc::gettid() } as u64;
                known.set(id);
                id
            }
            id => id,
        })
        .unwrap_or_default()
}

/// Milliseconds since the machine was started, to within a few. All processes have the same clock.
#[inline]
pub(crate) fn uptime_ms() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
