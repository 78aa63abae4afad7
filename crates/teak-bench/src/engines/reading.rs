//! The reads of `readers`: transactions of at most one lookup, from many threads at the same time,
//! with other open transactions.

use crate::data::{Digest, Fingerprint, Key};
use anyhow::Result;

/// The way to begin and end a read transaction of one lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadStart {
    /// A new transaction each time.
    Begin,
    /// A renewed transaction, if the engine supports that.
    Renew,
}

/// The work for each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadStep {
    /// Begin and end a transaction.
    Transaction(ReadStart),
    /// Begin a transaction, look up the key, and end the transaction.
    TransactionWithLookup(ReadStart),
    /// Look up the key, in one transaction for all.
    Lookup,
}

/// The owner of a slot in the reader table of LMDB or libmdbx. Teak has no such choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotOwner {
    /// The thread, which keeps it from one transaction to the next, and has one transaction at a
    /// time. This is the default.
    Threads,
    /// The transaction, so that a thread can have many; at most `max` in all processes together.
    Transactions { max: u32 },
}

impl SlotOwner {
    /// The maximum number of slots, if not the default.
    #[cfg(any(feature = "lmdb", feature = "mdbx"))]
    pub(super) fn max(self) -> Option<u32> {
        match self {
            Self::Threads => None,
            Self::Transactions { max } => Some(max),
        }
    }
}

/// An open database that many threads read at the same time.
pub(crate) trait Reader: Sync {
    /// Performs `step` for each key of each batch, in order. The values found are added to the
    /// digest.
    fn read(&self, step: ReadStep, batches: &mut dyn Iterator<Item = &[Key]>) -> Result<Digest>;

    /// Begins a read transaction, calls `begun`, and reads every record.
    fn fingerprint(&self, begun: &mut dyn FnMut()) -> Result<Fingerprint>;

    /// Begins `count` read transactions, which stay open until the result is dropped.
    fn hold(&self, count: u32) -> Result<Box<dyn Held + '_>>;
}

/// Open transactions, which are not used.
pub(crate) trait Held {}

impl<T> Held for Vec<T> {}

/// Calls `operation` for each key of each batch, with the result of the previous call.
#[inline]
pub(super) fn fold_keys<S>(
    batches: &mut dyn Iterator<Item = &[Key]>,
    mut state: S,
    mut operation: impl FnMut(S, &Key) -> Result<S>,
) -> Result<S> {
    for batch in batches {
        for key in batch {
            state = operation(state, key)?;
        }
    }
    Ok(state)
}
