//! Memory that several parties read and change at any time: nothing but words that are atomic. It is
//! private to a process, or a file that processes share.

use super::stretch::Stretch;
use rustix::{
    fs::Timespec,
    thread::futex::{self, Flags},
};
use std::{
    fmt,
    fs::File,
    io, slice,
    sync::atomic::{AtomicU32, AtomicU64},
    time::Duration,
};

/// Words that start out as zero. Whoever uses it keeps each of them one size: 32 bits or 64.
pub(crate) struct Memory {
    stretch: Stretch,
}

impl Memory {
    /// Memory of this process, which the system provides as it is touched.
    pub(crate) fn private(len_bytes: usize) -> Self {
        // Not from the allocator, which may fill it with zeros although few of its pages are ever touched.
        let anonymous = Stretch::anonymous(len_bytes);
        Self {
            stretch: anonymous.unwrap_or_else(|_| Stretch::zeroed(len_bytes)),
        }
    }

    /// The first bytes of a file. Those that are touched must have their blocks.
    pub(super) fn shared(file: &File, len_bytes: usize) -> io::Result<Self> {
        Ok(Self {
            stretch: Stretch::shared(file, len_bytes)?,
        })
    }

    /// Has nothing more to do with those who share it: what this process stores others do not see, nor the other way round. It
    /// keeps the first `kept_len_bytes` as they are; all else is zeros.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn detach(&self, kept_len_bytes: usize) -> io::Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        let kept_len = kept_len_bytes.min(self.stretch.len() as usize) / 8;
        let kept = &self.words()[..kept_len];
        let values: Vec<u64> = kept.iter().map(|word| word.load(Relaxed)).collect();
        self.stretch.detach()?;
        for (word, value) in kept.iter().zip(values) {
            word.store(value, Relaxed);
        }
        Ok(())
    }

    /// All words of 64 bits. The first stands at the start of a page.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let len = self.stretch.len() as usize / size_of::<AtomicU64>();
        // SAFETY: the stretch begins at a page, is that long, holds zeros or what was stored here, and is
        // read and written as atomic words only.
        unsafe { slice::from_raw_parts(self.stretch.base().as_ptr().cast(), len) }
    }

    /// All words of 32 bits.
    #[inline]
    pub(crate) fn half_words(&self) -> &[AtomicU32] {
        let len = self.stretch.len() as usize / size_of::<AtomicU32>();
        // SAFETY: as for `words`.
        unsafe { slice::from_raw_parts(self.stretch.base().as_ptr().cast(), len) }
    }
}

/// Sleeps while `word` holds `expected`, until it is woken, for as long as `limit`, or for no reason.
pub(crate) fn sleep_on(word: &AtomicU32, expected: u32, limit: Duration) {
    let limit = Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: limit.subsec_nanos().into(),
    };
    // Whoever calls looks at the word again, whatever the reason is.
    let _ = futex::wait(word, Flags::empty(), expected, Some(&limit));
}

/// Wakes one who sleeps on `word`; says whether there was one.
pub(crate) fn wake_one(word: &AtomicU32) -> bool {
    futex::wake(word, Flags::empty(), 1).is_ok_and(|woken| woken > 0)
}

/// Wakes all who sleep on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::empty(), i32::MAX as u32);
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("len_bytes", &self.stretch.len())
            .finish()
    }
}
