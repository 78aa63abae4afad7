//! Teak: its cursor, which gives bytes, and its iterators.

use super::records::{ReadTyped, RecordSum, TypedRecords};
use anyhow::Result;
use std::{ops::Range, path::Path};
use teak::{Cursor, Database, ReadTxn, SeekOp, Table, codec::Str};

/// A loaded database.
pub(super) struct TypedTeak {
    database: Database,
    texts: Table<Str, u64>,
    numbers: Table<u64, u64>,
}

/// Creates the database.
pub(super) fn load(directory: &Path, records: &TypedRecords) -> Result<TypedTeak> {
    let database = Database::open(directory.join("typed.teak"))?;
    let mut txn = database.begin_write()?;
    let texts: Table<Str, u64> = txn.create_table("texts")?;
    let numbers: Table<u64, u64> = txn.create_table("numbers")?;
    let pairs: Vec<(&str, u64)> = records.text_records().collect();
    texts.insert_many(&mut txn, &pairs)?;
    let pairs: Vec<(u64, u64)> = records.number_records().collect();
    numbers.insert_many(&mut txn, &pairs)?;
    txn.commit()?;
    Ok(TypedTeak {
        database,
        texts,
        numbers,
    })
}

/// Reads with a cursor.
pub(super) struct TypedCursor(pub(super) TypedTeak);

/// The value of the record of a cursor.
#[inline(always)]
fn value(cursor: &Cursor<'_>) -> Result<u64> {
    Ok(u64::from_be_bytes(cursor.value()?.try_into()?))
}

impl ReadTyped for TypedCursor {
    fn scan_texts(&self) -> Result<RecordSum> {
        let txn = self.0.database.begin_read()?;
        let mut sum = RecordSum::default();
        let mut cursor = self.0.texts.cursor(&txn)?;
        while cursor.next()? {
            add_text(cursor.key(), value(&cursor)?, &mut sum);
        }
        Ok(sum)
    }

    fn scan_numbers(&self) -> Result<RecordSum> {
        let txn = self.0.database.begin_read()?;
        let mut sum = RecordSum::default();
        let mut cursor = self.0.numbers.cursor(&txn)?;
        while cursor.next()? {
            let key = u64::from_be_bytes(cursor.key().try_into()?);
            sum.add_number(key, value(&cursor)?);
        }
        Ok(sum)
    }

    fn range_texts(&self, ranges: &[Range<String>]) -> Result<RecordSum> {
        let txn = self.0.database.begin_read()?;
        let mut sum = RecordSum::default();
        let mut cursor = self.0.texts.cursor(&txn)?;
        for range in ranges {
            let mut found = cursor.seek(SeekOp::GreaterOrEqual, &range.start)?;
            while found && cursor.key() < range.end.as_bytes() {
                add_text(cursor.key(), value(&cursor)?, &mut sum);
                found = cursor.next()?;
            }
        }
        Ok(sum)
    }

    fn range_numbers(&self, ranges: &[Range<u64>]) -> Result<RecordSum> {
        let txn = self.0.database.begin_read()?;
        let mut sum = RecordSum::default();
        let mut cursor = self.0.numbers.cursor(&txn)?;
        for range in ranges {
            let mut found = cursor.seek(SeekOp::GreaterOrEqual, &range.start.to_be_bytes())?;
            while found {
                let key = u64::from_be_bytes(cursor.key().try_into()?);
                if key >= range.end {
                    break;
                }
                sum.add_number(key, value(&cursor)?);
                found = cursor.next()?;
            }
        }
        Ok(sum)
    }
}

/// Adds a key that is not known to be text.
#[inline(always)]
fn add_text(key: &[u8], value: u64, sum: &mut RecordSum) {
    let last = key.last().copied();
    sum.add_number(
        key.len() as u64 + u64::from(last.unwrap_or_default()),
        value,
    );
}

/// Reads in `for` loops.
pub(super) struct TypedIter(pub(super) TypedTeak);

impl TypedTeak {
    fn read(&self) -> Result<ReadTxn> {
        Ok(self.database.begin_read()?)
    }
}

impl ReadTyped for TypedIter {
    fn scan_texts(&self) -> Result<RecordSum> {
        let txn = self.0.read()?;
        let mut sum = RecordSum::default();
        for record in self.0.texts.iter(&txn)? {
            let (key, value) = record?;
            sum.add_text(&key, value);
        }
        Ok(sum)
    }

    fn scan_numbers(&self) -> Result<RecordSum> {
        let txn = self.0.read()?;
        let mut sum = RecordSum::default();
        for record in self.0.numbers.iter(&txn)? {
            let (key, value) = record?;
            sum.add_number(key, value);
        }
        Ok(sum)
    }

    fn range_texts(&self, ranges: &[Range<String>]) -> Result<RecordSum> {
        let txn = self.0.read()?;
        let mut sum = RecordSum::default();
        for range in ranges {
            for record in self.0.texts.range(&*range.start..&*range.end).iter(&txn)? {
                let (key, value) = record?;
                sum.add_text(&key, value);
            }
        }
        Ok(sum)
    }

    fn range_numbers(&self, ranges: &[Range<u64>]) -> Result<RecordSum> {
        let txn = self.0.read()?;
        let mut sum = RecordSum::default();
        for range in ranges {
            for record in self.0.numbers.range(range.clone()).iter(&txn)? {
                let (key, value) = record?;
                sum.add_number(key, value);
            }
        }
        Ok(sum)
    }
}

/// Reads records that are lent.
pub(super) struct TypedLend(pub(super) TypedTeak);

impl ReadTyped for TypedLend {
    fn scan_texts(&self) -> Result<RecordSum> {
        let txn = self.0.read()?;
        let mut sum = RecordSum::default();
        let mut records = self.0.texts.iter(&txn)?;
        while let Some((key, value)) = records.lend()? {
            sum.add_text(key, value);
        }
        Ok(sum)
    }

    fn scan_numbers(&self) -> Result<RecordSum> {
        let txn = self.0.read()?;
        let mut sum = RecordSum::default();
        let mut records = self.0.numbers.iter(&txn)?;
        while let Some((key, value)) = records.lend()? {
            sum.add_number(key, value);
        }
        Ok(sum)
    }

    fn range_texts(&self, ranges: &[Range<String>]) -> Result<RecordSum> {
        let txn = self.0.read()?;
        let mut sum = RecordSum::default();
        for range in ranges {
            let mut records = self.0.texts.range(&*range.start..&*range.end).iter(&txn)?;
            while let Some((key, value)) = records.lend()? {
                sum.add_text(key, value);
            }
        }
        Ok(sum)
    }

    fn range_numbers(&self, ranges: &[Range<u64>]) -> Result<RecordSum> {
        let txn = self.0.read()?;
        let mut sum = RecordSum::default();
        for range in ranges {
            let mut records = self.0.numbers.range(range.clone()).iter(&txn)?;
            while let Some((key, value)) = records.lend()? {
                sum.add_number(key, value);
            }
        }
        Ok(sum)
    }
}
