//! Tables: typed handles to trees.

use super::{
    Cursor, OwnedCursor, OwnedRange, Range, ReadTxn, TableOptions, Transaction, WriteTxn,
    codec::Codec, range::prefix_end, transaction::sealed::Sealed,
};
use crate::{
    Error, Result, TransactionId,
    page::{key::KeyOrder, max_key_len, value::StoredValue},
    tree::{
        PageSource, RootRef, TreeRoot, cursor, enter,
        insert::{Existing, Inserted},
        lookup,
        position::Position,
        reading::{reading, reading_twice},
    },
    txn::{
        Engine,
        catalog::{self, Entry},
        located::located,
        write,
    },
};
use std::{
    fmt,
    marker::PhantomData,
    ops::{Bound, Deref, RangeBounds},
    sync::Arc,
};

/// A handle to a table whose keys are of codec `K` and whose values of codec `V`. It is cheap to
/// clone, and every method is told the transaction.
///
/// ```
/// use teak::{Database, codec::{Str, U64}};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let heights = txn.create_table::<Str, U64>("heights")?;
/// heights.insert(&mut txn, "Mont Blanc", 4806)?;
/// heights.insert(&mut txn, "Elbrus", 5642)?;
/// assert!(!heights.insert_new(&mut txn, "Elbrus", 0)?);
/// txn.commit()?;
///
/// let txn = database.begin_read()?;
/// assert_eq!(heights.get(&txn, "Elbrus")?, Some(5642));
/// let all: Vec<_> = heights.iter(&txn)?.collect::<teak::Result<_>>()?;
/// assert_eq!(all, [("Elbrus".to_owned(), 5642), ("Mont Blanc".to_owned(), 4806)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table<K, V> {
    name: Arc<[u8]>,
    /// The engine that gave out the number, and the number.
    engine: u64,
    handle: usize,
    types: PhantomData<fn() -> (K, V)>,
}

/// A table's name, options and counts.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TableInfo {
    /// Its name: any bytes.
    pub name: Vec<u8>,
    /// What it was created with.
    pub options: TableOptions,
    /// Its counts.
    pub stat: TableStat,
    /// What this version does not know about it, in words, if a newer version created it. It cannot be
    /// opened or dropped then, nor are its options and counts known: those here mean nothing.
    pub unknown: Option<String>,
    /// Names of the comparisons that its order needs and that the database was not opened with. It can be dropped then, and not
    /// be opened; the order in its options is that of a comparison without a name.
    pub missing_comparisons: Vec<String>,
}

/// Counts of a table. None of them takes a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TableStat {
    /// Records; of a [`MultiTable`](crate::MultiTable) pairs of key and value.
    pub records: u64,
    /// Levels of pages; 0 in an empty table.
    pub depth: u8,
    /// Inner pages.
    pub inner_pages: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Pages of large values.
    pub value_pages: u64,
    /// The transaction of the last change of a record.
    pub changed: TransactionId,
    /// The number that its sequence gives next; see [`Table::draw_sequence`].
    pub sequence: u64,
}

impl TableInfo {
    pub(super) fn new(name: &[u8], entry: &Entry) -> Self {
        let nothing = TreeRoot::new(KeyOrder::Bytes, true, false, 0);
        let root = entry.root().unwrap_or(&nothing);
        let (unknown, missing) = match entry {
            Entry::Table(_) | Entry::Dropped(_) => (None, &[][..]),
            Entry::Unordered(_, missing) => (None, &missing[..]),
            Entry::Unknown(unknown) => (Some(unknown.what.to_owned()), &[][..]),
        };
        Self {
            name: name.to_vec(),
            options: TableOptions::of_root(root),
            stat: TableStat::new(root),
            unknown,
            missing_comparisons: missing.to_vec(),
        }
    }
}

impl TableStat {
    pub(super) fn new(root: &TreeRoot) -> Self {
        Self {
            records: root.records,
            depth: root.depth,
            inner_pages: u64::from(root.inner_pages),
            leaf_pages: u64::from(root.leaf_pages),
            value_pages: root.value_pages,
            changed: root.changed,
            sequence: root.sequence,
        }
    }
}

/// The bytes of a value, and the read transaction that keeps them.
#[derive(Clone)]
pub struct ValueGuard {
    txn: ReadTxn,
    place: Place,
}

/// Where the bytes of a value are.
#[derive(Clone)]
enum Place {
    /// In a leaf.
    Leaf(Position),
    /// In a run of their own.
    Run(crate::page::value::ValueRun),
}

impl ValueGuard {
    pub(super) fn at(txn: &ReadTxn, position: Position) -> Result<Option<Self>> {
        let mut key = Vec::new();
        let Some((leaf, value)) = cursor::record_at(txn.source(), &position, &mut key)? else {
            return Ok(None);
        };
        let run = value.as_run().map_err(|damage| damage.at(leaf, "lookup"))?;
        let place = match run {
            Some(run) => {
                enter::value(txn.source(), &run)?;
                Place::Run(run)
            }
            None => Place::Leaf(position),
        };
        Ok(Some(Self {
            txn: txn.clone(),
            place,
        }))
    }
}

impl ValueGuard {
    /// The transaction that keeps the bytes; [`ReadTxn::read_faults`] says whether they were there all the time.
    #[must_use]
    pub fn transaction(&self) -> &ReadTxn {
        &self.txn
    }
}

impl Deref for ValueGuard {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // Both were read without an error when the guard was made, and a snapshot does not change: it can only be that
        // they cannot be read any more.
        match &self.place {
            Place::Leaf(position) => cursor::value_at(self.txn.source(), position)
                .ok()
                .flatten()
                .unwrap_or_default(),
            Place::Run(run) => self.txn.source().value(run).unwrap_or_default(),
        }
    }
}

impl AsRef<[u8]> for ValueGuard {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for ValueGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

const SEVERAL_VALUES: &str = "a key has several values in it, which `MultiTable` is for";
pub(super) const ONE_VALUE: &str = "a key has one value in it, which `Table` is for";

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            engine: self.engine,
            handle: self.handle,
            types: PhantomData,
        }
    }
}

impl<K, V> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &catalog::printable(&self.name))
            .finish()
    }
}

impl<K, V> Table<K, V> {
    pub(super) fn new(engine: &Arc<Engine>, name: &[u8]) -> Self {
        Self {
            engine: engine.id(),
            handle: engine.handle(name),
            name: name.into(),
            types: PhantomData,
        }
    }

    /// The number under which this transaction's database knows the table. A handle that came from
    /// another database, or from an earlier opening of this one, is looked up by name.
    #[inline]
    pub(super) fn handle<T: Sealed + ?Sized>(&self, txn: &T) -> usize {
        let engine = txn.engine();
        if engine.id() == self.engine {
            return self.handle;
        }
        engine.handle(&self.name)
    }

    pub(super) fn raw_name(&self) -> &[u8] {
        &self.name
    }

    pub(super) fn shared_name(&self) -> Arc<[u8]> {
        Arc::clone(&self.name)
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The same table with other types.
    #[must_use]
    pub fn retype<K2: Codec, V2: Codec>(&self) -> Table<K2, V2> {
        Table {
            name: Arc::clone(&self.name),
            engine: self.engine,
            handle: self.handle,
            types: PhantomData,
        }
    }

    // Compilers otherwise call it, which takes a tenth of a lookup.
    #[inline(always)]
    pub(super) fn root<'t, T: Sealed + ?Sized>(&self, txn: &'t T) -> Result<RootRef<'t>> {
        match txn.root_of(self.handle(txn), &self.name)? {
            Some(root) if !root.is_multi() => Ok(root),
            root => Err(self.lacks(root.is_some(), SEVERAL_VALUES)),
        }
    }

    /// The root of the table if a key may have several values in it.
    #[inline]
    pub(super) fn multi_root<'t, T: Sealed + ?Sized>(&self, txn: &'t T) -> Result<RootRef<'t>> {
        match txn.root_of(self.handle(txn), &self.name)? {
            Some(root) if root.is_multi() => Ok(root),
            root => Err(self.lacks(root.is_some(), ONE_VALUE)),
        }
    }

    #[cold]
    fn lacks(&self, exists: bool, detail: &str) -> Error {
        match exists {
            true => self.is_other(detail),
            false => write::not_found(&self.name),
        }
    }

    /// The table is of another kind than the handle.
    #[cold]
    pub(super) fn is_other(&self, detail: &str) -> Error {
        Error::TableMismatch {
            name: catalog::printable(&self.name),
            detail: detail.to_owned(),
        }
    }
}

/// Refuses keys that the table cannot hold.
pub(super) fn check_key(root: &TreeRoot, page_size: usize, key: &[u8]) -> Result<()> {
    let max = max_key_len(page_size);
    if key.len() > max {
        return Err(Error::KeyTooLong {
            len: key.len(),
            max,
        });
    }
    if root.order != KeyOrder::Integer {
        return Ok(());
    }
    let is_possible = match root.key_len {
        0 => matches!(key.len(), 4 | 8),
        len => usize::from(len) == key.len(),
    };
    if is_possible {
        return Ok(());
    }
    Err(wrong_integer(root, key))
}

#[cold]
fn wrong_integer(root: &TreeRoot, key: &[u8]) -> Error {
    let expected = match root.key_len {
        0 => "4 or 8".to_owned(),
        len => len.to_string(),
    };
    let len = key.len();
    Error::InvalidArgument(format!(
        "the keys of this table are integers of {expected} bytes, and this one has {len}"
    ))
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// The value of a key, borrowed from the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`], [`Error::Decode`].
    #[inline]
    pub fn get<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: K::Item<'_>,
    ) -> Result<Option<V::Item<'t>>> {
        let root = self.root(txn)?;
        let key = K::encode(&key);
        let source = txn.source();
        let value = reading_twice(source, || match lookup::get(source, &root, key.as_ref())? {
            Some(value) => V::decode(lookup::load(source, root.page, value)?).map(Some),
            None => Ok(None),
        });
        value.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }

    /// Says of damage which keys of the table it concerns.
    #[cold]
    pub(super) fn located<T: Transaction>(
        &self,
        error: Error,
        txn: &T,
        root: &TreeRoot,
        key: Option<&[u8]>,
    ) -> Error {
        located(error, txn.source(), root, &self.name, key)
    }

    /// The bytes of the value of a key, with a hold on the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`].
    pub fn get_owned(&self, txn: &ReadTxn, key: K::Item<'_>) -> Result<Option<ValueGuard>> {
        let root = self.root(txn)?;
        let key = K::encode(&key);
        let mut position = Position::default();
        let source = txn.source();
        let value = reading(source, || {
            match position.seek(source, &root, key.as_ref())? {
                Some(true) => ValueGuard::at(txn, position),
                _ => Ok(None),
            }
        });
        value.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }

    /// The values of many keys, in the order of the keys. All of them go down the tree together,
    /// so that the waits for memory overlap: several times as fast as one after the other.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`], [`Error::Decode`].
    pub fn get_many<'t, T: Transaction>(
        &self,
        txn: &'t T,
        keys: &[K::Item<'_>],
    ) -> Result<Vec<Option<V::Item<'t>>>> {
        let root = self.root(txn)?;
        let source = txn.source();
        let mut values = Vec::with_capacity(keys.len());
        let found = reading_twice(source, || {
            values.clear();
            let mut add = |value: Option<StoredValue<'t>>| {
                values.push(match value {
                    Some(value) => Some(V::decode(lookup::load(source, root.page, value)?)?),
                    None => None,
                });
                Ok(())
            };
            lookup::get_many(source, &root, keys.iter().map(K::encode), &mut add)
        });
        match found {
            Ok(()) => Ok(values),
            Err(error) => {
                let key = keys.get(values.len()).map(K::encode);
                let key = key.as_ref().map(AsRef::as_ref);
                Err(self.located(error, txn, &root, key))
            }
        }
    }

    /// Whether there is such a key.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`].
    pub fn contains<T: Transaction>(&self, txn: &T, key: K::Item<'_>) -> Result<bool> {
        let root = self.root(txn)?;
        let source = txn.source();
        let value = reading_twice(source, || {
            lookup::get(source, &root, K::encode(&key).as_ref())
        });
        let value = value.map_err(|error| self.located(error, txn, &root, None))?;
        Ok(value.is_some())
    }

    /// The number of records.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn len<T: Transaction>(&self, txn: &T) -> Result<u64> {
        Ok(self.root(txn)?.records)
    }

    /// Whether there are no records.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn is_empty<T: Transaction>(&self, txn: &T) -> Result<bool> {
        Ok(self.len(txn)? == 0)
    }

    /// Counts of records and pages.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn stat<T: Transaction>(&self, txn: &T) -> Result<TableStat> {
        Ok(TableStat::new(&*self.root(txn)?))
    }

    /// What the table was created with.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn options<T: Transaction>(&self, txn: &T) -> Result<TableOptions> {
        Ok(TableOptions::of_root(&*self.root(txn)?))
    }

    /// The first record.
    ///
    /// # Errors
    ///
    /// Those of [`Table::range`].
    pub fn first<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        self.iter(txn)?.next().transpose()
    }

    /// The last record.
    ///
    /// # Errors
    ///
    /// Those of [`Table::range`].
    pub fn last<'t, T: Transaction>(&self, txn: &'t T) -> Result<Option<(K::Owned, V::Item<'t>)>> {
        self.iter(txn)?.next_back().transpose()
    }

    /// Inserts a record, or replaces the value of the key. Writing the value that is there already
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::TableNotFound`]; [`Error::Io`] and [`Error::Full`] when
    /// there is no space.
    pub fn insert(&self, txn: &mut WriteTxn, key: K::Item<'_>, value: V::Item<'_>) -> Result<()> {
        self.put(txn, &key, &value, Existing::Replace).map(drop)
    }

    /// Inserts a record if there is none with this key; says whether it did.
    ///
    /// # Errors
    ///
    /// Those of [`Table::insert`].
    pub fn insert_new(
        &self,
        txn: &mut WriteTxn,
        key: K::Item<'_>,
        value: V::Item<'_>,
    ) -> Result<bool> {
        Ok(self.put(txn, &key, &value, Existing::Keep)? == Inserted::New)
    }

    /// Inserts many records, or replaces their values: in the order of keys, whatever order they come
    /// in, which is faster than one after the other. Of records with equal keys the last one counts.
    /// Returns how many keys were not there before.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<Str, U32>("counts")?;
    /// assert_eq!(counts.insert_many(&mut txn, &[("teak", 1), ("oak", 2), ("teak", 3)])?, 2);
    /// assert_eq!(counts.get(&txn, "teak")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::insert`]. A key that the table cannot hold is found before anything changes.
    pub fn insert_many(
        &self,
        txn: &mut WriteTxn,
        records: &[(K::Item<'_>, V::Item<'_>)],
    ) -> Result<u64> {
        let encoded: Vec<_> = records
            .iter()
            .map(|(key, value)| (K::encode(key), V::encode(value)))
            .collect();
        let mut root = *self.root(txn)?;
        let page_size = txn.source().page_size();
        for (key, _) in &encoded {
            check_key(&root, page_size, key.as_ref())?;
            if root.order == KeyOrder::Integer {
                root.key_len = key.as_ref().len() as u16;
            }
        }
        let handle = self.handle(txn);
        txn.inner
            .change(handle, &self.name, |tree| tree.insert_many(&encoded))
    }

    fn put(
        &self,
        txn: &mut WriteTxn,
        key: &K::Item<'_>,
        value: &V::Item<'_>,
        existing: Existing,
    ) -> Result<Inserted> {
        let (key, value) = (K::encode(key), V::encode(value));
        let (key, value) = (key.as_ref(), StoredValue::inline(value.as_ref()));
        check_key(&*self.root(txn)?, txn.source().page_size(), key)?;
        let handle = self.handle(txn);
        txn.inner.insert(handle, &self.name, key, value, existing)
    }

    /// Removes a record; says whether there was one.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`]; [`Error::Io`] and [`Error::Full`] when there
    /// is no space for the pages that change.
    pub fn remove(&self, txn: &mut WriteTxn, key: K::Item<'_>) -> Result<bool> {
        let key = K::encode(&key);
        self.root(txn)?;
        let handle = self.handle(txn);
        txn.inner.remove(handle, &self.name, key.as_ref())
    }

    /// Removes many records, in the order of keys; returns how many there were. A key that comes
    /// twice counts once.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<Str, U32>("counts")?;
    /// counts.insert_many(&mut txn, &[("teak", 1), ("oak", 2), ("ash", 3)])?;
    /// assert_eq!(counts.remove_many(&mut txn, &["teak", "elm", "ash"])?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::remove`].
    pub fn remove_many(&self, txn: &mut WriteTxn, keys: &[K::Item<'_>]) -> Result<u64> {
        let encoded: Vec<_> = keys.iter().map(K::encode).collect();
        self.root(txn)?;
        let handle = self.handle(txn);
        txn.inner
            .change(handle, &self.name, |tree| tree.remove_many(&encoded))
    }

    /// Removes all records in a range, whole subtrees at once; returns how many there were.
    ///
    /// # Errors
    ///
    /// Those of [`Table::remove`].
    pub fn remove_range<'k>(
        &self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<u64>
    where
        K::Item<'k>: 'k,
    {
        let (low, high) = encoded_bounds::<K>(&*self.root(txn)?, &range)?;
        let handle = self.handle(txn);
        txn.inner.change(handle, &self.name, |tree| {
            tree.remove_range(as_slices(&low), as_slices(&high))
        })
    }

    /// Removes all records. The pages of a huge table are released a part at a time, as those of one that is
    /// [dropped](WriteTxn::drop_table).
    ///
    /// # Errors
    ///
    /// Those of [`Table::remove`].
    pub fn clear(&self, txn: &mut WriteTxn) -> Result<()> {
        self.root(txn)?;
        let handle = self.handle(txn);
        txn.inner
            .change(handle, &self.name, |tree| tree.clear())
            .map(drop)
    }

    /// The records of a range of keys, from both ends. A range that ends before it begins is empty.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::Corrupted`]; [`Error::InvalidArgument`] for bounds that are
    /// integers of another length than the keys.
    pub fn range<'t, 'k, T: Transaction>(
        &self,
        txn: &'t T,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<Range<'t, K, V>>
    where
        K::Item<'k>: 'k,
    {
        let root = self.root(txn)?;
        let (low, high) = encoded_bounds::<K>(&root, &range)?;
        Range::new(
            txn.source(),
            *root,
            Arc::clone(&self.name),
            as_slices(&low),
            as_slices(&high),
        )
    }

    /// All records, from both ends.
    ///
    /// # Errors
    ///
    /// Those of [`Table::range`].
    pub fn iter<'t, T: Transaction>(&self, txn: &'t T) -> Result<Range<'t, K, V>> {
        Range::new(
            txn.source(),
            *self.root(txn)?,
            Arc::clone(&self.name),
            Bound::Unbounded,
            Bound::Unbounded,
        )
    }

    /// All records whose keys, as bytes, begin with `prefix`. Only for tables in byte order.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a table in another order; those of [`Table::range`].
    pub fn prefix<'t, T: Transaction>(&self, txn: &'t T, prefix: &[u8]) -> Result<Range<'t, K, V>> {
        let root = self.root(txn)?;
        if root.order != KeyOrder::Bytes {
            let text = "keys with a prefix lie together only in a table in byte order";
            return Err(Error::InvalidArgument(text.into()));
        }
        let end = prefix_end(prefix);
        let high = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        Range::new(
            txn.source(),
            *root,
            Arc::clone(&self.name),
            Bound::Included(prefix),
            high,
        )
    }

    /// The records of a range, with a hold on the transaction.
    ///
    /// # Errors
    ///
    /// Those of [`Table::range`].
    pub fn range_owned<'k>(
        &self,
        txn: &ReadTxn,
        range: impl RangeBounds<K::Item<'k>>,
    ) -> Result<OwnedRange<K, V>>
    where
        K::Item<'k>: 'k,
    {
        let root = self.root(txn)?;
        let (low, high) = encoded_bounds::<K>(&root, &range)?;
        OwnedRange::new(
            txn.clone(),
            *root,
            Arc::clone(&self.name),
            as_slices(&low),
            as_slices(&high),
        )
    }

    /// A cursor over the raw bytes of the table.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn cursor<'t, T: Transaction>(&self, txn: &'t T) -> Result<Cursor<'t>> {
        let root = *self.root(txn)?;
        Ok(Cursor::new(txn.source(), root, Arc::clone(&self.name)))
    }

    /// A cursor over the raw bytes of the table, with a hold on the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`].
    pub fn cursor_owned(&self, txn: &ReadTxn) -> Result<OwnedCursor> {
        let root = *self.root(txn)?;
        let name = Arc::clone(&self.name);
        Ok(OwnedCursor::new(txn.clone(), root, name))
    }
}

pub(super) type OwnedBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

pub(super) fn encoded_bounds<'k, K: Codec>(
    root: &TreeRoot,
    range: &impl RangeBounds<K::Item<'k>>,
) -> Result<OwnedBounds>
where
    K::Item<'k>: 'k,
{
    let encode = |bound: Bound<&K::Item<'k>>| {
        let bound = bound.map(|key| K::encode(key).as_ref().to_vec());
        if let Bound::Included(key) | Bound::Excluded(key) = &bound {
            check_probe(root, key)?;
        }
        Ok(bound)
    };
    Ok((encode(range.start_bound())?, encode(range.end_bound())?))
}

/// Refuses what has no place among the keys of a table: an integer of another length.
pub(super) fn check_probe(root: &TreeRoot, key: &[u8]) -> Result<()> {
    if root.order != KeyOrder::Integer || root.is_empty() || key.len() == usize::from(root.key_len)
    {
        return Ok(());
    }
    Err(wrong_integer(root, key))
}

/// Refuses what has no place among the values of a table in which a key has several.
pub(super) fn check_value_probe(root: &TreeRoot, value: &[u8]) -> Result<()> {
    let size = usize::from(root.kind.value_size);
    if root.value_order() != KeyOrder::Integer || size == 0 || value.len() == size {
        return Ok(());
    }
    let len = value.len();
    let text =
        format!("the values of this table are integers of {size} bytes, and this one has {len}");
    Err(Error::InvalidArgument(text))
}

pub(super) fn as_slices(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
