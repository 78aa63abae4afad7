//! A table as a write transaction sees it.

use crate::btree::{TreeRoot, position::PathStep};
use crate::unique_id::unique_id;
use std::collections::BTreeMap;

/// A table as this transaction sees it.
#[derive(Clone, Debug)]
pub(crate) struct OpenTable {
    pub(crate) name: Vec<u8>,
    /// `None` if there is no such table.
    pub(crate) root: Option<TreeRoot>,
    /// Whether the catalog has another root.
    pub(crate) is_changed: bool,
    /// Which of the transaction's changes was the last that concerned it; 0 if it is as it was committed.
    pub(crate) version: u64,
    /// The path to where a key was last inserted or removed, or would have been, if nothing else has changed the table since; else empty.
    pub(crate) hint: Vec<PathStep>,
}

/// The tables that a write transaction has opened.
///
/// Invariant: no version is used twice, also after a rollback. So two equal versions are of one state of a table.
#[derive(Debug)]
pub(crate) struct OpenTables {
    /// By the number of the table's handle: as many as were opened, however many handles there are.
    pub(crate) open: BTreeMap<usize, OpenTable>,
    /// Whether tables that are not open here may have other roots than in the state that this builds on.
    pub(crate) has_other_roots: bool,
    /// Tells write transactions of this process apart.
    pub(crate) unique_id: u64,
    /// How many changes there were.
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
