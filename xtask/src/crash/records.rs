//! Changes that workloads make to tables, and to the model of them.

use super::history::{HistoryTables, MULTI, MULTI_KEY_LEN, TableRecords};
use fastrand::Rng;
use std::sync::Arc;
use teak::{Error, MultiTable, Table, TableOptions, WriteTxn, codec::Bytes};

/// Keys are made from numbers below this.
const DOMAIN: u64 = 600;

const NAMES: [&str; 4] = ["alpha", "beta", MULTI, "gamma"];

/// So many keys have most of the values: some of them as sets, some as nested trees.
const MULTI_KEYS: u64 = 5;

fn options(name: &str) -> TableOptions {
    match name {
        "beta" => TableOptions::new().counted(true).share_prefixes(false),
        "gamma" => TableOptions::new().value_align(8),
        _ => TableOptions::new(),
    }
}

/// Keys of 4 to 40 bytes.
fn key(number: u64) -> Vec<u8> {
    let mut key = (number as u32).to_be_bytes().to_vec();
    key.resize(4 + (number % 37) as usize, b'k');
    key
}

fn value(rng: &mut Rng, len: usize) -> Arc<[u8]> {
    let mut value = vec![0; len];
    rng.fill(&mut value);
    value.into()
}

/// A pair, the key and then the value. Some keys have a single value, one has every fourth.
fn pair(number: u64) -> Vec<u8> {
    let of = match number % 8 {
        0 | 1 => 0,
        2..7 => number % MULTI_KEYS,
        _ => number,
    };
    [&(of as u32).to_be_bytes()[..], &key(number)].concat()
}

/// A table to change, mostly one that is there.
enum AnyTable {
    Plain(Table<Bytes, Bytes>),
    Multi(MultiTable<Bytes, Bytes>),
}

impl AnyTable {
    fn open(txn: &mut WriteTxn, name: &'static str) -> teak::Result<Self> {
        Ok(match name {
            MULTI => Self::Multi(txn.create_multi_table(name)?),
            _ => Self::Plain(txn.create_table_with(name, options(name))?),
        })
    }

    fn insert(&self, txn: &mut WriteTxn, key: &[u8], value: &[u8]) -> teak::Result<()> {
        match self {
            Self::Plain(table) => table.insert(txn, key, value),
            Self::Multi(table) => {
                let (key, value) = key.split_at(MULTI_KEY_LEN);
                if !table.insert(txn, key, value)? {
                    // A transaction that changes nothing commits nothing.
                    table.remove(txn, key, value)?;
                    table.insert(txn, key, value)?;
                }
                Ok(())
            }
        }
    }

    fn remove(&self, txn: &mut WriteTxn, key: &[u8]) -> teak::Result<bool> {
        match self {
            Self::Plain(table) => table.remove(txn, key),
            Self::Multi(table) => {
                let (key, value) = key.split_at(MULTI_KEY_LEN);
                table.remove(txn, key, value)
            }
        }
    }
}

fn insert(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
    lens: impl Iterator<Item = usize>,
) -> teak::Result<()> {
    let name = NAMES[rng.usize(0..NAMES.len())];
    let table = AnyTable::open(txn, name)?;
    let records = Arc::make_mut(tables.entry(name).or_default());
    for len in lens {
        let number = rng.u64(0..DOMAIN);
        let (key, value) = match table {
            AnyTable::Plain(_) => (key(number), value(rng, len)),
            AnyTable::Multi(_) => (pair(number), value(rng, 0)),
        };
        table.insert(txn, &key, &value)?;
        records.insert(key, value);
    }
    Ok(())
}

/// Inserts `count` small records.
pub(super) fn put(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
    count: usize,
) -> teak::Result<()> {
    let len_max = [20, 100, 300][rng.usize(0..3)];
    let lens: Vec<usize> = (0..count).map(|_| rng.usize(0..len_max)).collect();
    insert(txn, tables, rng, lens.into_iter())
}

/// Inserts a value that has pages of its own.
pub(super) fn put_large(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
    page_size: usize,
) -> teak::Result<()> {
    let len = rng.usize(page_size / 2..page_size * 3);
    insert(txn, tables, rng, [len].into_iter())
}

/// Removes about this share of the records of a table, in percent.
pub(super) fn remove(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
    percent: u32,
) -> teak::Result<()> {
    let Some(name) = existing(tables, rng) else {
        return Ok(());
    };
    let table = AnyTable::open(txn, name)?;
    let records: &mut TableRecords = Arc::make_mut(tables.entry(name).or_default());
    let keys: Vec<Vec<u8>> = records
        .keys()
        .filter(|_| rng.u32(0..100) < percent)
        .cloned()
        .collect();
    for key in keys {
        if !table.remove(txn, &key)? {
            let text = "a record that should be there could not be removed";
            return Err(Error::InvalidArgument(text.to_owned()));
        }
        records.remove(&key);
    }
    Ok(())
}

pub(super) fn drop_table(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
) -> teak::Result<()> {
    if let Some(name) = existing(tables, rng) {
        txn.drop_table(name)?;
        tables.remove(name);
    }
    Ok(())
}

fn existing(tables: &HistoryTables, rng: &mut Rng) -> Option<&'static str> {
    let index = rng.usize(0..tables.len().max(1));
    tables.keys().nth(index).copied()
}

/// Changes within a nested transaction that is rolled back.
pub(super) fn nested(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
    page_size: usize,
) -> teak::Result<()> {
    const CHANGED_MY_MIND: &str = "rolled back at will";
    let mut scratch = tables.clone();
    let result: teak::Result<()> = txn.nested(|txn| {
        put(txn, &mut scratch, rng, 10)?;
        put_large(txn, &mut scratch, rng, page_size)?;
        remove(txn, &mut scratch, rng, 30)?;
        Err(Error::InvalidArgument(CHANGED_MY_MIND.to_owned()))
    });
    match result {
        Err(Error::InvalidArgument(text)) if text == CHANGED_MY_MIND => Ok(()),
        other => other,
    }
}

/// Savepoints within each other, one of them rolled back to.
pub(super) fn savepoints(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
    page_size: usize,
) -> teak::Result<()> {
    let outer = txn.savepoint()?;
    let before = tables.clone();
    put(txn, tables, rng, 8)?;
    let inner = txn.savepoint()?;
    let between = tables.clone();
    remove(txn, tables, rng, 50)?;
    put_large(txn, tables, rng, page_size)?;
    match rng.u8(0..4) {
        0 => {
            txn.rollback_to(&outer)?;
            *tables = before;
        }
        1 => {
            txn.rollback_to(&inner)?;
            *tables = between;
            put(txn, tables, rng, 3)?;
            txn.release(inner)?;
        }
        2 => txn.release(inner)?,
        _ => {
            drop_table(txn, tables, rng)?;
            txn.rollback_to(&inner)?;
            *tables = between;
        }
    }
    txn.release(outer)
}

/// The names of snapshots.
const SNAPSHOTS: [&str; 3] = ["one", "three", "two"];

/// Names the state that the transaction makes.
pub(super) fn name(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
) -> teak::Result<()> {
    let name = SNAPSHOTS[rng.usize(0..SNAPSHOTS.len())];
    if !tables.is_named(name) {
        txn.create_snapshot(name)?;
        tables.name(name);
    }
    Ok(())
}

/// A snapshot that is there.
fn named(tables: &HistoryTables, rng: &mut Rng) -> Option<&'static str> {
    let count = tables.named.len();
    let name = tables.named.keys().nth(rng.usize(0..count.max(1)));
    name.copied()
}

/// Drops a named snapshot, if there is one.
pub(super) fn drop_snapshot(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
) -> teak::Result<()> {
    if let Some(name) = named(tables, rng) {
        txn.drop_snapshot(name)?;
        tables.named.remove(name);
    }
    Ok(())
}

/// Goes back to a named snapshot, if there is one; the transaction has not changed anything yet.
pub(super) fn roll_back_to_snapshot(
    txn: &mut WriteTxn,
    tables: &mut HistoryTables,
    rng: &mut Rng,
) -> teak::Result<()> {
    if let Some(name) = named(tables, rng) {
        txn.roll_back_to_snapshot(name)?;
        tables.roll_back_to_snapshot(name);
    }
    Ok(())
}
