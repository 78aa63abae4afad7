//! The pairs of a load.
//!
//! Invariants: a pair depends only on its number; all pairs are different. Keys and values of
//! consecutive numbers are in random order.

use crate::{
    data::{Digest, Fingerprint, KEY_LEN, PackedSum},
    engines::{FIXED_LEN, MultiPair, PairBatch, VARIABLE_LEN_MAX, ValueKind},
};
use fastrand::Rng;

const ORDER_SEED: u64 = 0x6b69_6e64;
const PER_KEY: u64 = 10;
const VARIABLE_LEN_MIN: u8 = 16;

/// The numbers of keys and of values per key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairShape {
    /// One key with this many values.
    Many(u64),
    /// This many keys with ten values each.
    Ten(u64),
    /// This many keys with one value each.
    One(u64),
}

/// The pairs of a load.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairSet {
    pub(super) shape: PairShape,
    pub(super) values: ValueKind,
}

impl PairSet {
    /// Its name in results.
    pub(super) fn name(&self) -> String {
        let shape = match self.shape {
            PairShape::Many(_) => "many",
            PairShape::Ten(_) => "ten",
            PairShape::One(_) => "one",
        };
        let values = match self.values {
            ValueKind::Fixed => "fixed",
            ValueKind::Variable => "variable",
        };
        format!("{shape}_{values}")
    }

    /// The number of pairs.
    pub(super) fn count(&self) -> u64 {
        match self.shape {
            PairShape::Many(count) | PairShape::One(count) => count,
            PairShape::Ten(keys) => keys * PER_KEY,
        }
    }

    /// The number of values of each key.
    pub(super) fn per_key(&self) -> u64 {
        match self.shape {
            PairShape::Many(count) => count,
            PairShape::Ten(_) => PER_KEY,
            PairShape::One(_) => 1,
        }
    }

    /// A pair.
    pub(super) fn pair(&self, number: u64) -> MultiPair {
        let (key_number, mut key) = (number / self.per_key(), [0; KEY_LEN]);
        let (head, tail) = key.split_at_mut(8);
        head.copy_from_slice(&scattered(key_number).to_be_bytes());
        tail.copy_from_slice(&scattered(!key_number).to_be_bytes());
        let (lead, mut value) = (scattered(number), [0; VARIABLE_LEN_MAX]);
        for (part, lane) in value.chunks_exact_mut(8).zip(0..) {
            part.copy_from_slice(&lead.rotate_left(lane * 8).to_be_bytes());
        }
        let len = match self.values {
            ValueKind::Fixed => FIXED_LEN as u8,
            ValueKind::Variable => VARIABLE_LEN_MIN + (lead % 9) as u8,
        };
        MultiPair::new(key, value, len)
    }

    /// All numbers in random order.
    pub(super) fn random_order(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.count() as u32).collect();
        Rng::with_seed(ORDER_SEED).shuffle(&mut numbers);
        numbers
    }

    /// The numbers of `count` random pairs.
    pub(super) fn some(&self, count: usize) -> Vec<u64> {
        let mut rng = Rng::with_seed(!ORDER_SEED);
        (0..count).map(|_| rng.u64(..self.count())).collect()
    }

    /// Consecutive pairs from the number `from` on. Unless there is only one key, that is the
    /// number of a key's first pair.
    pub(super) fn batch(&self, from: u64, count: u64) -> PairBatch {
        let to = self.count().min(from + count);
        let pairs: Vec<MultiPair> = (from..to).map(|number| self.pair(number)).collect();
        let packed = match self.values {
            ValueKind::Fixed => pairs.iter().flat_map(MultiPair::value).copied().collect(),
            ValueKind::Variable => Vec::new(),
        };
        PairBatch {
            per_key: self.per_key().min(pairs.len() as u64) as usize,
            pairs,
            packed,
        }
    }

    fn all(&self) -> impl Iterator<Item = MultiPair> {
        (0..self.count()).map(|number| self.pair(number))
    }

    /// The bytes of all values and of all keys, each key counted once.
    pub(super) fn data_bytes(&self) -> u64 {
        let values: u64 = self.all().map(|pair| pair.value().len() as u64).sum();
        values + self.count() / self.per_key().max(1) * KEY_LEN as u64
    }

    /// The fingerprint of all pairs.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::default();
        for pair in self.all() {
            fingerprint.add(&pair.key, pair.value());
        }
        fingerprint
    }

    /// The digest of a scan of all pairs.
    pub(super) fn scanned(&self) -> Digest {
        let mut digest = Digest::default();
        for pair in self.all() {
            digest.add_record(&pair.key, pair.value());
        }
        digest
    }

    /// The sum of all values of fixed length.
    pub(super) fn packed(&self) -> PackedSum {
        let mut sum = PackedSum::default();
        for pair in self.all() {
            sum.add(pair.value());
        }
        sum
    }

    /// The digest of the first values of some pairs' keys, which have at most ten values.
    pub(super) fn first_values(&self, numbers: &[u64]) -> Digest {
        let mut digest = Digest::default();
        for number in numbers {
            let first = number - number % self.per_key();
            let values = (first..first + self.per_key()).map(|number| self.pair(number));
            if let Some(pair) = values.min_by(|a, b| a.value().cmp(b.value())) {
                digest.add_value(pair.value());
            }
        }
        digest
    }
}

/// Maps each number to a different one, in random order. Both steps are reversible, because the
/// factors are odd.
fn scattered(number: u64) -> u64 {
    let spread = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (spread ^ spread >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
