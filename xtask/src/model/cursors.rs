//! Cursors that are tied to no transaction, and where the model has each of them.

mod changes;
mod positions;
pub(crate) mod walk;

use super::{
    draw::RECORDS_MAX,
    multi::oracle::Pair,
    operation::ReadSource,
    oracle::{AnyModel, OracleTables},
    shape::{KeyShape, ModelKey, ModelValue},
    violation::{ModelResult, expect_bytes, expect_error, expect_same},
};
use fastrand::Rng;
use positions::{
    at_or_after, at_or_after_key, compare, contains, first_after, here_or_before, last_before,
    last_of_key_or_before, next, prev, value_of, values,
};
use std::{cmp::Ordering, ops::ControlFlow};
use teak::{DeleteScope, DetachedCursor, Error, TableOptions, Transaction};

/// Cursors of an episode at one time.
pub(crate) const CURSORS_MAX: usize = 8;

/// Where a cursor goes.
#[derive(Clone, Debug)]
pub(crate) enum CursorStep {
    First,
    Last,
    Next,
    Prev,
    Current,
    NextKey,
    PrevKey,
    NextValue,
    PrevValue,
    FirstValue,
    LastValue,
    Seek(ModelKey),
    SeekLess(ModelKey),
    /// In a table in which a key has several values.
    SeekPair(Pair),
    SeekPairLess(Pair),
    SeekValue(Pair),
    SeekExact(ModelKey),
    SeekGreater(ModelKey),
    SeekLessOrEqual(ModelKey),
    SeekPairExact(Pair),
    SeekPairGreater(Pair),
    SeekPairLessOrEqual(Pair),
    SeekValueExact(Pair),
    SeekValueGreater(Pair),
    SeekValueLess(Pair),
    SeekValueLessOrEqual(Pair),
}

/// What a cursor reads at once, and behind which it goes on.
#[derive(Clone, Debug)]
pub(crate) enum CursorRead {
    /// So many records.
    Records { count: usize, mode: ReadMethod },
    /// Values of one size, as many as lie together.
    Packed { is_back: bool },
}

/// How several records are read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum ReadMethod {
    Batch,
    Scan,
    ScanBack,
}

/// What a cursor changes.
#[derive(Clone, Debug)]
pub(crate) enum CursorChange {
    Insert(Pair, ModelValue),
    InsertNew(Pair, ModelValue),
    Append(Pair, ModelValue),
    /// In a table in which a key has several values.
    AppendValue(Pair, ModelValue),
    Remove,
    RemoveAllValues,
    RemoveScope(DeleteScope),
    Update(ModelKey, ModelValue),
}

#[derive(Clone, PartialEq, Debug)]
enum CursorPosition {
    Nowhere,
    BeforeFirst,
    At(Pair),
    AfterLast,
}

/// A cursor of the engine, and where it is to be.
#[derive(Clone)]
pub(crate) struct ModelCursor {
    pub(crate) table: Vec<u8>,
    /// What the table was created with.
    options: TableOptions,
    shapes: (KeyShape, Option<KeyShape>),
    cursor: DetachedCursor,
    position: CursorPosition,
}

/// What keys and values of a table look like, and are ordered by.
fn shapes(model: &AnyModel) -> (KeyShape, Option<KeyShape>) {
    match model {
        AnyModel::Plain(table) => (table.kind.shape.clone(), None),
        AnyModel::Multi(table) => {
            let kind = &table.kind;
            (kind.shape.clone(), Some(kind.value_shape.clone()))
        }
    }
}

/// All that can be removed beside a cursor.
const DELETE_SCOPES: [DeleteScope; 10] = [
    DeleteScope::Before,
    DeleteScope::UpToCurrent,
    DeleteScope::FromCurrent,
    DeleteScope::After,
    DeleteScope::All,
    DeleteScope::ValuesBefore,
    DeleteScope::ValuesUpToCurrent,
    DeleteScope::ValuesFromCurrent,
    DeleteScope::ValuesAfter,
    DeleteScope::AllValues,
];

impl CursorRead {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        match rng.u8(0..5) {
            0 | 1 => Self::Packed {
                is_back: rng.bool(),
            },
            _ => Self::Records {
                count: rng.usize(0..20),
                mode: [ReadMethod::Batch, ReadMethod::Scan, ReadMethod::ScanBack][rng.usize(0..3)],
            },
        }
    }
}

impl CursorChange {
    /// A change of a table, with a pair that it may be about.
    pub(crate) fn draw(rng: &mut Rng, model: &AnyModel, pair: Pair, value: ModelValue) -> Self {
        let is_full = model.len() > RECORDS_MAX;
        match rng.u8(0..20) {
            0..8 if !is_full => Self::Insert(pair, value),
            8 if !is_full => Self::InsertNew(pair, value),
            9 if !is_full => Self::Append(pair, value),
            10 if !is_full && model.multi().is_some() => Self::AppendValue(pair, value),
            11..14 => Self::Update(pair.1, value),
            14 if rng.u8(0..4) == 0 => Self::RemoveAllValues,
            // Those of a key more often than those of the table, of which little stays.
            15 if is_full || rng.u8(0..8) == 0 => Self::RemoveScope(DELETE_SCOPES[rng.usize(..5)]),
            16 => Self::RemoveScope(DELETE_SCOPES[rng.usize(5..DELETE_SCOPES.len())]),
            _ => Self::Remove,
        }
    }
}

impl CursorStep {
    pub(crate) fn draw(rng: &mut Rng, model: &AnyModel, domain: u64) -> Self {
        let is_multi = model.multi().is_some();
        let (key, value) = draw_pair(rng, model, domain);
        let pair = (key.clone(), value.clone());
        match rng.u8(0..43) {
            0 => Self::First,
            1 => Self::Last,
            2..8 => Self::Next,
            8..13 => Self::Prev,
            13 => Self::Current,
            14 => Self::NextKey,
            15 => Self::PrevKey,
            16..19 => Self::NextValue,
            19..21 => Self::PrevValue,
            21 => Self::FirstValue,
            22 => Self::LastValue,
            23 | 24 if is_multi => Self::SeekPair((key, value)),
            25 if is_multi => Self::SeekPairLess((key, value)),
            26 | 27 if is_multi => Self::SeekValue((key, value)),
            28 => Self::SeekLess(key),
            29..32 => Self::Seek(key),
            32 if is_multi => Self::SeekPairExact(pair),
            33 if is_multi => Self::SeekPairGreater(pair),
            34 if is_multi => Self::SeekPairLessOrEqual(pair),
            35 if is_multi => Self::SeekValueExact(pair),
            36 if is_multi => Self::SeekValueGreater(pair),
            37 if is_multi => Self::SeekValueLess(pair),
            38 if is_multi => Self::SeekValueLessOrEqual(pair),
            39 | 40 => Self::SeekExact(key),
            41 => Self::SeekGreater(key),
            _ => Self::SeekLessOrEqual(key),
        }
    }
}

/// A key of a table and, if its keys have several, a value.
pub(crate) fn draw_pair(rng: &mut Rng, model: &AnyModel, domain: u64) -> Pair {
    let (keys, values) = shapes(model);
    let key_domain = model.multi().map_or(domain, |table| table.kind.key_domain);
    let value = values.map(|values| values.key(rng.u64(0..domain)));
    let nothing = || ModelKey::from(Vec::new());
    (
        keys.key(rng.u64(0..key_domain)),
        value.unwrap_or_else(nothing),
    )
}

impl ModelCursor {
    /// A cursor over a table that is there, nowhere yet.
    pub(crate) fn open<T: Transaction>(
        txn: &T,
        name: &[u8],
        model: &AnyModel,
    ) -> ModelResult<Self> {
        use teak::codec::Bytes;
        let cursor = match model {
            AnyModel::Plain(_) => DetachedCursor::new(&txn.open_table::<Bytes, Bytes>(name)?),
            AnyModel::Multi(_) => {
                DetachedCursor::for_multi(&txn.open_multi_table::<Bytes, Bytes>(name)?)
            }
        };
        Ok(Self {
            table: name.to_vec(),
            options: model.options(),
            shapes: shapes(model),
            cursor,
            position: CursorPosition::Nowhere,
        })
    }

    /// The model of its table, if it is still such a one.
    fn model<'m>(&self, tables: &'m OracleTables) -> Option<&'m AnyModel> {
        let model = tables.get(&self.table)?;
        let is_same = shapes(model) == self.shapes && model.options() == self.options;
        is_same.then_some(model)
    }

    /// Goes on in one state, where that has the table.
    pub(crate) fn step<T: Transaction>(
        &mut self,
        txn: &T,
        tables: &OracleTables,
        step: &CursorStep,
    ) -> ModelResult {
        let Some(model) = self.model(tables) else {
            if !tables.contains_key(&self.table) {
                expect_error("a step without a table", self.cursor.next(txn), |error| {
                    matches!(error, Error::TableNotFound(_))
                })?;
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

    /// Is nowhere again.
    pub(crate) fn reset(&mut self) {
        self.cursor.reset();
        self.position = CursorPosition::Nowhere;
    }

    /// Reads several records at once, and goes on to where they end.
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
            ReadMethod::Scan => self.cursor.scan(txn, visit)?,
            ReadMethod::ScanBack => self.cursor.scan_back(txn, visit)?,
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

    /// Reads values of one size that lie together, up to the one that the cursor is on or from it on.
    fn read_packed<T: Transaction>(
        &mut self,
        txn: &T,
        model: &AnyModel,
        is_back: bool,
    ) -> ModelResult {
        let packed = match is_back {
            true => self.cursor.read_packed_back(txn)?,
            false => self.cursor.read_packed(txn)?,
        };
        if let Some(pair) = expected_packed(model, &self.position, is_back, packed)? {
            self.position = CursorPosition::At(pair);
        }
        Ok(())
    }

    /// Compares its place with that of another cursor.
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
        expect_same("order of two cursors", found, expected)?;
        let of_keys = match (&self.position, &other.position) {
            (CursorPosition::At(one), CursorPosition::At(other)) if one.0 == other.0 => {
                expected.map(|_| Ordering::Equal)
            }
            _ => expected,
        };
        let found = self.cursor.compare_keys(&other.cursor, txn)?;
        expect_same("order of the keys of two cursors", found, of_keys)
    }

    fn go<T: Transaction>(&mut self, txn: &T, step: &CursorStep) -> ModelResult<bool> {
        let cursor = &mut self.cursor;
        Ok(match step {
            CursorStep::First => cursor.first(txn)?,
            CursorStep::Last => cursor.last(txn)?,
            CursorStep::Next => cursor.next(txn)?,
            CursorStep::Prev => cursor.prev(txn)?,
            CursorStep::Current => cursor.current(txn)?,
            CursorStep::NextKey => cursor.next_key(txn)?,
            CursorStep::PrevKey => cursor.prev_key(txn)?,
            CursorStep::NextValue => cursor.next_value(txn)?,
            CursorStep::PrevValue => cursor.prev_value(txn)?,
            CursorStep::FirstValue => cursor.first_value(txn)?,
            CursorStep::LastValue => cursor.last_value(txn)?,
            CursorStep::Seek(key) => cursor.seek(txn, key)?,
            CursorStep::SeekLess(key) => cursor.seek_less(txn, key)?,
            CursorStep::SeekPair((key, value)) => cursor.seek_pair(txn, key, value)?,
            CursorStep::SeekPairLess((key, value)) => cursor.seek_pair_less(txn, key, value)?,
            CursorStep::SeekValue((key, value)) => cursor.seek_value(txn, key, value)?,
            CursorStep::SeekExact(key) => cursor.seek_exact(txn, key)?,
            CursorStep::SeekGreater(key) => cursor.seek_greater(txn, key)?,
            CursorStep::SeekLessOrEqual(key) => cursor.seek_less_or_equal(txn, key)?,
            CursorStep::SeekPairExact((key, value)) => cursor.seek_pair_exact(txn, key, value)?,
            CursorStep::SeekPairGreater((key, value)) => {
                cursor.seek_pair_greater(txn, key, value)?
            }
            CursorStep::SeekPairLessOrEqual((key, value)) => {
                cursor.seek_pair_less_or_equal(txn, key, value)?
            }
            CursorStep::SeekValueExact((key, value)) => cursor.seek_value_exact(txn, key, value)?,
            CursorStep::SeekValueGreater((key, value)) => {
                cursor.seek_value_greater(txn, key, value)?
            }
            CursorStep::SeekValueLess((key, value)) => cursor.seek_value_less(txn, key, value)?,
            CursorStep::SeekValueLessOrEqual((key, value)) => {
                cursor.seek_value_less_or_equal(txn, key, value)?
            }
        })
    }

    /// What the cursor says of its place.
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
        expect_same("is_first", cursor.is_first(txn)?, is_first)?;
        expect_same("is_last", cursor.is_last(txn)?, is_last)?;
        let is_behind = cursor.is_after_last(txn)?;
        expect_same("is_behind_last", is_behind, is_after_last)?;
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
        expect_same("is_first_value", cursor.is_first_value(txn)?, is_first)?;
        let is_last = is_there && all.last() == Some(&pair.1);
        expect_same("is_last_value", cursor.is_last_value(txn)?, is_last)
    }
}

/// Key and value, as the engine had them.
type OwnedRecord = (Vec<u8>, Vec<u8>);

/// Fails unless these are the records from a place on, or back from it, as many as were wanted; says which comes next.
fn expected_records(
    model: &AnyModel,
    position: &CursorPosition,
    is_back: bool,
    (seen, count): (&[OwnedRecord], usize),
) -> ModelResult<Option<Pair>> {
    let from = match (position, is_back) {
        (CursorPosition::At(pair), false) => at_or_after(model, pair),
        (CursorPosition::At(pair), true) => here_or_before(model, pair),
        (CursorPosition::AfterLast, false) | (CursorPosition::BeforeFirst, true) => None,
        (_, false) => next(model, None),
        (_, true) => prev(model, None),
    };
    let mut walk = positions::walk(model, from, is_back);
    let expected: Vec<_> = walk.by_ref().take(count).collect();
    expect_same("records that were read", seen.len(), expected.len())?;
    for ((key, value), pair) in seen.iter().zip(&expected) {
        expect_bytes("a key that was read", Some(key), Some(&pair.0))?;
        let expected = Some(value_of(model, pair));
        expect_bytes("a value that was read", Some(value), expected)?;
    }
    Ok(walk.next())
}

/// Fails unless these are values of one size from a place on, or up to it, where there are such; says where they end.
fn expected_packed(
    model: &AnyModel,
    position: &CursorPosition,
    is_back: bool,
    packed: Option<&[u8]>,
) -> ModelResult<Option<Pair>> {
    let here = match position {
        CursorPosition::At(pair) if contains(model, pair) => Some(pair),
        _ => None,
    };
    let is_packed = model.multi().is_some_and(|table| table.kind.is_packed());
    let is_expected = is_packed && here.is_some();
    expect_same(
        "whether there are packed values",
        packed.is_some(),
        is_expected,
    )?;
    let (Some(packed), Some((key, value))) = (packed, here) else {
        return Ok(None);
    };
    let all = values(model, key);
    let at = all.iter().position(|other| other == value);
    let (at, count) = (at.unwrap_or_default(), packed.len() / value.len());
    let of_key = match is_back {
        true => all.get((at + 1).saturating_sub(count)..=at),
        false => all.get(at..at + count),
    };
    let expected = of_key.unwrap_or_default();
    let bytes: Vec<u8> = expected.iter().flat_map(|value| value.to_vec()).collect();
    expect_bytes("packed values", Some(packed), Some(&bytes))?;
    let last = match is_back {
        true => expected.first(),
        false => expected.last(),
    };
    expect_same("whether there are some", last.is_some(), true)?;
    Ok(last.map(|last| (key.clone(), last.clone())))
}

/// Whether a step finds what it is for, and where the cursor is then; without that it stays.
fn expected(
    position: &CursorPosition,
    model: &AnyModel,
    step: &CursorStep,
) -> (bool, Option<CursorPosition>) {
    let at = match position {
        CursorPosition::At(pair) => Some(pair),
        _ => None,
    };
    let to_or_stay = |to: Option<Pair>| (to.is_some(), to.map(CursorPosition::At));
    let to_or_after = |to| to_or(to, CursorPosition::AfterLast);
    let to_or_before = |to| to_or(to, CursorPosition::BeforeFirst);
    let forward = |of: fn(&AnyModel, &Pair) -> Option<Pair>| match (position, at) {
        (_, Some(pair)) => of(model, pair),
        (CursorPosition::AfterLast, _) => None,
        _ => next(model, None),
    };
    let back = |of: fn(&AnyModel, &Pair) -> Option<Pair>| match (position, at) {
        (_, Some(pair)) => of(model, pair),
        (CursorPosition::BeforeFirst, _) => None,
        _ => prev(model, None),
    };
    let of_key = |other: Option<Pair>, key: &ModelKey| other.filter(|other| other.0 == *key);
    let before_all_of = |key: &ModelKey| (key.clone(), Vec::new().into());
    match (step, at) {
        (CursorStep::First, _) => to_or_after(next(model, None)),
        (CursorStep::Last, _) => to_or_before(prev(model, None)),
        (CursorStep::Next, _) => to_or_after(forward(|model, pair| next(model, Some(pair)))),
        (CursorStep::Prev, _) => to_or_before(back(|model, pair| prev(model, Some(pair)))),
        (CursorStep::NextKey, _) => to_or_after(forward(first_after)),
        (CursorStep::PrevKey, _) => to_or_before(back(last_before)),
        (CursorStep::Current, Some(pair)) => to_or_after(at_or_after(model, pair)),
        (CursorStep::NextValue, Some(pair)) => to_or_stay(of_key(next(model, Some(pair)), &pair.0)),
        (CursorStep::PrevValue, Some(pair)) => to_or_stay(of_key(prev(model, Some(pair)), &pair.0)),
        (CursorStep::FirstValue, Some((key, _))) => {
            let first = values(model, key).into_iter().next();
            to_or_stay(first.map(|value| (key.clone(), value)))
        }
        (CursorStep::LastValue, Some((key, _))) => {
            let last = values(model, key).pop();
            to_or_stay(last.map(|value| (key.clone(), value)))
        }
        (CursorStep::Seek(key), _) => to_or_after(at_or_after_key(model, key)),
        (CursorStep::SeekExact(key), _) => {
            let found = at_or_after_key(model, key);
            let is_exact = found.as_ref().is_some_and(|found| found.0 == *key);
            (is_exact, to_or_after(found).1)
        }
        (CursorStep::SeekGreater(key), _) => to_or_after(first_after(model, &before_all_of(key))),
        (CursorStep::SeekLess(key), _) => to_or_before(last_before(model, &before_all_of(key))),
        (CursorStep::SeekLessOrEqual(key), _) => to_or_before(last_of_key_or_before(model, key)),
        (CursorStep::SeekPair(pair), _) => to_or_after(at_or_after(model, pair)),
        (CursorStep::SeekPairExact(pair), _) => (
            contains(model, pair),
            to_or_after(at_or_after(model, pair)).1,
        ),
        (CursorStep::SeekPairGreater(pair), _) => to_or_after(next(model, Some(pair))),
        (CursorStep::SeekPairLess(pair), _) => to_or_before(prev(model, Some(pair))),
        (CursorStep::SeekPairLessOrEqual(pair), _) => to_or_before(here_or_before(model, pair)),
        (CursorStep::SeekValue(pair), _) => to_or_stay(of_key(at_or_after(model, pair), &pair.0)),
        (CursorStep::SeekValueExact(pair), _) => {
            to_or_stay(contains(model, pair).then(|| pair.clone()))
        }
        (CursorStep::SeekValueGreater(pair), _) => {
            to_or_stay(of_key(next(model, Some(pair)), &pair.0))
        }
        (CursorStep::SeekValueLess(pair), _) => {
            to_or_stay(of_key(prev(model, Some(pair)), &pair.0))
        }
        (CursorStep::SeekValueLessOrEqual(pair), _) => {
            to_or_stay(of_key(here_or_before(model, pair), &pair.0))
        }
        (_, None) => (false, None),
    }
}

/// Where a step leads that finds something or leaves the table.
fn to_or(found: Option<Pair>, otherwise: CursorPosition) -> (bool, Option<CursorPosition>) {
    (
        found.is_some(),
        Some(found.map_or(otherwise, CursorPosition::At)),
    )
}

/// What is done with a cursor.
#[derive(Clone, Debug)]
pub(crate) enum CursorOperation {
    /// In the place of an older one, if there are enough.
    Open(ReadSource, Vec<u8>),
    Copy(usize),
    /// Is nowhere again.
    Reset(usize),
    Step(usize, ReadSource, CursorStep),
    Read(usize, ReadSource, CursorRead),
    Compare(usize, usize, ReadSource),
    Change(usize, CursorChange),
}
