//! The machine, its time, and waiting for other threads and processes.

use crate::io::sys::{
    poll,
    unix::{clock_ms, system_value, uuid_of, weak},
};
use std::{
    ffi::c_void,
    io, mem,
    sync::{OnceLock, atomic::AtomicU32},
    time::Duration,
};

/// The id of this boot, which all processes know.
pub(crate) fn boot_id() -> Option<[u8; 16]> {
    let text = system_value(c"kern.bootsessionuuid")?;
    uuid_of(str::from_utf8(&text).ok()?.trim_end_matches('\0'))
}

/// The system's id of this thread. Not 0.
pub(crate) fn thread_id() -> u64 {
    let mut id = 0;
    // SAFETY: the number is valid for writing; no thread stands for this one.
    unsafe { libc::pthread_threadid_np(0, &raw mut id) };
    id
}

/// Milliseconds since the machine was started, to within a few. All processes have the same clock.
#[inline]
pub(crate) fn uptime_ms() -> u64 {
    clock_ms(libc::CLOCK_MONOTONIC_RAW_APPROX)
}

/// Calls that wait on words, since macOS 14.4.
#[derive(Clone, Copy)]
struct Calls {
    wait: Wait,
    wake_any: Wake,
    wake_all: Wake,
}

/// Word, expected value, length of the word, flags, clock, nanoseconds.
type Wait = unsafe extern "C" fn(*mut c_void, u64, usize, u32, u32, u64) -> i32;
/// Word, length of the word, flags.
type Wake = unsafe extern "C" fn(*mut c_void, usize, u32) -> i32;

/// The only clock of the calls.
const MACH_ABSOLUTE_TIME: u32 = 32;

/// The calls, unless the system is older.
fn calls() -> Option<Calls> {
    static CALLS: OnceLock<Option<Calls>> = OnceLock::new();
    *CALLS.get_or_init(|| {
        let wait = weak(c"os_sync_wait_on_address_with_timeout")?;
        let wake_any = weak(c"os_sync_wake_by_address_any")?;
        let wake_all = weak(c"os_sync_wake_by_address_all")?;
        // SAFETY: the functions of these names have these types.
        Some(unsafe {
            Calls {
                wait: mem::transmute::<*mut c_void, Wait>(wait),
                wake_any: mem::transmute::<*mut c_void, Wake>(wake_any),
                wake_all: mem::transmute::<*mut c_void, Wake>(wake_all),
            }
        })
    })
}

/// Sleeps while `word` has the value `expected`, until it is woken, for at most `limit`. May wake
/// up spuriously.
pub(crate) fn sleep_on(word: &AtomicU32, expected: u32, limit: Duration) {
    let Some(calls) = calls() else {
        return poll::sleep_on(word, expected, limit);
    };
    // A limit of 0 is refused.
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).max(1);
    let (address, flags) = (word.as_ptr().cast(), libc::OS_SYNC_WAIT_ON_ADDRESS_SHARED);
    // SAFETY: the word is valid, and the system only reads it.
    let answer = unsafe {
        (calls.wait)(
            address,
            expected.into(),
            size_of::<u32>(),
            flags,
            MACH_ABSOLUTE_TIME,
            limit_ns,
        )
    };
    let code = io::Error::last_os_error().raw_os_error();
    let is_over = answer >= 0 || matches!(code, Some(libc::ETIMEDOUT | libc::EINTR));
    if !is_over {
        poll::sleep_on(word, expected, limit);
    }
}

/// Wakes one thread that sleeps on `word`. Returns whether there was one.
pub(crate) fn wake_one(word: &AtomicU32) -> bool {
    calls().is_some_and(|calls| wake(word, calls.wake_any))
}

/// Wakes all threads that sleep on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    if let Some(calls) = calls() {
        wake(word, calls.wake_all);
    }
}

fn wake(word: &AtomicU32, wake: Wake) -> bool {
    let flags = libc::OS_SYNC_WAKE_BY_ADDRESS_SHARED;
    // SAFETY: the system uses only the address of the word.
    unsafe { wake(word.as_ptr().cast(), size_of::<u32>(), flags) >= 0 }
}
