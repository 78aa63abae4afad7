//! The bitmap pages of the free-space map: loading their words, and building them for a checkpoint.

use super::FreeMap;
use crate::{alloc::bits::Bits, types::Extent};

impl FreeMap {
    /// Replaces the words of this map by those of a bitmap page. A bitmap page entirely past the
    /// end of the file changes nothing.
    pub(in crate::alloc) fn replace_words(
        &mut self,
        bitmap: u32,
        words: impl Iterator<Item = u64>,
    ) {
        let extent = self.covered(bitmap);
        if extent.len == 0 {
            return;
        }
        let first = extent.start.index() / 64;
        let before = self.bits.count(extent);
        for (mine, new) in self.bits.words_mut()[first..].iter_mut().zip(words) {
            *mine = new;
        }
        self.none_below = self.none_below.min(u64::from(extent.start.0));
        self.clear_past_end();
        self.ready_count = self.ready_count - before + self.bits.count(extent);
        self.touch(extent);
    }

    /// The words of a bitmap page to be written: the bits here, those of `also`, and those past the
    /// end of the file.
    pub(in crate::alloc) fn bitmap_words(&self, bitmap: u32, also: &[Extent]) -> Vec<u64> {
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
        debug_assert!(
            also.iter().all(|extent| self.none_free(*extent)),
            "pages of a checkpoint are taken, and free only in the bitmaps that it writes"
        );
        let base = u64::from(covered.start.0);
        let past_end = [(self.page_count, base + u64::from(self.pages_per_bitmap))];
        let also = also
            .iter()
            .map(|extent| (u64::from(extent.start.0), extent.end()));
        for (start, end) in also.chain(past_end) {
            let start = start.max(base) - base;
            let end = end
                .saturating_sub(base)
                .min(u64::from(self.pages_per_bitmap));
            if start < end {
                words.set(Extent::new(start as u32, (end - start) as u32));
            }
        }
        words.into_words()
    }

    /// The pages of the file that a bitmap page covers.
    fn covered(&self, bitmap: u32) -> Extent {
        let start = u64::from(bitmap) * u64::from(self.pages_per_bitmap);
        let end = (start + u64::from(self.pages_per_bitmap)).min(self.page_count);
        Extent::new(start as u32, end.saturating_sub(start) as u32)
    }

    fn clear_past_end(&mut self) {
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
}
