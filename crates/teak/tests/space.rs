//! The length of files: limits, growth, and files that shrink while they are used.

use crate::shared::{closed_len, temporary_path, used_len};
use fastrand::Rng;
use std::{
    fs,
    ops::ControlFlow,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use teak::{
    CheckReport, CompactOptions, Database, Durability, Error, Geometry, Options, Recovery, Result,
    SlowReader, SlowReaderChoice, Table, Transaction, codec::Bytes,
};

const MIB: u64 = 1 << 20;

type Numbers = Table<u64, Bytes>;

fn len(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

fn fill(database: &Database, numbers: std::ops::Range<u64>, value_len: usize) -> Result<Numbers> {
    let mut txn = database.begin_write()?;
    txn.set_durability(Durability::Lazy);
    let table: Numbers = txn.create_table("numbers")?;
    for number in numbers {
        table.insert(&mut txn, number, vec![number as u8; value_len])?;
    }
    txn.commit()?;
    Ok(table)
}

fn empty(database: &Database, table: &Numbers) {
    let mut txn = database.begin_write().unwrap();
    table.clear(&mut txn).unwrap();
    txn.commit().unwrap();
}

fn small_commits(database: &Database, table: &Numbers, count: u64) {
    for number in 0..count {
        let mut txn = database.begin_write().unwrap();
        let value = txn.id().0.to_le_bytes();
        table.insert(&mut txn, number % 7, value).unwrap();
        txn.commit().unwrap();
    }
}

fn assert_clean(database: &Database) {
    let report: CheckReport = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.damages.is_empty(), "{:?}", report.damages);
}

#[test]
fn the_file_shrinks_while_it_is_used() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 0..10_000, 1000).unwrap();
    let full = len(&path);
    assert!(full > 9 * MIB);
    let before = database.begin_read().unwrap();
    empty(&database, &table);
    small_commits(&database, &table, 10);
    assert!(len(&path) >= full, "a reader sees the end of the file");
    assert_eq!(table.get(&before, 9_999).unwrap(), Some(&[15; 1000][..]));
    drop(before);
    small_commits(&database, &table, 100);
    let left = used_len(&database, &path);
    assert!(left < 2 * MIB, "{left} bytes are left");
    let after = database.begin_read().unwrap();
    assert_eq!(table.len(&after).unwrap(), 7);
    assert_clean(&database);
    fill(&database, 0..10_000, 1000).unwrap();
    assert_clean(&database);
    assert_eq!(table.len(&after).unwrap(), 7);
    drop(after);
    database.close().unwrap();
    assert_clean(&Database::open(&path).unwrap());
}

#[test]
fn a_file_is_not_truncated_for_few_pages() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 0..500, 1000).unwrap();
    let before = len(&path);
    empty(&database, &table);
    small_commits(&database, &table, 10);
    assert!(len(&path) >= before, "less than 1 MiB is free");
}

#[test]
fn a_threshold_may_be_set() {
    let (_directory, path) = temporary_path();
    let geometry = Geometry::new().shrink_threshold_bytes(64 << 10);
    let database = Options::new().geometry(geometry).open(&path).unwrap();
    let table = fill(&database, 0..500, 1000).unwrap();
    empty(&database, &table);
    small_commits(&database, &table, 10);
    let left = used_len(&database, &path);
    assert!(left < 200 << 10, "{left} bytes are left");
    let mut txn = database.begin_write().unwrap();
    let never = geometry.shrink_threshold_bytes(u64::MAX);
    txn.set_geometry(never).unwrap();
    txn.commit().unwrap();
    assert_eq!(database.geometry().unwrap(), never);
    fill(&database, 0..500, 1000).unwrap();
    let before = len(&path);
    empty(&database, &table);
    small_commits(&database, &table, 10);
    assert_eq!(len(&path), before);
}

#[test]
fn limits_and_steps_are_stored_and_enforced() {
    let (_directory, path) = temporary_path();
    let geometry = Geometry::new()
        .lower_limit_bytes(MIB)
        .upper_limit_bytes(4 * MIB)
        .growth_step_bytes(MIB);
    let database = Options::new().geometry(geometry).open(&path).unwrap();
    let table = fill(&database, 0..10, 100).unwrap();
    assert_eq!(len(&path), MIB);
    fill(&database, 0..1000, 1000).unwrap();
    assert_eq!(len(&path), 2 * MIB);

    // A full database gives an error, can be rolled back, and continues.
    let mut txn = database.begin_write().unwrap();
    let put = |txn: &mut _, number| table.insert(txn, number, [1; 1000]);
    let full = (0..10_000)
        .map(|number| put(&mut txn, number))
        .find(Result::is_err);
    assert!(matches!(full, Some(Err(Error::Full { limit_bytes })) if limit_bytes == 4 * MIB));
    txn.abort();
    assert_eq!(table.len(&database.begin_read().unwrap()).unwrap(), 1000);
    small_commits(&database, &table, 3);
    assert!(len(&path) <= 4 * MIB);

    // Space becomes free when readers end.
    let reader = database.begin_read().unwrap();
    fill(&database, 0..1800, 1001).unwrap();
    let full = fill(&database, 0..1800, 999).map(drop);
    assert!(matches!(full, Err(Error::Full { .. })));
    drop(reader);
    empty(&database, &table);
    fill(&database, 0..2000, 999).unwrap();

    empty(&database, &table);
    small_commits(&database, &table, 100);
    assert!(used_len(&database, &path) < 3 * MIB);
    database.close().unwrap();
    assert_eq!(closed_len(&path), MIB);
    let database = Database::open(&path).unwrap();
    assert_eq!(database.geometry().unwrap(), geometry);
    assert!(matches!(
        Options::new().geometry(Geometry::default()).open(&path),
        Err(Error::OptionsDiffer { option: "geometry" })
    ));
    let mut txn = database.begin_write().unwrap();
    let crossed = geometry.lower_limit_bytes(2).upper_limit_bytes(1);
    assert!(matches!(
        txn.set_geometry(crossed),
        Err(Error::InvalidArgument(_))
    ));
    txn.set_geometry(Geometry::default()).unwrap();
    txn.commit().unwrap();
    fill(&database, 0..10_000, 1000).unwrap();
    assert!(len(&path) > 4 * MIB);
    assert_clean(&database);
}

/// Commits with few changes, one in twenty of them durable.
fn many_small_commits(database: &Database, table: &Numbers, count: u64) {
    for number in 0..count {
        let mut txn = database.begin_write().unwrap();
        if !number.is_multiple_of(20) {
            txn.set_durability(Durability::Lazy);
        }
        table
            .insert(&mut txn, number % 7, number.to_le_bytes())
            .unwrap();
        txn.commit().unwrap();
    }
}

#[test]
fn the_rest_of_a_large_database_moves_to_the_front() {
    for value_len in [200, 6000] {
        assert_rest_moves(&Options::new(), value_len, many_small_commits);
    }
}

/// Without a journal, durable commits put their pages one after the other into a zone. That was the
/// free end of the file, so the file kept its length.
#[test]
fn durable_commits_give_up_a_zone_at_the_end() {
    let options = Options::new().memtable(false).journal_bytes(0);
    assert_rest_moves(&options, 6000, |database, table, count| {
        for number in 0..count {
            let mut txn = database.begin_write().unwrap();
            let is_durable = number.is_multiple_of(20);
            txn.set_durability(if is_durable {
                Durability::Durable
            } else {
                Durability::Lazy
            });
            table
                .insert(&mut txn, number % 7, number.to_le_bytes())
                .unwrap();
            txn.commit().unwrap();
        }
    });
}

/// Removes all records up to `count` but those whose numbers end in 3.
fn remove_nine_of_ten(database: &Database, table: &Numbers, count: u64) {
    let mut txn = database.begin_write().unwrap();
    for number in (0..count).filter(|number| number % 10 != 3) {
        table.remove(&mut txn, number).unwrap();
    }
    txn.commit().unwrap();
}

fn assert_rest_moves(
    options: &Options,
    value_len: usize,
    small_commits: fn(&Database, &Numbers, u64),
) {
    let (_directory, path) = temporary_path();
    let database = options.clone().open(&path).unwrap();
    let count = 8_000_000 / value_len as u64;
    let table = fill(&database, 0..count, value_len).unwrap();
    remove_nine_of_ten(&database, &table, count);
    let full = len(&path);
    let reader = database.begin_read().unwrap();
    small_commits(&database, &table, 3000);
    for number in (0..count).filter(|number| number % 10 == 3) {
        assert_eq!(
            table.get(&reader, number).unwrap(),
            Some(&vec![number as u8; value_len][..])
        );
    }
    drop(reader);
    // Many small commits are merged together. The first merge notices that the reader has ended.
    database.sync().unwrap();
    small_commits(&database, &table, 3000);
    let left = used_len(&database, &path);
    assert!(left < full / 4, "{left} bytes are left of {full}");
    assert_clean(&database);
    let txn = database.begin_read().unwrap();
    for number in (10..count).filter(|number| number % 10 == 3) {
        assert_eq!(
            table.get(&txn, number).unwrap(),
            Some(&vec![number as u8; value_len][..])
        );
    }
}

#[test]
fn thin_leaves_are_rewritten() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 0..60_000, 100).unwrap();
    let leaves = || {
        let txn = database.begin_read().unwrap();
        table.stat(&txn).unwrap().leaf_pages
    };
    let full = leaves();
    let mut txn = database.begin_write().unwrap();
    // Neighbours merge if both are less than half full; these are a little fuller.
    for number in (0..60_000).filter(|number| number % 20 < 9) {
        table.remove(&mut txn, number).unwrap();
    }
    txn.commit().unwrap();
    assert!(leaves() > full * 9 / 10, "{} of {full}", leaves());
    many_small_commits(&database, &table, 3000);
    assert!(leaves() < full * 13 / 20, "{} of {full}", leaves());
    assert!(used_len(&database, &path) < leaves() * 4096 * 5 / 4 + 3 * MIB);
    assert_clean(&database);
}

#[test]
fn nothing_is_moved_if_that_is_disabled() {
    let (_directory, path) = temporary_path();
    let database = Options::new().move_percent(0).open(&path).unwrap();
    let table = fill(&database, 0..10_000, 400).unwrap();
    remove_nine_of_ten(&database, &table, 10_000);
    let full = len(&path);
    many_small_commits(&database, &table, 1000);
    assert!(len(&path) > full / 2);
    assert_clean(&database);
}

#[test]
fn many_tables_and_their_catalog_move_too() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let filler = fill(&database, 0..10_000, 1000).unwrap();
    let mut txn = database.begin_write().unwrap();
    for number in 0..300u64 {
        let table: Numbers = txn.create_table(format!("table {number}")).unwrap();
        table.insert(&mut txn, number, [7; 100]).unwrap();
    }
    txn.commit().unwrap();
    empty(&database, &filler);
    many_small_commits(&database, &filler, 2000);
    let left = used_len(&database, &path);
    assert!(left < 4 * MIB, "{left} bytes are left");
    assert_clean(&database);
    let txn = database.begin_read().unwrap();
    for number in 0..300u64 {
        let table: Numbers = txn.open_table(format!("table {number}")).unwrap();
        assert_eq!(table.get(&txn, number).unwrap(), Some(&[7; 100][..]));
    }
}

#[test]
fn compacting_makes_the_file_as_short_as_it_can_be() {
    for value_len in [200, 6000] {
        let (_directory, path) = temporary_path();
        let database = Options::new().move_percent(0).open(&path).unwrap();
        let count = 12_000_000 / value_len as u64;
        let table = fill(&database, 0..count, value_len).unwrap();
        remove_nine_of_ten(&database, &table, count);
        let reader = database.begin_read().unwrap();
        let mut calls = 0;
        let done = database.compact(&CompactOptions::new(), &mut |progress| {
            calls += 1;
            assert!(progress.moved_pages > 0);
            ControlFlow::Continue(())
        });
        let done = done.unwrap();
        assert!(calls > 0 && done.moved_pages > 50, "{done:?}");
        let kept = |number: &u64| number % 10 == 3;
        for number in (0..count).filter(kept) {
            assert_eq!(
                table.get(&reader, number).unwrap(),
                Some(&vec![number as u8; value_len][..])
            );
        }
        drop(reader);
        database
            .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert_clean(&database);
        let stat = database.stat().unwrap();
        assert!(stat.page_count < stat.used_pages * 11 / 10 + 64, "{stat:?}");
        assert_eq!(used_len(&database, &path), stat.page_count * 4096);
        let txn = database.begin_read().unwrap();
        for number in (0..count).filter(kept) {
            assert_eq!(
                table.get(&txn, number).unwrap(),
                Some(&vec![number as u8; value_len][..])
            );
        }
        drop(txn);
        let again = database
            .compact(&CompactOptions::new(), &mut |_| ControlFlow::Break(()))
            .unwrap();
        assert!(again.moved_pages < 100, "{again:?}");
        database.close().unwrap();
        assert!(closed_len(&path) <= stat.page_count * 4096);
        assert_clean(&Database::open(&path).unwrap());
    }
}

#[test]
fn a_parked_reader_does_not_make_the_file_grow() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 0..2000, 1000).unwrap();
    let early = database.begin_read().unwrap();
    let clone = early.clone();
    assert!(matches!(early.park(), Err(Error::InvalidArgument(_))));
    let parked = clone.park().unwrap();
    let id = parked.id();
    assert!(database.readers().unwrap()[0].is_parked);
    // There was no need for its space yet.
    let txn = parked.resume().unwrap();
    assert_eq!(txn.id(), id);
    assert_eq!(table.get(&txn, 1999).unwrap(), Some(&[207; 1000][..]));
    let parked = txn.park().unwrap();
    for round in 0..10 {
        fill(&database, 0..2000, 900 + round).unwrap();
        database.sync().unwrap();
    }
    assert!(matches!(parked.resume(), Err(Error::SnapshotLost)));
    assert!(database.readers().unwrap().is_empty());
    assert!(len(&path) < 9 * MIB, "{}", len(&path));
    assert_clean(&database);
}

#[test]
fn the_application_is_asked_about_slow_readers() {
    let (_directory, path) = temporary_path();
    let asked: Arc<Mutex<Vec<SlowReader>>> = Arc::default();
    let choice = Arc::new(Mutex::new(SlowReaderChoice::GiveUp));
    let (noted, chosen) = (Arc::clone(&asked), Arc::clone(&choice));
    let database = Options::new()
        .on_slow_reader(move |slow| {
            noted.lock().unwrap().push(slow.clone());
            *chosen.lock().unwrap()
        })
        .open(&path)
        .unwrap();
    let table = fill(&database, 0..2000, 1000).unwrap();
    database.sync().unwrap();
    assert!(asked.lock().unwrap().is_empty(), "nobody reads");
    let reader = database.begin_read().unwrap();
    fill(&database, 0..2000, 1001).unwrap();
    database.sync().unwrap();

    let failed = fill(&database, 0..2000, 1002).unwrap_err();
    let Error::HeldByReader {
        process,
        transaction,
        kept_bytes,
        ..
    } = failed
    else {
        panic!("unexpected error: {failed}")
    };
    assert_eq!(process, Some(std::process::id()));
    assert_eq!(transaction, reader.id());
    assert!(kept_bytes > 400 * 4096);
    assert_eq!(asked.lock().unwrap()[0].reader.kept_bytes, kept_bytes);
    let before = len(&path);
    assert_eq!(
        table.get(&database.begin_read().unwrap(), 7).unwrap(),
        Some(&[7; 1001][..])
    );

    *choice.lock().unwrap() = SlowReaderChoice::Grow;
    asked.lock().unwrap().clear();
    fill(&database, 0..2000, 1002).unwrap();
    database.sync().unwrap();
    assert!(len(&path) > before);
    assert_eq!(asked.lock().unwrap().len(), 1, "asked once");

    *choice.lock().unwrap() = SlowReaderChoice::Wait;
    asked.lock().unwrap().clear();
    let before = len(&path);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while asked.lock().unwrap().len() < 3 {
                std::thread::yield_now();
            }
            drop(reader);
        });
        fill(&database, 0..4000, 1003).unwrap();
    });
    let asked = asked.lock().unwrap();
    assert!(asked.len() >= 3 && asked[2].asked == 2);
    assert!(len(&path) < before + 6 * MIB);
    assert_clean(&database);
}

#[test]
fn a_backup_is_the_state_at_its_beginning() {
    let (directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 0..3000, 1000).unwrap();
    fill(&database, 0..1000, 5000).unwrap();
    let mut txn = database.begin_write().unwrap();
    for number in (0..3000).filter(|number| number % 3 == 0) {
        table.remove(&mut txn, number).unwrap();
    }
    txn.commit().unwrap();
    let [exact, dense] = ["exact", "dense"].map(|name| directory.path().join(name));
    let mut progress_bytes = Vec::new();
    let done = database.backup(&exact, None, &mut |progress| {
        // Others write meanwhile.
        fill(&database, 0..300, 100 + progress_bytes.len()).unwrap();
        progress_bytes.push(progress.bytes);
        ControlFlow::Continue(())
    });
    let done = done.unwrap();
    assert_eq!((done.bytes, done.total_bytes), (len(&exact), len(&exact)));
    assert!(progress_bytes.is_sorted() && progress_bytes.len() > 3);
    database.close().unwrap();

    let original = |number: u64| match (number % 3, number) {
        (0, _) => None,
        (_, 0..1000) => Some(vec![number as u8; 5000]),
        _ => Some(vec![number as u8; 1000]),
    };
    let assert_copy = |path: &Path| {
        let copy = Database::open(path).unwrap();
        assert_eq!(copy.info().recovery, Recovery::Clean);
        assert_clean(&copy);
        let txn = copy.begin_read().unwrap();
        for number in 0..3000 {
            let value = table.get(&txn, number).unwrap().map(<[u8]>::to_vec);
            assert_eq!(value, original(number), "{number}");
        }
        drop(txn);
        // It can be written to.
        fill(&copy, 0..3000, 700).unwrap();
        assert_clean(&copy);
    };
    let copy = Database::open(&exact).unwrap();
    let copied = copy
        .begin_read()
        .unwrap()
        .copy_dense(&dense, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!(copied.records, 2000);
    assert!(len(&dense) < len(&exact));
    assert!(matches!(
        copy.backup(&dense, None, &mut |_| ControlFlow::Continue(())),
        Err(Error::AlreadyExists(_))
    ));
    let ended = copy.backup(directory.path().join("none"), None, &mut |_| {
        ControlFlow::Break(())
    });
    assert!(matches!(ended, Err(Error::Cancelled { path: Some(_), .. })));
    let ended = copy
        .begin_read()
        .unwrap()
        .copy_dense(directory.path().join("none"), &mut |_| {
            ControlFlow::Break(())
        });
    assert!(matches!(ended, Err(Error::Cancelled { path: Some(_), .. })));
    copy.close().unwrap();
    assert_copy(&exact);
    assert_copy(&dense);
    let mut left: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["dense", "exact", "some.teak"]);
}

#[test]
fn compacting_ends_if_values_find_no_room() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 0..1000, 8000).unwrap();
    fill(&database, 2000..2001, 12_000).unwrap();
    fill(&database, 3000..3001, 3_000_000).unwrap();
    let mut txn = database.begin_write().unwrap();
    for number in (0..1000).filter(|number| number % 2 == 0) {
        table.remove(&mut txn, number).unwrap();
    }
    txn.commit().unwrap();
    let mut calls = 0;
    let done = database.compact(&CompactOptions::new(), &mut |_| {
        calls += 1;
        ControlFlow::Continue(())
    });
    assert!(calls < 100, "{calls} {done:?}");
    many_small_commits(&database, &table, 500);
    assert_clean(&database);
    let txn = database.begin_read().unwrap();
    assert_eq!(table.get(&txn, 2000).unwrap(), Some(&[208; 12_000][..]));
    assert_eq!(
        table.get(&txn, 3000).unwrap().map(<[u8]>::len),
        Some(3_000_000)
    );
    for number in (8..1000).filter(|number| number % 2 == 1) {
        assert_eq!(
            table.get(&txn, number).unwrap(),
            Some(&vec![number as u8; 8000][..])
        );
    }
}

#[test]
fn a_dense_copy_has_the_options_of_its_original() {
    let (directory, path) = temporary_path();
    let geometry = Geometry::new().growth_step_bytes(12 << 12);
    let database = Options::new().geometry(geometry).open(&path).unwrap();
    fill(&database, 0..10, 10).unwrap();
    let copy = directory.path().join("copy");
    database
        .begin_read()
        .unwrap()
        .copy_dense(&copy, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let copied = Database::open(&copy).unwrap();
    assert_eq!(copied.geometry().unwrap(), geometry);
    assert!(
        Options::new()
            .durability(Durability::Durable)
            .open(&copy)
            .is_ok()
    );
    assert!(
        Options::new()
            .durability(Durability::Lazy)
            .open(&copy)
            .is_err()
    );
}

#[test]
fn a_parked_reader_of_a_needed_state_keeps_it() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    fill(&database, 0..10, 1000).unwrap();
    let parked = database.begin_read().unwrap().park().unwrap();
    fill(&database, 10..3000, 1000).unwrap();
    assert!(parked.resume().is_ok(), "cancelling it would free nothing");
}

#[test]
fn a_geometry_is_rolled_back_with_its_savepoint() {
    let (_directory, path) = temporary_path();
    let geometry = Geometry::new().growth_step_bytes(MIB);
    let options = Options::new()
        .geometry(geometry)
        .size_limit_bytes(Some(64 * MIB));
    let database = options.open(&path).unwrap();
    assert!(options.open(&path).is_ok(), "it can be set again");
    fill(&database, 0..10, 10).unwrap();
    let mut txn = database.begin_write().unwrap();
    let savepoint = txn.savepoint().unwrap();
    txn.set_geometry(Geometry::default()).unwrap();
    txn.rollback_to(&savepoint).unwrap();
    txn.commit().unwrap();
    let kept = database.geometry().unwrap();
    assert_eq!(
        (kept.growth_step_bytes, kept.upper_limit_bytes),
        (MIB, 64 * MIB)
    );
    // A step larger than the file does not alternate.
    fill(&database, 0..500, 1000).unwrap();
    let before = len(&path);
    small_commits(&database, &fill(&database, 0..1, 10).unwrap(), 20);
    assert_eq!(len(&path), before);
}

#[test]
fn thousands_of_tables_move_without_handles() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let filler = fill(&database, 0..10_000, 1000).unwrap();
    database.close().unwrap();
    {
        let database = Database::open(&path).unwrap();
        for batch in 0..30u64 {
            let mut txn = database.begin_write().unwrap();
            for number in batch * 100..(batch + 1) * 100 {
                let table: Numbers = txn.create_table(format!("table {number}")).unwrap();
                table.insert(&mut txn, number, [7; 100]).unwrap();
            }
            txn.commit().unwrap();
        }
        database.close().unwrap();
    }
    let database = Database::open(&path).unwrap();
    empty(&database, &filler);
    many_small_commits(&database, &filler, 3000);
    assert_clean(&database);
    database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_clean(&database);
    let left = used_len(&database, &path);
    assert!(left < 16 * MIB, "{left}");
    let txn = database.begin_read().unwrap();
    for number in 0..3000u64 {
        let table: Numbers = txn.open_table(format!("table {number}")).unwrap();
        assert_eq!(table.get(&txn, number).unwrap(), Some(&[7; 100][..]));
    }
}

/// A file with free pages everywhere, most of all pages.
fn bloated(path: &Path) -> Database {
    // So that commits do not shrink it automatically.
    let database = Options::new().move_percent(0).open(path).unwrap();
    // A leaf for each record, so that the remaining ones keep their positions.
    let table = fill(&database, 0..3000, 3000).unwrap();
    let mut txn = database.begin_write().unwrap();
    for number in (0..3000).filter(|number| number % 8 > 0) {
        table.remove(&mut txn, number).unwrap();
    }
    txn.commit().unwrap();
    database
}

#[test]
fn compacting_ends_at_the_requested_length() {
    let (directory, path) = temporary_path();
    let database = bloated(&path);
    let before = database.stat().unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    // It is short enough already.
    let options = CompactOptions::new().until_file_bytes(before.file_bytes);
    let done = database.compact(&options, &mut go_on).unwrap();
    assert_eq!((done.moved_pages, done.file_bytes), (0, before.file_bytes));
    assert_eq!(database.stat().unwrap().transaction, before.transaction);
    // A part of it.
    let target = before.file_bytes / 4 * 3;
    let options = CompactOptions::new().until_file_bytes(target);
    let done = database.compact(&options, &mut go_on).unwrap();
    assert!(
        (target / 10 * 9..=target).contains(&done.file_bytes),
        "{done:?} of {before:?}"
    );
    assert_clean(&database);
    // The free part.
    let options = CompactOptions::new().until_free_percent(50);
    let half = database.compact(&options, &mut go_on).unwrap();
    let stat = database.stat().unwrap();
    assert!(
        (35..=50).contains(&(stat.free_pages * 100 / stat.page_count)),
        "{stat:?}"
    );
    assert!(half.file_bytes < done.file_bytes);
    let options = CompactOptions::new().until_free_percent(100);
    assert_eq!(
        database.compact(&options, &mut go_on).unwrap().moved_pages,
        0
    );
    let all = database
        .compact(&CompactOptions::new(), &mut go_on)
        .unwrap();
    assert!(
        all.file_bytes < half.file_bytes * 2 / 3,
        "{all:?} after {half:?}"
    );
    assert_clean(&database);
    database.close().unwrap();

    // The total per commit, and the pauses.
    let database = bloated(&directory.path().join("other.teak"));
    let pause = Duration::from_millis(20);
    let options = CompactOptions::new()
        .max_moved_bytes(400 << 10)
        .max_commit_bytes(100 << 10)
        .pause(pause);
    let begun = std::time::Instant::now();
    let mut moved = Vec::new();
    let done = database.compact(&options, &mut |progress| {
        moved.push(progress.moved_pages);
        ControlFlow::Continue(())
    });
    let done = done.unwrap();
    assert!((100..140).contains(&done.moved_pages), "{done:?}");
    assert!(
        moved.windows(2).all(|pair| pair[1] - pair[0] <= 35),
        "{moved:?}"
    );
    assert!(begun.elapsed() >= pause * 3);
    assert_clean(&database);
}

/// A file in which about every second page is free, but one commit could fill few of the free
/// pages.
#[test]
fn compacting_waits_for_room() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Table<u64, Bytes> = txn.create_table("numbers").unwrap();
    let keys = |step: usize| {
        (0..60_000_u64)
            .step_by(step)
            .map(|key| key.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    for key in keys(1) {
        table.insert(&mut txn, key, [7; 100]).unwrap();
    }
    txn.commit().unwrap();
    database.sync().unwrap();
    for share in [100, 15] {
        let options = CompactOptions::new().until_free_percent(share);
        let mut txn = database.begin_write().unwrap();
        for key in keys(5) {
            table.remove(&mut txn, key).unwrap();
        }
        txn.commit().unwrap();
        let done = database
            .compact(&options, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert!(done.is_reached, "{done:?}");
    }
    let done = database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let stat = database.stat().unwrap();
    assert!(
        done.is_reached && stat.free_pages < stat.used_pages / 16,
        "{done:?} {stat:?}"
    );
    assert_clean(&database);
}

#[test]
fn compacting_reports_a_reader_that_keeps_all_pages() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 0..4000, 1000).unwrap();
    database.create_snapshot("held").unwrap();
    let mut txn = database.begin_write().unwrap();
    for key in (0..4000).filter(|key| key % 3 > 0) {
        table.remove(&mut txn, key).unwrap();
    }
    txn.commit().unwrap();
    let options = CompactOptions::new().until_file_bytes(MIB);
    let mut calls = 0;
    let done = database.compact(&options, &mut |_| {
        calls += 1;
        ControlFlow::Continue(())
    });
    assert!(!done.unwrap().is_reached && calls > 0);
    database.drop_snapshot("held").unwrap();
    assert!(
        database
            .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_reached
    );
    let left = used_len(&database, &path);
    assert!(left < 2 * MIB, "{left}");
    assert_clean(&database);
}

/// The list of names is moved like tables.
#[test]
fn pages_of_dropped_names_do_not_hold_the_end_of_the_file() {
    for is_compacted in [true, false] {
        let (_directory, path) = temporary_path();
        let database = Database::open(&path).unwrap();
        let table = fill(&database, 0..8000, 1000).unwrap();
        database.create_snapshot("m").unwrap();
        database.drop_snapshot("m").unwrap();
        let mut txn = database.begin_write().unwrap();
        table.clear(&mut txn).unwrap();
        txn.commit().unwrap();
        if is_compacted {
            database
                .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
                .unwrap();
        } else {
            for round in 0..3000 {
                fill(&database, 0..1, 10 + round % 2).unwrap();
                database.sync().unwrap();
            }
        }
        let stat = database.stat().unwrap();
        assert!(used_len(&database, &path) < MIB, "{is_compacted} {stat:?}");
        assert_clean(&database);
    }
}

#[test]
fn closing_truncates_pages_of_the_last_durable_commit() {
    let (_directory, path) = temporary_path();
    let database = Options::new()
        .durability(Durability::Lazy)
        .open(&path)
        .unwrap();
    let table = fill(&database, 0..2000, 1000).unwrap();
    fill(&database, 2000..6000, 1000).unwrap();
    for half in [0..2000, 2000..6000] {
        database.sync().unwrap();
        let mut txn = database.begin_write().unwrap();
        table.range(half).remove(&mut txn).unwrap();
        txn.commit().unwrap();
    }
    database.close().unwrap();
    let left = closed_len(&path);
    assert!(left < MIB, "{left}");
}

/// A file stretched by random lazy changes is short again after closing, unless that is disabled.
#[test]
fn closing_makes_a_stretched_file_shorter() {
    let mut lens = Vec::new();
    for percent in [100, 0] {
        let (_directory, path) = temporary_path();
        let options = || {
            let options = Options::new().durability(Durability::Lazy);
            options.move_percent(percent)
        };
        let database = options().open(&path).unwrap();
        let table = fill(&database, 0..40_000, 100).unwrap();
        database.sync().unwrap();
        let mut random = Rng::with_seed(7);
        for _ in 0..10 {
            let mut txn = database.begin_write().unwrap();
            for _ in 0..2000 {
                let number = random.u64(..40_000);
                table.insert(&mut txn, number, [8; 100]).unwrap();
            }
            txn.commit().unwrap();
        }
        database.close().unwrap();
        lens.push(closed_len(&path));
        let database = options().open(&path).unwrap();
        assert_clean(&database);
        let txn = database.begin_read().unwrap();
        assert_eq!(table.len(&txn).unwrap(), 40_000);
    }
    assert!(lens[0] * 5 < lens[1] * 4, "{lens:?}");
}

/// A thread grows such a file in advance.
#[test]
fn a_quickly_growing_file_respects_its_limit_and_is_truncated_on_close() {
    let (_directory, path) = temporary_path();
    let limit = 33 * MIB;
    let options = Options::new().durability(Durability::Lazy);
    let database = options.size_limit_bytes(Some(limit)).open(&path).unwrap();
    let full = (0..100).find_map(|batch| {
        let filled = fill(&database, batch * 1000..(batch + 1) * 1000, 1000);
        assert!(len(&path) <= limit);
        filled.err()
    });
    assert!(matches!(full, Some(Error::Full { .. })));
    assert!(len(&path) > 24 * MIB);
    assert_clean(&database);
    database.close().unwrap();
    let closed = closed_len(&path);
    let database = Database::open(&path).unwrap();
    assert_eq!(database.stat().unwrap().file_bytes, closed);
    assert_clean(&database);
}

/// Pages that are free only between two flushes, because lazy commits need them again, are neither
/// truncated nor counted as waste.
#[test]
fn lazy_commits_do_not_move_pages_they_need_again() {
    let (_directory, path) = temporary_path();
    let options = Options::new()
        .durability(Durability::Lazy)
        .memtable(false)
        .flush_after(Duration::MAX);
    let database = options.open(&path).unwrap();
    let table = fill(&database, 0..20_000, 100).unwrap();
    let mut random = Rng::with_seed(8);
    let mut lens = Vec::new();
    for _ in 0..12 {
        for _ in 0..400 {
            let mut txn = database.begin_write().unwrap();
            for _ in 0..20 {
                let number = random.u64(..20_000);
                let value = [txn.id().0 as u8; 100];
                table.insert(&mut txn, number, value).unwrap();
            }
            txn.commit().unwrap();
        }
        database.sync().unwrap();
        lens.push(len(&path));
    }
    assert!(lens[3..].iter().all(|len| *len == lens[3]), "{lens:?}");
    assert_clean(&database);
}

/// Readers of consecutive states keep few pages each, and many together.
#[test]
fn readers_that_pin_much_together_are_reported() {
    let (_directory, path) = temporary_path();
    let asked: Arc<Mutex<u32>> = Arc::default();
    let noted = Arc::clone(&asked);
    let database = Options::new()
        .on_slow_reader(move |_| {
            *noted.lock().unwrap() += 1;
            SlowReaderChoice::Grow
        })
        .open(&path)
        .unwrap();
    let table = fill(&database, 0..2000, 1000).unwrap();
    database.sync().unwrap();
    let first = database.begin_read().unwrap();
    fill(&database, 0..1, 1001).unwrap();
    let second = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    table.clear(&mut txn).unwrap();
    txn.commit().unwrap();
    database.sync().unwrap();
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 1, vec![1; 1 << 20]).unwrap();
    txn.commit().unwrap();
    assert_eq!(*asked.lock().unwrap(), 1);
    drop((first, second));
    assert_clean(&database);
}

/// A compaction needs some pages itself. Without them it does nothing, which is no error.
#[test]
fn compacting_a_full_database_is_no_error() {
    for pages in 24..72 {
        let (_directory, path) = temporary_path();
        let options = Options::new()
            .page_size(4096)
            .durability(Durability::Lazy)
            .size_limit_bytes(Some(pages * 4096));
        let database = options.open(&path).unwrap();
        let mut rng = Rng::with_seed(pages);
        let mut filled = || -> Result<()> {
            let mut txn = database.begin_write()?;
            let table: Numbers = txn.create_table("numbers")?;
            for _ in 0..rng.u64(1..40) {
                let len = rng.usize(..300);
                table.insert(&mut txn, rng.u64(..), vec![7; len])?;
                table.remove(&mut txn, rng.u64(..))?;
            }
            txn.commit().map(drop)
        };
        while filled().is_ok() {}
        let done = database.compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()));
        assert!(done.is_ok(), "{pages} pages: {done:?}");
        assert_clean(&database);
    }
}
