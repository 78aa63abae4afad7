//! The crate's internal interface to transactions.

// The trait uses types of lower layers, which users cannot name.
#![allow(private_interfaces)]

use crate::{
    Result, TransactionId,
    btree::{PageSource, RootRef},
    instance::engine::Engine,
    types::TypeNames,
    write::small::SmallTransaction,
};
use std::sync::Arc;

/// The crate's internal interface to transactions.
pub trait Sealed {
    #[doc(hidden)]
    fn engine(&self) -> &Arc<Engine>;
    #[doc(hidden)]
    fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>>;
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
    /// The transaction, if it may have changes that are in no tree.
    #[doc(hidden)]
    #[inline(always)]
    fn buffered(&self) -> Option<&SmallTransaction> {
        None
    }
}
