//! Which databases of an environment were open at some time. A read transaction keeps that from its handle's last one, so beginning to read takes
//! no lock unless somebody has opened or closed a database since.

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
    /// The main database, as it was last seen.
    pub(crate) main: Option<Arc<OpenDatabase>>,
}

impl RememberedDatabases {
    /// The databases that are open now.
    pub(crate) fn now(opened: &OpenEnvironment) -> Self {
        // The generation is asked for first: what is younger is looked for once more.
        Self {
            generation: opened.generation(),
            known: opened.handles().known(),
            main: opened.main_seen(),
        }
    }

    /// Looks for them once more, if they are others by now.
    #[inline]
    pub(crate) fn renew(&mut self, opened: &OpenEnvironment) {
        if self.generation != opened.generation() {
            *self = Self::now(opened);
        }
    }
}
