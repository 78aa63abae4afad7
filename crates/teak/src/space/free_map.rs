//! The free pages of the file, in memory: a bit for each page and a tree of summaries over them.
//!
//! Invariants: no bit at or behind `page_count` is set; `ready_count` is the number of set bits; a page in a hole is free, and
//! has no bit here;
//! every bitmap page whose bits may differ from what is on disk is in `changed`; no page below
//! `none_below` is free.

use super::{
    bits::Bits,
    holes::Holes,
    summary::{GROUP_PAGES, GROUP_WORDS, Summaries},
};
use crate::types::{PageNumber, Run};
use std::ops::Range;

/// Crumbs are looked for in so many words of bits before the summaries are asked.
const NEAR_WORDS: usize = 64;
/// The same in pages.
const NEAR_PAGES: u64 = 64 * NEAR_WORDS as u64;

/// How pages are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// Exactly as many as wanted, in a row: the lowest place that fits.
    Contiguous,
    /// At most as many as wanted, at least one: the lowest place that fits all, else the longest
    /// run there is (the lowest of those).
    UpTo,
    /// At most as many as wanted, at least one: the lowest free run, however short.
    Crumbs,
}

/// Which pages are free.
#[derive(Debug)]
pub(super) struct FreeMap {
    bits: Bits,
    page_count: u64,
    /// Free pages that are not in a hole.
    ready_count: u64,
    holes: Holes,
    none_below: u64,
    summaries: Summaries,
    pages_per_bitmap: u32,
    changed: Changed,
}

impl FreeMap {
    /// A file of `page_count` pages, none free.
    pub(super) fn new(pages_per_bitmap: u32, page_count: u64) -> Self {
        let mut map = Self {
            bits: Bits::default(),
            page_count: 0,
            ready_count: 0,
            holes: Holes::default(),
            none_below: 0,
            summaries: Summaries::default(),
            pages_per_bitmap,
            changed: Changed::default(),
        };
        map.resize(page_count);
        map
    }

    pub(super) fn page_count(&self) -> u64 {
        self.page_count
    }

    pub(super) fn free_count(&self) -> u64 {
        self.ready_count + self.holes.page_count()
    }

    /// Free pages that are not known to be in a hole.
    pub(super) fn ready_count(&self) -> u64 {
        self.ready_count
    }

    pub(super) fn is_free(&self, page: PageNumber) -> bool {
        let page = u64::from(page.0);
        self.bits.get(page) || self.holes.bits().get(page)
    }

    /// Whether no page of the run is free.
    pub(super) fn none_free(&self, run: Run) -> bool {
        self.bits.none(run) && self.holes.bits().none(run)
    }

    /// How many pages of the run are free.
    pub(super) fn count_free(&self, run: Run) -> u64 {
        self.count_ready(run) + self.count_in_holes(run)
    }

    /// Those of them that are in no hole.
    pub(super) fn count_ready(&self, run: Run) -> u64 {
        self.bits.count(run)
    }

    /// The lowest free page that is in no hole and has `count` such before it.
    pub(super) fn free_page_behind(&self, count: u64) -> Option<u64> {
        let mut left = count;
        for (index, word) in self.bits.words().iter().enumerate() {
            let free = u64::from(word.count_ones());
            if left >= free {
                left -= free;
                continue;
            }
            let rest = (0..left).fold(*word, |word, _| word & (word - 1));
            return Some(index as u64 * 64 + u64::from(rest.trailing_zeros()));
        }
        None
    }

    fn count_in_holes(&self, run: Run) -> u64 {
        match self.holes.bits().none(run) {
            true => 0,
            false => self.holes.bits().count(run),
        }
    }

    /// Makes pages free that are not.
    pub(super) fn free(&mut self, run: Run) {
        debug_assert!(
            self.none_free(run) && run.end() <= self.page_count,
            "{run:?} freed twice"
        );
        self.bits.set(run);
        self.none_below = self.none_below.min(u64::from(run.start.0));
        self.ready_count += u64::from(run.len);
        self.touch(run);
    }

    /// Takes free pages out that are in no hole.
    pub(super) fn take(&mut self, run: Run) {
        debug_assert!(self.bits.all(run), "{run:?} is not free");
        self.bits.clear(run);
        self.ready_count -= u64::from(run.len);
        self.touch(run);
    }

    /// Takes out a run of pages as `policy` has it, or nothing if there is none.
    pub(super) fn take_run(&mut self, want: u32, policy: Policy) -> Option<Run> {
        if want == 0 || self.ready_count == 0 {
            return None;
        }
        let start = self.find(want, policy)?;
        let run = self.run_at(start, want);
        self.take(run);
        Some(run)
    }

    /// The lowest stretch of `want` free pages, or the longest if none is as long.
    pub(super) fn longest(&mut self, want: u32) -> Option<Run> {
        let start = self.find(want, Policy::UpTo)?;
        Some(self.run_at(start, want))
    }

    fn run_at(&self, start: u64, want: u32) -> Run {
        let end = self.bits.next_clear(start, start + u64::from(want));
        Run::new(start as u32, (end - start) as u32)
    }

    /// Takes a run out as `policy` has it, but of no page in `zone`: the lowest place before it or not far behind it, else in the highest row.
    pub(super) fn take_outside(
        &mut self,
        want: u32,
        policy: Policy,
        zone: &Range<u64>,
    ) -> Option<Run> {
        self.summaries.refresh(self.bits.words());
        let mut least = match policy {
            Policy::Crumbs => 1,
            Policy::UpTo => want.min(self.summaries.longest()),
            Policy::Contiguous => want,
        };
        while least > 0 {
            let found = self.outside(least, want, zone);
            if let Some(run) = found {
                self.take(run);
                return Some(run);
            }
            least = match policy {
                Policy::Contiguous => 0,
                _ => least - least.div_ceil(4),
            };
        }
        None
    }

    /// At least `least` and at most `want` pages. Only right after the summaries were refreshed.
    fn outside(&self, least: u32, want: u32, zone: &Range<u64>) -> Option<Run> {
        let run = |start: u64, limit: u64| {
            let end = self
                .bits
                .next_clear(start, limit.min(start + u64::from(want)));
            let len = end - start;
            (len >= least.into()).then(|| Run::new(start as u32, len as u32))
        };
        let lowest = self.summaries.find(self.bits.words(), least)?;
        if !zone.contains(&lowest) {
            let limit = if lowest < zone.start {
                zone.start
            } else {
                u64::MAX
            };
            if let Some(before) = run(lowest, limit) {
                return Some(before);
            }
        }
        let mut near = zone.end;
        while let Some(start) = self.bits.next_set_within(near, NEAR_WORDS)
            && start < zone.end + NEAR_PAGES
        {
            if let Some(behind) = run(start, u64::MAX) {
                return Some(behind);
            }
            near = self.bits.next_clear(start, u64::MAX);
        }
        let end = self.summaries.find_last(self.bits.words(), least)?;
        let start = end - self.bits.set_before(end);
        run(start.max(zone.end), end.max(zone.end))
    }

    /// Takes the first run of `want` pages within `zone`, from `from` on and around, or the longest there is.
    pub(super) fn take_within(&mut self, want: u32, zone: &Range<u64>, from: u64) -> Option<Run> {
        let from = from.clamp(zone.start, zone.end);
        let mut found: Option<Run> = None;
        for (start, end) in [(from, zone.end), (zone.start, from)] {
            let mut at = start;
            let words = (end - start) as usize / 64 + 2;
            while at < end
                && found.is_none_or(|found| found.len < want)
                && let Some(start) = self.bits.next_set_within(at, words)
                && start < end
            {
                at = self
                    .bits
                    .next_clear(start, end.min(start + u64::from(want)));
                let run = Run::new(start as u32, (at - start) as u32);
                found = found.filter(|found| found.len >= run.len).or(Some(run));
            }
        }
        found.inspect(|run| self.take(*run))
    }

    fn find(&mut self, want: u32, policy: Policy) -> Option<u64> {
        if policy == Policy::Crumbs {
            // Near the last one it is found without the summaries, which then need not follow page
            // by page.
            let near = self.bits.next_set_within(self.none_below, NEAR_WORDS);
            let found = near.or_else(|| {
                self.summaries.refresh(self.bits.words());
                self.summaries.find(self.bits.words(), 1)
            })?;
            self.none_below = found;
            return Some(found);
        }
        self.summaries.refresh(self.bits.words());
        let least = match policy {
            Policy::UpTo => want.min(self.summaries.longest()),
            _ => want,
        };
        self.summaries.find(self.bits.words(), least)
    }

    /// Makes the file longer, the new pages free, or shorter, the bits behind its end forgotten.
    pub(super) fn set_page_count(&mut self, page_count: u64) {
        let old = self.page_count;
        if page_count > old {
            self.resize(page_count);
            for run in runs_between(old, page_count) {
                self.free(run);
            }
        } else {
            for run in self.holes.below(old) {
                let start = page_count.max(u64::from(run.start.0));
                runs_between(start, run.end()).for_each(|cut| self.holes.remove(cut));
            }
            for run in runs_between(page_count, old) {
                self.ready_count -= self.bits.count(run);
                self.bits.clear(run);
                self.touch_groups(run);
            }
            self.resize(page_count);
        }
    }

    fn resize(&mut self, page_count: u64) {
        assert!(page_count <= 1 << 32, "page numbers have 32 bits");
        let group_count = page_count.div_ceil(GROUP_PAGES) as usize;
        self.bits.resize(group_count * GROUP_WORDS);
        self.summaries.resize(group_count);
        self.page_count = page_count;
    }

    /// Free pages in a row at the end of the file.
    pub(super) fn trailing_free(&self) -> u64 {
        let mut start = self.page_count;
        loop {
            let ready = self.bits.set_before(start);
            let in_hole = self.holes.before(start - ready);
            start -= ready + in_hole;
            if in_hole == 0 {
                return self.page_count - start;
            }
        }
    }

    /// Those of them that are handed out, since they are in no hole.
    pub(super) fn trailing_ready(&self) -> u64 {
        self.bits.set_before(self.page_count)
    }

    /// All free runs, in order.
    pub(super) fn runs(&self) -> Vec<Run> {
        if self.holes.page_count() == 0 {
            return self.bits.runs().collect();
        }
        let mut all = self.bits.clone();
        self.holes
            .below(self.page_count)
            .into_iter()
            .for_each(|hole| all.set(hole));
        all.runs().collect()
    }

    /// A part of the highest free run of at least `least` pages that is in no hole: its last pages, about `most` of them.
    pub(super) fn highest(&mut self, least: u32, most: u32) -> Option<Run> {
        self.summaries.refresh(self.bits.words());
        let end = self.summaries.find_last(self.bits.words(), least)?;
        let len = self.bits.set_before_within(end, most.into());
        Some(Run::new((end - len) as u32, len as u32))
    }

    /// Notes that free pages are in a hole.
    pub(super) fn add_hole(&mut self, run: Run) {
        debug_assert!(self.bits.all(run), "{run:?} is not free");
        self.bits.clear(run);
        self.ready_count -= u64::from(run.len);
        self.touch_groups(run);
        self.holes.add(run, self.page_count);
    }

    /// The free pages from the first one of `run` on, up to `end`, that are in no hole.
    pub(super) fn ready_from(&self, run: Run, end: u64) -> Run {
        let start = u64::from(run.start.0);
        let end = self.bits.next_clear(start, end.min(self.page_count));
        Run::new(run.start.0, (end - start) as u32)
    }

    /// Hands the first pages of the lowest hole that has at least `least` out again: at most `most` of them.
    pub(super) fn open_hole(&mut self, least: u32, most: u32) -> Option<Run> {
        let run = self.holes.lowest(least, most)?;
        self.open(run);
        Some(run)
    }

    /// Hands all pages below `end` out again that are in holes.
    pub(super) fn forget_holes(&mut self, end: u64) {
        if self.holes.page_count() > 0 {
            self.holes
                .below(end)
                .into_iter()
                .for_each(|run| self.open(run));
        }
    }

    fn open(&mut self, run: Run) {
        self.holes.remove(run);
        self.bits.set(run);
        self.none_below = self.none_below.min(u64::from(run.start.0));
        self.ready_count += u64::from(run.len);
        self.touch_groups(run);
    }

    /// Puts the words of a bitmap page in place of those that are here. A bitmap page wholly
    /// behind the end of the file changes nothing.
    pub(super) fn replace_words(&mut self, bitmap: u32, words: impl Iterator<Item = u64>) {
        let run = self.covered(bitmap);
        if run.len == 0 {
            return;
        }
        let first = run.start.index() / 64;
        let before = self.bits.count(run);
        for (mine, new) in self.bits.words_mut()[first..].iter_mut().zip(words) {
            *mine = new;
        }
        self.none_below = self.none_below.min(u64::from(run.start.0));
        self.clear_behind_end();
        self.ready_count = self.ready_count - before + self.bits.count(run);
        self.touch(run);
    }

    /// The words of a bitmap page as it is to be written: the bits here, those of `also`, and
    /// those behind the end of the file.
    pub(super) fn bitmap_words(&self, bitmap: u32, also: &[Run]) -> Vec<u64> {
        let word_count = self.pages_per_bitmap as usize / 64;
        let first = bitmap as usize * word_count;
        let mut words = Bits::clear_words(word_count);
        let present = self.bits.words().get(first..).unwrap_or_default();
        words
            .words_mut()
            .iter_mut()
            .zip(present)
            .for_each(|(word, mine)| *word = *mine);
        let holes = self.holes.bits().words().get(first..).unwrap_or_default();
        words
            .words_mut()
            .iter_mut()
            .zip(holes)
            .for_each(|(word, holes)| *word |= holes);
        let covered = self.covered(bitmap);
        let base = u64::from(covered.start.0);
        let behind = [(self.page_count, base + u64::from(self.pages_per_bitmap))];
        let also = also.iter().map(|run| (u64::from(run.start.0), run.end()));
        for (start, end) in also.chain(behind) {
            let start = start.max(base) - base;
            let end = end
                .saturating_sub(base)
                .min(u64::from(self.pages_per_bitmap));
            if start < end {
                words.set(Run::new(start as u32, (end - start) as u32));
            }
        }
        words.into_words()
    }

    /// The pages of the file that a bitmap page speaks for.
    fn covered(&self, bitmap: u32) -> Run {
        let start = u64::from(bitmap) * u64::from(self.pages_per_bitmap);
        let end = (start + u64::from(self.pages_per_bitmap)).min(self.page_count);
        Run::new(start as u32, end.saturating_sub(start) as u32)
    }

    fn clear_behind_end(&mut self) {
        let end = self.page_count;
        let words = self.bits.words_mut();
        let first = (end / 64) as usize;
        if !end.is_multiple_of(64) {
            words[first] &= (1 << (end % 64)) - 1;
        }
        words
            .iter_mut()
            .skip(end.div_ceil(64) as usize)
            .for_each(|word| *word = 0);
    }

    #[inline]
    fn touch(&mut self, run: Run) {
        if run.len == 0 {
            return;
        }
        self.touch_groups(run);
        let last = run.start.0 + (run.len - 1);
        for bitmap in run.start.0 / self.pages_per_bitmap..=last / self.pages_per_bitmap {
            self.changed.insert(bitmap);
        }
    }

    #[inline]
    fn touch_groups(&mut self, run: Run) {
        for group in u64::from(run.start.0) / GROUP_PAGES..run.end().div_ceil(GROUP_PAGES) {
            self.summaries.touch(group as usize);
        }
    }

    /// The bitmap pages that may differ from disk.
    pub(super) fn changed(&mut self) -> &mut Changed {
        &mut self.changed
    }

    /// The indices of the bitmap pages that may differ from disk, in no order.
    pub(super) fn changed_bitmaps(&self) -> &[u32] {
        &self.changed.list
    }

    /// Notes that what is on disk differs for all bitmaps that speak for the run.
    pub(super) fn mark_changed(&mut self, run: Run) {
        self.touch(run);
    }
}

/// Runs that together are the pages from `start` to `end`; two if one length is too short.
fn runs_between(start: u64, end: u64) -> impl Iterator<Item = Run> {
    let middle = end.min(start + u64::from(u32::MAX));
    [(start, middle), (middle, end)]
        .into_iter()
        .filter(|(start, end)| start < end)
        .map(|(start, end)| Run::new(start as u32, (end - start) as u32))
}

/// A set of small numbers, cheap to insert into.
#[derive(Default, Debug)]
pub(super) struct Changed {
    flags: Vec<bool>,
    list: Vec<u32>,
}

impl Changed {
    #[inline]
    pub(super) fn insert(&mut self, bitmap: u32) {
        let index = bitmap as usize;
        if index >= self.flags.len() {
            self.flags.resize(index + 1, false);
        }
        if !self.flags[index] {
            self.flags[index] = true;
            self.list.push(bitmap);
        }
    }

    pub(super) fn clear(&mut self) {
        for bitmap in self.list.drain(..) {
            self.flags[bitmap as usize] = false;
        }
    }
}

#[cfg(test)]
mod tests;
