//! What the system is told of how a file is read: whether it is to read more than it is asked for.

use super::mapping::Mapping;
use rustix::mm::Advice;
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Whether the system reads ahead of what is asked for, where the file is not in memory; see
/// [`Options::read_ahead`](crate::Options::read_ahead).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ReadAhead {
    /// While the file is at most half as long as the machine has memory. That is looked at again whenever it has doubled.
    Auto,
    /// Always: around each page that is missing, as much as the system thinks fit.
    On,
    /// Never: what is missing is read page by page.
    #[default]
    Off,
}

/// What was advised, and what to advise next.
#[derive(Debug)]
pub(super) struct Advisor {
    how: OnceLock<ReadAhead>,
    /// How long the file was when its length was looked at last.
    looked_at: AtomicU64,
}

impl Advisor {
    pub(super) fn new() -> Self {
        Self {
            how: OnceLock::new(),
            looked_at: AtomicU64::new(0),
        }
    }

    /// From now on, if nothing was said before.
    pub(super) fn set(&self, how: ReadAhead) {
        let _ = self.how.set(how);
    }

    /// What to advise for a file of this length.
    pub(super) fn advice(&self, file_len: u64) -> Advice {
        self.looked_at.store(file_len, Relaxed);
        let how = self.how.get().copied().unwrap_or_default();
        advice_for(how, file_len, memory_bytes())
    }

    /// Advises anew, if the file has doubled.
    pub(super) fn note_growth(&self, file_len: u64, mapping: &Mapping) {
        let is_automatic = self.how.get() == Some(&ReadAhead::Auto);
        if is_automatic && file_len / 2 >= self.looked_at.load(Relaxed) {
            mapping.advise_all(self.advice(file_len));
        }
    }
}

fn advice_for(how: ReadAhead, file_len: u64, memory_bytes: Option<u64>) -> Advice {
    let is_small = memory_bytes.is_some_and(|bytes| file_len <= bytes / 2);
    match how {
        ReadAhead::On => Advice::Normal,
        ReadAhead::Auto if is_small => Advice::Normal,
        // Point reads: the system would read megabytes around each page for nothing.
        ReadAhead::Auto | ReadAhead::Off => Advice::Random,
    }
}

/// How much memory the machine has, if it says so.
fn memory_bytes() -> Option<u64> {
    // SAFETY: the call has no requirements.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    let pages = u64::try_from(pages).ok().filter(|pages| *pages > 0)?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_ahead_as_they_fit_into_memory() {
        let memory = Some(1 << 30);
        for (how, len, expected) in [
            (ReadAhead::Off, 1, Advice::Random),
            (ReadAhead::On, 1 << 40, Advice::Normal),
            (ReadAhead::Auto, 1 << 29, Advice::Normal),
            (ReadAhead::Auto, (1 << 29) + 1, Advice::Random),
        ] {
            assert_eq!(advice_for(how, len, memory), expected, "{how:?}, {len}");
        }
        assert_eq!(advice_for(ReadAhead::Auto, 1, None), Advice::Random);
        assert!(memory_bytes().is_some_and(|bytes| bytes > 1 << 20));
    }
}
