//! All movements of cursors.

use super::collector::FindingCollector;
use std::ops::ControlFlow;
use teak::{Cursor, DetachedCursor, Direction, KeyStep, Result, SeekOp, SeekTarget, Transaction};

/// Random steps.
const STEPS: usize = 60;

/// A random seek, also by pairs if there are values.
fn seek<'k>(
    collector: &mut FindingCollector<'_>,
    keys: &[&'k [u8]],
    values: &[&'k [u8]],
) -> (SeekOp, SeekTarget<'k>) {
    let rng = &mut collector.rng;
    let op = [
        SeekOp::Equal,
        SeekOp::GreaterOrEqual,
        SeekOp::Greater,
        SeekOp::LessOrEqual,
        SeekOp::Less,
    ][rng.usize(0..5)];
    let index = rng.usize(0..keys.len());
    let key = keys[index];
    if values.is_empty() {
        return (op, SeekTarget::Key(key));
    }
    // Only half of the pairs are of two records, because few of those are in the table.
    let value = match values.get(index) {
        Some(value) if rng.bool() => value,
        _ => values[rng.usize(0..values.len())],
    };
    let target = match rng.u8(0..6) {
        0 => SeekTarget::Key(key),
        1..=3 => SeekTarget::Pair(key, value),
        _ => SeekTarget::Value(key, value),
    };
    (op, target)
}

fn direction(collector: &mut FindingCollector<'_>) -> Direction {
    match collector.rng.bool() {
        true => Direction::Forward,
        false => Direction::Backward,
    }
}

/// A cursor that borrows from the transaction, over pairs if there are values.
pub(super) fn borrowing(
    collector: &mut FindingCollector<'_>,
    mut cursor: Cursor<'_>,
    keys: &[&[u8]],
    values: &[&[u8]],
) -> Result<()> {
    let other = cursor.clone();
    // A third of the steps are seeks by pairs if there are values.
    let steps = if values.is_empty() { 24 } else { 30 };
    for _ in 0..STEPS {
        let (op, target) = seek(collector, keys, values);
        let direction = direction(collector);
        let number = collector.rng.u64(0..300);
        let moved = match collector.rng.u8(0..steps) {
            0 => cursor.first(),
            1 => cursor.last(),
            2..=4 => cursor.next(),
            5..=7 => cursor.prev(),
            8 => cursor.step(KeyStep::NextKey),
            9 => cursor.step(KeyStep::PrevKey),
            10 => cursor.step(KeyStep::NextValue),
            11 => cursor.step(KeyStep::PrevValue),
            12 => cursor.step(KeyStep::FirstValue),
            13 => cursor.step(KeyStep::LastValue),
            14 => cursor.seek_nth(number),
            15 => cursor.skip(number as i64 - 150),
            16 => cursor.read_batch(number as usize, |_, _| {}),
            17 => cursor.read_packed(direction).map(|packed| packed.is_some()),
            _ => cursor.seek(op, target),
        };
        collector.note("a cursor", moved);
        if cursor.is_on_record() {
            collector.note("a cursor's value", cursor.value().map(<[u8]>::len));
            collector.note("a cursor's value", cursor.value_in_page());
        }
        let _ = (cursor.key().len(), cursor.ends());
        let _ = (cursor.count(), cursor.distance(&other));
    }
    // A nested tree may claim to have any number of values.
    if !values.is_empty() {
        return Ok(());
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

/// A detached cursor, over pairs if there are values.
pub(super) fn free<T: Transaction>(
    collector: &mut FindingCollector<'_>,
    txn: &T,
    mut cursor: DetachedCursor,
    keys: &[&[u8]],
    values: &[&[u8]],
) {
    let steps = if values.is_empty() { 24 } else { 25 };
    for _ in 0..STEPS {
        let (op, target) = seek(collector, keys, values);
        let direction = direction(collector);
        let count = collector.rng.usize(0..200);
        let moved = match collector.rng.u8(0..steps) {
            0 => cursor.first(txn),
            1 => cursor.last(txn),
            2..=3 => cursor.next(txn),
            4..=5 => cursor.prev(txn),
            6 => cursor.current(txn),
            7 => {
                cursor.reset();
                Ok(cursor.is_unset())
            }
            8 => cursor.step(txn, KeyStep::NextKey),
            9 => cursor.step(txn, KeyStep::PrevKey),
            10 => cursor.step(txn, KeyStep::NextValue),
            11 => cursor.step(txn, KeyStep::PrevValue),
            12 => cursor.step(txn, KeyStep::FirstValue),
            13 => cursor.step(txn, KeyStep::LastValue),
            14 => cursor
                .read_packed(txn, direction)
                .map(|packed| packed.is_some()),
            _ => cursor.seek(txn, op, target),
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
            1 | 2 => {
                let scanned = cursor.scan(txn, direction, |_, _| stop(&mut left));
                collector.note("a scan", scanned);
            }
            _ => {}
        }
    }
}
