//! redb, with types.

use super::records::{ReadTyped, RecordSum, TypedRecords};
use anyhow::Result;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::{ops::Range, path::Path};

const TEXTS: TableDefinition<'_, &str, u64> = TableDefinition::new("texts");
const NUMBERS: TableDefinition<'_, u64, u64> = TableDefinition::new("numbers");

/// A loaded database.
pub(super) struct TypedRedb(Database);

/// Creates the database.
pub(super) fn load(directory: &Path, records: &TypedRecords) -> Result<TypedRedb> {
    let database = Database::create(directory.join("typed.redb"))?;
    let txn = database.begin_write()?;
    let mut texts = txn.open_table(TEXTS)?;
    for (key, value) in records.text_records() {
        texts.insert(key, value)?;
    }
    drop(texts);
    let mut numbers = txn.open_table(NUMBERS)?;
    for (key, value) in records.number_records() {
        numbers.insert(key, value)?;
    }
    drop(numbers);
    txn.commit()?;
    Ok(TypedRedb(database))
}

impl ReadTyped for TypedRedb {
    fn scan_texts(&self) -> Result<RecordSum> {
        let texts = self.0.begin_read()?.open_table(TEXTS)?;
        let mut sum = RecordSum::default();
        for record in texts.iter()? {
            let (key, value) = record?;
            sum.add_text(key.value(), value.value());
        }
        Ok(sum)
    }

    fn scan_numbers(&self) -> Result<RecordSum> {
        let numbers = self.0.begin_read()?.open_table(NUMBERS)?;
        let mut sum = RecordSum::default();
        for record in numbers.iter()? {
            let (key, value) = record?;
            sum.add_number(key.value(), value.value());
        }
        Ok(sum)
    }

    fn range_texts(&self, ranges: &[Range<String>]) -> Result<RecordSum> {
        let texts = self.0.begin_read()?.open_table(TEXTS)?;
        let mut sum = RecordSum::default();
        for range in ranges {
            for record in texts.range(&*range.start..&*range.end)? {
                let (key, value) = record?;
                sum.add_text(key.value(), value.value());
            }
        }
        Ok(sum)
    }

    fn range_numbers(&self, ranges: &[Range<u64>]) -> Result<RecordSum> {
        let numbers = self.0.begin_read()?.open_table(NUMBERS)?;
        let mut sum = RecordSum::default();
        for range in ranges {
            for record in numbers.range(range.clone())? {
                let (key, value) = record?;
                sum.add_number(key.value(), value.value());
            }
        }
        Ok(sum)
    }
}
