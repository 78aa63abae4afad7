//! The facts about a table that are known without reading its records.

use super::table_options::TableOptions;
use crate::{
    TableTypes, TransactionId, btree::TreeRoot, page::key::KeyOrder, read::catalog::CatalogEntry,
    types::TypeNames,
};

/// A table's name, options and counts.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TableInfo {
    /// Its name: any bytes.
    pub name: Vec<u8>,
    /// The options it was created with.
    pub options: TableOptions,
    /// The names of its types, if they are recorded.
    pub types: TableTypes,
    /// Its counts.
    pub stat: TableStat,
    /// The attributes that this version does not know, as text, if a newer version created it. The
    /// table cannot be opened or dropped then. Its options and counts are unknown, and the fields
    /// here have no meaning.
    pub unknown: Option<String>,
    /// Names of comparisons that the table needs and that the database was not opened with. The
    /// table can be dropped then, but not opened; the order in its options is a comparison without
    /// a name.
    pub missing_comparisons: Vec<String>,
}

/// Counts of a table. None of them requires a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TableStat {
    /// Records; in a [`MultiTable`](crate::MultiTable), pairs of key and value.
    pub records: u64,
    /// Levels of pages; 0 in an empty table.
    pub depth: u8,
    /// Inner pages.
    pub inner_pages: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Pages of large values.
    pub value_pages: u64,
    /// The last transaction that changed a record.
    pub changed: TransactionId,
    /// The next number of its sequence; see [`Table::draw_sequence`](crate::Table::draw_sequence).
    pub sequence: u64,
}

impl TableInfo {
    pub(super) fn new(name: &[u8], entry: &CatalogEntry, types: TypeNames<'_>) -> Self {
        let nothing = TreeRoot::new(KeyOrder::Bytes, true, false, 0);
        let root = entry.root().unwrap_or(&nothing);
        let (unknown, missing) = match entry {
            CatalogEntry::Table(_) | CatalogEntry::Dropped(_) => (None, &[][..]),
            CatalogEntry::Unordered(_, missing) => (None, &missing[..]),
            CatalogEntry::Unknown(unknown) => (Some(unknown.feature.to_owned()), &[][..]),
        };
        Self {
            name: name.to_vec(),
            options: TableOptions::of_root(root),
            types: types.into(),
            stat: TableStat::new(root),
            unknown,
            missing_comparisons: missing.to_vec(),
        }
    }
}

impl TableStat {
    pub(super) fn new(root: &TreeRoot) -> Self {
        Self {
            records: root.records,
            depth: root.depth,
            inner_pages: u64::from(root.inner_pages),
            leaf_pages: u64::from(root.leaf_pages),
            value_pages: root.value_pages,
            changed: root.changed,
            sequence: root.sequence,
        }
    }
}
