//! When records expire, and the options and counts of tables whose records expire.

use crate::{failure::Failure, ffi::Grows};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use teak::{ExpiringTable, Expiry, ExpiryOptions, ExpiryStat, codec::Raw};

/// The engine's handle.
pub(crate) type RawExpiringTable = ExpiringTable<Raw, Raw>;

/// The expiry of a record that never expires, where C gets it as a number.
pub const TEAK_NEVER_EXPIRES: u64 = u64::MAX;

/// How a teak_expiry says when a record expires.
#[repr(C)]
pub enum teak_expiry_kind {
    /// After the time to live of the table, if it has one; otherwise never.
    TEAK_EXPIRY_DEFAULT = 0,
    /// Never.
    TEAK_EXPIRY_NEVER = 1,
    /// So many milliseconds after the moment of the transaction.
    TEAK_EXPIRY_AFTER = 2,
    /// So many milliseconds after 1970 (UTC).
    TEAK_EXPIRY_AT = 3,
}

/// When a record expires. All zero for the time to live of the table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_expiry {
    /// A teak_expiry_kind.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
    /// Milliseconds, for the last two kinds.
    pub ms: u64,
}

impl teak_expiry {
    pub(crate) fn to_engine(self) -> Result<Expiry, Failure> {
        match self.kind {
            0 => Ok(Expiry::Default),
            1 => Ok(Expiry::Never),
            2 => Ok(Expiry::After(Duration::from_millis(self.ms))),
            3 => {
                let at = UNIX_EPOCH.checked_add(Duration::from_millis(self.ms));
                // A time that the system cannot name never comes.
                Ok(at.map_or(Expiry::Never, Expiry::At))
            }
            other => Err(Failure::invalid_argument(format!(
                "there is no teak_expiry_kind {other}"
            ))),
        }
    }
}

/// The time to live and the limits of a table whose records expire. All zero for none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_expiry_options {
    /// sizeof(teak_expiry_options).
    pub size: usize,
    /// How long records live that are inserted without an expiry of their own, in milliseconds; 0
    /// for ever.
    pub ttl_ms: u64,
    /// The most records; the oldest ones above are removed. 0 for no limit.
    pub max_records: u64,
    /// The most bytes of keys and values; the oldest records above are removed. 0 for no limit.
    pub max_bytes: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_expiry_options {
    const NAME: &'static str = "teak_expiry_options";
}

pub(crate) fn limit(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

impl teak_expiry_options {
    pub(crate) fn ttl(&self) -> Option<Duration> {
        limit(self.ttl_ms).map(Duration::from_millis)
    }

    pub(crate) fn to_engine(self) -> ExpiryOptions {
        let mut options = ExpiryOptions::new();
        options.ttl = self.ttl();
        options.max_records = limit(self.max_records);
        options.max_bytes = limit(self.max_bytes);
        options
    }
}

/// Counts and settings of a table whose records expire.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct teak_expiry_stat {
    /// sizeof(teak_expiry_stat).
    pub size: usize,
    /// Records that have not expired.
    pub records: u64,
    /// Records that have expired and are not removed yet.
    pub expired: u64,
    /// Bytes of all keys and values, of expired records too.
    pub bytes: u64,
    /// Records that were removed because they had expired.
    pub removed_expired: u64,
    /// Records that were removed because the table was above its limits.
    pub removed_oldest: u64,
    /// When the next record expires, in milliseconds since 1970; TEAK_NEVER_EXPIRES if none does.
    pub next_expiry_ms: u64,
    /// As in teak_expiry_options.
    pub ttl_ms: u64,
    /// As in teak_expiry_options.
    pub max_records: u64,
    /// As in teak_expiry_options.
    pub max_bytes: u64,
}

// SAFETY: it starts with its size, any bytes are a valid value, and there is no padding.
unsafe impl Grows for teak_expiry_stat {
    const NAME: &'static str = "teak_expiry_stat";
}

pub(crate) fn in_ms(time: Option<SystemTime>) -> u64 {
    let ms = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(TEAK_NEVER_EXPIRES)
    };
    time.map_or(TEAK_NEVER_EXPIRES, ms)
}

impl teak_expiry_stat {
    pub(crate) fn new(stat: &ExpiryStat, options: &ExpiryOptions) -> Self {
        let ttl = options
            .ttl
            .map_or(0, |ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        Self {
            size: 0,
            records: stat.records,
            expired: stat.expired,
            bytes: stat.bytes,
            removed_expired: stat.removed_expired,
            removed_oldest: stat.removed_oldest,
            next_expiry_ms: in_ms(stat.next_expiry),
            ttl_ms: ttl,
            max_records: options.max_records.unwrap_or(0),
            max_bytes: options.max_bytes.unwrap_or(0),
        }
    }
}
