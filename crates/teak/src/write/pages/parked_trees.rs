//! Trees that a transaction drops and that are too large to be released at once.

use crate::btree::TreeRoot;

/// What is left of them.
///
/// Invariant: the list is empty when the catalog is sealed, since the commit puts them into the catalog before.
/// Within a savepoint they could not be sealed, so they wait here.
#[derive(Default, Debug)]
pub(crate) struct ParkedTrees {
    pub(crate) trees: Vec<TreeRoot>,
    /// Whether there was one.
    pub(crate) has_parked: bool,
    /// How many of them have got a name.
    pub(crate) names: u32,
}
