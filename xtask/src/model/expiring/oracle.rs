//! The model of an expiring table: a map with expiries and ages.

use crate::campaign::ms_of;
use std::{collections::BTreeMap, sync::Arc};
use teak::Expiry;

/// A key of an expiring table.
pub(super) type ExpiringKey = Vec<u8>;

/// A record of the model.
#[derive(Clone, Debug)]
pub(super) struct ExpiringRecord {
    pub(super) value: Arc<[u8]>,
    pub(super) expires_ms: Option<u64>,
    /// Greater than that of all records that were inserted before.
    age_rank: u64,
}

/// An expiring table of the model.
#[derive(Clone, Default, Debug)]
pub(super) struct ExpiringOracle {
    /// Those that have expired may be missing in the table.
    records: BTreeMap<ExpiringKey, ExpiringRecord>,
    pub(super) limits: ExpiringLimits,
    next_rank: u64,
}

/// The time to live and the limits of a table.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ExpiringLimits {
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) max_records: Option<u64>,
    pub(crate) max_bytes: Option<u64>,
}

impl ExpiringOracle {
    pub(super) fn new(limits: ExpiringLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// The time at which a record expires that is inserted now.
    pub(super) fn expires_ms(&self, expiry: Expiry, now_ms: u64) -> Option<u64> {
        match expiry {
            Expiry::Default => self.limits.ttl_ms.map(|ttl| now_ms + ttl),
            Expiry::Never => None,
            Expiry::After(after) => Some(now_ms + after.as_millis() as u64),
            Expiry::At(time) => Some(ms_of(time)),
        }
    }

    /// The records that have not expired.
    pub(super) fn live(&self, now_ms: u64) -> BTreeMap<&[u8], &ExpiringRecord> {
        let live = self
            .records
            .iter()
            .filter(|(_, record)| record.is_live(now_ms));
        live.map(|(key, record)| (&key[..], record)).collect()
    }

    /// The record of a key, if it has not expired.
    pub(super) fn live_record(&self, key: &[u8], now_ms: u64) -> Option<&ExpiringRecord> {
        self.records
            .get(key)
            .filter(|record| record.is_live(now_ms))
    }

    pub(super) fn insert(&mut self, key: &[u8], value: Arc<[u8]>, expires_ms: Option<u64>) {
        let record = ExpiringRecord {
            value,
            expires_ms,
            age_rank: self.next_rank,
        };
        self.next_rank += 1;
        self.records.insert(key.to_vec(), record);
    }

    pub(super) fn set_expiry(&mut self, key: &[u8], expires_ms: Option<u64>) {
        if let Some(record) = self.records.get_mut(key) {
            record.expires_ms = expires_ms;
        }
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        self.records.remove(key);
    }

    pub(super) fn clear(&mut self) {
        self.records.clear();
    }

    pub(super) fn remove_expired(&mut self, now_ms: u64) {
        self.records.retain(|_, record| record.is_live(now_ms));
    }

    /// Whether there is a limit of records or bytes.
    pub(super) fn is_limited(&self) -> bool {
        self.limits.max_records.is_some() || self.limits.max_bytes.is_some()
    }

    /// Removes the records that the table removes to stay within its limits: those that have
    /// expired, and then the oldest.
    pub(super) fn enforce_limits(&mut self, now_ms: u64) {
        while self.is_over_limit() {
            let records = || self.records.iter();
            let expired = records().filter(|(_, record)| !record.is_live(now_ms));
            let first = expired.min_by_key(|(_, record)| (record.expires_ms, record.age_rank));
            let oldest = || records().min_by_key(|(_, record)| record.age_rank);
            let Some((key, _)) = first.or_else(oldest) else {
                return;
            };
            let key = key.clone();
            self.records.remove(&key);
        }
    }

    fn is_over_limit(&self) -> bool {
        let is_above = |count: usize, max: Option<u64>| max.is_some_and(|max| count as u64 > max);
        let lens = self.records.iter();
        let bytes = lens
            .map(|(key, record)| key.len() + record.value.len())
            .sum();
        is_above(self.records.len(), self.limits.max_records)
            || is_above(bytes, self.limits.max_bytes)
    }
}

impl ExpiringRecord {
    fn is_live(&self, now_ms: u64) -> bool {
        self.expires_ms.is_none_or(|expires| now_ms < expires)
    }
}
