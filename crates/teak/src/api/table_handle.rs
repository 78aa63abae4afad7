//! Table handles, by which a transaction finds a table's root.

use super::{codec::Codec, sealed::Sealed};
use crate::{
    Error, Result, btree::RootRef, instance::engine::Engine, read::catalog, write::transaction,
};
use std::{fmt, marker::PhantomData, sync::Arc};

/// A handle to a table with keys of codec `K` and values of codec `V`. It is cheap to clone, and
/// every method takes the transaction.
///
/// ```
/// use teak::{Database, codec::{Str, U64}};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let heights = txn.create_table::<Str, U64>("heights")?;
/// heights.insert(&mut txn, "Mont Blanc", 4806)?;
/// heights.insert(&mut txn, "Elbrus", 5642)?;
/// assert!(!heights.insert_new(&mut txn, "Elbrus", 0)?);
/// txn.commit()?;
///
/// let txn = database.begin_read()?;
/// assert_eq!(heights.get(&txn, "Elbrus")?, Some(5642));
/// let all: Vec<_> = heights.iter(&txn)?.collect::<teak::Result<_>>()?;
/// assert_eq!(all, [("Elbrus".to_owned(), 5642), ("Mont Blanc".to_owned(), 4806)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table<K, V> {
    pub(super) name: Arc<[u8]>,
    /// The engine that assigned the handle number, and the number.
    engine: u64,
    handle: usize,
    types: PhantomData<fn() -> (K, V)>,
}

const SEVERAL_VALUES: &str = "a key has several values in it, which `MultiTable` is for";

pub(super) const ONE_VALUE: &str = "a key has one value in it, which `Table` is for";

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            engine: self.engine,
            handle: self.handle,
            types: PhantomData,
        }
    }
}

impl<K, V> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &catalog::printable(&self.name))
            .finish()
    }
}

impl<K, V> Table<K, V> {
    pub(super) fn new(engine: &Arc<Engine>, name: &[u8]) -> Self {
        Self {
            engine: engine.id(),
            handle: engine.handle(name),
            name: name.into(),
            types: PhantomData,
        }
    }

    /// Returns the number by which this transaction's database knows the table. A handle from
    /// another database, or from an earlier opening of this one, is looked up by name.
    #[inline]
    pub(super) fn handle<T: Sealed + ?Sized>(&self, txn: &T) -> usize {
        let engine = txn.engine();
        if engine.id() == self.engine {
            return self.handle;
        }
        engine.handle(&self.name)
    }

    pub(super) fn shared_name(&self) -> Arc<[u8]> {
        Arc::clone(&self.name)
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns the same table with other types.
    #[must_use]
    pub fn retype<K2: Codec, V2: Codec>(&self) -> Table<K2, V2> {
        Table {
            name: Arc::clone(&self.name),
            engine: self.engine,
            handle: self.handle,
            types: PhantomData,
        }
    }

    // Without this, compilers emit a call, which costs a tenth of a lookup.
    #[inline(always)]
    pub(super) fn root<'t, T: Sealed + ?Sized>(&self, txn: &'t T) -> Result<RootRef<'t>> {
        match txn.root_of(self.handle(txn), &self.name)? {
            Some(root) if !root.is_multi() => Ok(root),
            root => Err(self.missing_table_error(root.is_some(), SEVERAL_VALUES)),
        }
    }

    /// Returns the root of the table if a key may have several values in it.
    #[inline]
    pub(super) fn multi_root<'t, T: Sealed + ?Sized>(&self, txn: &'t T) -> Result<RootRef<'t>> {
        match txn.root_of(self.handle(txn), &self.name)? {
            Some(root) if root.is_multi() => Ok(root),
            root => Err(self.missing_table_error(root.is_some(), ONE_VALUE)),
        }
    }

    #[cold]
    fn missing_table_error(&self, exists: bool, detail: &str) -> Error {
        match exists {
            true => self.is_other(detail),
            false => transaction::not_found(&self.name),
        }
    }

    /// The table is of another kind than the handle.
    #[cold]
    pub(super) fn is_other(&self, detail: &str) -> Error {
        Error::TableMismatch {
            name: catalog::printable(&self.name),
            detail: detail.to_owned(),
        }
    }
}
