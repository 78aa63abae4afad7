//! What engines do for readers: transactions of at most one lookup, from many threads at the same time, beside others that stay open.

use crate::data::{Digest, Fingerprint, Key};
use anyhow::Result;

/// How a read transaction of one lookup is begun and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadStart {
    /// Begun anew each time.
    Begin,
    /// Taken up again, where the engine can.
    Renew,
}

/// What is done for each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadStep {
    /// A transaction is begun and ended.
    Transaction(ReadStart),
    /// A transaction is begun, the key looked up in it, and the transaction ended.
    TransactionWithLookup(ReadStart),
    /// The key is looked up; one transaction for all.
    Lookup,
}

/// What LMDB and libmdbx tie a reader's slot of their table to. Teak knows no such choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotOwner {
    /// The thread, which keeps it from one transaction to the next, and has one transaction at a time: how they come.
    Threads,
    /// The transaction, so that a thread can have many; at most so many in all processes together.
    Transactions { max: u32 },
}

impl SlotOwner {
    /// How many there may be, if not as many as there are by default.
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
    /// Does `step` for each key of each batch, one after the other. The values found come to the digest.
    fn read(&self, step: ReadStep, batches: &mut dyn Iterator<Item = &[Key]>) -> Result<Digest>;

    /// Begins a read transaction, calls `begun`, and reads every record.
    fn fingerprint(&self, begun: &mut dyn FnMut()) -> Result<Fingerprint>;

    /// Begins `count` read transactions, which stay open until what is returned is dropped.
    fn hold(&self, count: u32) -> Result<Box<dyn Held + '_>>;
}

/// Transactions that are open, and nothing else.
pub(crate) trait Held {}

impl<T> Held for Vec<T> {}

/// Does `operation` for each key of each batch; what it returns is handed to it with the next key.
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
