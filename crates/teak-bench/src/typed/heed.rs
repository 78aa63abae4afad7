//! heed: LMDB, with types.

#![allow(unsafe_code)]

use super::records::{ReadTyped, RecordSum, TypedRecords};
use anyhow::Result;
use heed::{
    Database, Env, EnvOpenOptions,
    byteorder::BigEndian,
    types::{Str, U64},
};
use std::{
    ops::{Bound, Range},
    path::Path,
};

/// Bytes of the map, for each record and in all.
const MAP_BYTES_OF_RECORD: usize = 512;
const MAP_BYTES_SPARE: usize = 1 << 30;

type Number = U64<BigEndian>;

/// A loaded environment.
pub(super) struct TypedHeed {
    environment: Env,
    texts: Database<Str, Number>,
    numbers: Database<Number, Number>,
}

/// Creates the environment.
pub(super) fn load(directory: &Path, records: &TypedRecords) -> Result<TypedHeed> {
    let map_bytes = MAP_BYTES_SPARE + MAP_BYTES_OF_RECORD * records.texts.len();
    let mut options = EnvOpenOptions::new();
    options.map_size(map_bytes).max_dbs(2);
    // SAFETY: nothing else opens the file, which is in a directory of this run.
    let environment = unsafe { options.open(directory)? };
    let mut txn = environment.write_txn()?;
    let texts: Database<Str, Number> = environment.create_database(&mut txn, Some("texts"))?;
    let numbers: Database<Number, Number> =
        environment.create_database(&mut txn, Some("numbers"))?;
    for (key, value) in records.text_records() {
        texts.put(&mut txn, key, &value)?;
    }
    for (key, value) in records.number_records() {
        numbers.put(&mut txn, &key, &value)?;
    }
    txn.commit()?;
    Ok(TypedHeed {
        environment,
        texts,
        numbers,
    })
}

impl ReadTyped for TypedHeed {
    fn scan_texts(&self) -> Result<RecordSum> {
        let txn = self.environment.read_txn()?;
        let mut sum = RecordSum::default();
        for record in self.texts.iter(&txn)? {
            let (key, value) = record?;
            sum.add_text(key, value);
        }
        Ok(sum)
    }

    fn scan_numbers(&self) -> Result<RecordSum> {
        let txn = self.environment.read_txn()?;
        let mut sum = RecordSum::default();
        for record in self.numbers.iter(&txn)? {
            let (key, value) = record?;
            sum.add_number(key, value);
        }
        Ok(sum)
    }

    fn range_texts(&self, ranges: &[Range<String>]) -> Result<RecordSum> {
        let txn = self.environment.read_txn()?;
        let mut sum = RecordSum::default();
        for range in ranges {
            let range = (Bound::Included(&*range.start), Bound::Excluded(&*range.end));
            for record in self.texts.range(&txn, &range)? {
                let (key, value) = record?;
                sum.add_text(key, value);
            }
        }
        Ok(sum)
    }

    fn range_numbers(&self, ranges: &[Range<u64>]) -> Result<RecordSum> {
        let txn = self.environment.read_txn()?;
        let mut sum = RecordSum::default();
        for range in ranges {
            for record in self.numbers.range(&txn, range)? {
                let (key, value) = record?;
                sum.add_number(key, value);
            }
        }
        Ok(sum)
    }
}
