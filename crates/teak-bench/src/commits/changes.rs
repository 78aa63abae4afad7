//! The changes to commit: alternately a new value for an old key, and a new key.
//!
//! Invariant: old keys come in turn, each time with a value that they never had. Every commit
//! therefore changes something, and the final contents are known, whatever the order of the
//! threads.

use crate::data::{DataSet, Digest, Record, random_key};
use fastrand::Rng;

const NEW_KEY_SEED: u64 = 0x6e65_7720;

/// An endless series of changes to a loaded database.
pub(super) struct ChangeSeries<'d> {
    data: &'d DataSet,
    taken: usize,
    rng: Rng,
    expected: Digest,
}

impl<'d> ChangeSeries<'d> {
    /// Changes to a database that holds `data` in its first version.
    pub(super) fn new(data: &'d DataSet) -> Self {
        Self {
            data,
            taken: 0,
            rng: Rng::with_seed(NEW_KEY_SEED),
            expected: Digest::of_scan(&data.keys),
        }
    }

    /// The next `count` records.
    pub(super) fn take(&mut self, count: usize) -> Vec<Record> {
        (0..count).map(|_| self.next_record()).collect()
    }

    /// The digest of a scan when all changes taken so far are committed.
    pub(super) fn expected(&self) -> Digest {
        self.expected
    }

    fn next_record(&mut self) -> Record {
        let (turn, is_new) = (self.taken / 2, self.taken % 2 == 1);
        self.taken += 1;
        let keys = &self.data.keys;
        let record = if is_new {
            Record::new(random_key(&mut self.rng), 0)
        } else {
            let (key, version) = (keys[turn % keys.len()], (turn / keys.len()) as u64);
            self.expected.remove_record(&Record::new(key, version));
            Record::new(key, version + 1)
        };
        self.expected.add_record(&record.key, &record.value);
        record
    }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
