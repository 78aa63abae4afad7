//! Observation of an open database: events, metrics, latencies, spans.

pub(crate) mod events;
pub(crate) mod latency;
pub(crate) mod metrics;
#[cfg(feature = "metrics")]
pub(crate) mod prometheus;
pub(crate) mod recovery;
pub(crate) mod slow_reader;
pub(crate) mod trace;
