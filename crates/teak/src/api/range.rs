//! Iterators over ranges.

use super::{ReadTxn, ValueGuard, codec::Codec, transaction::sealed::Sealed};
use crate::{
    Result,
    tree::{
        PageSource, TreeRoot,
        cursor::{self, is_void},
        lookup,
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
        match high {
            Bound::Unbounded => ends.back.set_behind(),
            Bound::Included(key) => ends.back.seek_bound(source, &root, Bound::Excluded(key))?,
            Bound::Excluded(key) => ends.back.seek_bound(source, &root, Bound::Included(key))?,
        }
        ends.is_done |= ends.front.is_at(&ends.back);
        Ok(ends)
    }

    /// Passes the record at the front; says whether there was one. `visit` sees it first.
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
    source: Source<'t>,
    ends: Ends,
    key: Vec<u8>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<'t, K: Codec, V: Codec> Range<'t, K, V> {
    pub(super) fn new(
        source: Source<'t>,
        root: TreeRoot,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Self> {
        let ends = Ends::new(source, root, low, high)?;
        Ok(Self {
            source,
            ends,
            key: Vec::new(),
            types: PhantomData,
        })
    }

    fn decode(&mut self, position: &Position) -> Result<(K::Owned, V::Item<'t>)> {
        let record = cursor::record_at(self.source, position, &mut self.key)?;
        let (leaf, value) = record.expect("a range has a record where it is not done");
        let value = lookup::load(self.source, leaf, value)?;
        Ok((K::to_owned(K::decode(&self.key)?), V::decode(value)?))
    }

    fn take_front(&mut self) -> Result<(K::Owned, V::Item<'t>)> {
        let front = std::mem::take(&mut self.ends.front);
        let record = self.decode(&front);
        self.ends.front = front;
        self.ends.advance(self.source)?;
        record
    }

    fn take_back(&mut self) -> Result<(K::Owned, V::Item<'t>)> {
        self.ends.retreat(self.source)?;
        let back = std::mem::take(&mut self.ends.back);
        let record = self.decode(&back);
        self.ends.back = back;
        record
    }
}

/// Ends an iteration after its first error.
fn stop_at_error<T>(is_done: &mut bool, result: Result<T>) -> Option<Result<T>> {
    *is_done |= result.is_err();
    Some(result)
}

impl<'t, K: Codec, V: Codec> Iterator for Range<'t, K, V> {
    type Item = Result<(K::Owned, V::Item<'t>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ends.is_done {
            return None;
        }
        let record = self.take_front();
        stop_at_error(&mut self.ends.is_done, record)
    }
}

impl<K: Codec, V: Codec> DoubleEndedIterator for Range<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.ends.is_done {
            return None;
        }
        let record = self.take_back();
        stop_at_error(&mut self.ends.is_done, record)
    }
}

impl<K, V> fmt::Debug for Range<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range")
            .field("is_done", &self.ends.is_done)
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
