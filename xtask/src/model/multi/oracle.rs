//! The expected contents of a table in which a key has several values.

use super::super::{
    key_range::{KeyRange, is_inverted},
    shape::{KeyShape, ModelKey, sort_form},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};
use teak::{KeyOrder, TableOptions, TableTypes, ValueSize};

/// A key and one of its values.
pub(crate) type Pair = (ModelKey, ModelKey);

/// The two ends of a range of pairs.
pub(crate) type PairRange = (Bound<Pair>, Bound<Pair>);

/// The options that a table is created with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MultiKind {
    pub(crate) order: KeyOrder,
    pub(crate) value_order: KeyOrder,
    pub(crate) value_size: ValueSize,
    pub(crate) share_prefixes: bool,
    pub(crate) counted: bool,
    pub(crate) shape: KeyShape,
    pub(crate) value_shape: KeyShape,
    /// Keys are made from numbers below this.
    pub(crate) key_domain: u64,
}

impl MultiKind {
    pub(crate) fn options(&self) -> TableOptions {
        TableOptions::new()
            .order(self.order)
            .share_prefixes(self.share_prefixes)
            .counted(self.counted)
            .value_order(self.value_order)
            .value_size(self.value_size)
    }

    /// Whether all values have one size.
    pub(crate) fn is_packed(&self) -> bool {
        self.value_size != ValueSize::Any
    }
}

/// A table and its pairs.
#[derive(Clone, Debug)]
pub(crate) struct MultiModel {
    pub(crate) kind: MultiKind,
    /// Sort forms of keys and values. Every key has at least one value.
    keys: BTreeMap<ModelKey, BTreeSet<ModelKey>>,
    len: usize,
    pub(crate) sequence: u64,
    pub(crate) types: TableTypes,
}

impl MultiModel {
    pub(crate) fn new(kind: MultiKind) -> Self {
        Self {
            kind,
            keys: BTreeMap::new(),
            len: 0,
            sequence: 0,
            types: TableTypes::default(),
        }
    }

    /// The number of pairs.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn count(&self, key: &[u8]) -> usize {
        self.keys.get(&self.key_form(key)).map_or(0, BTreeSet::len)
    }

    pub(crate) fn contains(&self, (key, value): &Pair) -> bool {
        let values = self.keys.get(&self.key_form(key));
        values.is_some_and(|values| values.contains(&self.value_form(value)))
    }

    /// Whether the pair is new.
    pub(crate) fn insert(&mut self, (key, value): &Pair) -> bool {
        let (key, value) = (self.key_form(key), self.value_form(value));
        let is_new = self.keys.entry(key).or_default().insert(value);
        self.len += usize::from(is_new);
        is_new
    }

    /// The number of new pairs among these.
    pub(crate) fn insert_all(&mut self, pairs: &[Pair]) -> u64 {
        pairs.iter().filter(|pair| self.insert(pair)).count() as u64
    }

    /// Whether the pair existed.
    pub(crate) fn remove(&mut self, (key, value): &Pair) -> bool {
        let (key, value) = (self.key_form(key), self.value_form(value));
        let Some(values) = self.keys.get_mut(&key) else {
            return false;
        };
        let was_there = values.remove(&value);
        if values.is_empty() {
            self.keys.remove(&key);
        }
        self.len -= usize::from(was_there);
        was_there
    }

    /// The number of values that the key had.
    pub(crate) fn remove_key(&mut self, key: &[u8]) -> u64 {
        let values = self.keys.remove(&self.key_form(key));
        let count = values.map_or(0, |values| values.len());
        self.len -= count;
        count as u64
    }

    /// The number of these pairs that existed.
    pub(crate) fn remove_all(&mut self, pairs: &[Pair]) -> u64 {
        pairs.iter().filter(|pair| self.remove(pair)).count() as u64
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.len = 0;
    }

    /// The keys in their inserted form, with the number of their values.
    pub(crate) fn keys(&self) -> impl DoubleEndedIterator<Item = (ModelKey, u64)> {
        let count = |(form, values): (_, &BTreeSet<_>)| (self.key(form), values.len() as u64);
        self.keys.iter().map(count)
    }

    /// The values of a key.
    pub(crate) fn values(&self, key: &[u8]) -> impl DoubleEndedIterator<Item = ModelKey> {
        let values = self.keys.get(&self.key_form(key)).into_iter().flatten();
        values.map(|form| self.value(form))
    }

    /// The pairs whose keys are in a range.
    pub(crate) fn range(&self, (low, high): &KeyRange) -> impl DoubleEndedIterator<Item = Pair> {
        let low = low.as_ref().map(|key| self.key_form(key));
        let high = high.as_ref().map(|key| self.key_form(key));
        let keys = (!is_inverted(&low, &high)).then(|| self.keys.range((low, high)));
        keys.into_iter().flatten().flat_map(move |(key, values)| {
            let key = self.key(key);
            values
                .iter()
                .map(move |value| (key.clone(), self.value(value)))
        })
    }

    /// The pairs of a range.
    pub(crate) fn range_pairs(&self, (low, high): &PairRange) -> Vec<Pair> {
        let key_of = |bound: &Bound<Pair>| match bound {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included((key, _)) | Bound::Excluded((key, _)) => Bound::Included(key.clone()),
        };
        let is_after = |pair: &Pair| match low {
            Bound::Unbounded => true,
            Bound::Included(low) => !self.sorts_before(pair, low),
            Bound::Excluded(low) => self.sorts_before(low, pair),
        };
        let is_before = |pair: &Pair| match high {
            Bound::Unbounded => true,
            Bound::Included(high) => !self.sorts_before(high, pair),
            Bound::Excluded(high) => self.sorts_before(pair, high),
        };
        let keys = (key_of(low), key_of(high));
        self.range(&keys)
            .filter(|pair| is_after(pair) && is_before(pair))
            .collect()
    }

    /// The pair after this one, or the first.
    pub(crate) fn next(&self, pair: Option<&Pair>) -> Option<Pair> {
        let Some((key, value)) = pair else {
            return self.range(&(Bound::Unbounded, Bound::Unbounded)).next();
        };
        let after = (Bound::Excluded(self.value_form(value)), Bound::Unbounded);
        let of_key = self.keys.get(&self.key_form(key));
        let next = of_key.and_then(|values| values.range(after).next());
        match next {
            Some(value) => Some((key.clone(), self.value(value))),
            None => self.first_after(key),
        }
    }

    /// The pair before this one, or the last.
    pub(crate) fn prev(&self, pair: Option<&Pair>) -> Option<Pair> {
        let Some((key, value)) = pair else {
            let all = (Bound::Unbounded, Bound::Unbounded);
            return self.range(&all).next_back();
        };
        let before = (Bound::Unbounded, Bound::Excluded(self.value_form(value)));
        let of_key = self.keys.get(&self.key_form(key));
        let prev = of_key.and_then(|values| values.range(before).next_back());
        match prev {
            Some(value) => Some((key.clone(), self.value(value))),
            None => self.last_before(key),
        }
    }

    /// The first pair after all pairs of this key.
    pub(crate) fn first_after(&self, key: &ModelKey) -> Option<Pair> {
        self.range(&(Bound::Excluded(key.clone()), Bound::Unbounded))
            .next()
    }

    /// The last pair of the keys before this one.
    pub(crate) fn last_before(&self, key: &ModelKey) -> Option<Pair> {
        self.range(&(Bound::Unbounded, Bound::Excluded(key.clone())))
            .next_back()
    }

    /// The first pair that is not before this one.
    pub(crate) fn at_or_after(&self, pair: &Pair) -> Option<Pair> {
        match self.contains(pair) {
            true => Some(pair.clone()),
            false => self.next(Some(pair)),
        }
    }

    /// Whether `left` is before `right` in this table.
    pub(crate) fn sorts_before(&self, left: &Pair, right: &Pair) -> bool {
        self.form(left) < self.form(right)
    }

    /// Sorts pairs in table order, without duplicates.
    pub(crate) fn sorted(&self, pairs: &[Pair]) -> Vec<Pair> {
        let sorted: BTreeSet<_> = pairs.iter().map(|pair| self.form(pair)).collect();
        let pairs = sorted
            .iter()
            .map(|(key, value)| (self.key(key), self.value(value)));
        pairs.collect()
    }

    fn form(&self, (key, value): &Pair) -> Pair {
        (self.key_form(key), self.value_form(value))
    }

    fn key_form(&self, key: &[u8]) -> ModelKey {
        sort_form(self.kind.order, key)
    }

    fn value_form(&self, value: &[u8]) -> ModelKey {
        sort_form(self.kind.value_order, value)
    }

    fn key(&self, form: &ModelKey) -> ModelKey {
        sort_form(self.kind.order, form)
    }

    fn value(&self, form: &ModelKey) -> ModelKey {
        sort_form(self.kind.value_order, form)
    }
}

type PairBounds<'r> = (Bound<(&'r [u8], &'r [u8])>, Bound<(&'r [u8], &'r [u8])>);

/// The range in the engine's form.
pub(crate) fn borrowed_pairs((low, high): &PairRange) -> PairBounds<'_> {
    (
        low.as_ref().map(|(key, value)| (&**key, &**value)),
        high.as_ref().map(|(key, value)| (&**key, &**value)),
    )
}
