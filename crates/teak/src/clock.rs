//! The time of day, as commit records have it, and the moments at which transactions look for
//! expired records.

use crate::sync::lock;
use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The latest time that a record can expire at, in milliseconds since 1970.
const LATEST_MS: u64 = u64::MAX - 1;

pub(crate) fn now_ms() -> u64 {
    passed_ms(SystemTime::now())
}

/// The milliseconds since 1970 that have passed at a time, so none that has only begun: nothing
/// expires before its time.
fn passed_ms(time: SystemTime) -> u64 {
    let passed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(passed.as_millis()).map_or(LATEST_MS, |ms| ms.min(LATEST_MS))
}

/// A time at which something expires, in milliseconds since 1970, rounded up; 0 for earlier ones.
pub(crate) fn ms_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, whole_ms)
}

/// The time so many milliseconds after 1970; the greatest one if the system cannot name it.
pub(crate) fn time_of(ms: u64) -> SystemTime {
    let far = Duration::from_secs(u64::from(u32::MAX));
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(ms));
    time.unwrap_or_else(|| UNIX_EPOCH + far)
}

/// A duration in milliseconds, rounded up, and at most that of the latest time.
pub(crate) fn whole_ms(duration: Duration) -> u64 {
    let ms = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(ms).map_or(LATEST_MS, |ms| ms.min(LATEST_MS))
}

/// The time after a moment.
pub(crate) fn later_ms(now_ms: u64, after_ms: u64) -> u64 {
    now_ms.saturating_add(after_ms).min(LATEST_MS)
}

/// A clock of the application.
type AppClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The clock by which records expire: that of the system, or one of the application.
#[derive(Clone, Default)]
pub(crate) struct Clock(Option<AppClock>);

impl Clock {
    pub(crate) fn new(read: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(read)))
    }

    fn now_ms(&self) -> u64 {
        self.0
            .as_ref()
            .map_or_else(now_ms, |read| passed_ms(read()))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Clock(application)",
            None => "Clock(system)",
        })
    }
}

/// The moment of a transaction, taken when it is first asked for. Its holder serves one transaction
/// after the other, and each begins without a moment.
#[derive(Debug, Default)]
pub(crate) struct TransactionTime {
    /// The transaction that the moment is of, by a number that is never 0.
    owner: AtomicU64,
    ms: AtomicU64,
    change: Mutex<()>,
}

impl TransactionTime {
    /// The moment of `owner`. Threads that share the transaction get the same one.
    pub(crate) fn of(&self, owner: u64, take: impl FnOnce() -> u64) -> u64 {
        debug_assert!(owner != 0, "a transaction that has a moment has a number");
        if self.owner.load(Acquire) != owner {
            let _change = lock(&self.change);
            if self.owner.load(Relaxed) != owner {
                self.ms.store(take(), Relaxed);
                self.owner.store(owner, Release);
            }
        }
        self.ms.load(Relaxed)
    }
}

/// The clock that the expiring tables of an open database share.
#[derive(Debug, Default)]
pub(crate) struct ExpiryClock {
    clock: Clock,
    /// The latest moment of a transaction.
    latest_ms: AtomicU64,
    /// The moment of the write transaction; there is one at a time.
    pub(crate) writer: TransactionTime,
    /// Records that were written and not yet paid for by removing expired ones.
    pub(crate) written: AtomicU64,
}

impl ExpiryClock {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// The moment for a transaction that takes it now. It is not before that of any earlier
    /// transaction, even if the clock was set back.
    pub(crate) fn take(&self) -> u64 {
        let now_ms = self.clock.now_ms().min(LATEST_MS);
        self.latest_ms.fetch_max(now_ms, Relaxed).max(now_ms)
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
