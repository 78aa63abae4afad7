//! Iterators over the records of a range, and over its keys.

use super::{
    ReadTxn,
    codec::{Codec, CodecOrder, EncodeAs},
    kind::{Kind, RangeCursor, ReadRecord, Single, TreeState, out_of_order},
    sealed::Sealed,
};
use crate::{
    Error, Result,
    btree::{
        TreeRoot,
        multi::{
            cursor::PairBound,
            range_parts::{is_void, touched_keys},
        },
    },
    read::located::located,
};
use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

/// The state of an iteration. The first error ends it.
#[derive(Debug, Default)]
struct IterationState {
    is_done: bool,
    /// The error that the next call returns.
    failure: Option<Error>,
}

impl IterationState {
    /// `None` if the iteration is over, or the error of an earlier step if there was one.
    #[inline]
    fn begin(&mut self) -> Option<Result<()>> {
        if self.is_done {
            return None;
        }
        Some(self.failure.take().map_or(Ok(()), Err))
    }

    /// Records the result of the step after a record. The record itself is complete, so an error is
    /// left to the next call.
    #[inline]
    fn note(&mut self, have_crossed: Result<bool>) {
        match have_crossed {
            Ok(have_crossed) => self.is_done = have_crossed,
            Err(error) => self.failure = Some(error),
        }
    }
}

/// The two ends of a range, which move towards each other.
struct RangeEnds<'t, M: Kind> {
    name: Arc<[u8]>,
    /// On the next record from the front.
    front: M::Cursor<'t>,
    /// On the record after the last one.
    back: M::Cursor<'t>,
    progress: IterationState,
}

/// The ends of a range while the transaction is not borrowed.
struct ParkedRange<P> {
    name: Arc<[u8]>,
    front: P,
    back: P,
    progress: IterationState,
}

impl<'t, M: Kind> RangeEnds<'t, M> {
    #[inline]
    fn new(
        state: TreeState<'t>,
        name: Arc<[u8]>,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Result<Self> {
        let mut ends = Self {
            name,
            front: RangeCursor::new(state),
            back: RangeCursor::new(state),
            progress: IterationState::default(),
        };
        let sought = match is_void(&state.1, low, high) {
            true => Ok(true),
            false => ends.seek(low, high),
        };
        ends.progress.is_done = sought.map_err(|error| ends.located(error, &ends.front))?;
        Ok(ends)
    }

    /// Seeks both ends; returns whether the range is empty.
    fn seek(&mut self, low: PairBound<'_>, high: PairBound<'_>) -> Result<bool> {
        self.front.seek_low(low)?;
        self.back.seek_high(high)?;
        self.have_crossed()
    }

    /// Resumes from parked ends.
    fn resume(state: TreeState<'t>, parked: ParkedRange<M::Parked>) -> Result<Self> {
        let resume = |end| {
            let resumed = RangeCursor::resume(state, end);
            resumed.map_err(|error| located(error, state.0, &state.1, &parked.name, None))
        };
        Ok(Self {
            front: resume(parked.front)?,
            back: resume(parked.back)?,
            name: parked.name,
            progress: parked.progress,
        })
    }

    fn park(self) -> ParkedRange<M::Parked> {
        ParkedRange {
            name: self.name,
            front: self.front.park(),
            back: self.back.park(),
            progress: self.progress,
        }
    }

    /// Whether the two ends have met.
    fn have_crossed(&self) -> Result<bool> {
        if self.front.is_at(&self.back) {
            return Ok(true);
        }
        match self.front.is_on_record() {
            true => Ok(false),
            false => Err(out_of_order(self.front.state().1)),
        }
    }

    /// Adds to a damage error at one end which keys of the table are affected.
    #[cold]
    fn located(&self, error: Error, end: &M::Cursor<'t>) -> Error {
        let (source, root) = end.state();
        located(error, source, root, &self.name, Some(end.key()))
    }

    fn take_front<R>(&mut self, read: impl FnOnce(&mut M::Cursor<'t>) -> Result<R>) -> Result<R> {
        let record = read(&mut self.front)?;
        let stepped = self.front.step().and_then(|_| self.have_crossed());
        self.progress.note(stepped);
        Ok(record)
    }

    fn take_back<R>(&mut self, read: impl FnOnce(&mut M::Cursor<'t>) -> Result<R>) -> Result<R> {
        if !self.back.step_back()? {
            return Err(out_of_order(self.back.state().1));
        }
        self.progress.is_done = self.have_crossed()?;
        read(&mut self.back)
    }

    #[inline]
    fn next<R>(&mut self, read: impl FnOnce(&mut M::Cursor<'t>) -> Result<R>) -> Option<Result<R>> {
        let record = self.progress.begin()?.and_then(|()| self.take_front(read));
        Some(record.map_err(|error| {
            self.progress.is_done = true;
            self.located(error, &self.front)
        }))
    }

    fn next_back<R>(
        &mut self,
        read: impl FnOnce(&mut M::Cursor<'t>) -> Result<R>,
    ) -> Option<Result<R>> {
        let record = self.progress.begin()?.and_then(|()| self.take_back(read));
        Some(record.map_err(|error| {
            self.progress.is_done = true;
            self.located(error, &self.back)
        }))
    }
}

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
}

impl<'t, K: Codec, V: Codec, M: Kind> Iterator for Iter<'t, K, V, M> {
    type Item = Result<ReadRecord<'t, K, V, M>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.ends.next(M::record::<K, V>)
    }
}

impl<K: Codec, V: Codec, M: Kind> DoubleEndedIterator for Iter<'_, K, V, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.ends.next_back(M::record::<K, V>)
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

    fn next(&mut self) -> Option<Self::Item> {
        self.ends.next(M::key::<K>)
    }
}

impl<K: Codec, M: Kind> DoubleEndedIterator for Keys<'_, K, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.ends.next_back(M::key::<K>)
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

    fn step<R>(
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

impl<K: Codec, V: Codec, M: Kind> Iterator for OwnedIter<K, V, M> {
    type Item = Result<(K::Owned, M::OwnedValue<V>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(|ends, txn| ends.next(|cursor| M::owned_record::<K, V>(cursor, txn)))
    }
}

impl<K: Codec, V: Codec, M: Kind> DoubleEndedIterator for OwnedIter<K, V, M> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(|ends, txn| ends.next_back(|cursor| M::owned_record::<K, V>(cursor, txn)))
    }
}

impl<K, V, M: Kind> fmt::Debug for OwnedIter<K, V, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_done = (self.parked.as_ref()).is_none_or(|parked| parked.progress.is_done);
        f.debug_struct("OwnedIter")
            .field("is_done", &is_done)
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
