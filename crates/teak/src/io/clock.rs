//! Thread id and time, cheap enough for every reader to record.

use super::sys;
pub(crate) use super::sys::uptime_ms;
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
                let id = sys::thread_id();
                known.set(id);
                id
            }
            id => id,
        })
        .unwrap_or_default()
}
