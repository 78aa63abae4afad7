//! What the crate itself asks of transactions.

// The trait speaks of the layers below, which no user can name.
#![allow(private_interfaces)]

use crate::{
    Result, TransactionId,
    btree::{PageSource, RootRef},
    instance::engine::Engine,
};
use std::sync::Arc;

/// What the crate itself asks of transactions.
pub trait Sealed {
    #[doc(hidden)]
    fn engine(&self) -> &Arc<Engine>;
    #[doc(hidden)]
    fn root_of(&self, handle: usize, name: &[u8]) -> Result<Option<RootRef<'_>>>;
    #[doc(hidden)]
    fn source(&self) -> &(impl PageSource + Sync);
    /// Which state of a table this is, if it is one that was never committed: two equal answers are of one state.
    #[doc(hidden)]
    fn version_of(&self, handle: usize) -> Option<(u64, u64)>;
    /// The database and its state, if it is one that was committed and that may be read now: two equal answers are of one state.
    #[doc(hidden)]
    fn committed(&self) -> Option<(u64, TransactionId)>;
}
