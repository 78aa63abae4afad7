//! Seeks of a cursor by a key: to the nearest record on either side of it.

use super::{
    PageSource, TreeRoot,
    position::Position,
    seek_target::{LastStep, SeekOp},
};
use crate::{Result, page::key::KeyOrder};
use std::{borrow::Cow, cmp::Ordering, ops::Bound};

impl Position {
    /// Moves where a seek leads; returns whether it found its record. If there is no equal record,
    /// the position is on the next greater one. If there is no other, it is after the last record
    /// or, for a seek to a smaller one, before the first.
    pub(crate) fn seek_op<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        op: SeekOp,
        key: &[u8],
    ) -> Result<bool> {
        match op.last_step(self.seek(source, root, key)?) {
            LastStep::Stay(is_found) => Ok(is_found),
            LastStep::Next => self.next(source, root),
            LastStep::Prev => self.prev(source, root),
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

    /// The seek that leads to the same record from the nearest key that the tree can have; `None`
    /// if none does, because the tree cannot have the key itself.
    pub(crate) fn op_from_nearest(&self, op: SeekOp) -> Option<SeekOp> {
        match (self.side, op) {
            (Ordering::Equal, op) => Some(op),
            (_, SeekOp::Equal) => None,
            (Ordering::Less, SeekOp::GreaterOrEqual | SeekOp::Greater) => {
                Some(SeekOp::GreaterOrEqual)
            }
            (Ordering::Less, SeekOp::LessOrEqual | SeekOp::Less) => Some(SeekOp::Less),
            (Ordering::Greater, SeekOp::GreaterOrEqual | SeekOp::Greater) => Some(SeekOp::Greater),
            (Ordering::Greater, SeekOp::LessOrEqual | SeekOp::Less) => Some(SeekOp::LessOrEqual),
        }
    }

    /// Moves where a seek for this key leads.
    pub(crate) fn seek<S: PageSource + ?Sized>(
        &self,
        position: &mut Position,
        source: &S,
        root: &TreeRoot,
        op: SeekOp,
    ) -> Result<bool> {
        match self.op_from_nearest(op) {
            Some(op) => position.seek_op(source, root, op, &self.key),
            None => Ok(false),
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
