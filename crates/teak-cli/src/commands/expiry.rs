//! Reports on tables whose records expire.

use crate::failure::Failure;
use indicatif::{BinaryBytes, HumanCount, HumanDuration};
use serde::Serialize;
use std::time::{Duration, UNIX_EPOCH};
use teak::{ExpiringTable, ReadTxn, TableInfo, Transaction as _, codec::Raw};

/// The part of `teak stat` and `teak tables` that is about a table whose records expire.
#[derive(Clone, Serialize)]
pub(crate) struct ExpiryReport {
    /// Records that have not expired.
    live: u64,
    /// Records that have expired and are not removed yet.
    expired: u64,
    /// Bytes of keys and values, of expired records too.
    bytes: u64,
    removed_expired: u64,
    removed_oldest: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_records: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    /// When the next record expires, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_expiry_ms: Option<u64>,
}

impl ExpiryReport {
    /// The reports on all tables, `None` for those whose records do not expire.
    pub(crate) fn of_all(txn: &ReadTxn, infos: &[TableInfo]) -> Result<Vec<Option<Self>>, Failure> {
        let of = |info: &TableInfo| match info.options.expiring && info.unknown.is_none() {
            true => Self::of(txn, &info.name).map(Some),
            false => Ok(None),
        };
        infos.iter().map(of).collect()
    }

    fn of(txn: &ReadTxn, name: &[u8]) -> Result<Self, Failure> {
        let table: ExpiringTable<Raw, Raw> = txn.open_expiring_table(name)?;
        let (stat, options) = (table.stat(txn)?, table.options(txn)?);
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let next = stat.next_expiry;
        let next = next.map(|time| ms(time.duration_since(UNIX_EPOCH).unwrap_or_default()));
        Ok(Self {
            live: stat.records,
            expired: stat.expired,
            bytes: stat.bytes,
            removed_expired: stat.removed_expired,
            removed_oldest: stat.removed_oldest,
            ttl_ms: options.ttl.map(ms),
            max_records: options.max_records,
            max_bytes: options.max_bytes,
            next_expiry_ms: next,
        })
    }

    /// The report as a part of a line.
    pub(crate) fn in_words(&self) -> String {
        let mut parts = vec![format!("{} expired", HumanCount(self.expired))];
        if let Some(ms) = self.ttl_ms {
            let ttl = Duration::from_millis(ms);
            parts.push(match ttl.as_secs() {
                0 => format!("time to live {ms} ms"),
                _ => format!("time to live {}", HumanDuration(ttl)),
            });
        }
        if let Some(records) = self.max_records {
            parts.push(format!("at most {} records", HumanCount(records)));
        }
        if let Some(bytes) = self.max_bytes {
            parts.push(format!("at most {}", BinaryBytes(bytes)));
        }
        let removed = [
            (self.removed_expired, "had expired"),
            (self.removed_oldest, "were the oldest"),
        ];
        for (count, why) in removed.into_iter().filter(|(count, _)| *count > 0) {
            parts.push(format!("{} removed that {why}", HumanCount(count)));
        }
        format!("expiring: {}", parts.join(", "))
    }
}
