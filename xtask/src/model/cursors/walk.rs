//! Walks through one state of a table, by a cursor that borrows its transaction.

use super::{
    expected::{expected, expected_packed, expected_records},
    positions::{contains, next, prev, value_of, values},
    steps::{CursorPosition, CursorRead, CursorStep},
};
use crate::model::{
    oracle::AnyModel,
    violation::{ModelResult, expect_bytes, expect_same},
};
use teak::{Transaction, codec::Bytes};

/// The cursor of a table of either kind.
enum EngineCursor<'t> {
    Plain(teak::Cursor<'t>),
    Multi(teak::MultiCursor<'t>),
}

/// A cursor of the engine, and its expected position.
struct Walker<'m, 't> {
    cursor: EngineCursor<'t>,
    model: &'m AnyModel,
    position: CursorPosition,
    /// Whether a search found nothing. Then the cursor is on no record, but not at an end either.
    is_lost: bool,
}

/// Steps through the table `name`, which holds `model`, and reads something at the last position.
pub(crate) fn perform<T: Transaction>(
    txn: &T,
    name: &[u8],
    model: &AnyModel,
    (steps, read): &(Vec<CursorStep>, CursorRead),
) -> ModelResult {
    let cursor = match model {
        AnyModel::Plain(_) => {
            EngineCursor::Plain(txn.open_table::<Bytes, Bytes>(name)?.cursor(txn)?)
        }
        AnyModel::Multi(_) => {
            EngineCursor::Multi(txn.open_multi_table::<Bytes, Bytes>(name)?.cursor(txn)?)
        }
    };
    let mut walker = Walker {
        cursor,
        model,
        position: CursorPosition::Nowhere,
        is_lost: false,
    };
    steps.iter().try_for_each(|step| walker.step(step))?;
    walker.read(read)
}

impl Walker<'_, '_> {
    fn step(&mut self, step: &CursorStep) -> ModelResult {
        let step = match step {
            CursorStep::Next | CursorStep::NextKey if self.is_lost => &CursorStep::First,
            CursorStep::Prev | CursorStep::PrevKey if self.is_lost => &CursorStep::Last,
            step => step,
        };
        let Some(found) = self.cursor.go(step)? else {
            return Ok(());
        };
        let (is_found, to) = expected(&self.position, self.model, step);
        expect_same(&format!("{step:?} of a walk"), found, is_found)?;
        let stays = matches!(
            step,
            CursorStep::NextValue
                | CursorStep::PrevValue
                | CursorStep::FirstValue
                | CursorStep::LastValue
        );
        match to {
            Some(to) => (self.position, self.is_lost) = (to, false),
            None if stays => {}
            None => (self.position, self.is_lost) = (CursorPosition::Nowhere, true),
        }
        self.verify()
    }

    fn read(&mut self, read: &CursorRead) -> ModelResult {
        match (read, &mut self.cursor) {
            _ if self.is_lost => {}
            (CursorRead::Records { count, .. }, cursor) => {
                let mut seen = Vec::new();
                let mut note = |key: &[u8], value: &[u8]| seen.push((key.to_vec(), value.to_vec()));
                let is_more = match cursor {
                    EngineCursor::Plain(cursor) => cursor.read_batch(*count, note)?,
                    EngineCursor::Multi(cursor) => cursor.read_batch(*count, &mut note)?,
                };
                let to = expected_records(self.model, &self.position, false, (&seen, *count))?;
                expect_same("whether there are more", is_more, to.is_some())?;
                self.position = to.map_or(CursorPosition::AfterLast, CursorPosition::At);
            }
            (CursorRead::Packed { is_back }, EngineCursor::Multi(cursor)) => {
                let packed = match is_back {
                    true => cursor.read_packed_back()?,
                    false => cursor.read_packed()?,
                };
                if let Some(pair) = expected_packed(self.model, &self.position, *is_back, packed)? {
                    self.position = CursorPosition::At(pair);
                }
            }
            (CursorRead::Packed { .. }, EngineCursor::Plain(_)) => {}
        }
        self.verify()
    }

    /// Compares the position of the cursor with the model.
    fn verify(&self) -> ModelResult {
        let CursorPosition::At(pair) = &self.position else {
            return expect_same(
                "whether it is on a record",
                self.cursor.is_on_record(),
                false,
            );
        };
        let (model, key) = (self.model, self.cursor.key());
        expect_same("whether it is there", contains(model, pair), true)?;
        expect_bytes("key of a walk", Some(key), Some(&pair.0))?;
        let value = Some(self.cursor.value()?);
        expect_bytes("value of a walk", value, Some(value_of(model, pair)))?;
        let ends = [
            prev(model, Some(pair)).is_none(),
            next(model, Some(pair)).is_none(),
        ];
        expect_same("whether it is at an end", self.cursor.ends(), ends)?;
        let EngineCursor::Multi(cursor) = &self.cursor else {
            return Ok(());
        };
        let all = values(model, &pair.0);
        expect_same("count of a walk", cursor.count(), all.len() as u64)?;
        let of_key = [cursor.is_first_value(), cursor.is_last_value()];
        let ends = [all.first(), all.last()].map(|end| end == Some(&pair.1));
        expect_same("whether it is at an end of its key", of_key, ends)
    }
}

impl EngineCursor<'_> {
    /// Whether a step finds its target; `None` if there is no such step.
    fn go(&mut self, step: &CursorStep) -> ModelResult<Option<bool>> {
        use CursorStep as Step;
        let found = match self {
            Self::Plain(cursor) => match step {
                Step::First => cursor.first(),
                Step::Last => cursor.last(),
                Step::Next => cursor.next(),
                Step::Prev => cursor.prev(),
                Step::Seek(key) => cursor.seek(key),
                Step::SeekExact(key) => cursor.seek_exact(key),
                Step::SeekGreater(key) => cursor.seek_greater(key),
                Step::SeekLess(key) => cursor.seek_less(key),
                Step::SeekLessOrEqual(key) => cursor.seek_less_or_equal(key),
                _ => return Ok(None),
            },
            Self::Multi(cursor) => match step {
                Step::First => cursor.first(),
                Step::Last => cursor.last(),
                Step::Next => cursor.next(),
                Step::Prev => cursor.prev(),
                Step::Current => return Ok(None),
                Step::NextKey => cursor.next_key(),
                Step::PrevKey => cursor.prev_key(),
                Step::NextValue => cursor.next_value(),
                Step::PrevValue => cursor.prev_value(),
                Step::FirstValue => cursor.first_value(),
                Step::LastValue => cursor.last_value(),
                Step::Seek(key) => cursor.seek(key),
                Step::SeekExact(key) => cursor.seek_exact(key),
                Step::SeekGreater(key) => cursor.seek_greater(key),
                Step::SeekLess(key) => cursor.seek_less(key),
                Step::SeekLessOrEqual(key) => cursor.seek_less_or_equal(key),
                Step::SeekPair((key, value)) => cursor.seek_pair(key, value),
                Step::SeekPairExact((key, value)) => cursor.seek_pair_exact(key, value),
                Step::SeekPairGreater((key, value)) => cursor.seek_pair_greater(key, value),
                Step::SeekPairLess((key, value)) => cursor.seek_pair_less(key, value),
                Step::SeekPairLessOrEqual((key, value)) => {
                    cursor.seek_pair_less_or_equal(key, value)
                }
                Step::SeekValue((key, value)) => cursor.seek_value(key, value),
                Step::SeekValueExact((key, value)) => cursor.seek_value_exact(key, value),
                Step::SeekValueGreater((key, value)) => cursor.seek_value_greater(key, value),
                Step::SeekValueLess((key, value)) => cursor.seek_value_less(key, value),
                Step::SeekValueLessOrEqual((key, value)) => {
                    cursor.seek_value_less_or_equal(key, value)
                }
            },
        };
        Ok(Some(found?))
    }

    fn is_on_record(&self) -> bool {
        match self {
            Self::Plain(cursor) => cursor.is_on_record(),
            Self::Multi(cursor) => cursor.is_on_pair(),
        }
    }

    fn key(&self) -> &[u8] {
        match self {
            Self::Plain(cursor) => cursor.key(),
            Self::Multi(cursor) => cursor.key(),
        }
    }

    fn value(&self) -> ModelResult<&[u8]> {
        Ok(match self {
            Self::Plain(cursor) => cursor.value()?,
            Self::Multi(cursor) => cursor.value(),
        })
    }

    /// Whether it is on the first record, and on the last.
    fn ends(&self) -> [bool; 2] {
        match self {
            Self::Plain(cursor) => [cursor.is_first(), cursor.is_last()],
            Self::Multi(cursor) => [cursor.is_first(), cursor.is_last()],
        }
    }
}
