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
