//! The state of a reader that began while its last commits were in the memtable only.

use crate::{Checksum, Error, Result, TransactionId};
use std::{any::Any, sync::OnceLock};

/// The state of a reader, which the reader may need in the trees. The merge that makes it there
/// gives it to the reader, if that has not ended.
#[derive(Debug)]
pub(crate) struct ReadTarget {
    pub(super) transaction: TransactionId,
    /// How the log names that commit.
    pub(super) log_end: Checksum,
    /// A [`Reader`](crate::read::reader::Reader) of the state, or why it could not begin. Its type
    /// has the engine, which has this.
    reader: OnceLock<Result<Box<dyn Any + Send + Sync>>>,
}

impl ReadTarget {
    pub(super) fn new(transaction: TransactionId, log_end: Checksum) -> Self {
        Self {
            transaction,
            log_end,
            reader: OnceLock::new(),
        }
    }

    /// Gives its reader the state.
    pub(super) fn give<R: Any + Send + Sync>(&self, reader: Result<R>) {
        let given = self.reader.set(reader.map(|reader| Box::new(reader) as _));
        assert!(given.is_ok(), "a commit is merged once");
    }

    /// The reader of the state; `None` if that is not in the trees.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyReaders`]; [`Error::SnapshotLost`] if the reader could not begin for another
    /// reason.
    pub(super) fn reader<R: Any>(&self) -> Result<Option<&R>> {
        match self.reader.get() {
            None => Ok(None),
            Some(Ok(reader)) => Ok(reader.downcast_ref()),
            Some(Err(Error::TooManyReaders(slots))) => Err(Error::TooManyReaders(*slots)),
            Some(Err(_)) => Err(Error::SnapshotLost),
        }
    }

    /// Like [`Self::reader`], for the only owner.
    pub(super) fn into_reader<R: Any>(self) -> Option<Box<R>> {
        self.reader.into_inner()?.ok()?.downcast().ok()
    }
}
