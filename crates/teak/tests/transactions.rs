//! Transactions beyond begin and commit: checkpoints, continuing as a reader, beginning on a
//! reader, rolling back and continuing; marks and sequences. Tests of features of LMDB and libmdbx
//! use their names for them.

use crate::shared::temporary_path;
use std::{
    collections::BTreeSet,
    ops::ControlFlow,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use teak::{
    Database, Durability, Error, Options, ReadTxn, Result, Table, TableChange, Transaction,
    TransactionId, WriteOptions, WriteTxn, codec::Bytes,
};

type Numbers = Table<u64, Bytes>;

const DURABILITIES: [Durability; 3] = [Durability::Durable, Durability::Async, Durability::Lazy];

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<WriteTxn>();
};

fn create(database: &Database) -> Numbers {
    let mut txn = database.begin_write().unwrap();
    let numbers = txn.create_table("numbers").unwrap();
    txn.commit().unwrap();
    numbers
}

fn put(txn: &mut WriteTxn, numbers: &Numbers, number: u64) {
    numbers.insert(txn, number, [number as u8; 100]).unwrap();
}

fn all(txn: &impl Transaction, numbers: &Numbers) -> Vec<u64> {
    let records = numbers.iter(txn).unwrap();
    records.map(|record| record.unwrap().0).collect()
}

fn assert_clean(database: &Database) {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

/// Begins on the state of a reader.
fn begin_at(database: &Database, reader: &ReadTxn) -> teak::Result<WriteTxn> {
    let begun = database.begin_write_with(WriteOptions::new().at(reader))?;
    Ok(begun.expect("there is no timeout"))
}

/// Begins on the state of a reader, unless somebody else writes.
fn try_begin_at(database: &Database, reader: &ReadTxn) -> teak::Result<Option<WriteTxn>> {
    database.begin_write_with(WriteOptions::new().at(reader).timeout(Duration::ZERO))
}

fn is_taken(database: &Database) -> bool {
    thread::scope(|scope| {
        let tried = scope.spawn(|| {
            database
                .begin_write_with(WriteOptions::new().timeout(Duration::ZERO))
                .unwrap()
                .is_none()
        });
        tried.join().unwrap()
    })
}

/// Opens the state that a kill at this moment would leave.
fn opened_copy(path: &Path) -> (tempfile::TempDir, Database) {
    let (directory, copy) = temporary_path();
    std::fs::copy(path, &copy).unwrap();
    let database = Database::open(&copy).unwrap();
    (directory, database)
}

#[test]
fn checkpoint_commits_and_retains_the_writer_lock() {
    for durability in DURABILITIES {
        let (_directory, path) = temporary_path();
        let database = Database::open(&path).unwrap();
        let numbers = create(&database);
        let mut txn = database.begin_write().unwrap();
        txn.set_durability(durability);
        let before = txn.id();
        put(&mut txn, &numbers, 1);
        assert_eq!(txn.checkpoint().unwrap(), before);
        assert_eq!(txn.id().0, before.0 + 1);
        assert_eq!(all(&database.begin_read().unwrap(), &numbers), [1]);
        assert!(is_taken(&database));
        // Nothing has changed since.
        assert_eq!(txn.checkpoint().unwrap(), before);
        let other: Numbers = txn.create_table("other").unwrap();
        put(&mut txn, &numbers, 2);
        put(&mut txn, &other, 3);
        assert_eq!(txn.checkpoint().unwrap().0, before.0 + 1);
        if durability == Durability::Durable {
            assert_eq!(database.stat().unwrap().durable_transaction.0, before.0 + 1);
        }
        assert_eq!(all(&txn, &numbers), [1, 2]);
        put(&mut txn, &other, 4);
        drop(txn);
        let (_other_directory, copy) = opened_copy(&path);
        for database in [&database, &copy] {
            let txn = database.begin_read().unwrap();
            assert_eq!(all(&txn, &numbers), [1, 2]);
            assert_eq!(all(&txn, &other), [3]);
            assert_clean(database);
        }
        assert!(!is_taken(&database));
    }
}

#[test]
fn a_checkpoint_ends_savepoints_and_is_refused_in_nested_transactions() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 1);
    let savepoint = txn.savepoint().unwrap();
    put(&mut txn, &numbers, 2);
    let nested = txn.nested(|txn| txn.checkpoint());
    assert!(matches!(nested, Err(Error::InvalidArgument(_))));
    assert_eq!(all(&txn, &numbers), [1, 2]);
    txn.rollback_to(&savepoint).unwrap();
    txn.checkpoint().unwrap();
    assert_eq!(all(&database.begin_read().unwrap(), &numbers), [1]);
    // A savepoint from before is invalid afterwards.
    assert!(txn.rollback_to(&savepoint).is_err());
    // A dropped savepoint has no effect.
    txn.savepoint().unwrap();
    put(&mut txn, &numbers, 2);
    txn.checkpoint().unwrap();
    assert_eq!(all(&database.begin_read().unwrap(), &numbers), [1, 2]);
    let savepoint = txn.savepoint().unwrap();
    txn.roll_back().unwrap();
    assert!(txn.rollback_to(&savepoint).is_err());
    txn.commit().unwrap();
}

#[test]
fn checkpoints_reuse_the_pages_they_release() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    let mut bytes = Vec::new();
    for round in 0..40 {
        for number in 0..500 {
            let value = [round as u8; 200];
            numbers.insert(&mut txn, number, value).unwrap();
        }
        txn.set_durability(DURABILITIES[round % 3]);
        txn.checkpoint().unwrap();
        bytes.push(txn.info().file_bytes);
    }
    txn.commit().unwrap();
    assert!(bytes[39] <= bytes[10] * 2, "{bytes:?}");
    assert_clean(&database);
}

#[test]
fn checkpoint_names_states_and_rolls_back_to_them() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 1);
    txn.create_snapshot("one").unwrap();
    let one = txn.checkpoint().unwrap();
    put(&mut txn, &numbers, 2);
    txn.set_geometry(database.geometry().unwrap().growth_step_bytes(1 << 20))
        .unwrap();
    txn.create_snapshot("two").unwrap();
    txn.checkpoint().unwrap();
    assert_eq!(database.geometry().unwrap().growth_step_bytes, 1 << 20);
    txn.roll_back_to_snapshot("one").unwrap();
    txn.checkpoint().unwrap();
    assert_eq!(all(&txn, &numbers), [1]);
    put(&mut txn, &numbers, 3);
    txn.drop_snapshot("one").unwrap();
    txn.checkpoint().unwrap();
    txn.commit().unwrap();
    assert_eq!(all(&database.begin_read().unwrap(), &numbers), [1, 3]);
    assert_eq!(
        all(&database.open_snapshot("two").unwrap(), &numbers),
        [1, 2]
    );
    assert_eq!(database.snapshots().unwrap().len(), 1);
    assert!(database.snapshots().unwrap()[0].transaction > one);
    assert_clean(&database);
}

/// Only changes that a full database could not take are undone.
#[test]
fn checkpoints_stay_when_the_database_is_full() {
    let (_directory, path) = temporary_path();
    let options = Options::new().size_limit_bytes(Some(1 << 20));
    let database = options.open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    let mut kept = 0;
    let full = (0..).find_map(|number| {
        let inserted = numbers.insert(&mut txn, number, [7; 2000]);
        let done = inserted.and_then(|()| txn.checkpoint().map(|_| kept = number));
        done.err()
    });
    assert!(matches!(full, Some(Error::Full { .. })), "{full:?}");
    assert!(kept > 100, "{kept}");
    assert!(matches!(txn.checkpoint(), Err(Error::TransactionBroken)));
    txn.roll_back().unwrap();
    assert_eq!(all(&txn, &numbers), (0..=kept).collect::<Vec<_>>());
    txn.set_geometry(database.geometry().unwrap().upper_limit_bytes(2 << 20))
        .unwrap();
    numbers.range(0..kept).remove(&mut txn).unwrap();
    txn.checkpoint().unwrap();
    txn.commit().unwrap();
    assert_eq!(all(&database.begin_read().unwrap(), &numbers), [kept]);
    assert_clean(&database);
}

#[test]
fn txn_rollback_discards_all_and_goes_on() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    let id = txn.id();
    put(&mut txn, &numbers, 1);
    let _savepoint = txn.savepoint().unwrap();
    txn.create_table::<u64, Bytes>("other").unwrap();
    txn.set_marks([1; 3]).unwrap();
    txn.create_snapshot("x").unwrap();
    txn.set_geometry(database.geometry().unwrap().growth_step_bytes(1 << 20))
        .unwrap();
    numbers.draw_sequence(&mut txn, 5).unwrap();
    txn.roll_back().unwrap();
    let info = txn.info();
    assert_eq!((txn.id(), info.savepoints, info.taken_pages), (id, 0, 0));
    assert_eq!((info.dead_pages, info.dirty_bytes), (0, 0));
    assert!(is_taken(&database));
    assert_eq!(txn.tables().unwrap().len(), 1);
    assert_eq!(numbers.stat(&txn).unwrap().sequence, 0);
    put(&mut txn, &numbers, 2);
    assert_eq!(txn.commit().unwrap(), id);
    let reader = database.begin_read().unwrap();
    assert_eq!(all(&reader, &numbers), [2]);
    assert_eq!(reader.marks().values, [0; 3]);
    assert!(database.snapshots().unwrap().is_empty());
    assert_eq!(database.geometry().unwrap().growth_step_bytes, 0);
    assert_clean(&database);
}

/// Rolling back makes a transaction usable again that an error had left unfinished.
#[test]
fn txn_break_leaves_nothing_but_rolling_back() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 1);
    let savepoint = txn.savepoint().unwrap();
    txn.set_broken();
    let broken = |result: Result<()>| matches!(result, Err(Error::TransactionBroken));
    assert!(broken(numbers.insert(&mut txn, 2, [])));
    assert!(broken(txn.checkpoint().map(drop)));
    assert!(broken(txn.savepoint().map(drop)));
    assert!(broken(txn.set_marks([0; 3])));
    assert!(broken(numbers.draw_sequence(&mut txn, 1).map(drop)));
    txn.rollback_to(&savepoint).unwrap();
    put(&mut txn, &numbers, 3);
    txn.set_broken();
    txn.roll_back().unwrap();
    put(&mut txn, &numbers, 4);
    txn.commit().unwrap();
    assert_eq!(all(&database.begin_read().unwrap(), &numbers), [4]);
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 5);
    txn.set_broken();
    assert!(broken(txn.commit_and_read().map(drop)));
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 6);
    txn.set_broken();
    assert!(broken(txn.commit_measured().map(drop)));
    assert_eq!(all(&database.begin_read().unwrap(), &numbers), [4]);
}

/// The error reported an ended savepoint, and not its cause.
#[test]
fn work_that_rolls_everything_back_reports_the_reason() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 1);
    let nested: Result<()> = txn.nested(|txn| {
        put(txn, &numbers, 2);
        txn.roll_back()?;
        Err(Error::TableNotFound("gone".to_owned()))
    });
    assert!(matches!(nested, Err(Error::TableNotFound(_))), "{nested:?}");
    let nested = txn.nested(|txn| {
        txn.roll_back()?;
        put(txn, &numbers, 3);
        Ok(())
    });
    assert!(
        matches!(nested, Err(Error::InvalidArgument(_))),
        "{nested:?}"
    );
    assert_eq!(txn.info().savepoints, 0);
    assert_eq!(all(&txn, &numbers), [3]);
}

/// Inner pages stay in memory. When they alone exceeded the limit, all of them were scanned for
/// each new page, and each leaf was written as soon as another one was needed.
#[test]
fn inner_pages_that_fill_the_memory_leave_room_for_leaves() {
    let (_directory, path) = temporary_path();
    let options = Options::new().write_memory_bytes(16 << 10);
    let database = options.open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    for number in 0..2000 {
        put(&mut txn, &numbers, number);
    }
    // Each has a copy of the root.
    for number in 0..200 {
        let _stays = txn.savepoint().unwrap();
        numbers.insert(&mut txn, number * 10, [0xff; 100]).unwrap();
    }
    let before = database.metrics().early_pages;
    for round in 0..100 {
        numbers.insert(&mut txn, 0, [round; 100]).unwrap();
        numbers.insert(&mut txn, 1999, [round; 100]).unwrap();
    }
    let written = database.metrics().early_pages - before;
    assert!(written < 100, "{written} leaves were written");
    txn.commit().unwrap();
    assert_clean(&database);
}

/// Threads commit as fast as they can and begin to read: each finds its own commit, complete, as
/// its newest visible state, however long it keeps it.
#[test]
fn commit_embark_read_reads_just_the_committed_state() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let seen = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for thread in 0..4u64 {
            let (database, numbers, seen) = (&database, &numbers, &seen);
            scope.spawn(move || {
                let mut held = Vec::new();
                for round in 0..60 {
                    let mut txn = database.begin_write().unwrap();
                    txn.set_durability(match (thread + round) % 6 {
                        0 => Durability::Lazy,
                        1 => Durability::Async,
                        _ => Durability::Durable,
                    });
                    let id = txn.id();
                    // Each state has its own number under all keys.
                    for key in 0..20 {
                        let value = [&id.0.to_le_bytes()[..], &[0; 150]].concat();
                        numbers.insert(&mut txn, key, &value).unwrap();
                    }
                    let reader = match round % 3 {
                        0 => {
                            txn.commit().unwrap();
                            continue;
                        }
                        _ => txn.commit_and_read().unwrap(),
                    };
                    assert_eq!(reader.id(), id);
                    assert!(seen.lock().unwrap().insert(id));
                    held.push(reader);
                    if held.len() > 8 {
                        held.remove(round as usize % 8);
                    }
                    held.iter().for_each(|reader| assert_own(reader, numbers));
                }
            });
        }
    });
    assert_eq!(database.stat().unwrap().readers, 0);
    assert_clean(&database);
}

fn assert_own(reader: &ReadTxn, numbers: &Numbers) {
    let own = reader.id().0.to_le_bytes();
    let records = numbers.iter(reader).unwrap();
    let count = records
        .inspect(|record| assert_eq!(record.as_ref().unwrap().1[..8], own))
        .count();
    assert_eq!(count, 20);
}

#[test]
fn commit_and_read_of_a_transaction_that_changed_nothing_reads_its_base() {
    for durability in DURABILITIES {
        let (_directory, path) = temporary_path();
        let database = Database::open(&path).unwrap();
        let numbers = create(&database);
        let newest = database.stat().unwrap().transaction;
        let mut txn = database.begin_write().unwrap();
        txn.set_durability(durability);
        let reader = txn.commit_and_read().unwrap();
        assert_eq!(reader.id(), newest);
        assert!(all(&reader, &numbers).is_empty());
        assert_eq!(database.stat().unwrap().readers, 1);
    }
}

#[test]
fn txn_amend_begins_exactly_on_the_state_that_was_read() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut reader = database.begin_read().unwrap();
    let mut txn = begin_at(&database, &reader).unwrap();
    assert_eq!(txn.id().0, reader.id().0 + 1);
    put(&mut txn, &numbers, 1);
    let committed = txn.commit().unwrap();
    for refused in [
        begin_at(&database, &reader).map(drop),
        try_begin_at(&database, &reader).map(drop),
    ] {
        let Err(Error::SnapshotStale { held, newest }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((held, newest), (reader.id(), committed));
    }
    assert!(!is_taken(&database), "nothing was begun");
    assert!(reader.refresh().unwrap());
    let txn = try_begin_at(&database, &reader).unwrap().unwrap();
    thread::scope(|scope| {
        let tried = scope.spawn(|| try_begin_at(&database, &reader).unwrap().is_none());
        assert!(tried.join().unwrap());
    });
    drop(txn);
    // A transaction that was undone is none.
    assert!(try_begin_at(&database, &reader).unwrap().is_some());
}

#[test]
fn a_write_begun_on_a_reader_is_refused_invalid_requests() {
    let (_directory, path) = temporary_path();
    let (_other_directory, other_path) = temporary_path();
    let (database, other) = (
        Database::open(&path).unwrap(),
        Database::open(&other_path).unwrap(),
    );
    let elsewhere = other.begin_read().unwrap();
    let refused = begin_at(&database, &elsewhere);
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let reader = database.begin_read().unwrap();
    database
        .cancel_reader(&database.readers().unwrap()[0])
        .unwrap();
    let refused = begin_at(&database, &reader);
    assert!(matches!(refused, Err(Error::SnapshotLost)));
    // The newest state may have a name, too.
    database.create_snapshot("x").unwrap();
    let numbers = create(&database);
    let named = database.open_snapshot("x").unwrap();
    assert!(matches!(
        begin_at(&database, &named),
        Err(Error::SnapshotStale { .. })
    ));
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 1);
    txn.create_snapshot("y").unwrap();
    txn.commit().unwrap();
    let named = database.open_snapshot("y").unwrap();
    drop(begin_at(&database, &named).unwrap());
    let reader = database.begin_read().unwrap();
    let copy = database.clone();
    database.close().unwrap();
    let refused = begin_at(&copy, &reader);
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let database = Options::new().read_only(true).open(&other_path);
    assert!(database.is_ok_and(|database| {
        let reader = database.begin_read().unwrap();
        let refused = begin_at(&database, &reader);
        matches!(refused, Err(Error::ReadOnly))
    }));
}

/// Threads that read, decide, and write only if nothing has changed meanwhile lose no update.
#[test]
fn a_write_begun_on_the_state_that_was_read_overwrites_no_other_commit() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let number = |reader: &ReadTxn| {
        let value = numbers.get(reader, 0).unwrap();
        value.map_or(0, |value| u64::from_le_bytes(value.try_into().unwrap()))
    };
    thread::scope(|scope| {
        for thread in 0..4 {
            let (database, numbers, number) = (&database, &numbers, &number);
            scope.spawn(move || {
                let mut reader = database.begin_read().unwrap();
                for round in 0..50 {
                    loop {
                        let next = number(&reader) + 1;
                        match begin_at(database, &reader) {
                            Ok(mut txn) => {
                                txn.set_durability(DURABILITIES[(thread + round) % 3]);
                                numbers.insert(&mut txn, 0, next.to_le_bytes()).unwrap();
                                txn.commit().unwrap();
                                break;
                            }
                            Err(Error::SnapshotStale { held, newest }) => assert!(held < newest),
                            Err(error) => panic!("{error}"),
                        }
                        // A commit that is not durable yet is not visible yet.
                        reader.refresh().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(number(&database.begin_read().unwrap()), 200);
    assert_clean(&database);
}

#[test]
fn txn_refresh_goes_on_to_the_newest_state() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    database.create_snapshot("empty").unwrap();
    let mut reader = database.begin_read().unwrap();
    assert!(!reader.refresh().unwrap());
    let clone = reader.clone();
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 1);
    assert!(!reader.refresh().unwrap(), "that is not committed");
    txn.commit().unwrap();
    assert_eq!((reader.lag(), clone.lag()), (1, 1));
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.lag(), 0);
    assert_eq!(all(&reader, &numbers), [1]);
    assert!(all(&clone, &numbers).is_empty(), "clones keep their state");
    let mut named = database.open_snapshot("empty").unwrap();
    assert!(named.refresh().unwrap());
    assert_eq!(all(&named, &numbers), [1]);
    // A cancelled one becomes usable again.
    for info in database.readers().unwrap() {
        database.cancel_reader(&info).unwrap();
    }
    assert!(matches!(numbers.get(&reader, 1), Err(Error::SnapshotLost)));
    assert!(!reader.refresh().unwrap(), "it is the same state");
    assert_eq!(all(&reader, &numbers), [1]);
    drop((clone, named));
    assert_eq!(database.stat().unwrap().readers, 1);
    // After closing it continues to read, and cannot be refreshed.
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 2);
    txn.commit().unwrap();
    database.close().unwrap();
    assert!(matches!(reader.refresh(), Err(Error::InvalidArgument(_))));
    assert_eq!(all(&reader, &numbers), [1]);
}

/// The next transaction of the same thread reuses the resources of the ended one, without searching
/// for a slot.
#[test]
fn txn_reset_and_renew_is_ending_and_beginning() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    for number in 0..100 {
        let reader = database.begin_read().unwrap();
        assert_eq!(all(&reader, &numbers).len(), number as usize);
        drop(reader);
        let mut txn = database.begin_write().unwrap();
        put(&mut txn, &numbers, number);
        txn.commit().unwrap();
        assert_eq!(database.stat().unwrap().readers, 0);
    }
}

#[test]
fn txn_clone_reads_the_same_state_in_many_threads() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    (0..500).for_each(|number| put(&mut txn, &numbers, number));
    txn.commit().unwrap();
    let reader = database.begin_read().unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            let (clone, numbers, is_done) = (reader.clone(), &numbers, &is_done);
            scope.spawn(move || {
                while !is_done.load(Ordering::Acquire) {
                    assert_eq!(all(&clone, numbers).len(), 500);
                }
            });
        }
        for _ in 0..50 {
            let mut txn = database.begin_write().unwrap();
            numbers.range(0..250).remove(&mut txn).unwrap();
            txn.commit().unwrap();
            let mut txn = database.begin_write().unwrap();
            (0..250).for_each(|number| put(&mut txn, &numbers, number));
            txn.commit().unwrap();
        }
        assert_eq!(database.stat().unwrap().readers, 1, "clones count once");
        is_done.store(true, Ordering::Release);
    });
}

/// Leaves that were written early, large values, savepoints: many threads read all of these at the
/// same time.
#[test]
fn nested_readers_see_uncommitted_changes_in_many_threads() {
    let (_directory, path) = temporary_path();
    let options = Options::new().write_memory_bytes(64 << 10);
    let database = options.open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    for round in 0..4u64 {
        txn.set_durability(DURABILITIES[round as usize % 3]);
        for number in 0..2000 {
            let len = if number % 100 == 0 { 9000 } else { 100 };
            let value = vec![(number + round) as u8; len];
            numbers.insert(&mut txn, number, &value).unwrap();
        }
        let savepoint = txn.savepoint().unwrap();
        numbers.range(round * 10..1500).remove(&mut txn).unwrap();
        txn.rollback_to(&savepoint).unwrap();
        txn.release(savepoint).unwrap();
        let (shared, numbers) = (&txn, &numbers);
        thread::scope(|scope| {
            for thread in 0..4u64 {
                scope.spawn(move || {
                    let is_right = |number, value: &[u8]| value[0] == (number + round) as u8;
                    for number in (thread..2000).step_by(4) {
                        let value = numbers.get(shared, number).unwrap().unwrap();
                        assert!(is_right(number, value));
                    }
                    let keys: Vec<_> = (0..2000).rev().step_by(3).collect();
                    let values = numbers.get_many(shared, &keys).unwrap();
                    assert!(
                        keys.iter()
                            .zip(values)
                            .all(|(k, v)| is_right(*k, v.unwrap()))
                    );
                    let count = numbers.range(thread * 100..).count(shared).unwrap();
                    assert_eq!(count, 2000 - thread * 100);
                    // Reopening finds equal records.
                    let again: Numbers = shared.open_table("numbers").unwrap();
                    assert_eq!(again.len(shared).unwrap(), 2000);
                    assert!(shared.open_table::<u64, Bytes>("none").is_err());
                });
            }
        });
        match round {
            1 => txn.roll_back().unwrap(),
            _ => drop(txn.checkpoint().unwrap()),
        }
    }
    txn.commit().unwrap();
    assert_clean(&database);
}

#[test]
fn txn_info_of_readers_has_lag_age_and_pinned_space() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    (0..1000).for_each(|number| put(&mut txn, &numbers, number));
    txn.commit().unwrap();
    let (reader, other) = (
        database.begin_read().unwrap(),
        database.begin_read().unwrap(),
    );
    for _ in 0..3 {
        let mut txn = database.begin_write().unwrap();
        numbers.range(0..900).remove(&mut txn).unwrap();
        (0..900).for_each(|number| put(&mut txn, &numbers, number));
        txn.commit().unwrap();
    }
    drop(other);
    thread::sleep(Duration::from_millis(30));
    let info = reader.info().unwrap();
    assert_eq!((info.transaction, info.lag), (reader.id(), 3));
    assert!(info.kept_pages > 20, "{info:?}");
    assert!(info.age >= Duration::from_millis(15), "{info:?}");
    assert!(!info.is_parked && !info.is_cancelled);
    let young = database.begin_read().unwrap();
    assert_eq!(young.info().unwrap().kept_pages, 0);
    assert_eq!(database.readers().unwrap()[0].kept_pages, info.kept_pages);
    database.cancel_reader(&info).unwrap();
    assert!(reader.info().unwrap().is_cancelled);
}

#[test]
fn txn_info_of_writers_has_their_progress() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    let limit = database.geometry().unwrap().upper_limit_bytes;
    assert_eq!(txn.info().limit_bytes, limit);
    (0..1000).for_each(|number| put(&mut txn, &numbers, number));
    let info = txn.info();
    assert_eq!(info.transaction, txn.id());
    assert!(info.taken_pages > 25 && info.dirty_bytes >= 25 << 12);
    assert!(info.file_bytes >= info.dirty_bytes);
    assert_eq!(
        (info.dead_pages, info.savepoints),
        (0, 0),
        "there was nothing"
    );
    txn.checkpoint().unwrap();
    assert_eq!(txn.info().taken_pages, 0);
    numbers.clear(&mut txn).unwrap();
    txn.savepoint().unwrap();
    txn.savepoint().unwrap();
    let info = txn.info();
    assert!(info.dead_pages > 25 && info.savepoints == 2);
    thread::sleep(Duration::from_millis(30));
    txn.roll_back().unwrap();
    assert!(txn.info().age >= Duration::from_millis(15));
}

#[test]
fn txn_commit_reports_its_latency_step_by_step() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    for durability in DURABILITIES {
        let mut txn = database.begin_write().unwrap();
        txn.set_durability(durability);
        let id = txn.id();
        (0..3000).for_each(|number| put(&mut txn, &numbers, number + id.0));
        let (transaction, latency) = txn.commit_measured().unwrap();
        assert_eq!(transaction, id);
        let teak::CommitLatency { tail, roots, .. } = latency;
        let steps = tail + roots + latency.space + latency.write + latency.record + latency.wait;
        assert!(steps <= latency.whole && !latency.roots.is_zero());
        assert_eq!(latency.wait.is_zero(), durability != Durability::Durable);
    }
    let newest = database.stat().unwrap().transaction;
    let txn = database.begin_write().unwrap();
    let (transaction, latency) = txn.commit_measured().unwrap();
    assert_eq!((transaction, latency.write), (newest, Duration::ZERO));
}

#[test]
fn an_empty_commit_writes_nothing() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let newest = database.stat().unwrap().transaction;
    let before = std::fs::read(&path).unwrap();
    database.begin_write().unwrap().commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    assert_eq!(txn.checkpoint().unwrap(), newest);
    assert_eq!(numbers.draw_sequence(&mut txn, 0).unwrap(), 0);
    assert_eq!(txn.commit_and_read().unwrap().id(), newest);
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn txn_lock_is_a_write_transaction_that_has_changed_nothing() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    assert!(is_taken(&database));
    // The state that was read stays the newest.
    let reader = database.begin_read().unwrap();
    assert_eq!(txn.id().0, reader.id().0 + 1);
    put(&mut txn, &numbers, 1);
    txn.commit().unwrap();
    drop(database.begin_write().unwrap());
    assert!(!is_taken(&database));
    // The lock keeps the database.
    let mut txn = database.begin_write().unwrap();
    drop(database);
    put(&mut txn, &numbers, 2);
    txn.commit().unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!(all(&database.begin_read().unwrap(), &numbers), [1, 2]);
}

#[test]
fn write_options_set_the_durability() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let durable = database.stat().unwrap().durable_transaction;
    let options = WriteOptions::new().durability(Durability::Lazy);
    let mut txn = database.begin_write_with(options).unwrap().unwrap();
    put(&mut txn, &numbers, 1);
    txn.commit().unwrap();
    assert_eq!(database.stat().unwrap().durable_transaction, durable);
}

#[test]
fn txn_begin_try_is_none_during_another_write() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let txn = database.begin_write().unwrap();
    assert!(is_taken(&database));
    let limit = Duration::from_millis(5);
    assert!(
        database
            .begin_write_with(WriteOptions::new().timeout(limit))
            .unwrap()
            .is_none()
    );
    // A reader and a writer in one thread are no error, nor are two readers.
    let readers = [
        database.begin_read().unwrap(),
        database.begin_read().unwrap(),
    ];
    drop(readers);
    // It ends on another thread.
    thread::scope(|scope| scope.spawn(move || txn.commit().unwrap()).join().unwrap());
    assert!(!is_taken(&database));
}

#[test]
fn canary_is_marks_that_come_with_the_commit() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let marks = |txn: &ReadTxn| (txn.marks().values, txn.marks().set_in.map(|id| id.0));
    let now = || marks(&database.begin_read().unwrap());
    assert_eq!(now(), ([0; 3], None));
    let mut txn = database.begin_write().unwrap();
    txn.set_marks([1, 2, 3]).unwrap();
    assert_eq!(txn.marks().set_in, Some(txn.id()));
    assert_eq!(now(), ([0; 3], None), "it is not visible yet");
    drop(txn);
    assert_eq!(now(), ([0; 3], None));

    let mut txn = database.begin_write().unwrap();
    txn.set_marks([1, 2, u64::MAX]).unwrap();
    let first = txn.commit().unwrap().0;
    assert_eq!(now(), ([1, 2, u64::MAX], Some(first)));
    // Setting them to equal values records the commit; other commits do not.
    create(&database);
    assert_eq!(now().1, Some(first));
    let before = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.set_marks([1, 2, u64::MAX]).unwrap();
    let second = txn.commit().unwrap().0;
    assert!(second > first);
    assert_eq!(now(), ([1, 2, u64::MAX], Some(second)));
    assert_eq!(marks(&before).1, Some(first), "a state has its own");

    // Savepoints and nested transactions roll them back.
    let mut txn = database.begin_write().unwrap();
    let savepoint = txn.savepoint().unwrap();
    txn.set_marks([4; 3]).unwrap();
    let _inner = txn.savepoint().unwrap();
    txn.set_marks([5; 3]).unwrap();
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(txn.marks(), database.begin_read().unwrap().marks());
    let failed: Result<()> = txn.nested(|txn| {
        txn.set_marks([6; 3])?;
        Err(Error::InvalidArgument("changed my mind".into()))
    });
    assert!(failed.is_err());
    assert_eq!(txn.commit().unwrap().0, second, "nothing has changed");
    drop(before);
    database.close().unwrap();
    let database = Database::open(&path).unwrap();
    let reader = database.begin_read().unwrap();
    assert_eq!(marks(&reader), ([1, 2, u64::MAX], Some(second)));
}

#[test]
fn named_snapshots_have_their_marks_and_a_rollback_leaves_them() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    database.create_snapshot("never").unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.set_marks([1; 3]).unwrap();
    txn.create_snapshot("one").unwrap();
    let one = txn.checkpoint().unwrap();
    txn.set_marks([2; 3]).unwrap();
    txn.create_snapshot("before").unwrap();
    txn.roll_back_to_snapshot("one").unwrap();
    assert_eq!(txn.marks().values, [2; 3]);
    let two = txn.commit().unwrap();
    let of = |name: &str| database.open_snapshot(name).unwrap().marks();
    assert_eq!((of("never").values, of("never").set_in), ([0; 3], None));
    assert_eq!((of("one").values, of("one").set_in), ([1; 3], Some(one)));
    // It belongs to the state that the transaction began with.
    assert_eq!(of("before"), of("one"));
    let newest = database.begin_read().unwrap().marks();
    assert_eq!((newest.values, newest.set_in), ([2; 3], Some(two)));
    let dense = path.with_file_name("dense.teak");
    let named = database.open_snapshot("one").unwrap();
    named
        .copy_dense(&dense, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let copied = Database::open(&dense).unwrap().begin_read().unwrap();
    assert_eq!(copied.marks().values, [1; 3]);
    assert_clean(&database);
}

/// A handle to a plain table drew numbers from the multi-value table of the same name.
#[test]
fn a_sequence_is_drawn_from_by_a_handle_of_its_kind() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("numbers").unwrap();
    let several = txn.create_multi_table::<u64, Bytes>("numbers").unwrap();
    let refused = numbers.draw_sequence(&mut txn, 1);
    assert!(matches!(refused, Err(Error::TableMismatch { .. })));
    assert_eq!(several.draw_sequence(&mut txn, 1).unwrap(), 0);
}

#[test]
fn dbi_sequence_gives_numbers_once() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let now = || {
        numbers
            .stat(&database.begin_read().unwrap())
            .unwrap()
            .sequence
    };
    let older = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    assert_eq!(numbers.draw_sequence(&mut txn, 5).unwrap(), 0);
    assert_eq!(numbers.draw_sequence(&mut txn, 0).unwrap(), 5);
    assert_eq!(numbers.draw_sequence(&mut txn, 1).unwrap(), 5);
    assert_eq!((numbers.stat(&txn).unwrap().sequence, now()), (6, 0));
    txn.commit().unwrap();
    assert_eq!(now(), 6);
    // No record has changed, but the table has.
    let newer = database.begin_read().unwrap();
    assert_eq!(
        newer.changed_tables(&older).unwrap(),
        [(b"numbers".to_vec(), TableChange::Changed)]
    );
    let (new, old) = (numbers.stat(&newer).unwrap(), numbers.stat(&older).unwrap());
    assert_eq!((new.changed, new.sequence), (old.changed, 6));

    let mut txn = database.begin_write().unwrap();
    let refused = numbers.draw_sequence(&mut txn, u64::MAX - 5);
    let Err(Error::SequenceExhausted { table, next, count }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((&table[..], next, count), ("numbers", 6, u64::MAX - 5));
    // That has changed nothing, and the transaction goes on.
    assert_eq!(numbers.draw_sequence(&mut txn, u64::MAX - 6).unwrap(), 6);
    assert!(numbers.draw_sequence(&mut txn, 1).is_err());
    assert_eq!(numbers.draw_sequence(&mut txn, 0).unwrap(), u64::MAX);
    drop(txn);

    drop((older, newer));
    // It is rolled back like records, and outlives them.
    let mut txn = database.begin_write().unwrap();
    put(&mut txn, &numbers, 1);
    let savepoint = txn.savepoint().unwrap();
    numbers.draw_sequence(&mut txn, 10).unwrap();
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(numbers.stat(&txn).unwrap().sequence, 6);
    numbers.draw_sequence(&mut txn, 1).unwrap();
    numbers.clear(&mut txn).unwrap();
    numbers.load(&mut txn);
    txn.rename_table("numbers", "renamed").unwrap();
    let renamed: Numbers = txn.open_table("renamed").unwrap();
    assert_eq!(renamed.draw_sequence(&mut txn, 1).unwrap(), 7);
    txn.commit().unwrap();
    database.close().unwrap();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    assert_eq!(renamed.stat(&txn).unwrap().sequence, 8);
    assert!(matches!(
        numbers.draw_sequence(&mut txn, 1),
        Err(Error::TableNotFound(_))
    ));
    txn.drop_table("renamed").unwrap();
    let recreated: Numbers = txn.create_table("renamed").unwrap();
    assert_eq!(recreated.stat(&txn).unwrap().sequence, 0);
    txn.commit().unwrap();
    assert_clean(&database);
}

/// Loads records in bulk, and appends some.
trait Load {
    fn load(&self, txn: &mut WriteTxn);
}

impl Load for Numbers {
    fn load(&self, txn: &mut WriteTxn) {
        for start in [0u64, 300] {
            let records = (start..start + 300).map(|n| (n, [7; 50]));
            self.bulk_load(txn, records).unwrap();
        }
    }
}

#[test]
fn copies_have_marks_and_sequences() {
    let (directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let numbers = create(&database);
    let go_on = &mut |_: teak::BackupProgress| ControlFlow::Continue(());
    database.create_snapshot("since").unwrap();
    let full = directory.path().join("full.teak");
    database.backup(&full, None, go_on).unwrap();
    let mut txn = database.begin_write().unwrap();
    numbers.load(&mut txn);
    numbers.draw_sequence(&mut txn, 42).unwrap();
    txn.set_marks([3, 2, 1]).unwrap();
    let set_in = txn.commit().unwrap();
    // Another table without numbers.
    let mut txn = database.begin_write().unwrap();
    txn.create_table::<u64, Bytes>("other").unwrap();
    txn.commit().unwrap();

    let [exact, dense, increment, restored, saved] =
        ["exact", "dense", "increment", "restored", "saved"]
            .map(|name| directory.path().join(name));
    database.backup(&exact, None, go_on).unwrap();
    let count = &mut |_: teak::DenseProgress| ControlFlow::Continue(());
    database
        .begin_read()
        .unwrap()
        .copy_dense(&dense, count)
        .unwrap();
    let since = database.open_snapshot("since").unwrap();
    database.backup(&increment, Some(&since), go_on).unwrap();
    let (mut full, mut increment) = (
        std::fs::File::open(full).unwrap(),
        std::fs::File::open(increment).unwrap(),
    );
    let restoring = &mut |_: teak::RestoreProgress| ControlFlow::Continue(());
    teak::restore(&mut full, &mut [&mut increment], &[], &restored, restoring).unwrap();
    database.drop_snapshot("since").unwrap();
    drop(since);
    database.close().unwrap();
    let report = teak::salvage(&path, &saved, &[], &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_complete(), "{report}");

    for (copy, has_own_transactions) in [
        (&exact, false),
        (&dense, true),
        (&restored, false),
        (&saved, true),
    ] {
        let database = Database::open(copy).unwrap();
        let txn = database.begin_read().unwrap();
        assert_eq!(numbers.stat(&txn).unwrap().sequence, 42, "{copy:?}");
        assert_eq!(numbers.len(&txn).unwrap(), 600);
        let other: Numbers = txn.open_table("other").unwrap();
        assert_eq!(other.stat(&txn).unwrap().sequence, 0);
        let marks = txn.marks();
        assert_eq!(marks.values, [3, 2, 1]);
        match has_own_transactions {
            false => assert_eq!(marks.set_in, Some(set_in)),
            true => assert!(marks.set_in.is_some_and(|set_in| set_in <= txn.id())),
        }
        assert_clean(&database);
    }
}

/// A copy of a database that never had marks has none either.
#[test]
fn dense_copies_set_no_marks_where_there_are_none() {
    let (directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let dense = directory.path().join("dense");
    let count = &mut |_: teak::DenseProgress| ControlFlow::Continue(());
    database
        .begin_read()
        .unwrap()
        .copy_dense(&dense, count)
        .unwrap();
    let copy = Database::open(&dense).unwrap();
    assert_eq!(copy.begin_read().unwrap().marks().set_in, None);
    assert_eq!(copy.stat().unwrap().transaction, TransactionId(0));
}
