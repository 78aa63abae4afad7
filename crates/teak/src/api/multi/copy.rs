//! Copying and moving pairs from one table to another in batches.

use super::{handle::MultiTable, range::Pairs};
use crate::{
    Result,
    api::{
        WriteTxn,
        codec::{Bytes, Codec},
        copy::{BATCH_BYTES, RECORD_COST_BYTES, SourceRecords, out_of_order, refuse_same},
        key_checks::{OwnedBounds, as_slices, encoded_bounds},
        sealed::Sealed,
    },
    btree::{TreeRoot, multi::cursor::PairBound},
};
use std::ops::{Bound, RangeBounds};

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Copies all pairs of a range of keys to another table, which may have other orders. The
    /// values that its keys already have stay. Returns the number of copied pairs, including those
    /// that were there already. Memory use is about one megabyte of pairs. If the call fails,
    /// nothing has changed.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// let some = txn.create_multi_table::<Str, U32>("some")?;
    /// lines.insert_many(&mut txn, &[("ash", 1), ("oak", 2), ("oak", 5)])?;
    /// assert_eq!(lines.copy_range(&mut txn, "b".., &some)?, 2);
    /// assert_eq!(some.count(&txn, "oak")?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if both tables are the same, if
    /// the target cannot hold some of the pairs, or if a bound is an integer of another length than
    /// the keys; [`Error::TableMismatch`](crate::Error::TableMismatch) if a key has one value in
    /// one of the tables; [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong) or
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong); [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space.
    pub fn copy_range<'k>(
        &self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::Item<'k>>,
        target: &Self,
    ) -> Result<u64> {
        let bounds = encoded_bounds::<K>(&*self.root(txn)?, &range)?;
        txn.nested(|txn| self.transfer(txn, bounds, target, SourceRecords::Keep))
    }

    /// Moves all pairs of a range of keys to another table, like [`MultiTable::copy_range`], and
    /// returns their number. All of them are removed from this table.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// let old = txn.create_multi_table::<Str, U32>("old")?;
    /// lines.insert_many(&mut txn, &[("ash", 1), ("ash", 4), ("oak", 2)])?;
    /// assert_eq!(lines.move_range(&mut txn, .."f", &old)?, 2);
    /// assert_eq!((lines.len(&txn)?, old.len(&txn)?), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if both tables are the same, if
    /// the target cannot hold some of the pairs, or if a bound is an integer of another length than
    /// the keys; [`Error::TableMismatch`](crate::Error::TableMismatch) if a key has one value in
    /// one of the tables; [`Error::TableNotFound`](crate::Error::TableNotFound) or
    /// [`Error::Corrupted`](crate::Error::Corrupted);
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong) or
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong); [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space.
    pub fn move_range<'k>(
        &self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::Item<'k>>,
        target: &Self,
    ) -> Result<u64> {
        let bounds = encoded_bounds::<K>(&*self.root(txn)?, &range)?;
        txn.nested(|txn| self.transfer(txn, bounds, target, SourceRecords::Remove))
    }

    fn transfer(
        &self,
        txn: &mut WriteTxn,
        (low, high): OwnedBounds,
        target: &Self,
        source_records: SourceRecords,
    ) -> Result<u64> {
        refuse_same(self.name(), target.name())?;
        let (from, to) = (
            self.retype::<Bytes, Bytes>(),
            target.retype::<Bytes, Bytes>(),
        );
        // Resolve the target also if there is nothing to copy, so that its errors are reported.
        to.root(txn)?;
        let of_key = |key| (key, None);
        let high = as_slices(&high).map(of_key);
        let mut batch = from.some_pairs(txn, as_slices(&low).map(of_key), high)?;
        let mut count = 0;
        let mut before: Option<(Vec<u8>, Vec<u8>)> = None;
        while let (Some((first_key, first)), Some((last_key, last))) = (batch.first(), batch.last())
        {
            from.refuse_disorder(&*from.root(txn)?, before.as_ref(), &batch)?;
            let pairs: Vec<_> = batch
                .iter()
                .map(|(key, value)| (&key[..], &value[..]))
                .collect();
            to.insert_many(txn, &pairs)?;
            if source_records == SourceRecords::Remove {
                let copied = (
                    Bound::Included((&first_key[..], &first[..])),
                    Bound::Included((&last_key[..], &last[..])),
                );
                from.remove_pairs(txn, copied)?;
            }
            count += batch.len() as u64;
            let low = Bound::Excluded((&last_key[..], Some(&last[..])));
            let next = from.some_pairs(txn, low, high)?;
            before = std::mem::replace(&mut batch, next).pop();
        }
        Ok(count)
    }
}

impl MultiTable<Bytes, Bytes> {
    /// Refuses pairs that do not ascend, like the check for copies from a plain table.
    fn refuse_disorder(
        &self,
        root: &TreeRoot,
        before: Option<&(Vec<u8>, Vec<u8>)>,
        pairs: &[(Vec<u8>, Vec<u8>)],
    ) -> Result<()> {
        let all = before.into_iter().chain(pairs);
        for (a, b) in all.clone().zip(all.skip(1)) {
            if root.compare_pairs((&a.0, &a.1), (&b.0, &b.1)).is_ge() {
                return Err(out_of_order(root, self.name(), &a.0, &b.0));
            }
        }
        Ok(())
    }

    /// Reads the first pairs of a range.
    fn some_pairs(
        &self,
        txn: &WriteTxn,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let (root, name) = (*self.root(txn)?, self.table.shared_name());
        let (mut pairs, mut len) = (Vec::new(), 0);
        for pair in Pairs::<Bytes, Bytes>::new(txn.source(), root, name, low, high)? {
            let (key, value) = pair?;
            len += key.len() + value.len() + RECORD_COST_BYTES;
            pairs.push((key, value));
            if len >= BATCH_BYTES {
                break;
            }
        }
        Ok(pairs)
    }
}
