//! The writer's knowledge of dropped trees that are being released.

use crate::TransactionId;
use std::collections::HashSet;

/// Knowledge of dropped trees that the writer keeps between transactions.
#[derive(Default, Debug)]
pub(crate) struct DroppedTrees {
    /// A state that has neither dropped trees nor expiring tables.
    pub(crate) none_in: Option<TransactionId>,
    /// Number of pages that a transaction wanted and did not find.
    pub(crate) wanted: u64,
    /// Number of transactions for which no release is tried.
    pub(crate) resting: u32,
    /// Names of dropped trees that cannot be released because they are damaged.
    pub(crate) damaged: HashSet<Vec<u8>>,
    pub(crate) expired: ExpiredTables,
}

impl DroppedTrees {
    /// Notes that a transaction found no space and wanted this many pages.
    pub(crate) fn want(&mut self, pages: u64) {
        self.wanted = self.wanted.max(pages.max(1));
    }
}

/// Knowledge of expiring tables that the writer keeps between transactions.
#[derive(Default, Debug)]
pub(crate) struct ExpiredTables {
    /// The name of the index from which on the next commit looks for expired records.
    pub(crate) next: Vec<u8>,
    /// Number of transactions for which no removal is tried.
    pub(crate) resting: u32,
}

/// How much of the wanted space is released when a transaction begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DropBacklog {
    All,
    Some,
}
