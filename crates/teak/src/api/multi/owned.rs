//! Iterators and cursors that hold the transaction. Between two steps they are parked.

use super::{
    handle::MultiTable,
    range::{Pairs, ParkedPairs, ParkedValues, Values},
    read::{encoded_pair, pair_bound},
};
use crate::{
    Result,
    api::{
        ReadTxn,
        codec::Codec,
        key_checks::{as_slices, check_probe, encoded_bounds},
        sealed::Sealed,
    },
    btree::TreeRoot,
};
use std::{
    fmt,
    marker::PhantomData,
    mem,
    ops::{Bound, RangeBounds},
    sync::Arc,
};

/// The pairs of a range, holding the transaction; see [`MultiTable::range_owned`].
///
/// ```
/// # use teak::{Database, codec::{Str, U32}};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// # let lines = txn.create_multi_table::<Str, U32>("lines")?;
/// # lines.insert_many(&mut txn, &[("oak", 7), ("teak", 3), ("teak", 12)])?;
/// # txn.commit()?;
/// let pairs = lines.range_owned(&database.begin_read()?, "p"..)?;
/// let thread = std::thread::spawn(move || pairs.count());
/// assert_eq!(thread.join().unwrap(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OwnedPairs<K, V> {
    txn: ReadTxn,
    root: TreeRoot,
    name: Arc<[u8]>,
    parked: ParkedPairs,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Codec, V: Codec> OwnedPairs<K, V> {
    fn step<R>(
        &mut self,
        step: impl FnOnce(&mut Pairs<'_, K, V>) -> Option<Result<R>>,
    ) -> Option<Result<R>> {
        if self.parked.progress.is_done {
            return None;
        }
        let (parked, name) = (mem::take(&mut self.parked), Arc::clone(&self.name));
        // Marked done during the step, because decoding may panic.
        self.parked.progress.is_done = true;
        match Pairs::resume(self.txn.source(), self.root, name, parked) {
            Ok(mut pairs) => {
                let item = step(&mut pairs);
                self.parked = pairs.park();
                item
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl<K: Codec, V: Codec> Iterator for OwnedPairs<K, V> {
    type Item = Result<(K::Owned, V::Owned)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(|items| items.next())
    }
}

impl<K: Codec, V: Codec> DoubleEndedIterator for OwnedPairs<K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(|items| items.next_back())
    }
}

impl<K, V> fmt::Debug for OwnedPairs<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPairs")
            .field("is_done", &self.parked.progress.is_done)
            .finish_non_exhaustive()
    }
}

/// The values of a key, holding the transaction; see [`MultiTable::values_owned`].
pub struct OwnedValues<V> {
    txn: ReadTxn,
    root: TreeRoot,
    name: Arc<[u8]>,
    parked: ParkedValues,
    types: PhantomData<fn() -> V>,
}

impl<V: Codec> OwnedValues<V> {
    fn step(
        &mut self,
        step: impl FnOnce(&mut Values<'_, V>) -> Option<Result<V::Owned>>,
    ) -> Option<Result<V::Owned>> {
        if self.parked.left == 0 {
            return None;
        }
        let (parked, name) = (mem::take(&mut self.parked), Arc::clone(&self.name));
        match Values::resume(self.txn.source(), self.root, name, parked) {
            Ok(mut values) => {
                let item = step(&mut values);
                self.parked = values.park();
                item
            }
            // A default parked state has nothing left.
            Err(error) => Some(Err(error)),
        }
    }
}

impl<V> OwnedValues<V> {
    /// How many values are left.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.parked.left
    }

    /// Whether no values are left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parked.left == 0
    }
}

impl<V: Codec> Iterator for OwnedValues<V> {
    type Item = Result<V::Owned>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(|items| items.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // More than `usize::MAX` occur only in damaged trees.
        let left = usize::try_from(self.parked.left).unwrap_or(usize::MAX);
        (0, Some(left))
    }
}

impl<V: Codec> DoubleEndedIterator for OwnedValues<V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(|items| items.next_back())
    }
}

impl<V> fmt::Debug for OwnedValues<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedValues")
            .field("left", &self.parked.left)
            .finish_non_exhaustive()
    }
}

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Like [`MultiTable::range`], but the iterator holds the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn range_owned<'k>(
        &self,
        txn: &ReadTxn,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<OwnedPairs<K, V>> {
        let root = *self.root(txn)?;
        let (low, high) = encoded_bounds::<K>(&root, &range)?;
        let of_key = |key| (key, None);
        let (low, high) = (as_slices(&low).map(of_key), as_slices(&high).map(of_key));
        let name = self.table.shared_name();
        let pairs = Pairs::<K, V>::new(txn.source(), root, name, low, high)?;
        Ok(self.owned_pairs(txn, root, pairs))
    }

    /// Like [`MultiTable::range_pairs`], but the iterator holds the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if an argument is an integer of
    /// another length than the keys or the values.
    #[allow(clippy::type_complexity)]
    pub fn range_pairs_owned(
        &self,
        txn: &ReadTxn,
        range: (
            Bound<(K::Item<'_>, V::Item<'_>)>,
            Bound<(K::Item<'_>, V::Item<'_>)>,
        ),
    ) -> Result<OwnedPairs<K, V>> {
        let root = *self.root(txn)?;
        let (low, high) = (
            encoded_pair::<K, V>(&root, &range.0)?,
            encoded_pair::<K, V>(&root, &range.1)?,
        );
        let (low, high) = (pair_bound(&low), pair_bound(&high));
        let name = self.table.shared_name();
        let pairs = Pairs::<K, V>::new(txn.source(), root, name, low, high)?;
        Ok(self.owned_pairs(txn, root, pairs))
    }

    fn owned_pairs(
        &self,
        txn: &ReadTxn,
        root: TreeRoot,
        pairs: Pairs<'_, K, V>,
    ) -> OwnedPairs<K, V> {
        OwnedPairs {
            txn: txn.clone(),
            root,
            name: self.table.shared_name(),
            parked: pairs.park(),
            types: PhantomData,
        }
    }

    /// Like [`MultiTable::values`], but the iterator holds the transaction.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// # lines.insert_many(&mut txn, &[("oak", 7), ("teak", 3), ("teak", 12)])?;
    /// # txn.commit()?;
    /// let values = lines.values_owned(&database.begin_read()?, "teak")?;
    /// assert_eq!(values.rev().collect::<teak::Result<Vec<_>>>()?, [12, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn values_owned(&self, txn: &ReadTxn, key: K::Item<'_>) -> Result<OwnedValues<V>> {
        let (root, key) = (*self.root(txn)?, K::encode(&key));
        check_probe(&root, key.as_ref())?;
        let name = self.table.shared_name();
        let values = Values::<V>::new(txn.source(), root, name, key.as_ref());
        let values = values.map_err(|error| self.located(error, txn, &root, key.as_ref()))?;
        Ok(OwnedValues {
            txn: txn.clone(),
            root,
            name: self.table.shared_name(),
            parked: values.park(),
            types: PhantomData,
        })
    }
}
