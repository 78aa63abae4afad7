//! Checks of the invariants of the commit state, which its head and those of its parts name. The
//! transitions call them.

use super::CommitState;
use crate::planted::planted;

impl CommitState {
    /// Whether this process alone has made the state. Otherwise another program may have written
    /// any numbers to the lock file.
    pub(crate) fn is_own(&self) -> bool {
        self.copy.shared.is_none()
    }

    /// Asserts the invariants, if this process alone has made the state.
    pub(super) fn check(&self) {
        if self.is_own() {
            self.assert_invariants();
        }
    }

    /// Like [`Self::check`], in debug builds only: for each commit.
    pub(super) fn check_in_debug(&self) {
        if cfg!(debug_assertions) {
            self.check();
        }
    }

    pub(super) fn assert_invariants(&self) {
        self.records.assert_invariants();
        self.requests.assert_invariants();
        let newest = self.records.newest.transaction;
        if !planted!(SkipDeferred) {
            self.deferred.assert_invariants(newest);
        }
        assert!(
            self.has_flush_leader || !self.records.has_own_target(),
            "a flush has a leader"
        );
        // A commit whose record could not be written counts as the newest in the file.
        if let Some(unpublished) = self.unpublished.as_ref().filter(|_| !self.has_failed()) {
            let unpublished = unpublished.transaction();
            assert!(
                unpublished > self.records.durable.transaction && unpublished >= newest,
                "only the newest commit is unpublished, and not when it is durable"
            );
        }
    }
}
