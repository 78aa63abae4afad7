//! Tables of several kinds: with several values per key, counted, and plain ones, for operations
//! beyond single insertions and lookups.
//!
//! As in [`Engine`](super::Engine), a method does a whole slice of work, so that the measured calls
//! are direct.

use super::Space;
use crate::data::{Digest, Key, PackedSum, Record};
use anyhow::Result;
use serde::Serialize;

/// Bytes of a value of fixed length.
pub(crate) const FIXED_LEN: usize = 8;
/// Bytes of the longest value of variable length.
pub(crate) const VARIABLE_LEN_MAX: usize = 24;

/// The length of the values of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ValueKind {
    /// Values of 8 bytes, with the size declared in the table.
    Fixed,
    /// Of 16 to 24 bytes.
    Variable,
}

/// The kind of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableKind {
    /// Keys have one value.
    Plain,
    /// One value per key, and a counted table, if the engine has that.
    Counted,
    /// Keys have several values.
    Pairs(ValueKind),
}

/// A key, and one of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MultiPair {
    pub(crate) key: Key,
    bytes: [u8; VARIABLE_LEN_MAX],
    len: u8,
}

impl MultiPair {
    /// A pair whose value is the first `len` of `bytes`.
    pub(crate) fn new(key: Key, bytes: [u8; VARIABLE_LEN_MAX], len: u8) -> Self {
        Self { key, bytes, len }
    }

    /// The value.
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Pairs that are handed over at once.
#[derive(Clone, Debug)]
pub(crate) struct PairBatch {
    /// The pairs; those of a key are adjacent.
    pub(crate) pairs: Vec<MultiPair>,
    /// The number of pairs of each key.
    pub(crate) per_key: usize,
    /// All values, adjacent.
    pub(crate) packed: Vec<u8>,
}

impl PairBatch {
    /// The pairs of each key.
    #[cfg_attr(
        not(any(feature = "lmdb", feature = "mdbx")),
        expect(dead_code, reason = "Teak groups the pairs of a batch itself")
    )]
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[MultiPair]> {
        self.pairs.chunks(self.per_key)
    }
}

/// Records from the first key to before the second one.
pub(crate) type KeyRange = (Key, Key);

/// The way to count the records of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountMethod {
    /// By the call that returns the exact number.
    Exact,
    /// By the call that returns an estimate.
    About,
    /// By moving a cursor over the records.
    Walk,
}

/// A transaction in another one.
#[derive(Clone)]
pub(crate) struct Nested {
    /// The records to insert or replace.
    pub(crate) records: Vec<Record>,
    pub(crate) ending: NestedEnding,
}

/// The end of a nested transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NestedEnding {
    Kept,
    RolledBack,
}

/// An open database with one table of some [`TableKind`]. Methods for tables of another kind fail.
pub(crate) trait KindsEngine {
    /// Inserts pairs in one transaction, by one call each.
    fn insert_pairs(&mut self, pairs: &[MultiPair]) -> Result<()>;

    /// Inserts pairs in one transaction, with the engine's call for many pairs, or else with one
    /// call each.
    fn insert_batch(&mut self, batch: &PairBatch) -> Result<()>;

    /// Looks up the first value of the key of each pair.
    fn first_values(&mut self, pairs: &[MultiPair]) -> Result<Digest>;

    /// Looks up pairs, and returns the number of those that exist.
    fn find_pairs(&mut self, pairs: &[MultiPair]) -> Result<u64>;

    /// Counts the values of the key of each pair, and returns the sum.
    fn count_values(&mut self, pairs: &[MultiPair]) -> Result<u64>;

    /// Scans all pairs or records, one by one.
    fn scan(&mut self) -> Result<Digest>;

    /// Scans all values of fixed length, with as many per call as the engine returns.
    fn scan_packed(&mut self) -> Result<PackedSum>;

    /// Loads records sorted by key in one transaction, with the engine's call for that.
    fn load(&mut self, records: &mut dyn Iterator<Item = Record>) -> Result<()>;

    /// Counts the records of each range; `None` if the engine has no call for that.
    fn count_ranges(
        &mut self,
        counting: CountMethod,
        ranges: &[KeyRange],
    ) -> Result<Option<Vec<u64>>>;

    /// Removes the records of a range in one transaction, and returns their number.
    fn remove_range(&mut self, range: &KeyRange) -> Result<u64>;

    /// Removes all records in one transaction, with the engine's call for that.
    fn clear(&mut self) -> Result<()>;

    /// Runs nested transactions in order, in one outer transaction.
    fn run_nested(&mut self, nested: &[Nested]) -> Result<()>;

    /// Shows all pairs or records in order.
    fn visit(&mut self, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<()>;

    /// The number of pairs or records that the engine stores.
    fn len(&mut self) -> Result<u64>;

    /// The size of the database.
    fn space(&mut self) -> Result<Space>;

    /// Flushes the data that a thread of the engine would flush later.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
}
