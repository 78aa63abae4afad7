//! All ways of reading.

use super::{
    multi,
    sample::{KEY_STEP, RECORDS_MAX, known},
};
use crate::{Database, DetachedCursor, ReadTxn, Result, SeekOp, Table, Transaction, codec::Raw};

/// Reads all tables in all ways.
pub(super) fn read_all(database: &Database) -> Result<()> {
    let txn = database.begin_read()?;
    for info in known(txn.tables()?) {
        if info.options.is_multi() {
            let _ = multi::read(&txn, &info.name);
            continue;
        }
        let table = txn.open_table::<Raw, Raw>(&info.name)?;
        let keys = some_keys(&txn, &table);
        let _ = read_table(&txn, &table, &keys);
        let _ = read_owned(&txn, &table, &keys);
        let _ = step_detached(&txn, &table, &keys);
    }
    Ok(())
}

/// The keys that a scan finds before an error, and one that will not be there.
pub(super) fn some_keys<T: Transaction>(txn: &T, table: &Table<Raw, Raw>) -> Vec<Vec<u8>> {
    let records = table.iter(txn).into_iter().flatten().take(RECORDS_MAX);
    let mut keys: Vec<_> = records.map_while(|r| r.ok().map(|(key, _)| key)).collect();
    keys.push(b"eight by".to_vec());
    keys
}

/// Reads a table by all that borrows from the transaction.
pub(super) fn read_table<T: Transaction>(
    txn: &T,
    table: &Table<Raw, Raw>,
    keys: &[Vec<u8>],
) -> Result<()> {
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let _ = table.get_many(txn, &slices);
    let _ = (table.stat(txn), table.len(txn), table.is_empty(txn));
    let _ = (table.options(txn), table.first(txn), table.last(txn));
    let backwards = table.iter(txn)?.rev().take(RECORDS_MAX);
    let _ = backwards.take_while(Result::is_ok).count();
    let _ = step_through(txn, table);
    let _ = count(txn, table, keys);
    for key in keys.iter().rev().step_by(KEY_STEP) {
        let _ = (table.get(txn, key), table.contains_key(txn, key));
        let _ = table
            .prefix(&key[..key.len() / 2])
            .iter(txn)
            .map(|range| range.take(3).count());
        let range = table.range(&key[..]..).iter(txn)?;
        let _ = range.rev().take(2).count();
        let _ = table.range(..&key[..]).iter(txn)?.rev().take(2).count();
        let mut cursor = table.cursor(txn)?;
        let _ = (
            cursor.seek(SeekOp::GreaterOrEqual, key),
            cursor.value().map(<[u8]>::len),
        );
        let _ = (cursor.prev(), cursor.next(), cursor.next());
        let _ = (cursor.seek(SeekOp::Equal, key), cursor.is_on_record());
    }
    Ok(())
}

/// All that counts, and parts of ranges.
fn count<T: Transaction>(txn: &T, table: &Table<Raw, Raw>, keys: &[Vec<u8>]) -> Result<()> {
    let mut cursor = table.cursor(txn)?;
    for (step, key) in keys.iter().rev().step_by(KEY_STEP).enumerate() {
        let number = (step * step) as u64;
        let _ = (table.rank(txn, key), table.nth(txn, number));
        let _ = table.range(&key[..]..).estimate(txn);
        let _ = (cursor.skip(number as i64), cursor.seek_nth(number));
        let _ = (cursor.skip(-(step as i64)), cursor.distance(&cursor));
    }
    let middle = &keys[keys.len() / 2][..];
    let _ = (
        table.range(..middle).count(txn),
        table.range(middle..).split(txn, 5),
    );
    for part in table.range(..).split(txn, 3)? {
        let _ = part
            .iter(txn)?
            .take(RECORDS_MAX)
            .take_while(Result::is_ok)
            .count();
    }
    Ok(())
}

/// A cursor from end to end, in both directions.
fn step_through<T: Transaction>(txn: &T, table: &Table<Raw, Raw>) -> Result<()> {
    let mut cursor = table.cursor(txn)?;
    let mut is_on = cursor.first()?;
    for _ in 0..RECORDS_MAX {
        if !is_on {
            break;
        }
        let _ = (cursor.key().len(), cursor.value().map(<[u8]>::len));
        is_on = cursor.next()?;
    }
    let mut is_on = cursor.last()?;
    for _ in 0..RECORDS_MAX {
        if !is_on {
            break;
        }
        is_on = cursor.prev()?;
    }
    Ok(())
}

/// Looks what differs between two states, one way and the other.
pub(super) fn differ(older: &ReadTxn, newer: &ReadTxn) -> Result<()> {
    for info in known(older.tables()?) {
        if info.options.is_multi() {
            let _ = multi::compare(older, newer, &info.name);
            continue;
        }
        let table = newer.open_table::<Raw, Raw>(&info.name)?;
        for (older, newer) in [(older, newer), (newer, older)] {
            let differences = table.differences(older, newer)?.take(RECORDS_MAX);
            let _ = differences.take_while(Result::is_ok).count();
        }
    }
    newer.changed_tables(older).map(drop)
}

fn read_owned(txn: &ReadTxn, table: &Table<Raw, Raw>, keys: &[Vec<u8>]) -> Result<()> {
    for key in keys.iter().rev().step_by(KEY_STEP) {
        let value = table.get_owned(txn, key);
        let _ = value.map(|value| value.map(|value| value.len()));
        let range = table.range(&key[..]..).owned(txn)?;
        let _ = range.rev().take(3).count();
    }
    let range = table.range(..).owned(txn)?;
    for record in range.take(RECORDS_MAX) {
        let (_, value) = record?;
        let _ = value.len();
    }
    Ok(())
}

fn step_detached(txn: &ReadTxn, table: &Table<Raw, Raw>, keys: &[Vec<u8>]) -> Result<()> {
    let mut cursor = DetachedCursor::new(table);
    let _ = cursor.last(txn)? && cursor.prev(txn)? && cursor.value(txn)?.is_empty();
    let _ = cursor.first(txn)? && cursor.next(txn)? && cursor.key().is_empty();
    for key in keys.iter().step_by(KEY_STEP) {
        let found = cursor.seek(txn, SeekOp::GreaterOrEqual, key);
        let _ = (found, cursor.value(txn).map(|value| value.len()));
        let _ = (cursor.next(txn), cursor.prev(txn), cursor.prev(txn));
        let _ = (
            cursor.seek(txn, SeekOp::Equal, key),
            cursor.is_on_record(txn),
        );
    }
    Ok(())
}
