//! Operations on a single pair beyond inserting and removing it.

use crate::{
    Error, Result,
    api::{
        Action, MultiTable, Transaction, WriteTxn,
        codec::{Codec, EncodeAs},
        key_checks::{RecordCheck, check_probe, check_value_probe},
        point::Verdict,
        table_info::TableStat,
    },
    btree::{
        multi::{KeyValues, cursor::PairCursor, lookup, replace::PairReplaced},
        reading::{reading, reading_twice},
    },
};
use std::cmp::Ordering;

impl<K: Codec, V: Codec> MultiTable<K, V> {
    /// Returns a pair or, if it is absent, the first one that is greater, by key and then by value,
    /// and how it compares with the requested one.
    ///
    /// ```
    /// # use std::cmp::Ordering;
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_many(&mut txn, &[("oak", 7), ("teak", 3)])?;
    /// let found = lines.get_or_next(&txn, "oak", 8)?;
    /// assert_eq!(found, Some((Ordering::Greater, "teak".into(), 3)));
    /// assert_eq!(lines.get_or_next(&txn, "teak", 4)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if an argument
    /// is an integer of another length than the keys or the values.
    #[allow(clippy::type_complexity)]
    pub fn get_or_next<T: Transaction>(
        &self,
        txn: &T,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<Option<(Ordering, K::Owned, V::Owned)>> {
        let (root, source) = (*self.root(txn)?, txn.source());
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        check_probe(&root, key.as_ref())?;
        check_value_probe(&root, value.as_ref())?;
        let found = reading(source, || {
            let mut cursor = PairCursor::new(source, root);
            let exactness = match cursor.seek_pair(key.as_ref(), value.as_ref())? {
                Some(true) => Ordering::Equal,
                Some(false) => Ordering::Greater,
                None => return Ok(None),
            };
            let key = K::to_owned(K::decode(cursor.key())?);
            let value = V::to_owned(V::decode(cursor.value())?);
            Ok(Some((exactness, key, value)))
        });
        found.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }

    /// Returns counts of the values of a key, and of their own pages. They have no pages of their
    /// own while they are stored beside their key.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_values(&mut txn, "teak", &(0..5000).collect::<Vec<_>>())?;
    /// lines.insert(&mut txn, "oak", 7)?;
    /// let teak = lines.value_stat(&txn, "teak")?.unwrap();
    /// assert!(teak.records == 5000 && teak.leaf_pages > 1);
    /// let oak = lines.value_stat(&txn, "oak")?.unwrap();
    /// assert!(oak.records == 1 && oak.leaf_pages == 0);
    /// assert_eq!(lines.value_stat(&txn, "elm")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::InvalidArgument`] if the argument
    /// is an integer of another length than the keys.
    pub fn value_stat<T: Transaction>(
        &self,
        txn: &T,
        key: impl EncodeAs<K>,
    ) -> Result<Option<TableStat>> {
        let (root, source, key) = (*self.root(txn)?, txn.source(), key.encode_as()?);
        check_probe(&root, key.as_ref())?;
        let found = reading_twice(source, || {
            let values = lookup::find(source, &root, key.as_ref())?;
            Ok(values.map(|values| match values {
                KeyValues::Tree(nested) => TableStat::new(&nested),
                values => TableStat {
                    records: values.count(),
                    changed: root.changed,
                    ..TableStat::new(&root.nested())
                },
            }))
        });
        found.map_err(|error| self.located(error, txn, &root, Some(key.as_ref())))
    }

    /// Passes a stored value of a key, if the key has it, to `change` and executes its decision:
    /// the value stays, is removed, or is replaced by another one, unless the key already has that.
    /// Returns the result that `change` returns with it. If `change` fails, nothing changes, and
    /// the transaction can continue. If it panics, the transaction can only be rolled back.
    ///
    /// ```
    /// # use teak::{Action, Database};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.insert_values(&mut txn, "teak", &[3, 12])?;
    /// let was_there = lines.modify(&mut txn, "teak", 3, |line| -> teak::Result<_> {
    ///     Ok(match line {
    ///         Some(line) => (Action::put(line + 1), true),
    ///         None => (Action::leave(), false),
    ///     })
    /// })?;
    /// assert!(was_there && lines.contains(&txn, "teak", 4)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error of `change`, which may be of a type of the application; [`Error::Decode`] if the
    /// stored value cannot be decoded as `V`;
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`] or [`Error::TableNotFound`];
    /// [`Error::InvalidArgument`] if the value does not have the size of the table's values;
    /// [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn modify<R, E: From<Error>>(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
        change: impl FnOnce(Option<V::Item<'_>>) -> Result<(Action<V>, R), E>,
    ) -> Result<R, E> {
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        let (key, value) = (key.as_ref(), value.as_ref());
        let mut check = RecordCheck::new(self, txn)?;
        check_probe(&check.root, key)?;
        check_value_probe(&check.root, value)?;
        // An error of `change` itself would break the transaction; a refusal does not.
        self.change_checked(txn, |tree| {
            let old = tree.stored_value(key, value)?;
            let decoded = old.as_deref().map(V::decode).transpose();
            let decided = decoded.map_err(E::from).and_then(change);
            let decided = decided.and_then(|(action, result)| Ok((action.into_verdict()?, result)));
            let (verdict, result) = match decided {
                Ok(decided) => decided,
                Err(error) => return Ok(Err(error)),
            };
            if let Verdict::Put(new) = &verdict
                && let Err(error) = check.check(key, new)
            {
                return Ok(Err(error.into()));
            }
            match (verdict, &old) {
                (Verdict::Keep, _) | (Verdict::Remove, None) => {}
                (Verdict::Remove, Some(old)) => drop(tree.remove_pair(key, old)?),
                (Verdict::Put(new), None) => drop(tree.insert_pair(key, &new)?),
                (Verdict::Put(new), Some(old)) => drop(tree.swap_pair_value(key, old, &new)?),
            }
            Ok(Ok(result))
        })?
    }

    /// Replaces `old` by `new` if the key has `old` and does not have `new`; returns whether it
    /// did. `None` as `old` inserts `new` if the key does not have it; `None` as `new` removes
    /// `old` if the key has it.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// assert!(lines.compare_and_swap(&mut txn, "teak", None, Some(3))?);
    /// assert!(lines.compare_and_swap(&mut txn, "teak", Some(3), Some(4))?);
    /// assert!(!lines.compare_and_swap(&mut txn, "teak", Some(3), None)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyTooLong`], [`Error::ValueTooLong`] or [`Error::TableNotFound`];
    /// [`Error::InvalidArgument`] if the value does not have the size of the table's values;
    /// [`Error::Io`] or [`Error::Full`] if there is no space.
    pub fn compare_and_swap<X: EncodeAs<V>>(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        old: Option<X>,
        new: Option<X>,
    ) -> Result<bool> {
        let (key, old, new) = (
            key.encode_as()?,
            old.as_ref().map(X::encode_as).transpose()?,
            new.as_ref().map(X::encode_as).transpose()?,
        );
        let key = key.as_ref();
        let mut check = RecordCheck::new(self, txn)?;
        check_probe(&check.root, key)?;
        if let Some(old) = &old {
            check_value_probe(&check.root, old.as_ref())?;
        }
        if let Some(new) = &new {
            check.check(key, new.as_ref())?;
        }
        self.change_checked(txn, |tree| match (&old, &new) {
            (None, None) => Ok(true),
            (None, Some(new)) => tree.insert_pair(key, new.as_ref()),
            (Some(old), None) => tree.remove_pair(key, old.as_ref()),
            (Some(old), Some(new)) => {
                let replaced = tree.replace_pair(key, old.as_ref(), new.as_ref())?;
                Ok(replaced == PairReplaced::Done)
            }
        })
    }

    /// Inserts a pair that is after all others of its key.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let lines = txn.create_multi_table::<&str, u32>("lines")?;
    /// lines.append_value(&mut txn, "teak", 3)?;
    /// lines.append_value(&mut txn, "oak", 1)?;
    /// lines.append_value(&mut txn, "teak", 12)?;
    /// assert!(lines.append_value(&mut txn, "teak", 12).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotSorted`] if it is not; nothing has changed then. [`Error::KeyTooLong`],
    /// [`Error::ValueTooLong`] or [`Error::TableNotFound`]; [`Error::InvalidArgument`] if the value
    /// does not have the size of the table's values; [`Error::Io`] or [`Error::Full`] if there is
    /// no space.
    pub fn append_value(
        &self,
        txn: &mut WriteTxn,
        key: impl EncodeAs<K>,
        value: impl EncodeAs<V>,
    ) -> Result<()> {
        let (key, value) = (key.encode_as()?, value.encode_as()?);
        let (key, value) = (key.as_ref(), value.as_ref());
        RecordCheck::new(self, txn)?.check(key, value)?;
        let is_after = self.change_checked(txn, |tree| {
            let order = tree.root().value_order();
            let last = tree.last_value(key)?;
            let is_after = last.is_none_or(|last| order.stored_to(&last, value).is_lt());
            if is_after {
                tree.insert_pair(key, value)?;
            }
            Ok(is_after)
        })?;
        match is_after {
            true => Ok(()),
            false => Err(Error::NotSorted { index: 0 }),
        }
    }

    /// Replaces a value of a key by another one, unless the key has that. If the key does not have
    /// the old one, returns `false` and changes nothing.
    pub(in crate::api) fn exchange(
        &self,
        txn: &mut WriteTxn,
        key: &[u8],
        old: &[u8],
        new: &[u8],
    ) -> Result<bool> {
        RecordCheck::new(self, txn)?.check(key, new)?;
        self.change_checked(txn, |tree| tree.swap_pair_value(key, old, new))
    }
}
