//! The state of readers that began while its last commits were in the memtable only.

use crate::{Checksum, TransactionId};
use std::{any::Any, sync::OnceLock};

/// A state that readers may need in the trees. The merge that makes it there gives it to them, if
/// one of them is left.
#[derive(Debug)]
pub(crate) struct ReadTarget {
    pub(super) transaction: TransactionId,
    /// How the log names that commit.
    pub(super) log_end: Checksum,
    /// A [`Reader`](crate::read::reader::Reader) of the state; `None` if it could not begin. Its
    /// type has the engine, which has this.
    reader: OnceLock<Option<Box<dyn Any + Send + Sync>>>,
}

impl ReadTarget {
    pub(super) fn new(transaction: TransactionId, log_end: Checksum) -> Self {
        Self {
            transaction,
            log_end,
            reader: OnceLock::new(),
        }
    }

    pub(crate) fn transaction(&self) -> TransactionId {
        self.transaction
    }

    /// Gives its readers the state.
    pub(super) fn give<R: Any + Send + Sync>(&self, reader: Option<R>) {
        let given = self.reader.set(reader.map(|reader| Box::new(reader) as _));
        assert!(given.is_ok(), "a commit is merged once");
    }

    /// The reader of the state, if it is in the trees.
    pub(super) fn reader<R: Any>(&self) -> Option<&R> {
        self.reader.get()?.as_ref()?.downcast_ref()
    }

    /// Like [`Self::reader`], for the only owner.
    pub(super) fn into_reader<R: Any>(self) -> Option<Box<R>> {
        self.reader.into_inner()??.downcast().ok()
    }
}
