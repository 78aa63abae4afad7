//! The records that every engine gets.
//!
//! Invariants: the same number of records gives the same keys in the same order in each run. A
//! value depends only on its key and version, so everything read can be checked without a second
//! copy.

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

/// Bytes of a key.
pub(crate) const KEY_LEN: usize = 16;
/// Bytes of a value.
pub(crate) const VALUE_LEN: usize = 100;
/// Bytes of a record: its key and its value.
pub(crate) const RECORD_LEN: usize = KEY_LEN + VALUE_LEN;

const KEY_SEED: u64 = 0x7465_616b;
const LOOKUP_SEED: u64 = 0x6c6f_6f6b;
const CHANGE_SEED: u64 = 0x6368_616e;
const LOOKUP_COUNT_MAX: usize = 1_000_000;

/// A key: random bytes.
pub(crate) type Key = [u8; KEY_LEN];
/// A value: bytes that do not compress.
pub(crate) type Value = [u8; VALUE_LEN];

/// A key and its value.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    pub(crate) key: Key,
    pub(crate) value: Value,
}

impl Record {
    /// The record of `key`; another `version` has another value.
    pub(crate) fn new(key: Key, version: u64) -> Self {
        let (head, tail) = key.split_at(8);
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
        };
        let mut value = [0; VALUE_LEN];
        Rng::with_seed(number(head) ^ number(tail).rotate_left(32) ^ version).fill(&mut value);
        Self { key, value }
    }
}

/// A digest of the results of reads. It differs if a read returned a wrong result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest {
    count: u64,
    sum: u64,
}

impl Digest {
    /// Counts a lookup's value.
    #[inline]
    pub(crate) fn add_value(&mut self, value: &[u8]) {
        self.count += 1;
        self.sum += u64::from(value.first().copied().unwrap_or_default());
    }

    /// Adds another digest.
    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Adds a record of a scan: a byte of key and value, and their lengths.
    #[inline]
    pub(crate) fn add_record(&mut self, key: &[u8], value: &[u8]) {
        self.add_value(value);
        self.sum += u64::from(key.last().copied().unwrap_or_default());
        self.sum += (key.len() + value.len()) as u64;
    }

    /// Removes a record that was added.
    pub(crate) fn remove_record(&mut self, record: &Record) {
        self.remove(&record.key, &record.value);
    }

    /// Removes a record of any length.
    pub(crate) fn remove(&mut self, key: &[u8], value: &[u8]) {
        let mut removed = Self::default();
        removed.add_record(key, value);
        self.count -= removed.count;
        self.sum -= removed.sum;
    }

    /// The digest of looking up `keys` in their first versions.
    pub(crate) fn of_lookups(keys: &[Key]) -> Self {
        let mut digest = Self::default();
        for key in keys {
            digest.add_value(&Record::new(*key, 0).value);
        }
        digest
    }

    /// The digest of scanning `keys` in their first versions.
    pub(crate) fn of_scan(keys: &[Key]) -> Self {
        let mut digest = Self::default();
        for key in keys {
            digest.add_record(key, &Record::new(*key, 0).value);
        }
        digest
    }
}

/// The sum of values of 8 bytes, as integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackedSum {
    count: u64,
    sum: u64,
}

impl PackedSum {
    /// Adds consecutive values.
    #[inline]
    pub(crate) fn add(&mut self, values: &[u8]) {
        let (values, _) = values.as_chunks();
        self.count += values.len() as u64;
        for value in values {
            self.sum = self.sum.wrapping_add(u64::from_le_bytes(*value));
        }
    }
}

/// A fingerprint of the records of a state. Different records have different fingerprints, except
/// with negligible probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    count: u64,
    /// The sum of the hashes of all records.
    sum: u64,
}

impl Fingerprint {
    /// The fingerprint of `records`.
    pub(crate) fn of(records: impl Iterator<Item = Record>) -> Self {
        let mut fingerprint = Self::default();
        for record in records {
            fingerprint.add(&record.key, &record.value);
        }
        fingerprint
    }

    /// Counts a record.
    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash(key, value));
    }

    /// Removes a record that was added.
    pub(crate) fn remove(&mut self, record: &Record) {
        self.count -= 1;
        self.sum = self.sum.wrapping_sub(hash(&record.key, &record.value));
    }
}

#[inline]
fn hash(key: &[u8], value: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(key), value)
}

/// The keys of a run.
pub(crate) struct DataSet {
    /// Every key, in random order.
    pub(crate) keys: Vec<Key>,
    /// Keys to look up, in an order unrelated to that of the load.
    pub(crate) lookups: Vec<Key>,
}

impl DataSet {
    /// The keys of a run over `count` records.
    pub(crate) fn new(count: usize) -> Self {
        let mut rng = Rng::with_seed(KEY_SEED);
        let keys: Vec<Key> = (0..count).map(|_| random_key(&mut rng)).collect();
        let lookups = pick(&keys, count.min(LOOKUP_COUNT_MAX));
        Self { keys, lookups }
    }

    /// Bytes of all keys and values.
    pub(crate) fn bytes(&self) -> u64 {
        (self.keys.len() * RECORD_LEN) as u64
    }

    /// `count` records to write: alternately a new value for an old key, and a new key. Each
    /// `round` has different ones.
    pub(crate) fn changes(&self, round: u64, count: usize) -> Vec<Record> {
        let mut rng = Rng::with_seed(CHANGE_SEED ^ round << 32);
        (0..count)
            .map(|index| match self.keys.get(rng.usize(..self.keys.len())) {
                Some(key) if index % 2 == 0 => Record::new(*key, round + 1),
                _ => Record::new(random_key(&mut rng), 0),
            })
            .collect()
    }
}

/// A key that differs from all others, except with negligible probability.
pub(crate) fn random_key(rng: &mut Rng) -> Key {
    rng.u128(..).to_be_bytes()
}

/// `count` different keys of `keys`, shuffled: one from each of `count` parts of equal length.
fn pick(keys: &[Key], count: usize) -> Vec<Key> {
    let mut rng = Rng::with_seed(LOOKUP_SEED);
    let stretch = keys.len() / count.max(1);
    let mut picked: Vec<Key> = keys
        .chunks(stretch.max(1))
        .take(count)
        .map(|chunk| chunk[0])
        .collect();
    rng.shuffle(&mut picked);
    picked
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
