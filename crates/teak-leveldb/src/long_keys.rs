//! Keys of any length.
//!
//! The engine's keys have a greatest length, here called L. Shorter keys are stored unchanged. All
//! keys of at least L bytes that begin with the same L bytes follow each other, and no shorter key
//! is between them. They are therefore one record of the main table: those L bytes, and the number
//! of a *bucket* as its value. The rest of each key is in a second table, after the bucket's number
//! in 8 bytes, big-endian; and if that is again L bytes or more, in a further bucket. So a record
//! whose key has L bytes is always that of a bucket, and the order of all keys is that of their
//! bytes. A bucket without keys is removed.

use crate::failure::{Failure, Result};
use teak::{SeekOp, Table, Transaction, WriteTxn, codec::Raw};

/// Bytes of the number of a bucket.
pub(crate) const BUCKET_LEN: usize = 8;

/// A table of bytes.
pub(crate) type RawTable = Table<Raw, Raw>;

/// The two tables of a database.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) main: RawTable,
    /// Rests of long keys. `None` if the order is that of the application, in which keys are short.
    pub(crate) rests: Option<RawTable>,
    /// The greatest length of the engine's keys.
    pub(crate) max_len: usize,
}

/// The position of a key in a table.
struct RecordPosition<'t> {
    table: &'t RawTable,
    key: Vec<u8>,
}

impl Tables {
    /// Fails for keys that cannot be stored.
    pub(crate) fn refuse_too_long(&self, key: &[u8]) -> Result<()> {
        let max = match self.rests {
            Some(_) => usize::MAX,
            None => self.max_len,
        };
        match key.len() <= max {
            true => Ok(()),
            false => Err(Failure::invalid_argument(format!(
                "a key has {} bytes; with a comparator of the application, keys have at most {max} bytes",
                key.len()
            ))),
        }
    }

    /// The part of a key by which it is compared in the main table. The application's comparator
    /// sees whole keys.
    pub(crate) fn cut<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        match self.rests {
            Some(_) => &key[..key.len().min(self.max_len)],
            None => key,
        }
    }

    /// The value of a key.
    #[inline]
    pub(crate) fn get<'t, T: Transaction>(
        &self,
        txn: &'t T,
        key: &[u8],
    ) -> Result<Option<&'t [u8]>> {
        if key.len() < self.max_len || (self.rests.is_none() && key.len() == self.max_len) {
            return Ok(self.main.get(txn, key)?);
        }
        let positions = self.positions(txn, key)?;
        let position = positions.as_deref().and_then(<[_]>::last);
        position.map_or(Ok(None), |position| {
            Ok(position.table.get(txn, &position.key[..])?)
        })
    }

    pub(crate) fn insert(&self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> Result<()> {
        let Some(rests) = &self.rests else {
            // LevelDB keeps the bytes of the newest key if several are equal in the order.
            let old = self.main.get_or_next(&*txn, key)?;
            if old.is_some_and(|(order, old, _)| order.is_eq() && old != key) {
                self.main.remove(txn, key)?;
            }
            return Ok(self.main.insert(txn, key, value)?);
        };
        if key.len() < self.max_len {
            return Ok(self.main.insert(txn, key, value)?);
        }
        let (mut table, mut parts) = (&self.main, KeyParts::new(key, self.max_len));
        let mut stored = parts.first();
        while stored.len() == self.max_len {
            let bucket = match table.get(&*txn, &stored[..])? {
                Some(bucket) => number(bucket)?,
                None => {
                    let bucket = rests.draw_sequence(txn, 1)?.to_be_bytes();
                    table.insert(txn, &stored[..], &bucket[..])?;
                    bucket
                }
            };
            stored = parts.next_in(bucket);
            table = rests;
        }
        Ok(table.insert(txn, &stored[..], value)?)
    }

    /// Removes a key, if it exists.
    pub(crate) fn remove(&self, txn: &mut WriteTxn, key: &[u8]) -> Result<()> {
        if key.len() < self.max_len || self.rests.is_none() {
            self.main.remove(txn, key)?;
            return Ok(());
        }
        let Some(positions) = self.positions(&*txn, key)? else {
            return Ok(());
        };
        for (depth, position) in positions.iter().enumerate().rev() {
            if !position.table.remove(txn, &position.key[..])? {
                return Ok(());
            }
            // A record of the main table is in no bucket.
            let bucket = position.key.get(..BUCKET_LEN).filter(|_| depth > 0);
            if let Some(bucket) = bucket {
                let mut cursor = position.table.cursor(&*txn)?;
                if cursor.seek(SeekOp::GreaterOrEqual, bucket)? && cursor.key().starts_with(bucket)
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The records on the way to a key that is not short: those of its buckets, and its own. `None`
    /// if a bucket does not exist.
    fn positions<T: Transaction>(
        &self,
        txn: &T,
        key: &[u8],
    ) -> Result<Option<Vec<RecordPosition<'_>>>> {
        let mut positions = Vec::new();
        let Some(rests) = &self.rests else {
            return Ok(None);
        };
        let (mut table, mut parts) = (&self.main, KeyParts::new(key, self.max_len));
        let mut stored = parts.first();
        while stored.len() == self.max_len {
            let Some(bucket) = table.get(txn, &stored[..])? else {
                return Ok(None);
            };
            let bucket = number(bucket)?;
            positions.push(RecordPosition { table, key: stored });
            stored = parts.next_in(bucket);
            table = rests;
        }
        positions.push(RecordPosition { table, key: stored });
        Ok(Some(positions))
    }
}

/// The stored keys of a key, from the outermost bucket inwards.
struct KeyParts<'k> {
    rest: &'k [u8],
    max_len: usize,
}

impl<'k> KeyParts<'k> {
    fn new(key: &'k [u8], max_len: usize) -> Self {
        Self { rest: key, max_len }
    }

    /// The stored key in the main table.
    fn first(&mut self) -> Vec<u8> {
        self.take(self.max_len).to_vec()
    }

    /// The stored key in a bucket.
    fn next_in(&mut self, bucket: [u8; BUCKET_LEN]) -> Vec<u8> {
        let part = self.take(self.max_len - BUCKET_LEN);
        [&bucket[..], part].concat()
    }

    fn take(&mut self, len: usize) -> &'k [u8] {
        let (part, rest) = self.rest.split_at(self.rest.len().min(len));
        self.rest = rest;
        part
    }
}

/// The number of a bucket.
pub(crate) fn number(value: &[u8]) -> Result<[u8; BUCKET_LEN]> {
    let number = value.try_into().ok();
    number.ok_or_else(|| Failure::corruption("the bucket of a long key has no number"))
}
