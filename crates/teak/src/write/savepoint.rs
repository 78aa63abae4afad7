//! Savepoints: nested transactions, to any depth.
//!
//! Pages of the transaction that are older than the innermost savepoint are put aside before they
//! are changed; younger ones are not. A rollback restores those pages, drops the younger ones, and
//! restores the roots.

use crate::{Error, Result};
use crate::{
    unique_id::unique_id,
    write::{savepoint_state::SavepointState, transaction::WriteTransaction},
};

/// Identifies a savepoint of one transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SavepointId(u64);

impl WriteTransaction {
    /// Begins a savepoint within all others.
    pub(crate) fn begin_savepoint(&mut self) -> Result<SavepointId> {
        self.refuse_broken()?;
        Ok(self.new_savepoint(false))
    }

    /// Like [`Self::begin_savepoint`], for a nested transaction. It admits no checkpoint until it
    /// ends.
    pub(crate) fn begin_nested(&mut self) -> Result<SavepointId> {
        self.refuse_broken()?;
        Ok(self.new_savepoint(true))
    }

    fn new_savepoint(&mut self, is_nested: bool) -> SavepointId {
        let id = unique_id();
        self.push_savepoint(id, is_nested);
        SavepointId(id)
    }

    /// Whether a nested transaction is running.
    pub(crate) fn is_nested(&self) -> bool {
        self.savepoints.iter().any(|state| state.is_nested)
    }

    fn push_savepoint(&mut self, id: u64, is_nested: bool) {
        let state = SavepointState {
            id,
            is_nested,
            fresh: self.pages.begin_savepoint(),
            death_count: self.pages.deaths.len(),
            parked_count: self.pages.parked.trees.len(),
            catalog: self.catalog,
            tables: self.tables.open.clone(),
            geometry: self.pages.limits.geometry,
            snapshots: self.named.list,
            named: self.named.changes.clone(),
            marks: self.marks,
        };
        self.savepoints.push(state);
        self.assert_stack();
    }

    /// Asserts that savepoints end in the reverse of the order in which they began.
    fn assert_stack(&self) {
        assert_eq!(
            self.savepoints.len(),
            self.pages.savepoint_count(),
            "pages are kept for each savepoint of the transaction, and for no other"
        );
        debug_assert!(
            self.savepoints.is_sorted_by(|outer, inner| {
                outer.death_count <= inner.death_count && outer.id != inner.id
            }),
            "an inner savepoint has all deaths of the outer one"
        );
    }

    /// The outermost savepoint.
    pub(crate) fn outermost_savepoint(&self) -> Option<SavepointId> {
        self.savepoints.first().map(|state| SavepointId(state.id))
    }

    fn position_of(&self, savepoint: SavepointId) -> Result<usize> {
        self.savepoints
            .iter()
            .position(|state| state.id == savepoint.0)
            .ok_or_else(|| {
                let text = "this savepoint has ended, or belongs to another transaction";
                Error::InvalidArgument(text.into())
            })
    }

    /// Ends a savepoint and all within it. Changes since then stay.
    pub(crate) fn end_savepoint(&mut self, savepoint: SavepointId) -> Result<()> {
        let position = self.position_of(savepoint)?;
        while self.savepoints.len() > position {
            let state = self.savepoints.pop().expect("there are more savepoints");
            self.pages.end_savepoint(state.fresh);
        }
        self.assert_stack();
        Ok(())
    }

    /// Undoes all changes since a savepoint. The savepoint stays.
    pub(crate) fn roll_back_to(&mut self, savepoint: SavepointId) -> Result<()> {
        let position = self.position_of(savepoint)?;
        let is_nested = self.savepoints[position].is_nested;
        while self.savepoints.len() > position {
            let state = self.savepoints.pop().expect("there are more savepoints");
            self.pages.undo_savepoint(state.fresh, state.death_count);
            self.pages.parked.trees.truncate(state.parked_count);
            self.catalog = state.catalog;
            self.tables.open = state.tables;
            self.set_geometry(state.geometry);
            self.named.list = state.snapshots;
            self.named.changes = state.named;
            self.marks = state.marks;
        }
        debug_assert!(
            self.tables
                .open
                .values()
                .all(|table| table.version <= self.tables.version),
            "a rollback makes no version of a table that is used again"
        );
        // A change that failed halfway is undone too.
        self.status.is_broken = false;
        self.push_savepoint(savepoint.0, is_nested);
        Ok(())
    }
}
