//! The reader table: the visible state, and the states that readers pin.
//!
//! A state is a number that grows. The newest state that readers may begin with is *visible*. A
//! reader has a *slot*, a cache line that no other thread writes to, and stores in it the state
//! that it *pins*. Beginning and ending a read takes no lock, no system call, and no write except
//! to the slot. A process takes slots in *blocks*, and keeps them until it releases them.
//!
//! # Why no state is taken from under a reader
//!
//! Between reading the visible state and storing it, a reader may be arbitrarily slow. It therefore
//! checks again after storing, and starts over if another state is visible by then. A thread that
//! wants to know the pins, in order to reuse pages, knows of a state V that is visible, and reads
//! all slots. There is a fence between a reader's store and its second check, and a fence between V
//! becoming visible and the scan of the slots. One of the two fences comes first. If it is the
//! reader's, the scan sees its pin. If it is the scanner's, the reader's second check sees V or a
//! later visible state, and the reader starts over with that one.
//!
//! Therefore a state that is no longer visible, and that the scan did not find pinned, is never
//! pinned again. A state that may become visible later must be kept by the thread that knows of it.
//! Likewise for a block that is taken meanwhile: it is taken before its slots are used.

use super::words::{
    AcqRel, Acquire, AtomicU64, LINE, Memory, Ordering, PAGE, Relaxed, Release, SLOTS_PER_BLOCK,
    SeqCst, fence, overwrite,
};
use std::{io, ops::Range, sync::Arc};

/// Word with the visible state.
const VISIBLE: usize = 0;
/// A word in the cache line of the visible state that the table does not use itself.
pub(crate) const SPARE: usize = 1;
/// Word with the number of blocks that were ever taken.
pub(super) const BLOCKS_USED: usize = LINE;

/// In a slot, after the pinned state: the reader's thread, and (below) when it began.
const THREAD: usize = 1;
const BEGAN: usize = 2;
/// The reader's number, which is unique in the slot, and whether it is cancelled.
const NUMBER: usize = 3;

/// In the first slot of a block: the owner of the block; 0 if there is none.
const OWNER: usize = 4;

/// In a reader's number: the reader is asked to end.
const CANCELLED: u64 = 1;

/// A reader, as listed in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PinnedReader {
    pub(crate) state: u64,
    /// The owner of the block of its slot.
    pub(crate) owner: u64,
    pub(crate) thread: u64,
    pub(crate) began: u64,
    pub(crate) is_parked: bool,
    pub(crate) is_cancelled: bool,
    pub(crate) reader: ReaderId,
}

/// Identifies a reader among all that a slot ever has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ReaderId {
    slot: ReaderSlot,
    number: u64,
}

impl ReaderId {
    /// The reader that has a slot with this number.
    pub(crate) fn new(slot: ReaderSlot, number: u64) -> Self {
        Self { slot, number }
    }

    /// Whether the reader has or had this slot.
    pub(crate) fn is_at(self, slot: ReaderSlot) -> bool {
        self.slot == slot
    }
}

/// In the pinned state of a slot: the state may be taken away.
const PARKED: u64 = 1 << 63;

/// A reader's slot in the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ReaderSlot(u32);

/// The table, in memory that all its users share.
#[derive(Clone, Debug)]
pub(crate) struct ReaderTable {
    memory: Arc<Memory>,
    /// Index of its first word.
    start: usize,
    block_count: usize,
}

impl ReaderTable {
    /// The size of a table with this many blocks.
    pub(crate) const fn len_bytes(block_count: usize) -> usize {
        (PAGE + block_count * SLOTS_PER_BLOCK * LINE) * size_of::<u64>()
    }

    /// The table in `memory` from word `start` on. The memory contains such a table, or zeros.
    pub(crate) fn new(memory: Arc<Memory>, start: usize, block_count: usize) -> Self {
        assert!(
            start.is_multiple_of(LINE),
            "the table begins at a cache line, so that each slot has one"
        );
        assert!(
            block_count.saturating_mul(SLOTS_PER_BLOCK) <= u32::MAX as usize,
            "each slot has a number"
        );
        Self {
            memory,
            start,
            block_count,
        }
    }

    /// The state that readers begin with.
    #[inline]
    pub(crate) fn visible(&self) -> u64 {
        self.word(VISIBLE).load(Acquire)
    }

    /// Makes `state` visible: readers begin with it from now on.
    pub(crate) fn publish(&self, state: u64) {
        self.word(VISIBLE).store(state, Release);
    }

    /// Pins the visible state, and returns it. The slot belongs to the caller, and pins nothing
    /// else.
    #[inline]
    pub(crate) fn pin(&self, slot: ReaderSlot) -> u64 {
        let (visible, slot) = (self.word(VISIBLE), self.slot(slot));
        let mut state = visible.load(Acquire);
        loop {
            // Release: a thread that sees this store, and not the end of the previous reader, also
            // sees that the reads through the previous pin are over.
            slot.store(pinning(state), Release);
            // See the head of this file.
            fence(SeqCst);
            let again = visible.load(Acquire);
            if again == state {
                return state;
            }
            state = again;
        }
    }

    /// Pins a state. The caller guarantees that another pin holds the state until the new pin is
    /// visible to scans. A thread that later finds the other pin gone scans the slots after that,
    /// and finds this one.
    pub(crate) fn pin_state(&self, slot: ReaderSlot, state: u64) {
        self.slot(slot).store(pinning(state), Release);
        fence(SeqCst);
    }

    /// Notes which thread is about to pin with a slot, and when, for callers that list readers. The
    /// new reader is not cancelled. Returns its number.
    #[inline]
    pub(crate) fn note(&self, slot: ReaderSlot, thread: u64, began: u64) -> u64 {
        let line = self.line(slot);
        let number = &line[NUMBER];
        // A cancellation between the two accesses was for the previous reader. Release, also for
        // the following stores: see `readers`.
        let next = (number.load(Relaxed) | CANCELLED).wrapping_add(1);
        debug_assert!(
            next & CANCELLED == 0,
            "a reader begins without being cancelled"
        );
        overwrite(number, next);
        line[THREAD].store(thread, Release);
        line[BEGAN].store(began, Release);
        next
    }

    /// Asks a reader to end; it notices that by [`Self::is_cancelled`]. Returns `false` if it has
    /// ended already. A later reader of the slot has another number.
    pub(crate) fn cancel(&self, reader: ReaderId) -> bool {
        let (number, marked) = (reader.number, reader.number | CANCELLED);
        let word = self.word_of(reader.slot, NUMBER);
        let found = word.compare_exchange(number, marked, Relaxed, Relaxed);
        let is_marked = found.is_ok() || found == Err(marked);
        is_marked && self.slot(reader.slot).load(Relaxed) != 0
    }

    /// Whether the reader with this number is asked to end, or has lost its slot to another reader.
    #[inline]
    pub(crate) fn is_cancelled(&self, slot: ReaderSlot, number: u64) -> bool {
        self.word_of(slot, NUMBER).load(Relaxed) != number
    }

    /// The number of the last reader of a slot, which belongs to the caller.
    pub(crate) fn number(&self, slot: ReaderSlot) -> u64 {
        self.word_of(slot, NUMBER).load(Relaxed) & !CANCELLED
    }

    /// Allows others to take away the state that a slot pins.
    pub(crate) fn park(&self, slot: ReaderSlot) {
        self.slot(slot).fetch_or(PARKED, Release);
    }

    /// Ends parking. Returns `false` if the state was taken away.
    pub(crate) fn unpark(&self, slot: ReaderSlot) -> bool {
        let word = self.slot(slot);
        let parked = word.load(Acquire);
        let kept = word.compare_exchange(parked, parked & !PARKED, AcqRel, Acquire);
        parked != 0 && kept.is_ok()
    }

    /// Takes the matching states away from parked slots.
    ///
    /// # Errors
    ///
    /// The system's error from mapping blocks that this process has not mapped before.
    pub(crate) fn take_parked(&self, is_taken: impl Fn(u64) -> bool) -> io::Result<()> {
        self.for_each_slot_that_pins(|_, slot, state| {
            if is_taken(state) {
                let parked = pinning(state) | PARKED;
                let _ = (self.slot(slot)).compare_exchange(parked, 0, AcqRel, Relaxed);
            }
        })
    }

    /// Ends the pin of the reader with this number, unless the slot belongs to another reader by
    /// now because another process has taken this one for dead.
    #[inline]
    pub(crate) fn unpin_own(&self, slot: ReaderSlot, number: u64) {
        let line = self.line(slot);
        if line[NUMBER].load(Relaxed) | CANCELLED == number | CANCELLED {
            // Release: see `unpin`.
            line[0].store(0, Release);
        }
    }

    /// Ends the pin that [`Self::pin`] began.
    #[inline]
    pub(crate) fn unpin(&self, slot: ReaderSlot) {
        // Release: orders the reads through the pin before this store.
        self.slot(slot).store(0, Release);
    }

    /// Calls `pinned` for the state of each reader. States that were visible before this call stay
    /// pinned only by these readers.
    ///
    /// # Errors
    ///
    /// The system's error from mapping blocks that this process has not mapped before. These may
    /// have readers.
    pub(crate) fn for_each_pinned(&self, mut pinned: impl FnMut(u64)) -> io::Result<()> {
        self.for_each_slot_that_pins(|_, _, state| pinned(state))
    }

    /// All readers, with the information that they stored. May omit readers that began during the
    /// scan.
    ///
    /// # Errors
    ///
    /// The system's error from mapping blocks that this process has not mapped before.
    pub(crate) fn readers(&self) -> io::Result<Vec<PinnedReader>> {
        let mut readers = Vec::new();
        self.for_each_slot_that_pins(|owner, slot, _| {
            let number_word = self.word_of(slot, NUMBER);
            let number = number_word.load(Acquire) & !CANCELLED;
            let word = self.slot(slot).load(Acquire);
            let [thread, began] = [THREAD, BEGAN].map(|at| self.word_of(slot, at).load(Acquire));
            // If any of the values above is a later reader's, this load returns that reader's
            // number.
            let marked = number_word.load(Relaxed);
            let Some(state) = (word & !PARKED).checked_sub(1) else {
                return;
            };
            if marked & !CANCELLED == number {
                readers.push(PinnedReader {
                    state,
                    owner,
                    thread,
                    began,
                    is_parked: word & PARKED != 0,
                    is_cancelled: marked & CANCELLED != 0,
                    reader: ReaderId { slot, number },
                });
            }
        })?;
        Ok(readers)
    }

    fn for_each_slot_that_pins(
        &self,
        mut pinned: impl FnMut(u64, ReaderSlot, u64),
    ) -> io::Result<()> {
        fence(SeqCst);
        for block in self.blocks_in_sight()? {
            let owner = self.owner(block).load(Acquire);
            if owner == 0 {
                continue;
            }
            for slot in slots_of(block) {
                // Acquire: see `unpin`.
                let pinning = self.slot(slot).load(Acquire) & !PARKED;
                if let Some(state) = pinning.checked_sub(1) {
                    pinned(owner, slot, state);
                }
            }
        }
        Ok(())
    }

    /// The blocks that were ever taken, by any process.
    fn blocks_in_sight(&self) -> io::Result<Range<usize>> {
        let used = self.blocks_used(Acquire);
        if used > 0 {
            self.memory.provide(self.block_bytes(used - 1).end)?;
        }
        Ok(0..used)
    }

    fn blocks_used(&self, ordering: Ordering) -> usize {
        let used = self.word(BLOCKS_USED).load(ordering);
        used.min(self.block_count as u64) as usize
    }

    /// Number of slots to scan for pins.
    pub(crate) fn slots_used(&self) -> usize {
        self.blocks_used(Relaxed) * SLOTS_PER_BLOCK
    }

    /// Takes a block for `owner`, which is not 0; `None` if all are taken. For a block that was
    /// never taken, `make_room` is called first with its bytes in the memory.
    ///
    /// # Errors
    ///
    /// The error of `make_room`, or the system's error from mapping the block.
    pub(crate) fn take_block(
        &self,
        owner: u64,
        make_room: impl Fn(Range<usize>) -> io::Result<()>,
    ) -> io::Result<Option<Vec<ReaderSlot>>> {
        assert_ne!(owner, 0, "a block without owner is free");
        let used = self.blocks_used(Acquire);
        for block in 0..self.block_count {
            let bytes = self.block_bytes(block);
            let end = bytes.end;
            if block >= used {
                make_room(bytes)?;
            }
            self.memory.provide(end)?;
            let word = self.owner(block);
            if word.load(Relaxed) == 0 && word.compare_exchange(0, owner, AcqRel, Relaxed).is_ok() {
                self.word(BLOCKS_USED).fetch_max(block as u64 + 1, AcqRel);
                return Ok(Some(slots_of(block).collect()));
            }
        }
        Ok(None)
    }

    /// The bytes of a block in the memory.
    fn block_bytes(&self, block: usize) -> Range<usize> {
        debug_assert!(
            block <= self.block_count,
            "the table has the block, or ends where it would begin"
        );
        let words = SLOTS_PER_BLOCK * LINE;
        let start = self.start + PAGE + block * words;
        start * size_of::<u64>()..(start + words) * size_of::<u64>()
    }

    /// The bytes of a table of which no more than this many blocks were ever taken.
    pub(crate) fn bytes(&self, blocks: usize) -> Range<usize> {
        self.start * size_of::<u64>()..self.block_bytes(blocks).start
    }

    /// The owners of blocks, without duplicates.
    ///
    /// # Errors
    ///
    /// The system's error from mapping blocks that this process has not mapped before.
    pub(crate) fn owners(&self) -> io::Result<Vec<u64>> {
        let blocks = self.blocks_in_sight()?;
        let owners = blocks.map(|block| self.owner(block).load(Acquire));
        let mut owners: Vec<_> = owners.filter(|owner| *owner != 0).collect();
        owners.sort_unstable();
        owners.dedup();
        Ok(owners)
    }

    /// Releases all blocks of an owner that no longer uses them, for example because it has died.
    /// If it lives nevertheless, its readers find that they are cancelled.
    ///
    /// # Errors
    ///
    /// The system's error from mapping blocks that this process has not mapped before. No block is
    /// released then.
    pub(crate) fn give_up_blocks(&self, owner: u64) -> io::Result<()> {
        debug_assert_ne!(owner, 0, "free blocks have no owner that gives them up");
        for block in self.blocks_in_sight()? {
            if self.owner(block).load(Acquire) == owner {
                for slot in slots_of(block) {
                    self.word_of(slot, NUMBER).fetch_or(CANCELLED, Release);
                    self.unpin(slot);
                }
                self.owner(block).store(0, Release);
            }
        }
        Ok(())
    }

    fn owner(&self, block: usize) -> &AtomicU64 {
        self.word_of(ReaderSlot((block * SLOTS_PER_BLOCK) as u32), OWNER)
    }

    /// The words of a slot.
    #[inline]
    fn line(&self, slot: ReaderSlot) -> &[AtomicU64; LINE] {
        debug_assert!(
            (slot.0 as usize) < self.block_count * SLOTS_PER_BLOCK,
            "the slot is in one of the blocks of the table"
        );
        self.memory.line(self.start + PAGE + slot.0 as usize * LINE)
    }

    #[inline]
    fn slot(&self, slot: ReaderSlot) -> &AtomicU64 {
        self.word_of(slot, 0)
    }

    #[inline]
    fn word_of(&self, slot: ReaderSlot, index: usize) -> &AtomicU64 {
        self.word(PAGE + slot.0 as usize * LINE + index)
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        self.memory.word(self.start + index)
    }
}

/// The content of a slot that pins `state`; 0 is for a slot that pins nothing.
#[inline]
fn pinning(state: u64) -> u64 {
    // No state has the highest number, but the lock file may contain anything.
    state.wrapping_add(1)
}

fn slots_of(block: usize) -> impl Iterator<Item = ReaderSlot> + use<> {
    let start = (block * SLOTS_PER_BLOCK) as u32;
    (start..start + SLOTS_PER_BLOCK as u32).map(ReaderSlot)
}
