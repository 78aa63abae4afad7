//! The expected contents of a database.

use crate::{Result, campaign::database::expect_records};
use std::{collections::BTreeMap, sync::Arc};
use teak::{ReadTxn, TableOptions, Transaction};

/// The keys of this campaign.
pub(super) type FaultKey = [u8; 8];
/// The records of a table.
pub(super) type FaultRecords = BTreeMap<FaultKey, FaultValue>;
/// Tables by their number; cheap to clone, so that each committed state is kept.
pub(super) type FaultTables = BTreeMap<usize, Arc<FaultRecords>>;

const NAMES: [&str; 3] = ["coins", "blocks", "undo"];

/// The name of a prepared transaction.
pub(super) const PREPARED: &str = "prepared";

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
        let byte = |index: usize| (index as u8).wrapping_mul(7).wrapping_add(self.seed);
        (0..self.len).map(byte).collect()
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

/// Fails unless the transaction and the model hold the same records.
pub(super) fn compare(txn: &impl Transaction, model: &FaultTables) -> Result {
    let found: Vec<Vec<u8>> = txn.tables()?.into_iter().map(|info| info.name).collect();
    let mut expected: Vec<&[u8]> = model.keys().map(|table| name(*table).as_bytes()).collect();
    expected.sort_unstable();
    ensure!(found == expected, "there are {} tables", found.len());
    model.iter().try_for_each(|(table, records)| {
        let records = records.iter().map(|(key, value)| (key, value.bytes()));
        expect_records(txn, name(*table), records)
    })
}

/// A reader, with the state that it must see.
pub(super) struct FaultReader {
    pub(super) txn: ReadTxn,
    pub(super) expected: FaultTables,
}
