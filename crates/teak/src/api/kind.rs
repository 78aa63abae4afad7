//! The two kinds of tables, and where they differ.

use super::{codec::Codec, transaction::read::ReadTxn, value_guard::ValueGuard};
use crate::{
    Error, Result,
    api::sealed::Sealed as _,
    btree::{
        PageSource, TreeRoot,
        cursor::{TreeCursor, parked::ParkedCursor},
        differences::{ChangeKind, DifferenceWalk},
        multi::{
            KeyValues,
            count::nth_pair,
            cursor::{PairBound, PairCursor},
            differences::PairDifferenceWalk,
            position::PairPosition,
        },
        reading::reading,
    },
};

/// A source of pages that iterators can take to other threads.
pub(super) type Source<'t> = &'t SyncPages<'t>;

pub(super) type SyncPages<'t> = dyn PageSource + Sync + 't;

/// A state of a tree.
pub(super) type TreeState<'t> = (Source<'t>, TreeRoot);

/// The kind of a [`Table`](crate::Table) in which a key has one value.
#[derive(Debug)]
pub struct Single;

/// The kind of a [`MultiTable`](crate::MultiTable), in which a key has a sorted set of values.
#[derive(Debug)]
pub struct Multi;

/// The kind of a table: [`Single`] or [`Multi`]. Most methods of a table are the
/// same for both.
///
/// ```
/// use teak::{Kind, ReadTxn, Result, Table, codec::{Str, U64}};
///
/// /// The first key of a table of any kind.
/// fn first_key<M: Kind>(table: &Table<Str, U64, M>, txn: &ReadTxn) -> Result<Option<String>> {
///     Ok(table.first(txn)?.map(|(key, _)| key))
/// }
/// ```
// Only this crate has kinds.
#[allow(private_bounds)]
pub trait Kind: TableKind {
    /// A value that is read: `V::Item` of a [`Single`] table, and `V::Owned` of a [`Multi`] table,
    /// because a page may hold only a part of the value.
    type Value<'t, V: Codec>;

    /// A value that is read by an iterator that holds its transaction: a [`ValueGuard`] of a
    /// [`Single`] table, and `V::Owned` of a [`Multi`] table.
    type OwnedValue<V: Codec>;

    /// A key as [`Range::keys`](crate::Range::keys) returns it: `K::Owned` of a [`Single`] table,
    /// and with the number of its values of a [`Multi`] table.
    type Key<K: Codec>;
}

/// A record that is read from a table.
pub(super) type ReadRecord<'t, K, V, M> = (<K as Codec>::Owned, <M as Kind>::Value<'t, V>);

/// A record that does not borrow its transaction.
pub(super) type OwnedReadRecord<K, V, M> = (<K as Codec>::Owned, <M as Kind>::OwnedValue<V>);

/// The differences between the kinds.
pub(super) trait TableKind: Sized + 'static {
    const IS_MULTI: bool;

    type Cursor<'t>: RangeCursor<'t, Parked = Self::Parked>;

    type Parked;

    type Walk<'t>: StateWalk<'t, Self>
    where
        Self: Kind;

    /// Decodes the record that a cursor has read.
    fn record<'t, K: Codec, V: Codec>(
        cursor: &Self::Cursor<'t>,
    ) -> Result<ReadRecord<'t, K, V, Self>>
    where
        Self: Kind;

    /// Reads and decodes the current record of a resumed cursor.
    fn owned_record<K: Codec, V: Codec>(
        cursor: &mut Self::Cursor<'_>,
        txn: &ReadTxn,
    ) -> Result<OwnedReadRecord<K, V, Self>>
    where
        Self: Kind;

    /// The key that a cursor over keys has read.
    fn key<K: Codec>(cursor: &KeyCursor<'_>) -> Result<Self::Key<K>>
    where
        Self: Kind;

    /// Copies a value.
    fn into_owned<V: Codec>(value: Self::Value<'_, V>) -> V::Owned
    where
        Self: Kind;

    /// Reads record `number` of a counted tree.
    fn nth<'t, K: Codec, V: Codec>(
        state: TreeState<'t>,
        number: u64,
    ) -> Result<Option<ReadRecord<'t, K, V, Self>>>
    where
        Self: Kind;
}

/// A cursor over the keys of a table of any kind.
type KeyCursor<'t> = TreeCursor<'t, SyncPages<'t>>;

/// One end of a range, which moves towards the other.
pub(super) trait RangeCursor<'t>: Sized {
    /// The state of the cursor while its source is not borrowed.
    type Parked;

    fn new(state: TreeState<'t>) -> Self;

    /// Resumes a parked cursor, in the same state of the tree.
    fn resume(state: TreeState<'t>, parked: Self::Parked) -> Result<Self>;

    fn park(self) -> Self::Parked;

    /// Moves to the first record of a range; after the last one if there is none.
    fn seek_low(&mut self, low: PairBound<'_>) -> Result<()>;

    /// Moves past the last record of a range.
    fn seek_high(&mut self, high: PairBound<'_>) -> Result<()>;

    /// Reads the current record.
    fn read(&mut self) -> Result<()>;

    /// Moves to the next record.
    fn step(&mut self) -> Result<bool>;

    /// Moves to the previous record.
    fn step_back(&mut self) -> Result<bool>;

    /// Whether both are on the same record, or both on none.
    fn is_at(&self, other: &Self) -> bool;

    fn is_on_record(&self) -> bool;

    /// The key that was read; empty if there is none.
    fn key(&self) -> &[u8];

    fn state(&self) -> (Source<'t>, &TreeRoot);
}

/// A walk along the differences of two states of a table.
pub(super) trait StateWalk<'t, M: Kind> {
    /// Creates a walk that begins before the first difference of a range.
    fn new(
        older: TreeState<'t>,
        newer: TreeState<'t>,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Self;

    /// Moves to the next difference.
    fn next(&mut self) -> Result<Option<ChangeKind>>;

    /// The key of the current difference.
    fn key(&self) -> &[u8];

    /// The value in the older state.
    fn old_value<V: Codec>(&mut self) -> Result<M::Value<'t, V>>;

    /// The value in the newer state.
    fn new_value<V: Codec>(&mut self) -> Result<M::Value<'t, V>>;

    /// The tree that an error most likely concerns.
    fn tree_at_fault(&self) -> (Source<'t>, &TreeRoot);
}

impl Kind for Single {
    type Value<'t, V: Codec> = V::Item<'t>;
    type OwnedValue<V: Codec> = ValueGuard;
    type Key<K: Codec> = K::Owned;
}

impl TableKind for Single {
    const IS_MULTI: bool = false;

    type Cursor<'t> = TreeCursor<'t, SyncPages<'t>>;
    type Parked = ParkedCursor;
    type Walk<'t> = DifferenceWalk<'t, SyncPages<'t>>;

    #[inline]
    fn record<'t, K: Codec, V: Codec>(
        cursor: &Self::Cursor<'t>,
    ) -> Result<ReadRecord<'t, K, V, Self>> {
        Ok((Self::key::<K>(cursor)?, cursor.decode(V::decode)?))
    }

    fn owned_record<K: Codec, V: Codec>(
        cursor: &mut Self::Cursor<'_>,
        txn: &ReadTxn,
    ) -> Result<OwnedReadRecord<K, V, Self>> {
        cursor.read_resumed()?;
        let key = Self::key::<K>(cursor)?;
        let guard = reading(txn.source(), || {
            ValueGuard::at(txn, cursor.position().clone())
        })?;
        Ok((key, guard.ok_or_else(|| out_of_order(cursor.root()))?))
    }

    #[inline]
    fn key<K: Codec>(cursor: &Self::Cursor<'_>) -> Result<K::Owned> {
        Ok(K::to_owned(K::decode(cursor.key())?))
    }

    fn into_owned<V: Codec>(value: V::Item<'_>) -> V::Owned {
        V::to_owned(value)
    }

    fn nth<'t, K: Codec, V: Codec>(
        state: TreeState<'t>,
        number: u64,
    ) -> Result<Option<ReadRecord<'t, K, V, Self>>> {
        let mut cursor = <Self::Cursor<'t> as RangeCursor<'t>>::new(state);
        match cursor.seek_nth(number)? {
            true => Self::record::<K, V>(&cursor).map(Some),
            false => Ok(None),
        }
    }
}

impl Kind for Multi {
    type Value<'t, V: Codec> = V::Owned;
    type OwnedValue<V: Codec> = V::Owned;
    type Key<K: Codec> = (K::Owned, u64);
}

impl TableKind for Multi {
    const IS_MULTI: bool = true;

    type Cursor<'t> = PairCursor<'t, SyncPages<'t>>;
    type Parked = PairPosition;
    type Walk<'t> = PairDifferenceWalk<'t, SyncPages<'t>>;

    fn record<'t, K: Codec, V: Codec>(
        cursor: &Self::Cursor<'t>,
    ) -> Result<ReadRecord<'t, K, V, Self>> {
        cursor.decode(|key, value| {
            let key = K::to_owned(K::decode(key)?);
            Ok((key, V::to_owned(V::decode(value)?)))
        })
    }

    fn owned_record<K: Codec, V: Codec>(
        cursor: &mut Self::Cursor<'_>,
        _: &ReadTxn,
    ) -> Result<OwnedReadRecord<K, V, Self>> {
        Self::record::<K, V>(cursor)
    }

    fn key<K: Codec>(cursor: &KeyCursor<'_>) -> Result<(K::Owned, u64)> {
        let root = cursor.root();
        let values = reading(cursor.source(), || {
            let values = KeyValues::of(root, cursor.stored_value());
            values.map_err(|damage| damage.at(root.page, "scan"))
        })?;
        Ok((Single::key::<K>(cursor)?, values.count()))
    }

    fn into_owned<V: Codec>(value: V::Owned) -> V::Owned {
        value
    }

    fn nth<'t, K: Codec, V: Codec>(
        (source, root): TreeState<'t>,
        number: u64,
    ) -> Result<Option<ReadRecord<'t, K, V, Self>>> {
        let Some((key, value)) = nth_pair(source, &root, number)? else {
            return Ok(None);
        };
        let value = V::to_owned(V::decode(&value.unwrap_or_default())?);
        Ok(Some((K::to_owned(K::decode(&key)?), value)))
    }
}

impl<'t> RangeCursor<'t> for TreeCursor<'t, SyncPages<'t>> {
    type Parked = ParkedCursor;

    fn new((source, root): TreeState<'t>) -> Self {
        Self::new(source, root)
    }

    fn resume((source, root): TreeState<'t>, parked: ParkedCursor) -> Result<Self> {
        Ok(Self::resume_unread(source, root, parked))
    }

    fn park(self) -> ParkedCursor {
        self.park()
    }

    fn seek_low(&mut self, low: PairBound<'_>) -> Result<()> {
        self.seek_bound(low.map(|(key, _)| key))
    }

    fn seek_high(&mut self, high: PairBound<'_>) -> Result<()> {
        self.seek_end(high.map(|(key, _)| key))
    }

    #[inline]
    fn read(&mut self) -> Result<()> {
        self.read_here().map(drop)
    }

    #[inline]
    fn step(&mut self) -> Result<bool> {
        self.step()
    }

    #[inline]
    fn step_back(&mut self) -> Result<bool> {
        self.step_back()
    }

    #[inline]
    fn is_at(&self, other: &Self) -> bool {
        self.position().is_at(other.position())
    }

    #[inline]
    fn is_on_record(&self) -> bool {
        self.position().record().is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.key()
    }

    fn state(&self) -> (Source<'t>, &TreeRoot) {
        (self.source(), self.root())
    }
}

impl<'t> RangeCursor<'t> for PairCursor<'t, SyncPages<'t>> {
    type Parked = PairPosition;

    fn new((source, root): TreeState<'t>) -> Self {
        Self::new(source, root)
    }

    fn resume((source, root): TreeState<'t>, parked: PairPosition) -> Result<Self> {
        Self::resume(source, root, parked)
    }

    fn park(self) -> PairPosition {
        self.park()
    }

    fn seek_low(&mut self, low: PairBound<'_>) -> Result<()> {
        self.seek_bound(low)
    }

    fn seek_high(&mut self, high: PairBound<'_>) -> Result<()> {
        self.seek_end(high)
    }

    fn read(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self) -> Result<bool> {
        self.next()
    }

    fn step_back(&mut self) -> Result<bool> {
        self.prev()
    }

    fn is_at(&self, other: &Self) -> bool {
        self.is_at(other)
    }

    fn is_on_record(&self) -> bool {
        self.is_on_pair()
    }

    fn key(&self) -> &[u8] {
        self.key()
    }

    fn state(&self) -> (Source<'t>, &TreeRoot) {
        (self.source(), self.root())
    }
}

impl<'t> StateWalk<'t, Single> for DifferenceWalk<'t, SyncPages<'t>> {
    fn new(
        older: TreeState<'t>,
        newer: TreeState<'t>,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Self {
        Self::new(
            older,
            newer,
            low.map(|(key, _)| key),
            high.map(|(key, _)| key),
        )
    }

    fn next(&mut self) -> Result<Option<ChangeKind>> {
        self.next()
    }

    fn key(&self) -> &[u8] {
        self.key()
    }

    fn old_value<V: Codec>(&mut self) -> Result<V::Item<'t>> {
        self.old_value(V::decode)
    }

    fn new_value<V: Codec>(&mut self) -> Result<V::Item<'t>> {
        self.new_value(V::decode)
    }

    fn tree_at_fault(&self) -> (Source<'t>, &TreeRoot) {
        self.tree_at_fault()
    }
}

impl<'t> StateWalk<'t, Multi> for PairDifferenceWalk<'t, SyncPages<'t>> {
    fn new(
        older: TreeState<'t>,
        newer: TreeState<'t>,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Self {
        Self::new(older, newer, low, high)
    }

    fn next(&mut self) -> Result<Option<ChangeKind>> {
        self.next()
    }

    fn key(&self) -> &[u8] {
        self.pair().0
    }

    fn old_value<V: Codec>(&mut self) -> Result<V::Owned> {
        let (source, _) = self.tree_at_fault();
        reading(source, || Ok(V::to_owned(V::decode(self.pair().1)?)))
    }

    fn new_value<V: Codec>(&mut self) -> Result<V::Owned> {
        // A pair is only in one of the states.
        <Self as StateWalk<'t, Multi>>::old_value::<V>(self)
    }

    fn tree_at_fault(&self) -> (Source<'t>, &TreeRoot) {
        self.tree_at_fault()
    }
}

/// One end of a range passed the other.
#[cold]
pub(super) fn out_of_order(root: &TreeRoot) -> Error {
    Error::corrupted(root.page, "scan", "the keys of this tree are not in order")
}
