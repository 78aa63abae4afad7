//! The tables to test.

use super::collector::FindingCollector;
use teak::{Table, TableInfo, Transaction, codec::Raw};

/// The number of tables to read and change. In a larger catalog they are chosen at random.
const TABLES_MAX: usize = 5;

/// The tables that can be opened; a few of them if there are many.
pub(super) fn some_tables(
    collector: &mut FindingCollector<'_>,
    txn: &impl Transaction,
) -> Vec<TableInfo> {
    let mut tables = all_tables(collector, txn);
    tables.retain(|info| !info.options.expiring);
    while tables.len() > TABLES_MAX {
        tables.swap_remove(collector.rng.usize(0..tables.len()));
    }
    tables
}

/// All tables that can be opened, also those whose records expire.
pub(super) fn all_tables(
    collector: &mut FindingCollector<'_>,
    txn: &impl Transaction,
) -> Vec<TableInfo> {
    let Some(mut tables) = collector.note("the tables", txn.tables()) else {
        return Vec::new();
    };
    tables.retain(|info| info.unknown.is_none() && info.missing_comparisons.is_empty());
    tables
}

pub(super) type Plain = Table<Raw, Raw>;
