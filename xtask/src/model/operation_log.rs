//! The log of an episode.

use super::{expiring::ExpiringOperation, operation::ModelOperation, settings::ModelSettings};
use std::{collections::VecDeque, fmt};

const RECENT_MAX: usize = 20;

/// An operation of an episode of any kind.
pub(crate) enum LoggedOperation {
    Lasting(ModelOperation),
    Expiring(ExpiringOperation),
}

/// The log of an episode. It outlives the episode, so that it can be printed after a panic.
#[derive(Default)]
pub(crate) struct OperationLog {
    pub(crate) operation_count: u64,
    pub(crate) recent: VecDeque<LoggedOperation>,
    pub(crate) settings: Option<ModelSettings>,
}

impl OperationLog {
    /// Notes an operation that begins.
    pub(crate) fn note(&mut self, operation: LoggedOperation) {
        self.operation_count += 1;
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(operation);
    }
}

impl fmt::Display for LoggedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lasting(operation) => operation.fmt(f),
            Self::Expiring(operation) => write!(f, "{operation:?}"),
        }
    }
}
