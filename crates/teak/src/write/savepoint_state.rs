//! The state that a savepoint restores.

use crate::{Geometry, btree::TreeRoot, record::RecordMarks};
use crate::{
    instance::arena::FreshBits, read::named_list::NamedChange, write::open_table::OpenTable,
};
use std::collections::BTreeMap;

/// The state that a savepoint restores.
#[derive(Debug)]
pub(crate) struct SavepointState {
    pub(crate) id: u64,
    /// Whether it belongs to a nested transaction, which ends it.
    pub(crate) is_nested: bool,
    pub(crate) fresh: FreshBits,
    pub(crate) death_count: usize,
    pub(crate) parked_count: usize,
    pub(crate) catalog: TreeRoot,
    pub(crate) tables: BTreeMap<usize, OpenTable>,
    pub(crate) geometry: Geometry,
    pub(crate) snapshots: TreeRoot,
    pub(crate) named: Vec<NamedChange>,
    pub(crate) marks: RecordMarks,
}
