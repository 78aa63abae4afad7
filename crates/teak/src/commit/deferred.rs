//! Deferred commits: small durable commits whose pages stay in memory until the next flush.

use crate::{commit::page_writes::UnwrittenPage, read::snapshot::Snapshot};
use std::sync::Arc;

/// Deferred commits, combined into one. They are not in the file yet.
#[derive(Debug)]
pub(crate) struct DeferredCommits {
    /// The state after the last of them.
    pub(crate) snapshot: Arc<Snapshot>,
    /// The pages of that state that were not in the file when it was made, sorted.
    pub(crate) pages: Arc<[UnwrittenPage]>,
}
