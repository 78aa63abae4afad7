//! Copying and moving records from one table to another in batches.

use super::{
    Table, WriteTxn,
    codec::{Bytes, Codec},
    key_checks::{OwnedBounds, as_slices, encoded_bounds},
};
use crate::{Error, KeyRange, Result, btree::TreeRoot, read::catalog};
use std::ops::{Bound, RangeBounds};

/// Bytes of records held in memory at once, unless a single record is larger.
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// Approximate memory per record beside its key and value: two vectors, two slices, and the
/// allocator's overhead.
pub(super) const RECORD_COST_BYTES: usize = 100;

/// The fate of the source records after copying.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceRecords {
    Keep,
    Remove,
}

impl<K: Codec, V: Codec> Table<K, V> {
    /// Copies all records of a range to another table, which may have another order. Records there
    /// with the same keys are replaced. If the comparison of the target table treats several of the
    /// keys as equal, one of these records is kept there. Returns the number of copied records,
    /// including those that were replaced again. Memory use is about one megabyte of records, or
    /// one record if it is larger. If the call fails, nothing has changed.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<Str, U32>("counts")?;
    /// let some = txn.create_table::<Str, U32>("some")?;
    /// counts.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// assert_eq!(counts.copy_range(&mut txn, "b".., &some)?, 2);
    /// assert_eq!(some.get(&txn, "oak")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if both tables are the same, if the target cannot hold some of
    /// the keys, or if a bound is an integer of another length than the keys;
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::KeyTooLong`]; [`Error::Io`] or
    /// [`Error::Full`] if there is no space.
    pub fn copy_range<'k>(
        &self,
        txn: &mut WriteTxn,
        range: impl RangeBounds<K::Item<'k>>,
        target: &Self,
    ) -> Result<u64> {
        let bounds = encoded_bounds::<K>(&*self.root(txn)?, &range)?;
        txn.nested(|txn| self.transfer(txn, bounds, target, SourceRecords::Keep))
    }

    /// Moves all records of a range to another table, like [`Table::copy_range`], and returns their
    /// number. All of them are removed from this table. If the comparison of the target table
    /// treats several of the keys as equal, one of these records is kept there and the others are
    /// lost.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<Str, U32>("counts")?;
    /// let old = txn.create_table::<Str, U32>("old")?;
    /// counts.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// assert_eq!(counts.move_range(&mut txn, .."f", &old)?, 2);
    /// assert_eq!((counts.len(&txn)?, old.len(&txn)?), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if both tables are the same, if the target cannot hold some of
    /// the keys, or if a bound is an integer of another length than the keys;
    /// [`Error::TableNotFound`], [`Error::Corrupted`] or [`Error::KeyTooLong`]; [`Error::Io`] or
    /// [`Error::Full`] if there is no space.
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
        (mut low, high): OwnedBounds,
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
        let mut count = 0;
        loop {
            let batch = from.some_records(txn, as_slices(&low), as_slices(&high))?;
            let (Some((first, _)), Some((last, _))) = (batch.first(), batch.last()) else {
                return Ok(count);
            };
            from.refuse_disorder(
                &*from.root(txn)?,
                &low,
                batch.iter().map(|(key, _)| &key[..]),
            )?;
            let records: Vec<_> = batch
                .iter()
                .map(|(key, value)| (&key[..], &value[..]))
                .collect();
            to.insert_many(txn, &records)?;
            if source_records == SourceRecords::Remove {
                let copied = (Bound::Included(&first[..]), Bound::Included(&last[..]));
                from.remove_range(txn, copied)?;
            }
            count += batch.len() as u64;
            low = Bound::Excluded(last.clone());
        }
    }
}

/// A key of the table was read after one that is not smaller.
#[cold]
pub(super) fn out_of_order(root: &TreeRoot, table: &[u8], before: &[u8], key: &[u8]) -> Error {
    Error::Corrupted {
        page: root.page,
        detail: "the keys of this tree are not in order".into(),
        detected_by: "copy",
        table: Some(catalog::printable(table)),
        keys: Some(Box::new(KeyRange {
            low: Some(key.to_vec()),
            high: Some(before.to_vec()),
        })),
    }
}

/// Refuses to copy a table to itself.
pub(super) fn refuse_same(source: &[u8], target: &[u8]) -> Result<()> {
    if source != target {
        return Ok(());
    }
    let name = catalog::printable(source);
    let text = format!("table {name:?} cannot be copied to itself; choose another table");
    Err(Error::InvalidArgument(text))
}

impl Table<Bytes, Bytes> {
    /// Refuses keys, read from `low` on, that do not ascend. The table is damaged then, and
    /// continuing after the last of them might never end.
    fn refuse_disorder<'k>(
        &self,
        root: &TreeRoot,
        low: &'k Bound<Vec<u8>>,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<()> {
        let mut before = match low {
            Bound::Excluded(key) => Some(&key[..]),
            _ => None,
        };
        for key in keys {
            if let Some(before) = before.filter(|before| root.order.compare(before, key).is_ge()) {
                return Err(out_of_order(root, self.name(), before, key));
            }
            before = Some(key);
        }
        Ok(())
    }

    /// Reads the first records of a range.
    #[allow(clippy::type_complexity)]
    fn some_records(
        &self,
        txn: &WriteTxn,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut records = Vec::new();
        let mut len = 0;
        for record in self.range(txn, (low, high))? {
            let (key, value) = record?;
            len += key.len() + value.len() + RECORD_COST_BYTES;
            records.push((key, value.to_vec()));
            if len >= BATCH_BYTES {
                break;
            }
        }
        Ok(records)
    }
}
