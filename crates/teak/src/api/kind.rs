//! The kinds of tables, and where they differ.

use super::{
    codec::Codec,
    difference::Difference,
    range_cursor::{RangeCursor, Source, SyncPages, TreeState},
    transaction::read::ReadTxn,
    value_guard::ValueGuard,
};
use crate::{
    Error, Result,
    api::sealed::Sealed as _,
    btree::{
        TableClass, TreeRoot,
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
    error::{BoxedError, boxed},
};

/// The kind of a [`Table`](crate::Table) in which a key has one value.
#[derive(Debug)]
pub struct Single;

/// The kind of a [`MultiTable`](crate::MultiTable), in which a key has a sorted set of values.
#[derive(Debug)]
pub struct Multi;

/// The kind of the records of an [`ExpiringTable`](crate::ExpiringTable), which reads and changes
/// them: their values begin with a stamp.
#[derive(Debug)]
pub(super) struct Expiring;

/// The kind of a table: [`Single`] or [`Multi`]. Most methods of a table are the
/// same for both.
///
/// ```
/// use teak::{Kind, ReadTxn, Result, Table, codec::{Small, Str}};
///
/// /// The first key of a table of any kind.
/// fn first_key<M: Kind>(table: &Table<Str, u64, M>, txn: &ReadTxn) -> Result<Option<Small<str>>> {
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

/// A record that borrows the cursor that has read it.
pub(super) type LentRecord<'c, K, V> = (<K as Codec>::Item<'c>, <V as Codec>::Item<'c>);

/// A record that does not borrow its transaction.
pub(super) type OwnedReadRecord<K, V, M> = (<K as Codec>::Owned, <M as Kind>::OwnedValue<V>);

/// A difference between two states of a table.
pub(super) type ReadDifference<'t, K, V, M> =
    Difference<<K as Codec>::Owned, <M as Kind>::Value<'t, V>>;

/// The differences between the kinds.
pub(super) trait TableKind: Sized + 'static {
    const IS_MULTI: bool = matches!(Self::CLASS, TableClass::Multi);
    const CLASS: TableClass;

    type Cursor<'t>: RangeCursor<'t, Parked = Self::Parked>;

    type Parked;

    /// A walk along the differences of two states.
    type Walk<'t>;

    /// Decodes the record that a cursor has read.
    fn record<'t, K: Codec, V: Codec>(
        cursor: &Self::Cursor<'t>,
    ) -> Result<ReadRecord<'t, K, V, Self>, BoxedError>
    where
        Self: Kind;

    /// Decodes the record that a cursor has read; the result borrows the cursor.
    fn lend<'c, K: Codec, V: Codec>(
        cursor: &'c Self::Cursor<'_>,
    ) -> Result<LentRecord<'c, K, V>, BoxedError>;

    /// Decodes the record that a cursor has read; the result holds the transaction.
    fn owned_record<K: Codec, V: Codec>(
        cursor: &Self::Cursor<'_>,
        txn: &ReadTxn,
    ) -> Result<OwnedReadRecord<K, V, Self>, BoxedError>
    where
        Self: Kind;

    /// Decodes the key that a cursor over keys has read.
    fn key<K: Codec>(cursor: &KeyCursor<'_>) -> Result<Self::Key<K>, BoxedError>
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

    /// Creates a walk from an older to a newer state that begins before the first difference of a
    /// range.
    fn walk<'t>(
        states: [TreeState<'t>; 2],
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Self::Walk<'t>;

    /// Moves to the next difference and reads it.
    fn next_difference<'t, K: Codec, V: Codec>(
        walk: &mut Self::Walk<'t>,
    ) -> Result<Option<ReadDifference<'t, K, V, Self>>>
    where
        Self: Kind;

    /// The tree that an error most likely concerns, and the key of the current difference.
    fn fault<'w, 't>(walk: &'w Self::Walk<'t>) -> (Source<'t>, &'w TreeRoot, &'w [u8]);
}

/// A cursor over the keys of a table of any kind.
type KeyCursor<'t> = TreeCursor<'t, SyncPages<'t>>;

impl Kind for Single {
    type Value<'t, V: Codec> = V::Item<'t>;
    type OwnedValue<V: Codec> = ValueGuard;
    type Key<K: Codec> = K::Owned;
}

impl TableKind for Single {
    const CLASS: TableClass = TableClass::Single;

    type Cursor<'t> = TreeCursor<'t, SyncPages<'t>>;
    type Parked = ParkedCursor;
    type Walk<'t> = DifferenceWalk<'t, SyncPages<'t>>;

    #[inline(always)]
    fn record<'t, K: Codec, V: Codec>(
        cursor: &Self::Cursor<'t>,
    ) -> Result<ReadRecord<'t, K, V, Self>, BoxedError> {
        let (faults, _) = cursor.faults_before();
        let before = faults.count();
        let (key, value) = cursor.decode(|value| {
            let key = K::decode_key(cursor.known_key())?;
            Ok((key, V::decode(value).map_err(boxed)?))
        })?;
        // Copied here, because a closure would be a call that returns the copy in memory.
        let key = K::to_owned(key);
        match faults.are_more_than(before) {
            false => Ok((key, value)),
            true => Err(cursor.fault()),
        }
    }

    #[inline(always)]
    fn lend<'c, K: Codec, V: Codec>(
        cursor: &'c Self::Cursor<'_>,
    ) -> Result<LentRecord<'c, K, V>, BoxedError> {
        cursor.decode(|value: &'c [u8]| {
            let key = K::decode_key(cursor.known_key())?;
            Ok((key, V::decode(value).map_err(boxed)?))
        })
    }

    fn owned_record<K: Codec, V: Codec>(
        cursor: &Self::Cursor<'_>,
        txn: &ReadTxn,
    ) -> Result<OwnedReadRecord<K, V, Self>, BoxedError> {
        let key = Self::key::<K>(cursor)?;
        let guard = reading(txn.source(), || {
            ValueGuard::at(txn, cursor.position().clone())
        })?;
        Ok((key, guard.ok_or_else(|| out_of_order(cursor.root()))?))
    }

    #[inline]
    fn key<K: Codec>(cursor: &Self::Cursor<'_>) -> Result<K::Owned, BoxedError> {
        Ok(K::to_owned(K::decode_key(cursor.known_key())?))
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
            true => Ok(Some(Self::record::<K, V>(&cursor).map_err(|error| *error)?)),
            false => Ok(None),
        }
    }

    fn walk<'t>(
        [older, newer]: [TreeState<'t>; 2],
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Self::Walk<'t> {
        let (low, high) = (low.map(|(key, _)| key), high.map(|(key, _)| key));
        DifferenceWalk::new(older, newer, low, high)
    }

    fn next_difference<'t, K: Codec, V: Codec>(
        walk: &mut Self::Walk<'t>,
    ) -> Result<Option<ReadDifference<'t, K, V, Self>>> {
        let Some(kind) = walk.next()? else {
            return Ok(None);
        };
        let key = K::to_owned(K::decode(walk.key())?);
        Ok(Some(match kind {
            ChangeKind::Inserted => Difference::Inserted {
                key,
                value: walk.new_value(V::decode)?,
            },
            ChangeKind::Removed => Difference::Removed {
                key,
                value: walk.old_value(V::decode)?,
            },
            ChangeKind::Changed => Difference::Changed {
                key,
                old: walk.old_value(V::decode)?,
                new: walk.new_value(V::decode)?,
            },
        }))
    }

    fn fault<'w, 't>(walk: &'w Self::Walk<'t>) -> (Source<'t>, &'w TreeRoot, &'w [u8]) {
        let (source, root) = walk.tree_at_fault();
        (source, root, walk.key())
    }
}

impl Kind for Expiring {
    type Value<'t, V: Codec> = V::Item<'t>;
    type OwnedValue<V: Codec> = ValueGuard;
    type Key<K: Codec> = K::Owned;
}

impl TableKind for Expiring {
    const CLASS: TableClass = TableClass::Expiring;

    type Cursor<'t> = TreeCursor<'t, SyncPages<'t>>;
    type Parked = ParkedCursor;
    type Walk<'t> = DifferenceWalk<'t, SyncPages<'t>>;

    #[inline]
    fn record<'t, K: Codec, V: Codec>(
        cursor: &Self::Cursor<'t>,
    ) -> Result<ReadRecord<'t, K, V, Self>, BoxedError> {
        Single::record::<K, V>(cursor)
    }

    #[inline]
    fn lend<'c, K: Codec, V: Codec>(
        cursor: &'c Self::Cursor<'_>,
    ) -> Result<LentRecord<'c, K, V>, BoxedError> {
        Single::lend::<K, V>(cursor)
    }

    fn owned_record<K: Codec, V: Codec>(
        cursor: &Self::Cursor<'_>,
        txn: &ReadTxn,
    ) -> Result<OwnedReadRecord<K, V, Self>, BoxedError> {
        Single::owned_record::<K, V>(cursor, txn)
    }

    fn key<K: Codec>(cursor: &Self::Cursor<'_>) -> Result<K::Owned, BoxedError> {
        Single::key::<K>(cursor)
    }

    fn into_owned<V: Codec>(value: V::Item<'_>) -> V::Owned {
        V::to_owned(value)
    }

    fn nth<'t, K: Codec, V: Codec>(
        state: TreeState<'t>,
        number: u64,
    ) -> Result<Option<ReadRecord<'t, K, V, Self>>> {
        Single::nth::<K, V>(state, number)
    }

    fn walk<'t>(
        states: [TreeState<'t>; 2],
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Self::Walk<'t> {
        Single::walk(states, low, high)
    }

    fn next_difference<'t, K: Codec, V: Codec>(
        walk: &mut Self::Walk<'t>,
    ) -> Result<Option<ReadDifference<'t, K, V, Self>>> {
        Single::next_difference::<K, V>(walk)
    }

    fn fault<'w, 't>(walk: &'w Self::Walk<'t>) -> (Source<'t>, &'w TreeRoot, &'w [u8]) {
        Single::fault(walk)
    }
}

impl Kind for Multi {
    type Value<'t, V: Codec> = V::Owned;
    type OwnedValue<V: Codec> = V::Owned;
    type Key<K: Codec> = (K::Owned, u64);
}

impl TableKind for Multi {
    const CLASS: TableClass = TableClass::Multi;

    type Cursor<'t> = PairCursor<'t, SyncPages<'t>>;
    type Parked = PairPosition;
    type Walk<'t> = PairDifferenceWalk<'t, SyncPages<'t>>;

    #[inline(always)]
    fn record<'t, K: Codec, V: Codec>(
        cursor: &Self::Cursor<'t>,
    ) -> Result<ReadRecord<'t, K, V, Self>, BoxedError> {
        cursor.decode(|key, value| {
            let (key, value) = (
                K::decode(key).map_err(boxed)?,
                V::decode(value).map_err(boxed)?,
            );
            Ok((K::to_owned(key), V::to_owned(value)))
        })
    }

    #[inline(always)]
    fn lend<'c, K: Codec, V: Codec>(
        cursor: &'c Self::Cursor<'_>,
    ) -> Result<LentRecord<'c, K, V>, BoxedError> {
        cursor.decode(|key, value| {
            Ok((
                K::decode(key).map_err(boxed)?,
                V::decode(value).map_err(boxed)?,
            ))
        })
    }

    fn owned_record<K: Codec, V: Codec>(
        cursor: &Self::Cursor<'_>,
        _: &ReadTxn,
    ) -> Result<OwnedReadRecord<K, V, Self>, BoxedError> {
        Self::record::<K, V>(cursor)
    }

    fn key<K: Codec>(cursor: &KeyCursor<'_>) -> Result<(K::Owned, u64), BoxedError> {
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

    fn walk<'t>(
        [older, newer]: [TreeState<'t>; 2],
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Self::Walk<'t> {
        PairDifferenceWalk::new(older, newer, low, high)
    }

    fn next_difference<'t, K: Codec, V: Codec>(
        walk: &mut Self::Walk<'t>,
    ) -> Result<Option<ReadDifference<'t, K, V, Self>>> {
        let Some(kind) = walk.next()? else {
            return Ok(None);
        };
        let (key, value) = reading(walk.tree_at_fault().0, || {
            let (key, value) = walk.pair();
            let key = K::to_owned(K::decode(key)?);
            Ok((key, V::to_owned(V::decode(value)?)))
        })?;
        Ok(Some(match kind {
            ChangeKind::Removed => Difference::Removed { key, value },
            ChangeKind::Inserted | ChangeKind::Changed => Difference::Inserted { key, value },
        }))
    }

    fn fault<'w, 't>(walk: &'w Self::Walk<'t>) -> (Source<'t>, &'w TreeRoot, &'w [u8]) {
        let (source, root) = walk.tree_at_fault();
        (source, root, walk.pair().0)
    }
}

/// One end of a range passed the other.
#[cold]
pub(super) fn out_of_order(root: &TreeRoot) -> Error {
    Error::corrupted(root.page, "scan", "the keys of this tree are not in order")
}
