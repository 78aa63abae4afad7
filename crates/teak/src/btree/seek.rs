//! Seeks of a cursor by a key: to the nearest record on either side of it.

use super::{PageSource, TreeRoot, position::Position};
use crate::{Result, page::key::KeyOrder};
use std::{borrow::Cow, cmp::Ordering, ops::Bound};

impl Position {
    /// Moves to the first record whose key is greater than `key`; after the last one if there is
    /// none.
    pub(crate) fn seek_greater<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<bool> {
        match self.seek(source, root, key)? {
            Some(true) => self.next(source, root),
            found => Ok(found.is_some()),
        }
    }

    /// Moves to the last record whose key is smaller than `key`; before the first one if there is
    /// none.
    pub(crate) fn seek_less<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<bool> {
        self.seek(source, root, key)?;
        self.prev(source, root)
    }

    /// Moves to the last record whose key is not greater than `key`; before the first one if there
    /// is none.
    pub(crate) fn seek_less_or_equal<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<bool> {
        match self.seek(source, root, key)? {
            Some(true) => Ok(true),
            _ => self.prev(source, root),
        }
    }

    /// Whether this is the first record of the tree.
    pub(crate) fn is_first(&self) -> bool {
        self.record().is_some() && self.path().iter().all(|step| step.index == 0)
    }

    /// Whether this is the last record of the tree.
    pub(crate) fn is_last(&self) -> bool {
        self.record().is_some() && self.path().iter().all(|step| step.index + 1 == step.count)
    }
}

/// A key given by the caller, fitted to the keys of a tree. An integer of another length cannot be
/// searched directly, but has a position in the order: directly beside the nearest integer of the
/// right length.
#[derive(Debug)]
pub(crate) struct SearchKey<'k> {
    key: Cow<'k, [u8]>,
    /// On which side of `key` it is: less, equal or greater.
    side: Ordering,
}

impl<'k> SearchKey<'k> {
    pub(crate) fn new(root: &TreeRoot, key: &'k [u8]) -> Self {
        let len = if root.is_empty() { 0 } else { root.key_len };
        Self::among(root.order, len, key)
    }

    /// Fits a key to keys in this order and of this length, which is 0 if it varies or is not known
    /// yet.
    pub(crate) fn among(order: KeyOrder, len: u16, key: &'k [u8]) -> Self {
        let len = usize::from(len);
        if order != KeyOrder::Integer || len == 0 || key.len() == len {
            return Self {
                key: key.into(),
                side: Ordering::Equal,
            };
        }
        let mut nearest = vec![0; len];
        for (to, from) in nearest.iter_mut().zip(key) {
            *to = *from;
        }
        let mut side = order.compare(key, &nearest);
        if key
            .iter()
            .take(size_of::<u64>())
            .skip(len)
            .any(|byte| *byte != 0)
        {
            nearest.fill(u8::MAX);
            side = Ordering::Greater;
        }
        Self {
            key: nearest.into(),
            side,
        }
    }

    /// The key, if the tree can have it.
    pub(crate) fn possible(&self) -> Option<&[u8]> {
        self.side.is_eq().then_some(&*self.key)
    }

    /// The nearest key that the tree can have.
    pub(crate) fn nearest(&self) -> &[u8] {
        &self.key
    }

    /// On which side of the nearest key it is.
    pub(crate) fn side(&self) -> Ordering {
        self.side
    }

    /// Whether the key itself is in the tree; the position is on it then.
    pub(crate) fn find<S: PageSource + ?Sized>(
        &self,
        position: &mut Position,
        source: &S,
        root: &TreeRoot,
    ) -> Result<bool> {
        match self.possible() {
            Some(key) => Ok(position.seek(source, root, key)? == Some(true)),
            None => Ok(false),
        }
    }

    /// Moves to the first record after it.
    pub(crate) fn seek_after<S: PageSource + ?Sized>(
        &self,
        position: &mut Position,
        source: &S,
        root: &TreeRoot,
    ) -> Result<bool> {
        match self.side {
            Ordering::Less => Ok(position.seek(source, root, &self.key)?.is_some()),
            _ => position.seek_greater(source, root, &self.key),
        }
    }

    /// Moves to the last record before it.
    pub(crate) fn seek_before<S: PageSource + ?Sized>(
        &self,
        position: &mut Position,
        source: &S,
        root: &TreeRoot,
    ) -> Result<bool> {
        match self.side {
            Ordering::Greater => position.seek_less_or_equal(source, root, &self.key),
            _ => position.seek_less(source, root, &self.key),
        }
    }

    /// The upper bound of a range that ends before it or, if `is_with_it` is set, with it.
    pub(crate) fn as_upper_bound(&self, is_with_it: bool) -> Bound<&[u8]> {
        match (self.side, is_with_it) {
            (Ordering::Greater, _) | (Ordering::Equal, true) => Bound::Included(&self.key),
            _ => Bound::Excluded(&self.key),
        }
    }

    /// The lower bound of a range that begins after it or, if `is_with_it` is set, with it.
    pub(crate) fn as_lower_bound(&self, is_with_it: bool) -> Bound<&[u8]> {
        match (self.side, is_with_it) {
            (Ordering::Less, _) | (Ordering::Equal, true) => Bound::Included(&self.key),
            _ => Bound::Excluded(&self.key),
        }
    }
}
