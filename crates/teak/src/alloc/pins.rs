//! The states whose pages must be kept.

use crate::types::TransactionId;
use std::sync::Arc;

/// The states whose pages must be kept: permanent ones, possibly many, which rarely change, and
/// others. A commit that changes only some of the others does not examine the permanent ones.
#[derive(Clone, Default, Debug)]
pub(crate) struct Pins {
    /// The permanent ones, ascending; as long as they do not change, this is the same slice.
    pub(super) permanent: Arc<[TransactionId]>,
    /// Ascending.
    others: Vec<TransactionId>,
}

impl Pins {
    /// Creates pins from permanent ones, ascending, and others.
    pub(crate) fn new(permanent: Arc<[TransactionId]>, mut others: Vec<TransactionId>) -> Self {
        debug_assert!(permanent.is_sorted(), "permanent pins ascend");
        others.sort_unstable();
        others.dedup();
        Self { permanent, others }
    }

    /// Whether this state is pinned.
    pub(crate) fn contains(&self, state: TransactionId) -> bool {
        self.is_permanent(state) || self.is_other(state)
    }

    /// The newest pin.
    pub(super) fn newest(&self) -> Option<TransactionId> {
        self.highest_below(TransactionId(u64::MAX))
    }

    /// The highest pin below the transaction in which a page died.
    pub(super) fn highest_below(&self, died: TransactionId) -> Option<TransactionId> {
        highest_below(&self.permanent, died).max(highest_below(&self.others, died))
    }

    pub(super) fn is_permanent(&self, pin: TransactionId) -> bool {
        self.permanent.binary_search(&pin).is_ok()
    }

    pub(super) fn is_other(&self, pin: TransactionId) -> bool {
        self.others.binary_search(&pin).is_ok()
    }
}

impl From<&[TransactionId]> for Pins {
    fn from(pins: &[TransactionId]) -> Self {
        Self::new(Arc::default(), pins.to_vec())
    }
}

fn highest_below(pins: &[TransactionId], died: TransactionId) -> Option<TransactionId> {
    let below = pins.partition_point(|pin| *pin < died);
    below.checked_sub(1).map(|index| pins[index])
}
