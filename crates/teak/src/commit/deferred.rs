//! Commits that are written later, together.

use crate::{commit::page_writes::UnwrittenPage, read::snapshot::Snapshot};
use std::sync::Arc;

/// Commits that are not in the file yet, as one.
#[derive(Debug)]
pub(crate) struct DeferredCommits {
    /// The state that the last of them makes.
    pub(crate) snapshot: Arc<Snapshot>,
    /// Its pages that were not in the file when it was made, sorted.
    pub(crate) pages: Arc<[UnwrittenPage]>,
}
