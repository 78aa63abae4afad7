//! A clock that a campaign moves.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};
use teak::Options;

/// A clock in milliseconds. Clones show the same time.
#[derive(Clone, Debug)]
pub(crate) struct CampaignClock(Arc<AtomicU64>);

impl CampaignClock {
    pub(crate) fn new(ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(ms)))
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(crate) fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Relaxed);
    }

    /// The options of a database with this clock.
    pub(crate) fn apply(&self, options: Options) -> Options {
        let clock = self.clone();
        options.clock(move || time_of(clock.now_ms()))
    }
}

/// The time so many milliseconds after 1970.
pub(crate) fn time_of(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms)
}

/// The milliseconds after 1970 of a time.
pub(crate) fn ms_of(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
