//! Keeping the file short: truncation, compaction, holes, and the deferred release of dropped
//! trees.

pub(crate) mod compact;
pub(crate) mod dropped;
pub(crate) mod holes;
pub(crate) mod truncate;
