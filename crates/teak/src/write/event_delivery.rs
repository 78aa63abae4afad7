//! Delivery of the events of a write transaction.

use crate::commit::flusher::Flusher;
use std::sync::Arc;

/// Delivers the events of a write transaction when it is dropped. It is dropped after the writer
/// lock is released.
#[derive(Debug)]
pub(crate) struct EventDelivery(Option<Arc<Flusher>>);

impl EventDelivery {
    pub(crate) fn new(flusher: &Arc<Flusher>) -> Self {
        Self(Some(Arc::clone(flusher)).filter(|flusher| flusher.events.is_wanted()))
    }

    /// Leaves delivery to the next transaction, because the writer lock is kept.
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
