//! Draws operations on tables in which a key has several values.

use super::super::{
    counting::TableCounting,
    key_range::{KeyRange, draw_bound},
    reading::Direction,
    shape::{KeyShape, ModelKey, SWAPPED},
};
use super::{
    changes::MultiChange,
    oracle::{MultiKind, MultiModel, Pair, PairRange},
    reads::MultiRead,
};
use fastrand::Rng;
use teak::{KeyOrder, ValueSize};

/// The number of pairs in a table above which pairs are removed more often.
const PAIRS_MAX: usize = 20_000;

const ORDERS: [KeyOrder; 5] = [
    KeyOrder::Bytes,
    KeyOrder::Bytes,
    KeyOrder::ReverseBytes,
    KeyOrder::Integer,
    KeyOrder::Custom(&SWAPPED),
];

/// The kind of a new table.
pub(crate) fn draw_kind(rng: &mut Rng, key_len_max: usize, domain: u64) -> MultiKind {
    let order = ORDERS[rng.usize(0..ORDERS.len())];
    let value_order = ORDERS[rng.usize(0..ORDERS.len())];
    let fixed_len = [1, 2, 3, 8, 20, key_len_max][rng.usize(0..6)];
    let (value_shape, value_size) = match (value_order, rng.u8(0..3)) {
        (KeyOrder::Integer, choice) => {
            let width = [4, 8][rng.usize(0..2)];
            let size = match choice {
                0 => ValueSize::AsFirst,
                _ => ValueSize::Bytes(width as u16),
            };
            (KeyShape::Integer { width }, size)
        }
        (_, 0) => (
            KeyShape::draw(rng, value_order, key_len_max),
            ValueSize::Any,
        ),
        (_, 1) => (KeyShape::Fixed { len: fixed_len }, ValueSize::AsFirst),
        _ => (
            KeyShape::Fixed { len: fixed_len },
            ValueSize::Bytes(fixed_len as u16),
        ),
    };
    MultiKind {
        order,
        value_order,
        value_size,
        share_prefixes: rng.bool(),
        counted: rng.u8(0..3) == 0,
        shape: KeyShape::draw(rng, order, key_len_max),
        value_shape,
        key_domain: [1, 4, 40, domain][rng.usize(0..4)],
    }
}

/// Draws for one table.
pub(crate) struct MultiDrawContext<'a> {
    pub(crate) table: &'a MultiModel,
    pub(crate) domain: u64,
    pub(crate) key_len_max: usize,
}

impl MultiDrawContext<'_> {
    pub(crate) fn read(&self, rng: &mut Rng) -> MultiRead {
        let direction = Direction::draw(rng);
        match rng.u8(0..11) {
            10 if rng.bool() => MultiRead::Count(TableCounting {
                of: self.probe(rng),
                number: rng.u64(0..self.table.len() as u64 + 2),
                range: self.range_pairs(rng),
                keys: self.range(rng),
                parts: rng.usize(1..9),
            }),
            0..=3 => MultiRead::Key(self.key(rng)),
            4..=6 => MultiRead::Contains(self.probe(rng)),
            7 => MultiRead::Keys,
            8 => MultiRead::Range(self.range(rng), direction, rng.usize(0..200)),
            _ => MultiRead::RangePairs(self.range_pairs(rng), direction, rng.usize(0..200)),
        }
    }

    pub(crate) fn change(&self, rng: &mut Rng) -> MultiChange {
        let choice = match rng.u16(0..1000) {
            0..700 if self.table.len() > PAIRS_MAX => 900,
            choice => choice,
        };
        match choice {
            0..400 => MultiChange::Insert(self.pair(rng)),
            400..415 => MultiChange::AppendValue(self.pair(rng)),
            415..435 => {
                let new = (rng.u8(0..4) > 0).then(|| self.value(rng));
                MultiChange::Modify(self.probe(rng), new)
            }
            435..450 => {
                let (key, old) = self.probe(rng);
                let old = (rng.u8(0..4) > 0).then_some(old);
                let new = (rng.u8(0..4) > 0).then(|| self.value(rng));
                MultiChange::CompareAndSwap(key, old, new)
            }
            450..500 => MultiChange::InsertNewKey(self.pair(rng)),
            500..560 => MultiChange::InsertValues(self.key(rng), self.values(rng)),
            560..600 => MultiChange::InsertPacked(self.key(rng), self.values(rng)),
            600..630 => MultiChange::InsertMany(self.pairs(rng, 300)),
            630..680 => {
                let (key, old) = self.probe(rng);
                MultiChange::Replace(key, old, self.value(rng))
            }
            680..700 => MultiChange::SetValues(self.key(rng), self.values(rng)),
            700..730 => MultiChange::Append(self.pair(rng)),
            730..740 => {
                let changes = (0..rng.usize(0..6)).map(|_| match rng.u8(0..8) {
                    0 => MultiChange::RemoveKey(self.key(rng)),
                    1 => MultiChange::InsertMany(self.pairs(rng, 100)),
                    2 => MultiChange::RemovePairs(self.range_pairs(rng)),
                    3 | 4 => MultiChange::Remove(self.probe(rng)),
                    _ => MultiChange::Insert(self.pair(rng)),
                });
                MultiChange::Nested(changes.collect(), rng.bool())
            }
            740..880 => MultiChange::Remove(self.probe(rng)),
            880..890 => MultiChange::RemoveKey(self.key(rng)),
            890..920 => MultiChange::RemoveMany(self.pairs(rng, 300)),
            920..930 => MultiChange::RemoveRange(self.range(rng)),
            930..950 => MultiChange::RemovePairs(self.range_pairs(rng)),
            950..955 => {
                let memory_bytes = [0, 70_000, 1 << 20][rng.usize(0..3)];
                MultiChange::BulkLoadUnsorted(self.pairs(rng, 1000), memory_bytes)
            }
            955..970 => MultiChange::BulkLoad(self.pairs_after(rng)),
            970..975 => self.bulk_load_wrong(rng),
            975..999 => self.insert_wrong(rng),
            _ => MultiChange::Clear,
        }
    }

    fn bulk_load_wrong(&self, rng: &mut Rng) -> MultiChange {
        let mut pairs = self.pairs_after(rng);
        match pairs.first().cloned() {
            Some(first) if pairs.len() > 1 => {
                pairs.push(first);
                MultiChange::BulkLoadWrong(pairs)
            }
            _ => MultiChange::BulkLoad(pairs),
        }
    }

    fn insert_wrong(&self, rng: &mut Rng) -> MultiChange {
        let len = match self.table.kind.value_size {
            ValueSize::Bytes(size) if rng.bool() => usize::from(size) - 1,
            _ => self.key_len_max + 1,
        };
        MultiChange::InsertWrong(self.key(rng), len)
    }

    fn key(&self, rng: &mut Rng) -> ModelKey {
        let kind = &self.table.kind;
        kind.shape.key(rng.u64(0..kind.key_domain))
    }

    fn value(&self, rng: &mut Rng) -> ModelKey {
        self.table.kind.value_shape.key(rng.u64(0..self.domain))
    }

    fn pair(&self, rng: &mut Rng) -> Pair {
        (self.key(rng), self.value(rng))
    }

    /// A pair that often exists.
    fn probe(&self, rng: &mut Rng) -> Pair {
        let pair = self.pair(rng);
        match rng.u8(0..3) {
            0 => pair,
            _ => self.table.at_or_after(&pair).unwrap_or(pair),
        }
    }

    fn values(&self, rng: &mut Rng) -> Vec<ModelKey> {
        let count = [3, 40, 600][rng.usize(0..3)];
        let count = rng.usize(0..count);
        (0..count).map(|_| self.value(rng)).collect()
    }

    fn pairs(&self, rng: &mut Rng, count_max: usize) -> Vec<Pair> {
        let count = rng.usize(0..count_max);
        (0..count).map(|_| self.probe(rng)).collect()
    }

    /// Sorted pairs that are all after the table's last one.
    fn pairs_after(&self, rng: &mut Rng) -> Vec<Pair> {
        let count = rng.usize(0..1000);
        let pairs: Vec<_> = (0..count).map(|_| self.pair(rng)).collect();
        let mut pairs = self.table.sorted(&pairs);
        if let Some(last) = self.table.prev(None) {
            pairs.retain(|pair| self.table.sorts_before(&last, pair));
        }
        pairs
    }

    fn range(&self, rng: &mut Rng) -> KeyRange {
        let (low, high) = (self.key(rng), self.key(rng));
        (draw_bound(rng, low), draw_bound(rng, high))
    }

    /// A range of a few pairs in most cases, sometimes an arbitrary one.
    fn range_pairs(&self, rng: &mut Rng) -> PairRange {
        let low = self.probe(rng);
        let mut high = low.clone();
        if rng.u8(0..5) == 0 {
            high = self.probe(rng);
        } else {
            for _ in 0..rng.usize(0..60) {
                high = self.table.next(Some(&high)).unwrap_or(high);
            }
        }
        (draw_bound(rng, low), draw_bound(rng, high))
    }
}
