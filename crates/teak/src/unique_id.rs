//! Numbers that are unique within this process.

use std::sync::atomic::{AtomicU64, Ordering};

/// The id of the next engine, or savepoint.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A number that nothing else of this process has.
pub(crate) fn unique_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}
