//! Tables in which a key has several values.

mod bulk;
mod copy;
mod count;
mod cursor;
mod differences;
mod owned;
mod point;
mod range;
mod read;
mod write;

pub use cursor::MultiCursor;
pub use differences::{PairDifference, PairDifferences};
pub use owned::{OwnedMultiCursor, OwnedPairs, OwnedValues};
pub use range::{Keys, Pairs, Values};

use super::{Table, WriteTxn, codec::Codec, table::check_key, transaction::sealed::Sealed};
use crate::{
    Error, Result,
    page::key::KeyOrder,
    tree::{PageSource, RootRef, TreeRoot, mutable_tree::Tree},
    txn::{Engine, WritePages},
};
use std::fmt;

/// A handle to a table in which a key has a sorted set of values, of codec `V`, none of them twice. It is cheap to clone, and
/// every method is told the transaction.
///
/// One value stands beside its key as in a [`Table`], several do so as a small set, and many are a tree of their own: ten million
/// values of one key are as near as ten million keys. How many values a key has is known without counting. How many keys there are is
/// not kept: [`MultiTable::len`] counts pairs of key and value.
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
    table: Table<K, V>,
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
    pub(super) fn new(engine: &std::sync::Arc<Engine>, name: &[u8]) -> Self {
        Self {
            table: Table::new(engine, name),
        }
    }

    pub(super) fn handle<T: Sealed + ?Sized>(&self, txn: &T) -> usize {
        self.table.handle(txn)
    }

    pub(super) fn root<'t, T: Sealed + ?Sized>(&self, txn: &'t T) -> Result<RootRef<'t>> {
        self.table.multi_root(txn)
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.table.name()
    }

    /// The same table with other types.
    #[must_use]
    pub fn retype<K2: Codec, V2: Codec>(&self) -> MultiTable<K2, V2> {
        MultiTable {
            table: self.table.retype(),
        }
    }

    /// Changes the table, which must be one in which a key has several values.
    fn change<R>(
        &self,
        txn: &mut WriteTxn,
        change: impl FnOnce(&mut Tree<'_, WritePages>) -> Result<R>,
    ) -> Result<R> {
        self.root(txn)?;
        let handle = self.handle(txn);
        txn.inner.change(handle, self.table.name(), change)
    }
}

/// Refuses pairs that a table cannot hold, one after the other.
struct PairCheck {
    root: TreeRoot,
    page_size: usize,
}

impl PairCheck {
    fn new<K, V>(table: &MultiTable<K, V>, txn: &WriteTxn) -> Result<Self> {
        Ok(Self {
            root: *table.root(txn)?,
            page_size: txn.source().page_size(),
        })
    }

    /// Refuses a pair. The first one of an empty table decides about others.
    fn check(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(&self.root, self.page_size, key)?;
        self.check_value(value)?;
        if self.root.order == KeyOrder::Integer {
            self.root.key_len = key.len() as u16;
        }
        Ok(())
    }

    fn check_value(&mut self, value: &[u8]) -> Result<()> {
        self.root.refuse_value(self.page_size, value)?;
        if self.root.kind.first_decides {
            self.root.kind.value_size = value.len() as u16;
        }
        Ok(())
    }
}

/// Refuses a table whose values have no size in common where they are wanted as one slice.
#[cold]
fn not_packed() -> Error {
    let text = "values are one behind the other only where all have one size; create the table with `TableOptions::value_size`";
    Error::InvalidArgument(text.into())
}
