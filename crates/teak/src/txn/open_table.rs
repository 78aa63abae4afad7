//! A table as a write transaction sees it.

use crate::tree::{TreeRoot, position::Step};

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
    pub(super) near: Vec<Step>,
}
