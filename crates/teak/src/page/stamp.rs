//! Records of expiring tables, and the keys of their index.
//!
//! A value begins with a stamp:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | expiry: milliseconds since 1970; the greatest number if the record never expires |
//! | 8 | 8 | number: greater than those of all records that were written before |
//!
//! Keys of the index begin with a byte that says what they are. Numbers are big-endian there, so
//! that the entries sort by them:
//!
//! | key | value |
//! |---|---|
//! | 0 | the settings of the table |
//! | 1, expiry, number | the key of a record that expires |
//! | 2, number | the key of a record, in a table that limits how many it keeps |

use super::PageDamage;

/// Length of a stamp.
pub(crate) const STAMP_LEN: usize = 16;
/// Length of the settings of a table.
pub(crate) const SETTINGS_LEN: usize = 64;
/// The expiry of a record that never expires.
pub(crate) const NEVER: u64 = u64::MAX;
/// The key of the settings in the index.
pub(crate) const SETTINGS_KEY: &[u8] = &[0];
/// Before all entries of records that expire.
pub(crate) const BY_TIME: &[u8] = &[1];
/// Before all entries in the order in which the records were written.
pub(crate) const BY_AGE: &[u8] = &[2];
/// After all entries in the order in which the records were written.
pub(crate) const AFTER_BY_AGE: &[u8] = &[3];

/// When a record expires, and when it was written relative to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    pub(crate) expires_ms: u64,
    pub(crate) number: u64,
}

impl Stamp {
    /// Splits a stored value into its stamp and the value of the application.
    #[inline]
    pub(crate) fn split(stored: &[u8]) -> Result<(Self, &[u8]), PageDamage> {
        let (stamp, value) = stored
            .split_first_chunk::<STAMP_LEN>()
            .ok_or(PageDamage("a value of an expiring table has no stamp"))?;
        let stamp = Self {
            expires_ms: u64_at(stamp, 0),
            number: u64_at(stamp, 8),
        };
        Ok((stamp, value))
    }

    /// The stored value.
    pub(crate) fn join(self, value: &[u8]) -> Vec<u8> {
        let mut stored = Vec::with_capacity(STAMP_LEN + value.len());
        stored.extend_from_slice(&self.expires_ms.to_le_bytes());
        stored.extend_from_slice(&self.number.to_le_bytes());
        stored.extend_from_slice(value);
        stored
    }

    /// Whether the record is invisible at a moment.
    #[inline]
    pub(crate) fn is_expired(self, now_ms: u64) -> bool {
        self.expires_ms <= now_ms && self.expires_ms != NEVER
    }

    /// The key of the entry by time, if the record expires.
    pub(crate) fn time_key(self) -> Option<[u8; 17]> {
        (self.expires_ms != NEVER).then(|| {
            let mut key = [BY_TIME[0]; 17];
            key[1..9].copy_from_slice(&self.expires_ms.to_be_bytes());
            key[9..].copy_from_slice(&self.number.to_be_bytes());
            key
        })
    }

    /// The key of the entry by age.
    pub(crate) fn age_key(self) -> [u8; 9] {
        let mut key = [BY_AGE[0]; 9];
        key[1..].copy_from_slice(&self.number.to_be_bytes());
        key
    }

    /// Reads the key of an entry by time.
    pub(crate) fn of_time_key(key: &[u8]) -> Result<Self, PageDamage> {
        match <&[u8; 17]>::try_from(key) {
            Ok(key) if key[0] == BY_TIME[0] => Ok(Self {
                expires_ms: u64::from_be_bytes(chunk(key, 1)),
                number: u64::from_be_bytes(chunk(key, 9)),
            }),
            _ => Err(PageDamage("an entry of an index by time is damaged")),
        }
    }

    /// The lower end of the entries of records that are not expired at a moment.
    pub(crate) fn first_live(now_ms: u64) -> Vec<u8> {
        [BY_TIME, &now_ms.saturating_add(1).to_be_bytes()].concat()
    }
}

/// The settings of an expiring table, which its index stores.
///
/// | offset | size | field |
/// |---|---|---|
/// | 0 | 8 | time to live of records that are inserted without one, in milliseconds; the greatest number for none |
/// | 8 | 8 | most records; the greatest number for no limit |
/// | 16 | 8 | most bytes of keys and values; the greatest number for no limit |
/// | 24 | 8 | records that were removed because they had expired |
/// | 32 | 8 | records that were removed because of the limits |
/// | 40 | 8 | the latest moment at which expired records were removed, in milliseconds since 1970 |
/// | 48 | 16 | zero |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExpirySettings {
    pub(crate) ttl_ms: u64,
    pub(crate) max_records: u64,
    pub(crate) max_bytes: u64,
    pub(crate) removed_expired: u64,
    pub(crate) removed_oldest: u64,
    pub(crate) expired_until_ms: u64,
}

impl Default for ExpirySettings {
    fn default() -> Self {
        Self {
            ttl_ms: NEVER,
            max_records: u64::MAX,
            max_bytes: u64::MAX,
            removed_expired: 0,
            removed_oldest: 0,
            expired_until_ms: 0,
        }
    }
}

impl ExpirySettings {
    /// Whether the index has entries by age.
    pub(crate) fn has_limits(&self) -> bool {
        self.max_records != u64::MAX || self.max_bytes != u64::MAX
    }

    pub(crate) fn encode(&self) -> [u8; SETTINGS_LEN] {
        let mut bytes = [0; SETTINGS_LEN];
        let fields = [
            self.ttl_ms,
            self.max_records,
            self.max_bytes,
            self.removed_expired,
            self.removed_oldest,
            self.expired_until_ms,
        ];
        for (bytes, field) in bytes.chunks_exact_mut(8).zip(fields) {
            bytes.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, PageDamage> {
        let bytes = <&[u8; SETTINGS_LEN]>::try_from(bytes)
            .map_err(|_| PageDamage("the settings of an expiring table have the wrong length"))?;
        Ok(Self {
            ttl_ms: u64_at(bytes, 0),
            max_records: u64_at(bytes, 8),
            max_bytes: u64_at(bytes, 16),
            removed_expired: u64_at(bytes, 24),
            removed_oldest: u64_at(bytes, 32),
            expired_until_ms: u64_at(bytes, 40),
        })
    }
}

#[inline]
fn u64_at<const LEN: usize>(bytes: &[u8; LEN], offset: usize) -> u64 {
    u64::from_le_bytes(chunk(bytes, offset))
}

#[inline]
fn chunk<const LEN: usize>(bytes: &[u8; LEN], offset: usize) -> [u8; 8] {
    bytes[offset..offset + 8].try_into().expect("eight bytes")
}

#[cfg(test)]
#[path = "stamp_tests.rs"]
mod tests;
