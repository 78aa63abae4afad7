//! The times of single operations, in a histogram.
//!
//! Invariant: times are kept to three digits, between 1 nanosecond and 100 seconds. Times outside
//! count as the nearest of the two.

use anyhow::Result;
use hdrhistogram::Histogram;
use std::time::{Duration, Instant};

const LOW_NS: u64 = 1;
const HIGH_NS: u64 = 100_000_000_000;
const DIGITS: u8 = 3;

/// The times of operations.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    histogram: Histogram<u64>,
}

impl Latencies {
    /// No times yet.
    pub(crate) fn new() -> Result<Self> {
        let histogram = Histogram::new_with_bounds(LOW_NS, HIGH_NS, DIGITS)?;
        Ok(Self { histogram })
    }

    /// Runs `operation` and records its time.
    #[inline]
    pub(crate) fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R {
        self.time_known(operation).0
    }

    /// Times an operation, adds the time, and returns it.
    #[inline]
    pub(crate) fn time_known<R>(&mut self, operation: impl FnOnce() -> R) -> (R, Duration) {
        let start = Instant::now();
        let result = operation();
        let elapsed = start.elapsed();
        self.note(elapsed);
        (result, elapsed)
    }

    /// Records a time.
    #[inline]
    pub(crate) fn note(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(HIGH_NS);
        self.histogram
            .saturating_record(nanoseconds.clamp(LOW_NS, HIGH_NS));
    }

    /// Adds the times of another thread.
    pub(crate) fn add(&mut self, other: &Self) -> Result<()> {
        Ok(self.histogram.add(&other.histogram)?)
    }

    /// The number of times that each duration was recorded, from the shortest on.
    pub(crate) fn counts(&self) -> Vec<(u64, u64)> {
        let recorded = self.histogram.iter_recorded();
        recorded
            .map(|value| (value.value_iterated_to(), value.count_at_value()))
            .collect()
    }

    /// Adds the [`Latencies::counts`] of another process.
    pub(crate) fn add_counts(&mut self, counts: &[(u64, u64)]) {
        for &(nanoseconds, count) in counts {
            let nanoseconds = nanoseconds.clamp(LOW_NS, HIGH_NS);
            self.histogram.saturating_record_n(nanoseconds, count);
        }
    }

    /// The number of recorded times.
    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The longest time of the fastest `percent` of the operations, in nanoseconds.
    pub(crate) fn percentile_ns(&self, percent: f64) -> u64 {
        self.histogram.value_at_percentile(percent)
    }
}

#[cfg(test)]
#[path = "latencies_tests.rs"]
mod tests;
