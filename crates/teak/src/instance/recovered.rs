//! A recovered database, before it is opened.

use crate::{
    commit::state::CommitState,
    instance::{wal::LeftWal, writer::WriterState},
    observe::recovery::Recovery,
    read::snapshot::Snapshot,
};

/// A consistent database that no process writes to, and the result of its recovery.
pub(crate) struct RecoveredDatabase {
    pub(crate) snapshot: Snapshot,
    pub(crate) state: CommitState,
    /// `None` if the database must not be written.
    pub(crate) writer: Option<WriterState>,
    pub(crate) recovery: Recovery,
    /// Commits after the newest one in the trees.
    pub(crate) left: LeftWal,
}
