//! The open databases of an environment, as of some time. A read transaction takes them from its
//! handle's last use, so beginning to read takes no lock unless a database has been opened or
//! closed since.

use crate::{
    environment::OpenEnvironment,
    handles::{KnownDatabases, OpenDatabase},
};
use std::sync::Arc;

/// The databases of an environment that were open at some time.
#[derive(Clone, Debug)]
pub(crate) struct RememberedDatabases {
    /// How often a database had been opened or closed.
    generation: u64,
    pub(crate) known: KnownDatabases,
    /// The last opened main database.
    pub(crate) main: Option<Arc<OpenDatabase>>,
}

impl RememberedDatabases {
    /// The databases that are open now.
    pub(crate) fn now(opened: &OpenEnvironment) -> Self {
        // The generation is read first: databases opened after that are picked up at the next
        // renewal.
        Self {
            generation: opened.generation(),
            known: opened.handles().known(),
            main: opened.main_seen(),
        }
    }

    /// Reads them again if they have changed.
    #[inline]
    pub(crate) fn renew(&mut self, opened: &OpenEnvironment) {
        if self.generation != opened.generation() {
            *self = Self::now(opened);
        }
    }
}
