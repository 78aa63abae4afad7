//! The table of readers: which states are visible, and which somebody reads.
//!
//! A state is a number that grows. The newest that readers may begin with is *visible*. A reader has a
//! *slot*, a cache line that nobody else writes to, and notes the state there that it *pins*. Beginning
//! and ending takes no lock, no call to the system, and no write but to the slot. Slots are taken in
//! *blocks*, by a process at a time, and stay its own until it gives them up.
//!
//! # Why no state is taken from under a reader
//!
//! Between reading which state is visible and noting it, a reader may be arbitrarily slow. So it looks
//! again once it has noted it, and begins anew if another state is visible by then. Whoever wants to
//! know what is pinned, to use pages again, knows of a state V that is visible, and reads all slots. Between a
//! reader's note and its second look stands a fence, and so it does between V becoming visible and the
//! look at the slots. Of two such fences one comes first. If it is the reader's, its note is seen. If it is
//! the other's, the reader's second look shows V, or a state that became visible later, and the reader begins
//! anew with that.
//!
//! So a state that is not visible any more, and that nobody was seen to pin, is never pinned again; and one
//! that may become visible later must be kept by whoever knows of it. The same holds for a block that is taken
//! meanwhile: it is taken before its slots are used.

use super::words::{
    AcqRel, Acquire, AtomicU64, LINE, Memory, Ordering, PAGE, Relaxed, Release, SLOTS_PER_BLOCK,
    SeqCst, fence, overwrite,
};
use std::{io, ops::Range, sync::Arc};

/// Where the visible state stands.
const VISIBLE: usize = 0;
/// A word in the cache line of the visible state that the table leaves to others.
pub(crate) const SPARE: usize = 1;
/// Where the number of blocks stands that were ever taken.
pub(super) const BLOCKS_USED: usize = LINE;

/// In a slot, behind what it pins: the reader's thread, and when it began.
const THREAD: usize = 1;
const BEGAN: usize = 2;
/// The reader's number, which no other one of the slot has, and whether it is cancelled.
const NUMBER: usize = 3;

/// In the first slot of a block: who has the block; 0 for nobody.
const OWNER: usize = 4;

/// In a reader's number: it is asked to end.
const CANCELLED: u64 = 1;

/// A reader, as the table knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PinnedReader {
    pub(crate) state: u64,
    /// Who has the block of its slot.
    pub(crate) owner: u64,
    pub(crate) thread: u64,
    pub(crate) began: u64,
    pub(crate) is_parked: bool,
    pub(crate) is_cancelled: bool,
    pub(crate) reader: ReaderId,
}

/// A reader, of all that a slot ever has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ReaderId {
    slot: ReaderSlot,
    number: u64,
}

impl ReaderId {
    /// Whether the reader has, or had, this slot.
    pub(crate) fn is_at(self, slot: ReaderSlot) -> bool {
        self.slot == slot
    }
}

/// In what a slot pins: it may be taken away.
const PARKED: u64 = 1 << 63;

/// A reader's place in the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ReaderSlot(u32);

/// The table, in memory that all who use it share.
#[derive(Clone, Debug)]
pub(crate) struct ReaderTable {
    memory: Arc<Memory>,
    /// The first word.
    start: usize,
    block_count: usize,
}

impl ReaderTable {
    /// How much memory a table of so many blocks takes.
    pub(crate) const fn len_bytes(block_count: usize) -> usize {
        (PAGE + block_count * SLOTS_PER_BLOCK * LINE) * size_of::<u64>()
    }

    /// The table in `memory` from this word on, which holds one of so many blocks, or zeros.
    pub(crate) fn new(memory: Arc<Memory>, start: usize, block_count: usize) -> Self {
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

    /// Has readers begin with `state` from now on.
    pub(crate) fn publish(&self, state: u64) {
        self.word(VISIBLE).store(state, Release);
    }

    /// Pins the visible state, and returns it. The slot is the caller's, and pins nothing else.
    #[inline]
    pub(crate) fn pin(&self, slot: ReaderSlot) -> u64 {
        let (visible, slot) = (self.word(VISIBLE), self.slot(slot));
        let mut state = visible.load(Acquire);
        loop {
            // Release: whoever sees this and not the end of the reader before it sees that what was read
            // through that one was read before.
            slot.store(pinning(state), Release);
            // See above.
            fence(SeqCst);
            let again = visible.load(Acquire);
            if again == state {
                return state;
            }
            state = again;
        }
    }

    /// Pins a state that something else pins, too, until this one is looked at: it is looked for first by whoever sees later that
    /// nothing else does.
    pub(crate) fn pin_state(&self, slot: ReaderSlot, state: u64) {
        self.slot(slot).store(pinning(state), Release);
        fence(SeqCst);
    }

    /// Says who is about to pin by a slot, and when that is, for those who ask; nobody has cancelled that reader. Returns its
    /// number.
    #[inline]
    pub(crate) fn note(&self, slot: ReaderSlot, thread: u64, began: u64) -> u64 {
        let line = self.line(slot);
        let number = &line[NUMBER];
        // A mark that comes between the two was for the reader before. Release, as for what follows: see `readers`.
        let next = (number.load(Relaxed) | CANCELLED).wrapping_add(1);
        overwrite(number, next);
        line[THREAD].store(thread, Release);
        line[BEGAN].store(began, Release);
        next
    }

    /// Asks a reader to end, as it finds by [`Self::is_cancelled`]; says `false` if it has ended. Whoever has its slot by then
    /// has another number.
    pub(crate) fn cancel(&self, reader: ReaderId) -> bool {
        let (number, marked) = (reader.number, reader.number | CANCELLED);
        let word = self.word_of(reader.slot, NUMBER);
        let found = word.compare_exchange(number, marked, Relaxed, Relaxed);
        let is_marked = found.is_ok() || found == Err(marked);
        is_marked && self.slot(reader.slot).load(Relaxed) != 0
    }

    /// Whether the reader with this number is asked to end, or has lost its slot to another one.
    #[inline]
    pub(crate) fn is_cancelled(&self, slot: ReaderSlot, number: u64) -> bool {
        self.word_of(slot, NUMBER).load(Relaxed) != number
    }

    /// The number of the last reader that had a slot, which is the caller's.
    pub(crate) fn number(&self, slot: ReaderSlot) -> u64 {
        self.word_of(slot, NUMBER).load(Relaxed) & !CANCELLED
    }

    /// Lets others take away what a slot pins.
    pub(crate) fn park(&self, slot: ReaderSlot) {
        self.slot(slot).fetch_or(PARKED, Release);
    }

    /// Ends that; says `false` if it was taken away.
    pub(crate) fn unpark(&self, slot: ReaderSlot) -> bool {
        let word = self.slot(slot);
        let parked = word.load(Acquire);
        let kept = word.compare_exchange(parked, parked & !PARKED, AcqRel, Acquire);
        parked != 0 && kept.is_ok()
    }

    /// Takes away those states from parked slots that are to be.
    ///
    /// # Errors
    /// What the system answers to mapping blocks that this process has not seen.
    pub(crate) fn take_parked(&self, is_taken: impl Fn(u64) -> bool) -> io::Result<()> {
        self.for_each_slot_that_pins(|_, slot, state| {
            if is_taken(state) {
                let parked = pinning(state) | PARKED;
                let _ = (self.slot(slot)).compare_exchange(parked, 0, AcqRel, Relaxed);
            }
        })
    }

    /// Ends what the reader with this number pinned, unless the slot is another one's by now, whose process has taken this one for dead.
    #[inline]
    pub(crate) fn unpin_own(&self, slot: ReaderSlot, number: u64) {
        let line = self.line(slot);
        if line[NUMBER].load(Relaxed) | CANCELLED == number | CANCELLED {
            // Release: see `unpin`.
            line[0].store(0, Release);
        }
    }

    /// Ends what [`Self::pin`] began.
    #[inline]
    pub(crate) fn unpin(&self, slot: ReaderSlot) {
        // Release: what was read through the pin was read before.
        self.slot(slot).store(0, Release);
    }

    /// Calls `pinned` for the state of each reader. What was visible before this is called stays pinned by
    /// those only.
    ///
    /// # Errors
    /// What the system answers to mapping blocks that this process has not seen. There may be readers in these.
    pub(crate) fn for_each_pinned(&self, mut pinned: impl FnMut(u64)) -> io::Result<()> {
        self.for_each_slot_that_pins(|_, _, state| pinned(state))
    }

    /// All readers, with what they have said of themselves; but for such as began while this looks at their slots.
    ///
    /// # Errors
    /// As for [`Self::for_each_pinned`].
    pub(crate) fn readers(&self) -> io::Result<Vec<PinnedReader>> {
        let mut readers = Vec::new();
        self.for_each_slot_that_pins(|owner, slot, _| {
            let number_word = self.word_of(slot, NUMBER);
            let number = number_word.load(Acquire) & !CANCELLED;
            let word = self.slot(slot).load(Acquire);
            let [thread, began] = [THREAD, BEGAN].map(|at| self.word_of(slot, at).load(Acquire));
            // Who has read something of a later reader finds its number here.
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

    /// The blocks that were ever taken, by whatever process.
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

    /// How many slots have to be looked at to know what is pinned.
    pub(crate) fn slots_used(&self) -> usize {
        self.blocks_used(Relaxed) * SLOTS_PER_BLOCK
    }

    /// Takes a block for `owner`, which is not 0; `None` if all are taken. One that nobody has had is made room for first:
    /// `make_room` is told which bytes of the memory it is.
    ///
    /// # Errors
    /// What `make_room` answers, and the system to a mapping.
    pub(crate) fn take_block(
        &self,
        owner: u64,
        make_room: impl Fn(Range<usize>) -> io::Result<()>,
    ) -> io::Result<Option<Vec<ReaderSlot>>> {
        let used = self.blocks_used(Acquire);
        for block in 0..self.block_count {
            let bytes = self.block_bytes(block);
            let end = bytes.end;
            if block >= used {
                make_room(bytes)?;
            }
            self.memory.provide(end)?;
            let place = self.owner(block);
            if place.load(Relaxed) == 0 && place.compare_exchange(0, owner, AcqRel, Relaxed).is_ok()
            {
                self.word(BLOCKS_USED).fetch_max(block as u64 + 1, AcqRel);
                return Ok(Some(slots_of(block).collect()));
            }
        }
        Ok(None)
    }

    /// The bytes of a block in the memory.
    fn block_bytes(&self, block: usize) -> Range<usize> {
        let words = SLOTS_PER_BLOCK * LINE;
        let start = self.start + PAGE + block * words;
        start * size_of::<u64>()..(start + words) * size_of::<u64>()
    }

    /// The bytes that a table takes in which nobody has had more than so many blocks.
    pub(crate) fn bytes(&self, blocks: usize) -> Range<usize> {
        self.start * size_of::<u64>()..self.block_bytes(blocks).start
    }

    /// The owners of blocks, each once.
    ///
    /// # Errors
    /// As for [`Self::for_each_pinned`].
    pub(crate) fn owners(&self) -> io::Result<Vec<u64>> {
        let blocks = self.blocks_in_sight()?;
        let owners = blocks.map(|block| self.owner(block).load(Acquire));
        let mut owners: Vec<_> = owners.filter(|owner| *owner != 0).collect();
        owners.sort_unstable();
        owners.dedup();
        Ok(owners)
    }

    /// Gives up all blocks of an owner that does not use them any more: it may have died. If it lives all the same, its readers
    /// find that they are cancelled.
    ///
    /// # Errors
    /// As for [`Self::for_each_pinned`]; none is given up then.
    pub(crate) fn give_up_blocks(&self, owner: u64) -> io::Result<()> {
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

/// What a slot holds that pins `state`; 0 is for one that pins nothing.
#[inline]
fn pinning(state: u64) -> u64 {
    // No state has the highest number, but anything may have been written to the lock file.
    state.wrapping_add(1)
}

fn slots_of(block: usize) -> impl Iterator<Item = ReaderSlot> + use<> {
    let start = (block * SLOTS_PER_BLOCK) as u32;
    (start..start + SLOTS_PER_BLOCK as u32).map(ReaderSlot)
}
