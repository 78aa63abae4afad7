//! Waiting for a change of a word.

use super::sections::events_at;
use std::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::{Duration, Instant},
};
use windows_sys::Win32::System::Threading::{WaitOnAddress, WakeByAddressAll};

/// The longest pause between two looks at a word: another process may have changed it.
const PAUSE_MAX: Duration = Duration::from_millis(1);

/// Sleeps while `word` has the value `expected`, until it is woken, for at most `limit`. May wake
/// up spuriously. If the word has no events, only a thread of this process wakes it at once.
pub(crate) fn sleep_on(word: &AtomicU32, expected: u32, limit: Duration) {
    if let Some(events) = events_at(ptr::from_ref(word).addr()) {
        return events.wait(word, expected, limit);
    }
    let begun = Instant::now();
    let pause_ms = PAUSE_MAX.min(limit).as_millis().max(1) as u32;
    while word.load(Relaxed) == expected && begun.elapsed() < limit {
        let address = ptr::from_ref(word).cast::<c_void>();
        let compared = ptr::from_ref(&expected).cast::<c_void>();
        // SAFETY: both addresses have four bytes that are valid for reading.
        let is_woken = unsafe { WaitOnAddress(address, compared, size_of::<u32>(), pause_ms) };
        if is_woken != 0 {
            return;
        }
    }
}

/// Wakes all threads that sleep on `word`. It is not known whether there is one.
pub(crate) fn wake_one(word: &AtomicU32) -> bool {
    wake_all(word);
    false
}

/// Wakes all threads that sleep on `word`: those of this process if it has no events.
pub(crate) fn wake_all(word: &AtomicU32) {
    match events_at(ptr::from_ref(word).addr()) {
        Some(events) => events.notify(),
        // SAFETY: the address is only compared with those of sleeping threads.
        None => unsafe { WakeByAddressAll(ptr::from_ref(word).cast()) },
    }
}
