//! Handles of Teak's tables, of both kinds.

use teak::{MultiTable, Table, codec::Bytes};

pub(super) type PlainTable = Table<Bytes, Bytes>;

pub(super) type ValueTable = MultiTable<Bytes, Bytes>;

/// The handle of a table. It outlives the table, and the opening that it was made in.
pub(super) enum TableHandle {
    Plain(PlainTable),
    Multi(ValueTable),
}
