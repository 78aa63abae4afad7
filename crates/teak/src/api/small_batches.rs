//! Changing many records of a table in a small transaction.

use super::{Table, WriteTxn, key_checks::check_key, kind::Kind, sealed::Sealed};
use crate::{
    Result,
    btree::{
        PageSource,
        insert::{Existing, Inserted},
    },
    write::small::SmallTransaction,
};

/// A table with fewer records, for each one that is inserted, is being loaded: its trees lay the
/// records of a batch out together.
const LOADED_SHARE: u64 = 4;

/// How many records a small transaction has changed, and those that it does not take.
type Taken<'r, R> = (u64, &'r [R]);
/// A small transaction, and the handle and the name of a table.
type SmallTable<'a> = (&'a mut SmallTransaction, (usize, &'a [u8]));

impl<K, V, M: Kind> Table<K, V, M> {
    /// Inserts records if the transaction is small and probably stays so, as far as they fit it.
    /// Returns how many keys are new, and the other records.
    pub(super) fn insert_small<'r, A: AsRef<[u8]>, B: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        mut records: &'r [(A, B)],
    ) -> Result<Option<Taken<'r, (A, B)>>> {
        let page_size = txn.source().page_size();
        let pairs = records.iter();
        let pairs = pairs.map(|(key, value)| (key.as_ref(), value.as_ref()));
        let Some((small, table)) = self.small_for(txn, pairs.clone())? else {
            return Ok(None);
        };
        let root = *self.of_this_kind(small.root_of(table.0, table.1)?)?;
        if root.records < LOADED_SHARE * records.len() as u64 {
            return Ok(None);
        }
        for (key, _) in pairs {
            check_key(&root, page_size, key)?;
        }
        let mut new = 0;
        while let Some(((key, value), rest)) = records.split_first() {
            let (key, value) = (key.as_ref(), value.as_ref());
            let inserted = small.insert(table, key, value, Existing::Replace);
            let Some(inserted) = or_broken(small, inserted)? else {
                break;
            };
            new += u64::from(inserted == Inserted::New);
            records = rest;
        }
        Ok(Some((new, records)))
    }

    /// Removes records like [`Self::insert_small`]. Returns how many there were, and the other
    /// keys.
    pub(super) fn remove_small<'k, A: AsRef<[u8]>>(
        &self,
        txn: &mut WriteTxn,
        mut keys: &'k [A],
    ) -> Result<Option<Taken<'k, A>>> {
        let pairs = keys.iter().map(|key| (key.as_ref(), &b""[..]));
        let Some((small, table)) = self.small_for(txn, pairs)? else {
            return Ok(None);
        };
        self.of_this_kind(small.root_of(table.0, table.1)?)?;
        let mut removed = 0;
        while let Some((key, rest)) = keys.split_first() {
            let is_there = small.remove(table, key.as_ref());
            let Some(is_there) = or_broken(small, is_there)? else {
                break;
            };
            removed += u64::from(is_there);
            keys = rest;
        }
        Ok(Some((removed, keys)))
    }

    /// The small transaction with this table, if it takes these records.
    fn small_for<'a>(
        &'a self,
        txn: &'a mut WriteTxn,
        records: impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> + Clone,
    ) -> Result<Option<SmallTable<'a>>> {
        let table = (self.handle(txn), self.name());
        let Some(small) = txn.small_mut().filter(|_| !M::IS_MULTI) else {
            return Ok(None);
        };
        small.refuse_broken()?;
        Ok(small.takes(table.1, records).then_some((small, table)))
    }
}

/// An error in the middle of a batch breaks the transaction, as in a whole one.
fn or_broken<R>(small: &mut SmallTransaction, changed: Result<R>) -> Result<R> {
    if changed.is_err() {
        small.set_broken();
    }
    changed
}
