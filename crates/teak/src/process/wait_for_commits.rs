//! Waiting for commits of this process and of other processes.

use crate::instance::opening::Opening;
use crate::{Result, TransactionId};
use std::time::{Duration, Instant};

/// How long a waiting thread sleeps before it checks without a notification. A process may die
/// between making a state visible and notifying.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

impl Opening {
    /// Waits up to `limit` until readers see a commit after `after`. Returns the newest commit that
    /// they see, or `None`.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidArgument`](crate::Error::InvalidArgument) if this opening was closed.
    /// - [`Error::Forked`](crate::Error::Forked) in a forked child of the process that opened it.
    pub(crate) fn wait_for_commit(
        &self,
        after: TransactionId,
        limit: Option<Duration>,
    ) -> Result<Option<TransactionId>> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let engine = self.readable()?;
            engine.show_memtable()?;
            let published = &engine.committer.published;
            let visible = published.visible();
            if visible > after {
                return Ok(Some(visible));
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            let patience = left.map_or(RECHECK_INTERVAL, |left| left.min(RECHECK_INTERVAL));
            let is_over = || published.visible() > after || self.readable().is_err();
            published.notifier.wait(patience, is_over);
        }
    }
}
