//! The machine, its time, and waiting for other threads and processes.

use crate::io::sys::unix::{clock_ms, uuid_of};
use rustix::{
    fs::Timespec,
    io::Errno,
    rand::{GetRandomFlags, getrandom},
    thread::{
        futex::{self, Flags},
        gettid,
    },
};
use std::{fs, io, os::unix::fs::MetadataExt, sync::atomic::AtomicU32, time::Duration};

/// The id of this boot of the machine, which all processes know. `None` if it is not reported.
pub(crate) fn boot_id() -> Option<[u8; 16]> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    uuid_of(text.trim())
}

/// The PID namespace: process ids are only comparable within one. 0 if it is not reported.
pub(crate) fn process_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino())
}

/// Fills the bytes with random ones.
pub(crate) fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The system's id of this thread. Not 0. The system call is made directly: glibc has a function
/// for it only since 2.30.
pub(crate) fn thread_id() -> u64 {
    gettid().as_raw_nonzero().get() as u64
}

/// Milliseconds since the machine was started, to within a few. All processes have the same clock.
#[inline]
pub(crate) fn uptime_ms() -> u64 {
    clock_ms(libc::CLOCK_MONOTONIC_COARSE)
}

/// Sleeps while `word` has the value `expected`, until it is woken, for at most `limit`. May wake
/// up spuriously.
pub(crate) fn sleep_on(word: &AtomicU32, expected: u32, limit: Duration) {
    let limit = Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: limit.subsec_nanos().into(),
    };
    // The caller checks the word again, whatever the reason.
    let _ = futex::wait(word, Flags::empty(), expected, Some(&limit));
}

/// Wakes one thread that sleeps on `word`. Returns whether there was one.
pub(crate) fn wake_one(word: &AtomicU32) -> bool {
    futex::wake(word, Flags::empty(), 1).is_ok_and(|woken| woken > 0)
}

/// Wakes all threads that sleep on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::empty(), i32::MAX as u32);
}
