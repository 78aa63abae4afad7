//! What a savepoint brings back.

use super::{arena::FreshBits, named_list::NamedChange, open_table::OpenTable};
use crate::{Geometry, commit::record::RecordMarks, tree::TreeRoot};
use std::collections::BTreeMap;

/// What a savepoint brings back.
#[derive(Debug)]
pub(super) struct SavepointState {
    pub(super) id: u64,
    /// Whether it belongs to work that goes on, which ends it.
    pub(super) is_nested: bool,
    pub(super) fresh: FreshBits,
    pub(super) death_count: usize,
    pub(super) parked_count: usize,
    pub(super) catalog: TreeRoot,
    pub(super) tables: BTreeMap<usize, OpenTable>,
    pub(super) geometry: Geometry,
    pub(super) snapshots: TreeRoot,
    pub(super) named: Vec<NamedChange>,
    pub(super) marks: RecordMarks,
}
