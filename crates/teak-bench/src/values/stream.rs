//! The operations: an insertion for a key without a record, otherwise a new value or, one time in
//! three, a removal. In the long run three keys of four have a record.
//!
//! Invariant: the same seed, keys and lengths give the same operations.

use crate::{data::Key, engines::RecordChange};
use fastrand::Rng;
use std::ops::RangeInclusive;

const SEED: u64 = 0x7661_6c75;
/// Bytes that values are cut from: more than caches hold.
const FILLER_LEN: usize = 64 << 20;
/// One of this many operations on a record removes it.
const REMOVED_PART: u32 = 3;

/// The position of a value in the random bytes that values are taken from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FillerSpan {
    start: usize,
    pub(super) len: usize,
}

/// The new state of one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ValueOperation {
    key: usize,
    value: Option<FillerSpan>,
}

/// A stream of operations, with the bytes of their keys and values.
pub(super) struct ValueStream {
    keys: Vec<Key>,
    lens: RangeInclusive<usize>,
    filler: Vec<u8>,
    /// The value of each key after all operations so far.
    values: Vec<Option<FillerSpan>>,
    live_bytes: u64,
    rng: Rng,
}

impl ValueStream {
    /// A stream at its beginning. `lens` are the lengths of values.
    pub(super) fn new(keys: Vec<Key>, lens: RangeInclusive<usize>) -> Self {
        let mut rng = Rng::with_seed(SEED);
        let mut filler = vec![0; FILLER_LEN + lens.end()];
        rng.fill(&mut filler);
        Self {
            values: vec![None; keys.len()],
            keys,
            lens,
            filler,
            live_bytes: 0,
            rng,
        }
    }

    /// The next `count` operations.
    pub(super) fn take(&mut self, count: u64) -> Vec<ValueOperation> {
        (0..count).map(|_| self.operation()).collect()
    }

    fn operation(&mut self) -> ValueOperation {
        let key = self.rng.usize(..self.keys.len());
        let is_removed = self.values[key].is_some() && self.rng.u32(..REMOVED_PART) == 0;
        let value = (!is_removed).then(|| FillerSpan {
            start: self.rng.usize(..FILLER_LEN),
            len: self.rng.usize(self.lens.clone()),
        });
        self.live_bytes += value.map_or(0, |value| self.record_bytes(value));
        let before = std::mem::replace(&mut self.values[key], value);
        self.live_bytes -= before.map_or(0, |value| self.record_bytes(value));
        ValueOperation { key, value }
    }

    fn record_bytes(&self, value: FillerSpan) -> u64 {
        (size_of::<Key>() + value.len) as u64
    }

    /// Bytes of all keys that have a record, and of their values.
    pub(super) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// An operation in the form that engines take.
    pub(super) fn change(&self, operation: &ValueOperation) -> RecordChange<'_> {
        RecordChange {
            key: &self.keys[operation.key],
            value: operation.value.map(|value| self.bytes(value)),
        }
    }

    /// Each key with its value.
    pub(super) fn records(&self) -> impl Iterator<Item = (&Key, Option<&[u8]>)> {
        let values = self.values.iter();
        self.keys
            .iter()
            .zip(values.map(|value| value.map(|value| self.bytes(value))))
    }

    fn bytes(&self, value: FillerSpan) -> &[u8] {
        &self.filler[value.start..value.start + value.len]
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
