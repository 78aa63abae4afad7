//! The leaf in which the last lookup of a read transaction ended, for lookups in key order.

use crate::{PageNumber, btree::lookup::LookupEnd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of the word: the page, the index in it, the table's handle, and whether two lookups ended
/// there.
const INDEX_SHIFT: u32 = 32;
const HANDLE_SHIFT: u32 = 44;
const MAX_INDEX: usize = (1 << (HANDLE_SHIFT - INDEX_SHIFT)) - 1;
const MAX_HANDLE: usize = (1 << (63 - HANDLE_SHIFT)) - 1;
const IS_REPEATED: u64 = 1 << 63;
/// The bits of the page and of the table.
const LEAF: u64 = !(IS_REPEATED | INDEX);
/// The bits of the index. All of them are set if it is not known.
const INDEX: u64 = (MAX_INDEX as u64) << INDEX_SHIFT;

/// The leaf in which the last lookup ended, the index after the record, and the table; zero for
/// none. All threads that share the transaction use it, so it is one word.
///
/// Invariant: the page is a leaf of that table in the state that the transaction reads. A state
/// does not change, so the leaf stays valid until the transaction moves to another state. A clone
/// begins without a leaf. The index is only a guess.
#[derive(Debug, Default)]
pub(super) struct LookupHint(AtomicU64);

impl Clone for LookupHint {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl LookupHint {
    /// The leaf of the last lookups, if at least two in this table ended there, or in the leaf
    /// before it. Lookups in random order hardly ever do, so they do not look into a leaf in vain.
    #[inline]
    pub(super) fn of(&self, handle: usize) -> Option<LookupEnd> {
        let word = self.0.load(Ordering::Relaxed);
        let is_likely =
            word & IS_REPEATED != 0 && (word & !IS_REPEATED) >> HANDLE_SHIFT == handle as u64;
        is_likely.then_some(LookupEnd {
            leaf: PageNumber(word as u32),
            next: (word >> INDEX_SHIFT) as usize & MAX_INDEX,
        })
    }

    /// Notes where a lookup ended.
    #[inline]
    pub(super) fn note(&self, handle: usize, end: LookupEnd) {
        if handle > MAX_HANDLE {
            return;
        }
        let leaf = (handle as u64) << HANDLE_SHIFT | u64::from(end.leaf.0);
        let known = self.0.load(Ordering::Relaxed);
        // Only a lookup that the hint has helped knows the index. The leaf after such a one is
        // probably one for several lookups too.
        let has_helped = || {
            known & INDEX != INDEX && (known ^ leaf) >> HANDLE_SHIFT == IS_REPEATED >> HANDLE_SHIFT
        };
        let is_repeated = match known & LEAF == leaf || has_helped() {
            true => IS_REPEATED,
            false => 0,
        };
        let noted = leaf | is_repeated | (end.next.min(MAX_INDEX) as u64) << INDEX_SHIFT;
        if noted != known {
            self.0.store(noted, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
#[path = "lookup_hint_tests.rs"]
mod tests;
