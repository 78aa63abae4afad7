//! What a savepoint keeps of pages from before it.

use crate::PageNumber;
use std::collections::HashMap;

/// What a savepoint keeps of pages from before it.
#[derive(Default, Debug)]
pub(crate) struct KeptPages {
    /// Those that are not used any more.
    pub(crate) unused: Vec<PageNumber>,
    /// The bytes of those that were changed.
    pub(crate) aside: HashMap<PageNumber, Box<[u8]>>,
}

/// What all savepoints of a transaction keep, the innermost last.
///
/// Invariant: no death before the floor changes while its savepoint is there.
#[derive(Default, Debug)]
pub(crate) struct SavepointPages {
    pub(crate) kept: Vec<KeptPages>,
    /// How many deaths a savepoint has to be able to go back to.
    pub(crate) death_floor: usize,
}
