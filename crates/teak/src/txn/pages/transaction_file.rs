//! The file, as a write transaction reads and builds pages in it.

use crate::store::{Mapping, Storage, WritableMapping};
use std::sync::Arc;

/// The storage, and its mappings.
///
/// Invariant: `mapping` covers each page of the state that the transaction builds on. Bytes that were lent from a
/// mapping stay there until the transaction ends, so those that the file has outgrown are kept.
#[derive(Debug)]
pub(in crate::txn) struct TransactionFile {
    pub(in crate::txn) storage: Arc<dyn Storage>,
    pub(in crate::txn) mapping: Arc<Mapping>,
    pub(in crate::txn) page_size: usize,
    pub(in crate::txn) page_shift: u32,
    /// The file, where lazy commits build pages in it, and how many faults there were before. The last one is in use.
    pub(in crate::txn) writable: Vec<(Arc<WritableMapping>, u64)>,
    /// Mappings that the file has outgrown, whose faults may be asked for.
    pub(in crate::txn) outgrown: Vec<Arc<Mapping>>,
}

impl TransactionFile {
    pub(in crate::txn) fn new(
        storage: Arc<dyn Storage>,
        mapping: Arc<Mapping>,
        page_size: usize,
    ) -> Self {
        Self {
            storage,
            mapping,
            page_size,
            page_shift: page_size.trailing_zeros(),
            writable: Vec::new(),
            outgrown: Vec::new(),
        }
    }
}
