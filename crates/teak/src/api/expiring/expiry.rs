//! When records expire, and the options and counts of expiring tables.

use crate::{
    Error, Result, TableOptions, TransactionId,
    clock::{ms_of, time_of, whole_ms},
    page::{
        key::KeyOrder,
        stamp::{ExpirySettings, NEVER},
    },
    write::expiring::PutExpiry,
};
use std::time::{Duration, SystemTime};

/// When a record expires. From this time on it is invisible.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use teak::Expiry;
/// assert_eq!(Expiry::from(Duration::from_secs(60)), Expiry::After(Duration::from_secs(60)));
/// let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
/// assert_eq!(Expiry::from(tomorrow), Expiry::At(tomorrow));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Expiry {
    /// After the time to live of the table, if it has one; otherwise never.
    #[default]
    Default,
    /// Never.
    Never,
    /// So long after the moment of the transaction, rounded up to milliseconds.
    After(Duration),
    /// At this time, in whole milliseconds.
    At(SystemTime),
}

impl From<Duration> for Expiry {
    fn from(after: Duration) -> Self {
        Self::After(after)
    }
}

impl From<SystemTime> for Expiry {
    fn from(at: SystemTime) -> Self {
        Self::At(at)
    }
}

impl Expiry {
    pub(super) fn for_put(self, now_ms: u64) -> PutExpiry {
        match self {
            Self::Default => PutExpiry::Default,
            Self::Never => PutExpiry::At(NEVER),
            Self::After(after) => PutExpiry::At(crate::clock::later_ms(now_ms, whole_ms(after))),
            Self::At(at) => PutExpiry::At(ms_of(at).min(NEVER - 1)),
        }
    }
}

/// The time that a stamp names; `None` if the record never expires.
pub(super) fn expiry_time(expires_ms: u64) -> Option<SystemTime> {
    (expires_ms != NEVER).then(|| time_of(expires_ms))
}

/// Options of an [`ExpiringTable`](crate::ExpiringTable).
///
/// ```
/// use std::time::Duration;
/// use teak::{Database, ExpiryOptions};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let options = ExpiryOptions::new().ttl(Duration::from_secs(3600)).max_records(10_000);
/// let sessions = txn.create_expiring_table::<&str, &str>("sessions", &options)?;
/// sessions.insert(&mut txn, "7f3a", "Ada")?;
/// txn.commit()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[must_use]
#[non_exhaustive]
pub struct ExpiryOptions {
    /// How long records live that are inserted without an expiry of their own; `None`: forever.
    pub ttl: Option<Duration>,
    /// The most records; the oldest ones above are removed.
    pub max_records: Option<u64>,
    /// The most bytes of keys and values; the oldest records above are removed.
    pub max_bytes: Option<u64>,
    /// The options that every table has. They cannot be changed later.
    pub table: TableOptions,
}

impl ExpiryOptions {
    /// Defaults: records live forever, without limits.
    pub const fn new() -> Self {
        Self {
            ttl: None,
            max_records: None,
            max_bytes: None,
            table: TableOptions::new(),
        }
    }

    /// Sets how long records live that are inserted without an expiry of their own, rounded up to
    /// milliseconds.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Limits the number of records. A transaction that inserts more removes the oldest ones: those
    /// whose last insertion is longest ago.
    pub const fn max_records(mut self, records: u64) -> Self {
        self.max_records = Some(records);
        self
    }

    /// Limits the bytes of all keys and values. A transaction that inserts more removes the oldest
    /// records. A record that is larger than the limit is not kept at all. The file is larger than
    /// its records: pages are not full, and each record takes some bytes more.
    pub const fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Sets the options that every table has.
    pub const fn table(mut self, options: TableOptions) -> Self {
        self.table = options;
        self
    }

    pub(super) fn settings(&self) -> ExpirySettings {
        ExpirySettings {
            ttl_ms: self.ttl.map_or(NEVER, whole_ms),
            max_records: self.max_records.unwrap_or(u64::MAX),
            max_bytes: self.max_bytes.unwrap_or(u64::MAX),
            ..ExpirySettings::default()
        }
    }

    pub(super) fn of(settings: &ExpirySettings, table: TableOptions) -> Self {
        let limit = |limit: u64| (limit != u64::MAX).then_some(limit);
        Self {
            ttl: limit(settings.ttl_ms).map(Duration::from_millis),
            max_records: limit(settings.max_records),
            max_bytes: limit(settings.max_bytes),
            table,
        }
    }

    /// The options of the table of records.
    pub(super) fn table_options(&self) -> Result<TableOptions> {
        let options = TableOptions {
            expiring: true,
            ..self.table
        };
        let text = if options.is_multi() {
            "records of multi-value tables do not expire; leave the options of values out"
        } else if matches!(options.order, KeyOrder::Custom(_)) {
            "the keys of an expiring table cannot be in a custom order; choose another order"
        } else {
            return Ok(options);
        };
        Err(Error::InvalidArgument(text.into()))
    }
}

/// Counts of an expiring table; see [`ExpiringTable::stat`](crate::ExpiringTable::stat).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ExpiryStat {
    /// Records that have not expired.
    pub records: u64,
    /// Records that have expired and are not removed yet. No operation sees them, and they take
    /// space.
    pub expired: u64,
    /// Bytes of all keys and values, of expired records too.
    pub bytes: u64,
    /// Records that were removed because they had expired, since the table was created.
    pub removed_expired: u64,
    /// Records that were removed because the table was above its limits, since it was created.
    pub removed_oldest: u64,
    /// When the next record expires; the time is past if there are expired records. `None` if no
    /// record expires.
    pub next_expiry: Option<SystemTime>,
    /// The last transaction that changed a record.
    pub changed: TransactionId,
}
