//! The two ends of a range that an iterator goes through. Each is on the last record that was taken
//! there, so that the record can be lent.
//!
//! Whether the ends meet is asked once for a run of records: as many as there surely are between
//! them in the leaf.

use super::{
    codec::Codec,
    kind::{Kind, out_of_order},
    range_cursor::{RangeCursor, TreeState},
};
use crate::{
    Error, Result,
    btree::{
        multi::{cursor::PairBound, range_parts::is_void},
        position::Direction,
    },
    error::BoxedError,
    read::located::located,
};
use std::sync::Arc;

/// How far an iteration is. The first error ends it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IterationState {
    /// Whether a record was taken from the front.
    is_begun: bool,
    pub(super) is_done: bool,
    /// How many steps the end that moved last can take without asking whether the ends meet.
    front_run: usize,
    back_run: usize,
}

impl IterationState {
    /// The state before a step that looks where the ends are.
    fn without_runs(self) -> Self {
        Self {
            front_run: 0,
            back_run: 0,
            ..self
        }
    }

    /// Ends the iteration with an error at one end. Adds to a damage error which keys of the table
    /// are affected.
    #[cold]
    pub(super) fn fail<'t>(
        &mut self,
        error: Error,
        name: &[u8],
        end: &impl RangeCursor<'t>,
    ) -> BoxedError {
        self.is_done = true;
        *self = self.without_runs();
        let (source, root) = end.state();
        located(error, source, root, name, Some(end.key())).into()
    }
}

/// The two ends of a range, which move towards each other.
pub(super) struct RangeEnds<'t, M: Kind> {
    pub(super) name: Arc<[u8]>,
    /// On the last record that was taken from the front; at first, on the first one.
    pub(super) front: M::Cursor<'t>,
    /// On the last record that was taken from the back; at first, on the one after the last one.
    pub(super) back: M::Cursor<'t>,
    pub(super) progress: IterationState,
}

/// The ends of a range while the transaction is not borrowed.
pub(super) struct ParkedRange<P> {
    pub(super) name: Arc<[u8]>,
    front: P,
    back: P,
    pub(super) progress: IterationState,
}

impl<'t, M: Kind> RangeEnds<'t, M> {
    pub(super) fn new(
        state: TreeState<'t>,
        name: Arc<[u8]>,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Result<Self> {
        let mut ends = Self {
            name,
            front: RangeCursor::new(state),
            back: RangeCursor::new(state),
            progress: IterationState::default(),
        };
        let sought = match is_void(&state.1, low, high) {
            true => Ok(true),
            false => ends.seek(low, high),
        };
        let Self { front, name, .. } = &ends;
        ends.progress.is_done =
            sought.map_err(|error| *IterationState::default().fail(error, name, front))?;
        Ok(ends)
    }

    /// Seeks both ends; returns whether the range is empty.
    fn seek(&mut self, low: PairBound<'_>, high: PairBound<'_>) -> Result<bool> {
        self.front.seek_low(low)?;
        self.back.seek_high(high)?;
        self.have_met()
    }

    /// Resumes from parked ends.
    pub(super) fn resume(state: TreeState<'t>, parked: ParkedRange<M::Parked>) -> Result<Self> {
        let resume = |end| {
            let resumed = RangeCursor::resume(state, end);
            resumed.map_err(|error| located(error, state.0, &state.1, &parked.name, None))
        };
        Ok(Self {
            front: resume(parked.front)?,
            back: resume(parked.back)?,
            name: parked.name,
            progress: parked.progress.without_runs(),
        })
    }

    pub(super) fn park(self) -> ParkedRange<M::Parked> {
        ParkedRange {
            name: self.name,
            front: self.front.park(),
            back: self.back.park(),
            progress: self.progress,
        }
    }

    /// Whether the two ends have met.
    fn have_met(&self) -> Result<bool> {
        if self.front.is_at(&self.back) {
            return Ok(true);
        }
        match self.front.is_on_record() {
            true => Ok(false),
            false => Err(out_of_order(self.front.state().1)),
        }
    }

    /// Moves the front to the next record and reads it; `false` if there is none.
    #[inline(always)]
    pub(super) fn advance<K: Codec>(&mut self) -> Result<bool, BoxedError> {
        if let Some(left) = self.progress.front_run.checked_sub(1) {
            self.progress.front_run = left;
            match self.front.next_in_run(K::IS_TEXT) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => return Err(self.progress.fail(error, &self.name, &self.front)),
            }
        }
        self.advance_anywhere()
    }

    #[inline(never)]
    fn advance_anywhere(&mut self) -> Result<bool, BoxedError> {
        self.progress = self.progress.without_runs();
        let is_there = match self.progress.is_done {
            true => Ok(false),
            false => self.advance_if_apart(),
        };
        self.progress.is_done = !matches!(is_there, Ok(true));
        is_there.map_err(|error| self.progress.fail(error, &self.name, &self.front))
    }

    fn advance_if_apart(&mut self) -> Result<bool> {
        if self.progress.is_begun {
            self.front.step()?;
            if self.have_met()? {
                return Ok(false);
            }
        }
        self.progress.is_begun = true;
        self.front.read()?;
        self.progress.front_run = self.front.run_to(&self.back, Direction::Forward);
        Ok(true)
    }

    /// Moves the back to the previous record and reads it; `false` if there is none.
    #[inline(always)]
    pub(super) fn retreat<K: Codec>(&mut self) -> Result<bool, BoxedError> {
        if let Some(left) = self.progress.back_run.checked_sub(1) {
            self.progress.back_run = left;
            match self.back.prev_in_run(K::IS_TEXT) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => return Err(self.progress.fail(error, &self.name, &self.back)),
            }
        }
        self.retreat_anywhere()
    }

    #[inline(never)]
    fn retreat_anywhere(&mut self) -> Result<bool, BoxedError> {
        self.progress = self.progress.without_runs();
        let is_there = match self.progress.is_done {
            true => Ok(false),
            false => self.retreat_if_apart(),
        };
        self.progress.is_done |= !matches!(is_there, Ok(true));
        is_there.map_err(|error| self.progress.fail(error, &self.name, &self.back))
    }

    fn retreat_if_apart(&mut self) -> Result<bool> {
        if !self.back.step_back()? {
            return Err(out_of_order(self.back.state().1));
        }
        let have_met = self.have_met()?;
        if have_met && self.progress.is_begun {
            return Ok(false);
        }
        // The front is on a record that was not taken yet: it is the last one.
        self.progress.is_done = have_met;
        self.back.read()?;
        self.progress.back_run = self.back.run_to(&self.front, Direction::Backward);
        Ok(true)
    }

    /// Takes the next record from the front. `read` gets the cursor that is on it.
    #[inline(always)]
    pub(super) fn next<K: Codec, R>(
        &mut self,
        read: impl FnOnce(&M::Cursor<'t>) -> Result<R, BoxedError>,
    ) -> Option<Result<R>> {
        match self.advance::<K>() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(*error)),
        }
        match read(&self.front) {
            Ok(record) => Some(Ok(record)),
            Err(error) => Some(Err(*self.progress.fail(*error, &self.name, &self.front))),
        }
    }

    /// Takes the next record from the back. `read` gets the cursor that is on it.
    #[inline(always)]
    pub(super) fn next_back<K: Codec, R>(
        &mut self,
        read: impl FnOnce(&M::Cursor<'t>) -> Result<R, BoxedError>,
    ) -> Option<Result<R>> {
        match self.retreat::<K>() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(*error)),
        }
        match read(&self.back) {
            Ok(record) => Some(Ok(record)),
            Err(error) => Some(Err(*self.progress.fail(*error, &self.name, &self.back))),
        }
    }
}
