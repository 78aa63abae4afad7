//! The names of states: named snapshots, and the prepared transaction.

use crate::{Error, read::catalog::printable};
use std::fmt;

/// The first byte of the key of a named snapshot, and (below) of a prepared transaction.
pub(crate) const LIVE: u8 = 0;
pub(crate) const PREPARED: u8 = 2;

/// The key of a state in the list of named snapshots: what it is, and its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct StateKey(Vec<u8>);

impl StateKey {
    /// The key of a named snapshot.
    pub(crate) fn snapshot(name: &[u8]) -> Self {
        Self([&[LIVE], name].concat())
    }

    /// The key of a prepared transaction.
    pub(crate) fn prepared(name: &[u8]) -> Self {
        Self([&[PREPARED], name].concat())
    }

    /// A key of the list; `None` if it belongs to a note.
    pub(crate) fn of(key: &[u8]) -> Option<Self> {
        match key {
            [LIVE | PREPARED, ..] => Some(Self(key.to_vec())),
            _ => None,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn name(&self) -> &[u8] {
        &self.0[1..]
    }

    pub(crate) fn is_prepared(&self) -> bool {
        self.0[0] == PREPARED
    }

    /// The error if the list does not have this key.
    pub(crate) fn not_found(&self) -> Error {
        let name = printable(self.name());
        match self.is_prepared() {
            true => Error::PreparedNotFound(name),
            false => Error::SnapshotNotFound(name),
        }
    }
}

impl fmt::Display for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.is_prepared() {
            true => "prepared transaction",
            false => "snapshot",
        };
        write!(f, "the {kind} {:?}", printable(self.name()))
    }
}
