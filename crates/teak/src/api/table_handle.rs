//! Table handles, by which a transaction finds a table's root.

use super::{
    codec::Codec,
    kind::{Kind, Multi, Single},
    range_cursor::Source,
    sealed::Sealed,
    table_options::class_text,
};
use crate::{
    Error, Result,
    btree::{RootRef, TableClass, TreeRoot},
    instance::engine::Engine,
    read::{catalog, located::located},
    write::transaction,
};
use std::{fmt, marker::PhantomData, sync::Arc};

/// A handle to a table with keys of codec `K` and values of codec `V`. It is cheap to clone, and
/// every method takes the transaction.
///
/// ```
/// use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let heights = txn.create_table::<&str, u64>("heights")?;
/// heights.insert(&mut txn, "Mont Blanc", 4806)?;
/// heights.insert(&mut txn, "Elbrus", 5642)?;
/// assert!(!heights.insert_new(&mut txn, "Elbrus", 0)?);
/// txn.commit()?;
///
/// let txn = database.begin_read()?;
/// assert_eq!(heights.get(&txn, "Elbrus")?, Some(5642));
/// let all: Vec<_> = heights.iter(&txn)?.collect::<teak::Result<_>>()?;
/// assert_eq!(all, [("Elbrus".into(), 5642), ("Mont Blanc".into(), 4806)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The types are compared with the recorded ones when a table is opened or created, not at each
/// call. If somebody drops the table and creates one of its name with other types, or records
/// [other types](crate::WriteTxn::set_table_types), open it again.
///
/// The third parameter is the [kind](Kind) of the table: a key has one value, or several, as in a
/// [`MultiTable`].
pub struct Table<K, V, M = Single> {
    name: Arc<[u8]>,
    /// The engine that assigned the handle number, and the number.
    engine: u64,
    handle: usize,
    types: PhantomData<Types<K, V, M>>,
}

/// The types of a table handle.
pub(super) type Types<K, V, M> = fn() -> (K, V, M);

/// A handle to a table in which a key has a sorted set of distinct values, of codec `V`. It is
/// cheap to clone, and every method takes the transaction.
///
/// A single value is stored beside its key, as in a [`Table`] of the kind [`Single`]. Several
/// values form a small set there, and many form a tree of their own: access to ten million values
/// of one key is as fast as to ten million keys. The number of values of a key is known without
/// counting. The number of keys is not stored: [`Table::len`] counts pairs of key and value.
///
/// ```
/// use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let lines = txn.create_multi_table::<&str, u32>("lines")?;
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
pub type MultiTable<K, V> = Table<K, V, Multi>;

impl<K, V, M> Clone for Table<K, V, M> {
    fn clone(&self) -> Self {
        self.with_types()
    }
}

impl<K, V, M> fmt::Debug for Table<K, V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &catalog::printable(&self.name))
            .finish()
    }
}

impl<K, V, M> Table<K, V, M> {
    pub(super) fn new(engine: &Arc<Engine>, name: &[u8]) -> Self {
        Self {
            engine: engine.id(),
            handle: engine.handle(name),
            name: name.into(),
            types: PhantomData,
        }
    }

    /// Returns the same table with other types, also of the kind.
    pub(super) fn with_types<K2, V2, M2>(&self) -> Table<K2, V2, M2> {
        Table {
            name: Arc::clone(&self.name),
            engine: self.engine,
            handle: self.handle,
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

    /// Returns a handle to the same table with other types, which are not compared with those that
    /// are recorded. Bytes that the new types cannot decode are [`Error::Decode`]. If the new codec
    /// of keys sorts differently, lookups miss keys, and ranges return the wrong ones.
    ///
    /// ```
    /// # use teak::{Database, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let ages = txn.create_table::<&str, u64>("ages")?;
    /// ages.insert(&mut txn, "Ada", 36)?;
    /// let stored = ages.cast::<&str, Bytes>();
    /// assert_eq!(stored.get(&txn, "Ada")?, Some(&[0, 0, 0, 0, 0, 0, 0, 36][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cast<K2: Codec, V2: Codec>(&self) -> Table<K2, V2, M> {
        self.with_types()
    }

    /// Adds to a damage error which keys of the table are affected.
    #[cold]
    pub(super) fn located<T: Sealed>(
        &self,
        error: Error,
        txn: &T,
        root: &TreeRoot,
        key: Option<&[u8]>,
    ) -> Error {
        located(error, txn.source(), root, &self.name, key)
    }
}

/// The error for a table of another kind than asked for.
#[cold]
pub(super) fn wrong_kind(name: &[u8], stored: TableClass, asked: TableClass) -> Error {
    Error::TableMismatch {
        name: catalog::printable(name),
        stored: class_text(stored).to_owned(),
        asked: class_text(asked).to_owned(),
    }
}

impl<K, V, M: Kind> Table<K, V, M> {
    /// Returns the root of the table, which must be of this kind.
    // Without this, compilers emit a call, which costs a tenth of a lookup.
    #[inline(always)]
    pub(super) fn root<'t, T: Sealed + ?Sized>(&self, txn: &'t T) -> Result<RootRef<'t>> {
        self.of_this_kind(txn.root_of(self.handle(txn), &self.name)?)
    }

    /// Returns the tree of the table. The pages of the root are found in this source only if it is
    /// asked for after the root, which may bring the tree there.
    pub(super) fn tree_of<'t, T: Sealed>(&self, txn: &'t T) -> Result<(Source<'t>, TreeRoot)> {
        let root = *self.root(txn)?;
        Ok((txn.source(), root))
    }

    /// The root, if it is of this kind.
    #[inline(always)]
    pub(super) fn of_this_kind<'t>(&self, root: Option<RootRef<'t>>) -> Result<RootRef<'t>> {
        match root {
            Some(root) if root.kind.class == M::CLASS => Ok(root),
            root => Err(self.missing_table_error(root.map(|root| root.kind.class))),
        }
    }

    #[cold]
    fn missing_table_error(&self, stored: Option<TableClass>) -> Error {
        match stored {
            Some(stored) => wrong_kind(&self.name, stored, M::CLASS),
            None => transaction::not_found(&self.name),
        }
    }
}
