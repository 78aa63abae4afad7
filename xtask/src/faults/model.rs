//! The expected contents of a database.

use std::{collections::BTreeMap, sync::Arc};
use teak::{ReadTxn, Table, TableOptions, Transaction, codec::Bytes};

/// The keys of this campaign.
pub(super) type FaultKey = [u8; 8];
/// The records of a table.
pub(super) type FaultRecords = BTreeMap<FaultKey, FaultValue>;
/// Tables by their number; cheap to clone, so that each committed state is kept.
pub(super) type FaultTables = BTreeMap<usize, Arc<FaultRecords>>;

const NAMES: [&str; 3] = ["coins", "blocks", "undo"];

/// The maximum number of tables.
pub(super) const TABLE_COUNT: usize = NAMES.len();

/// A value, by the parameters that it is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FaultValue {
    pub(super) seed: u8,
    pub(super) len: usize,
}

impl FaultValue {
    pub(super) fn bytes(self) -> Vec<u8> {
        (0..self.len).map(|index| self.at(index)).collect()
    }

    fn at(self, index: usize) -> u8 {
        (index as u8).wrapping_mul(7).wrapping_add(self.seed)
    }

    fn is(self, bytes: &[u8]) -> bool {
        bytes.len() == self.len
            && (0..)
                .zip(bytes)
                .all(|(index, byte)| self.at(index) == *byte)
    }
}

/// The key of a number.
pub(super) fn key(number: u32) -> FaultKey {
    let mixed = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
    let mut key = [0; 8];
    key[..4].copy_from_slice(&mixed);
    key[4..].copy_from_slice(&mixed);
    key
}

pub(super) fn name(table: usize) -> &'static str {
    NAMES[table]
}

/// Tables of several kinds.
pub(super) fn options(table: usize) -> TableOptions {
    let options = TableOptions::new();
    match table {
        0 => options,
        1 => options.counted(true),
        _ => options.share_prefixes(false).value_align(8),
    }
}

/// Returns the first difference, if there is one.
pub(super) fn compare<T: Transaction>(txn: &T, model: &FaultTables) -> Result<(), String> {
    let named = |error: teak::Error| format!("reading: {error}");
    let found: Vec<Vec<u8>> = txn
        .tables()
        .map_err(named)?
        .into_iter()
        .map(|info| info.name)
        .collect();
    let mut expected: Vec<&[u8]> = model.keys().map(|table| name(*table).as_bytes()).collect();
    expected.sort_unstable();
    if found != expected {
        return Err(format!("there are {} tables", found.len()));
    }
    for (number, records) in model {
        let table = txn
            .open_table::<Bytes, Bytes>(name(*number))
            .map_err(named)?;
        compare_table(txn, &table, records)
            .map_err(|text| format!("table {}: {text}", name(*number)))?;
    }
    Ok(())
}

fn compare_table<T: Transaction>(
    txn: &T,
    table: &Table<Bytes, Bytes>,
    model: &FaultRecords,
) -> Result<(), String> {
    let named = |error: teak::Error| format!("reading: {error}");
    let mut expected = model.iter();
    for record in table.iter(txn).map_err(named)? {
        let (key, value) = record.map_err(named)?;
        match expected.next() {
            Some((other, model)) if key == other && model.is(value) => {}
            _ => return Err(format!("record {}", key.escape_ascii())),
        }
    }
    match expected.next() {
        None => Ok(()),
        Some((key, _)) => Err(format!("no record {}", key.escape_ascii())),
    }
}

/// A reader, with the state that it must see.
pub(super) struct FaultReader {
    pub(super) txn: ReadTxn,
    pub(super) expected: FaultTables,
}
