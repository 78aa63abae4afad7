//! A bit array with one bit per page, and operations on ranges of bits.

use crate::types::Extent;

/// Bits by page number. Bits that were never set are clear.
#[derive(Clone, Default, Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Creates `word_count` words of clear bits. They take no memory before they are written to.
    pub(super) fn clear_words(word_count: usize) -> Self {
        Self {
            words: vec![0; word_count],
        }
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    pub(super) fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Resizes to `word_count` words; bits past the end are dropped.
    pub(super) fn resize(&mut self, word_count: usize) {
        self.words.resize(word_count, 0);
    }

    pub(super) fn get(&self, page: u64) -> bool {
        self.words
            .get((page / 64) as usize)
            .is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    pub(super) fn set(&mut self, extent: Extent) {
        debug_assert!(
            extent.end() <= self.words.len() as u64 * 64,
            "only pages that the array covers have a bit to set"
        );
        for (index, mask) in parts(extent) {
            self.words[index] |= mask;
        }
    }

    pub(super) fn clear(&mut self, extent: Extent) {
        for (index, mask) in parts(extent) {
            self.words[index] &= !mask;
        }
    }

    pub(super) fn all(&self, extent: Extent) -> bool {
        parts(extent).all(|(index, mask)| self.words.get(index).is_some_and(|w| w & mask == mask))
    }

    pub(super) fn none(&self, extent: Extent) -> bool {
        let (start, len) = (u64::from(extent.start.0), u64::from(extent.len));
        if len > 0 && start % 64 + len <= 64 {
            // Most extents of a commit lie within one word.
            let mask = u64::MAX >> (64 - len) << (start % 64);
            let word = self.words.get((start / 64) as usize);
            return word.is_none_or(|word| word & mask == 0);
        }
        parts(extent).all(|(index, mask)| self.words.get(index).is_none_or(|w| w & mask == 0))
    }

    /// Counts the set bits of the extent.
    pub(super) fn count(&self, extent: Extent) -> u64 {
        parts(extent)
            .map_while(|(index, mask)| Some(self.words.get(index)? & mask))
            .map(|word| u64::from(word.count_ones()))
            .sum()
    }

    /// Returns the first set bit at or after `from`.
    pub(super) fn next_set(&self, from: u64) -> Option<u64> {
        self.next_set_within(from, usize::MAX)
    }

    /// Returns the first set bit at or after `from`, if it is in one of the next `words` words.
    pub(super) fn next_set_within(&self, from: u64, words: usize) -> Option<u64> {
        let first = (from / 64) as usize;
        let mut mask = u64::MAX << (from % 64);
        for (index, word) in self.words.iter().enumerate().skip(first).take(words) {
            if word & mask != 0 {
                return Some(index as u64 * 64 + u64::from((word & mask).trailing_zeros()));
            }
            mask = u64::MAX;
        }
        None
    }

    /// Returns the first clear bit at or after `from`, or `limit` if that comes first.
    pub(super) fn next_clear(&self, from: u64, limit: u64) -> u64 {
        let mut at = from;
        while at < limit {
            let Some(word) = self.words.get((at / 64) as usize) else {
                break;
            };
            let ones = u64::from((!(word >> (at % 64))).trailing_zeros()).min(64 - at % 64);
            at += ones;
            if !at.is_multiple_of(64) || ones == 0 {
                break;
            }
        }
        at.min(limit)
    }

    /// Counts the consecutive set bits directly below `end`.
    pub(super) fn set_before(&self, end: u64) -> u64 {
        self.set_before_within(end, u64::MAX)
    }

    /// Like [`Self::set_before`], but stops counting once there are `enough`.
    pub(super) fn set_before_within(&self, end: u64, enough: u64) -> u64 {
        debug_assert!(
            end <= self.words.len() as u64 * 64,
            "bits are counted back from a page that the array covers"
        );
        let mut at = end;
        while at > 0 && end - at < enough {
            let word = self.words[((at - 1) / 64) as usize];
            let used = (at - 1) % 64 + 1;
            let ones = u64::from((word << (64 - used)).leading_ones()).min(used);
            at -= ones;
            if ones < used {
                break;
            }
        }
        end - at
    }

    /// The extents of set bits, in order.
    pub(super) fn extents(&self) -> impl Iterator<Item = Extent> {
        let end = self.words.len() as u64 * 64;
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next_set(at)?;
            at = self.next_clear(start, end);
            Some(Extent::new(start as u32, (at - start) as u32))
        })
    }
}

/// The words that an extent touches, each with the mask of its bits.
fn parts(extent: Extent) -> impl Iterator<Item = (usize, u64)> {
    let (start, end) = (u64::from(extent.start.0), extent.end());
    (start / 64..end.div_ceil(64)).map(move |index| {
        let base = index * 64;
        let low = start.saturating_sub(base);
        let high = (end - base).min(64);
        let mask = (u64::MAX << low) & (u64::MAX >> (64 - high));
        (index as usize, mask)
    })
}
