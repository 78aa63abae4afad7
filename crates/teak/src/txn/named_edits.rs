//! What a write transaction does to the named snapshots.

use super::named_list::{NamedChange, NamedPins};
use crate::{Extent, tree::TreeRoot};

/// The list of named snapshots, and what is to be done to it.
///
/// Invariant: `pins` is there from the writing of the list until the commit is noted, and only if the list changes.
#[derive(Debug)]
pub(super) struct NamedEdits {
    /// The root of the list.
    pub(super) list: TreeRoot,
    pub(super) changes: Vec<NamedChange>,
    /// What must stay once the changes are done.
    pub(super) pins: Option<NamedPins>,
    /// After a rollback to a named snapshot, the dead pages that it has made alive again, sorted.
    pub(super) revived: Option<Vec<Extent>>,
}

impl NamedEdits {
    pub(super) fn new(list: TreeRoot) -> Self {
        Self {
            list,
            changes: Vec::new(),
            pins: None,
            revived: None,
        }
    }
}
