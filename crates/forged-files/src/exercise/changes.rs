//! All ways of changing.

use super::{
    judge::Judge,
    pairs, reads,
    tables::{Plain, some_tables},
};
use std::time::Duration;
use teak::{
    Action, BulkOptions, Bunch, CompactOptions, Database, Durability, Error, FreeCursor, Geometry,
    Result, TableInfo, Transaction, WriteTxn, codec::Bytes,
};

/// Ways of changing a table in which a key has one value.
const CHANGES: usize = 26;
/// Changes of one table.
const STEPS: usize = 6;

/// Changes some tables in some ways, beside a reader and a feed, and commits.
pub(super) fn change(judge: &mut Judge<'_>, database: &Database) {
    let feed = judge.note("a feed", database.follow());
    let reader = judge.note("a reader", database.begin_read());
    let result = change_some(judge, database);
    judge.note("changing", result);
    if let Some(reader) = &reader {
        reads::all(judge, reader);
        super::states::differ(judge, reader, database);
    }
    if let Some(mut feed) = feed {
        let changes = judge.note("the feed", feed.poll()).flatten();
        if let Some(changes) = changes {
            judge.note("tables of the feed", changes.tables());
        }
    }
}

fn change_some(judge: &mut Judge<'_>, database: &Database) -> Result<()> {
    let Some(mut txn) = database.begin_write_timeout(Duration::from_secs(60))? else {
        judge.find("the writer's place is taken".to_owned());
        return Ok(());
    };
    let durability = [Durability::Durable, Durability::Lazy, Durability::Async];
    txn.set_durability(durability[judge.rng.usize(0..3)]);
    if judge.rng.u8(0..4) == 0 {
        let _ = txn.set_geometry(geometry(judge));
    }
    for info in some_tables(judge, &txn) {
        for _ in 0..STEPS {
            let savepoint = txn.savepoint()?;
            let result = change_table(judge, &mut txn, &info);
            let is_error = result.is_err();
            judge.note("a change", result);
            if is_error {
                txn.rollback_to(&savepoint)?;
            }
            txn.release(savepoint)?;
        }
        if judge.rng.u8(0..8) == 0 {
            judge.note("a checkpoint", txn.checkpoint());
        }
    }
    if judge.rng.bool() {
        reads::all(judge, &txn);
    }
    let _ = (txn.dirty_bytes(), txn.info());
    let table = txn.create_table::<Bytes, Bytes>("new")?;
    table.insert(&mut txn, b"key", &[7; 5000])?;
    match judge.rng.u8(0..6) {
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
    let _ = database.sync_if_due();
    database.sync()?;
    rename(judge, database)
}

fn geometry(judge: &mut Judge<'_>) -> Geometry {
    Geometry {
        shrink_threshold_bytes: [0, 1 << 12, u64::MAX][judge.rng.usize(0..3)],
        growth_step_bytes: [0, 1 << 12, 1 << 16][judge.rng.usize(0..3)],
        ..Geometry::default()
    }
}

/// Changes that are given up, then a name that is kept.
fn rename(judge: &mut Judge<'_>, database: &Database) -> Result<()> {
    let mut txn = database.begin_write()?;
    let tables = some_tables(judge, &txn);
    if let Some(info) = tables.first() {
        let renamed = txn.rename_table(&info.name, "renamed");
        judge.note("renaming", renamed);
    }
    txn.abort();
    let mut txn = database.begin_write()?;
    match txn.rename_table("new", "named") {
        Err(error @ Error::Corrupted { .. }) => Err(error),
        _ => txn.commit().map(drop),
    }
}

fn change_table(judge: &mut Judge<'_>, txn: &mut WriteTxn, info: &TableInfo) -> Result<()> {
    if info.options.is_multi() {
        let table = txn.open_multi_table(&info.name)?;
        let some = pairs::some_pairs(judge, txn, &table);
        if judge.rng.u8(0..5) == 0 {
            return change_by_cursor(judge, txn, FreeCursor::for_multi(&table), true);
        }
        let step = judge.rng.usize(0..pairs::CHANGES);
        return pairs::change(judge, txn, &table, &some, step);
    }
    let table = txn.open_table::<Bytes, Bytes>(&info.name)?;
    let keys = reads::some_keys(judge, txn, &table);
    let step = judge.rng.usize(0..CHANGES);
    change_plain(judge, txn, info, &table, &keys, step)
}

fn change_plain(
    judge: &mut Judge<'_>,
    txn: &mut WriteTxn,
    info: &TableInfo,
    table: &Plain,
    keys: &[Vec<u8>],
    step: usize,
) -> Result<()> {
    let key = &keys[judge.rng.usize(0..keys.len())][..];
    let value = vec![5; [0, 3, 90, 1500, 9000][judge.rng.usize(0..5)]];
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
        6 => table.remove_range(txn, key..).map(drop),
        7 => table.remove_range(txn, ..key).map(drop),
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
        10 => table.get_or_insert(txn, key, value).map(drop),
        11 => table.update(txn, key, value).map(drop),
        12 => table.replace(txn, key, value).map(drop),
        13 => table.take(txn, key).map(drop),
        14 => table.remove_if(txn, key, value).map(drop),
        15 => table
            .compare_and_swap(txn, key, None, Some(value))
            .map(drop),
        16 => table.modify(txn, key, |_| Ok((Action::put(value), ()))),
        17 => table.append(txn, &[0xff; 8], value),
        18..=20 => {
            let target = txn.create_table_with::<Bytes, Bytes>("target", info.options)?;
            match step {
                18 => table.copy_range(txn, .., &target).map(drop),
                19 => table.move_range(txn, .., &target).map(drop),
                _ => table.move_range(txn, ..key, &target).map(drop),
            }
        }
        21 => table.draw_sequence(txn, 3).map(drop),
        22 => {
            for i in 0..150_u64 {
                let key = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
                table.insert(txn, &key, value)?;
                if i % 40 == 0 {
                    judge.note("a lookup", table.get(txn, &key));
                }
            }
            Ok(())
        }
        23 => {
            // One after the other, from the front, until nothing is left.
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
        _ => change_by_cursor(judge, txn, FreeCursor::new(table), false),
    }
}

fn change_by_cursor(
    judge: &mut Judge<'_>,
    txn: &mut WriteTxn,
    mut cursor: FreeCursor,
    is_multi: bool,
) -> Result<()> {
    for _ in 0..12 {
        let key: [u8; 8] = std::array::from_fn(|_| judge.rng.u8(..));
        match judge.rng.u8(0..10) {
            0 => drop(cursor.first(txn)?),
            1 => drop(cursor.last(txn)?),
            2 => drop(cursor.next(txn)?),
            3 => drop(cursor.prev(txn)?),
            4 => drop(cursor.seek(txn, &key)?),
            5 => match is_multi {
                true => drop(cursor.insert_pair(txn, &key, &key)?),
                false => cursor.insert(txn, &key, &key)?,
            },
            6 => drop(cursor.remove(txn)?),
            7 => drop(cursor.update(txn, &key)?),
            8 if is_multi => drop(cursor.remove_all_values(txn)?),
            9 => {
                let bunches = [
                    Bunch::Before,
                    Bunch::ToHere,
                    Bunch::FromHere,
                    Bunch::Behind,
                    Bunch::Whole,
                    Bunch::ValuesBefore,
                    Bunch::Values,
                ];
                let bunch = bunches[judge
                    .rng
                    .usize(0..bunches.len() - 2 * usize::from(!is_multi))];
                cursor.remove_bunch(txn, bunch)?;
            }
            _ => drop(cursor.current(txn)?),
        }
    }
    Ok(())
}

/// Drops or clears tables, and commits, a few times, so that what is released later is released too.
pub(super) fn clear(judge: &mut Judge<'_>, database: &Database) {
    let result = clear_some(judge, database);
    judge.note("dropping", result);
    for _ in 0..4 {
        let result = database.begin_write().and_then(|mut txn| {
            let table = txn.create_table::<Bytes, Bytes>("small")?;
            table.insert(&mut txn, b"key", &[judge.rng.u8(..)])?;
            txn.commit()
        });
        judge.note("committing", result);
    }
}

fn clear_some(judge: &mut Judge<'_>, database: &Database) -> Result<()> {
    let mut txn = database.begin_write()?;
    for info in some_tables(judge, &txn) {
        let is_cleared = judge.rng.bool();
        let result = txn.nested(|txn| match (is_cleared, info.options.is_multi()) {
            (false, _) => txn.drop_table(&info.name).map(drop),
            (true, true) => txn.open_multi_table::<Bytes, Bytes>(&info.name)?.clear(txn),
            (true, false) => txn.open_table::<Bytes, Bytes>(&info.name)?.clear(txn),
        });
        judge.note("clearing a table", result);
    }
    txn.commit().map(drop)
}

/// Moves pages to the front of the file.
pub(super) fn compact(judge: &mut Judge<'_>, database: &Database) {
    let options = match judge.rng.u8(0..3) {
        0 => CompactOptions::new(),
        1 => CompactOptions::new().until_file_bytes(1 << 14),
        _ => CompactOptions::new()
            .until_free_percent(1)
            .max_moved_bytes(1 << 16),
    };
    let compacted = database.compact_with(&options, &mut |_| std::ops::ControlFlow::Continue(()));
    judge.note("compacting", compacted);
}
