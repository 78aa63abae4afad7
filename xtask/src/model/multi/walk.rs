//! Steps of a cursor over a table in which a key has several values.

use super::{
    super::{
        shape::Key,
        violation::{Outcome, expect_bytes, expect_same},
    },
    RawMultiTable,
    oracle::{MultiModel, Pair},
};
use teak::{MultiCursor, Transaction};

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum MultiStep {
    First,
    Last,
    Next,
    Prev,
    NextKey,
    PrevKey,
    NextValue,
    PrevValue,
    FirstValue,
    LastValue,
    Seek(Key),
    SeekExact(Key),
    SeekPair(Pair),
    SeekPairExact(Pair),
    SeekValue(Pair),
    ReadPacked,
}

/// A cursor of the engine and where the model has it.
struct Walker<'m, 't> {
    cursor: MultiCursor<'t>,
    model: &'m MultiModel,
    position: Option<Pair>,
}

/// Goes through `table` by steps, where it holds `model`.
pub(super) fn perform<T: Transaction>(
    txn: &T,
    table: &RawMultiTable,
    model: &MultiModel,
    steps: &[MultiStep],
) -> Outcome {
    let mut walker = Walker {
        cursor: table.cursor(txn)?,
        model,
        position: None,
    };
    steps.iter().try_for_each(|step| walker.step(step))
}

impl Walker<'_, '_> {
    fn step(&mut self, step: &MultiStep) -> Outcome {
        let (found, expected) = match self.position.take() {
            Some(position) => self.step_from(step, position)?,
            None => self.step_from_nowhere(step)?,
        };
        expect_same(
            &format!("whether a cursor finds a pair by {step:?}"),
            found,
            expected,
        )?;
        let on_pair = self.cursor.is_on_pair();
        expect_same("whether it is on a pair", on_pair, self.position.is_some())?;
        let (key, value) = self.position.clone().unzip();
        let count = key.as_ref().map_or(0, |key| self.model.count(key));
        expect_same("count at a cursor", self.cursor.count(), count as u64)?;
        let what = |part| format!("{part} at a cursor after {step:?}");
        let cursor = (self.cursor.key(), self.cursor.value());
        expect_bytes(&what("key"), on_pair.then_some(cursor.0), key.as_deref())?;
        expect_bytes(
            &what("value"),
            on_pair.then_some(cursor.1),
            value.as_deref(),
        )
    }

    /// What the cursor says, and what the model says. Notes where the cursor is to be.
    fn step_from(&mut self, step: &MultiStep, position: Pair) -> Outcome<(bool, bool)> {
        let (cursor, model) = (&mut self.cursor, self.model);
        let (found, expected) = match step {
            MultiStep::Next => (cursor.next()?, model.next(Some(&position))),
            MultiStep::Prev => (cursor.prev()?, model.prev(Some(&position))),
            MultiStep::NextKey => (cursor.next_key()?, model.first_behind(&position.0)),
            MultiStep::PrevKey => (cursor.prev_key()?, model.last_before(&position.0)),
            MultiStep::NextValue | MultiStep::PrevValue => {
                let (found, other) = match step {
                    MultiStep::NextValue => (cursor.next_value()?, model.next(Some(&position))),
                    _ => (cursor.prev_value()?, model.prev(Some(&position))),
                };
                let other = other.filter(|other| other.0 == position.0);
                let is_expected = other.is_some();
                self.position = Some(other.unwrap_or(position));
                return Ok((found, is_expected));
            }
            MultiStep::FirstValue => {
                let first = model.values(&position.0).next();
                (cursor.first_value()?, first.map(|v| (position.0, v)))
            }
            MultiStep::LastValue => {
                let last = model.values(&position.0).next_back();
                (cursor.last_value()?, last.map(|v| (position.0, v)))
            }
            MultiStep::ReadPacked => return self.read_packed(position),
            _ => return self.step_from_nowhere(step),
        };
        let is_expected = expected.is_some();
        self.position = expected;
        Ok((found, is_expected))
    }

    /// A cursor that stands nowhere is first set to an end of the table: only then is `next` or
    /// `prev` a question with one answer.
    fn step_from_nowhere(&mut self, step: &MultiStep) -> Outcome<(bool, bool)> {
        let (cursor, model) = (&mut self.cursor, self.model);
        let at_key = |key: &Key| match model.values(key).next() {
            Some(value) => Some((key.clone(), value)),
            None => model.first_behind(key),
        };
        let (found, expected, is_exact) = match step {
            MultiStep::Last | MultiStep::Prev | MultiStep::PrevKey | MultiStep::PrevValue => {
                (cursor.last()?, model.prev(None), true)
            }
            MultiStep::Seek(key) => (cursor.seek(key)?, at_key(key), true),
            MultiStep::SeekExact(key) => {
                let is_there = model.count(key) > 0;
                (cursor.seek_exact(key)?, at_key(key), is_there)
            }
            MultiStep::SeekPair((key, value)) => {
                let expected = model.at_or_behind(&(key.clone(), value.clone()));
                (cursor.seek_pair(key, value)?, expected, true)
            }
            MultiStep::SeekPairExact(pair) => {
                let found = cursor.seek_pair_exact(&pair.0, &pair.1)?;
                (found, model.at_or_behind(pair), model.contains(pair))
            }
            MultiStep::SeekValue(pair) => {
                let expected = model.at_or_behind(pair).filter(|found| found.0 == pair.0);
                (cursor.seek_value(&pair.0, &pair.1)?, expected, true)
            }
            _ => (cursor.first()?, model.next(None), true),
        };
        let is_expected = expected.is_some() && is_exact;
        self.position = expected;
        Ok((found, is_expected))
    }

    fn read_packed(&mut self, position: Pair) -> Outcome<(bool, bool)> {
        let values = self.cursor.read_packed()?;
        let is_packed = self.model.kind.is_packed();
        let Some(values) = values else {
            self.position = Some(position);
            return Ok((false, is_packed));
        };
        let size = position.1.len();
        let mut at = position;
        for (index, value) in values.chunks(size).enumerate() {
            if index > 0 {
                let next = self.model.next(Some(&at));
                at = next.unwrap_or(at);
            }
            expect_bytes("a packed value", Some(value), Some(&at.1))?;
        }
        self.position = Some(at);
        Ok((!values.is_empty(), is_packed))
    }
}
