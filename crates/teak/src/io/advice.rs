//! Advice to the system about read-ahead.

use super::{
    mapping::Mapping,
    sys::{Advice, memory_bytes},
};
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Whether the system reads ahead when the file is not in memory. See
/// [`Options::read_ahead`](crate::Options::read_ahead).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ReadAhead {
    /// Reads ahead while the file is at most half as long as the machine's memory. This is checked
    /// again whenever the file has doubled.
    Auto,
    /// Always reads ahead: around each missing page, as much as the system chooses.
    On,
    /// Never reads ahead: missing pages are read one by one.
    #[default]
    Off,
}

/// The advice given, and when to check again.
#[derive(Debug)]
pub(super) struct Advisor {
    read_ahead: OnceLock<ReadAhead>,
    /// Length of the file at the last check.
    checked_len: AtomicU64,
}

impl Advisor {
    pub(super) fn new() -> Self {
        Self {
            read_ahead: OnceLock::new(),
            checked_len: AtomicU64::new(0),
        }
    }

    /// Sets the policy, unless one was set before.
    pub(super) fn set(&self, read_ahead: ReadAhead) {
        let _ = self.read_ahead.set(read_ahead);
    }

    /// The advice for a file of this length.
    pub(super) fn advice(&self, file_len: u64) -> Advice {
        self.checked_len.store(file_len, Relaxed);
        let read_ahead = self.read_ahead.get().copied().unwrap_or_default();
        advice_for(read_ahead, file_len, memory_bytes())
    }

    /// Repeats the advice if the file has doubled.
    pub(super) fn note_growth(&self, file_len: u64, mapping: &Mapping) {
        let is_automatic = self.read_ahead.get() == Some(&ReadAhead::Auto);
        if is_automatic && file_len / 2 >= self.checked_len.load(Relaxed) {
            mapping.advise_all(self.advice(file_len));
        }
    }
}

fn advice_for(read_ahead: ReadAhead, file_len: u64, memory_bytes: Option<u64>) -> Advice {
    let is_small = memory_bytes.is_some_and(|bytes| file_len <= bytes / 2);
    match read_ahead {
        ReadAhead::On => Advice::Normal,
        ReadAhead::Auto if is_small => Advice::Normal,
        // For point reads the system would read megabytes around each page for nothing.
        ReadAhead::Auto | ReadAhead::Off => Advice::Random,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_ahead_as_they_fit_into_memory() {
        let memory = Some(1 << 30);
        for (read_ahead, len, expected) in [
            (ReadAhead::Off, 1, Advice::Random),
            (ReadAhead::On, 1 << 40, Advice::Normal),
            (ReadAhead::Auto, 1 << 29, Advice::Normal),
            (ReadAhead::Auto, (1 << 29) + 1, Advice::Random),
        ] {
            assert_eq!(
                advice_for(read_ahead, len, memory),
                expected,
                "{read_ahead:?}, {len}"
            );
        }
        assert_eq!(advice_for(ReadAhead::Auto, 1, None), Advice::Random);
        assert!(memory_bytes().is_some_and(|bytes| bytes > 1 << 20));
    }
}
