//! Seeks of a cursor over pairs by a pair that the tree may be unable to hold.

use super::{PairRef, cursor::PairCursor};
use crate::{
    Result,
    btree::{
        PageSource, TreeRoot,
        seek::SearchKey,
        seek_target::{SeekOp, SeekTarget},
    },
};

/// A pair given by the caller, fitted to the pairs of a tree. Its key, or its value, may be an
/// integer of another length than those of the tree.
#[derive(Debug)]
pub(crate) struct PairSearchKey<'p> {
    pub(crate) key: SearchKey<'p>,
    pub(crate) value: SearchKey<'p>,
}

impl<'p> PairSearchKey<'p> {
    pub(crate) fn new(root: &TreeRoot, (key, value): PairRef<'p>) -> Self {
        Self {
            key: SearchKey::new(root, key),
            value: SearchKey::among(root.value_order(), root.kind.value_size, value),
        }
    }
}

impl<S: PageSource + ?Sized> PairCursor<'_, S> {
    /// Moves where a seek for the pair leads. A seek for an equal pair does not read the values of
    /// the next key; if there is no such pair, the cursor is on none.
    pub(crate) fn seek_search_pair(
        &mut self,
        op: SeekOp,
        pair: &PairSearchKey<'_>,
    ) -> Result<bool> {
        let Some(key) = pair.key.possible() else {
            return self.seek_search_key(op, pair);
        };
        match pair.value.op_from_nearest(op) {
            Some(SeekOp::Equal) => {
                let target = SeekTarget::Value(key, pair.value.nearest());
                self.seek(SeekOp::Equal, target)
            }
            Some(op) => self.seek(op, SeekTarget::Pair(key, pair.value.nearest())),
            None => Ok(false),
        }
    }

    /// Moves where a seek for the key of the pair leads.
    pub(crate) fn seek_search_key(&mut self, op: SeekOp, pair: &PairSearchKey<'_>) -> Result<bool> {
        match pair.key.op_from_nearest(op) {
            Some(op) => self.seek(op, SeekTarget::Key(pair.key.nearest())),
            None => Ok(false),
        }
    }

    /// Moves where a seek for the pair among the values of its key leads. If there is none, the
    /// position is unspecified.
    pub(crate) fn seek_search_value(
        &mut self,
        op: SeekOp,
        pair: &PairSearchKey<'_>,
    ) -> Result<bool> {
        match (pair.key.possible(), pair.value.op_from_nearest(op)) {
            (Some(key), Some(op)) => self.seek(op, SeekTarget::Value(key, pair.value.nearest())),
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
#[path = "seek_tests.rs"]
mod tests;
