//! Loading many pairs at once.

use super::{MultiTable, PairCheck};
use crate::{
    Result,
    api::{WriteTxn, codec::Codec},
    tree::multi::{batch::PairAppender, bulk::PairBuilder},
};

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Loads pairs that are sorted by key and value: pages are built from the leaves up, each written once and full, those of keys with
    /// many values too. A table that has pairs takes only such as are behind its last one. Returns how many were loaded.
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
    /// [`Error::NotSorted`](crate::Error::NotSorted) with the pair that is not behind the one before it: the transaction can only be
    /// rolled back then. Those of [`MultiTable::insert`].
    pub fn bulk_load<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        pairs: impl IntoIterator<Item = (Key, Value)>,
    ) -> Result<u64> {
        self.load_sorted(txn, pairs.into_iter().map(Ok))
    }

    pub(in crate::api) fn load_sorted<Key: AsRef<[u8]>, Value: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        pairs: impl Iterator<Item = Result<(Key, Value)>>,
    ) -> Result<u64> {
        let mut check = PairCheck::new(self, txn)?;
        self.change(txn, |tree| {
            if tree.root().is_empty() {
                let mut builder = PairBuilder::new(tree);
                for pair in pairs {
                    let (key, value) = pair?;
                    check.check(key.as_ref(), value.as_ref())?;
                    builder.push(key.as_ref(), value.as_ref())?;
                }
                return builder.finish();
            }
            let mut appender = PairAppender::new(tree)?;
            for pair in pairs {
                let (key, value) = pair?;
                check.check(key.as_ref(), value.as_ref())?;
                appender.push(key.as_ref(), value.as_ref())?;
            }
            appender.finish()
        })
    }
}
