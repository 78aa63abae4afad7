//! What is done to one pair beyond inserting and removing it.

use super::{MultiTable, PairCheck};
use crate::{
    Error, Result,
    api::{WriteTxn, codec::Codec},
    tree::multi::replace::PairReplaced,
};

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Inserts a pair that is behind all others of its key.
    ///
    /// ```
    /// # use teak::{Database, codec::{Str, U32}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<Str, U32>("lines")?;
    /// lines.append_value(&mut txn, "teak", 3)?;
    /// lines.append_value(&mut txn, "oak", 1)?;
    /// lines.append_value(&mut txn, "teak", 12)?;
    /// assert!(lines.append_value(&mut txn, "teak", 12).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`] if it is not: nothing has changed. Those of [`MultiTable::insert`].
    pub fn append_value(
        &self,
        txn: &mut WriteTxn,
        key: K::Item<'_>,
        value: V::Item<'_>,
    ) -> Result<()> {
        let (key, value) = (K::encode(&key), V::encode(&value));
        let (key, value) = (key.as_ref(), value.as_ref());
        PairCheck::new(self, txn)?.check(key, value)?;
        let is_behind = self.change(txn, |tree| {
            let order = tree.root().value_order();
            let last = tree.last_value(key)?;
            let is_behind = last.is_none_or(|last| order.compare(&last, value).is_lt());
            if is_behind {
                tree.insert_pair(key, value)?;
            }
            Ok(is_behind)
        })?;
        match is_behind {
            true => Ok(()),
            false => Err(Error::NotSorted { index: 0 }),
        }
    }

    /// Has a value of a key go and another one come, unless that is there; `false`, and nothing changes, if the key does not have the old one.
    pub(in crate::api) fn exchange(
        &self,
        txn: &mut WriteTxn,
        key: &[u8],
        old: &[u8],
        new: &[u8],
    ) -> Result<bool> {
        PairCheck::new(self, txn)?.check(key, new)?;
        self.change(txn, |tree| match tree.replace_pair(key, old, new)? {
            PairReplaced::Done => Ok(true),
            PairReplaced::NoOld => Ok(false),
            PairReplaced::NewThere => tree.remove_pair(key, old),
        })
    }
}
