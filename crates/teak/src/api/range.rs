//! Iterators over ranges.

use super::{ReadTxn, codec::Codec, sealed::Sealed, value_guard::ValueGuard};
use crate::{
    Error, Result,
    btree::{
        PageSource, TreeRoot,
        cursor::{self, TreeCursor, is_void},
        position::Position,
        reading::{reading, reading_from},
    },
    read::located::located,
};
use std::{fmt, marker::PhantomData, ops::Bound, sync::Arc};

/// A source of pages that iterators can take to other threads.
pub(super) type Source<'t> = &'t (dyn PageSource + Sync);

/// Whether the two ends of a range, which move towards each other, have met.
fn have_crossed(root: &TreeRoot, front: &Position, back: &Position) -> Result<bool> {
    if front.is_at(back) {
        return Ok(true);
    }
    match front.record() {
        Some(_) => Ok(false),
        None => Err(out_of_order(root)),
    }
}

/// The state of an iteration. The first error ends it.
#[derive(Debug, Default)]
pub(super) struct IterationState {
    pub(super) is_done: bool,
    /// The error that the next call returns.
    failure: Option<Error>,
}

impl IterationState {
    /// `None` if the iteration is over, or the error of an earlier step if there was one.
    #[inline]
    pub(super) fn begin(&mut self) -> Option<Result<()>> {
        if self.is_done {
            return None;
        }
        Some(self.failure.take().map_or(Ok(()), Err))
    }

    /// Records the result of the step after a record. The record itself is complete, so an error is
    /// left to the next call.
    #[inline]
    pub(super) fn note(&mut self, have_crossed: Result<bool>) {
        match have_crossed {
            Ok(have_crossed) => self.is_done = have_crossed,
            Err(error) => self.failure = Some(error),
        }
    }
}

/// One end of a range passed the other.
#[cold]
pub(super) fn out_of_order(root: &TreeRoot) -> Error {
    Error::corrupted(root.page, "scan", "the keys of this tree are not in order")
}

/// The records of a range, in key order; see [`Table::range`](super::Table::range).
pub struct Range<'t, K, V> {
    root: TreeRoot,
    name: Arc<[u8]>,
    /// On the next record from the front.
    front: TreeCursor<'t, dyn PageSource + Sync + 't>,
    /// On the record after the last one.
    back: TreeCursor<'t, dyn PageSource + Sync + 't>,
    progress: IterationState,
    types: PhantomData<fn() -> (K, V)>,
}

impl<'t, K: Codec, V: Codec> Range<'t, K, V> {
    pub(super) fn new(
        source: Source<'t>,
        root: TreeRoot,
        name: Arc<[u8]>,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Self> {
        let mut range = Self {
            root,
            name,
            front: TreeCursor::new(source, root),
            back: TreeCursor::new(source, root),
            progress: IterationState::default(),
            types: PhantomData,
        };
        let sought = range.seek_bounds(low, high);
        range.progress.is_done = sought.map_err(|error| range.located(error, &range.front))?;
        Ok(range)
    }

    /// Seeks both ends; returns whether the range is empty.
    fn seek_bounds(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<bool> {
        if is_void(&self.root, low, high) {
            return Ok(true);
        }
        self.front.seek_bound(low)?;
        self.back.seek_end(high)?;
        self.have_crossed()
    }

    fn have_crossed(&self) -> Result<bool> {
        have_crossed(&self.root, self.front.position(), self.back.position())
    }

    /// Adds to a damage error at one end which keys of the table are affected.
    #[cold]
    fn located(&self, error: Error, end: &TreeCursor<'t, dyn PageSource + Sync + 't>) -> Error {
        located(error, end.source(), &self.root, &self.name, Some(end.key()))
    }

    fn read(
        cursor: &mut TreeCursor<'t, dyn PageSource + Sync + 't>,
    ) -> Result<RangeItem<'t, K, V>> {
        cursor.read_here()?;
        let key = K::to_owned(K::decode(cursor.key())?);
        let value = cursor.decode(V::decode)?;
        Ok((key, value))
    }

    fn take_front(&mut self) -> Result<RangeItem<'t, K, V>> {
        let record = Self::read(&mut self.front)?;
        let stepped = self.front.step().and_then(|_| self.have_crossed());
        self.progress.note(stepped);
        Ok(record)
    }

    fn take_back(&mut self) -> Result<RangeItem<'t, K, V>> {
        if !self.back.step_back()? {
            return Err(out_of_order(&self.root));
        }
        self.progress.is_done = self.have_crossed()?;
        Self::read(&mut self.back)
    }
}

/// The item type of a [`Range`].
type RangeItem<'t, K, V> = (<K as Codec>::Owned, <V as Codec>::Item<'t>);

impl<'t, K: Codec, V: Codec> Iterator for Range<'t, K, V> {
    type Item = Result<(K::Owned, V::Item<'t>)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let record = self.progress.begin()?.and_then(|()| self.take_front());
        Some(record.map_err(|error| {
            self.progress.is_done = true;
            self.located(error, &self.front)
        }))
    }
}

impl<K: Codec, V: Codec> DoubleEndedIterator for Range<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let record = self.progress.begin()?.and_then(|()| self.take_back());
        Some(record.map_err(|error| {
            self.progress.is_done = true;
            self.located(error, &self.back)
        }))
    }
}

impl<K, V> fmt::Debug for Range<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range")
            .field("is_done", &self.progress.is_done)
            .finish_non_exhaustive()
    }
}

/// The records of a range, holding the transaction; see
/// [`Table::range_owned`](super::Table::range_owned). Values are bytes.
///
/// ```
/// # use teak::{Database, codec::{Str, Bytes}};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// # let words = txn.create_table::<Str, Bytes>("words")?;
/// # words.insert(&mut txn, "teak", b"tree")?;
/// # txn.commit()?;
/// let range = words.range_owned(&database.begin_read()?, ..)?;
/// let thread = std::thread::spawn(move || range.count());
/// assert_eq!(thread.join().unwrap(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OwnedRange<K, V> {
    txn: ReadTxn,
    root: TreeRoot,
    name: Arc<[u8]>,
    /// The next record from the front.
    front: Position,
    /// The record after the last one.
    back: Position,
    progress: IterationState,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Codec, V: Codec> OwnedRange<K, V> {
    pub(super) fn new(
        txn: ReadTxn,
        root: TreeRoot,
        name: Arc<[u8]>,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Self> {
        let mut range = Self {
            txn,
            root,
            name,
            front: Position::default(),
            back: Position::default(),
            progress: IterationState::default(),
            types: PhantomData,
        };
        let sought = range.seek_bounds(low, high);
        range.progress.is_done = sought.map_err(|error| range.located(error, &range.front))?;
        Ok(range)
    }

    /// Seeks both ends; returns whether the range is empty.
    fn seek_bounds(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<bool> {
        if is_void(&self.root, low, high) {
            return Ok(true);
        }
        let source = self.txn.source();
        reading(source, || {
            self.front.seek_bound(source, &self.root, low)?;
            self.back.seek_end(source, &self.root, high)
        })?;
        self.have_crossed()
    }

    fn have_crossed(&self) -> Result<bool> {
        have_crossed(&self.root, &self.front, &self.back)
    }

    /// Takes a record at one end.
    fn take(
        &mut self,
        take: impl FnOnce(&mut Self) -> Result<(K::Owned, ValueGuard)>,
    ) -> Option<Result<(K::Owned, ValueGuard)>> {
        let source = self.txn.source();
        let (faults, page_size) = (source.faults(), source.page_size());
        let begun = self.progress.begin()?;
        let record = begun.and_then(|()| reading_from(faults, page_size, || take(self)));
        if record.is_err() {
            self.progress.is_done = true;
        }
        Some(record)
    }

    /// Adds to a damage error at one end which keys of the table are affected.
    #[cold]
    fn located(&self, error: Error, end: &Position) -> Error {
        let (source, mut key) = (self.txn.source(), Vec::new());
        let is_read = cursor::record_at(source, end, &mut key).is_ok();
        let key = is_read.then_some(&key[..]);
        located(error, source, &self.root, &self.name, key)
    }

    fn record(&self, position: &Position) -> Result<(K::Owned, ValueGuard)> {
        let mut key = Vec::new();
        cursor::record_at(self.txn.source(), position, &mut key)?;
        match ValueGuard::at(&self.txn, position.clone())? {
            Some(value) => Ok((K::to_owned(K::decode(&key)?), value)),
            None => Err(out_of_order(&self.root)),
        }
    }

    fn take_front(&mut self) -> Result<(K::Owned, ValueGuard)> {
        let record = self.record(&self.front)?;
        let stepped = self.front.next(self.txn.source(), &self.root);
        let stepped = stepped.and_then(|_| self.have_crossed());
        self.progress.note(stepped);
        Ok(record)
    }

    fn take_back(&mut self) -> Result<(K::Owned, ValueGuard)> {
        if !self.back.prev(self.txn.source(), &self.root)? {
            return Err(out_of_order(&self.root));
        }
        self.progress.is_done = self.have_crossed()?;
        self.record(&self.back)
    }
}

impl<K: Codec, V: Codec> Iterator for OwnedRange<K, V> {
    type Item = Result<(K::Owned, ValueGuard)>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.take(Self::take_front)?;
        Some(record.map_err(|error| self.located(error, &self.front)))
    }
}

impl<K: Codec, V: Codec> DoubleEndedIterator for OwnedRange<K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let record = self.take(Self::take_back)?;
        Some(record.map_err(|error| self.located(error, &self.back)))
    }
}

impl<K, V> fmt::Debug for OwnedRange<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedRange")
            .field("is_done", &self.progress.is_done)
            .finish_non_exhaustive()
    }
}

/// Returns the first key after all those that begin with `prefix`; `None` if there is none.
pub(super) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
