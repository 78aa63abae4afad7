//! All movements of cursors.

use super::{collector::FindingCollector, tables::Plain};
use std::ops::ControlFlow;
use teak::{DetachedCursor, ReadTxn, Result, Transaction};

/// Random steps.
const STEPS: usize = 60;

/// A cursor that borrows from the transaction.
pub(super) fn borrowing<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    table: &Plain,
    keys: &[&[u8]],
) -> Result<()> {
    let mut cursor = table.cursor(txn)?;
    let other = table.cursor(txn)?;
    for _ in 0..STEPS {
        let key = keys[collector.rng.usize(0..keys.len())];
        let number = collector.rng.u64(0..300);
        let moved = match collector.rng.u8(0..16) {
            0 => cursor.first(),
            1 => cursor.last(),
            2..=4 => cursor.next(),
            5..=7 => cursor.prev(),
            8 => cursor.seek(key),
            9 => cursor.seek_exact(key),
            10 => cursor.seek_greater(key),
            11 => cursor.seek_less(key),
            12 => cursor.seek_less_or_equal(key),
            13 => cursor.seek_nth(number),
            14 => cursor.skip(number as i64 - 150),
            _ => cursor.read_batch(number as usize, |_, _| {}),
        };
        collector.note("a cursor", moved);
        if cursor.is_on_record() {
            collector.note("a cursor's value", cursor.value());
        }
        let _ = (cursor.key().len(), cursor.is_first(), cursor.is_last());
        let _ = cursor.distance(&other);
    }
    let mut count = 0;
    let mut is_on = cursor.first()?;
    while is_on {
        count += 1;
        if count > collector.records_max {
            collector.find("a cursor finds more records than the file has bytes".to_owned());
            break;
        }
        is_on = collector.note("a cursor", cursor.next()).unwrap_or(false);
    }
    Ok(())
}

/// A cursor that owns a share of the transaction.
pub(super) fn owned(
    collector: &mut FindingCollector<'_>,
    txn: &ReadTxn,
    table: &Plain,
    keys: &[Vec<u8>],
) -> Result<()> {
    let mut cursor = table.cursor_owned(txn)?;
    for _ in 0..STEPS {
        let key = &keys[collector.rng.usize(0..keys.len())];
        let number = collector.rng.u64(0..300);
        let moved = match collector.rng.u8(0..14) {
            0 => cursor.first(),
            1 => cursor.last(),
            2..=3 => cursor.next(),
            4..=5 => cursor.prev(),
            6 => cursor.seek(key),
            7 => cursor.seek_exact(key),
            8 => cursor.seek_greater(key),
            9 => cursor.seek_less(key),
            10 => cursor.seek_less_or_equal(key),
            11 => cursor.seek_nth(number),
            12 => cursor.skip(number as i64 - 150),
            _ => cursor.read_batch(number as usize, |_, _| {}),
        };
        collector.note("an owned cursor", moved);
        if cursor.is_on_record() {
            collector.note("an owned cursor's value", cursor.value().map(<[u8]>::len));
        }
        let _ = (cursor.key().len(), cursor.is_first(), cursor.is_last());
    }
    Ok(())
}

/// A detached cursor, over pairs if there are values.
pub(super) fn free<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    mut cursor: DetachedCursor,
    keys: &[&[u8]],
    values: &[&[u8]],
) {
    let is_multi = !values.is_empty();
    for _ in 0..STEPS {
        let key = keys[collector.rng.usize(0..keys.len())];
        let value = match values {
            [] => key,
            values => values[collector.rng.usize(0..values.len())],
        };
        let count = collector.rng.usize(0..200);
        let moved = match collector.rng.u8(0..if is_multi { 28 } else { 13 }) {
            0 => cursor.first(txn),
            1 => cursor.last(txn),
            2..=3 => cursor.next(txn),
            4..=5 => cursor.prev(txn),
            6 => cursor.current(txn),
            7 => cursor.seek(txn, key),
            8 => cursor.seek_exact(txn, key),
            9 => cursor.seek_greater(txn, key),
            10 => cursor.seek_less(txn, key),
            11 => cursor.seek_less_or_equal(txn, key),
            12 => {
                cursor.reset();
                Ok(cursor.is_unset())
            }
            13 => cursor.next_key(txn),
            14 => cursor.prev_key(txn),
            15 => cursor.next_value(txn),
            16 => cursor.prev_value(txn),
            17 => cursor.first_value(txn),
            18 => cursor.last_value(txn),
            19 => cursor.seek_pair(txn, key, value),
            20 => cursor.seek_pair_exact(txn, key, value),
            21 => cursor.seek_pair_less(txn, key, value),
            22 => cursor.seek_pair_less_or_equal(txn, key, value),
            23 => cursor.seek_value(txn, key, value),
            24 => cursor.seek_value_less(txn, key, value),
            25 => cursor.seek_value_less_or_equal(txn, key, value),
            26 => cursor.read_packed(txn).map(|packed| packed.is_some()),
            _ => cursor.read_packed_back(txn).map(|packed| packed.is_some()),
        };
        collector.note("a detached cursor", moved);
        let _ = (cursor.key().len(), cursor.table_name().len());
        let mut left = count;
        let stop = |left: &mut usize| {
            *left = left.saturating_sub(1);
            match *left {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        match collector.rng.u8(0..20) {
            0 => drop(collector.note("a batch", cursor.read_batch(txn, count, |_, _| {}))),
            1 => drop(collector.note("a scan", cursor.scan(txn, |_, _| stop(&mut left)))),
            2 => drop(collector.note("a scan back", cursor.scan_back(txn, |_, _| stop(&mut left)))),
            _ => {}
        }
    }
}
