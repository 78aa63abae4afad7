//! Iteration over the keys of both tables, in both directions.

use crate::{
    failure::{Failure, Result},
    long_keys::{BUCKET_LEN, RawTable, Tables, number},
};
use self_cell::self_cell;
use teak::{Cursor, ReadTxn, SeekOp};

self_cell!(
    /// A cursor, and the transaction that it reads.
    struct TxnCursor {
        owner: ReadTxn,
        #[not_covariant]
        dependent: Cursor,
    }
);

impl TxnCursor {
    fn of(txn: &ReadTxn, table: &RawTable) -> Result<Self> {
        Ok(Self::try_new(txn.clone(), |txn| table.cursor(txn))?)
    }

    #[inline]
    fn run<R>(&mut self, work: impl FnOnce(&mut Cursor<'_>) -> teak::Result<R>) -> Result<R> {
        Ok(self.with_dependent_mut(|_, cursor| work(cursor))?)
    }
}

/// A bucket that the iterator is in.
struct Frame {
    cursor: TxnCursor,
    bucket: [u8; BUCKET_LEN],
    /// The length of the key up to the rests in the bucket.
    prefix_len: usize,
}

/// An address and a length.
type RawBytes = (*const u8, usize);

/// The direction of a move.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Forward,
    Back,
}

/// An iterator over a state of the database. It begins without a position.
pub(crate) struct StoreIterator {
    txn: ReadTxn,
    tables: Tables,
    main: TxnCursor,
    /// The buckets that the position is in, the outermost first.
    frames: Vec<Frame>,
    /// The key, if it is a long one.
    key: Vec<u8>,
    is_valid: bool,
    failure: Option<Failure>,
}

/// The key and the value at the position. They stay until the iterator moves.
pub(crate) struct Record<'i> {
    pub(crate) key: &'i [u8],
    pub(crate) value: &'i [u8],
}

impl StoreIterator {
    pub(crate) fn new(txn: &ReadTxn, tables: &Tables) -> Result<Self> {
        Ok(Self {
            txn: txn.clone(),
            tables: tables.clone(),
            main: TxnCursor::of(txn, &tables.main)?,
            frames: Vec::new(),
            key: Vec::new(),
            is_valid: false,
            failure: None,
        })
    }

    /// The error that ended the last move.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    pub(crate) fn first(&mut self) {
        self.move_by(|it| {
            it.frames.clear();
            let found = it.main.run(|cursor| cursor.first())?;
            it.settle(found, Side::Forward)
        });
    }

    pub(crate) fn last(&mut self) {
        self.move_by(|it| {
            it.frames.clear();
            let found = it.main.run(|cursor| cursor.last())?;
            it.settle(found, Side::Back)
        });
    }

    /// Moves to the first key that is not less than `target`.
    pub(crate) fn seek(&mut self, target: &[u8]) {
        self.move_by(|it| {
            it.frames.clear();
            let max_len = match it.tables.rests {
                Some(_) => it.tables.max_len,
                None => usize::MAX,
            };
            let mut wanted = target[..target.len().min(max_len)].to_vec();
            let mut found = it
                .main
                .run(|cursor| cursor.seek(SeekOp::GreaterOrEqual, &wanted))?;
            // The target is in the bucket that has its beginning.
            while found && wanted.len() == max_len && it.is_at(&wanted)? {
                it.enter()?;
                let Some(frame) = it.frames.last_mut() else {
                    break;
                };
                let rest = &target[frame.prefix_len..];
                let rest = &rest[..rest.len().min(max_len - BUCKET_LEN)];
                wanted = [&frame.bucket[..], rest].concat();
                let cursor = &mut frame.cursor;
                found = cursor.run(|cursor| cursor.seek(SeekOp::GreaterOrEqual, &wanted))?;
            }
            it.settle(found, Side::Forward)
        });
    }

    #[inline]
    pub(crate) fn next(&mut self) {
        if self.is_valid {
            self.move_by(|it| {
                let found = it.step(Side::Forward)?;
                it.settle(found, Side::Forward)
            });
        }
    }

    #[inline]
    pub(crate) fn prev(&mut self) {
        if self.is_valid {
            self.move_by(|it| {
                let found = it.step(Side::Back)?;
                it.settle(found, Side::Back)
            });
        }
    }

    /// The record at the position. An error of reading the value makes the iterator invalid.
    #[inline]
    pub(crate) fn record(&mut self) -> Option<Record<'_>> {
        if !self.is_valid {
            return None;
        }
        match self.read() {
            Ok((key, value)) => {
                // SAFETY: both are bytes of the iterator's own buffers, its cursors or pages of its
                // transaction, which it changes only when it moves: that needs `&mut self`.
                let (key, value) = unsafe {
                    (
                        std::slice::from_raw_parts(key.0, key.1),
                        std::slice::from_raw_parts(value.0, value.1),
                    )
                };
                Some(Record { key, value })
            }
            Err(failure) => {
                self.failure = Some(failure);
                self.is_valid = false;
                None
            }
        }
    }

    /// The addresses and lengths of the key and the value.
    #[inline]
    fn read(&mut self) -> Result<(RawBytes, RawBytes)> {
        let parts = |bytes: &[u8]| (bytes.as_ptr(), bytes.len());
        let Some(frame) = self.frames.last_mut() else {
            return self
                .main
                .run(|cursor| Ok((parts(cursor.key()), parts(cursor.value()?))));
        };
        let (key, prefix_len) = (&mut self.key, frame.prefix_len);
        frame.cursor.run(|cursor| {
            key.truncate(prefix_len);
            key.extend_from_slice(cursor.key().get(BUCKET_LEN..).unwrap_or_default());
            Ok((parts(key), parts(cursor.value()?)))
        })
    }

    /// Moves, and keeps the error if that fails. `work` returns whether there is a record.
    #[inline]
    fn move_by(&mut self, work: impl FnOnce(&mut Self) -> Result<bool>) {
        let moved = work(self);
        match moved {
            Ok(is_valid) => {
                self.is_valid = is_valid;
                self.failure = None;
            }
            Err(failure) => {
                self.is_valid = false;
                self.failure = Some(failure);
            }
        }
    }

    /// Moves the innermost cursor by one record.
    #[inline]
    fn step(&mut self, side: Side) -> Result<bool> {
        let cursor = match self.frames.last_mut() {
            None => &mut self.main,
            Some(frame) => &mut frame.cursor,
        };
        cursor.run(|cursor| match side {
            Side::Forward => cursor.next(),
            Side::Back => cursor.prev(),
        })
    }

    /// Moves on until the innermost cursor is on the record of a key: out of a bucket that has no
    /// further keys, and into those on the way. `found` says whether that cursor is on a record.
    #[inline]
    fn settle(&mut self, mut found: bool, side: Side) -> Result<bool> {
        loop {
            let max_len = self.tables.max_len;
            let Some(frame) = self.frames.last_mut() else {
                // The usual case: short keys only.
                let is_bucket = found
                    && self.tables.rests.is_some()
                    && self.main.run(|cursor| Ok(cursor.key().len() == max_len))?;
                if !is_bucket {
                    return Ok(found);
                }
                found = self.enter_at(side)?;
                continue;
            };
            let bucket = frame.bucket;
            let at = frame.cursor.run(|cursor| {
                let key = if found { cursor.key() } else { &[] };
                Ok((key.starts_with(&bucket), key.len() == max_len))
            })?;
            match at {
                (true, false) => return Ok(true),
                (true, true) => found = self.enter_at(side)?,
                (false, _) => {
                    self.frames.pop();
                    found = self.step(side)?;
                }
            }
        }
    }

    /// Whether the innermost cursor is at this stored key.
    fn is_at(&mut self, stored_key: &[u8]) -> Result<bool> {
        let cursor = match self.frames.last_mut() {
            None => &mut self.main,
            Some(frame) => &mut frame.cursor,
        };
        cursor.run(|cursor| Ok(cursor.key() == stored_key))
    }

    /// Enters the bucket at the innermost cursor, at its first or its last record.
    fn enter_at(&mut self, side: Side) -> Result<bool> {
        self.enter()?;
        let Some(frame) = self.frames.last_mut() else {
            return Ok(false);
        };
        let bucket = frame.bucket;
        frame.cursor.run(|cursor| match side {
            Side::Forward => cursor.seek(SeekOp::GreaterOrEqual, &bucket[..]),
            Side::Back => {
                let after = u64::from_be_bytes(bucket).wrapping_add(1).to_be_bytes();
                cursor.seek(SeekOp::Less, &after[..])
            }
        })
    }

    /// Enters the bucket at the innermost cursor, without a position.
    fn enter(&mut self) -> Result<()> {
        let Some(rests) = &self.tables.rests else {
            return Err(Failure::corruption("there is no table of long keys"));
        };
        let key = &mut self.key;
        let mut read = |cursor: &mut Cursor<'_>, prefix_len: usize, skipped: usize| {
            key.truncate(prefix_len);
            key.extend_from_slice(cursor.key().get(skipped..).unwrap_or_default());
            Ok(cursor.value()?.to_vec())
        };
        let value = match self.frames.last_mut() {
            None => self.main.run(|cursor| read(cursor, 0, 0))?,
            Some(frame) => {
                let prefix_len = frame.prefix_len;
                frame
                    .cursor
                    .run(|cursor| read(cursor, prefix_len, BUCKET_LEN))?
            }
        };
        let bucket = number(&value)?;
        // A bucket gets its number after the one that it is in.
        if self
            .frames
            .last()
            .is_some_and(|outer| bucket <= outer.bucket)
        {
            return Err(Failure::corruption("a bucket of long keys is in itself"));
        }
        self.frames.push(Frame {
            cursor: TxnCursor::of(&self.txn, rests)?,
            bucket,
            prefix_len: self.key.len(),
        });
        Ok(())
    }
}
