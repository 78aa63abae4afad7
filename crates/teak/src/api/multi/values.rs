//! Iterators over the values of a key.

use crate::{
    Error, Result,
    api::{
        MultiTable, Transaction,
        codec::{Codec, EncodeAs},
        key_checks::check_probe,
        kind::out_of_order,
        range_cursor::{Source, SyncPages},
    },
    btree::{TreeRoot, multi::cursor::PairCursor},
    read::located::located,
};
use std::{fmt, marker::PhantomData, sync::Arc};

/// The values of a key, in their order; see [`MultiTable::values`].
pub struct Values<'t, V> {
    name: Arc<[u8]>,
    /// On the next value from the front, and from the back, while there are some left.
    front: PairCursor<'t, SyncPages<'t>>,
    back: Option<PairCursor<'t, SyncPages<'t>>>,
    left: u64,
    /// The error that the next call returns.
    failure: Option<Error>,
    types: PhantomData<fn() -> V>,
}

/// An end of the remaining values.
#[derive(Clone, Copy)]
enum ValuesEnd {
    Front,
    Back,
}

impl<'t, V: Codec> Values<'t, V> {
    fn new(source: Source<'t>, root: TreeRoot, name: Arc<[u8]>, key: &[u8]) -> Result<Self> {
        let mut front = PairCursor::new(source, root);
        let left = match front.seek_key(key)? {
            Some(true) => front.count(),
            _ => 0,
        };
        Ok(Self {
            name,
            front,
            back: None,
            left,
            failure: None,
            types: PhantomData,
        })
    }

    fn take(&mut self, end: ValuesEnd) -> Result<V::Owned> {
        if let (ValuesEnd::Back, None) = (end, &self.back) {
            let mut back = self.front.clone();
            back.last_value()?;
            self.back = Some(back);
        }
        let cursor = match (end, &mut self.back) {
            (ValuesEnd::Back, Some(back)) => back,
            _ => &mut self.front,
        };
        let value = cursor.decode(|_, value| Ok(V::to_owned(V::decode(value)?)));
        let value = value.map_err(|error| *error)?;
        self.left -= 1;
        if self.left > 0 {
            let stepped = match end {
                ValuesEnd::Front => cursor.next_value(),
                ValuesEnd::Back => cursor.prev_value(),
            };
            // The value itself is complete, so an error of the step after it is left to the next
            // call.
            self.failure = match stepped {
                Ok(true) => None,
                Ok(false) => Some(out_of_order(cursor.root())),
                Err(error) => Some(error),
            };
        }
        Ok(value)
    }

    fn step(&mut self, end: ValuesEnd) -> Option<Result<V::Owned>> {
        if self.left == 0 {
            return None;
        }
        let taken = match self.failure.take() {
            Some(error) => Err(error),
            None => self.take(end),
        };
        Some(taken.map_err(|error| {
            self.left = 0;
            located_at(error, &self.front, &self.name)
        }))
    }
}

impl<V: Codec> Iterator for Values<'_, V> {
    type Item = Result<V::Owned>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(ValuesEnd::Front)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // More than `usize::MAX` occur only in damaged trees.
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        (0, Some(left))
    }
}

impl<V: Codec> DoubleEndedIterator for Values<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(ValuesEnd::Back)
    }
}

impl<V> Values<'_, V> {
    /// How many values are left.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.left
    }

    /// Whether no values are left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl<V> fmt::Debug for Values<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Returns an iterator over the values of a key, from both ends. Their number is known without
    /// reading them.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_values(&mut txn, "teak", &[9, 1, 5])?;
    /// let values = lines.values(&txn, "teak")?;
    /// assert_eq!(values.len(), 3);
    /// assert_eq!(values.rev().collect::<teak::Result<Vec<_>>>()?, [9, 5, 1]);
    /// assert_eq!(lines.values(&txn, "oak")?.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the argument is an integer of
    /// another length than the keys.
    pub fn values<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: impl EncodeAs<K>,
    ) -> Result<Values<'t, V>> {
        self.values_of(txn, key.encode_as()?.as_ref())
    }

    /// Returns the values of an encoded key.
    pub(super) fn values_of<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: &[u8],
    ) -> Result<Values<'t, V>> {
        let root = *self.root(txn)?;
        check_probe(&root, key)?;
        let values = Values::new(txn.source(), root, self.shared_name(), key);
        values.map_err(|error| self.located(error, txn, &root, Some(key)))
    }
}

/// Adds to a damage error which keys of the table are affected.
#[cold]
fn located_at(error: Error, cursor: &PairCursor<'_, SyncPages<'_>>, name: &[u8]) -> Error {
    located(
        error,
        cursor.source(),
        cursor.root(),
        name,
        Some(cursor.key()),
    )
}
