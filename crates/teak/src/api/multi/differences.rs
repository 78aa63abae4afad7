//! Differences between two states of a multi-value table.

use super::handle::MultiTable;
use crate::{
    Error, Result,
    api::{ReadTxn, codec::Codec},
    btree::{
        PageSource, differences::ChangeKind, multi::differences::PairDifferenceWalk as Walk,
        reading::reading,
    },
    read::located::located,
};
use std::{fmt, marker::PhantomData, sync::Arc};

/// A pair of key and value that only one of two states has; see [`MultiTable::differences`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PairDifference<K, V> {
    /// Only the newer state has it.
    Inserted {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
    },
    /// Only the older state has it.
    Removed {
        /// Its key.
        key: K,
        /// Its value.
        value: V,
    },
}

/// The pairs in which two states of a table differ, in their order; see
/// [`MultiTable::differences`].
pub struct PairDifferences<'t, K, V> {
    walk: Walk<'t, dyn PageSource + Sync + 't>,
    name: Arc<[u8]>,
    is_done: bool,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Codec, V: Codec> PairDifferences<'_, K, V> {
    fn take(&mut self) -> Result<Option<PairDifference<K::Owned, V::Owned>>> {
        let Some(kind) = self.walk.next()? else {
            return Ok(None);
        };
        let (source, _) = self.walk.tree_at_fault();
        let (key, value) = reading(source, || {
            let (key, value) = self.walk.pair();
            let key = K::to_owned(K::decode(key)?);
            Ok((key, V::to_owned(V::decode(value)?)))
        })?;
        Ok(Some(match kind {
            ChangeKind::Removed => PairDifference::Removed { key, value },
            ChangeKind::Inserted | ChangeKind::Changed => PairDifference::Inserted { key, value },
        }))
    }

    /// Adds to a damage error which keys of the table are affected.
    #[cold]
    fn located(&self, error: Error) -> Error {
        let ((source, root), (key, _)) = (self.walk.tree_at_fault(), self.walk.pair());
        located(error, source, root, &self.name, Some(key))
    }
}

impl<K: Codec, V: Codec> Iterator for PairDifferences<'_, K, V> {
    type Item = Result<PairDifference<K::Owned, V::Owned>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let taken = self.take();
        self.is_done = !matches!(taken, Ok(Some(_)));
        taken.map_err(|error| self.located(error)).transpose()
    }
}

impl<K, V> fmt::Debug for PairDifferences<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairDifferences")
            .field("is_done", &self.is_done)
            .finish_non_exhaustive()
    }
}

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Returns the pairs in which two states differ, in the order of keys and of the values of a
    /// key. Subtrees that the states share are not read, neither those of keys nor those of the
    /// values of a key. A state without the table counts as one in which the table is empty.
    ///
    /// ```
    /// # use teak::{Database, PairDifference::{Inserted, Removed}, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U64>("lines")?;
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
    ///     Removed { key: "oak".to_owned(), value: 7 },
    ///     Inserted { key: "teak".to_owned(), value: 5 },
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] if neither state has the table; [`Error::TableMismatch`] if a key
    /// has one value in it; [`Error::InvalidArgument`] if the states belong to two databases, or if
    /// the table was dropped and created again with other orders in between; [`Error::Corrupted`]
    /// or [`Error::Decode`].
    pub fn differences<'t>(
        &self,
        older: &'t ReadTxn,
        newer: &'t ReadTxn,
    ) -> Result<PairDifferences<'t, K, V>> {
        let [older, newer] = self.table.any_states(older, newer)?;
        if !older.1.is_multi() {
            return Err(self
                .table
                .is_other("a key has one value in it, which `Table` is for"));
        }
        Ok(PairDifferences {
            walk: Walk::new(older, newer),
            name: self.table.shared_name(),
            is_done: false,
            types: PhantomData,
        })
    }
}
