//! Differences between two states.

// The sealed trait uses types of lower layers, which users cannot name.
#![allow(private_interfaces)]

use super::{
    Range, ReadTxn, Table,
    codec::Codec,
    difference::Difference,
    kind::{Kind, Single},
    range_cursor::TreeState,
    sealed::Sealed,
    table_handle::wrong_kind,
};
use crate::{
    Error, Result,
    btree::{
        TreeRoot,
        differences::{ChangeKind, DifferenceWalk},
    },
    instance::engine::Engine,
    maintain::dropped,
    page::{comparison::Comparisons, key::KeyOrder},
    read::{catalog, located::located},
    write::transaction,
};
use std::{fmt, marker::PhantomData, ops::Bound, sync::Arc};

/// The records in which two states of a table differ, in their order; see [`Table::differences`].
pub struct Differences<'t, K, V, M: Kind = Single> {
    walk: M::Walk<'t>,
    name: Arc<[u8]>,
    is_done: bool,
    types: PhantomData<fn() -> (K, V)>,
}

impl<'t, K: Codec, V: Codec, M: Kind> Iterator for Differences<'t, K, V, M> {
    type Item = Result<Difference<K::Owned, M::Value<'t, V>>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let found = M::next_difference::<K, V>(&mut self.walk);
        self.is_done = !matches!(found, Ok(Some(_)));
        found.map_err(|error| self.located(error)).transpose()
    }
}

impl<K, V, M: Kind> Differences<'_, K, V, M> {
    /// Adds to a damage error which keys of the table are affected.
    #[cold]
    fn located(&self, error: Error) -> Error {
        let (source, root, key) = M::fault(&self.walk);
        located(error, source, root, &self.name, Some(key))
    }
}

impl<K, V, M: Kind> fmt::Debug for Differences<'_, K, V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Differences")
            .field("is_done", &self.is_done)
            .finish_non_exhaustive()
    }
}

impl<K: Codec, V: Codec, M: Kind> Range<'_, K, V, M> {
    /// Like [`Table::differences`], for the records of the range.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let older = database.begin_read()?;
    /// # let mut txn = database.begin_write()?;
    /// # let counts = txn.create_table::<&str, u64>("counts")?;
    /// # counts.insert_many(&mut txn, &[("ash", 1), ("oak", 2), ("teak", 3)])?;
    /// # txn.commit()?;
    /// # let newer = database.begin_read()?;
    /// assert_eq!(counts.range("b".."p").differences(&older, &newer)?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if neither state has the table; [`Error::TableMismatch`] if it is
    /// of the other kind; [`Error::InvalidArgument`] if the states belong to two databases, if the
    /// table was dropped and created again with other orders in between, or if a bound is an
    /// integer of another length than the keys or the values; [`Error::Corrupted`] or
    /// [`Error::Decode`].
    pub fn differences<'t>(
        &self,
        older: &'t ReadTxn,
        newer: &'t ReadTxn,
    ) -> Result<Differences<'t, K, V, M>> {
        let [older, newer] = self.table.states(older, newer)?;
        self.check(&older.1)?;
        self.check(&newer.1)?;
        Ok(Differences {
            walk: M::walk([older, newer], self.low(), self.high()),
            name: self.table.shared_name(),
            is_done: false,
            types: PhantomData,
        })
    }
}

impl<K: Codec, V: Codec, M: Kind> Table<K, V, M> {
    /// Returns the records in which two states differ, in the order of [`Table::iter`]. Subtrees
    /// that the states share are not read, neither those of keys nor those of the values of a key.
    /// So the time depends on the number of changes, not on the size of the table. A state without
    /// the table counts as one in which the table is empty.
    ///
    /// The states may be given in reverse order: inserted records then count as removed.
    ///
    /// ```
    /// # use teak::{Database, Difference::{Changed, Inserted, Removed}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u64>("counts")?;
    /// counts.insert_many(&mut txn, &[("ash", 1), ("oak", 2), ("teak", 3)])?;
    /// txn.commit()?;
    /// let older = database.begin_read()?;
    ///
    /// let mut txn = database.begin_write()?;
    /// counts.insert(&mut txn, "elm", 7)?;
    /// counts.insert(&mut txn, "oak", 5)?;
    /// counts.remove(&mut txn, "teak")?;
    /// txn.commit()?;
    /// let newer = database.begin_read()?;
    ///
    /// let differences: Vec<_> = counts.differences(&older, &newer)?.collect::<teak::Result<_>>()?;
    /// assert_eq!(differences, [
    ///     Inserted { key: "elm".into(), value: 7 },
    ///     Changed { key: "oak".into(), old: 2, new: 5 },
    ///     Removed { key: "teak".into(), value: 3 },
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// In a multi-value table the records are pairs:
    ///
    /// ```
    /// # use teak::{Database, Difference::{Inserted, Removed}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u64>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 7), ("teak", 3), ("teak", 12)])?;
    /// txn.commit()?;
    /// let older = database.begin_read()?;
    ///
    /// let mut txn = database.begin_write()?;
    /// lines.insert(&mut txn, "teak", 5)?;
    /// lines.remove(&mut txn, "oak", 7)?;
    /// txn.commit()?;
    /// let newer = database.begin_read()?;
    ///
    /// let differences: Vec<_> = lines.differences(&older, &newer)?.collect::<teak::Result<_>>()?;
    /// assert_eq!(differences, [
    ///     Removed { key: "oak".into(), value: 7 },
    ///     Inserted { key: "teak".into(), value: 5 },
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if neither state has the table; [`Error::TableMismatch`] if it is
    /// of the other kind; [`Error::InvalidArgument`] if the states belong to two databases, or if
    /// the table was dropped and created again with other orders in between; [`Error::Corrupted`]
    /// or [`Error::Decode`].
    pub fn differences<'t>(
        &self,
        older: &'t ReadTxn,
        newer: &'t ReadTxn,
    ) -> Result<Differences<'t, K, V, M>> {
        self.range(..).differences(older, newer)
    }

    /// Returns both states of the tree.
    fn states<'t>(&self, older: &'t ReadTxn, newer: &'t ReadTxn) -> Result<[TreeState<'t>; 2]> {
        refuse_other_database(older.engine(), newer.engine())?;
        let root = |txn: &ReadTxn| -> Result<Option<TreeRoot>> {
            let root = txn.root_of(self.handle(txn), self.name())?;
            Ok(root.map(|root| *root))
        };
        let roots = (root(older)?, root(newer)?);
        let (old, new) = match roots {
            (None, None) => return Err(transaction::not_found(self.name())),
            (Some(old), None) => (old, old.emptied()),
            (None, Some(new)) => (new.emptied(), new),
            (Some(old), Some(new)) => (old, new),
        };
        for stored in [old.kind.class, new.kind.class] {
            if stored != M::CLASS {
                return Err(wrong_kind(self.name(), stored, M::CLASS));
            }
        }
        let orders = |root: &TreeRoot| (root.order, root.kind.values);
        if orders(&old) != orders(&new) {
            return Err(self.reordered(orders(&old), orders(&new)));
        }
        Ok([(older.source(), old), (newer.source(), new)])
    }

    #[cold]
    fn reordered(
        &self,
        (old, old_values): (KeyOrder, Option<KeyOrder>),
        (new, new_values): (KeyOrder, Option<KeyOrder>),
    ) -> Error {
        let name = catalog::printable(self.name());
        let orders_text = |keys: KeyOrder, values: Option<KeyOrder>| match values {
            Some(values) => format!("{keys:?}, of values {values:?}"),
            None => format!("{keys:?}"),
        };
        let (old, new) = (orders_text(old, old_values), orders_text(new, new_values));
        Error::InvalidArgument(format!(
            "table {name:?} was dropped between these states and created again with another order of keys or values ({old}, then {new}), so they cannot be compared; read all of both"
        ))
    }
}

/// Refuses states of two databases.
pub(super) fn refuse_other_database(one: &Engine, other: &Engine) -> Result<()> {
    if one.id() == other.id() {
        return Ok(());
    }
    let text = "these states belong to two databases, or to two openings of one; compare states of one opening";
    Err(Error::InvalidArgument(text.into()))
}

/// How a table changed between two states; see [`ReadTxn::changed_tables`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TableChange {
    /// Only the newer state has it.
    Created,
    /// Only the older state has it.
    Dropped,
    /// Both states have it, and it changed in between or its pages were moved, or it was dropped
    /// and created again.
    Changed,
}

impl ReadTxn {
    /// Returns the tables that were created, dropped or changed since an older state, in the order
    /// of their names. A renamed table counts as dropped and created.
    ///
    /// ```
    /// # use teak::{Database, TableChange};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let older = database.begin_read()?;
    /// let mut txn = database.begin_write()?;
    /// txn.create_table::<&str, &str>("words")?;
    /// txn.commit()?;
    /// let newer = database.begin_read()?;
    /// assert_eq!(newer.changed_tables(&older)?, [(b"words".to_vec(), TableChange::Created)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the states belong to two databases; [`Error::Corrupted`].
    pub fn changed_tables(&self, older: &Self) -> Result<Vec<(Vec<u8>, TableChange)>> {
        refuse_other_database(older.engine(), self.engine())?;
        older.engine().refuse_forked()?;
        let (old, new) = (older.snapshot()?.catalog(), self.snapshot()?.catalog());
        let (low, high) = (Bound::Unbounded, Bound::Unbounded);
        let (old, new) = ((older.source(), *old), (self.source(), *new));
        let mut walk = DifferenceWalk::new(old, new, low, high);
        let mut tables = Vec::new();
        while let Some(kind) = walk.next()? {
            let change = match kind {
                ChangeKind::Inserted => TableChange::Created,
                ChangeKind::Removed => TableChange::Dropped,
                ChangeKind::Changed => TableChange::Changed,
            };
            if !dropped::is_reserved(walk.key()) && !self.is_index(older, walk.key())? {
                tables.push((walk.key().to_vec(), change));
            }
        }
        Ok(tables)
    }

    /// Whether a name is that of the index of an expiring table, in this state or an older one.
    fn is_index(&self, older: &Self, name: &[u8]) -> Result<bool> {
        if !name.starts_with(catalog::EXPIRY_INDEX_START) {
            return Ok(false);
        }
        let no_comparisons = Comparisons::default();
        for txn in [self, older] {
            let catalog = txn.snapshot()?.catalog();
            let entry = catalog::entry(txn.source(), catalog, name, &no_comparisons)?;
            if let Some(entry) = entry {
                return Ok(catalog::table_of_index(name, &entry).is_some());
            }
        }
        Ok(false)
    }
}
