//! Delivery of the events of a write transaction.

use crate::commit::committer::Committer;
use std::sync::Arc;

/// Delivers the events of a write transaction when it is dropped. It is dropped after the writer
/// lock is released.
#[derive(Debug)]
pub(crate) struct EventDelivery(Option<Arc<Committer>>);

impl EventDelivery {
    pub(crate) fn new(committer: &Arc<Committer>) -> Self {
        Self(Some(Arc::clone(committer)).filter(|committer| committer.events.is_wanted()))
    }

    /// Leaves delivery to the next transaction, because the writer lock is kept.
    pub(crate) fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for EventDelivery {
    fn drop(&mut self) {
        if let Some(committer) = &self.0 {
            committer.events.deliver();
        }
    }
}
