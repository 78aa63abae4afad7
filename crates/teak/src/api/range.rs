//! Iterators over ranges.

use super::{ReadTxn, ValueGuard, codec::Codec, transaction::sealed::Sealed};
use crate::{
    Result,
    tree::{
        PageSource, TreeRoot,
        cursor::{self, Cursor, is_void},
        position::Position,
    },
};
use std::{fmt, marker::PhantomData, ops::Bound};

/// A source of pages that iterators can take to other threads.
pub(super) type Source<'t> = &'t (dyn PageSource + Sync);

/// The records between two positions that move towards each other.
#[derive(Clone, Debug)]
struct Ends {
    root: TreeRoot,
    /// The next record from the front.
    front: Position,
    /// The record behind the last one.
    back: Position,
    is_done: bool,
}

impl Ends {
    fn new(
        source: &dyn PageSource,
        root: TreeRoot,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Self> {
        let mut ends = Self {
            root,
            front: Position::default(),
            back: Position::default(),
            is_done: is_void(&root, low, high),
        };
        ends.front.seek_bound(source, &root, low)?;
        ends.back.seek_end(source, &root, high)?;
        ends.is_done |= ends.front.is_at(&ends.back);
        Ok(ends)
    }

    /// Passes the record at the front.
    fn advance(&mut self, source: &dyn PageSource) -> Result<()> {
        self.front.next(source, &self.root)?;
        self.is_done = self.front.is_at(&self.back);
        Ok(())
    }

    /// Takes the last record in; the back is on it then.
    fn retreat(&mut self, source: &dyn PageSource) -> Result<()> {
        self.back.prev(source, &self.root)?;
        self.is_done = self.front.is_at(&self.back);
        Ok(())
    }
}

/// The records of a range, in the order of keys; see [`Table::range`](super::Table::range).
pub struct Range<'t, K, V> {
    /// On the next record from the front.
    front: Cursor<'t, dyn PageSource + Sync + 't>,
    /// On the record behind the last one.
    back: Cursor<'t, dyn PageSource + Sync + 't>,
    is_done: bool,
    types: PhantomData<fn() -> (K, V)>,
}

impl<'t, K: Codec, V: Codec> Range<'t, K, V> {
    pub(super) fn new(
        source: Source<'t>,
        root: TreeRoot,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Self> {
        let mut range = Self {
            front: Cursor::new(source, root),
            back: Cursor::new(source, root),
            is_done: is_void(&root, low, high),
            types: PhantomData,
        };
        range.front.seek_bound(low)?;
        range.back.seek_end(high)?;
        range.is_done |= range.is_met();
        Ok(range)
    }

    /// Whether the ends have met.
    fn is_met(&self) -> bool {
        self.front.position().is_at(self.back.position())
    }

    fn decode(cursor: &Cursor<'t, dyn PageSource + Sync + 't>) -> Result<Record<'t, K, V>> {
        let key = K::to_owned(K::decode(cursor.key())?);
        Ok((key, V::decode(cursor.value()?)?))
    }

    fn take_front(&mut self) -> Result<Record<'t, K, V>> {
        let record = Self::decode(&self.front);
        self.front.next()?;
        self.is_done = self.is_met();
        record
    }

    fn take_back(&mut self) -> Result<Record<'t, K, V>> {
        self.back.prev()?;
        self.is_done = self.is_met();
        Self::decode(&self.back)
    }
}

/// What a [`Range`] yields.
type Record<'t, K, V> = (<K as Codec>::Owned, <V as Codec>::Item<'t>);

/// Ends an iteration after its first error.
fn stop_at_error<T>(is_done: &mut bool, result: Result<T>) -> Option<Result<T>> {
    *is_done |= result.is_err();
    Some(result)
}

impl<'t, K: Codec, V: Codec> Iterator for Range<'t, K, V> {
    type Item = Result<(K::Owned, V::Item<'t>)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let record = self.take_front();
        stop_at_error(&mut self.is_done, record)
    }
}

impl<K: Codec, V: Codec> DoubleEndedIterator for Range<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let record = self.take_back();
        stop_at_error(&mut self.is_done, record)
    }
}

impl<K, V> fmt::Debug for Range<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range")
            .field("is_done", &self.is_done)
            .finish_non_exhaustive()
    }
}

/// The records of a range, with a hold on the transaction; see
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
    ends: Ends,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Codec, V: Codec> OwnedRange<K, V> {
    pub(super) fn new(
        txn: ReadTxn,
        root: TreeRoot,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Self> {
        let ends = Ends::new(txn.source(), root, low, high)?;
        Ok(Self {
            txn,
            ends,
            types: PhantomData,
        })
    }

    fn record(&self, position: &Position) -> Result<(K::Owned, ValueGuard)> {
        let mut key = Vec::new();
        cursor::record_at(self.txn.source(), position, &mut key)?;
        let value = ValueGuard::at(&self.txn, position.clone())?;
        let value = value.expect("a range has a record where it is not done");
        Ok((K::to_owned(K::decode(&key)?), value))
    }

    fn take_front(&mut self) -> Result<(K::Owned, ValueGuard)> {
        let record = self.record(&self.ends.front);
        self.ends.advance(self.txn.source())?;
        record
    }

    fn take_back(&mut self) -> Result<(K::Owned, ValueGuard)> {
        self.ends.retreat(self.txn.source())?;
        self.record(&self.ends.back)
    }
}

impl<K: Codec, V: Codec> Iterator for OwnedRange<K, V> {
    type Item = Result<(K::Owned, ValueGuard)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ends.is_done {
            return None;
        }
        let record = self.take_front();
        stop_at_error(&mut self.ends.is_done, record)
    }
}

impl<K: Codec, V: Codec> DoubleEndedIterator for OwnedRange<K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.ends.is_done {
            return None;
        }
        let record = self.take_back();
        stop_at_error(&mut self.ends.is_done, record)
    }
}

impl<K, V> fmt::Debug for OwnedRange<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedRange")
            .field("is_done", &self.ends.is_done)
            .finish_non_exhaustive()
    }
}

/// The first key behind all those that begin with `prefix`; `None` if there is none.
pub(super) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
