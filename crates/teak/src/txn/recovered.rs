//! A database that is in order, before it is opened.

use super::{
    commit_state::LockedCommitState, recovery::Recovery, snapshot::Snapshot, writer::WriterState,
};

/// A database that nobody writes to, and what was found in it.
pub(super) struct RecoveredDatabase {
    pub(super) snapshot: Snapshot,
    pub(super) state: LockedCommitState,
    /// Absent where nothing may be written.
    pub(super) writer: Option<WriterState>,
    pub(super) recovery: Recovery,
}
