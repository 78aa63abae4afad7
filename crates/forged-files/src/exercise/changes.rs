//! All kinds of changes.

use super::{
    collector::FindingCollector,
    expiring, pairs, reads,
    tables::{Plain, some_tables},
};
use std::time::Duration;
use teak::{
    BulkOptions, CompactOptions, Database, DeleteScope, DetachedCursor, Durability, Error,
    Geometry, Result, SeekOp, TableDef, TableInfo, Transaction, WriteOptions, WriteTxn, codec::Raw,
};

/// Changes of a table in which a key has one value.
const CHANGES: usize = 26;
/// Changes of a table in which a key has several values.
const STEPS: usize = 6;

/// Makes some changes to some tables, with a reader and a feed open, and commits.
pub(super) fn change(collector: &mut FindingCollector<'_>, database: &Database) {
    let feed = collector.note(
        "a feed",
        database.begin_read().and_then(|seen| database.follow(seen)),
    );
    let reader = collector.note("a reader", database.begin_read());
    let result = change_some(collector, database);
    collector.note("changing", result);
    if let Some(reader) = &reader {
        reads::all(collector, reader);
        super::states::differ(collector, reader, database);
    }
    if let Some(mut feed) = feed {
        let changes = collector
            .note("the feed", feed.next(Some(Duration::ZERO)))
            .flatten();
        if let Some(changes) = changes {
            collector.note("tables of the feed", changes.tables());
        }
    }
}

fn change_some(collector: &mut FindingCollector<'_>, database: &Database) -> Result<()> {
    let Some(mut txn) =
        database.begin_write_with(WriteOptions::new().timeout(Duration::from_secs(60)))?
    else {
        collector.find("the writer lock is not free".to_owned());
        return Ok(());
    };
    let durability = [Durability::Durable, Durability::Lazy, Durability::Async];
    txn.set_durability(durability[collector.rng.usize(0..3)]);
    if collector.rng.u8(0..4) == 0 {
        let _ = txn.set_geometry(geometry(collector));
    }
    for info in some_tables(collector, &txn) {
        for _ in 0..STEPS {
            let savepoint = txn.savepoint()?;
            let result = change_table(collector, &mut txn, &info);
            let is_error = result.is_err();
            collector.note("a change", result);
            if is_error {
                txn.rollback_to(&savepoint)?;
            }
            txn.release(savepoint)?;
        }
        if collector.rng.u8(0..8) == 0 {
            collector.note("a checkpoint", txn.checkpoint());
        }
    }
    expiring::change(collector, &mut txn);
    if collector.rng.bool() {
        reads::all(collector, &txn);
    }
    let _ = txn.info();
    let table = txn.create_table::<Raw, Raw>("new")?;
    table.insert(&mut txn, b"key", [7; 5000])?;
    match collector.rng.u8(0..6) {
        0 => txn.abort(),
        1 => {
            txn.roll_back()?;
            txn.commit()?;
        }
        2 => drop(txn.commit_and_read()?),
        3 => txn.commit_async()?.wait()?,
        4 => drop(txn.commit_measured()?),
        _ => drop(txn.commit()?),
    }
    let _ = database.info().is_flush_due;
    database.sync()?;
    rename(collector, database)
}

fn geometry(collector: &mut FindingCollector<'_>) -> Geometry {
    Geometry::new()
        .shrink_threshold_bytes([0, 1 << 12, u64::MAX][collector.rng.usize(0..3)])
        .growth_step_bytes([0, 1 << 12, 1 << 16][collector.rng.usize(0..3)])
}

/// Changes that are rolled back, then a name that is kept.
fn rename(collector: &mut FindingCollector<'_>, database: &Database) -> Result<()> {
    let mut txn = database.begin_write()?;
    let tables = some_tables(collector, &txn);
    if let Some(info) = tables.first() {
        let renamed = txn.rename_table(&info.name, "renamed");
        collector.note("renaming", renamed);
    }
    txn.abort();
    let mut txn = database.begin_write()?;
    match txn.rename_table("new", "named") {
        Err(error @ Error::Corrupted { .. }) => Err(error),
        _ => txn.commit().map(drop),
    }
}

fn change_table(
    collector: &mut FindingCollector<'_>,
    txn: &mut WriteTxn,
    info: &TableInfo,
) -> Result<()> {
    if info.options.is_multi() {
        let table = txn.open_multi_table(&info.name)?;
        let some = pairs::some_pairs(collector, txn, &table);
        if collector.rng.u8(0..5) == 0 {
            return change_by_cursor(collector, txn, DetachedCursor::new(&table), true);
        }
        let step = collector.rng.usize(0..pairs::CHANGES);
        return pairs::change(collector, txn, &table, &some, step);
    }
    let table = txn.open_table::<Raw, Raw>(&info.name)?;
    let keys = reads::some_keys(collector, txn, &table);
    let step = collector.rng.usize(0..CHANGES);
    change_plain(collector, txn, info, &table, &keys, step)
}

fn change_plain(
    collector: &mut FindingCollector<'_>,
    txn: &mut WriteTxn,
    info: &TableInfo,
    table: &Plain,
    keys: &[Vec<u8>],
    step: usize,
) -> Result<()> {
    let key = &keys[collector.rng.usize(0..keys.len())][..];
    let value = vec![5; [0, 3, 90, 1500, 9000][collector.rng.usize(0..5)]];
    let value = &value[..];
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    match step {
        0 => (slices.iter()).try_for_each(|key| table.insert(txn, key, value)),
        1 => table.insert(txn, key, value),
        2 => (slices.iter()).try_for_each(|key| table.remove(txn, key).map(drop)),
        3 => {
            let records: Vec<(&[u8], &[u8])> = slices.iter().map(|key| (*key, value)).collect();
            table.insert_many(txn, &records).map(drop)
        }
        4 => table.remove_many(txn, &slices).map(drop),
        5 => txn.nested(|txn| table.insert_new(txn, key, value).map(drop)),
        6 => table.range(key..).remove(txn).map(drop),
        7 => table.range(..key).remove(txn).map(drop),
        8 => {
            let records = (0..50u64).map(|i| (i.to_le_bytes(), [3; 300]));
            let options = BulkOptions::default();
            table
                .bulk_load_unsorted(txn, records, options, &mut |_| {})
                .map(drop)
        }
        9 => {
            table.clear(txn)?;
            let records = (0..20u64).map(|i| (i.to_be_bytes(), [2; 100]));
            table.bulk_load(txn, records).map(drop)
        }
        10 => table.entry(txn, key)?.or_insert(value).map(drop),
        11 => table.update(txn, key, value).map(drop),
        12 => table.entry(txn, key)?.insert(value).map(drop),
        13 => table.entry(txn, key)?.remove().map(drop),
        14 => table
            .compare_and_swap(txn, key, Some(value), None)
            .map(drop),
        15 => table
            .compare_and_swap(txn, key, None, Some(value))
            .map(drop),
        16 => {
            let entry = table.entry(txn, key)?.and_modify(|_| value)?;
            entry.get().map(drop)
        }
        17 => table.append(txn, [0xff; 8], value),
        18..=20 => {
            let target = TableDef::<Raw, Raw>::new("target")
                .options(info.options)
                .create(txn)?;
            match step {
                18 => table.range(..).copy_to(txn, &target).map(drop),
                19 => table.range(..).move_to(txn, &target).map(drop),
                _ => table.range(..key).move_to(txn, &target).map(drop),
            }
        }
        21 => table.draw_sequence(txn, 3).map(drop),
        22 => insert_scattered(collector, txn, table, value),
        23 => remove_from_front(txn, table),
        _ => change_by_cursor(collector, txn, DetachedCursor::new(table), false),
    }
}

/// Inserts 150 keys at positions all over the table, and looks up some of them.
fn insert_scattered(
    collector: &mut FindingCollector<'_>,
    txn: &mut WriteTxn,
    table: &Plain,
    value: &[u8],
) -> Result<()> {
    for i in 0..150_u64 {
        let key = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        table.insert(txn, key, value)?;
        if i % 40 == 0 {
            collector.note("a lookup", table.get(txn, key));
        }
    }
    Ok(())
}

/// Removes the first record until the table is empty. Stops after 2,000 records, because a damaged
/// table may never become empty.
fn remove_from_front(txn: &mut WriteTxn, table: &Plain) -> Result<()> {
    let mut count = 0;
    while let Some((key, _)) = table.first(txn)? {
        table.remove(txn, &key)?;
        count += 1;
        if count > 2000 {
            break;
        }
    }
    Ok(())
}

fn change_by_cursor(
    collector: &mut FindingCollector<'_>,
    txn: &mut WriteTxn,
    mut cursor: DetachedCursor,
    is_multi: bool,
) -> Result<()> {
    for _ in 0..12 {
        let key: [u8; 8] = std::array::from_fn(|_| collector.rng.u8(..));
        match collector.rng.u8(0..10) {
            0 => drop(cursor.first(txn)?),
            1 => drop(cursor.last(txn)?),
            2 => drop(cursor.next(txn)?),
            3 => drop(cursor.prev(txn)?),
            4 => drop(cursor.seek(txn, SeekOp::GreaterOrEqual, &key)?),
            5 => drop(cursor.insert(txn, &key, &key)?),
            6 => drop(cursor.remove(txn)?),
            7 => drop(cursor.update(txn, &key)?),
            8 if is_multi => drop(cursor.remove_scope(txn, DeleteScope::AllValues)?),
            9 => {
                let scopes = [
                    DeleteScope::Before,
                    DeleteScope::UpToCurrent,
                    DeleteScope::FromCurrent,
                    DeleteScope::After,
                    DeleteScope::All,
                    DeleteScope::ValuesBefore,
                    DeleteScope::AllValues,
                ];
                let scope = scopes[collector
                    .rng
                    .usize(0..scopes.len() - 2 * usize::from(!is_multi))];
                cursor.remove_scope(txn, scope)?;
            }
            _ => drop(cursor.current(txn)?),
        }
    }
    Ok(())
}

/// Drops or clears tables, and commits several times, so that deferred releases happen too.
pub(super) fn clear(collector: &mut FindingCollector<'_>, database: &Database) {
    let result = clear_some(collector, database);
    collector.note("dropping", result);
    for _ in 0..4 {
        let result = database.begin_write().and_then(|mut txn| {
            let table = txn.create_table::<Raw, Raw>("small")?;
            table.insert(&mut txn, b"key", [collector.rng.u8(..)])?;
            txn.commit()
        });
        collector.note("committing", result);
    }
}

fn clear_some(collector: &mut FindingCollector<'_>, database: &Database) -> Result<()> {
    let mut txn = database.begin_write()?;
    for info in some_tables(collector, &txn) {
        let is_cleared = collector.rng.bool();
        let result = txn.nested(|txn| match (is_cleared, info.options.is_multi()) {
            (false, _) => txn.drop_table(&info.name).map(drop),
            (true, true) => txn.open_multi_table::<Raw, Raw>(&info.name)?.clear(txn),
            (true, false) => txn.open_table::<Raw, Raw>(&info.name)?.clear(txn),
        });
        collector.note("clearing a table", result);
    }
    txn.commit().map(drop)
}

/// Moves pages to the front of the file.
pub(super) fn compact(collector: &mut FindingCollector<'_>, database: &Database) {
    let options = match collector.rng.u8(0..3) {
        0 => CompactOptions::new(),
        1 => CompactOptions::new().until_file_bytes(1 << 14),
        _ => CompactOptions::new()
            .until_free_percent(1)
            .max_moved_bytes(1 << 16),
    };
    let compacted = database.compact(&options, &mut |_| std::ops::ControlFlow::Continue(()));
    collector.note("compacting", compacted);
}
