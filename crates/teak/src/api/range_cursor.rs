//! The ends of a range: cursors over the records of a table of each kind.

use crate::{
    Result,
    btree::{
        PageSource, TreeRoot,
        cursor::{TreeCursor, parked::ParkedCursor},
        multi::{
            cursor::{PairBound, PairCursor},
            position::PairPosition,
        },
        position::Direction,
    },
};

/// A source of pages that iterators can take to other threads.
pub(super) type Source<'t> = &'t SyncPages<'t>;

pub(super) type SyncPages<'t> = dyn PageSource + Sync + 't;

/// A state of a tree.
pub(super) type TreeState<'t> = (Source<'t>, TreeRoot);

/// One end of a range, which moves towards the other.
pub(super) trait RangeCursor<'t>: Sized {
    /// The state of the cursor while its source is not borrowed.
    type Parked;

    fn new(state: TreeState<'t>) -> Self;

    /// Resumes a parked cursor, in the same state of the tree.
    fn resume(state: TreeState<'t>, parked: Self::Parked) -> Result<Self>;

    fn park(self) -> Self::Parked;

    /// Moves to the first record of a range; after the last one if there is none.
    fn seek_low(&mut self, low: PairBound<'_>) -> Result<()>;

    /// Moves past the last record of a range.
    fn seek_high(&mut self, high: PairBound<'_>) -> Result<()>;

    /// Moves to the next record. It is read only if it is a pair.
    fn step(&mut self) -> Result<bool>;

    /// Moves to the previous record. It is read only if it is a pair.
    fn step_back(&mut self) -> Result<bool>;

    /// Reads the current record.
    fn read(&mut self) -> Result<()>;

    /// Returns a number of steps in a direction that lead neither to `end` nor beyond it.
    fn run_to(&self, end: &Self, direction: Direction) -> usize;

    /// Takes one of the steps that [`Self::run_to`] counted, and reads the record. If this returns
    /// `false`, [`Self::step`] has to do it. `is_text` says whether keys are
    /// text.
    fn next_in_run(&mut self, is_text: bool) -> Result<bool>;

    /// Like [`Self::next_in_run`], backwards.
    fn prev_in_run(&mut self, is_text: bool) -> Result<bool>;

    /// Whether both are on the same record, or both on none.
    fn is_at(&self, other: &Self) -> bool;

    fn is_on_record(&self) -> bool;

    /// The key that was read; empty if there is none.
    fn key(&self) -> &[u8];

    fn state(&self) -> (Source<'t>, &TreeRoot);
}

impl<'t> RangeCursor<'t> for TreeCursor<'t, SyncPages<'t>> {
    type Parked = ParkedCursor;

    #[inline]
    fn new((source, root): TreeState<'t>) -> Self {
        Self::new(source, root)
    }

    fn resume((source, root): TreeState<'t>, parked: ParkedCursor) -> Result<Self> {
        Ok(Self::resume_unread(source, root, parked))
    }

    fn park(self) -> ParkedCursor {
        self.park()
    }

    #[inline]
    fn seek_low(&mut self, low: PairBound<'_>) -> Result<()> {
        self.seek_bound(low.map(|(key, _)| key))
    }

    #[inline]
    fn seek_high(&mut self, high: PairBound<'_>) -> Result<()> {
        self.seek_end(high.map(|(key, _)| key))
    }

    fn step(&mut self) -> Result<bool> {
        self.step()
    }

    fn step_back(&mut self) -> Result<bool> {
        self.step_back()
    }

    fn read(&mut self) -> Result<()> {
        self.read_here().map(drop)
    }

    fn run_to(&self, end: &Self, direction: Direction) -> usize {
        self.position().run_to(end.position(), direction)
    }

    #[inline(always)]
    fn next_in_run(&mut self, is_text: bool) -> Result<bool> {
        Ok(self.next_in_current_leaf(is_text))
    }

    #[inline(always)]
    fn prev_in_run(&mut self, is_text: bool) -> Result<bool> {
        Ok(self.prev_in_current_leaf(is_text))
    }

    #[inline]
    fn is_at(&self, other: &Self) -> bool {
        self.position().is_at(other.position())
    }

    #[inline]
    fn is_on_record(&self) -> bool {
        self.position().record().is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.key()
    }

    fn state(&self) -> (Source<'t>, &TreeRoot) {
        (self.source(), self.root())
    }
}

impl<'t> RangeCursor<'t> for PairCursor<'t, SyncPages<'t>> {
    type Parked = PairPosition;

    #[inline]
    fn new((source, root): TreeState<'t>) -> Self {
        Self::new(source, root)
    }

    fn resume((source, root): TreeState<'t>, parked: PairPosition) -> Result<Self> {
        Self::resume(source, root, parked)
    }

    fn park(self) -> PairPosition {
        self.park()
    }

    #[inline]
    fn seek_low(&mut self, low: PairBound<'_>) -> Result<()> {
        self.seek_bound(low)
    }

    #[inline]
    fn seek_high(&mut self, high: PairBound<'_>) -> Result<()> {
        self.seek_end(high)
    }

    fn step(&mut self) -> Result<bool> {
        self.next_of_several()
    }

    fn step_back(&mut self) -> Result<bool> {
        self.prev_of_several()
    }

    fn read(&mut self) -> Result<()> {
        Ok(())
    }

    fn run_to(&self, end: &Self, direction: Direction) -> usize {
        self.run_to(end, direction)
    }

    #[inline]
    fn next_in_run(&mut self, _: bool) -> Result<bool> {
        self.next_of_several()
    }

    #[inline]
    fn prev_in_run(&mut self, _: bool) -> Result<bool> {
        self.prev_of_several()
    }

    #[inline]
    fn is_at(&self, other: &Self) -> bool {
        self.is_at(other)
    }

    #[inline]
    fn is_on_record(&self) -> bool {
        self.is_on_pair()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.key()
    }

    fn state(&self) -> (Source<'t>, &TreeRoot) {
        (self.source(), self.root())
    }
}
