//! Waiting for a word of a file that processes share. The names of its two events are those of the
//! file and of the word's place in it.
//!
//! A waiter resets an event, compares the word, and waits. A notifier changes the word, and sets
//! both events. The last bit of the awaited value says which of them a waiter takes, so the next
//! waiters, for the word's new value, usually reset the other one. A waiter that is overtaken
//! nevertheless looks at the word after [`LONGEST_WAIT`].

use super::check;
use crate::io::sys::types::FileId;
use std::{
    io, iter, ptr,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    time::{Duration, Instant},
};
use windows_sys::Win32::{
    Foundation::{CloseHandle, HANDLE},
    System::Threading::{CreateEventW, ResetEvent, SetEvent, WaitForSingleObject},
};

/// The longest time between two looks at the word: a process of another user may be unable to set
/// the events, and one that died has not set them.
const LONGEST_WAIT: Duration = Duration::from_millis(10);

/// The events of a word.
#[derive(Debug)]
pub(super) struct WordEvents([NamedEvent; 2]);

#[derive(Debug)]
struct NamedEvent(HANDLE);

// SAFETY: a handle may be used by any thread.
unsafe impl Send for NamedEvent {}
// SAFETY: a handle may be used by any thread.
unsafe impl Sync for NamedEvent {}

impl WordEvents {
    /// Creates or opens the events of the word at this offset in a file.
    pub(super) fn open(file: FileId, offset: u64) -> io::Result<Self> {
        debug_assert!(
            offset.is_multiple_of(size_of::<u32>() as u64),
            "the events are those of a word"
        );
        let open = |number: u8| {
            let (volume, index) = file;
            NamedEvent::open(&format!(
                "Global\\teak-{volume:x}-{index:x}-{offset:x}-{number}"
            ))
        };
        Ok(Self([open(0)?, open(1)?]))
    }

    /// Waits until the word is not `expected`, for at most `limit`. May return early.
    pub(super) fn wait(&self, word: &AtomicU32, expected: u32, limit: Duration) {
        let event = &self.0[expected as usize & 1];
        let begun = Instant::now();
        loop {
            event.reset();
            let left = limit.saturating_sub(begun.elapsed());
            if word.load(SeqCst) != expected {
                // Other waiters may need what was just reset.
                event.set();
                return;
            }
            if left.is_zero() || event.wait(left.min(LONGEST_WAIT)) {
                return;
            }
        }
    }

    /// Wakes all who wait for the word, which was changed.
    pub(super) fn notify(&self) {
        self.0.iter().for_each(NamedEvent::set);
    }
}

impl NamedEvent {
    /// An event that stays set until it is reset.
    fn open(name: &str) -> io::Result<Self> {
        let name: Vec<u16> = name.encode_utf16().chain(iter::once(0)).collect();
        // SAFETY: the name ends with a zero.
        let event = unsafe { CreateEventW(ptr::null(), 1, 0, name.as_ptr()) };
        check((!event.is_null()).into())?;
        Ok(Self(event))
    }

    fn set(&self) {
        // SAFETY: the handle is open.
        unsafe { SetEvent(self.0) };
    }

    fn reset(&self) {
        // SAFETY: the handle is open.
        unsafe { ResetEvent(self.0) };
    }

    /// Whether it is set, or becomes so in time.
    fn wait(&self, limit: Duration) -> bool {
        let limit_ms = limit.as_millis().max(1) as u32;
        // SAFETY: the handle is open.
        unsafe { WaitForSingleObject(self.0, limit_ms) == 0 }
    }
}

impl Drop for NamedEvent {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and nobody else has it.
        unsafe { CloseHandle(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Arc, thread};

    #[test]
    fn a_change_of_a_word_wakes_waiters_of_other_handles() {
        let word = Arc::new(AtomicU32::new(7));
        let file = (u64::from(std::process::id()), 1);
        let threads = [0; 4].map(|_| {
            let word = Arc::clone(&word);
            thread::spawn(move || {
                let events = WordEvents::open(file, 64).unwrap();
                for expected in 7..200 {
                    while word.load(SeqCst) == expected {
                        events.wait(&word, expected, Duration::from_secs(5));
                    }
                }
            })
        });
        let events = WordEvents::open(file, 64).unwrap();
        for _ in 7..200 {
            thread::sleep(Duration::from_micros(200));
            word.fetch_add(1, SeqCst);
            events.notify();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn waiting_ends_in_time() {
        let events = WordEvents::open((u64::from(std::process::id()), 2), 0).unwrap();
        let begun = Instant::now();
        events.wait(&AtomicU32::new(1), 1, Duration::from_millis(25));
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }
}
