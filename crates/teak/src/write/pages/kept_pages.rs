//! Pages from before a savepoint that the savepoint keeps.

use crate::PageNumber;
use std::collections::HashMap;

/// Pages from before a savepoint that the savepoint keeps.
#[derive(Default, Debug)]
pub(crate) struct KeptPages {
    /// Pages that are no longer used.
    pub(crate) unused: Vec<PageNumber>,
    /// The original bytes of pages that were changed.
    pub(crate) aside: HashMap<PageNumber, Box<[u8]>>,
}

/// The pages that all savepoints of a transaction keep, the innermost last.
///
/// Invariant: no death before the floor changes while its savepoint exists.
#[derive(Default, Debug)]
pub(crate) struct SavepointPages {
    pub(crate) kept: Vec<KeptPages>,
    /// Number of deaths at the innermost savepoint, to which it may have to return.
    pub(crate) death_floor: usize,
}
