//! What a thread remembers of the environment that it read last: which databases were open. So beginning to read takes no lock unless
//! somebody has opened or closed a database since.

use crate::{
    environment::Opened,
    handles::{Known, Open},
};
use std::{cell::Cell, sync::Arc};

/// The databases of an environment that were open at some time.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    /// The environment, and how often a database had been opened or closed there.
    environment: u64,
    generation: u64,
    pub(crate) known: Known,
    /// The main database, as it was last seen.
    pub(crate) main: Option<Arc<Open>>,
}

thread_local! {
    static LAST: Cell<Option<Remembered>> = const { Cell::new(None) };
}

impl Remembered {
    /// The databases that are open now.
    pub(crate) fn now(opened: &Opened) -> Self {
        Self::renewed(LAST.try_with(Cell::take).ok().flatten(), opened)
    }

    /// The databases that are open now; the same if these are.
    #[inline]
    pub(crate) fn renewed(last: Option<Self>, opened: &Opened) -> Self {
        let (environment, generation) = (opened.places.environment(), opened.generation());
        let is_true =
            |last: &Self| (last.environment, last.generation) == (environment, generation);
        // The generation was asked for first: what is younger is looked for once more.
        last.filter(is_true).unwrap_or_else(|| Self {
            environment,
            generation,
            known: opened.handles().known(),
            main: opened.main_seen(),
        })
    }

    /// Leaves it to the next transaction of this thread.
    #[inline]
    pub(crate) fn leave(self) {
        // There may be none: the thread is ending.
        let _ = LAST.try_with(|last| last.set(Some(self)));
    }
}
