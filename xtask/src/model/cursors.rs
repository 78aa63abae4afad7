//! Detached cursors, each with the position that the model expects.

mod changes;
mod expected;
mod positions;
pub(crate) mod steps;
pub(crate) mod walk;

use super::{
    oracle::{AnyModel, OracleTables},
    shape::{KeyShape, ModelValue},
    violation::{ModelResult, expect_bytes, expect_refused, expect_same},
};
use expected::{expected, expected_packed, expected_records};
use positions::{at_or_after, compare, contains, next, prev, values};
use std::ops::ControlFlow;
use steps::{CursorPosition, CursorRead, CursorStep, ReadMethod, shapes};
use teak::{DetachedCursor, Direction, Error, KeyStep, TableOptions, Transaction};

fn packed_direction(is_back: bool) -> Direction {
    match is_back {
        true => Direction::Backward,
        false => Direction::Forward,
    }
}

/// A cursor of the engine, and its expected position.
#[derive(Clone)]
pub(crate) struct ModelCursor {
    pub(crate) table: Vec<u8>,
    /// The options of the table.
    options: TableOptions,
    shapes: (KeyShape, Option<KeyShape>),
    cursor: DetachedCursor,
    position: CursorPosition,
}

impl ModelCursor {
    /// A cursor over an existing table, without a position.
    pub(crate) fn open<T: Transaction>(
        txn: &T,
        name: &[u8],
        model: &AnyModel,
    ) -> ModelResult<Self> {
        use teak::codec::Raw;
        let cursor = match model {
            AnyModel::Plain(_) => DetachedCursor::new(&txn.open_table::<Raw, Raw>(name)?),
            AnyModel::Multi(_) => DetachedCursor::new(&txn.open_multi_table::<Raw, Raw>(name)?),
        };
        Ok(Self {
            table: name.to_vec(),
            options: model.options(),
            shapes: shapes(model),
            cursor,
            position: CursorPosition::Nowhere,
        })
    }

    /// The model of its table, if the table still has this kind.
    fn model<'m>(&self, tables: &'m OracleTables) -> Option<&'m AnyModel> {
        let model = tables.get(&self.table)?;
        let is_same = shapes(model) == self.shapes && model.options() == self.options;
        is_same.then_some(model)
    }

    /// Continues in another state, if that state has the table.
    pub(crate) fn step<T: Transaction>(
        &mut self,
        txn: &T,
        tables: &OracleTables,
        step: &CursorStep,
    ) -> ModelResult {
        let Some(model) = self.model(tables) else {
            if !tables.contains_key(&self.table) {
                expect_refused!(
                    "a step without a table",
                    self.cursor.next(txn),
                    Error::TableNotFound(_)
                )?;
            }
            return Ok(());
        };
        let found = self.go(txn, step)?;
        let (is_found, to) = expected(&self.position, model, step);
        expect_same(&format!("{step:?} of a cursor"), found, is_found)?;
        if let Some(to) = to {
            self.position = to;
        }
        self.verify(txn, model)
    }

    /// Unsets the position.
    pub(crate) fn reset(&mut self) {
        self.cursor.reset();
        self.position = CursorPosition::Nowhere;
    }

    /// Reads several records at once, and moves to their end.
    pub(crate) fn read<T: Transaction>(
        &mut self,
        txn: &T,
        tables: &OracleTables,
        read: &CursorRead,
    ) -> ModelResult {
        let Some(model) = self.model(tables) else {
            return Ok(());
        };
        match *read {
            CursorRead::Records { count, mode } => self.read_batch(txn, model, count, mode)?,
            CursorRead::Packed { is_back } if model.multi().is_some() => {
                self.read_packed(txn, model, is_back)?;
            }
            CursorRead::Packed { .. } => {}
        }
        self.verify(txn, model)
    }

    fn read_batch<T: Transaction>(
        &mut self,
        txn: &T,
        model: &AnyModel,
        count: usize,
        mode: ReadMethod,
    ) -> ModelResult {
        let mut seen: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut note = |key: &[u8], value: &[u8]| seen.push((key.to_vec(), value.to_vec()));
        let mut left = count;
        let visit = |key: &[u8], value: &[u8]| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            note(key, value);
            ControlFlow::Continue(())
        };
        let found = match mode {
            ReadMethod::Scan => self.cursor.scan(txn, Direction::Forward, visit)?,
            ReadMethod::ScanBack => self.cursor.scan(txn, Direction::Backward, visit)?,
            ReadMethod::Batch => self.cursor.read_batch(txn, count, note)?,
        };
        let is_back = mode == ReadMethod::ScanBack;
        let to = expected_records(model, &self.position, is_back, (&seen, count))?;
        expect_same("whether there are more", found, to.is_some())?;
        self.position = to.map_or(
            match is_back {
                true => CursorPosition::BeforeFirst,
                false => CursorPosition::AfterLast,
            },
            CursorPosition::At,
        );
        Ok(())
    }

    /// Reads packed values of one size, up to the cursor's value or from it on.
    fn read_packed<T: Transaction>(
        &mut self,
        txn: &T,
        model: &AnyModel,
        is_back: bool,
    ) -> ModelResult {
        let packed = self.cursor.read_packed(txn, packed_direction(is_back))?;
        if let Some(pair) = expected_packed(model, &self.position, is_back, packed)? {
            self.position = CursorPosition::At(pair);
        }
        Ok(())
    }

    /// Compares its position with that of another cursor.
    pub(crate) fn compare<T: Transaction>(
        &self,
        other: &Self,
        txn: &T,
        tables: &OracleTables,
    ) -> ModelResult {
        let (Some(model), Some(_)) = (self.model(tables), other.model(tables)) else {
            return Ok(());
        };
        let rank = |position: &CursorPosition| match position {
            CursorPosition::Nowhere => None,
            CursorPosition::BeforeFirst => Some(0),
            CursorPosition::At(_) => Some(1),
            CursorPosition::AfterLast => Some(2),
        };
        let expected = match (&self.position, &other.position) {
            _ if self.table != other.table => None,
            (CursorPosition::At(one), CursorPosition::At(other)) => {
                Some(compare(model, one, other))
            }
            (one, other) => rank(one)
                .zip(rank(other))
                .map(|(one, other)| one.cmp(&other)),
        };
        let found = self.cursor.compare(&other.cursor, txn)?;
        expect_same("order of two cursors", found, expected)
    }

    fn go<T: Transaction>(&mut self, txn: &T, step: &CursorStep) -> ModelResult<bool> {
        let cursor = &mut self.cursor;
        Ok(match step {
            CursorStep::First => cursor.first(txn)?,
            CursorStep::Last => cursor.last(txn)?,
            CursorStep::Next => cursor.next(txn)?,
            CursorStep::Prev => cursor.prev(txn)?,
            CursorStep::Current => cursor.current(txn)?,
            CursorStep::NextKey => cursor.step(txn, KeyStep::NextKey)?,
            CursorStep::PrevKey => cursor.step(txn, KeyStep::PrevKey)?,
            CursorStep::NextValue => cursor.step(txn, KeyStep::NextValue)?,
            CursorStep::PrevValue => cursor.step(txn, KeyStep::PrevValue)?,
            CursorStep::FirstValue => cursor.step(txn, KeyStep::FirstValue)?,
            CursorStep::LastValue => cursor.step(txn, KeyStep::LastValue)?,
            CursorStep::Seek(op, target) => cursor.seek(txn, *op, target.as_target())?,
        })
    }

    /// Compares the position of the cursor with the model.
    fn verify<T: Transaction>(&self, txn: &T, model: &AnyModel) -> ModelResult {
        let cursor = &self.cursor;
        let (is_first, is_last, is_after_last) = match &self.position {
            CursorPosition::At(pair) => (
                contains(model, pair) && prev(model, Some(pair)).is_none(),
                contains(model, pair) && next(model, Some(pair)).is_none(),
                at_or_after(model, pair).is_none(),
            ),
            position => (false, false, *position == CursorPosition::AfterLast),
        };
        let is_unset = self.position == CursorPosition::Nowhere;
        expect_same("is_nowhere", cursor.is_unset(), is_unset)?;
        let ends = cursor.ends(txn)?;
        expect_same("is_first", ends.is_first, is_first)?;
        expect_same("is_last", ends.is_last, is_last)?;
        expect_same("is_after_last", ends.is_after_last, is_after_last)?;
        let CursorPosition::At(pair) = &self.position else {
            return expect_same(
                "whether it is on a record",
                cursor.is_on_record(txn)?,
                false,
            );
        };
        expect_bytes("key of a cursor", Some(cursor.key()), Some(&pair.0))?;
        let is_there = contains(model, pair);
        expect_same(
            "whether it is on a record",
            cursor.is_on_record(txn)?,
            is_there,
        )?;
        let value = match model {
            AnyModel::Multi(_) => Some(&pair.1[..]),
            AnyModel::Plain(table) => table.get(&pair.0).map(ModelValue::bytes),
        };
        let value = value.filter(|_| is_there).unwrap_or_default();
        expect_bytes("value at a cursor", Some(&*cursor.value(txn)?), Some(value))?;
        let all = values(model, &pair.0);
        expect_same("count of a cursor", cursor.count(txn)?, all.len() as u64)?;
        let is_first = is_there && all.first() == Some(&pair.1);
        expect_same("is_first_value", ends.is_first_value, is_first)?;
        let is_last = is_there && all.last() == Some(&pair.1);
        expect_same("is_last_value", ends.is_last_value, is_last)
    }
}
