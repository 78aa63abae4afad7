//! How much of a database that may be anything is tried.

use crate::TableInfo;

/// Records that are read of a table: a tree that is no tree may have any number.
pub(super) const RECORDS_MAX: usize = 2000;

/// One in so many keys is looked for in all ways that there are.
pub(super) const KEY_STEP: usize = 9;

/// The tables that can be opened.
pub(super) fn known(mut tables: Vec<TableInfo>) -> Vec<TableInfo> {
    tables.retain(|info| info.unknown.is_none());
    tables
}
