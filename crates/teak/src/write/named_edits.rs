//! Changes of a write transaction to the named snapshots.

use crate::read::named_list::{NamedChange, NamedPins};
use crate::{Extent, TransactionId, btree::TreeRoot};

/// The list of named snapshots, and the changes to make to it.
///
/// Invariant: `pins` is set from the writing of the list until the commit is noted, and only if the
/// list changes.
#[derive(Debug)]
pub(crate) struct NamedEdits {
    /// The root of the list.
    pub(crate) list: TreeRoot,
    pub(crate) changes: Vec<NamedChange>,
    /// The states that must stay after the changes.
    pub(crate) pins: Option<NamedPins>,
    /// After a rollback to a named snapshot: the dead pages that are in use again, sorted, with
    /// their births.
    pub(crate) revived: Option<Vec<(Extent, TransactionId)>>,
}

impl NamedEdits {
    pub(crate) fn new(list: TreeRoot) -> Self {
        Self {
            list,
            changes: Vec::new(),
            pins: None,
            revived: None,
        }
    }

    /// The dead pages that are in use again, sorted.
    pub(crate) fn revived_extents(&self) -> Vec<Extent> {
        let revived = self.revived.iter().flatten();
        revived.map(|(extent, _)| *extent).collect()
    }
}
