//! Handles of Teak's tables, of both kinds.

use teak::{MultiTable, Table, codec::Bytes};

pub(super) type PlainTable = Table<Bytes, Bytes>;

pub(super) type ValueTable = MultiTable<Bytes, Bytes>;

/// The handle of a table. It may outlive the table, and the opening that made it.
pub(super) enum TableHandle {
    Plain(PlainTable),
    Multi(ValueTable),
}
