//! Batch changes: many records are changed in key order, whatever order they come in.
//!
//! Neighbouring records then find their leaf and the pages above it in the cache. New pages lie in
//! the file in key order, and while one record is changed, the leaf of a following one is being
//! loaded into the cache. If enough records belong to one leaf to fill further ones, they are laid
//! out together with its own records, so that each page is written once and full.

use super::{
    PageSink,
    bulk::{RecordLoader, TreeAppender, TreeBuilder},
    insert::{Existing, Inserted, ValueExtentBytes},
    lookup::{announce_leaves, find_leaf},
    mutable_tree::Tree,
    neighbours::slots_in_parent,
    position::{PathStep, Position, descend::child_from_hint},
    visit_inner, visit_leaf,
};
use crate::{
    Result,
    page::{
        PageDamage,
        entries::{RecordList, cut_evenly, cut_greedily},
        header::HEADER_LEN,
        key::KeyOrder,
        value::{StoredValue, VALUE_EXTENT_LEN},
    },
};
use std::{ops::Range, time::Instant};

/// A leaf is prefetched this many records before it is changed.
pub(super) const AHEAD: usize = 4;
/// Cache lines of a leaf that are prefetched: those that a search reads and those where copying it
/// begins; no more than a processor fetches at once.
const LEAF_LINES: usize = 12;
/// Keys whose leaves are requested together if reads wait for the disk.
const GROUP: usize = 128;
/// Records of one leaf are laid out together if they and its own records fill more pages than this.
/// With fewer, the last page would be emptier than after single insertions.
const TOGETHER_MIN: usize = 3;
/// The maximum number of pages that are laid out together.
const TOGETHER_MAX: usize = 64;
/// If they are not laid out together, this many are inserted one by one before the next attempt,
/// and then twice as many each time, up to the second number.
const ONE_BY_ONE: (usize, usize) = (32, 1024);
/// The prefix is taken from this many records, which suffices to estimate how many pages they fill.
const PREFIX_OF: usize = 1 << 13;

impl<S: PageSink> Tree<'_, S> {
    /// Inserts records, or replaces their values; returns how many keys are new. If a key occurs
    /// several times, its last record counts. No key may be longer than the longest that a page
    /// holds.
    pub(crate) fn insert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        records: &[(K, V)],
    ) -> Result<u64> {
        if records.is_empty() {
            return Ok(0);
        }
        let order = in_order(self.root.order, records.len(), |index| {
            records[index].0.as_ref()
        });
        let bytes = |index: usize| {
            let (key, value) = &records[index];
            (key.as_ref(), value.as_ref())
        };
        let record = |index: usize| {
            let (key, value) = bytes(index);
            (key, StoredValue::inline(value))
        };
        if self.root.is_empty() {
            let mut builder = TreeBuilder::new(self);
            for (key, value) in order.into_iter().map(bytes) {
                builder.push(key, value)?;
            }
            return builder.finish();
        }
        let (last_key, key_order) = (self.last_key()?, self.root.order);
        let after =
            order.partition_point(|&index| key_order.compare(record(index).0, &last_key).is_le());
        let (among, after) = order.split_at(after);
        let mut added = after.len() as u64;
        let (mut order_index, mut next_try, mut step) = (0, 0, ONE_BY_ONE.0);
        let (mut groups, mut hint) = (PrefetchGroups::new(), Vec::new());
        while order_index < among.len() {
            let keys = among[order_index..].iter().map(|&index| record(index).0);
            groups.note(self, order_index, keys)?;
            if order_index >= next_try {
                let rest = among[order_index..].iter().copied().map(record);
                let (taken, new) = self.insert_together(rest)?;
                order_index += taken;
                added += new;
                if taken > 0 {
                    hint.clear();
                    step = ONE_BY_ONE.0;
                    continue;
                }
                next_try = order_index + step;
                step = (2 * step).min(ONE_BY_ONE.1);
            }
            if let Some(&ahead) = among.get(order_index + AHEAD) {
                self.fetch_leaf(&hint, record(ahead).0)?;
            }
            let (key, value) = record(among[order_index]);
            let inserted = self.insert_with_hint(&mut hint, key, value, Existing::Replace)?;
            added += u64::from(inserted == Inserted::New);
            order_index += 1;
        }
        if !after.is_empty() {
            let mut appender = TreeAppender::new(self)?;
            for (key, value) in after.iter().copied().map(bytes) {
                appender.push(key, value)?;
            }
            appender.finish()?;
        }
        Ok(added)
    }

    /// Inserts the first of these records, which are sorted and begin before the last key of the
    /// tree, as far as they belong to one leaf, if they fill several. Returns how many these are,
    /// and how many of their keys are new.
    fn insert_together<'r>(
        &mut self,
        records: impl Iterator<Item = (&'r [u8], StoredValue<'r>)> + Clone,
    ) -> Result<(usize, u64)> {
        let Some((first, _)) = records.clone().next() else {
            return Ok((0, 0));
        };
        let mut position = Position::default();
        position.descend(&*self.sink, self.root, first)?;
        let end = self.next_separator(position.path())?;
        let order = self.root.order;
        let of_leaf = records.take_while(|(key, _)| {
            let end = end.as_deref();
            end.is_none_or(|end| order.compare(key, end).is_lt())
        });
        let (format, page_size) = (self.root.leaf_format(), self.sink.page_size());
        let room = page_size - HEADER_LEN;
        let Some((last, _)) = of_leaf.clone().take(PREFIX_OF).last() else {
            return Ok((0, 0));
        };
        let prefix_len = format.prefix_len(first, last);
        let leaf_value_len = |key: &[u8], value: StoredValue<'_>| {
            let len = value.bytes.len();
            match format.stays_inline(page_size, key.len(), len) {
                true => len,
                false => VALUE_EXTENT_LEN,
            }
        };
        let (mut count, mut len) = (0, 0);
        for (key, value) in of_leaf.clone() {
            len += format.record_len(prefix_len, key.len(), leaf_value_len(key, value));
            count += 1;
            if len > TOGETHER_MAX * room {
                break;
            }
        }
        if len <= TOGETHER_MIN * room {
            return Ok((0, 0));
        }
        let added = self.merge(position.into_path(), of_leaf.take(count))?;
        Ok((count, added))
    }

    /// The separator after the leaf of a path; `None` if it is the last one.
    fn next_separator(&self, path: &[PathStep]) -> Result<Option<Vec<u8>>> {
        for depth in (0..path.len() - 1).rev() {
            let PathStep { page, index, count } = path[depth];
            if index + 1 < count {
                let inner = visit_inner(&*self.sink, page, self.level_of(depth), "insert")?;
                let separator = inner.separator(index + 1);
                return separator
                    .map(Some)
                    .map_err(|damage| damage.at(page, "insert"));
            }
        }
        Ok(None)
    }

    /// Lays out the leaf of a path together with records that belong there, in as many pages as
    /// they fill; returns how many of their keys are new.
    fn merge<'r>(
        &mut self,
        path: Vec<PathStep>,
        new: impl Iterator<Item = (&'r [u8], StoredValue<'r>)>,
    ) -> Result<u64> {
        let number = path.last().expect("a path has a leaf").page;
        let damaged = |damage: PageDamage| damage.at(number, "insert");
        let (mut merged, mut replaced) = (RecordList::default(), Vec::new());
        let (mut from, mut added, mut is_changed) = (0, 0, false);
        for (key, value) in new {
            let leaf = visit_leaf(&*self.sink, number, "insert")?;
            let slot = leaf.search(self.root.order, key).map_err(damaged)?;
            let (Ok(to) | Err(to)) = slot;
            merged.append(&leaf, from..to).map_err(damaged)?;
            from = to;
            let mut stored_key = None;
            if slot.is_ok() {
                stored_key = self.stored_key(&leaf, to).map_err(damaged)?;
                let old = leaf.node(to).map_err(damaged)?.value;
                if self.is_same(number, old, value)? {
                    continue;
                }
                replaced.extend(old.as_extent().map_err(damaged)?);
                from += 1;
            } else {
                added += 1;
            }
            is_changed = true;
            let key = stored_key.as_deref().unwrap_or(key);
            let mut extent = ValueExtentBytes::default();
            let kept = self.store_value(key.len(), value, &mut extent)?;
            merged.push(key, kept);
        }
        if !is_changed {
            return Ok(0);
        }
        let leaf = visit_leaf(&*self.sink, number, "insert")?;
        merged.append(&leaf, from..leaf.count()).map_err(damaged)?;
        let path = self.own_path(path)?;
        let (format, page_size) = (self.root.leaf_format(), self.sink.page_size());
        let weights = merged.weights(format);
        let pages = weights
            .iter()
            .sum::<usize>()
            .div_ceil(page_size - HEADER_LEN);
        let mut fits = |range: Range<usize>| merged.page_len(format, range) <= page_size;
        let cuts = cut_evenly(&weights, pages, &mut fits)
            .or_else(|| cut_evenly(&weights, pages + 1, &mut fits))
            .unwrap_or_else(|| cut_greedily(merged.len(), &mut fits));
        self.root.records += added;
        self.mark_changed();
        let leaf = path[path.len() - 1].page;
        self.lay_out(&path, slots_in_parent(&path), (vec![leaf], merged), cuts)?;
        replaced
            .iter()
            .try_for_each(|extent| self.release_extent(extent))?;
        Ok(added)
    }

    /// Removes records; returns how many there were.
    pub(crate) fn remove_many<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<u64> {
        let order = in_order(self.root.order, keys.len(), |index| keys[index].as_ref());
        let mut removed = 0;
        let key = |index: &usize| keys[*index].as_ref();
        self.change_each(&mut Vec::new(), &order, key, |tree, hint, index| {
            removed += u64::from(tree.remove_with_hint(hint, keys[*index].as_ref())?);
            Ok(())
        })?;
        Ok(removed)
    }

    /// Inserts the records of keys, or replaces their values; removes those without a value.
    /// It is quickest if `changes` are in the order of the tree. `hint` is the same as for
    /// [`Self::insert_with_hint`].
    pub(crate) fn put_or_remove<'c, C>(
        &mut self,
        hint: &mut Vec<PathStep>,
        changes: &'c [C],
        of: impl Fn(&'c C) -> (&'c [u8], Option<&'c [u8]>),
    ) -> Result<()> {
        let key = |change| of(change).0;
        self.change_each(hint, changes, key, |tree, hint, change| {
            let (key, value) = of(change);
            match value.map(StoredValue::inline) {
                Some(value) => {
                    tree.insert_with_hint(hint, key, value, Existing::Replace)?;
                }
                None => {
                    tree.remove_with_hint(hint, key)?;
                }
            }
            Ok(())
        })
    }

    /// Makes changes one after the other.
    fn change_each<'c, C>(
        &mut self,
        hint: &mut Vec<PathStep>,
        changes: &'c [C],
        key: impl Fn(&'c C) -> &'c [u8],
        mut change: impl FnMut(&mut Self, &mut Vec<PathStep>, &'c C) -> Result<()>,
    ) -> Result<()> {
        let mut groups = PrefetchGroups::new();
        for (index, next) in changes.iter().enumerate() {
            groups.note(self, index, changes[index..].iter().map(&key))?;
            if let Some(ahead) = changes.get(index + AHEAD) {
                self.fetch_leaf(hint, key(ahead))?;
            }
            change(self, hint, next)?;
        }
        Ok(())
    }

    /// Prefetches the leaf of a key, which may be close to one that a path leads to, as for
    /// [`Self::insert_with_hint`].
    pub(super) fn fetch_leaf(&self, hint: &[PathStep], key: &[u8]) -> Result<()> {
        if !self.root.is_empty() {
            let leaf = match child_from_hint(&*self.sink, self.root, hint, key)? {
                Some((_, leaf)) => leaf,
                None => find_leaf(&*self.sink, self.root, key)?,
            };
            self.sink.prefetch(leaf, 0, LEAF_LINES);
        }
        Ok(())
    }
}

/// Keys that are changed one after the other. If reads wait for the disk, the leaves of a group of
/// them are requested together.
pub(super) struct PrefetchGroups {
    first: usize,
    end: usize,
    begun: Instant,
}

impl PrefetchGroups {
    pub(super) fn new() -> Self {
        Self {
            first: 0,
            end: 0,
            begun: Instant::now(),
        }
    }

    /// Records that a number of keys were changed, and which keys follow.
    #[inline]
    pub(super) fn note<'k, S: PageSink>(
        &mut self,
        tree: &Tree<'_, S>,
        done: usize,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<()> {
        if done < self.end {
            return Ok(());
        }
        let io_wait = tree.sink.io_wait();
        if done > self.first {
            io_wait.note(self.begun, done - self.first);
        }
        if io_wait.is_waiting() {
            announce_leaves(&*tree.sink, tree.root, keys.take(GROUP))?;
        }
        (self.first, self.end) = (done, done + GROUP);
        self.begun = Instant::now();
        Ok(())
    }
}

/// The indices of keys in key order; of equal keys, the last one.
fn in_order<'k>(order: KeyOrder, count: usize, key: impl Fn(usize) -> &'k [u8]) -> Vec<usize> {
    // The bytes stored beside the index distinguish most keys.
    let compare = |a: &(u64, usize), b: &(u64, usize)| {
        let by_key = || order.compare(key(a.1), key(b.1));
        a.0.cmp(&b.0).then_with(by_key)
    };
    let heads = (0..count)
        .rev()
        .map(|index| (order.sort_head(key(index)), index));
    let mut heads: Vec<(u64, usize)> = heads.collect();
    order.sort(&mut heads, compare);
    heads.dedup_by(|later, earlier| compare(later, earlier).is_eq());
    heads.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
