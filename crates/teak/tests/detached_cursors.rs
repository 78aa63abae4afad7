//! Cursors without a transaction, against a model of their positions.

use crate::shared::temporary_path;
use fastrand::Rng;
use std::{cmp::Ordering, ops::ControlFlow};
use teak::{
    Comparison, Database, DeleteScope, DetachedCursor, Direction, Durability, Error, InsertMode,
    KeyOrder, Options, ReadTxn, Result, Savepoint, SeekOp, Table, TableDef, TableOptions,
    Transaction, WriteTxn, codec::Bytes,
};

type Raw = Table<Bytes, Bytes>;
type Record = (Vec<u8>, Vec<u8>);

pub(crate) static BY_LENGTH: Comparison = Comparison::new("length, then bytes", &|a, b| {
    a.len().cmp(&b.len()).then(a.cmp(b))
});
/// Many byte strings are one key.
pub(crate) static WITHOUT_CASE: Comparison = Comparison::new("without case", &|a, b| {
    a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
});

pub(crate) const ORDERS: [KeyOrder; 5] = [
    KeyOrder::Bytes,
    KeyOrder::ReverseBytes,
    KeyOrder::Integer,
    KeyOrder::Custom(&BY_LENGTH),
    KeyOrder::Custom(&WITHOUT_CASE),
];

fn integer(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_le_bytes(bytes)
}

pub(crate) fn compare(order: KeyOrder, a: &[u8], b: &[u8]) -> Ordering {
    match order {
        KeyOrder::ReverseBytes => a.iter().rev().cmp(b.iter().rev()),
        KeyOrder::Integer => integer(a).cmp(&integer(b)).then(a.len().cmp(&b.len())),
        KeyOrder::Custom(comparison) if comparison.name() == BY_LENGTH.name() => {
            a.len().cmp(&b.len()).then(a.cmp(b))
        }
        KeyOrder::Custom(_) => a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase()),
        _ => a.cmp(b),
    }
}

/// A table as seen by one transaction.
#[derive(Clone)]
struct Model {
    order: KeyOrder,
    records: Vec<Record>,
}

impl Model {
    fn lower(&self, key: &[u8]) -> usize {
        (self.records).partition_point(|(k, _)| compare(self.order, k, key).is_lt())
    }

    fn upper(&self, key: &[u8]) -> usize {
        (self.records).partition_point(|(k, _)| compare(self.order, k, key).is_le())
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        let index = self.lower(key);
        (index < self.upper(key)).then_some(index)
    }

    fn at_or_beyond(&self, index: usize) -> Option<usize> {
        (index < self.records.len()).then_some(index)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> usize {
        match self.find(key) {
            Some(index) => {
                self.records[index].1 = value.to_vec();
                index
            }
            None => {
                let index = self.lower(key);
                self.records.insert(index, (key.to_vec(), value.to_vec()));
                index
            }
        }
    }

    /// Whether a key may be searched for.
    fn accepts(&self, key: &[u8]) -> bool {
        let len = self.records.first().map(|(k, _)| k.len());
        self.order != KeyOrder::Integer || len.is_none_or(|len| len == key.len())
    }

    /// Whether a key may be inserted.
    fn takes(&self, key: &[u8]) -> bool {
        self.accepts(key) && (self.order != KeyOrder::Integer || matches!(key.len(), 4 | 8))
    }
}

#[derive(Clone, PartialEq, Debug)]
enum ModelPosition {
    Nowhere,
    BeforeFirst,
    At(Vec<u8>),
    AfterLast,
}

impl ModelPosition {
    fn key(&self) -> &[u8] {
        match self {
            Self::At(key) => key,
            _ => &[],
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Nowhere => 0,
            Self::BeforeFirst => 1,
            Self::At(_) => 2,
            Self::AfterLast => 3,
        }
    }
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

    /// Moves to record `to` of the model, or to `otherwise`.
    fn go(&mut self, model: &Model, to: Option<usize>, otherwise: ModelPosition) -> bool {
        self.position = match to {
            Some(index) => ModelPosition::At(model.records[index].0.clone()),
            None => otherwise,
        };
        to.is_some()
    }

    fn next(&self, model: &Model) -> Option<usize> {
        match &self.position {
            ModelPosition::Nowhere | ModelPosition::BeforeFirst => model.at_or_beyond(0),
            ModelPosition::At(key) => model.at_or_beyond(model.upper(key)),
            ModelPosition::AfterLast => None,
        }
    }

    fn prev(&self, model: &Model) -> Option<usize> {
        match &self.position {
            ModelPosition::Nowhere | ModelPosition::AfterLast => model.records.len().checked_sub(1),
            ModelPosition::At(key) => model.lower(key).checked_sub(1),
            ModelPosition::BeforeFirst => None,
        }
    }

    fn here_or_next(&self, model: &Model) -> Option<usize> {
        match &self.position {
            ModelPosition::At(key) => model.at_or_beyond(model.lower(key)),
            _ => self.next(model),
        }
    }

    /// One step of a cursor in one view of the table.
    fn step<T: Transaction>(&mut self, random: &mut Rng, txn: &T, model: &Model) {
        use ModelPosition::{AfterLast, BeforeFirst};
        let key = random_key(random, model);
        let kind = random.u32(..15);
        if (5..10).contains(&kind) && !model.accepts(&key) {
            let refused = match kind {
                5 => self.cursor.seek(txn, SeekOp::GreaterOrEqual, &key),
                6 => self.cursor.seek(txn, SeekOp::Equal, &key),
                7 => self.cursor.seek(txn, SeekOp::Greater, &key),
                8 => self.cursor.seek(txn, SeekOp::Less, &key),
                _ => self.cursor.seek(txn, SeekOp::LessOrEqual, &key),
            };
            assert!(matches!(refused, Err(Error::InvalidArgument(_))));
            return;
        }
        let (found, expected) = match kind {
            0 => {
                let to = model.at_or_beyond(0);
                (self.cursor.first(txn), self.go(model, to, AfterLast))
            }
            1 => {
                let to = model.records.len().checked_sub(1);
                (self.cursor.last(txn), self.go(model, to, BeforeFirst))
            }
            2 | 10 | 11 => {
                let to = self.next(model);
                (self.cursor.next(txn), self.go(model, to, AfterLast))
            }
            3 | 12 => {
                let to = self.prev(model);
                (self.cursor.prev(txn), self.go(model, to, BeforeFirst))
            }
            4 => {
                let expected = match self.position.clone() {
                    ModelPosition::At(key) => {
                        let to = model.at_or_beyond(model.lower(&key));
                        self.go(model, to, AfterLast)
                    }
                    _ => false,
                };
                (self.cursor.current(txn), expected)
            }
            5 => {
                let to = model.at_or_beyond(model.lower(&key));
                let expected = self.go(model, to, AfterLast);
                (
                    self.cursor.seek(txn, SeekOp::GreaterOrEqual, &key),
                    expected,
                )
            }
            6 => {
                let to = model.at_or_beyond(model.lower(&key));
                self.go(model, to, AfterLast);
                (
                    self.cursor.seek(txn, SeekOp::Equal, &key),
                    model.find(&key).is_some(),
                )
            }
            7 => {
                let to = model.at_or_beyond(model.upper(&key));
                let expected = self.go(model, to, AfterLast);
                (self.cursor.seek(txn, SeekOp::Greater, &key), expected)
            }
            8 => {
                let to = model.lower(&key).checked_sub(1);
                let expected = self.go(model, to, BeforeFirst);
                (self.cursor.seek(txn, SeekOp::Less, &key), expected)
            }
            9 => {
                let to = model.upper(&key).checked_sub(1);
                let expected = self.go(model, to, BeforeFirst);
                (self.cursor.seek(txn, SeekOp::LessOrEqual, &key), expected)
            }
            13 => {
                let max = random.usize(..40);
                let from = self.here_or_next(model).unwrap_or(model.records.len());
                let to = (from + max).min(model.records.len());
                let mut read = Vec::new();
                let found = self.cursor.read_batch(txn, max, |key, value| {
                    read.push((key.to_vec(), value.to_vec()));
                });
                assert_eq!(read, model.records[from..to]);
                (found, self.go(model, model.at_or_beyond(to), AfterLast))
            }
            _ => {
                let end = match &self.position {
                    ModelPosition::At(key) => model.upper(key),
                    ModelPosition::BeforeFirst => 0,
                    _ => model.records.len(),
                };
                let back = random.usize(..30);
                let to = end.checked_sub(back + 1);
                let mut left = back;
                let found = self.cursor.scan(txn, Direction::Backward, |_, _| {
                    if left == 0 {
                        return ControlFlow::Break(());
                    }
                    left -= 1;
                    ControlFlow::Continue(())
                });
                (found, self.go(model, to, BeforeFirst))
            }
        };
        assert_eq!(found.unwrap(), expected, "movement {kind}");
    }

    /// The position as reported by a cursor.
    fn check<T: Transaction>(&self, txn: &T, model: &Model) {
        let cursor = &self.cursor;
        assert_eq!(cursor.key(), self.position.key());
        let index = match &self.position {
            ModelPosition::At(key) => model.find(key),
            _ => None,
        };
        assert_eq!(cursor.is_on_record(txn).unwrap(), index.is_some());
        let value = index.map_or(&[][..], |index| &model.records[index].1);
        assert_eq!(*cursor.value(txn).unwrap(), *value);
        let ends = cursor.ends(txn).unwrap();
        assert_eq!(ends.is_first, index == Some(0));
        let is_last = index.is_some_and(|index| index + 1 == model.records.len());
        assert_eq!(ends.is_last, is_last);
        let is_after = match &self.position {
            ModelPosition::At(key) => model.lower(key) == model.records.len(),
            position => *position == ModelPosition::AfterLast,
        };
        assert_eq!(ends.is_after_last, is_after);
    }

    /// One change through a cursor.
    fn change(&mut self, random: &mut Rng, txn: &mut WriteTxn, model: &mut Model) {
        let (key, value) = (random_key(random, model), random_value(random));
        let kind = random.u32(..16);
        if kind < 8 && !model.takes(&key) {
            let refused = self.cursor.insert(txn, &key, &value);
            assert!(matches!(refused, Err(Error::InvalidArgument(_))));
            return;
        }
        let here = match &self.position {
            ModelPosition::At(key) => model.find(key),
            _ => None,
        };
        match kind {
            0..4 => {
                self.cursor.insert(txn, &key, &value).unwrap();
                let index = model.put(&key, &value);
                self.go(model, Some(index), ModelPosition::Nowhere);
            }
            4..6 => {
                let is_new = self
                    .cursor
                    .insert_as(txn, InsertMode::NewKey, &key, &value)
                    .unwrap();
                assert_eq!(is_new, model.find(&key).is_none());
                let index = match model.find(&key) {
                    Some(index) => index,
                    None => model.put(&key, &value),
                };
                self.go(model, Some(index), ModelPosition::Nowhere);
            }
            6..8 => {
                let is_after = model.lower(&key) == model.records.len();
                let appended = self.cursor.insert_as(txn, InsertMode::Last, &key, &value);
                if is_after {
                    appended.unwrap();
                    let index = model.put(&key, &value);
                    self.go(model, Some(index), ModelPosition::Nowhere);
                } else {
                    assert!(matches!(appended, Err(Error::NotSorted { .. })));
                }
            }
            8..10 => {
                assert_eq!(self.cursor.update(txn, &value).unwrap(), here.is_some());
                if let Some(index) = here {
                    model.records[index].1 = value;
                }
            }
            10..15 => {
                assert_eq!(self.cursor.remove(txn).unwrap(), here.is_some());
                if let Some(index) = here {
                    model.records.remove(index);
                }
            }
            _ => self.remove_scope(random, txn, model),
        }
    }

    /// Not if it would remove too much.
    fn remove_scope(&mut self, random: &mut Rng, txn: &mut WriteTxn, model: &mut Model) {
        let scopes = [
            DeleteScope::Before,
            DeleteScope::UpToCurrent,
            DeleteScope::FromCurrent,
            DeleteScope::After,
        ];
        let scope = scopes[random.usize(..4)];
        let count = model.records.len();
        let (before, after) = match &self.position {
            ModelPosition::Nowhere => {
                let refused = self.cursor.remove_scope(txn, scope);
                return assert!(matches!(refused, Err(Error::InvalidArgument(_))));
            }
            ModelPosition::At(key) => (model.lower(key), model.upper(key)),
            ModelPosition::BeforeFirst => (0, 0),
            ModelPosition::AfterLast => (count, count),
        };
        let doomed = match scope {
            DeleteScope::Before => 0..before,
            DeleteScope::UpToCurrent => 0..after,
            DeleteScope::FromCurrent => before..count,
            _ => after..count,
        };
        if doomed.len() < 60 {
            let removed = self.cursor.remove_scope(txn, scope).unwrap();
            assert_eq!(removed, doomed.len() as u64);
            model.records.drain(doomed);
        }
    }
}

fn random_key(random: &mut Rng, model: &Model) -> Vec<u8> {
    if let Some((key, _)) = random
        .choice(&model.records)
        .filter(|_| random.u32(..3) == 0)
    {
        return key.clone();
    }
    if model.order == KeyOrder::Integer && random.u32(..30) > 0 {
        let len = model.records.first().map_or(8, |(key, _)| key.len());
        let number = random.u64(..3000) << [0, 20][random.usize(..2)];
        return number.to_le_bytes()[..len].to_vec();
    }
    let len = random.usize(..10) * (1 + 20 * usize::from(random.u32(..20) == 0));
    (0..len)
        .map(|_| b"aAbBcCdDeE"[random.usize(..10)])
        .collect()
}

fn random_value(random: &mut Rng) -> Vec<u8> {
    let len = match random.u32(..40) {
        0 => random.usize(..20_000),
        _ => random.usize(..400),
    };
    vec![random.u8(..); len]
}

/// A change without a cursor.
fn change_past_cursors(random: &mut Rng, txn: &mut WriteTxn, table: &Raw, model: &mut Model) {
    let (key, value) = (random_key(random, model), random_value(random));
    match random.u32(..12) {
        0..6 if model.takes(&key) => {
            table.insert(txn, &key, &value).unwrap();
            model.put(&key, &value);
        }
        6..10 => {
            if let Some((key, _)) = random.choice(&model.records).cloned() {
                assert!(table.remove(txn, &key).unwrap());
                let index = model.find(&key).unwrap();
                model.records.remove(index);
            }
        }
        10 if !model.records.is_empty() => {
            let from = random.usize(..model.records.len());
            let to = (from + random.usize(..50)).min(model.records.len() - 1);
            let (low, high) = (model.records[from].0.clone(), model.records[to].0.clone());
            let removed = table.range(&low[..]..&high[..]).remove(txn).unwrap();
            assert_eq!(removed, (to - from) as u64);
            model.records.drain(from..to);
        }
        _ => {
            let mut keys: Vec<_> = (0..30).map(|_| random_key(random, model)).collect();
            let len = keys[0].len();
            keys.retain(|key| {
                model.takes(key) && (model.order != KeyOrder::Integer || key.len() == len)
            });
            // Of equal keys, the last one would stay.
            keys.sort_by(|a, b| compare(model.order, a, b));
            keys.dedup_by(|a, b| compare(model.order, a, b).is_eq());
            let records: Vec<_> = keys.iter().map(|key| (&key[..], &value[..])).collect();
            table.insert_many(txn, &records).unwrap();
            for key in &keys {
                model.put(key, &value);
            }
        }
    }
}

/// A database, its expected contents, and cursors over one table of it.
struct World {
    random: Rng,
    database: Database,
    table: Raw,
    is_counted: bool,
    shares_prefixes: bool,
    committed: Option<Model>,
    readers: Vec<(ReadTxn, Option<Model>)>,
    cursors: Vec<Both>,
}

/// The state that a transaction may roll back to.
type Savepoints = Vec<(Savepoint, Option<Model>)>;

impl World {
    fn options(&self, order: KeyOrder) -> TableOptions {
        let options = TableOptions::new().order(order).counted(self.is_counted);
        match self.shares_prefixes {
            true => options,
            false => options.share_prefixes(false),
        }
    }

    fn create(&self, txn: &mut WriteTxn, order: KeyOrder) -> Model {
        let options = self.options(order);
        TableDef::<Bytes, Bytes>::new("some")
            .options(options)
            .create(txn)
            .unwrap();
        Model {
            order,
            records: Vec::new(),
        }
    }

    /// Some cursors read one view.
    fn inspect<T: Transaction>(&mut self, txn: &T, model: &Option<Model>) {
        for _ in 0..4 {
            let both = random_cursor(&mut self.random, &mut self.cursors);
            match model {
                Some(model) => {
                    both.step(&mut self.random, txn, model);
                    both.check(txn, model);
                }
                None => {
                    let position = both.position.clone();
                    let refused = [both.cursor.next(txn), both.cursor.current(txn)];
                    for refused in refused {
                        assert!(matches!(refused, Err(Error::TableNotFound(_))));
                    }
                    assert!(both.cursor.value(txn).is_err());
                    assert_eq!(both.cursor.key(), position.key());
                }
            }
        }
        if let (Some(model), Some(one), Some(other)) =
            (model, self.cursors.first(), self.cursors.last())
        {
            let expected = match (&one.position, &other.position) {
                (ModelPosition::Nowhere, _) | (_, ModelPosition::Nowhere) => None,
                (ModelPosition::At(one), ModelPosition::At(other)) => {
                    Some(compare(model.order, one, other))
                }
                (one, other) => Some(one.rank().cmp(&other.rank())),
            };
            assert_eq!(one.cursor.compare(&other.cursor, txn).unwrap(), expected);
        }
    }

    fn inspect_a_reader(&mut self) {
        if self.readers.is_empty() {
            return;
        }
        let index = self.random.usize(..self.readers.len());
        let (txn, model) = self.readers.swap_remove(index);
        self.inspect(&txn, &model);
        // Parked and resumed, or not at all.
        match self.random.u32(..10) {
            0 => {}
            1 => self
                .readers
                .push((txn.park().unwrap().resume().unwrap(), model)),
            _ => self.readers.push((txn, model)),
        }
    }

    /// One write transaction and its changes.
    fn transaction(&mut self) {
        let mut txn = self.database.begin_write().unwrap();
        let mut model = self.committed.clone();
        let mut savepoints = Savepoints::new();
        for _ in 0..self.random.usize(1..60) {
            self.change(&mut txn, &mut model, &mut savepoints);
            self.inspect(&txn, &model);
            if self.random.u32(..8) == 0 {
                self.inspect_a_reader();
            }
        }
        if self.random.u32(..4) > 0 {
            txn.commit().unwrap();
            self.committed = model;
        }
        let txn = self.database.begin_read().unwrap();
        let committed = self.committed.clone();
        self.inspect(&txn, &committed);
        self.readers.push((txn, committed));
        self.readers.truncate(4);
    }

    fn change(
        &mut self,
        txn: &mut WriteTxn,
        model: &mut Option<Model>,
        savepoints: &mut Savepoints,
    ) {
        let kind = self.random.u32(..100);
        match (kind, &mut *model) {
            (0..6, _) => savepoints.push((txn.savepoint().unwrap(), model.clone())),
            (6..10, _) => {
                if let Some((savepoint, before)) = savepoints.last() {
                    txn.rollback_to(savepoint).unwrap();
                    *model = before.clone();
                }
            }
            (10..12, _) => {
                if let Some((savepoint, _)) = savepoints.pop() {
                    txn.release(savepoint).unwrap();
                }
            }
            (12, Some(_)) => {
                assert!(txn.drop_table("some").unwrap());
                *model = None;
            }
            (13, Some(model)) => {
                self.table.clear(txn).unwrap();
                model.records.clear();
            }
            (_, None) => {
                let order = ORDERS[self.random.usize(..ORDERS.len())];
                *model = Some(self.create(txn, order));
            }
            (14..40, Some(model)) => {
                change_past_cursors(&mut self.random, txn, &self.table, model);
            }
            (_, Some(model)) => {
                let both = random_cursor(&mut self.random, &mut self.cursors);
                both.change(&mut self.random, txn, model);
                both.check(txn, model);
            }
        }
        match self.random.u32(..50) {
            0 if self.cursors.len() < 8 => {
                let copy = random_cursor(&mut self.random, &mut self.cursors).clone();
                self.cursors.push(copy);
            }
            1 if self.cursors.len() < 8 => self.cursors.push(Both::new(&self.table)),
            2 if self.cursors.len() > 2 => drop(self.cursors.pop()),
            3 => {
                let both = random_cursor(&mut self.random, &mut self.cursors);
                both.cursor.reset();
                both.position = ModelPosition::Nowhere;
            }
            _ => {}
        }
    }
}

fn random_cursor<'c>(random: &mut Rng, cursors: &'c mut [Both]) -> &'c mut Both {
    let count = cursors.len();
    &mut cursors[random.usize(..count)]
}

fn campaign(seed: u64, order: KeyOrder, page_size: usize) {
    println!("seed {seed}, order {order:?}, pages of {page_size}");
    let mut random = Rng::with_seed(seed);
    let (_directory, path) = temporary_path();
    let options = Options::new()
        .page_size(page_size)
        .durability([Durability::Durable, Durability::Lazy][random.usize(..2)])
        .comparison(&BY_LENGTH)
        .comparison(&WITHOUT_CASE);
    let database = options.open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let (is_counted, shares_prefixes) = (random.bool(), random.u32(..3) > 0);
    let table = TableDef::<Bytes, Bytes>::new("some")
        .options(TableOptions::new())
        .create(&mut txn)
        .unwrap();
    txn.drop_table("some").unwrap();
    let mut world = World {
        cursors: (0..4).map(|_| Both::new(&table)).collect(),
        random,
        database,
        table,
        is_counted,
        shares_prefixes,
        committed: None,
        readers: Vec::new(),
    };
    let mut model = world.create(&mut txn, order);
    for _ in 0..300 {
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
fn cursors_match_the_model_through_changes_savepoints_and_commits() {
    for (index, order) in ORDERS.into_iter().enumerate() {
        for round in 0..6 {
            let page_size = [4096, 8192, 65536][round % 3];
            campaign((index * 100 + round) as u64, order, page_size);
        }
    }
}

fn words(txn: &mut WriteTxn, names: &[&str]) -> Raw {
    let table = txn.create_table::<Bytes, Bytes>("words").unwrap();
    for name in names {
        table.insert(txn, name.as_bytes(), b"1").unwrap();
    }
    table
}

#[test]
fn a_cursor_of_a_cancelled_reader_keeps_its_position() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = words(&mut txn, &["ash", "elm", "oak"]);
    txn.commit().unwrap();
    let reader = database.begin_read().unwrap();
    let mut cursor = DetachedCursor::new(&table);
    assert!(cursor.next(&reader).unwrap());
    let info = &database.readers().unwrap()[0];
    assert!(database.cancel_reader(info).unwrap());
    for lost in [
        cursor.next(&reader),
        cursor.current(&reader),
        cursor.is_on_record(&reader),
        cursor.value(&reader).map(|_| true),
    ] {
        assert!(matches!(lost, Err(Error::SnapshotLost)));
    }
    assert_eq!(cursor.key(), b"ash");
    drop(reader);
    assert!(cursor.next(&database.begin_read().unwrap()).unwrap());
    assert_eq!(cursor.key(), b"elm");
}

#[test]
fn a_cursor_can_move_to_another_database_with_such_a_table() {
    let (_one, one) = temporary_path();
    let (_other, other) = temporary_path();
    let (one, other) = (
        Database::open(&one).unwrap(),
        Database::open(&other).unwrap(),
    );
    let mut txn = one.begin_write().unwrap();
    let table = words(&mut txn, &["ash", "elm", "oak"]);
    txn.commit().unwrap();
    let mut txn = other.begin_write().unwrap();
    words(&mut txn, &["birch", "oak", "yew"]);
    txn.commit().unwrap();
    let (one, other) = (one.begin_read().unwrap(), other.begin_read().unwrap());
    let mut cursor = DetachedCursor::new(&table);
    let mut seen = Vec::new();
    for step in 0..4 {
        let found = match step % 2 {
            0 => cursor.next(&one).unwrap(),
            _ => cursor.next(&other).unwrap(),
        };
        assert!(found);
        seen.push(String::from_utf8(cursor.key().to_vec()).unwrap());
    }
    assert_eq!(seen, ["ash", "birch", "elm", "oak"]);
    assert!(!cursor.next(&one).unwrap());
    assert!(cursor.ends(&other).unwrap().is_after_last);
}

#[test]
fn integers_of_another_length_have_a_position_in_the_order() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new().order(KeyOrder::Integer);
    let table = TableDef::<Bytes, Bytes>::new("numbers")
        .options(options)
        .create(&mut txn)
        .unwrap();
    let mut cursor = DetachedCursor::new(&table);
    let long = |number: u64| number.to_le_bytes();
    let short = |number: u32| number.to_le_bytes();
    cursor.insert(&mut txn, &long(5), b"").unwrap();
    let mut far = cursor.clone();
    far.insert(&mut txn, &long(1 << 40), b"").unwrap();
    table.clear(&mut txn).unwrap();
    for number in [4, 5, 6] {
        table.insert(&mut txn, short(number), b"").unwrap();
    }
    // The five of eight bytes is directly after that of four.
    assert!(!cursor.is_on_record(&txn).unwrap());
    assert!(!cursor.remove(&mut txn).unwrap());
    assert!(!cursor.update(&mut txn, b"").unwrap());
    let mut back = cursor.clone();
    assert!(back.prev(&txn).unwrap());
    assert_eq!(back.key(), short(5));
    assert!(cursor.next(&txn).unwrap());
    assert_eq!(cursor.key(), short(6));
    assert!(!far.clone().next(&txn).unwrap());
    assert!(far.prev(&txn).unwrap());
    assert_eq!(far.key(), short(6));
    assert!(cursor.seek(&txn, SeekOp::GreaterOrEqual, &long(1)).is_err());
    assert_eq!(cursor.key(), short(6));
}

#[test]
fn a_panic_in_a_scan_keeps_the_cursor_position() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let table = words(&mut txn, &["ash", "elm", "oak"]);
    let mut cursor = DetachedCursor::new(&table);
    cursor.first(&txn)?;
    let scan = std::panic::AssertUnwindSafe(|| {
        cursor.scan(&txn, Direction::Forward, |_, _| panic!("on purpose"))
    });
    assert!(std::panic::catch_unwind(scan).is_err());
    assert!(cursor.next(&txn)?);
    assert_eq!(cursor.key(), b"elm");
    Ok(())
}
