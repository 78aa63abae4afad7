//! The handle to a multi-value table.

use crate::{
    Result,
    api::{codec::Codec, sealed::Sealed, table_handle::Table},
    btree::RootRef,
    instance::engine::Engine,
};
use std::fmt;

/// A handle to a table in which a key has a sorted set of distinct values, of codec `V`. It is
/// cheap to clone, and every method takes the transaction.
///
/// A single value is stored beside its key, as in a [`Table`]. Several values form a small set
/// there, and many form a tree of their own: access to ten million values of one key is as fast as
/// to ten million keys. The number of values of a key is known without counting. The number of keys
/// is not stored: [`MultiTable::len`] counts pairs of key and value.
///
/// ```
/// use teak::{Database, codec::{Str, U32}};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let lines = txn.create_multi_table::<Str, U32>("lines")?;
/// lines.insert(&mut txn, "teak", 12)?;
/// lines.insert(&mut txn, "teak", 3)?;
/// lines.insert(&mut txn, "oak", 7)?;
/// assert!(!lines.insert(&mut txn, "teak", 12)?, "the pair is there");
/// txn.commit()?;
///
/// let txn = database.begin_read()?;
/// assert_eq!(lines.count(&txn, "teak")?, 2);
/// assert_eq!(lines.values(&txn, "teak")?.collect::<teak::Result<Vec<_>>>()?, [3, 12]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MultiTable<K, V> {
    pub(super) table: Table<K, V>,
}

impl<K, V> Clone for MultiTable<K, V> {
    fn clone(&self) -> Self {
        Self {
            table: self.table.clone(),
        }
    }
}

impl<K, V> fmt::Debug for MultiTable<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiTable")
            .field("name", &String::from_utf8_lossy(self.table.name()))
            .finish()
    }
}

impl<K, V> MultiTable<K, V> {
    pub(in crate::api) fn new(engine: &std::sync::Arc<Engine>, name: &[u8]) -> Self {
        Self {
            table: Table::new(engine, name),
        }
    }

    pub(in crate::api) fn handle<T: Sealed + ?Sized>(&self, txn: &T) -> usize {
        self.table.handle(txn)
    }

    pub(in crate::api) fn root<'t, T: Sealed + ?Sized>(&self, txn: &'t T) -> Result<RootRef<'t>> {
        self.table.multi_root(txn)
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.table.name()
    }

    /// Returns the same table with other types.
    #[must_use]
    pub fn retype<K2: Codec, V2: Codec>(&self) -> MultiTable<K2, V2> {
        MultiTable {
            table: self.table.retype(),
        }
    }
}
