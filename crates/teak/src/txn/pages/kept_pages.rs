//! What a savepoint keeps of pages from before it.

use crate::PageNumber;
use std::collections::HashMap;

/// What a savepoint keeps of pages from before it.
#[derive(Default, Debug)]
pub(in crate::txn) struct KeptPages {
    /// Those that are not used any more.
    pub(in crate::txn) unused: Vec<PageNumber>,
    /// The bytes of those that were changed.
    pub(in crate::txn) aside: HashMap<PageNumber, Box<[u8]>>,
}

/// What all savepoints of a transaction keep, the innermost last.
///
/// Invariant: no death before the floor changes while its savepoint is there.
#[derive(Default, Debug)]
pub(in crate::txn) struct SavepointPages {
    pub(in crate::txn) kept: Vec<KeptPages>,
    /// How many deaths a savepoint has to be able to go back to.
    pub(in crate::txn) death_floor: usize,
}
