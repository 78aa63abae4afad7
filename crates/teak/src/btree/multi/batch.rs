//! Batch changes of pairs: in their order, whatever order they come in, and the values of a key
//! together.

use super::{PairRef, bulk::PairBuilder};
use crate::{
    Error, Result,
    btree::{
        PageSink, TreeRoot,
        batch::{AHEAD, PrefetchGroups},
        bulk::RecordLoader,
        mutable_tree::Tree,
    },
};

/// How many values of a key are added together when consecutive pairs share it.
const TOGETHER: usize = 4096;

impl<S: PageSink> Tree<'_, S> {
    /// Inserts pairs; returns how many of them are new. The tree must be able to hold the keys and
    /// values.
    pub(crate) fn insert_pairs<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        pairs: &[(K, V)],
    ) -> Result<u64> {
        let sorted = sorted(self.root, pairs);
        if self.root.is_empty() {
            let mut builder = PairBuilder::new(self);
            for (key, value) in sorted {
                builder.push(key, value)?;
            }
            return builder.finish();
        }
        let order = self.root.order;
        let mut values = Vec::new();
        let (mut added, mut start) = (0, 0);
        let mut groups = PrefetchGroups::new();
        for group in sorted.chunk_by(|a, b| order.compare(a.0, b.0).is_eq()) {
            groups.note(self, start, sorted[start..].iter().map(|pair| pair.0))?;
            if let Some(ahead) = sorted.get(start + group.len() + AHEAD) {
                self.fetch_leaf(&[], ahead.0)?;
            }
            start += group.len();
            values.clear();
            values.extend(group.iter().map(|pair| pair.1));
            added += self.insert_values(group[0].0, &values)?;
        }
        Ok(added)
    }

    /// Removes pairs; returns how many of them were present.
    pub(crate) fn remove_pairs<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        pairs: &[(K, V)],
    ) -> Result<u64> {
        let sorted = sorted(self.root, pairs);
        let (mut removed, mut groups) = (0, PrefetchGroups::new());
        for (index, (key, value)) in sorted.iter().enumerate() {
            groups.note(self, index, sorted[index..].iter().map(|pair| pair.0))?;
            if let Some(ahead) = sorted.get(index + AHEAD) {
                self.fetch_leaf(&[], ahead.0)?;
            }
            removed += u64::from(self.remove_pair(key, value)?);
        }
        Ok(removed)
    }

    /// Inserts a pair if it is after all others; returns whether it is.
    pub(crate) fn append_pair(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let (last_key, last_value) = self.last_pair()?;
        let last = (&last_key[..], &last_value[..]);
        let is_after = self.root.is_empty() || self.root.compare_pairs(last, (key, value)).is_lt();
        if is_after {
            self.insert_pair(key, value)?;
        }
        Ok(is_after)
    }

    /// The last pair; empty in an empty tree.
    pub(crate) fn last_pair(&self) -> Result<(Vec<u8>, Vec<u8>)> {
        let mut cursor = super::cursor::PairCursor::new(&*self.sink, *self.root);
        cursor.last()?;
        Ok((cursor.key().to_vec(), cursor.value().to_vec()))
    }

    /// The last value of a key.
    pub(crate) fn last_value(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut cursor = super::cursor::PairCursor::new(&*self.sink, *self.root);
        let is_there = cursor.seek_key(key)? == Some(true) && cursor.last_value()?;
        Ok(is_there.then(|| cursor.value().to_vec()))
    }
}

/// Sorts pairs in the order of a tree, without duplicates.
fn sorted<'p, K: AsRef<[u8]>, V: AsRef<[u8]>>(
    root: &TreeRoot,
    pairs: &'p [(K, V)],
) -> Vec<PairRef<'p>> {
    let mut sorted: Vec<_> = pairs
        .iter()
        .map(|(key, value)| (key.as_ref(), value.as_ref()))
        .collect();
    if sorted.is_sorted_by(|a, b| root.compare_pairs(*a, *b).is_lt()) {
        return sorted;
    }
    // The values of a key usually come together, and then its key is compared only once. The sort
    // is stable, so that of equal ones the first stays.
    let mut groups: Vec<_> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
    (root.order).sort(&mut groups, |a, b| root.order.compare(a[0].0, b[0].0));
    sorted = groups.concat();
    for group in sorted.chunk_by_mut(|a, b| root.order.compare(a.0, b.0).is_eq()) {
        let order = root.value_order();
        order.sort(group, |a, b| order.compare(a.1, b.1));
    }
    sorted.dedup_by(|later, earlier| root.compare_pairs(*earlier, *later).is_eq());
    sorted
}

/// Adds pairs after the last one of a tree.
#[derive(Debug)]
pub(crate) struct PairAppender<'t, 's, S> {
    tree: &'t mut Tree<'s, S>,
    last: (Vec<u8>, Vec<u8>),
    /// Values of the last key that are still to be added, concatenated, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    count: u64,
}

impl<'t, 's, S: PageSink> PairAppender<'t, 's, S> {
    /// The tree must not be empty.
    pub(crate) fn new(tree: &'t mut Tree<'s, S>) -> Result<Self> {
        let last = tree.last_pair()?;
        Ok(Self {
            tree,
            last,
            bytes: Vec::new(),
            ends: Vec::new(),
            count: 0,
        })
    }

    fn write(&mut self) -> Result<()> {
        let mut start = 0;
        let values: Vec<_> = self
            .ends
            .iter()
            .map(|&end| &self.bytes[std::mem::replace(&mut start, end)..end])
            .collect();
        self.tree.insert_values(&self.last.0, &values)?;
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

impl<S: PageSink> RecordLoader for PairAppender<'_, '_, S> {
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let last = (&self.last.0[..], &self.last.1[..]);
        let root = &*self.tree.root;
        if root.compare_pairs(last, (key, value)).is_ge() {
            return Err(Error::NotSorted { index: self.count });
        }
        let is_other = root.order.stored_to(&self.last.0, key).is_ne();
        if is_other || self.ends.len() >= TOGETHER {
            self.write()?;
        }
        if is_other {
            self.last.0.clear();
            self.last.0.extend_from_slice(key);
        }
        self.last.1.clear();
        self.last.1.extend_from_slice(value);
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<u64> {
        self.write()?;
        Ok(self.count)
    }
}
