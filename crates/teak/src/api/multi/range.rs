//! Iterators over pairs, over the values of a key, and over keys.

use crate::{
    Error, Result,
    api::{
        codec::Codec,
        range::{IterationState, Source, out_of_order},
    },
    btree::{
        PageSource, TreeRoot,
        cursor::TreeCursor,
        multi::{
            self,
            cursor::{PairBound, PairCursor},
            position::PairPosition,
        },
    },
    read::located::located,
};
use std::{cmp::Ordering, fmt, marker::PhantomData, ops::Bound, sync::Arc};

type SyncPages<'t> = dyn PageSource + Sync + 't;

/// The pairs of a range, ordered by key and then by value; see
/// [`MultiTable::range`](super::MultiTable::range).
pub struct Pairs<'t, K, V> {
    name: Arc<[u8]>,
    /// On the next pair from the front.
    front: PairCursor<'t, SyncPages<'t>>,
    /// On the pair after the last one.
    back: PairCursor<'t, SyncPages<'t>>,
    progress: IterationState,
    types: PhantomData<fn() -> (K, V)>,
}

/// The state of [`Pairs`] while the transaction is not borrowed.
#[derive(Debug, Default)]
pub(super) struct ParkedPairs {
    front: PairPosition,
    back: PairPosition,
    pub(super) progress: IterationState,
}

impl<'t, K: Codec, V: Codec> Pairs<'t, K, V> {
    pub(super) fn new(
        source: Source<'t>,
        root: TreeRoot,
        name: Arc<[u8]>,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Result<Self> {
        let mut pairs = Self {
            name,
            front: PairCursor::new(source, root),
            back: PairCursor::new(source, root),
            progress: IterationState::default(),
            types: PhantomData,
        };
        pairs.progress.is_done = is_void(&root, low, high);
        if !pairs.progress.is_done {
            let sought = pairs
                .front
                .seek_bound(low)
                .and_then(|()| pairs.back.seek_end(high))
                .and_then(|()| pairs.have_crossed());
            pairs.progress.is_done =
                sought.map_err(|error| located_at(error, &pairs.front, &pairs.name))?;
        }
        Ok(pairs)
    }

    /// Whether the two ends, which move towards each other, have met.
    fn have_crossed(&self) -> Result<bool> {
        if self.front.is_at(&self.back) {
            return Ok(true);
        }
        match self.front.is_on_pair() {
            true => Ok(false),
            false => Err(out_of_order(self.front.root())),
        }
    }

    fn take_front(&mut self) -> Result<(K::Owned, V::Owned)> {
        let pair = decoded::<K, V>(&self.front)?;
        // The pair itself is complete, so an error of the step after it is left to the next call.
        let stepped = self.front.next().and_then(|_| self.have_crossed());
        self.progress.note(stepped);
        Ok(pair)
    }

    fn take_back(&mut self) -> Result<(K::Owned, V::Owned)> {
        if !self.back.prev()? {
            return Err(out_of_order(self.back.root()));
        }
        self.progress.is_done = self.have_crossed()?;
        decoded::<K, V>(&self.back)
    }

    /// Resumes from a parked iterator.
    pub(super) fn resume(
        source: Source<'t>,
        root: TreeRoot,
        name: Arc<[u8]>,
        parked: ParkedPairs,
    ) -> Result<Self> {
        Ok(Self {
            name,
            front: PairCursor::resume(source, root, parked.front)?,
            back: PairCursor::resume(source, root, parked.back)?,
            progress: parked.progress,
            types: PhantomData,
        })
    }

    pub(super) fn park(self) -> ParkedPairs {
        ParkedPairs {
            front: self.front.park(),
            back: self.back.park(),
            progress: self.progress,
        }
    }
}

fn decoded<K: Codec, V: Codec>(
    cursor: &PairCursor<'_, SyncPages<'_>>,
) -> Result<(K::Owned, V::Owned)> {
    cursor.decode(|key, value| {
        let (key, value) = (K::decode(key)?, V::decode(value)?);
        Ok((K::to_owned(key), V::to_owned(value)))
    })
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

/// Whether a range with these bounds is empty, whatever the table holds.
fn is_void(root: &TreeRoot, low: PairBound<'_>, high: PairBound<'_>) -> bool {
    let (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) =
        (low, high)
    else {
        return false;
    };
    // A bound that is only a key covers all its values.
    let by_value = || match (a.1, b.1) {
        (Some(a), Some(b)) => root.value_order().compare(a, b),
        (Some(_), None) if matches!(high, Bound::Included(_)) => Ordering::Less,
        (None, Some(_)) if matches!(low, Bound::Included(_)) => Ordering::Less,
        _ => Ordering::Equal,
    };
    match root.order.compare(a.0, b.0).then_with(by_value) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => !matches!((low, high), (Bound::Included(_), Bound::Included(_))),
    }
}

impl<K: Codec, V: Codec> Iterator for Pairs<'_, K, V> {
    type Item = Result<(K::Owned, V::Owned)>;

    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.progress.begin()?.and_then(|()| self.take_front());
        Some(pair.map_err(|error| {
            self.progress.is_done = true;
            located_at(error, &self.front, &self.name)
        }))
    }
}

impl<K: Codec, V: Codec> DoubleEndedIterator for Pairs<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let pair = self.progress.begin()?.and_then(|()| self.take_back());
        Some(pair.map_err(|error| {
            self.progress.is_done = true;
            located_at(error, &self.back, &self.name)
        }))
    }
}

impl<K, V> fmt::Debug for Pairs<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pairs")
            .field("is_done", &self.progress.is_done)
            .finish_non_exhaustive()
    }
}

/// The values of a key, in their order; see [`MultiTable::values`](super::MultiTable::values).
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

/// The state of [`Values`] while the transaction is not borrowed.
#[derive(Debug, Default)]
pub(super) struct ParkedValues {
    front: PairPosition,
    back: Option<PairPosition>,
    pub(super) left: u64,
    failure: Option<Error>,
}

/// An end of the remaining values.
#[derive(Clone, Copy)]
enum ValuesEnd {
    Front,
    Back,
}

impl<'t, V: Codec> Values<'t, V> {
    pub(super) fn new(
        source: Source<'t>,
        root: TreeRoot,
        name: Arc<[u8]>,
        key: &[u8],
    ) -> Result<Self> {
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

    /// Resumes from a parked iterator.
    pub(super) fn resume(
        source: Source<'t>,
        root: TreeRoot,
        name: Arc<[u8]>,
        parked: ParkedValues,
    ) -> Result<Self> {
        let back = parked
            .back
            .map(|back| PairCursor::resume(source, root, back));
        Ok(Self {
            name,
            front: PairCursor::resume(source, root, parked.front)?,
            back: back.transpose()?,
            left: parked.left,
            failure: parked.failure,
            types: PhantomData,
        })
    }

    pub(super) fn park(self) -> ParkedValues {
        ParkedValues {
            front: self.front.park(),
            back: self.back.map(PairCursor::park),
            left: self.left,
            failure: self.failure,
        }
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
        let value = cursor.decode(|_, value| Ok(V::to_owned(V::decode(value)?)))?;
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

/// The keys of a table, each with the number of its values; see [`MultiTable::keys`](super::MultiTable::keys).
pub struct Keys<'t, K> {
    name: Arc<[u8]>,
    cursor: TreeCursor<'t, SyncPages<'t>>,
    is_done: bool,
    types: PhantomData<fn() -> K>,
}

impl<'t, K: Codec> Keys<'t, K> {
    pub(super) fn new(source: Source<'t>, root: TreeRoot, name: Arc<[u8]>) -> Self {
        Self {
            name,
            cursor: TreeCursor::new(source, root),
            is_done: false,
            types: PhantomData,
        }
    }

    fn take(&mut self) -> Result<Option<(K::Owned, u64)>> {
        if !self.cursor.next()? {
            return Ok(None);
        }
        let root = self.cursor.root();
        let values = multi::KeyValues::of(root, self.cursor.stored_value());
        let values = values.map_err(|damage| damage.at(root.page, "scan"))?;
        let key = K::to_owned(K::decode(self.cursor.key())?);
        Ok(Some((key, values.count())))
    }
}

impl<K: Codec> Iterator for Keys<'_, K> {
    type Item = Result<(K::Owned, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let (faults, page_size) = (
            self.cursor.source().faults(),
            self.cursor.source().page_size(),
        );
        let taken = crate::btree::reading::reading_from(faults, page_size, || self.take());
        self.is_done = !matches!(taken, Ok(Some(_)));
        let cursor = &self.cursor;
        taken
            .map_err(|error| {
                let (source, root) = (cursor.source(), cursor.root());
                located(error, source, root, &self.name, Some(cursor.key()))
            })
            .transpose()
    }
}

impl<K> fmt::Debug for Keys<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("is_done", &self.is_done)
            .finish_non_exhaustive()
    }
}
