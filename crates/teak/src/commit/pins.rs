//! The base of the next commit, and the states whose pages must stay.

use crate::{
    Result, TransactionId,
    alloc::Pins,
    commit::{committer::Committer, state::CommitState},
    planted::planted,
    read::{named_list::NamedPins, snapshot::Snapshot},
    sync::lock,
};
use std::sync::Arc;

impl Committer {
    /// The newest commit, if readers see it and all its pages are in the file.
    pub(crate) fn base_in_trees(&self) -> Result<Option<Arc<Snapshot>>> {
        let state = self.commit_state.lock();
        if state.has_failed() || state.has_deferred() || state.unpublished().is_some() {
            return Ok(None);
        }
        let last = state.last();
        assert!(
            last >= state.durable().transaction,
            "the last commit is no older than the last durable one"
        );
        drop(state);
        let newest = self.published.newest()?;
        Ok(Some(newest).filter(|newest| newest.transaction() == last))
    }

    /// Returns the state that the next commit builds on, the states whose pages must stay, and the
    /// last flushed commit. The first is the newest one, whether or not readers see it yet.
    /// They are read together because all processes share the lock of the commit state.
    pub(crate) fn beginning(
        &self,
        named: &NamedPins,
    ) -> Result<(Arc<Snapshot>, Pins, TransactionId)> {
        let state = self.commit_state.lock();
        let (unpublished, own) = (state.unpublished().cloned(), self.own_pins_in(&state));
        let flushed = state.flushed().transaction;
        drop(state);
        let base = unpublished.map_or_else(|| self.published.newest(), Ok)?;
        debug_assert!(
            self.shared.is_some() || own.contains(&base.transaction()),
            "the state that the next commit builds on is pinned"
        );
        Ok((base, self.pins_with(own, named)?, flushed))
    }

    /// The newest commit, whether or not readers see it yet.
    pub(crate) fn newest(&self) -> TransactionId {
        self.commit_state.lock().last()
    }

    /// The states whose pages must stay: those that a crash may lead back to, the newest, those
    /// that readers hold, and named snapshots, including names dropped since a state that a crash
    /// may lead back to.
    ///
    /// # Errors
    ///
    /// Fails if this process cannot see what other processes hold.
    pub(crate) fn pins(&self, named: &NamedPins) -> Result<Pins> {
        self.pins_with(self.own_pins(), named)
    }

    fn pins_with(&self, mut pins: Vec<TransactionId>, named: &NamedPins) -> Result<Pins> {
        let oldest = pins.iter().min().copied();
        pins.extend(named.dropped(oldest).filter(|_| !planted!(FreeDropped)));
        let mut live = Arc::clone(named.live());
        planted!(FreeNamed => live = Arc::default());
        if planted!(FreePrepared) && !named.prepared.is_empty() {
            live = Arc::default();
        }
        // After the pins above, since readers may begin with those states too.
        self.published.add_held(&mut pins, &live)?;
        // This process may have lost the reader table meanwhile.
        self.refuse_evicted()?;
        Ok(Pins::new(live, pins))
    }

    /// Like [`Committer::pins`], but without the states that readers hold.
    pub(crate) fn own_pins(&self) -> Vec<TransactionId> {
        self.own_pins_in(&self.commit_state.lock())
    }

    fn own_pins_in(&self, state: &CommitState) -> Vec<TransactionId> {
        let mut pins: Vec<_> = state.pins().collect();
        pins.push(self.published.visible());
        pins.extend(lock(&self.small_pins).iter().map(|(_, state)| *state));
        pins
    }
}
