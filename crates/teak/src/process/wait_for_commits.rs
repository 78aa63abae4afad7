//! Waiting for what others commit, in this process or another.

use crate::instance::opening::Opening;
use crate::{Result, TransactionId};
use std::time::{Duration, Instant};

/// So long who waits sleeps before looking anyway: a process may have died between making a state visible and
/// saying so.
const PATIENCE: Duration = Duration::from_secs(1);

impl Opening {
    /// Waits until readers see a commit behind `after`, for as long as `limit`; returns the newest that they see.
    ///
    /// # Errors
    /// Those of [`Opening::readable`].
    pub(crate) fn wait_for_commit(
        &self,
        after: TransactionId,
        limit: Option<Duration>,
    ) -> Result<Option<TransactionId>> {
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let published = &self.readable()?.flusher.published;
            let visible = published.visible();
            if visible > after {
                return Ok(Some(visible));
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            let patience = left.map_or(PATIENCE, |left| left.min(PATIENCE));
            let is_over = || published.visible() > after || self.readable().is_err();
            published.notifier.wait(patience, is_over);
        }
    }
}
