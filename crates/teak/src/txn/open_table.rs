//! A table as a write transaction sees it.

use super::unique_id::unique_id;
use crate::tree::{TreeRoot, position::PathStep};
use std::collections::BTreeMap;

/// A table as this transaction sees it.
#[derive(Clone, Debug)]
pub(crate) struct OpenTable {
    pub(super) name: Vec<u8>,
    /// `None` if there is no such table.
    pub(super) root: Option<TreeRoot>,
    /// Whether the catalog has another root.
    pub(super) is_changed: bool,
    /// Which of the transaction's changes was the last that concerned it; 0 if it is as it was committed.
    pub(super) version: u64,
    /// The path to where a key was last inserted or removed, or would have been, if nothing else has changed the table since; else empty.
    pub(super) hint: Vec<PathStep>,
}

/// The tables that a write transaction has opened.
///
/// Invariant: no version is used twice, also after a rollback. So two equal versions are of one state of a table.
#[derive(Debug)]
pub(super) struct OpenTables {
    /// By the number of the table's handle: as many as were opened, however many handles there are.
    pub(super) open: BTreeMap<usize, OpenTable>,
    /// Whether tables that are not open here may have other roots than in the state that this builds on.
    pub(super) has_other_roots: bool,
    /// Tells write transactions of this process apart.
    pub(super) unique_id: u64,
    /// How many changes there were.
    pub(super) version: u64,
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
