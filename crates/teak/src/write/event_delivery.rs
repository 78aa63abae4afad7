//! Telling what happened in a write transaction.

use crate::commit::flush::Flusher;
use std::sync::Arc;

/// Tells what happened in a write transaction, when it is dropped: so it is dropped behind the turn.
#[derive(Debug)]
pub(crate) struct EventDelivery(Option<Arc<Flusher>>);

impl EventDelivery {
    pub(crate) fn new(flusher: &Arc<Flusher>) -> Self {
        Self(Some(Arc::clone(flusher)).filter(|flusher| flusher.events.is_wanted()))
    }

    /// Leaves it to another one, since the turn goes on.
    pub(crate) fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for EventDelivery {
    fn drop(&mut self) {
        if let Some(flusher) = &self.0 {
            flusher.events.deliver();
        }
    }
}
