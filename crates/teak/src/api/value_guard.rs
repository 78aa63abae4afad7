//! A value that holds its transaction.

use super::{debug_text::ShortBytes, sealed::Sealed, transaction::read::ReadTxn};
use crate::{
    Result,
    btree::{PageSource, cursor, enter, position::Position},
};
use std::{fmt, ops::Deref};

/// The bytes of a value, and the read transaction that keeps them.
#[derive(Clone)]
pub struct ValueGuard {
    txn: ReadTxn,
    location: ValueLocation,
}

/// Where the bytes of a value are.
#[derive(Clone)]
enum ValueLocation {
    /// In a leaf.
    Leaf(Position),
    /// In an extent of their own.
    Extent(crate::page::value::ValueExtent),
}

impl ValueGuard {
    pub(super) fn at(txn: &ReadTxn, position: Position) -> Result<Option<Self>> {
        let mut key = Vec::new();
        let Some((leaf, value)) = cursor::record_at(txn.source(), &position, &mut key)? else {
            return Ok(None);
        };
        let extent = value
            .as_extent()
            .map_err(|damage| damage.at(leaf, "lookup"))?;
        let location = match extent {
            Some(extent) => {
                enter::value(txn.source(), &extent)?;
                ValueLocation::Extent(extent)
            }
            None => ValueLocation::Leaf(position),
        };
        Ok(Some(Self {
            txn: txn.clone(),
            location,
        }))
    }

    /// The transaction that keeps the bytes; [`ReadTxn::read_faults`] tells whether they stayed
    /// readable all the time.
    #[must_use]
    pub fn transaction(&self) -> &ReadTxn {
        &self.txn
    }
}

impl Deref for ValueGuard {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // Both were read without an error when the guard was created, and a snapshot does not
        // change. The only possible cause is that they cannot be read any more.
        match &self.location {
            ValueLocation::Leaf(position) => cursor::value_at(self.txn.source(), position)
                .ok()
                .flatten()
                .unwrap_or_default(),
            ValueLocation::Extent(extent) => self.txn.source().value(extent).unwrap_or_default(),
        }
    }
}

impl AsRef<[u8]> for ValueGuard {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for ValueGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ShortBytes(self).fmt(f)
    }
}
