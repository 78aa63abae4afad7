//! The crate's internal interface to transactions.

// The trait uses types of lower layers, which users cannot name.
#![allow(private_interfaces)]

use crate::{
    Result, TransactionId,
    btree::{PageSource, RootRef},
    instance::engine::Engine,
    read::frame_eviction::Borrower,
    types::TypeNames,
};
use std::sync::Arc;

/// The crate's internal interface to transactions.
pub trait Sealed {
    #[doc(hidden)]
    fn engine(&self) -> &Arc<Engine>;
    #[doc(hidden)]
    fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>>;
    /// The moment at which the transaction looks for expired records, in milliseconds since 1970.
    #[doc(hidden)]
    fn now_ms(&self) -> Result<u64>;
    /// The recorded names of a table's types.
    #[doc(hidden)]
    fn types_of(&self, name: &[u8]) -> Result<TypeNames<'_>>;
    #[doc(hidden)]
    fn source(&self) -> &(impl PageSource + Sync);
    /// Identifies the version of a table if it was never committed; two equal results mean the same
    /// version.
    #[doc(hidden)]
    fn version_of(&self, handle: usize) -> Option<(u64, u64)>;
    /// The database and its state, if the state was committed and may be read now; two equal
    /// results mean the same state.
    #[doc(hidden)]
    fn committed(&self) -> Option<(u64, TransactionId)>;
    /// The borrower of the pages of [`Sealed::source`], if their memory may be given back; `None`
    /// in a plain database. Two equal results in a database mean that a page which was borrowed by
    /// the first can be borrowed again without being checked.
    #[doc(hidden)]
    fn borrower(&self) -> Option<Borrower>;
    /// Like [`Sealed::root_of`], if it is not [buffered](Sealed::is_buffered).
    #[doc(hidden)]
    #[inline(always)]
    fn root_in_trees(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>> {
        self.root_of(handle, name)
    }
    /// Like [`Sealed::source`], if it is not [buffered](Sealed::is_buffered).
    #[doc(hidden)]
    #[inline(always)]
    fn source_of_trees(&self) -> &(impl PageSource + Sync) {
        self.source()
    }
    /// Whether it may see changes that are in none of its trees. [`Sealed::root_of`] brings those
    /// of a table there.
    #[doc(hidden)]
    #[inline(always)]
    fn is_buffered(&self) -> bool {
        false
    }
    /// Whether it sees such changes of a table.
    #[doc(hidden)]
    fn has_buffered(&self, _handle: usize) -> bool {
        false
    }
    /// The value of a record; the outer `None` if it has to be read in the trees.
    #[doc(hidden)]
    fn get_buffered(
        &self,
        _handle: usize,
        _name: &[u8],
        _key: &[u8],
    ) -> Result<Option<Option<&[u8]>>> {
        Ok(None)
    }
}
