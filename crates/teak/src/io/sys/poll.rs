//! Waiting for a change of a word on systems where one process cannot wake another.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// The first and the longest pause between two looks at the word.
const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(1)];

/// Sleeps while `word` has the value `expected`, for at most `limit`.
pub(crate) fn sleep_on(word: &AtomicU32, expected: u32, limit: Duration) {
    debug_assert!(PAUSES[0] < PAUSES[1], "pauses become longer");
    let (begun, mut pause) = (Instant::now(), PAUSES[0]);
    while word.load(Relaxed) == expected {
        let Some(left) = limit.checked_sub(begun.elapsed()) else {
            return;
        };
        thread::sleep(pause.min(left));
        pause = (2 * pause).min(PAUSES[1]);
    }
}

/// Those who sleep see that the word changes. Whether there is one is not known.
pub(crate) fn wake_one(_word: &AtomicU32) -> bool {
    false
}

pub(crate) fn wake_all(_word: &AtomicU32) {}
