//! Copying and moving records from one table to another in batches.

use super::{
    Iter, Range, Table, WriteTxn,
    codec::{Codec, Raw},
    kind::Kind,
};
use crate::{
    Error, KeyRange, Result,
    btree::{
        TreeRoot,
        multi::{cursor::PairBound, range_parts::as_slices},
    },
    read::catalog,
};
use std::ops::Bound;

/// Bytes of records held in memory at once, unless a single record is larger.
const BATCH_BYTES: usize = 1 << 20;

/// Approximate memory per record beside its key and value: two vectors, two slices, and the
/// allocator's overhead.
const RECORD_COST_BYTES: usize = 100;

/// The fate of the source records after copying.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SourceRecords {
    Keep,
    Remove,
}

/// Records as bytes.
type Batch = Vec<(Vec<u8>, Vec<u8>)>;

impl<K: Codec, V: Codec, M: Kind> Range<'_, K, V, M> {
    /// Copies all records of the range to another table, which may have other orders. In a table
    /// with one value per key, records there with the same keys are replaced. If the comparison of
    /// the target table treats several of the keys as equal, one of these records is kept there. In
    /// a multi-value table, the values that its keys already have stay. Returns the number of
    /// copied records, including those that were replaced again or were there already. Memory use
    /// is about one megabyte of records, or one record if it is larger. If the call fails, nothing
    /// has changed.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let counts = txn.create_table::<&str, u32>("counts")?;
    /// let some = txn.create_table::<&str, u32>("some")?;
    /// counts.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3)])?;
    /// assert_eq!(counts.range("b"..).copy_to(&mut txn, &some)?, 2);
    /// assert_eq!(some.get(&txn, "oak")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if both tables are the same, if the target cannot hold some of
    /// the records, or if a bound is an integer of another length than the keys or the values;
    /// [`Error::TableNotFound`], [`Error::TableMismatch`] or [`Error::Corrupted`];
    /// [`Error::KeyTooLong`] or [`Error::ValueTooLong`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn copy_to(&self, txn: &mut WriteTxn, target: &Table<K, V, M>) -> Result<u64> {
        txn.nested(|txn| self.transfer(txn, target, SourceRecords::Keep))
    }

    /// Moves all records of the range to another table, like [`Range::copy_to`], and returns their
    /// number. All of them are removed from this table. If the comparison of the target table
    /// treats several of the keys as equal, one of these records is kept there and the others are
    /// lost.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// let old = txn.create_multi_table::<&str, u32>("old")?;
    /// lines.insert_many(&mut txn, &[("ash", 1), ("ash", 4), ("oak", 2)])?;
    /// assert_eq!(lines.range(.."f").move_to(&mut txn, &old)?, 2);
    /// assert_eq!((lines.len(&txn)?, old.len(&txn)?), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if both tables are the same, if the target cannot hold some of
    /// the records, or if a bound is an integer of another length than the keys or the values;
    /// [`Error::TableNotFound`], [`Error::TableMismatch`] or [`Error::Corrupted`];
    /// [`Error::KeyTooLong`] or [`Error::ValueTooLong`]; [`Error::Io`] or [`Error::Full`] if there
    /// is no space.
    pub fn move_to(&self, txn: &mut WriteTxn, target: &Table<K, V, M>) -> Result<u64> {
        txn.nested(|txn| self.transfer(txn, target, SourceRecords::Remove))
    }

    fn transfer(
        &self,
        txn: &mut WriteTxn,
        target: &Table<K, V, M>,
        source_records: SourceRecords,
    ) -> Result<u64> {
        self.check(&*self.table.root(txn)?)?;
        refuse_same(self.table.name(), target.name())?;
        let (from, to) = (self.table.cast::<Raw, Raw>(), target.cast::<Raw, Raw>());
        // Resolve the target also if there is nothing to copy, so that its errors are reported.
        to.root(txn)?;
        let bound =
            |(key, value): &(Vec<u8>, Vec<u8>)| (key.clone(), M::IS_MULTI.then(|| value.clone()));
        let mut batch = from.some_records(txn, self.low(), self.high())?;
        let (mut count, mut before) = (0, None);
        while let (Some(first), Some(last)) = (batch.first(), batch.last()) {
            from.refuse_disorder(&*from.root(txn)?, before.as_ref(), &batch)?;
            let records: Vec<_> = batch
                .iter()
                .map(|(key, value)| (&key[..], &value[..]))
                .collect();
            to.insert_many(txn, &records)?;
            let (first, last) = (Bound::Included(bound(first)), bound(last));
            if source_records == SourceRecords::Remove {
                let copied = from.range_of(first, Bound::Included(last.clone()));
                copied.remove(txn)?;
            }
            count += batch.len() as u64;
            let next = from.some_records(txn, as_slices(&Bound::Excluded(last)), self.high())?;
            before = std::mem::replace(&mut batch, next).pop();
        }
        Ok(count)
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
fn refuse_same(source: &[u8], target: &[u8]) -> Result<()> {
    if source != target {
        return Ok(());
    }
    let name = catalog::printable(source);
    let text = format!("table {name:?} cannot be copied to itself; choose another table");
    Err(Error::InvalidArgument(text))
}

impl<M: Kind> Table<Raw, Raw, M> {
    /// Refuses records that do not ascend. The table is damaged then, and continuing after the last
    /// of them might never end.
    fn refuse_disorder(
        &self,
        root: &TreeRoot,
        before: Option<&(Vec<u8>, Vec<u8>)>,
        records: &Batch,
    ) -> Result<()> {
        let all = before.into_iter().chain(records);
        for (a, b) in all.clone().zip(all.skip(1)) {
            let order = match M::IS_MULTI {
                true => root.compare_pairs((&a.0, &a.1), (&b.0, &b.1)),
                false => root.order.compare(&a.0, &b.0),
            };
            if order.is_ge() {
                return Err(out_of_order(root, self.name(), &a.0, &b.0));
            }
        }
        Ok(())
    }

    /// Reads the first records of a range.
    fn some_records(
        &self,
        txn: &WriteTxn,
        low: PairBound<'_>,
        high: PairBound<'_>,
    ) -> Result<Batch> {
        let state = self.tree_of(txn)?;
        let (mut records, mut len) = (Vec::new(), 0);
        for record in Iter::<Raw, Raw, M>::new(state, self.shared_name(), low, high)? {
            let (key, value) = record?;
            let value = M::into_owned::<Raw>(value);
            len += key.len() + value.len() + RECORD_COST_BYTES;
            records.push((key, value));
            if len >= BATCH_BYTES {
                break;
            }
        }
        Ok(records)
    }
}
