//! Entries: what was written for a key, and when.

use super::parser::Parser;
use crate::bytes::PageSlice;
use std::cmp::Ordering;

/// Bytes of the sequence number and the kind at the end of an internal key.
const VERSION_LEN: usize = 8;
/// Kinds of entries.
const DELETION: u8 = 0;
const VALUE: u8 = 1;

/// The sequence number of an entry, and whether it has a value or deletes its key.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct EntryVersion(u64);

impl EntryVersion {
    /// `None` if the kind is unknown.
    pub(super) fn new(sequence: u64, kind: u8) -> Option<Self> {
        Self::of_number(sequence << 8 | u64::from(kind))
    }

    /// The version of a value.
    pub(super) fn of_value(sequence: u64) -> Self {
        Self(sequence << 8 | u64::from(VALUE))
    }

    pub(super) fn of_number(number: u64) -> Option<Self> {
        let kind = number as u8;
        matches!(kind, DELETION | VALUE).then_some(Self(number))
    }

    pub(super) fn number(self) -> u64 {
        self.0
    }

    pub(super) fn has_value(self) -> bool {
        self.0 as u8 == VALUE
    }
}

/// Splits an internal key into the key and its version.
pub(super) fn split_internal(key: &[u8]) -> Option<(&[u8], EntryVersion)> {
    let (key, version) = key.split_at_checked(key.len().checked_sub(VERSION_LEN)?)?;
    Some((key, EntryVersion::of_number(Parser(version).u64()?)?))
}

/// An entry of a run.
#[derive(Debug, Default)]
pub(super) struct LevelDbEntry {
    pub(super) key: Vec<u8>,
    pub(super) version: EntryVersion,
    /// Empty if the entry deletes its key.
    pub(super) value: PageSlice,
}

/// The order of runs: by key, and the newest entry of a key first.
pub(super) fn compare(left: (&[u8], EntryVersion), right: (&[u8], EntryVersion)) -> Ordering {
    left.0.cmp(right.0).then_with(|| right.1.cmp(&left.1))
}
