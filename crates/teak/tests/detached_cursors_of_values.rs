//! Cursors without a transaction over tables in which a key has several values, against a model of
//! their positions. There are few keys, so that their values move from the leaf to a nested tree
//! and back.

use crate::{
    detached_cursors::{BY_LENGTH, ORDERS, WITHOUT_CASE, compare},
    shared::temporary_path,
};
use fastrand::Rng;
use std::{
    cmp::Ordering,
    ops::{ControlFlow, Range},
};
use teak::{
    Database, DeleteScope, DetachedCursor, Direction, Durability, Error, InsertMode, KeyOrder,
    KeyStep, MultiTable, MultiTableDef, Options, ReadTxn, Result, Savepoint, SeekOp, SeekTarget,
    TableOptions, Transaction, ValueSize, WriteTxn, codec::Bytes,
};

type Raw = MultiTable<Bytes, Bytes>;
type Pair = (Vec<u8>, Vec<u8>);

/// The options of a table.
#[derive(Clone, Copy, Debug)]
struct Kind {
    order: KeyOrder,
    value_order: KeyOrder,
    value_size: ValueSize,
    shares_prefixes: bool,
    is_counted: bool,
}

impl Kind {
    fn draw(random: &mut Rng) -> Self {
        let value_order = ORDERS[random.usize(..ORDERS.len())];
        let value_size = match (value_order, random.u32(..3)) {
            (KeyOrder::Integer, 0) => ValueSize::AsFirst,
            (KeyOrder::Integer, width) => ValueSize::Bytes(4 * width as u16),
            (_, 0) => ValueSize::Any,
            (_, 1) => ValueSize::AsFirst,
            _ => ValueSize::Bytes([2, 4, 8, 30][random.usize(..4)]),
        };
        Self {
            order: ORDERS[random.usize(..ORDERS.len())],
            value_order,
            value_size,
            shares_prefixes: random.u32(..3) > 0,
            is_counted: random.bool(),
        }
    }

    fn options(&self) -> TableOptions {
        TableOptions::new()
            .order(self.order)
            .share_prefixes(self.shares_prefixes)
            .counted(self.is_counted)
            .value_order(self.value_order)
            .value_size(self.value_size)
    }
}

/// A table as seen by one transaction.
#[derive(Clone)]
struct Model {
    kind: Kind,
    pairs: Vec<Pair>,
}

impl Model {
    fn compare(&self, a: &Pair, b: &Pair) -> Ordering {
        let by_value = || compare(self.kind.value_order, &a.1, &b.1);
        compare(self.kind.order, &a.0, &b.0).then_with(by_value)
    }

    fn lower(&self, pair: &Pair) -> usize {
        (self.pairs).partition_point(|other| self.compare(other, pair).is_lt())
    }

    fn upper(&self, pair: &Pair) -> usize {
        (self.pairs).partition_point(|other| self.compare(other, pair).is_le())
    }

    /// The positions of the pairs of a key.
    fn of_key(&self, key: &[u8]) -> Range<usize> {
        let order = self.kind.order;
        let low = (self.pairs).partition_point(|(k, _)| compare(order, k, key).is_lt());
        let high = (self.pairs).partition_point(|(k, _)| compare(order, k, key).is_le());
        low..high
    }

    fn find(&self, pair: &Pair) -> Option<usize> {
        let index = self.lower(pair);
        (index < self.upper(pair)).then_some(index)
    }

    fn at(&self, index: usize) -> Option<usize> {
        (index < self.pairs.len()).then_some(index)
    }

    /// Inserts a pair. An existing one stays.
    fn put(&mut self, (key, value): &Pair) -> usize {
        let stored = self.pairs.get(self.of_key(key).start);
        let is_same = |pair: &&Pair| compare(self.kind.order, &pair.0, key).is_eq();
        let key = stored.filter(is_same).map_or(key, |pair| &pair.0).clone();
        let pair = (key, value.clone());
        let index = self.lower(&pair);
        if self.find(&pair).is_none() {
            self.pairs.insert(index, pair);
        }
        index
    }

    fn key_len(&self) -> Option<usize> {
        let first = self.pairs.first().map(|(key, _)| key.len());
        first.filter(|_| self.kind.order == KeyOrder::Integer)
    }

    fn value_size(&self) -> Option<usize> {
        match self.kind.value_size {
            ValueSize::Bytes(size) => Some(size.into()),
            ValueSize::AsFirst => self.pairs.first().map(|(_, value)| value.len()),
            _ => None,
        }
    }

    /// Whether a key may be searched for.
    fn accepts_key(&self, key: &[u8]) -> bool {
        self.key_len().is_none_or(|len| len == key.len())
    }

    fn accepts(&self, (key, value): &Pair) -> bool {
        let is_integer = self.kind.value_order == KeyOrder::Integer;
        let is_value = self.value_size().is_none_or(|size| size == value.len());
        self.accepts_key(key) && (!is_integer || is_value)
    }

    /// Whether a pair may be inserted.
    fn takes(&self, (key, value): &Pair) -> bool {
        let is_integer =
            |order, bytes: &[u8]| order == KeyOrder::Integer && !matches!(bytes.len(), 4 | 8);
        let is_value = match (self.value_size(), self.kind.value_size) {
            (Some(size), _) => size == value.len(),
            (None, ValueSize::AsFirst) => !value.is_empty(),
            _ => true,
        };
        self.accepts_key(key)
            && is_value
            && !is_integer(self.kind.order, key)
            && !is_integer(self.kind.value_order, value)
    }

    fn random_key(&self, random: &mut Rng) -> Vec<u8> {
        if random.u32(..3) == 0
            && let Some((key, _)) = random.choice(&self.pairs)
        {
            return key.clone();
        }
        if self.kind.order == KeyOrder::Integer && random.u32(..40) > 0 {
            let len = self.key_len().unwrap_or([4, 8][random.usize(..2)]);
            return random.u64(..12).to_le_bytes()[..len].to_vec();
        }
        let len = random.usize(..3);
        (0..len).map(|_| b"aAbB"[random.usize(..4)]).collect()
    }

    fn random_value(&self, random: &mut Rng) -> Vec<u8> {
        if random.u32(..3) == 0
            && let Some((_, value)) = random.choice(&self.pairs)
        {
            return value.clone();
        }
        let is_integer = self.kind.value_order == KeyOrder::Integer;
        let len = match self.value_size() {
            Some(size) if random.u32(..40) > 0 => size,
            _ if is_integer => [4, 8][random.usize(..2)],
            _ => random.usize(..12) * [1, 1, 1, 25][random.usize(..4)],
        };
        if is_integer {
            let number = random.u64(..2000) << [0, 20][random.usize(..2)];
            return number.to_le_bytes()[..len].to_vec();
        }
        (0..len)
            .map(|_| b"aAbBcCdDeE"[random.usize(..10)])
            .collect()
    }

    fn random_pair(&self, random: &mut Rng) -> Pair {
        match random.choice(&self.pairs) {
            Some(pair) if random.u32(..3) == 0 => pair.clone(),
            _ => (self.random_key(random), self.random_value(random)),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
enum ModelPosition {
    Nowhere,
    BeforeFirst,
    At(Pair),
    AfterLast,
}

impl ModelPosition {
    fn rank(&self) -> u8 {
        match self {
            Self::Nowhere => 0,
            Self::BeforeFirst => 1,
            Self::At(_) => 2,
            Self::AfterLast => 3,
        }
    }
}

/// The position of a cursor that finds nothing.
enum Else {
    Stays,
    BeforeFirst,
    AfterLast,
}

/// A cursor, and its expected position.
#[derive(Clone)]
struct Both {
    cursor: DetachedCursor,
    position: ModelPosition,
}

impl Both {
    fn new(table: &Raw) -> Self {
        let (cursor, position) = (DetachedCursor::new(table), ModelPosition::Nowhere);
        Self { cursor, position }
    }

    fn here(&self, model: &Model) -> Option<usize> {
        match &self.position {
            ModelPosition::At(pair) => model.find(pair),
            _ => None,
        }
    }

    /// Moves to a pair of the model, or elsewhere.
    fn go(&mut self, model: &Model, to: Option<usize>, otherwise: Else) -> bool {
        self.position = match (to, otherwise) {
            (Some(index), _) => ModelPosition::At(model.pairs[index].clone()),
            (None, Else::Stays) => return false,
            (None, Else::BeforeFirst) => ModelPosition::BeforeFirst,
            (None, Else::AfterLast) => ModelPosition::AfterLast,
        };
        to.is_some()
    }

    fn next(&self, model: &Model) -> Option<usize> {
        match &self.position {
            ModelPosition::Nowhere | ModelPosition::BeforeFirst => model.at(0),
            ModelPosition::At(pair) => model.at(model.upper(pair)),
            ModelPosition::AfterLast => None,
        }
    }

    fn prev(&self, model: &Model) -> Option<usize> {
        match &self.position {
            ModelPosition::Nowhere | ModelPosition::AfterLast => model.pairs.len().checked_sub(1),
            ModelPosition::At(pair) => model.lower(pair).checked_sub(1),
            ModelPosition::BeforeFirst => None,
        }
    }

    /// Steps from the current position.
    fn step<T: Transaction>(&mut self, random: &mut Rng, txn: &T, model: &Model) {
        use Else::{AfterLast, BeforeFirst, Stays};
        let at = match &self.position {
            ModelPosition::At(pair) => Some((pair.clone(), model.of_key(&pair.0))),
            _ => None,
        };
        let cursor = &mut self.cursor;
        let kind = random.u32(..13);
        let (found, to, otherwise) = match (kind, at) {
            (0, _) => (cursor.first(txn), model.at(0), AfterLast),
            (1, _) => {
                let to = model.pairs.len().checked_sub(1);
                (cursor.last(txn), to, BeforeFirst)
            }
            (2, Some((pair, _))) => (cursor.current(txn), model.at(model.lower(&pair)), AfterLast),
            (2, None) => (cursor.current(txn), None, Stays),
            (3, Some((_, key))) => (
                cursor.step(txn, KeyStep::NextKey),
                model.at(key.end),
                AfterLast,
            ),
            (4, Some((_, key))) => (
                cursor.step(txn, KeyStep::PrevKey),
                key.start.checked_sub(1),
                BeforeFirst,
            ),
            (5 | 6, Some((pair, key))) => {
                let to = Some(model.upper(&pair)).filter(|to| *to < key.end);
                (cursor.step(txn, KeyStep::NextValue), to, Stays)
            }
            (7 | 8, Some((pair, key))) => {
                let to = model.lower(&pair).checked_sub(1);
                (
                    cursor.step(txn, KeyStep::PrevValue),
                    to.filter(|to| *to >= key.start),
                    Stays,
                )
            }
            (9, Some((_, key))) => {
                let to = Some(key.start).filter(|_| !key.is_empty());
                (cursor.step(txn, KeyStep::FirstValue), to, Stays)
            }
            (10, Some((_, key))) => {
                let to = key.end.checked_sub(1).filter(|_| !key.is_empty());
                (cursor.step(txn, KeyStep::LastValue), to, Stays)
            }
            (5, None) => (cursor.step(txn, KeyStep::NextValue), None, Stays),
            (7, None) => (cursor.step(txn, KeyStep::PrevValue), None, Stays),
            (9, None) => (cursor.step(txn, KeyStep::FirstValue), None, Stays),
            (10, None) => (cursor.step(txn, KeyStep::LastValue), None, Stays),
            (3, None) => (
                cursor.step(txn, KeyStep::NextKey),
                self.next(model),
                AfterLast,
            ),
            (4, None) => (
                cursor.step(txn, KeyStep::PrevKey),
                self.prev(model),
                BeforeFirst,
            ),
            (11, _) => (cursor.prev(txn), self.prev(model), BeforeFirst),
            (_, _) => (cursor.next(txn), self.next(model), AfterLast),
        };
        let expected = self.go(model, to, otherwise);
        assert_eq!(found.unwrap(), expected, "step {kind}");
    }

    /// Searches for a key or a pair.
    fn search<T: Transaction>(&mut self, random: &mut Rng, txn: &T, model: &Model) {
        use Else::{AfterLast, BeforeFirst, Stays};
        let pair = model.random_pair(random);
        let of_key = model.of_key(&pair.0);
        let (lower, upper) = (model.lower(&pair), model.upper(&pair));
        let within = |to: Option<usize>| to.filter(|to| of_key.contains(to));
        let (key, value) = (&pair.0[..], &pair.1[..]);
        let cursor = &mut self.cursor;
        let kind = random.u32(..15);
        let (found, to, otherwise) = match kind {
            0 => (
                cursor.seek(txn, SeekOp::GreaterOrEqual, key),
                model.at(of_key.start),
                AfterLast,
            ),
            1 => (
                cursor.seek(txn, SeekOp::Equal, key),
                model.at(of_key.start),
                AfterLast,
            ),
            2 => (
                cursor.seek(txn, SeekOp::Greater, key),
                model.at(of_key.end),
                AfterLast,
            ),
            3 => (
                cursor.seek(txn, SeekOp::Less, key),
                of_key.start.checked_sub(1),
                BeforeFirst,
            ),
            4 => (
                cursor.seek(txn, SeekOp::LessOrEqual, key),
                of_key.end.checked_sub(1),
                BeforeFirst,
            ),
            5 => (
                cursor.seek(txn, SeekOp::GreaterOrEqual, (key, value)),
                model.at(lower),
                AfterLast,
            ),
            6 => (
                cursor.seek(txn, SeekOp::Equal, (key, value)),
                model.at(lower),
                AfterLast,
            ),
            7 => (
                cursor.seek(txn, SeekOp::Greater, (key, value)),
                model.at(upper),
                AfterLast,
            ),
            8 => (
                cursor.seek(txn, SeekOp::Less, (key, value)),
                lower.checked_sub(1),
                BeforeFirst,
            ),
            9 => {
                let found = cursor.seek(txn, SeekOp::LessOrEqual, (key, value));
                (found, upper.checked_sub(1), BeforeFirst)
            }
            10 => (
                cursor.seek(txn, SeekOp::GreaterOrEqual, SeekTarget::Value(key, value)),
                within(Some(lower)),
                Stays,
            ),
            11 => {
                let found = cursor.seek(txn, SeekOp::Equal, SeekTarget::Value(key, value));
                (found, model.find(&pair), Stays)
            }
            12 => (
                cursor.seek(txn, SeekOp::Greater, SeekTarget::Value(key, value)),
                within(Some(upper)),
                Stays,
            ),
            13 => {
                let found = cursor.seek(txn, SeekOp::Less, SeekTarget::Value(key, value));
                (found, within(lower.checked_sub(1)), Stays)
            }
            _ => {
                let found = cursor.seek(txn, SeekOp::LessOrEqual, SeekTarget::Value(key, value));
                (found, within(upper.checked_sub(1)), Stays)
            }
        };
        let is_possible = match kind {
            0..5 => model.accepts_key(key),
            _ => model.accepts(&pair),
        };
        if !is_possible {
            return assert!(
                matches!(found, Err(Error::InvalidArgument(_))),
                "search {kind}"
            );
        }
        let is_found = self.go(model, to, otherwise);
        let expected = match kind {
            1 => !of_key.is_empty(),
            6 => lower < upper,
            _ => is_found,
        };
        assert_eq!(found.unwrap(), expected, "search {kind} for {pair:?}");
    }

    /// Reads several at once.
    fn read<T: Transaction>(&mut self, random: &mut Rng, txn: &T, model: &Model) {
        let here = self.here(model);
        let is_packed = model.value_size().is_some();
        match random.u32(..4) {
            kind @ 0..2 => {
                let read = match kind {
                    0 => self.cursor.read_packed(txn, Direction::Forward).unwrap(),
                    _ => self.cursor.read_packed(txn, Direction::Backward).unwrap(),
                };
                let (Some(here), Some(size), Some(read)) = (here, model.value_size(), read) else {
                    return assert!(read.is_none() && (here.is_none() || !is_packed));
                };
                let steps = read.len() / size - 1;
                let to = if kind == 0 {
                    here + steps
                } else {
                    here - steps
                };
                let values = model.pairs[here.min(to)..=here.max(to)].iter();
                assert!(values.clone().all(|pair| pair.0 == model.pairs[here].0));
                let expected: Vec<_> = values.flat_map(|pair| pair.1.clone()).collect();
                assert_eq!(read, expected);
                self.go(model, Some(to), Else::Stays);
            }
            2 => {
                let max = random.usize(..40);
                let from = match &self.position {
                    ModelPosition::At(pair) => model.lower(pair),
                    _ => self.next(model).unwrap_or(model.pairs.len()),
                };
                let to = (from + max).min(model.pairs.len());
                let mut read = Vec::new();
                let mut take = |key: &[u8], value: &[u8]| read.push((key.to_vec(), value.to_vec()));
                let found = self.cursor.read_batch(txn, max, &mut take).unwrap();
                assert_eq!(read, model.pairs[from..to]);
                assert_eq!(found, self.go(model, model.at(to), Else::AfterLast));
            }
            _ => {
                let end = match &self.position {
                    ModelPosition::At(pair) => model.upper(pair),
                    ModelPosition::BeforeFirst => 0,
                    _ => model.pairs.len(),
                };
                let mut left = random.usize(..30);
                let to = end.checked_sub(left + 1);
                let inspect = |_: &[u8], _: &[u8]| {
                    let is_there = left == 0;
                    left = left.saturating_sub(1);
                    match is_there {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                };
                let found = self.cursor.scan(txn, Direction::Backward, inspect).unwrap();
                assert_eq!(found, self.go(model, to, Else::BeforeFirst));
            }
        }
    }

    /// The position as reported by a cursor.
    fn check<T: Transaction>(&self, txn: &T, model: &Model) {
        let cursor = &self.cursor;
        let pair = match &self.position {
            ModelPosition::At(pair) => Some(pair),
            _ => None,
        };
        let index = self.here(model);
        let of_key = pair.map_or(0..0, |pair| model.of_key(&pair.0));
        assert_eq!(cursor.key(), pair.map_or(&[][..], |pair| &pair.0));
        assert_eq!(cursor.is_unset(), self.position == ModelPosition::Nowhere);
        assert_eq!(cursor.is_on_record(txn).unwrap(), index.is_some());
        let value = index.map_or(&[][..], |index| &model.pairs[index].1);
        assert_eq!(*cursor.value(txn).unwrap(), *value);
        assert_eq!(cursor.count(txn).unwrap(), of_key.len() as u64);
        let ends = cursor.ends(txn).unwrap();
        let is_at = |at: usize| index.is_some_and(|index| index == at);
        assert_eq!(ends.is_first, is_at(0));
        assert_eq!(ends.is_last, is_at(model.pairs.len().wrapping_sub(1)));
        assert_eq!(ends.is_first_value, is_at(of_key.start));
        assert_eq!(ends.is_last_value, is_at(of_key.end.wrapping_sub(1)));
        let is_after = match &self.position {
            ModelPosition::At(pair) => model.lower(pair) == model.pairs.len(),
            position => *position == ModelPosition::AfterLast,
        };
        assert_eq!(ends.is_after_last, is_after);
    }

    /// One change through a cursor.
    fn change(&mut self, random: &mut Rng, txn: &mut WriteTxn, model: &mut Model) {
        match random.u32(..16) {
            kind @ 0..9 => self.put(random, txn, model, kind),
            9..11 => self.update(random, txn, model),
            11..14 => {
                let here = self.here(model);
                assert_eq!(self.cursor.remove(txn).unwrap(), here.is_some());
                here.map(|index| model.pairs.remove(index));
            }
            14 => {
                let of_key = match &self.position {
                    ModelPosition::At(pair) => model.of_key(&pair.0),
                    _ => 0..0,
                };
                if of_key.len() < 40 || random.u32(..4) == 0 {
                    let removed = self
                        .cursor
                        .remove_scope(txn, DeleteScope::AllValues)
                        .unwrap();
                    assert_eq!(removed, of_key.len() as u64);
                    model.pairs.drain(of_key);
                }
            }
            _ => self.remove_scope(random, txn, model),
        }
    }

    fn put(&mut self, random: &mut Rng, txn: &mut WriteTxn, model: &mut Model, kind: u32) {
        let pair = model.random_pair(random);
        let (key, value) = (&pair.0[..], &pair.1[..]);
        let (is_there, of_key) = (model.find(&pair).is_some(), model.of_key(key));
        let cursor = &mut self.cursor;
        // The reported result, the expected one, and whether it would remove too much.
        let (put, expected, is_refused) = match kind {
            0..6 => (cursor.insert(txn, key, value), !is_there, false),
            6 => (
                cursor.insert_as(txn, InsertMode::NewKey, key, value),
                of_key.is_empty(),
                false,
            ),
            7 => {
                let is_after = model.lower(&pair) == model.pairs.len();
                (
                    cursor.insert_as(txn, InsertMode::Last, key, value),
                    true,
                    !is_after,
                )
            }
            _ => {
                let is_after = model.lower(&pair) >= of_key.end;
                (
                    cursor.insert_as(txn, InsertMode::LastValue, key, value),
                    true,
                    !is_after,
                )
            }
        };
        if !model.takes(&pair) {
            return assert!(matches!(put, Err(Error::InvalidArgument(_))), "put {kind}");
        }
        if is_refused {
            return assert!(matches!(put, Err(Error::NotSorted { .. })), "put {kind}");
        }
        assert_eq!(put.unwrap(), expected, "put {kind}");
        let index = match kind {
            6 if !expected => of_key.start,
            _ => model.put(&pair),
        };
        self.go(model, Some(index), Else::Stays);
    }

    fn update(&mut self, random: &mut Rng, txn: &mut WriteTxn, model: &mut Model) {
        let value = model.random_value(random);
        let updated = self.cursor.update(txn, &value);
        let pair = match &self.position {
            ModelPosition::At(pair) if model.takes(pair) => pair.clone(),
            _ => return assert!(!updated.unwrap()),
        };
        if !model.takes(&(pair.0.clone(), value.clone())) {
            return assert!(matches!(updated, Err(Error::InvalidArgument(_))));
        }
        let here = model.find(&pair);
        assert_eq!(updated.unwrap(), here.is_some());
        if let Some(index) = here {
            let (key, _) = model.pairs.remove(index);
            let index = model.put(&(key, value));
            self.go(model, Some(index), Else::Stays);
        }
    }

    /// Usually not if it would remove much.
    fn remove_scope(&mut self, random: &mut Rng, txn: &mut WriteTxn, model: &mut Model) {
        let count = model.pairs.len();
        let (here, of_key) = match &self.position {
            ModelPosition::At(pair) => {
                (model.lower(pair)..model.upper(pair), model.of_key(&pair.0))
            }
            ModelPosition::Nowhere | ModelPosition::BeforeFirst => (0..0, 0..0),
            ModelPosition::AfterLast => (count..count, 0..0),
        };
        let is_at = matches!(self.position, ModelPosition::At(_));
        let (scope, doomed) = match random.u32(..10) {
            0 => (DeleteScope::Before, 0..here.start),
            1 => (DeleteScope::UpToCurrent, 0..here.end),
            2 => (DeleteScope::FromCurrent, here.start..count),
            3 => (DeleteScope::After, here.end..count),
            4 => (DeleteScope::All, 0..count),
            5 => (DeleteScope::ValuesBefore, of_key.start..here.start),
            6 => (DeleteScope::ValuesUpToCurrent, of_key.start..here.end),
            7 => (DeleteScope::ValuesFromCurrent, here.start..of_key.end),
            8 => (DeleteScope::ValuesAfter, here.end..of_key.end),
            _ => (DeleteScope::AllValues, of_key),
        };
        let is_of_position = matches!(
            scope,
            DeleteScope::Before
                | DeleteScope::UpToCurrent
                | DeleteScope::FromCurrent
                | DeleteScope::After
        );
        if self.position == ModelPosition::Nowhere && is_of_position {
            let refused = self.cursor.remove_scope(txn, scope);
            return assert!(matches!(refused, Err(Error::InvalidArgument(_))));
        }
        let doomed = match is_at || is_of_position || scope == DeleteScope::All {
            true => doomed,
            false => 0..0,
        };
        let doomed = doomed.start..doomed.end.max(doomed.start);
        let is_little = doomed.len() < 40 || random.u32(..4) == 0 && doomed.len() < 1000;
        if is_little {
            let removed = self.cursor.remove_scope(txn, scope).unwrap();
            assert_eq!(removed, doomed.len() as u64, "{scope:?}");
            model.pairs.drain(doomed);
        }
    }
}

/// A change without a cursor.
fn change_past_cursors(random: &mut Rng, txn: &mut WriteTxn, table: &Raw, model: &mut Model) {
    let pair = model.random_pair(random);
    let (key, value) = (&pair.0[..], &pair.1[..]);
    match random.u32(..12) {
        0..4 if model.takes(&pair) => {
            let is_new = table.insert(txn, key, value).unwrap();
            assert_eq!(is_new, model.find(&pair).is_none());
            model.put(&pair);
        }
        4..7 => {
            if let Some((key, value)) = random.choice(&model.pairs).cloned() {
                assert!(table.remove(txn, &key, &value).unwrap());
                let index = model.find(&(key, value)).unwrap();
                model.pairs.remove(index);
            }
        }
        7 if !model.pairs.is_empty() => {
            let from = random.usize(..model.pairs.len());
            let of_key = model.of_key(&model.pairs[from].0);
            let most = [30, 400][random.usize(..2)];
            let to = (from + random.usize(..most)).min(of_key.end);
            let doomed: Vec<_> = model.pairs.drain(from..to).collect();
            let doomed: Vec<_> = doomed.iter().map(|(k, v)| (&k[..], &v[..])).collect();
            let removed = table.remove_many(txn, &doomed).unwrap();
            assert_eq!(removed, (to - from) as u64);
        }
        _ => {
            let count = [20, 300][random.usize(..2)];
            let mut values: Vec<_> = (0..count).map(|_| model.random_value(random)).collect();
            let len = values[0].len();
            values.retain(|value| {
                let is_fixed = model.kind.value_size != ValueSize::Any;
                model.takes(&(key.to_vec(), value.clone())) && (!is_fixed || value.len() == len)
            });
            // Of equal ones, the first would stay.
            let order = model.kind.value_order;
            values.sort_by(|a, b| compare(order, a, b));
            values.dedup_by(|a, b| compare(order, a, b).is_eq());
            let slices: Vec<_> = values.iter().map(Vec::as_slice).collect();
            table.insert_values(txn, key, &slices).unwrap();
            for value in values {
                model.put(&(key.to_vec(), value));
            }
        }
    }
}

/// The state that a transaction may roll back to.
type Savepoints = Vec<(Savepoint, Option<Model>)>;

/// A database, its expected contents, and cursors over one table of it.
struct World {
    random: Rng,
    database: Database,
    table: Raw,
    committed: Option<Model>,
    readers: Vec<(ReadTxn, Option<Model>)>,
    cursors: Vec<Both>,
}

impl World {
    fn create(&mut self, txn: &mut WriteTxn) -> Model {
        let kind = Kind::draw(&mut self.random);
        MultiTableDef::<Bytes, Bytes>::new("some")
            .options(kind.options())
            .create(txn)
            .unwrap();
        let pairs = Vec::new();
        Model { kind, pairs }
    }

    fn cursor(&mut self) -> (&mut Rng, &mut Both) {
        let index = self.random.usize(..self.cursors.len());
        (&mut self.random, &mut self.cursors[index])
    }

    /// Some cursors read one view.
    fn inspect<T: Transaction>(&mut self, txn: &T, model: &Option<Model>) {
        for _ in 0..4 {
            let (random, both) = self.cursor();
            let Some(model) = model else {
                for refused in [
                    both.cursor.next(txn),
                    both.cursor.step(txn, KeyStep::NextValue),
                ] {
                    assert!(matches!(refused, Err(Error::TableNotFound(_))));
                }
                continue;
            };
            match random.u32(..8) {
                0..4 => both.step(random, txn, model),
                4..7 => both.search(random, txn, model),
                _ => both.read(random, txn, model),
            }
            both.check(txn, model);
        }
        let (Some(model), [one, .., other]) = (model, &self.cursors[..]) else {
            return;
        };
        let by = |compare: &dyn Fn(&Pair, &Pair) -> Ordering| match (&one.position, &other.position)
        {
            (ModelPosition::Nowhere, _) | (_, ModelPosition::Nowhere) => None,
            (ModelPosition::At(one), ModelPosition::At(other)) => Some(compare(one, other)),
            (one, other) => Some(one.rank().cmp(&other.rank())),
        };
        let compared = one.cursor.compare(&other.cursor, txn).unwrap();
        assert_eq!(compared, by(&|a, b| model.compare(a, b)));
    }

    /// One write transaction and its changes.
    fn transaction(&mut self) {
        let mut txn = self.database.begin_write().unwrap();
        let mut model = self.committed.clone();
        let mut savepoints = Savepoints::new();
        for _ in 0..self.random.usize(1..60) {
            self.change(&mut txn, &mut model, &mut savepoints);
            self.inspect(&txn, &model);
            if self.random.u32(..8) == 0 && !self.readers.is_empty() {
                let index = self.random.usize(..self.readers.len());
                let (reader, model) = self.readers.swap_remove(index);
                self.inspect(&reader, &model);
                self.readers.push((reader, model));
            }
        }
        if self.random.u32(..4) > 0 {
            txn.commit().unwrap();
            self.committed = model;
        }
        let txn = self.database.begin_read().unwrap();
        let committed = self.committed.clone();
        self.inspect(&txn, &committed);
        if self.random.bool() {
            self.readers.truncate(3);
        }
        self.readers.push((txn, committed));
    }

    fn change(
        &mut self,
        txn: &mut WriteTxn,
        model: &mut Option<Model>,
        savepoints: &mut Savepoints,
    ) {
        match (self.random.u32(..200), &mut *model) {
            (0..12, _) => savepoints.push((txn.savepoint().unwrap(), model.clone())),
            (12..20, _) => {
                if let Some((savepoint, before)) = savepoints.last() {
                    txn.rollback_to(savepoint).unwrap();
                    *model = before.clone();
                }
            }
            (20..24, _) => {
                if let Some((savepoint, _)) = savepoints.pop() {
                    txn.release(savepoint).unwrap();
                }
            }
            (24, Some(_)) => {
                assert!(txn.drop_table("some").unwrap());
                *model = None;
            }
            (_, None) => *model = Some(self.create(txn)),
            (25..80, Some(model)) => {
                change_past_cursors(&mut self.random, txn, &self.table, model);
            }
            (_, Some(model)) => {
                let (random, both) = self.cursor();
                both.change(random, txn, model);
                both.check(txn, model);
            }
        }
        match self.random.u32(..50) {
            0 if self.cursors.len() < 8 => {
                let copy = self.cursor().1.clone();
                self.cursors.push(copy);
            }
            1 if self.cursors.len() < 8 => self.cursors.push(Both::new(&self.table)),
            2 if self.cursors.len() > 2 => drop(self.cursors.pop()),
            3 => {
                let (_, both) = self.cursor();
                both.cursor.reset();
                both.position = ModelPosition::Nowhere;
            }
            _ => {}
        }
    }
}

fn campaign(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let page_size = [4096, 4096, 65536][random.usize(..3)];
    println!("seed {seed}, pages of {page_size}");
    let (_directory, path) = temporary_path();
    let options = Options::new()
        .page_size(page_size)
        .durability([Durability::Durable, Durability::Lazy][random.usize(..2)])
        .comparison(&BY_LENGTH)
        .comparison(&WITHOUT_CASE);
    let database = options.open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_multi_table::<Bytes, Bytes>("some").unwrap();
    txn.drop_table("some").unwrap();
    let mut world = World {
        cursors: (0..4).map(|_| Both::new(&table)).collect(),
        random,
        database,
        table,
        committed: None,
        readers: Vec::new(),
    };
    let mut model = world.create(&mut txn);
    println!("{:?}", model.kind);
    for _ in 0..60 {
        change_past_cursors(&mut world.random, &mut txn, &world.table, &mut model);
    }
    txn.commit().unwrap();
    world.committed = Some(model);
    for _ in 0..12 {
        world.transaction();
    }
    drop(world.readers);
    let report = world
        .database
        .check(&mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn cursors_over_pairs_match_the_model_through_changes_savepoints_and_commits() {
    (0..40).for_each(campaign);
}

/// Three keys: one with a value, one with a few, one with a nested tree.
fn one_few_and_many(txn: &mut WriteTxn) -> Raw {
    let options = TableOptions::new().value_size(ValueSize::Bytes(4));
    let table = MultiTableDef::<Bytes, Bytes>::new("some")
        .options(options)
        .create(txn)
        .unwrap();
    for (key, count) in [(b"a", 1), (b"b", 5), (b"c", 5000_u32)] {
        let values: Vec<_> = (0..count).map(u32::to_be_bytes).collect();
        let values: Vec<_> = values.iter().map(|value| &value[..]).collect();
        table.insert_values(txn, key, &values).unwrap();
    }
    table
}

/// The three operations of LMDB that return a page of values correspond to these.
#[test]
fn pages_of_values_are_read_in_both_directions() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let table = one_few_and_many(&mut txn);
    let mut cursor = DetachedCursor::new(&table);
    for (key, count) in [(b"a", 1), (b"b", 5), (b"c", 5000_u32)] {
        let all: Vec<u8> = (0..count).flat_map(u32::to_be_bytes).collect();
        assert!(cursor.seek(&txn, SeekOp::Equal, key)?);
        let mut pages = Vec::new();
        loop {
            pages.push(
                cursor
                    .read_packed(&txn, Direction::Forward)?
                    .unwrap()
                    .to_vec(),
            );
            if !cursor.step(&txn, KeyStep::NextValue)? {
                break;
            }
        }
        assert_eq!(pages.concat(), all);
        let mut back = Vec::new();
        loop {
            let page = cursor
                .read_packed(&txn, Direction::Backward)?
                .unwrap()
                .to_vec();
            // From the first value of the page, the whole page is read again.
            assert_eq!(
                cursor.read_packed(&txn, Direction::Forward)?,
                Some(&page[..])
            );
            assert_eq!(
                cursor.read_packed(&txn, Direction::Backward)?,
                Some(&page[..])
            );
            back.insert(0, page);
            if !cursor.step(&txn, KeyStep::PrevValue)? {
                break;
            }
        }
        assert_eq!(back, pages);
    }
    cursor.remove(&mut txn)?;
    assert_eq!(cursor.read_packed(&txn, Direction::Forward)?, None);
    cursor.reset();
    assert_eq!(cursor.read_packed(&txn, Direction::Backward)?, None);
    Ok(())
}

/// A position stays valid when the values of its key move to a nested tree and back.
#[test]
fn positions_are_equal_in_a_leaf_and_in_a_nested_tree() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let table = one_few_and_many(&mut txn);
    let mut cursor = DetachedCursor::new(&table);
    let three = 3_u32.to_be_bytes();
    assert!(cursor.seek(&txn, SeekOp::Equal, (b"b", &three))?);
    let more: Vec<_> = (5..3000_u32).map(u32::to_be_bytes).collect();
    let more: Vec<_> = more.iter().map(|value| &value[..]).collect();
    table.insert_values(&mut txn, b"b", &more)?;
    assert!(cursor.step(&txn, KeyStep::NextValue)?);
    assert_eq!(*cursor.value(&txn)?, 4_u32.to_be_bytes());
    assert_eq!(
        cursor.remove_scope(&mut txn, DeleteScope::ValuesAfter)?,
        2995
    );
    assert!(cursor.ends(&txn)?.is_last_value && cursor.step(&txn, KeyStep::PrevValue)?);
    assert_eq!(*cursor.value(&txn)?, three);
    txn.commit()?;
    let txn = database.begin_read()?;
    assert!(cursor.is_on_record(&txn)?);
    assert!(cursor.step(&txn, KeyStep::NextKey)?);
    assert_eq!(cursor.key(), b"c");
    Ok(())
}

#[test]
fn in_a_plain_table_a_key_has_one_value() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<Bytes, Bytes>("plain")?;
    table.insert_many(&mut txn, &[(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])?;
    let mut cursor = DetachedCursor::new(&table);
    assert!(
        cursor.step(&txn, KeyStep::NextKey)?
            && cursor.step(&txn, KeyStep::NextKey)?
            && cursor.step(&txn, KeyStep::PrevKey)?
    );
    assert_eq!(cursor.key(), b"a");
    assert_eq!(cursor.count(&txn)?, 1);
    assert!(cursor.ends(&txn)?.is_first_value && cursor.ends(&txn)?.is_last_value);
    assert!(cursor.step(&txn, KeyStep::FirstValue)? && cursor.step(&txn, KeyStep::LastValue)?);
    assert!(!cursor.step(&txn, KeyStep::NextValue)? && !cursor.step(&txn, KeyStep::PrevValue)?);
    assert_eq!(cursor.key(), b"a");
    assert_eq!(cursor.read_packed(&txn, Direction::Forward)?, None);
    for nothing in [DeleteScope::ValuesBefore, DeleteScope::ValuesAfter] {
        assert_eq!(cursor.remove_scope(&mut txn, nothing)?, 0);
    }
    assert_eq!(cursor.remove_scope(&mut txn, DeleteScope::AllValues)?, 1);
    assert_eq!(cursor.remove_scope(&mut txn, DeleteScope::AllValues)?, 0);
    assert_eq!(cursor.count(&txn)?, 0);
    let refused = [
        cursor.seek(&txn, SeekOp::GreaterOrEqual, (b"b", b"2")),
        cursor.seek(&txn, SeekOp::Equal, SeekTarget::Value(b"b", b"2")),
        cursor.insert_as(&mut txn, InsertMode::LastValue, b"b", b"2"),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(Error::TableMismatch { .. })));
    }
    // A table of the same name in which a key has several values is another one.
    txn.drop_table("plain")?;
    let several = txn.create_multi_table::<Bytes, Bytes>("plain")?;
    several.insert(&mut txn, b"b", b"2")?;
    assert!(matches!(
        cursor.next(&txn),
        Err(Error::TableMismatch { .. })
    ));
    assert!(DetachedCursor::new(&several).next(&txn)?);
    Ok(())
}

/// In a table with values of another width, a position has its own rank in their order.
#[test]
fn integers_of_another_length_have_a_position_among_the_values() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let options = TableOptions::new()
        .value_order(KeyOrder::Integer)
        .value_size(ValueSize::AsFirst);
    let table = MultiTableDef::<Bytes, Bytes>::new("numbers")
        .options(options)
        .create(&mut txn)?;
    let mut cursor = DetachedCursor::new(&table);
    cursor.insert(&mut txn, b"k", &5_u64.to_le_bytes())?;
    table.clear(&mut txn)?;
    for number in [4_u32, 5, 6] {
        table.insert(&mut txn, b"k", number.to_le_bytes())?;
    }
    // The five of eight bytes is directly after that of four.
    assert!(!cursor.is_on_record(&txn)? && !cursor.remove(&mut txn)?);
    assert!(!cursor.update(&mut txn, &9_u32.to_le_bytes())?);
    let mut back = cursor.clone();
    assert!(back.step(&txn, KeyStep::PrevValue)?);
    assert_eq!(*back.value(&txn)?, 5_u32.to_le_bytes());
    assert!(cursor.clone().next(&txn)? && cursor.step(&txn, KeyStep::NextValue)?);
    assert_eq!(*cursor.value(&txn)?, 6_u32.to_le_bytes());
    let refused = cursor.seek(&txn, SeekOp::GreaterOrEqual, (b"k", &1_u64.to_le_bytes()));
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    Ok(())
}
