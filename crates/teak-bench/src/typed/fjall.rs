//! fjall. It has no types: its users decode the bytes.

use super::records::{ReadTyped, RecordSum, TypedRecords};
use anyhow::Result;
use fjall::{Database, Guard, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use std::{ops::Range, path::Path};

/// A loaded database.
pub(super) struct TypedFjall {
    database: Database,
    texts: Keyspace,
    numbers: Keyspace,
}

/// Creates the database. Its records are in files, as they would be after some time, and not in the
/// memory of the last writes.
pub(super) fn load(directory: &Path, records: &TypedRecords) -> Result<TypedFjall> {
    let database = Database::builder(directory).open()?;
    let texts = database.keyspace("texts", KeyspaceCreateOptions::default)?;
    let numbers = database.keyspace("numbers", KeyspaceCreateOptions::default)?;
    for (key, value) in records.text_records() {
        texts.insert(key, value.to_be_bytes())?;
    }
    for (key, value) in records.number_records() {
        numbers.insert(key.to_be_bytes(), value.to_be_bytes())?;
    }
    database.persist(PersistMode::SyncAll)?;
    texts.rotate_memtable_and_wait()?;
    numbers.rotate_memtable_and_wait()?;
    Ok(TypedFjall {
        database,
        texts,
        numbers,
    })
}

fn add_text(record: Guard, sum: &mut RecordSum) -> Result<()> {
    let (key, value) = record.into_inner()?;
    let value = u64::from_be_bytes(value[..].try_into()?);
    sum.add_text(str::from_utf8(&key)?, value);
    Ok(())
}

fn add_number(record: Guard, sum: &mut RecordSum) -> Result<()> {
    let (key, value) = record.into_inner()?;
    let key = u64::from_be_bytes(key[..].try_into()?);
    sum.add_number(key, u64::from_be_bytes(value[..].try_into()?));
    Ok(())
}

impl ReadTyped for TypedFjall {
    fn scan_texts(&self) -> Result<RecordSum> {
        let snapshot = self.database.snapshot();
        let mut sum = RecordSum::default();
        for record in snapshot.iter(&self.texts) {
            add_text(record, &mut sum)?;
        }
        Ok(sum)
    }

    fn scan_numbers(&self) -> Result<RecordSum> {
        let snapshot = self.database.snapshot();
        let mut sum = RecordSum::default();
        for record in snapshot.iter(&self.numbers) {
            add_number(record, &mut sum)?;
        }
        Ok(sum)
    }

    fn range_texts(&self, ranges: &[Range<String>]) -> Result<RecordSum> {
        let snapshot = self.database.snapshot();
        let mut sum = RecordSum::default();
        for range in ranges {
            for record in snapshot.range(&self.texts, range.clone()) {
                add_text(record, &mut sum)?;
            }
        }
        Ok(sum)
    }

    fn range_numbers(&self, ranges: &[Range<u64>]) -> Result<RecordSum> {
        let snapshot = self.database.snapshot();
        let mut sum = RecordSum::default();
        for range in ranges {
            let range = range.start.to_be_bytes()..range.end.to_be_bytes();
            for record in snapshot.range(&self.numbers, range) {
                add_number(record, &mut sum)?;
            }
        }
        Ok(sum)
    }
}
