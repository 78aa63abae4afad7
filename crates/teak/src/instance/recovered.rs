//! A database that is in order, before it is opened.

use crate::{
    commit::state::LockedCommitState, instance::writer::WriterState, observe::recovery::Recovery,
    read::snapshot::Snapshot,
};

/// A database that nobody writes to, and what was found in it.
pub(crate) struct RecoveredDatabase {
    pub(crate) snapshot: Snapshot,
    pub(crate) state: LockedCommitState,
    /// Absent where nothing may be written.
    pub(crate) writer: Option<WriterState>,
    pub(crate) recovery: Recovery,
}
