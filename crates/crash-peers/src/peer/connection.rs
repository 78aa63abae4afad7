//! An open database of another engine, and the changes that it commits.

use anyhow::Result;

/// A change of one record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Put(Vec<u8>, Vec<u8>),
    /// The record may be missing.
    Delete(Vec<u8>),
}

/// Called with key and value of each record.
pub(crate) type RecordVisitor<'v> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'v;

/// An open database. It is closed on drop.
pub(crate) trait Peer {
    /// Makes the changes in one transaction.
    fn commit(&self, changes: &[Change]) -> Result<()>;

    /// Flushes everything that was committed.
    fn sync(&self) -> Result<()>;

    /// Reads all records, in order.
    fn visit(&self, visit: &mut RecordVisitor<'_>) -> Result<()>;
}
