//! Cursors that are tied to no transaction, and where the model has each of them.

use super::{
    multi::oracle::Pair,
    operation::Source,
    oracle::{AnyModel, Tables},
    shape::{Key, KeyShape, Value},
    violation::{Outcome, expect_bytes, expect_error, expect_same},
};
use fastrand::Rng;
use std::ops::Bound;
use teak::{Error, FreeCursor, TableOptions, Transaction, WriteTxn};

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
    Seek(Key),
    SeekLess(Key),
    /// In a table in which a key has several values.
    SeekPair(Pair),
    SeekPairLess(Pair),
    SeekValue(Pair),
}

/// What a cursor changes.
#[derive(Clone, Debug)]
pub(crate) enum CursorChange {
    Insert(Pair, Value),
    Remove,
    RemoveAllValues,
    Update(Key, Value),
}

#[derive(Clone, PartialEq, Debug)]
enum Place {
    Nowhere,
    BeforeFirst,
    At(Pair),
    BehindLast,
}

/// A cursor of the engine, and where it is to be.
#[derive(Clone)]
pub(crate) struct Cursor {
    pub(crate) table: Vec<u8>,
    /// What the table was created with.
    options: TableOptions,
    shapes: (KeyShape, Option<KeyShape>),
    cursor: FreeCursor,
    place: Place,
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

impl CursorStep {
    pub(crate) fn draw(rng: &mut Rng, model: &AnyModel, domain: u64) -> Self {
        let is_multi = model.multi().is_some();
        let (key, value) = draw_pair(rng, model, domain);
        match rng.u8(0..32) {
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
            _ => Self::Seek(key),
        }
    }
}

/// A key of a table and, if its keys have several, a value.
pub(crate) fn draw_pair(rng: &mut Rng, model: &AnyModel, domain: u64) -> Pair {
    let (keys, values) = shapes(model);
    let key_domain = model.multi().map_or(domain, |table| table.kind.key_domain);
    let value = values.map(|values| values.key(rng.u64(0..domain)));
    let nothing = || Key::from(Vec::new());
    (
        keys.key(rng.u64(0..key_domain)),
        value.unwrap_or_else(nothing),
    )
}

/// The record behind a pair, or the first. In a plain table pairs have no values.
fn next(model: &AnyModel, pair: Option<&Pair>) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => table.next(pair),
        AnyModel::Plain(table) => {
            let low = pair.map_or(Bound::Unbounded, |pair| Bound::Excluded(pair.0.clone()));
            let record = table.range(&(low, Bound::Unbounded)).next();
            record.map(|(key, _)| (key, Vec::new().into()))
        }
    }
}

/// The record before a pair, or the last.
fn prev(model: &AnyModel, pair: Option<&Pair>) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => table.prev(pair),
        AnyModel::Plain(table) => {
            let high = pair.map_or(Bound::Unbounded, |pair| Bound::Excluded(pair.0.clone()));
            let record = table.range(&(Bound::Unbounded, high)).next_back();
            record.map(|(key, _)| (key, Vec::new().into()))
        }
    }
}

fn contains(model: &AnyModel, pair: &Pair) -> bool {
    match model {
        AnyModel::Multi(table) => table.contains(pair),
        AnyModel::Plain(table) => table.get(&pair.0).is_some(),
    }
}

fn at_or_behind(model: &AnyModel, pair: &Pair) -> Option<Pair> {
    match contains(model, pair) {
        true => Some(pair.clone()),
        false => next(model, Some(pair)),
    }
}

/// The first pair of the first key that is not smaller.
fn at_or_behind_key(model: &AnyModel, key: &Key) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => {
            let from = (Bound::Included(key.clone()), Bound::Unbounded);
            table.range(&from).next()
        }
        AnyModel::Plain(_) => at_or_behind(model, &(key.clone(), Vec::new().into())),
    }
}

fn first_behind(model: &AnyModel, pair: &Pair) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => table.first_behind(&pair.0),
        AnyModel::Plain(_) => next(model, Some(pair)),
    }
}

fn last_before(model: &AnyModel, pair: &Pair) -> Option<Pair> {
    match model {
        AnyModel::Multi(table) => table.last_before(&pair.0),
        AnyModel::Plain(_) => prev(model, Some(pair)),
    }
}

fn values(model: &AnyModel, key: &Key) -> Vec<Key> {
    match model {
        AnyModel::Multi(table) => table.values(key).collect(),
        AnyModel::Plain(table) => {
            let value = table.get(key).map(|_| Vec::new().into());
            value.into_iter().collect()
        }
    }
}

impl Cursor {
    /// A cursor over a table that is there, nowhere yet.
    pub(crate) fn open<T: Transaction>(txn: &T, name: &[u8], model: &AnyModel) -> Outcome<Self> {
        use teak::codec::Bytes;
        let cursor = match model {
            AnyModel::Plain(_) => FreeCursor::new(&txn.open_table::<Bytes, Bytes>(name)?),
            AnyModel::Multi(_) => {
                FreeCursor::for_multi(&txn.open_multi_table::<Bytes, Bytes>(name)?)
            }
        };
        Ok(Self {
            table: name.to_vec(),
            options: model.options(),
            shapes: shapes(model),
            cursor,
            place: Place::Nowhere,
        })
    }

    /// The model of its table, if it is still such a one.
    fn model<'m>(&self, tables: &'m Tables) -> Option<&'m AnyModel> {
        let model = tables.get(&self.table)?;
        let is_same = shapes(model) == self.shapes && model.options() == self.options;
        is_same.then_some(model)
    }

    /// Goes on in one state, where that has the table.
    pub(crate) fn step<T: Transaction>(
        &mut self,
        txn: &T,
        tables: &Tables,
        step: &CursorStep,
    ) -> Outcome {
        let Some(model) = self.model(tables) else {
            if !tables.contains_key(&self.table) {
                expect_error("a step without a table", self.cursor.next(txn), |error| {
                    matches!(error, Error::TableNotFound(_))
                })?;
            }
            return Ok(());
        };
        let found = self.go(txn, step)?;
        let (to, otherwise) = self.expected(model, step);
        expect_same(&format!("{step:?} of a cursor"), found, to.is_some())?;
        match (to, otherwise) {
            (Some(pair), _) => self.place = Place::At(pair),
            (None, Some(place)) => self.place = place,
            (None, None) => {}
        }
        self.verify(txn, model)
    }

    fn go<T: Transaction>(&mut self, txn: &T, step: &CursorStep) -> Outcome<bool> {
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
        })
    }

    /// Where a step leads, and where the cursor is if that is nowhere; without that it stays.
    fn expected(&self, model: &AnyModel, step: &CursorStep) -> (Option<Pair>, Option<Place>) {
        let at = match &self.place {
            Place::At(pair) => Some(pair),
            _ => None,
        };
        let (behind_last, before_first) = (Some(Place::BehindLast), Some(Place::BeforeFirst));
        let forward = |of: fn(&AnyModel, &Pair) -> Option<Pair>| match (&self.place, at) {
            (_, Some(pair)) => of(model, pair),
            (Place::BehindLast, _) => None,
            _ => next(model, None),
        };
        let back = |of: fn(&AnyModel, &Pair) -> Option<Pair>| match (&self.place, at) {
            (_, Some(pair)) => of(model, pair),
            (Place::BeforeFirst, _) => None,
            _ => prev(model, None),
        };
        let of_key = |other: Option<Pair>, key: &Key| other.filter(|other| other.0 == *key);
        match (step, at) {
            (CursorStep::First, _) => (next(model, None), behind_last),
            (CursorStep::Last, _) => (prev(model, None), before_first),
            (CursorStep::Next, _) => (forward(|model, pair| next(model, Some(pair))), behind_last),
            (CursorStep::Prev, _) => (back(|model, pair| prev(model, Some(pair))), before_first),
            (CursorStep::NextKey, _) => (forward(first_behind), behind_last),
            (CursorStep::PrevKey, _) => (back(last_before), before_first),
            (CursorStep::Current, Some(pair)) => (at_or_behind(model, pair), behind_last),
            (CursorStep::NextValue, Some(pair)) => (of_key(next(model, Some(pair)), &pair.0), None),
            (CursorStep::PrevValue, Some(pair)) => (of_key(prev(model, Some(pair)), &pair.0), None),
            (CursorStep::FirstValue, Some((key, _))) => {
                let first = values(model, key).into_iter().next();
                (first.map(|value| (key.clone(), value)), None)
            }
            (CursorStep::LastValue, Some((key, _))) => {
                let last = values(model, key).pop();
                (last.map(|value| (key.clone(), value)), None)
            }
            (CursorStep::Seek(key), _) => (at_or_behind_key(model, key), behind_last),
            (CursorStep::SeekLess(key), _) => {
                let nothing = Vec::new().into();
                (last_before(model, &(key.clone(), nothing)), before_first)
            }
            (CursorStep::SeekPair(pair), _) => (at_or_behind(model, pair), behind_last),
            (CursorStep::SeekPairLess(pair), _) => (prev(model, Some(pair)), before_first),
            (CursorStep::SeekValue(pair), _) => (of_key(at_or_behind(model, pair), &pair.0), None),
            (_, None) => (None, None),
        }
    }

    /// What the cursor says of its place.
    fn verify<T: Transaction>(&self, txn: &T, model: &AnyModel) -> Outcome {
        let cursor = &self.cursor;
        let Place::At(pair) = &self.place else {
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
            AnyModel::Plain(table) => table.get(&pair.0).map(Value::bytes),
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

    /// Changes its table, where that is there, and the model of it.
    pub(crate) fn change(
        &mut self,
        txn: &mut WriteTxn,
        tables: &mut Tables,
        change: &CursorChange,
    ) -> Outcome {
        if self.model(tables).is_none() {
            return Ok(());
        }
        let model = tables.get_mut(&self.table).map(std::sync::Arc::make_mut);
        let Some(model) = model else {
            return Ok(());
        };
        let here = match &self.place {
            Place::At(pair) if contains(model, pair) => Some(pair.clone()),
            _ => None,
        };
        match change {
            CursorChange::Insert((key, value), record) => {
                match model {
                    AnyModel::Multi(table) => {
                        let is_new = self.cursor.insert_pair(txn, key, value)?;
                        let pair = (key.clone(), value.clone());
                        expect_same("insert_pair", is_new, table.insert(&pair))?;
                    }
                    AnyModel::Plain(table) => {
                        self.cursor.insert(txn, key, record.bytes())?;
                        table.insert(key, *record);
                    }
                }
                self.place = Place::At((key.clone(), value.clone()));
            }
            CursorChange::Remove => {
                let is_removed = self.cursor.remove(txn)?;
                expect_same("removal by a cursor", is_removed, here.is_some())?;
                match (model, here) {
                    (AnyModel::Multi(table), Some(pair)) => drop(table.remove(&pair)),
                    (AnyModel::Plain(table), Some(pair)) => drop(table.remove(&pair.0)),
                    (_, None) => {}
                }
            }
            CursorChange::RemoveAllValues => {
                let count = self.cursor.remove_all_values(txn)?;
                let expected = match (model, &self.place) {
                    (AnyModel::Multi(table), Place::At((key, _))) => table.remove_key(key),
                    (AnyModel::Plain(table), Place::At((key, _))) => table.remove(key).into(),
                    _ => 0,
                };
                expect_same("remove_all_values", count, expected)?;
            }
            CursorChange::Update(value, record) => match (model, here) {
                (AnyModel::Multi(table), Some(old)) => {
                    expect_same("update", self.cursor.update(txn, value)?, true)?;
                    let new = (old.0.clone(), value.clone());
                    table.remove(&old);
                    table.insert(&new);
                    self.place = Place::At(new);
                }
                (AnyModel::Plain(table), Some(old)) => {
                    let is_done = self.cursor.update(txn, record.bytes())?;
                    expect_same("update", is_done, true)?;
                    table.insert(&old.0, *record);
                }
                (AnyModel::Multi(_), None) => {
                    expect_same("update", self.cursor.update(txn, value)?, false)?;
                }
                (AnyModel::Plain(_), None) => {
                    let is_done = self.cursor.update(txn, record.bytes())?;
                    expect_same("update", is_done, false)?;
                }
            },
        }
        match self.model(tables) {
            Some(model) => self.verify(txn, model),
            None => Ok(()),
        }
    }
}

/// What is done with a cursor.
#[derive(Clone, Debug)]
pub(crate) enum CursorOperation {
    /// In the place of an older one, if there are enough.
    Open(Source, Vec<u8>),
    Copy(usize),
    Step(usize, Source, CursorStep),
    Change(usize, CursorChange),
}
