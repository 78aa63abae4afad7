//! Handles of Teak's tables, of both kinds.

use teak::{MultiTable, Table, codec::Raw};

pub(super) type PlainTable = Table<Raw, Raw>;

pub(super) type ValueTable = MultiTable<Raw, Raw>;

/// The handle of a table. It may outlive the table, and the opening that made it.
pub(super) enum TableHandle {
    Plain(PlainTable),
    Multi(ValueTable),
}
