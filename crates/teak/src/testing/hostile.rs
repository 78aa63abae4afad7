//! All that can be done with a database, done with one that may be anything.

use super::{SimDisk, open, salvage};
use crate::{
    Database, Durability, Options, PageNumber, ReadTxn, Result, Table, TableInfo, Transaction,
    Verification,
    codec::Bytes,
    commit::record::{Record, SLOT_COUNT, find_page_size},
};

/// Records that are read of a table: a tree that is no tree may have any number.
const RECORDS_MAX: usize = 2000;
const PAGES_MAX: u32 = 32;
/// Bytes of a database that takes what was saved of a small one.
const SAVED_MAX: usize = 64 << 20;
/// One in so many keys is looked for in all ways that there are.
const KEY_STEP: usize = 9;

/// Opens, checks, reads and changes a database that may be anything. Errors are what is expected;
/// says whether it could be opened, and was clean.
pub fn exercise(image: &[u8]) -> bool {
    let ways = [
        (boot_of(image), Durability::Lazy, Verification::Off),
        ([0xfe; 16], Durability::Durable, Verification::FirstTouch),
    ];
    let disk = SimDisk::from_image(image.to_vec(), image.len());
    let saved = SimDisk::new(SAVED_MAX);
    // What is saved is a database.
    let _ = salvage(&disk, &saved).map(|_| {
        let saved = open(&saved, &Options::new(), false, [0xfe; 16]);
        let report = saved.and_then(|saved| saved.check(&mut |_| {}));
        assert!(
            report.is_ok_and(|report| report.is_clean()),
            "saved as it should be"
        );
    });
    let is_clean = ways.map(|(boot, durability, verification)| {
        let options = Options::new()
            .durability(durability)
            .verification(verification);
        let disk = SimDisk::from_image(image.to_vec(), image.len() + (1 << 20));
        let is_clean = open(&disk, &options, false, boot).is_ok_and(|database| {
            let report = database.check(&mut |_| {});
            let _ = look(&database);
            let _ = read_all(&database);
            let _ = change(&database);
            let _ = database.check(&mut |_| {});
            let _ = database.close();
            report.is_ok_and(|report| report.is_clean())
        });
        let again = open(&disk, &Options::new(), false, boot);
        drop(again.map(|database| database.check(&mut |_| {})));
        is_clean
    });
    is_clean == [true; 2]
}

/// The boot in which the newest record was written, so that nothing is verified.
fn boot_of(image: &[u8]) -> [u8; 16] {
    let page_size = find_page_size(image).map_or(4096, |bytes| bytes as usize);
    let records = (0..SLOT_COUNT).filter_map(|slot| {
        let start = usize::from(slot) * page_size;
        Record::decode(image.get(start..)?, slot).ok()
    });
    records
        .max_by_key(|record| record.sequence)
        .map_or([0; 16], |record| record.boot_id)
}

fn look(database: &Database) -> Result<()> {
    let _ = database.stat()?;
    let _ = database.page_kinds();
    for page in 0..PAGES_MAX {
        let _ = database.describe_page(PageNumber(page));
    }
    Ok(())
}

fn read_all(database: &Database) -> Result<()> {
    let txn = database.begin_read()?;
    for info in known(txn.tables()?) {
        let table = txn.open_table::<Bytes, Bytes>(&info.name)?;
        let keys = some_keys(&txn, &table);
        let _ = read_table(&txn, &table, &keys);
        let _ = read_owned(&txn, &table, &keys);
    }
    Ok(())
}

/// The tables that can be opened.
fn known(mut tables: Vec<TableInfo>) -> Vec<TableInfo> {
    tables.retain(|info| info.unknown.is_none());
    tables
}

/// The keys that a scan finds before an error, and one that will not be there.
fn some_keys<T: Transaction>(txn: &T, table: &Table<Bytes, Bytes>) -> Vec<Vec<u8>> {
    let records = table.iter(txn).into_iter().flatten().take(RECORDS_MAX);
    let mut keys: Vec<_> = records.map_while(|r| r.ok().map(|(key, _)| key)).collect();
    keys.push(b"eight by".to_vec());
    keys
}

fn read_table<T: Transaction>(
    txn: &T,
    table: &Table<Bytes, Bytes>,
    keys: &[Vec<u8>],
) -> Result<()> {
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let _ = table.get_many(txn, &slices);
    let _ = table.stat(txn);
    let backwards = table.iter(txn)?.rev().take(RECORDS_MAX);
    let _ = backwards.take_while(Result::is_ok).count();
    for key in keys.iter().rev().step_by(KEY_STEP) {
        let _ = table.get(txn, key);
        let _ = table
            .prefix(txn, &key[..key.len() / 2])
            .map(|range| range.take(3).count());
        let range = table.range(txn, &key[..]..)?;
        let _ = range.rev().take(2).count();
        let mut cursor = table.cursor(txn)?;
        let _ = cursor.seek(key);
        let _ = cursor.value();
        let _ = cursor.prev();
        let _ = cursor.next();
        let _ = cursor.next();
    }
    Ok(())
}

fn read_owned(txn: &ReadTxn, table: &Table<Bytes, Bytes>, keys: &[Vec<u8>]) -> Result<()> {
    for key in keys.iter().rev().step_by(KEY_STEP) {
        let value = table.get_owned(txn, key);
        let _ = value.map(|value| value.map(|value| value.len()));
    }
    let range = table.range_owned(txn, ..)?;
    for record in range.take(RECORDS_MAX) {
        let (_, value) = record?;
        let _ = value.len();
    }
    Ok(())
}

fn change(database: &Database) -> Result<()> {
    let mut txn = database.begin_write()?;
    let tables = known(txn.tables()?);
    for info in &tables {
        let keys = {
            let table = txn.open_table::<Bytes, Bytes>(&info.name)?;
            some_keys(&txn, &table)
        };
        for step in 0..5 {
            let savepoint = txn.savepoint()?;
            if change_table(&mut txn, info, &keys, step).is_err() {
                txn.rollback_to(&savepoint)?;
            }
            txn.release(savepoint)?;
        }
    }
    let table = txn.create_table::<Bytes, Bytes>("new")?;
    table.insert(&mut txn, b"key", &[7; 5000])?;
    txn.commit()?;
    let mut txn = database.begin_write()?;
    for info in &tables {
        txn.drop_table(&info.name)?;
    }
    txn.commit().map(drop)
}

fn change_table(
    txn: &mut crate::WriteTxn,
    info: &TableInfo,
    keys: &[Vec<u8>],
    step: usize,
) -> Result<()> {
    let table = txn.open_table::<Bytes, Bytes>(&info.name)?;
    let middle = &keys[keys.len() / 2][..];
    match step {
        0 => keys
            .iter()
            .try_for_each(|key| table.insert(txn, key, &[9; 90])),
        1 => table.insert(txn, middle, &[5; 9000]),
        2 => (1..keys.len())
            .step_by(3)
            .try_for_each(|index| table.remove(txn, &keys[index]).map(drop)),
        3 => table.remove_range(txn, middle..).map(drop),
        _ => {
            let records = (0..50u64).map(|i| (i.to_le_bytes(), [3; 300]));
            let options = crate::BulkOptions::default();
            table
                .bulk_load_unsorted(txn, records, options, &mut |_| {})
                .map(drop)
        }
    }
}
