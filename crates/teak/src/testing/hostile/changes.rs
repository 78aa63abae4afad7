//! All ways of changing.

use super::{
    multi,
    reads::{read_table, some_keys},
    sample::known,
};
use crate::{
    BulkOptions, Database, Error, ReadTxn, Result, Table, TableInfo, Transaction, WriteTxn,
    codec::Raw,
};

/// Changes that are tried on each table.
const STEPS: usize = 9;

/// Changes that a database refuses while it is open for reading only.
pub(super) fn refuse(database: &Database) -> Result<()> {
    assert!(matches!(database.begin_write(), Err(Error::ReadOnly)));
    database.sync()
}

/// Begins to write. Decides about prepared transactions first, because writers wait for that.
fn begin(database: &Database) -> Result<WriteTxn> {
    for info in database.prepared().unwrap_or_default() {
        let _ = database
            .open_prepared(&info.name)
            .and_then(|txn| read_old_state(&txn));
        let committed = database.commit_prepared(&info.name);
        committed.or_else(|_| database.rollback_prepared(&info.name))?;
    }
    database.begin_write()
}

/// Changes all tables in all ways, beside a reader, and commits.
pub(super) fn change(database: &Database) -> Result<()> {
    let reader = database.begin_read()?;
    let mut txn = begin(database)?;
    for info in known(txn.tables()?) {
        if info.options.is_multi() {
            multi::change(&mut txn, &info.name)?;
            continue;
        }
        let table = txn.open_table::<Raw, Raw>(&info.name)?;
        let keys = some_keys(&txn, &table);
        for step in 0..STEPS {
            let savepoint = txn.savepoint()?;
            if change_table(&mut txn, &info, &keys, step).is_err() {
                txn.rollback_to(&savepoint)?;
            }
            txn.release(savepoint)?;
        }
        let _ = read_table(&txn, &table, &keys);
    }
    let _ = txn.info();
    let table = txn.create_table::<Raw, Raw>("new")?;
    table.insert(&mut txn, b"key", [7; 5000])?;
    let committed = txn.commit();
    let _ = read_old_state(&reader);
    committed?;
    database.sync()?;
    rename(database)
}

/// Reads the tables that the reader saw, some of which may be gone.
fn read_old_state(reader: &ReadTxn) -> Result<()> {
    for info in known(reader.tables()?) {
        if info.options.is_multi() {
            let _ = multi::read(reader, &info.name);
            continue;
        }
        let table = reader.open_table::<Raw, Raw>(&info.name)?;
        let _ = some_keys(reader, &table);
    }
    Ok(())
}

/// Changes that are given up, then a name that is kept.
fn rename(database: &Database) -> Result<()> {
    let mut txn = begin(database)?;
    txn.rename_table("new", "renamed")?;
    txn.abort();
    let mut txn = begin(database)?;
    txn.rename_table("new", "named")?;
    txn.commit().map(drop)
}

/// Drops all tables, and commits.
pub(super) fn drop_all(database: &Database) -> Result<()> {
    let mut txn = begin(database)?;
    for info in known(txn.tables()?) {
        let _ = txn.nested(|txn| txn.drop_table(&info.name));
    }
    txn.commit().map(drop)
}

fn change_table(txn: &mut WriteTxn, info: &TableInfo, keys: &[Vec<u8>], step: usize) -> Result<()> {
    let table = txn.open_table::<Raw, Raw>(&info.name)?;
    let middle = &keys[keys.len() / 2][..];
    match step {
        0 => keys
            .iter()
            .try_for_each(|key| table.insert(txn, key, [9; 90])),
        1 => table.insert(txn, middle, [5; 9000]),
        2 => (1..keys.len())
            .step_by(3)
            .try_for_each(|index| table.remove(txn, &keys[index]).map(drop)),
        3 => insert_many(txn, &table, keys),
        4 => {
            let slices: Vec<&[u8]> = keys.iter().step_by(2).map(Vec::as_slice).collect();
            table.remove_many(txn, &slices).map(drop)
        }
        5 => txn.nested(|txn| table.insert_new(txn, middle, [4; 40]).map(drop)),
        6 => table.range(middle..).remove(txn).map(drop),
        7 => {
            let records = (0..50u64).map(|i| (i.to_le_bytes(), [3; 300]));
            let options = BulkOptions::default();
            table
                .bulk_load_unsorted(txn, records, options, &mut |_| {})
                .map(drop)
        }
        _ => refill(txn, &table),
    }
}

fn insert_many(txn: &mut WriteTxn, table: &Table<Raw, Raw>, keys: &[Vec<u8>]) -> Result<()> {
    let pairs: Vec<(&[u8], &[u8])> = keys
        .iter()
        .step_by(2)
        .map(|key| (&key[..], &[8; 200][..]))
        .collect();
    table.insert_many(txn, &pairs).map(drop)
}

/// Empties a table and loads records that are sorted, in one order or another.
fn refill(txn: &mut WriteTxn, table: &Table<Raw, Raw>) -> Result<()> {
    table.clear(txn)?;
    let records = (0..20u64).map(|i| (i.to_be_bytes(), [2; 100]));
    table.bulk_load(txn, records).map(drop)
}
