//! Multi-value trees: a key has a sorted set of values.
//!
//! A single value is stored in the leaf as in any tree, several as a small set beside their key.
//! Values that are too long for that go to a nested tree: a tree of its own, whose keys are the
//! values, and whose root is stored in the leaf. Nesting is one level deep.
//!
//! Invariants: between operations, the leaf around a changeable page of a nested tree is
//! changeable; within an operation the nested page comes first. `records` in the root and the
//! counts in inner pages are of pairs of key and value; the page counts in the root include all
//! nested trees. A set becomes a nested tree if its record does not fit in half a page or if it is
//! longer than 2 KiB. A nested tree becomes a set if four times its values would fit. So inserting
//! and removing short values does not switch back and forth.

pub(crate) mod batch;
pub(crate) mod bulk;
pub(crate) mod count;
pub(crate) mod cursor;
pub(crate) mod differences;
mod insert;
pub(crate) mod lookup;
pub(crate) mod position;
mod range;
pub(crate) mod range_parts;
mod remove;
pub(crate) mod replace;
pub(crate) mod seek;

use super::{
    PageSink, TreeRoot,
    bulk::{RecordLoader, TreeBuilder},
    mutable_tree::Tree,
    position::PathStep,
};
use crate::{
    Error, Result,
    page::{
        PageDamage,
        entries::RecordList,
        key::KeyOrder,
        leaf::{self, Leaf, LocalChange},
        max_key_len,
        set::{self, Set},
        value::{StoredValue, ValueKind},
    },
};
use std::{cmp::Ordering, ops::Range};

/// A nested tree becomes a set again if a set this many times as long would fit.
const HYSTERESIS: usize = 4;

/// No set becomes longer, however large pages are: it is rewritten with each of its values.
const SET_LEN_MAX: usize = 2048;

/// The damage of a set whose values are out of order.
pub(super) const DISORDER: &str = "the values of a key are not in ascending order";

/// The damage of a page of a nested tree whose values have another size.
const WRONG_LEN: PageDamage = PageDamage("its keys do not have the length that the root says");

/// A key and one of its values.
pub(crate) type PairRef<'p> = (&'p [u8], &'p [u8]);

/// The values of a key, as its leaf holds them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyValues<'p> {
    One(&'p [u8]),
    Set(Set<'p>),
    Tree(TreeRoot),
}

impl<'p> KeyValues<'p> {
    /// Decodes a stored value of a leaf of a tree with this root.
    pub(crate) fn of(root: &TreeRoot, stored: StoredValue<'p>) -> Result<Self, PageDamage> {
        match stored.kind {
            ValueKind::Inline => match usize::from(root.kind.value_size) {
                size if size != 0 && size != stored.bytes.len() => Err(PageDamage(
                    "a value does not have the size that the root says",
                )),
                _ => Ok(Self::One(stored.bytes)),
            },
            ValueKind::Set => Set::parse(stored.bytes, root.kind.value_size).map(Self::Set),
            ValueKind::Tree => root.decode_nested(stored.bytes).map(Self::Tree),
            ValueKind::Extent => Err(PageDamage(
                "a value of a multi-value table is a large value",
            )),
        }
    }

    /// The number of values.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::Set(set) => set.len() as u64,
            Self::Tree(nested) => nested.records,
        }
    }
}

/// Values in the form that a leaf holds.
#[derive(Debug)]
struct LeafValues {
    kind: ValueKind,
    bytes: Vec<u8>,
}

impl LeafValues {
    fn value(&self) -> StoredValue<'_> {
        StoredValue {
            kind: self.kind,
            bytes: &self.bytes,
        }
    }

    fn nested(root: &TreeRoot) -> Self {
        Self {
            kind: ValueKind::Tree,
            bytes: root.encode().to_vec(),
        }
    }
}

impl TreeRoot {
    /// How many records some entries of a leaf represent.
    #[inline]
    pub(super) fn weight(&self, leaf: &Leaf<'_>, slots: Range<usize>) -> Result<u64, PageDamage> {
        match self.is_multi() {
            false => Ok(slots.len() as u64),
            true => sum(slots.map(|index| set::pair_count(leaf.node(index)?.value))),
        }
    }

    /// Like [`Self::weight`], for entries that were taken out of their leaves.
    #[inline]
    pub(super) fn weight_of(
        &self,
        records: &RecordList,
        range: Range<usize>,
    ) -> Result<u64, PageDamage> {
        match self.is_multi() {
            false => Ok(range.len() as u64),
            true => sum(range.map(|index| set::pair_count(records.value(index)))),
        }
    }

    /// Compares a pair, usually a stored one, with another: by their keys, then by their values.
    pub(crate) fn compare_pairs(&self, a: PairRef<'_>, b: PairRef<'_>) -> Ordering {
        let by_value = || self.value_order().stored_to(a.1, b.1);
        self.order.stored_to(a.0, b.0).then_with(by_value)
    }

    /// Refuses a value that a key of this tree cannot have.
    pub(crate) fn refuse_value(&self, page_size: usize, value: &[u8]) -> Result<()> {
        let (len, max) = (value.len(), max_key_len(page_size));
        if len > max {
            return Err(Error::ValueTooLong { len, max });
        }
        let is_integer = self.value_order() == KeyOrder::Integer;
        let text = match usize::from(self.kind.value_size) {
            0 if is_integer && !matches!(len, 4 | 8) => {
                format!(
                    "the values of this table are integers of 4 or 8 bytes, and this one has {len}"
                )
            }
            0 if self.kind.first_decides && len == 0 => {
                "the first value of this table decides about the size of all, and cannot be empty"
                    .into()
            }
            size if size != 0 && size != len => {
                format!("values of this table have {size} bytes; this one has {len}")
            }
            _ => return Ok(()),
        };
        Err(Error::InvalidArgument(text))
    }
}

fn sum(mut counts: impl Iterator<Item = Result<u64, PageDamage>>) -> Result<u64, PageDamage> {
    counts.try_fold(0u64, |sum, count| Ok(sum.saturating_add(count?)))
}

impl<S: PageSink> Tree<'_, S> {
    /// The first value of a table fixes the size of all, if its options say so.
    fn fix_value_size(&mut self, value: &[u8]) {
        if self.root.kind.first_decides && self.root.is_empty() {
            self.root.kind.value_size = value.len() as u16;
        }
    }

    /// Whether values that take `len` bytes, as a set or alone, stay in the leaf.
    fn value_fits_in_leaf(&self, key_len: usize, len: usize) -> bool {
        (self.root).fits_in_leaf(self.sink.page_size(), key_len, len)
    }

    /// Whether several values that take `len` bytes stay in the leaf.
    fn set_fits_in_leaf(&self, key_len: usize, len: usize) -> bool {
        len <= SET_LEN_MAX && self.value_fits_in_leaf(key_len, len)
    }

    /// Whether `count` values, with `bytes` bytes in total, stay in the leaf.
    fn values_fit_in_leaf(&self, key_len: usize, count: usize, bytes: usize) -> bool {
        match count {
            1 => self.value_fits_in_leaf(key_len, bytes),
            _ => self.set_fits_in_leaf(key_len, self.leaf_value_len(count, bytes)),
        }
    }

    /// Whether they are few enough to leave a nested tree.
    fn fit_back_in_leaf(&self, key_len: usize, count: usize, bytes: usize) -> bool {
        match count {
            1 => self.value_fits_in_leaf(key_len, HYSTERESIS * bytes),
            _ => self.set_fits_in_leaf(key_len, HYSTERESIS * self.leaf_value_len(count, bytes)),
        }
    }

    /// The length of `count` values, with `bytes` bytes in total, when stored in a leaf.
    fn leaf_value_len(&self, count: usize, bytes: usize) -> usize {
        match count {
            1 => bytes,
            _ => set::set_len(self.root.kind.value_size, count, bytes),
        }
    }

    /// Encodes values, which ascend and are at least one, in the form that a leaf holds. If they
    /// are too long for it, they go to a nested tree.
    fn encode_values<'v>(
        &mut self,
        key_len: usize,
        values: impl ExactSizeIterator<Item = &'v [u8]> + Clone,
    ) -> Result<LeafValues> {
        let count = values.len();
        let len = values.clone().map(<[u8]>::len).sum();
        if !self.values_fit_in_leaf(key_len, count, len) {
            return Ok(LeafValues::nested(&self.build_nested(values)?));
        }
        let mut bytes = Vec::with_capacity(self.leaf_value_len(count, len));
        let kind = match count {
            1 => {
                values.for_each(|value| bytes.extend_from_slice(value));
                ValueKind::Inline
            }
            _ => {
                set::write_all(&mut bytes, self.root.kind.value_size, values);
                ValueKind::Set
            }
        };
        Ok(LeafValues { kind, bytes })
    }

    /// Builds a nested tree of values, which ascend.
    fn build_nested<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) -> Result<TreeRoot> {
        let empty = self.root.nested();
        let mut nested = empty;
        let mut tree = Tree::new(&mut *self.sink, &mut nested);
        let mut builder = TreeBuilder::new(&mut tree);
        for value in values {
            // Comparisons of the application are never called with two stored values: see
            // `Comparison`.
            let pushed = match empty.order {
                KeyOrder::Custom(_) => builder.push_in_order(value, &[]),
                _ => builder.push(value, &[]),
            };
            pushed.map_err(|error| match error {
                Error::NotSorted { .. } => PageDamage(DISORDER).at(self.root.page, "insert"),
                error => error,
            })?;
        }
        builder.finish()?;
        self.add_page_difference(&empty, &nested);
        Ok(nested)
    }

    /// Changes a nested tree. The leaf that holds its root is still to be changed.
    pub(super) fn change_nested<R>(
        &mut self,
        nested: &mut TreeRoot,
        change: impl FnOnce(&mut Tree<'_, S>) -> Result<R>,
    ) -> Result<R> {
        let before = *nested;
        let changed = change(&mut Tree::new(&mut *self.sink, nested));
        self.add_page_difference(&before, nested);
        changed
    }

    /// Counts the pages that a nested tree has gained or lost.
    pub(super) fn add_page_difference(&mut self, before: &TreeRoot, after: &TreeRoot) {
        let other = |pages: u32, before: u32, after: u32| {
            pages.saturating_add(after).saturating_sub(before)
        };
        let root = &mut *self.root;
        root.inner_pages = other(root.inner_pages, before.inner_pages, after.inner_pages);
        root.leaf_pages = other(root.leaf_pages, before.leaf_pages, after.leaf_pages);
    }

    /// Releases a nested tree with all its pages.
    pub(super) fn release_nested(&mut self, mut nested: TreeRoot) -> Result<()> {
        self.change_nested(&mut nested, |tree| tree.clear())
            .map(drop)
    }

    /// Writes the root of a nested tree, which has grown by a number of values, to its leaf. The
    /// path leads to the leaf, which must be changeable.
    pub(super) fn write_nested_root(
        &mut self,
        path: &[PathStep],
        nested: &TreeRoot,
        difference: i64,
    ) -> Result<()> {
        let step = *path.last().expect("a path has a leaf");
        let value = StoredValue {
            kind: ValueKind::Tree,
            bytes: &nested.encode(),
        };
        let page = self.sink.page_mut(step.page)?;
        let put = leaf::set_value(page, step.index, value);
        match put.map_err(|damage| damage.at(step.page, "insert"))? {
            LocalChange::Done => self.add_to_counts(path, difference),
            LocalChange::Rebuild => {
                let detail = "the root of a nested tree is not where it was read";
                Err(Error::corrupted(step.page, "insert", detail))
            }
        }
    }

    /// Replaces the values at the end of the path; their number grows by `difference`. The path
    /// may be invalid afterwards, unless the new values take no more bytes than the old ones.
    fn replace_values(
        &mut self,
        path: &[PathStep],
        key: &[u8],
        value: StoredValue<'_>,
        difference: i64,
    ) -> Result<LocalChange> {
        self.mark_changed();
        let put = self.put_value(path, key, value)?;
        if put == LocalChange::Done {
            self.add_to_counts(path, difference)?;
        }
        Ok(put)
    }

    /// Adds a key with its values, in the form that a leaf holds, at the position of the path.
    fn add_values(
        &mut self,
        path: Vec<PathStep>,
        key: &[u8],
        value: StoredValue<'_>,
        count: u64,
    ) -> Result<()> {
        let path = self.own_path(path)?;
        self.root.records += count;
        self.mark_changed();
        match self.insert_at(&path, key, value)? {
            LocalChange::Done => self.add_to_counts(&path, count as i64),
            LocalChange::Rebuild => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
