//! Dropped trees that are too large to release at once.

use crate::btree::TreeRoot;

/// The remaining parts of dropped trees.
///
/// Invariant: the list is empty when the catalog is sealed, because the commit puts the trees into
/// the catalog before. They wait here since they cannot be sealed within a savepoint.
#[derive(Default, Debug)]
pub(crate) struct ParkedTrees {
    pub(crate) trees: Vec<TreeRoot>,
    /// Whether any tree was parked.
    pub(crate) has_parked: bool,
    /// How many of them have received a name.
    pub(crate) names: u32,
}
