//! The file, as a write transaction reads it and builds pages in it.

use crate::io::{Mapping, Storage, WritableMapping};
use std::sync::Arc;

/// The storage and its mappings.
///
/// Invariant: `mapping` covers each page of the state that the transaction builds on. Bytes
/// borrowed from a mapping stay valid until the transaction ends, so outgrown mappings are kept.
#[derive(Debug)]
pub(crate) struct TransactionFile {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) mapping: Arc<Mapping>,
    pub(crate) page_size: usize,
    pub(crate) page_shift: u32,
    /// The mappings in which lazy commits build pages, with their fault counts when mapped. The
    /// last one is in use.
    pub(crate) writable: Vec<(Arc<WritableMapping>, u64)>,
    /// Mappings that the file has outgrown. Their faults may still be queried.
    pub(crate) outgrown: Vec<Arc<Mapping>>,
}

impl TransactionFile {
    pub(crate) fn new(storage: Arc<dyn Storage>, mapping: Arc<Mapping>, page_size: usize) -> Self {
        assert!(
            page_size.is_power_of_two(),
            "pages are numbers shifted to offsets; a record with another page size is refused"
        );
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
