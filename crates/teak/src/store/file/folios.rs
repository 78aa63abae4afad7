//! Large folios that small writes go to: found, and taken apart.
//!
//! A file system with large folios keeps 2 MiB of the file as one huge page, which is what lookups
//! want. But the ext file systems walk all 512 blocks of a folio for each write into it, and again
//! when it is written out: a commit of four pages took 100 us longer than with pages of their own
//! (260 instead of 160, Linux 6.18). So a stretch of 2 MiB that small writes go to again and again
//! is split into pages, once, after a flush: only a folio that is clean can be split.

use super::blocks::HUGE_PAGE_LEN;

/// Longer writes are few enough for their bytes that the walks do not matter.
const SMALL_LEN: u64 = 64 << 10;
/// Small writes to a stretch before it is split. Rare ones leave it to the lookups.
const FIRST_TRY: u16 = 4;
/// A split fails, unnoticed, where somebody has written since the flush, so it is tried again after
/// so many writes,
const TRY_EVERY: u16 = 16;
/// and no more after these.
const LAST_TRY: u16 = 1024;

/// Small writes to the file, counted for each stretch of 2 MiB.
#[derive(Debug, Default)]
pub(super) struct SmallWrites {
    counts: Vec<u16>,
    /// Where the last of the writes went that are due.
    due: Vec<u64>,
}

impl SmallWrites {
    pub(super) fn note(&mut self, offset: u64, len: u64) {
        if len > SMALL_LEN {
            return;
        }
        let index = (offset / HUGE_PAGE_LEN) as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        let count = &mut self.counts[index];
        if *count < LAST_TRY {
            *count += 1;
            if *count % TRY_EVERY == FIRST_TRY {
                self.due.push(offset);
            }
        }
    }

    /// Stretches to split now, each as the offset of a byte in it.
    pub(super) fn take_due(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.due)
    }
}

#[cfg(test)]
#[path = "folios_tests.rs"]
mod tests;
