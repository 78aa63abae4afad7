//! The parts of `kinds`, by name.

use clap::ValueEnum;

/// A part that can be run by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindsPart {
    /// Many values under one key.
    Many,
    /// Ten values under each of many keys.
    Ten,
    /// One value under each of many keys.
    One,
    /// Counts of the records in ranges.
    Ranges,
    /// Removal of a range of records.
    Removal,
    /// Nested transactions, of which half are rolled back.
    Nested,
}
