//! The records of a run, and the expected results of reading them.
//!
//! Invariants: the existing records have the numbers from `first` up to `end`. A record depends
//! only on its number and version, so a process knows the expected results and keeps one byte per
//! record.

use super::keys::Keys;
use crate::{
    data::Digest,
    engines::store::{RecordBatches, StorePair},
};
use fastrand::Rng;
use std::{
    ops::Range,
    time::{Duration, Instant},
};

const VALUE_SEED: u64 = 0x7661_6c75;

/// The expected contents of the database.
pub(super) struct DatabaseModel {
    pub(super) keys: Keys,
    pub(super) value_len: usize,
    first: u64,
    versions: Vec<u8>,
}

impl DatabaseModel {
    /// Versions of records that do not exist yet.
    pub(super) fn new(keys: Keys, value_len: usize) -> Self {
        Self {
            keys,
            value_len,
            first: 0,
            versions: Vec::new(),
        }
    }

    /// Replaces all records by `count` new ones.
    pub(super) fn load(&mut self, count: u64) {
        self.first = 0;
        self.versions = vec![0; count as usize];
    }

    /// The numbers of the existing records.
    pub(super) fn live(&self) -> Range<u64> {
        self.first..self.versions.len() as u64
    }

    /// The number of a random existing record.
    pub(super) fn pick(&self, rng: &mut Rng) -> u64 {
        rng.u64(self.live())
    }

    /// Adds the next record, and returns its number.
    pub(super) fn insert(&mut self) -> u64 {
        self.versions.push(0);
        self.versions.len() as u64 - 1
    }

    /// Gives a record a new version.
    pub(super) fn update(&mut self, number: u64) {
        let version = &mut self.versions[number as usize];
        *version = version.wrapping_add(1);
    }

    /// Removes the oldest record, and returns its number.
    pub(super) fn remove(&mut self) -> u64 {
        self.first += 1;
        self.first - 1
    }

    /// Adds the expected result of looking up a record.
    pub(super) fn add_found(&self, number: u64, digest: &mut Digest) {
        let head = self.rng(number).u64(..).to_le_bytes();
        digest.add_value(&head[..self.value_len.min(head.len())]);
    }

    /// The expected digest of a scan of everything.
    pub(super) fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        let (mut key, mut value) = (Vec::new(), vec![0; self.value_len]);
        for number in self.live() {
            key.clear();
            self.keys.add(number, &mut key);
            let head = self.rng(number).u64(..).to_le_bytes();
            let len = self.value_len.min(head.len());
            value[..len].copy_from_slice(&head[..len]);
            digest.add_record(&key, &value);
        }
        digest
    }

    /// Bytes of the keys and values of all records.
    pub(super) fn data_bytes(&self) -> u64 {
        let mut key = Vec::new();
        let lens = self.live().map(|number| {
            key.clear();
            self.keys.add(number, &mut key);
            (key.len() + self.value_len) as u64
        });
        lens.sum()
    }

    /// The approximate memory of this value in bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        self.versions.len() as u64 + self.keys.held_bytes()
    }

    /// Appends a record's present value to `target`.
    fn add_value(&self, number: u64, target: &mut Vec<u8>) {
        let mut rng = self.rng(number);
        let (begin, head) = (target.len(), rng.u64(..).to_le_bytes());
        target.extend(&head[..self.value_len.min(head.len())]);
        target.resize(begin + self.value_len, 0);
        if let Some(rest) = target.get_mut(begin + head.len()..) {
            rng.fill(rest);
        }
    }

    fn rng(&self, number: u64) -> Rng {
        let version = self.versions.get(number as usize).copied();
        let version = u64::from(version.unwrap_or_default());
        Rng::with_seed(number ^ VALUE_SEED << 24 ^ version << 56)
    }
}

/// Adjacent keys and values, made before the clock starts.
#[derive(Default)]
pub(super) struct RecordBlock {
    bytes: Vec<u8>,
    /// The end of each key and of each value.
    ends: Vec<(usize, usize)>,
}

impl RecordBlock {
    /// Adds a record with its present value.
    pub(super) fn add(&mut self, model: &DatabaseModel, number: u64) {
        model.keys.add(number, &mut self.bytes);
        let key_end = self.bytes.len();
        model.add_value(number, &mut self.bytes);
        self.ends.push((key_end, self.bytes.len()));
    }

    /// Adds a key without a value.
    pub(super) fn add_key(&mut self, model: &DatabaseModel, number: u64) {
        model.keys.add(number, &mut self.bytes);
        self.ends.push((self.bytes.len(), self.bytes.len()));
    }

    /// Adds a key that no record has.
    pub(super) fn add_missing(&mut self, model: &DatabaseModel, number: u64) {
        model.keys.add_missing(number, &mut self.bytes);
        self.ends.push((self.bytes.len(), self.bytes.len()));
    }

    /// Adds a record that is not in the model.
    pub(super) fn add_pair(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend(key);
        let key_end = self.bytes.len();
        self.bytes.extend(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// The records, in the order in which they were added.
    pub(super) fn pairs(&self) -> Vec<StorePair<'_>> {
        let mut begin = 0;
        let pairs = self.ends.iter().map(|&(key_end, end)| {
            let pair = (&self.bytes[begin..key_end], &self.bytes[key_end..end]);
            begin = end;
            pair
        });
        pairs.collect()
    }

    /// Their keys.
    pub(super) fn keys(&self) -> Vec<&[u8]> {
        self.pairs().into_iter().map(|(key, _)| key).collect()
    }
}

/// The records of a model, made in batches; the time for that is not the engine's.
pub(super) struct RecordStream<'m> {
    model: &'m DatabaseModel,
    numbers: Range<u64>,
    block: RecordBlock,
    pub(super) build_time: Duration,
}

impl<'m> RecordStream<'m> {
    /// All existing records, in the order of their numbers.
    pub(super) fn new(model: &'m DatabaseModel) -> Self {
        Self {
            model,
            numbers: model.live(),
            block: RecordBlock::default(),
            build_time: Duration::ZERO,
        }
    }
}

impl RecordBatches for RecordStream<'_> {
    fn next_batch(&mut self, most: usize) -> Option<Vec<StorePair<'_>>> {
        let begin = Instant::now();
        self.block.clear();
        for number in self.numbers.by_ref().take(most) {
            self.block.add(self.model, number);
        }
        let pairs = self.block.pairs();
        self.build_time += begin.elapsed();
        (!pairs.is_empty()).then_some(pairs)
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
