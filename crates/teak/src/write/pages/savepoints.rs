//! The pages that savepoints keep.
//!
//! Pages that this transaction wrote before the innermost savepoint must not be lost, because the
//! savepoint may be rolled back. Before such a page is changed, its bytes are *put aside*. It is
//! then changed in place, so that no reference to it changes. A page that is no longer used stays
//! until the savepoint ends. A page is copied to another position instead if the bytes put aside
//! would exceed the memory limit, or if pages are being relocated.
//!
//! Invariants:
//!
//! - A page may be changed in place (is *fresh*) if it was taken since the innermost savepoint, or
//!   if that savepoint has its bytes.
//! - Bytes are put aside once for each savepoint, except the innermost one that existed when the
//!   page was taken.

use super::WritePages;
use crate::{Extent, PageNumber, instance::arena::FreshBits, write::pages::kept_pages::KeptPages};

impl WritePages {
    /// How many savepoints there are.
    pub(crate) fn savepoint_count(&self) -> usize {
        self.savepoints.kept.len()
    }

    pub(crate) fn begin_savepoint(&mut self) -> FreshBits {
        debug_assert!(
            self.savepoints.death_floor <= self.deaths.len(),
            "an inner savepoint begins with at least as many deaths as the outer one"
        );
        self.savepoints.kept.push(KeptPages::default());
        self.savepoints.death_floor = self.deaths.len();
        self.writer.arena.begin_savepoint()
    }

    /// Ends the innermost savepoint and keeps the changes since then.
    pub(crate) fn end_savepoint(&mut self, before: FreshBits) {
        let kept = self.savepoints.kept.pop();
        let KeptPages { unused, aside } = kept.expect("a savepoint ends after it has begun");
        if let Some(outer) = self.savepoints.kept.last_mut() {
            let is_older = |(number, _): &(PageNumber, _)| !before.contains(*number);
            outer.aside.extend(aside.into_iter().filter(is_older));
        }
        self.writer.arena.end_savepoint(before);
        unused.into_iter().for_each(|number| self.discard(number));
    }

    /// Undoes the changes since the innermost savepoint.
    pub(crate) fn undo_savepoint(&mut self, before: FreshBits, death_count: usize) {
        let kept = self.savepoints.kept.pop();
        let kept = kept.expect("a savepoint is undone after it has begun");
        assert!(
            death_count <= self.deaths.len(),
            "deaths since a savepoint are at the end of the list"
        );
        let arena = &mut self.writer.arena;
        for (number, bytes) in kept.aside {
            debug_assert!(
                arena.is_written(number),
                "a page that was put aside belongs to the transaction until the savepoint ends"
            );
            // The page may have been written early meanwhile.
            arena.make_resident(number).copy_from_slice(&bytes);
            arena.set_fresh(number, false);
        }
        for extent in arena.fresh_extents() {
            extent
                .pages()
                .for_each(|number| self.writer.arena.forget(number));
            self.writer.space.give_back(extent);
            assert!(
                self.supply.taken_count >= u64::from(extent.len),
                "no more pages are given back than were taken"
            );
            self.supply.taken_count -= u64::from(extent.len);
        }
        self.writer.arena.end_savepoint(before);
        self.deaths.truncate(death_count);
        self.savepoints.death_floor = death_count;
        self.limits.room_at = self.limits.memory_bytes;
    }

    /// Puts aside the bytes of a page that this transaction wrote before the innermost savepoint.
    /// The page may then be changed. Returns `false` if it should be copied instead.
    pub(super) fn put_aside(&mut self, number: PageNumber) -> bool {
        let aside_count: usize = self
            .savepoints
            .kept
            .iter()
            .map(|kept| kept.aside.len())
            .sum();
        if self.supply.low_boundary.is_some()
            || aside_count * self.file.usable_len >= self.limits.memory_bytes
        {
            return false;
        }
        let (Some(page), Some(kept)) = (
            self.writer.arena.page(number),
            self.savepoints.kept.last_mut(),
        ) else {
            return false;
        };
        let before = kept.aside.insert(number, page.into());
        debug_assert!(
            before.is_none(),
            "a savepoint puts the bytes of a page aside once"
        );
        self.writer.arena.set_fresh(number, true);
        true
    }

    /// Gives up a page that this transaction wrote. A page from before a savepoint stays, because
    /// the savepoint may be rolled back.
    pub(super) fn discard(&mut self, number: PageNumber) {
        let is_fresh = self.arena().is_fresh(number);
        match self.savepoints.kept.last_mut() {
            Some(kept) if !is_fresh || kept.aside.contains_key(&number) => kept.unused.push(number),
            _ if !is_fresh => {}
            _ => {
                self.writer.arena.forget(number);
                self.writer.space.give_back(Extent::new(number.0, 1));
                assert!(
                    self.supply.taken_count > 0,
                    "no more pages are given back than were taken"
                );
                self.supply.taken_count -= 1;
            }
        }
    }
}

#[cfg(test)]
#[path = "savepoints_tests.rs"]
mod tests;
