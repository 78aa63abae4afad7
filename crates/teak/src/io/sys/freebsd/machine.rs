//! The machine, its time, and waiting for other threads and processes.

use crate::io::sys::unix::{clock_ms, system_value, uuid_of};
use std::{ptr, sync::atomic::AtomicU32, time::Duration};

/// The id of this boot, which all processes know: 16 bytes since FreeBSD 14.
pub(crate) fn boot_id() -> Option<[u8; 16]> {
    let found = system_value(c"kern.boot_id")?;
    found
        .as_slice()
        .try_into()
        .ok()
        .or_else(|| uuid_of(str::from_utf8(&found).ok()?.trim_end_matches('\0')))
}

/// The system's id of this thread. Not 0.
pub(crate) fn thread_id() -> u64 {
    // SAFETY: the call only returns a number.
    unsafe { libc::pthread_getthreadid_np() as u64 }
}

/// Milliseconds since the machine was started, to within a few. All processes have the same clock.
#[inline]
pub(crate) fn uptime_ms() -> u64 {
    clock_ms(libc::CLOCK_MONOTONIC_FAST)
}

/// The longest sleep in seconds: a day.
const SLEEP_SECONDS_MAX: u64 = 86_400;

/// Sleeps while `word` has the value `expected`, until it is woken, for at most `limit`. May wake
/// up spuriously.
pub(crate) fn sleep_on(word: &AtomicU32, expected: u32, limit: Duration) {
    let mut timeout = libc::_umtx_time {
        _timeout: libc::timespec {
            // The system adds the present time, which must not overflow.
            tv_sec: limit.as_secs().min(SLEEP_SECONDS_MAX) as i64,
            tv_nsec: limit.subsec_nanos().into(),
        },
        _flags: 0,
        _clockid: libc::CLOCK_MONOTONIC as u32,
    };
    let timeout_len = ptr::without_provenance_mut(size_of::<libc::_umtx_time>());
    // SAFETY: the word and the timeout are valid. The caller checks the word again, whatever the
    // reason for the return.
    let _ = unsafe {
        libc::_umtx_op(
            word.as_ptr().cast(),
            libc::UMTX_OP_WAIT_UINT,
            expected.into(),
            timeout_len,
            (&raw mut timeout).cast(),
        )
    };
}

/// Wakes all threads that sleep on `word`, because the system does not tell whether there are any:
/// callers then forget that somebody waits, and those who do must note it again.
pub(crate) fn wake_one(word: &AtomicU32) -> bool {
    wake_all(word);
    false
}

/// Wakes all threads that sleep on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    wake(word, i32::MAX as u64);
}

fn wake(word: &AtomicU32, count: u64) {
    let (address, none) = (word.as_ptr().cast(), ptr::null_mut());
    // SAFETY: the system uses only the address of the word.
    let _ = unsafe { libc::_umtx_op(address, libc::UMTX_OP_WAKE, count, none, none) };
}
