//! Commits that are written later, together.

use super::{page_writes::UnwrittenPage, snapshot::Snapshot};
use std::sync::Arc;

/// Commits that are not in the file yet, as one.
#[derive(Debug)]
pub(super) struct DeferredCommits {
    /// The state that the last of them makes.
    pub(super) snapshot: Arc<Snapshot>,
    /// Its pages that were not in the file when it was made, sorted.
    pub(super) pages: Arc<[UnwrittenPage]>,
}
