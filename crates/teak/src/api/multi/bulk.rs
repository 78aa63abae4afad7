//! Bulk loading of pairs.

use super::{handle::MultiTable, pair_check::PairCheck};
use crate::{
    Result,
    api::{
        BulkOptions, BulkProgress, WriteTxn,
        bulk::{IteratorRecords, RecordSource, push, sorted, sorter},
        codec::Codec,
    },
    btree::multi::{batch::PairAppender, bulk::PairBuilder},
};

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Loads pairs that are sorted by key and value. Pages are built from the leaves up, those of
    /// keys with many values too; each is written once and full. If the table already has pairs,
    /// only pairs after its last one are accepted. Returns the number of loaded pairs.
    ///
    /// ```
    /// # use teak::{Database, codec::{U32, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let numbers = txn.create_multi_table::<U32, U64>("numbers")?;
    /// let pairs = (0..100_000u64).map(|n| ((n as u32 / 25_000).to_be_bytes(), n.to_be_bytes()));
    /// assert_eq!(numbers.bulk_load(&mut txn, pairs)?, 100_000);
    /// assert_eq!(numbers.count(&txn, 3)?, 25_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`](crate::Error::NotSorted) with the index of the pair that is not after
    /// the one before it; the transaction can then only be rolled back.
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong) or
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the value does not have the
    /// size of the table's values; [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space.
    pub fn bulk_load<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        pairs: impl IntoIterator<Item = (Key, Value)>,
    ) -> Result<u64> {
        self.load_sorted(txn, pairs.into_iter().map(Ok))
    }

    /// Loads pairs in any order. They are sorted in memory and in temporary files, and then built
    /// into pages as by [`MultiTable::bulk_load`]. A pair that occurs several times is loaded once;
    /// so is one of several pairs that a custom order treats as equal. If the table already has
    /// pairs, the new ones are inserted in order. Returns the number of distinct pairs.
    ///
    /// ```
    /// # use teak::{BulkOptions, Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// let pairs = [("teak", 5u32), ("oak", 7), ("teak", 3), ("oak", 7)];
    /// let pairs = pairs.map(|(key, value)| (key, value.to_be_bytes()));
    /// let count = lines.bulk_load_unsorted(&mut txn, pairs, BulkOptions::default(), &mut |_| ())?;
    /// assert_eq!(count, 3);
    /// assert_eq!(lines.first_value(&txn, "teak")?, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if a temporary file cannot be written or read. A pair that
    /// the table cannot hold is found before anything changes.
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong),
    /// [`Error::ValueTooLong`](crate::Error::ValueTooLong) or
    /// [`Error::TableNotFound`](crate::Error::TableNotFound);
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the value does not have the
    /// size of the table's values; [`Error::Io`](crate::Error::Io) or
    /// [`Error::Full`](crate::Error::Full) if there is no space.
    pub fn bulk_load_unsorted<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        pairs: impl IntoIterator<Item = (Key, Value)>,
        options: BulkOptions,
        progress: &mut dyn FnMut(BulkProgress),
    ) -> Result<u64> {
        let mut check = PairCheck::new(self, txn)?;
        let mut sorter = sorter(txn, &check.root, options);
        for (key, value) in pairs {
            check.check(key.as_ref(), value.as_ref())?;
            push(&mut sorter, key.as_ref(), value.as_ref(), progress)?;
        }
        let sorted = sorted(sorter, progress)?;
        if self.is_empty(txn)? {
            return self.load(txn, sorted);
        }
        self.change(txn, |tree| {
            let mut count = 0;
            sorted.each(|key, value| {
                tree.insert_pair(key, value)?;
                count += 1;
                Ok(())
            })?;
            Ok(count)
        })
    }

    pub(in crate::api) fn load_sorted<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        pairs: impl Iterator<Item = Result<(Key, Value)>>,
    ) -> Result<u64> {
        self.load(txn, IteratorRecords(pairs))
    }

    fn load(&self, txn: &mut WriteTxn, pairs: impl RecordSource) -> Result<u64> {
        let mut check = PairCheck::new(self, txn)?;
        self.change(txn, |tree| {
            if tree.root().is_empty() {
                let mut builder = PairBuilder::new(tree);
                pairs.each(|key, value| {
                    check.check(key, value)?;
                    builder.push(key, value)
                })?;
                return builder.finish();
            }
            let mut appender = PairAppender::new(tree)?;
            pairs.each(|key, value| {
                check.check(key, value)?;
                appender.push(key, value)
            })?;
            appender.finish()
        })
    }
}
