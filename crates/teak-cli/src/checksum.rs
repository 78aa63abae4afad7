//! A checksum of a table that does not depend on the order of the records, and from which a record
//! can be taken out again. A load computes the expected contents of a table while it reads the
//! input, in constant memory, and one scan at the end compares.
//!
//! The checksum is the sum of a 64-bit hash of each record. It detects accidental damage: a lost,
//! doubled or changed record, or one under another key.

use crate::engine::AnyTable;
use crate::failure::Failure;
use teak::ReadTxn;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The number of records, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) records: u64,
    sum: u64,
}

impl Checksum {
    /// The checksum of all records of a table.
    pub(crate) fn of_table(txn: &ReadTxn, table: &AnyTable) -> Result<Self, Failure> {
        let mut checksum = Self::default();
        table.for_each(txn, |key, value| {
            checksum.add(key, value);
            Ok(())
        })?;
        Ok(checksum)
    }

    /// Adds a record.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.records += 1;
        self.sum = self.sum.wrapping_add(hash(key, value));
    }

    /// Takes out a record that was added.
    pub(crate) fn remove(&mut self, key: &[u8], value: &[u8]) {
        self.records -= 1;
        self.sum = self.sum.wrapping_sub(hash(key, value));
    }
}

/// The key's hash is the seed of the value's, so that bytes cannot move between the two unnoticed.
fn hash(key: &[u8], value: &[u8]) -> u64 {
    xxh3_64_with_seed(value, xxh3_64(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum(records: &[(&str, &str)]) -> Checksum {
        let mut checksum = Checksum::default();
        for (key, value) in records {
            checksum.add(key.as_bytes(), value.as_bytes());
        }
        checksum
    }

    #[test]
    fn order_does_not_matter_and_everything_else_does() {
        let original = checksum(&[("a", "1"), ("b", "2")]);
        assert_eq!(original, checksum(&[("b", "2"), ("a", "1")]));
        assert_ne!(original, checksum(&[("a", "2"), ("b", "1")]));
        assert_ne!(original, checksum(&[("a1", ""), ("b", "2")]));
        assert_ne!(original, checksum(&[("a", "1"), ("b", "2"), ("b", "2")]));
        assert_ne!(original, checksum(&[("a", "1")]));
    }

    #[test]
    fn a_removed_record_leaves_no_trace() {
        let mut changed = checksum(&[("a", "1"), ("b", "2")]);
        changed.remove(b"a", b"1");
        assert_eq!(changed, checksum(&[("b", "2")]));
    }
}
