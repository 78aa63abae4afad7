//! The file, as a write transaction reads it and builds pages in it.

use crate::{
    alloc::FIRST_PAGE,
    instance::held_writer_lock::HeldWriterLock,
    io::{Mapping, Pinned, Storage, WritableMapping},
    record::Record,
};
use std::sync::Arc;

/// The storage and its mappings.
///
/// Invariant: `mapping` covers each page of the state that the transaction builds on. Bytes
/// borrowed from a mapping stay valid until the transaction ends, so outgrown mappings are kept.
#[derive(Debug)]
pub(crate) struct TransactionFile {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) mapping: Arc<Mapping>,
    /// The usable bytes of a page.
    pub(crate) usable_len: usize,
    pub(crate) page_shift: u32,
    /// The first page that is in the mapping for certain. No page, if they are decoded first.
    pub(crate) first_direct: u32,
    /// The mappings in which lazy commits build pages, with their fault counts when mapped. The
    /// last one is in use.
    pub(crate) writable: Vec<(Arc<WritableMapping>, u64)>,
    /// Mappings that the file has outgrown. Their faults may still be queried.
    pub(crate) outgrown: Vec<Arc<Mapping>>,
}

impl TransactionFile {
    pub(crate) fn new(storage: Arc<dyn Storage>, mapping: Arc<Mapping>, record: &Record) -> Self {
        assert!(
            record.page_size.is_power_of_two(),
            "pages are numbers shifted to offsets; a record with another page size is refused"
        );
        Self {
            first_direct: match mapping.is_coded() {
                true => u32::MAX,
                false => FIRST_PAGE,
            },
            storage,
            mapping,
            usable_len: record.usable_page_len(),
            page_shift: record.page_size.trailing_zeros(),
            writable: Vec::new(),
            outgrown: Vec::new(),
        }
    }

    /// The mapping, with the right to borrow pages of the base state and of the transaction.
    #[inline]
    pub(super) fn pages<'f>(&'f self, writer: &HeldWriterLock) -> &'f Pinned<Mapping> {
        debug_assert!(writer.is_held(), "the witness is the lock");
        // SAFETY: reason 2 of `io/pinned.rs`. The transaction has file and lock, and gives the lock
        // away only when it ends. A page that leaves a method of `WritePages` borrows all of it,
        // and so keeps it from building pages. Inside of a method, the page that is read is not the
        // one that is built.
        unsafe { Pinned::assume(&*self.mapping) }
    }
}
