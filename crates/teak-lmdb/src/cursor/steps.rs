//! Steps of a cursor: to an end of the table, to the next or previous record, value or key.

use super::{CursorState, ResolvedPosition};
use crate::{
    codes::{CallResult, Code},
    engine_cursor::EngineCursor,
    transaction::Transaction,
};

const NOT_FOUND: Code = Code::NOT_FOUND;

/// The target of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StepUnit {
    Record,
    Value,
    Key,
}

/// An end of a table, or of the values of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeEnd {
    First,
    Last,
}

/// The state of the engine cursor after a step that found no record.
pub(super) enum MissedStep {
    /// It has not moved.
    Unmoved,
    /// It has left the records. If keys have several values, it was on this one.
    Left(Option<&'static [u8]>),
}

impl MissedStep {
    /// `None` if the step has found a record.
    fn of(is_found: bool, step: StepUnit, value: Option<&'static [u8]>) -> Option<Self> {
        match (is_found, step) {
            (true, _) => None,
            (false, StepUnit::Value) => Some(Self::Unmoved),
            (false, _) => Some(Self::Left(value)),
        }
    }
}

impl StepUnit {
    /// Where a key has one value, LMDB steps from that value to the value of another key.
    fn on(self, cursor: &EngineCursor) -> Self {
        match cursor {
            EngineCursor::Multi(_) => self,
            _ => Self::Record,
        }
    }
}

impl CursorState {
    pub(super) fn go_to_end(&mut self, txn: &mut Transaction, end: RangeEnd) -> CallResult {
        self.position.is_at_end = end == RangeEnd::Last;
        let mut cursor = self.any_cursor(txn)?;
        let is_found = match end {
            RangeEnd::First => cursor.first()?,
            RangeEnd::Last => cursor.last()?,
        };
        match is_found {
            true => {
                self.be_on(cursor);
                Ok(())
            }
            false => {
                self.reset();
                Err(NOT_FOUND)
            }
        }
    }

    pub(super) fn next(&mut self, txn: &mut Transaction, step: StepUnit) -> CallResult {
        if self.engine_cursor.is_some() {
            return self.next_from_record(step);
        }
        let is_without_value = self.position.is_without_value;
        match self.find(txn)? {
            ResolvedPosition::Nowhere => self.go_to_end(txn, RangeEnd::First),
            ResolvedPosition::AfterLast => {
                self.position.is_at_end = true;
                Err(NOT_FOUND)
            }
            ResolvedPosition::On(cursor) => {
                self.be_on(cursor);
                self.position.is_without_value = is_without_value;
                self.next_from_record(step)
            }
            ResolvedPosition::Gap(mut cursor, key, value) => {
                let is_of_key = cursor.is_on_record() && cursor.key() == key;
                let is_found = match step {
                    StepUnit::Record => cursor.is_on_record(),
                    StepUnit::Value => is_of_key,
                    StepUnit::Key if is_of_key => cursor.next_key()?,
                    StepUnit::Key => cursor.is_on_record(),
                };
                if is_found {
                    self.position.is_at_end = false;
                    self.be_on(cursor);
                    return Ok(());
                }
                if step == StepUnit::Key {
                    self.be_at(&key, &value);
                } else {
                    self.leave_gap(cursor, &key, &value)?;
                }
                Err(NOT_FOUND)
            }
        }
    }

    /// Moves from a gap to the record after it, of the same key if that key still exists. Otherwise
    /// the cursor stays in the gap. `cursor` is at the position that [`Self::find`] left it at.
    fn leave_gap(&mut self, cursor: EngineCursor, key: &[u8], value: &[u8]) -> CallResult<bool> {
        let is_of_key = cursor.is_on_record() && cursor.key() == key;
        let has_key = matches!(cursor, EngineCursor::Multi(_)) && cursor.clone().seek_exact(key)?;
        let is_left = cursor.is_on_record() && (is_of_key || !has_key);
        if is_left {
            self.be_on(cursor);
        } else {
            self.be_at(key, value);
        }
        Ok(is_left)
    }

    /// A step from the record of the engine cursor. Scans take this path.
    fn next_from_record(&mut self, step: StepUnit) -> CallResult {
        let was_at_end = self.position.is_at_end;
        let is_without_value = self.position.is_without_value;
        let done = self.engine_cursor.as_mut().map_or(Ok(None), |cursor| {
            let step = step.on(cursor);
            if is_without_value && step != StepUnit::Key && cursor.count() > 1 {
                return cursor.first_value().map(|_| None);
            }
            let value = cursor.value_of_several();
            if was_at_end && value.is_some() && !cursor.clone().next_key()? {
                return Ok(Some(MissedStep::Unmoved));
            }
            let is_found = match step {
                StepUnit::Record => cursor.next()?,
                StepUnit::Value => cursor.next_value()?,
                StepUnit::Key => cursor.next_key()?,
            };
            Ok(MissedStep::of(is_found, step, value))
        });
        self.settle(done, RangeEnd::Last)
    }

    fn prev_from_record(&mut self, step: StepUnit) -> CallResult {
        let is_without_value = self.position.is_without_value;
        let done = self.engine_cursor.as_mut().map_or(Ok(None), |cursor| {
            let step = step.on(cursor);
            if is_without_value && step != StepUnit::Key && cursor.count() > 1 {
                return cursor.last_value().map(|_| None);
            }
            let value = cursor.value_of_several();
            let is_found = match step {
                StepUnit::Record => cursor.prev()?,
                StepUnit::Value => cursor.prev_value()?,
                StepUnit::Key => cursor.prev_key()?,
            };
            Ok(MissedStep::of(is_found, step, value))
        });
        self.settle(done, RangeEnd::First)
    }

    /// Sets the position after a step towards `end`. An error clears it.
    #[inline]
    pub(super) fn settle(
        &mut self,
        done: CallResult<Option<MissedStep>>,
        end: RangeEnd,
    ) -> CallResult {
        self.position.is_without_value = false;
        if let Ok(None) = done {
            self.position.is_at_end = false;
            return Ok(());
        }
        self.settle_missed(done, end)
    }

    fn settle_missed(&mut self, done: CallResult<Option<MissedStep>>, end: RangeEnd) -> CallResult {
        match done {
            Ok(None | Some(MissedStep::Unmoved)) => {}
            Ok(Some(MissedStep::Left(value))) => {
                self.position.is_at_end = end == RangeEnd::Last;
                if let Some(cursor) = self.take_cursor() {
                    self.return_to_end(cursor, value, end)?;
                }
            }
            Err(code) => {
                self.reset();
                return Err(code);
            }
        }
        Err(NOT_FOUND)
    }

    pub(super) fn prev(&mut self, txn: &mut Transaction, step: StepUnit) -> CallResult {
        if self.engine_cursor.is_some() {
            return self.prev_from_record(step);
        }
        let is_without_value = self.position.is_without_value;
        let (mut cursor, gap) = match self.find(txn)? {
            ResolvedPosition::Nowhere | ResolvedPosition::AfterLast => {
                self.go_to_end(txn, RangeEnd::Last)?;
                self.position.is_at_end = false;
                return Ok(());
            }
            ResolvedPosition::On(cursor) => {
                self.be_on(cursor);
                self.position.is_without_value = is_without_value;
                return self.prev_from_record(step);
            }
            ResolvedPosition::Gap(cursor, key, value) => (cursor, (key, value)),
        };
        let (key, value) = gap;
        let step = step.on(&cursor);
        let after = cursor.clone();
        let mut is_found = match cursor.is_on_record() {
            true => cursor.prev()?,
            false => cursor.last()?,
        };
        if is_found && step != StepUnit::Record && (cursor.key() == key) == (step == StepUnit::Key)
        {
            is_found = step == StepUnit::Key && cursor.prev_key()?;
        }
        self.position.is_at_end = false;
        if !is_found {
            // In LMDB such a step forgets the deletion.
            self.leave_gap(after, &key, &value)?;
            return Err(NOT_FOUND);
        }
        self.be_on(cursor);
        Ok(())
    }

    /// Returns to the record from which a step led off the table.
    fn return_to_end(
        &mut self,
        mut cursor: EngineCursor,
        value: Option<&[u8]>,
        end: RangeEnd,
    ) -> CallResult {
        let mut is_found = match end {
            RangeEnd::First => cursor.first()?,
            RangeEnd::Last => cursor.last()?,
        };
        if let (true, Some(value)) = (is_found, value) {
            let key = cursor.key().to_vec();
            is_found = cursor.seek_pair_exact(&key, value)?;
        }
        match is_found {
            true => self.be_on(cursor),
            false => self.reset(),
        }
        Ok(())
    }

    /// Stays on the record. From a gap, moves to the record after it, of the same key if that key
    /// still exists.
    pub(super) fn stay(&mut self, txn: &mut Transaction) -> CallResult {
        let is_without_value = self.position.is_without_value;
        let (cursor, key, value) = match self.find(txn)? {
            ResolvedPosition::Nowhere => return Err(Code::INVALID_ARGUMENT),
            ResolvedPosition::AfterLast => return Err(NOT_FOUND),
            ResolvedPosition::On(cursor) => {
                let is_refused = is_without_value && cursor.count() > 1;
                self.be_on(cursor);
                self.position.is_without_value = is_refused;
                return match is_refused {
                    true => Err(Code::INVALID_ARGUMENT),
                    false => Ok(()),
                };
            }
            ResolvedPosition::Gap(cursor, key, value) => (cursor, key, value),
        };
        match self.leave_gap(cursor, &key, &value)? {
            true => Ok(()),
            false => Err(NOT_FOUND),
        }
    }
}
