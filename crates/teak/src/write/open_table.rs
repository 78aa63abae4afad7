//! A table opened by a write transaction.

use crate::btree::{TreeRoot, position::PathStep};
use crate::unique_id::unique_id;
use std::collections::BTreeMap;

/// A table as this transaction sees it.
#[derive(Clone, Debug)]
pub(crate) struct OpenTable {
    pub(crate) name: Vec<u8>,
    /// `None` if there is no such table.
    pub(crate) root: Option<TreeRoot>,
    /// Whether the root differs from the one in the catalog.
    pub(crate) is_changed: bool,
    /// The number of the transaction's last change to this table; 0 if the table is as
    /// committed.
    pub(crate) version: u64,
    /// The path to the position where a key was last inserted or removed, or would have been. Empty
    /// if something else has changed the table since.
    pub(crate) hint: Vec<PathStep>,
}

/// The tables that a write transaction has opened.
///
/// Invariant: no version is used twice, not even after a rollback. Two equal versions therefore
/// identify the same state of a table.
#[derive(Debug)]
pub(crate) struct OpenTables {
    /// The opened tables by the index of their handle, however many handles there are.
    pub(crate) open: BTreeMap<usize, OpenTable>,
    /// Whether tables that are not open here may have roots that differ from the base state.
    pub(crate) has_other_roots: bool,
    /// Distinguishes write transactions of this process.
    pub(crate) unique_id: u64,
    /// Number of changes so far.
    pub(crate) version: u64,
}

impl Default for OpenTables {
    fn default() -> Self {
        Self {
            open: BTreeMap::new(),
            has_other_roots: false,
            unique_id: unique_id(),
            version: 0,
        }
    }
}
