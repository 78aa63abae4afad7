//! The limits of a write transaction.

use crate::{Geometry, read::slow_readers::SlowReaders, record::durability::Durability};

/// The limits of a transaction.
#[derive(Clone, Debug)]
pub(crate) struct WriteLimits {
    pub(crate) durability: Durability,
    /// The durability that the commit will probably have, because the last one had it: many
    /// programs choose when they commit. It decides where pages are built.
    pub(crate) expected: Durability,
    pub(crate) memory_bytes: usize,
    /// Leaves are written early above this many bytes of pages in memory. Never less than
    /// `memory_bytes`.
    pub(crate) room_at: usize,
    pub(crate) geometry: Geometry,
    /// Handles slow readers before the file grows. Removed once it has answered that the file
    /// should grow.
    pub(crate) slow_readers: Option<SlowReaders>,
    /// A tree is parked if releasing it takes more work than this.
    pub(crate) parks_above: u64,
}
