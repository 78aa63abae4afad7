//! Iterators over the records of a range, and over its keys.

use super::{
    ReadTxn,
    codec::{Codec, CodecOrder, EncodeAs},
    kind::{Kind, ReadRecord, Single},
    range_cursor::TreeState,
    range_ends::{ParkedRange, RangeEnds},
    sealed::Sealed,
};
#[cfg(doc)]
use crate::Error;
use crate::{
    Result,
    btree::{
        TreeRoot,
        multi::{
            cursor::PairBound,
            range_parts::{is_void, touched_keys},
        },
    },
};
use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

/// The records of a range, in key order, and the values of a key in their order; see
/// [`Range::iter`](crate::Range::iter) and [`Table::iter`](crate::Table::iter).
pub struct Iter<'t, K, V, M: Kind = Single> {
    ends: RangeEnds<'t, M>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<'t, K: Codec, V: Codec, M: Kind> Iter<'t, K, V, M> {
    #[inline]
    pub(super) fn new(
        state: TreeState<'t>,
        name: Arc<[u8]>,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Result<Self> {
        let (ends, types) = (RangeEnds::new(state, name, low, high)?, PhantomData);
        Ok(Self { ends, types })
    }

    /// Returns the next record, which borrows the iterator; `None` if there are no more. Unlike
    /// [`Iterator::next`], it does not copy the key, nor the value in a multi-value table.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u64>("counts")?;
    /// counts.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let (mut letters, mut sum) = (0, 0);
    /// let mut records = counts.range("b"..).iter(&txn)?;
    /// while let Some((key, value)) = records.lend()? {
    ///     letters += key.len();
    ///     sum += value;
    /// }
    /// assert_eq!((letters, sum), (6, 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged, or [`Error::Decode`]. There are no more records
    /// after an error.
    #[inline(always)]
    pub fn lend(&mut self) -> Result<Option<(K::Item<'_>, V::Item<'_>)>> {
        match self.ends.advance::<K>() {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Err(*error),
        }
        let (progress, front) = (&mut self.ends.progress, &self.ends.front);
        match M::lend::<K, V>(front) {
            Ok(record) => Ok(Some(record)),
            Err(error) => Err(*progress.fail(*error, &self.ends.name, front)),
        }
    }

    /// Returns the next record from the back, like [`Iter::lend`].
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u64>("counts")?;
    /// counts.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// let mut records = counts.iter(&txn)?;
    /// assert_eq!(records.lend_back()?, Some(("oak", 3)));
    /// assert_eq!(records.lend()?, Some(("ash", 1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page is damaged, or [`Error::Decode`]. There are no more records
    /// after an error.
    #[inline(always)]
    pub fn lend_back(&mut self) -> Result<Option<(K::Item<'_>, V::Item<'_>)>> {
        match self.ends.retreat::<K>() {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Err(*error),
        }
        let (progress, back) = (&mut self.ends.progress, &self.ends.back);
        match M::lend::<K, V>(back) {
            Ok(record) => Ok(Some(record)),
            Err(error) => Err(*progress.fail(*error, &self.ends.name, back)),
        }
    }
}

impl<'t, K: Codec, V: Codec, M: Kind> Iterator for Iter<'t, K, V, M> {
    type Item = Result<ReadRecord<'t, K, V, M>>;

    // Written out: through `RangeEnds::next` a record of numbers takes twice as long.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        match self.ends.advance::<K>() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(*error)),
        }
        let (progress, front) = (&mut self.ends.progress, &self.ends.front);
        match M::record::<K, V>(front) {
            Ok(record) => Some(Ok(record)),
            Err(error) => Some(Err(*progress.fail(*error, &self.ends.name, front))),
        }
    }
}

impl<K: Codec, V: Codec, M: Kind> DoubleEndedIterator for Iter<'_, K, V, M> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        match self.ends.retreat::<K>() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(*error)),
        }
        let (progress, back) = (&mut self.ends.progress, &self.ends.back);
        match M::record::<K, V>(back) {
            Ok(record) => Some(Ok(record)),
            Err(error) => Some(Err(*progress.fail(*error, &self.ends.name, back))),
        }
    }
}

impl<K, V, M: Kind> fmt::Debug for Iter<'_, K, V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("is_done", &self.ends.progress.is_done)
            .finish_non_exhaustive()
    }
}

/// The keys of a range, each once; see [`Range::keys`](crate::Range::keys).
pub struct Keys<'t, K, M> {
    ends: RangeEnds<'t, Single>,
    types: PhantomData<fn() -> (K, M)>,
}

impl<'t, K: Codec, M: Kind> Keys<'t, K, M> {
    /// A bound that is a pair counts as its key, unless the pairs leave nothing between them.
    pub(super) fn new(
        state: TreeState<'t>,
        name: Arc<[u8]>,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Result<Self> {
        let of_key = |bound| touched_keys(bound).map(|key| (key, None));
        let mut ends = RangeEnds::new(state, name, of_key(low), of_key(high))?;
        ends.progress.is_done |= is_void(&state.1, low, high);
        let types = PhantomData;
        Ok(Self { ends, types })
    }
}

impl<K: Codec, M: Kind> Iterator for Keys<'_, K, M> {
    type Item = Result<M::Key<K>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.ends.next::<K, _>(M::key::<K>)
    }
}

impl<K: Codec, M: Kind> DoubleEndedIterator for Keys<'_, K, M> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.ends.next_back::<K, _>(M::key::<K>)
    }
}

impl<K, M> fmt::Debug for Keys<'_, K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("is_done", &self.ends.progress.is_done)
            .finish_non_exhaustive()
    }
}

/// The records of a range, holding the transaction; see [`Range::owned`](crate::Range::owned).
/// Values are bytes if a key has one value.
///
/// ```
/// # use teak::{Database, codec::Bytes};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// # let words = txn.create_table::<&str, Bytes>("words")?;
/// # words.insert(&mut txn, "teak", b"tree")?;
/// # txn.commit()?;
/// let records = words.range(..).owned(&database.begin_read()?)?;
/// let thread = std::thread::spawn(move || records.count());
/// assert_eq!(thread.join().unwrap(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OwnedIter<K, V, M: Kind = Single> {
    txn: ReadTxn,
    root: TreeRoot,
    /// `None` at the end, and during a step, because decoding may panic.
    parked: Option<ParkedRange<M::Parked>>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Codec, V: Codec, M: Kind> OwnedIter<K, V, M> {
    pub(super) fn new(
        txn: ReadTxn,
        root: TreeRoot,
        name: Arc<[u8]>,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Result<Self> {
        let parked = RangeEnds::<M>::new((txn.source(), root), name, low, high)?.park();
        Ok(Self {
            txn,
            root,
            parked: Some(parked),
            types: PhantomData,
        })
    }

    /// Takes a step, or several.
    pub(super) fn step<R>(
        &mut self,
        step: impl FnOnce(&mut RangeEnds<'_, M>, &ReadTxn) -> Option<Result<R>>,
    ) -> Option<Result<R>> {
        let parked = self.parked.take_if(|parked| !parked.progress.is_done)?;
        match RangeEnds::resume((self.txn.source(), self.root), parked) {
            Ok(mut ends) => {
                let record = step(&mut ends, &self.txn);
                self.parked = Some(ends.park());
                record
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl<K, V, M: Kind> OwnedIter<K, V, M> {
    pub(super) fn is_done(&self) -> bool {
        (self.parked.as_ref()).is_none_or(|parked| parked.progress.is_done)
    }
}

impl<K: Codec, V: Codec, M: Kind> Iterator for OwnedIter<K, V, M> {
    type Item = Result<(K::Owned, M::OwnedValue<V>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(|ends, txn| ends.next::<K, _>(|cursor| M::owned_record::<K, V>(cursor, txn)))
    }
}

impl<K: Codec, V: Codec, M: Kind> DoubleEndedIterator for OwnedIter<K, V, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(|ends, txn| ends.next_back::<K, _>(|cursor| M::owned_record::<K, V>(cursor, txn)))
    }
}

impl<K, V, M: Kind> fmt::Debug for OwnedIter<K, V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedIter")
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}

/// A codec for what is not read.
pub(super) struct Ignored;

impl Codec for Ignored {
    type Item<'a> = ();
    type Owned = ();
    const ORDER: CodecOrder = CodecOrder::Any;

    fn name() -> Cow<'static, str> {
        "".into()
    }

    fn decode(_: &[u8]) -> Result<()> {
        Ok(())
    }

    fn to_owned((): ()) {}
}

impl EncodeAs<Ignored> for () {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        Ok([])
    }
}

#[cfg(test)]
#[path = "iter_tests.rs"]
mod tests;
