//! A database that is in order, before it is opened.

use super::{progress::State, recovery::Recovery, snapshot::Snapshot, writer::Writer};

/// A database that nobody writes to, and what was found in it.
pub(super) struct Settled {
    pub(super) snapshot: Snapshot,
    pub(super) state: State,
    /// Absent where nothing may be written.
    pub(super) writer: Option<Writer>,
    pub(super) recovery: Recovery,
}
