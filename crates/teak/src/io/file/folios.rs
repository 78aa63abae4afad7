//! Large folios that small writes go to: found, and taken apart.
//!
//! A file system with large folios keeps 2 MiB of the file as one huge page, which is what lookups
//! want. But the ext file systems walk all 512 blocks of a folio for each write into it, and again
//! when it is written out: a commit of four pages took 100 us longer than with pages of their own
//! (260 instead of 160, Linux 6.18). So a stretch of 2 MiB that small writes go to in one flush after
//! the other is split into pages, once, after a flush: only a folio that is clean can be split.

use super::blocks::HUGE_PAGE_LEN;

/// Longer writes are few enough for their bytes that the walks do not matter.
const SMALL_LEN: u64 = 64 << 10;
/// Flushes with small writes to a stretch before it is split. Rare ones leave it to the lookups.
const FIRST_TRY: u16 = 4;
/// A split fails, unnoticed, where somebody has written since the flush, so it is tried again after
/// so many flushes,
const TRY_EVERY: u16 = 16;
/// and no more after these.
const LAST_TRY: u16 = 1024;
/// A split takes 100 us, so that no flush waits for more of them.
const SPLITS_MAX: usize = 8;
/// So many wait for the next flushes; others have their turn when they are tried again.
const DUE_MAX: usize = 64;

/// Small writes to the file.
#[derive(Debug, Default)]
pub(super) struct SmallWrites {
    /// For each stretch of 2 MiB.
    stretches: Vec<WrittenStretch>,
    /// Stretches that were written to since the last flush.
    written: Vec<usize>,
    /// Where small writes went whose stretches are to be split.
    due: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct WrittenStretch {
    flushes: u16,
    is_written: bool,
}

impl SmallWrites {
    pub(super) fn note(&mut self, offset: u64, len: u64) {
        if len > SMALL_LEN {
            return;
        }
        let index = (offset / HUGE_PAGE_LEN) as usize;
        if self.stretches.len() <= index {
            self.stretches.resize(index + 1, WrittenStretch::default());
        }
        let stretch = &mut self.stretches[index];
        if stretch.flushes >= LAST_TRY || std::mem::replace(&mut stretch.is_written, true) {
            return;
        }
        stretch.flushes += 1;
        let is_due = stretch.flushes % TRY_EVERY == FIRST_TRY;
        self.written.push(index);
        if is_due && self.due.len() < DUE_MAX {
            self.due.push(offset);
        }
    }

    /// Notes that a flush is over; returns stretches to split now, each as the offset of a byte in it.
    pub(super) fn end_flush(&mut self) -> Vec<u64> {
        for index in self.written.drain(..) {
            self.stretches[index].is_written = false;
        }
        let kept = self.due.len().saturating_sub(SPLITS_MAX);
        self.due.split_off(kept)
    }
}

#[cfg(test)]
#[path = "folios_tests.rs"]
mod tests;
