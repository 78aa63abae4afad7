//! The messages between the processes, in lines of JSON.

use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// A process's answers, on its standard output.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HandoverAnswer {
    /// The database is open.
    Ready,
    /// The slice is over, and the database closed.
    Done(ProcessShare),
    /// It went wrong, and this is why.
    Failed(String),
}

/// A process's part of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ProcessShare {
    pub(super) commits: u64,
    /// From its begin to its last commit's end.
    pub(super) seconds: f64,
    /// The longest wait for its turn.
    pub(super) wait_max_ns: u64,
}

/// The moment to begin at, which is the line that each process reads from its standard input: microseconds since 1970, so that
/// processes agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StartTime {
    pub(super) micros: u64,
}

impl StartTime {
    /// So long from now.
    pub(super) fn in_time(lead: Duration) -> Self {
        let at = SystemTime::now() + lead;
        let since = at.duration_since(SystemTime::UNIX_EPOCH);
        Self {
            micros: since.map_or(0, |since| since.as_micros() as u64),
        }
    }

    /// How long it is until then; nothing if it is over.
    pub(super) fn remaining(self) -> Duration {
        let at = SystemTime::UNIX_EPOCH + Duration::from_micros(self.micros);
        at.duration_since(SystemTime::now()).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
