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
    /// The reason for a failure.
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

/// The start time in microseconds since 1970. Each process reads it from its standard input, so all
/// begin at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StartTime {
    pub(super) micros: u64,
}

impl StartTime {
    /// The time after this duration.
    pub(super) fn in_time(lead: Duration) -> Self {
        let at = SystemTime::now() + lead;
        let since = at.duration_since(SystemTime::UNIX_EPOCH);
        Self {
            micros: since.map_or(0, |since| since.as_micros() as u64),
        }
    }

    /// The duration until then; zero if it has passed.
    pub(super) fn remaining(self) -> Duration {
        let at = SystemTime::UNIX_EPOCH + Duration::from_micros(self.micros);
        at.duration_since(SystemTime::now()).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
