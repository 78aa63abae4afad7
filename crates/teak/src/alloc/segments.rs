//! The segments of pending deaths on disk, with a copy of their entries in memory.
//!
//! A segment has a permanent *slot*, and a *position* in the array on disk that changes as other
//! segments are removed. It is either in use (its slot is in one bucket) or dissolved: its entries
//! are elsewhere, and the next checkpoint removes it from disk.

use crate::{page::deaths::Death, types::TransactionId};

/// Entries that are stored on disk together.
#[derive(Default, Debug)]
pub(super) struct Segment {
    position: u32,
    pub(super) entries: Vec<Death>,
    pub(super) birth_max: TransactionId,
    pub(super) died_min: TransactionId,
    pub(super) died_max: TransactionId,
}

/// All segments of the array on disk.
#[derive(Default, Debug)]
pub(super) struct Segments {
    slots: Vec<Segment>,
    unused: Vec<u32>,
    /// The slots by position.
    order: Vec<u32>,
    dissolved: Vec<u32>,
}

impl Segments {
    /// The number of segments on disk, including the dissolved ones.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn get(&self, slot: u32) -> &Segment {
        &self.slots[slot as usize]
    }

    /// The slot of the segment at a position.
    pub(super) fn at(&self, position: u32) -> u32 {
        let slot = self.order[position as usize];
        debug_assert_eq!(
            self.position(slot),
            position,
            "a segment knows the position that it is found at"
        );
        slot
    }

    pub(super) fn position(&self, slot: u32) -> u32 {
        self.slots[slot as usize].position
    }

    /// Puts a segment at a position, at the end or in place of a removed one.
    pub(super) fn insert(&mut self, position: u32, entries: Vec<Death>) -> u32 {
        assert!(
            position as usize <= self.order.len(),
            "the array of segments has no gaps"
        );
        let births = entries.iter().map(|death| death.birth);
        let died = || entries.iter().map(|death| death.died);
        let segment = Segment {
            position,
            birth_max: births.max().unwrap_or_default(),
            died_min: died().min().unwrap_or_default(),
            died_max: died().max().unwrap_or_default(),
            entries,
        };
        let slot = self.unused.pop().unwrap_or(self.slots.len() as u32);
        if slot as usize == self.slots.len() {
            self.slots.push(segment);
        } else {
            self.slots[slot as usize] = segment;
        }
        if position as usize == self.order.len() {
            self.order.push(slot);
        } else {
            self.order[position as usize] = slot;
        }
        slot
    }

    /// Takes the entries out; the next checkpoint removes the segment itself.
    pub(super) fn dissolve(&mut self, slot: u32) -> Vec<Death> {
        debug_assert!(
            !self.dissolved.contains(&slot),
            "a segment is dissolved once"
        );
        self.dissolved.push(slot);
        std::mem::take(&mut self.slots[slot as usize].entries)
    }

    pub(super) fn dissolved(&self) -> &[u32] {
        &self.dissolved
    }

    /// Forgets the dissolved segments. Their positions are reused or moved away immediately
    /// afterwards.
    pub(super) fn remove_dissolved(&mut self) {
        self.unused.append(&mut self.dissolved);
    }

    /// Moves the segment at the end to an earlier position.
    pub(super) fn move_last(&mut self, position: u32) {
        if let Some(slot) = self.order.pop() {
            assert!(
                (position as usize) < self.order.len(),
                "the last segment moves to an earlier position"
            );
            self.order[position as usize] = slot;
            self.slots[slot as usize].position = position;
        }
    }

    /// Forgets the position at the end.
    pub(super) fn pop(&mut self) {
        self.order.pop();
    }
}
