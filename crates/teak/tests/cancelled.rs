//! Cancelled read transactions: they notice it when they continue, and keep their values until they
//! end.

use crate::shared::temporary_path;
use std::{
    collections::HashSet,
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
};
use teak::{
    Database, DetachedCursor, Direction, Durability, Error, Options, ReaderInfo, Result, SeekOp,
    SlowReaderChoice, Table, Transaction, codec::Bytes,
};

type Numbers = Table<u64, Bytes>;

fn fill(database: &Database, value_len: usize) -> Result<Numbers> {
    let mut txn = database.begin_write()?;
    txn.set_durability(Durability::Lazy);
    let table: Numbers = txn.create_table("numbers")?;
    for number in 0..2000 {
        table.insert(&mut txn, number, vec![number as u8; value_len])?;
    }
    txn.commit()?;
    Ok(table)
}

fn is_lost<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::SnapshotLost))
}

fn only_reader(database: &Database) -> ReaderInfo {
    let mut readers = database.readers().unwrap();
    assert_eq!(readers.len(), 1, "{readers:?}");
    readers.remove(0)
}

#[test]
fn a_cancelled_reader_fails_and_keeps_its_values() {
    let (directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 300).unwrap();
    let txn = database.begin_read().unwrap();
    let value = table.get(&txn, 7).unwrap().unwrap();
    let mut range = table.iter(&txn).unwrap();
    let mut backwards = table.iter(&txn).unwrap();
    let mut owned = table.range(..).owned(&txn).unwrap();
    let mut cursor = table.cursor(&txn).unwrap();
    assert!(cursor.first().unwrap() && range.next().unwrap().is_ok() && owned.next().is_some());

    let reader = only_reader(&database);
    assert!(!reader.is_cancelled && database.cancel_reader(&reader).unwrap());
    assert!(only_reader(&database).is_cancelled);
    assert!(
        database.cancel_reader(&reader).unwrap(),
        "cancelling twice is no error"
    );

    assert!(is_lost(table.get(&txn, 8)) && is_lost(table.contains_key(&txn, 8)));
    assert!(is_lost(table.get_many(&txn, &[1, 2])) && is_lost(table.get_owned(&txn, 8)));
    assert!(is_lost(table.iter(&txn)) && is_lost(table.cursor(&txn)) && is_lost(table.len(&txn)));
    assert!(is_lost(txn.open_table::<u64, Bytes>("numbers")) && is_lost(txn.tables()));
    assert!(is_lost(table.range(7..).count(&txn)) && is_lost(cursor.skip(1500)));
    assert!(
        is_lost(cursor.seek(SeekOp::GreaterOrEqual, &7u64.to_be_bytes())) && is_lost(cursor.last())
    );
    assert!(
        is_lost(range.find(Result::is_err).unwrap()),
        "in another leaf"
    );
    assert!(is_lost(backwards.rfind(Result::is_err).unwrap()));
    assert!(is_lost(owned.find(Result::is_err).unwrap()));
    assert!(is_lost(txn.clone().park()));
    let other = database.begin_read().unwrap();
    assert!(is_lost(other.changed_tables(&txn)));
    let target = directory.path().join("copy.teak");
    assert!(is_lost(
        txn.copy_dense(&target, &mut |_| ControlFlow::Continue(()))
    ));
    assert_eq!(value, [7; 300], "borrowed bytes stay");
    assert_eq!(table.get(&other, 8).unwrap(), Some(&[8; 300][..]));
    drop((range, backwards, owned, cursor, other));

    // The next one of this thread has the same slot.
    drop(txn);
    let txn = database.begin_read().unwrap();
    assert!(!database.cancel_reader(&reader).unwrap());
    assert!(!only_reader(&database).is_cancelled);
    assert_eq!(table.get(&txn, 7).unwrap(), Some(&[7; 300][..]));
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

#[test]
fn a_reader_of_another_database_cannot_be_cancelled() {
    let (directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let other = Database::open(directory.path().join("other.teak")).unwrap();
    let txn = database.begin_read().unwrap();
    let refused = other.cancel_reader(&only_reader(&database));
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    assert!(txn.tables().is_ok());
}

#[test]
fn a_parked_reader_and_a_backup_are_cancelled() {
    let (directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    fill(&database, 2000).unwrap();
    let parked = database.begin_read().unwrap().park().unwrap();
    assert!(database.cancel_reader(&only_reader(&database)).unwrap());
    assert!(is_lost(parked.resume()));

    let txn = database.begin_read().unwrap();
    let mut notified = 0;
    let backup = txn.write_backup(&mut std::io::sink(), None, &mut |_| {
        notified += 1;
        database.cancel_reader(&only_reader(&database)).unwrap();
        ControlFlow::Continue(())
    });
    assert!(is_lost(backup));
    assert_eq!(notified, 1);
    drop(txn);

    let copy = directory.path().join("copy.teak");
    let backup = database.backup(&copy, None, &mut |_| {
        database.cancel_reader(&only_reader(&database)).unwrap();
        ControlFlow::Continue(())
    });
    assert!(is_lost(backup) && !copy.exists());
}

/// A named state is kept with or without readers: taking it from its readers freed nothing.
#[test]
fn a_parked_reader_of_a_named_snapshot_keeps_it() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 100).unwrap();
    database.create_snapshot("kept").unwrap();
    fill(&database, 101).unwrap();
    let parked = database.begin_read().unwrap().park().unwrap();
    let named = database.open_snapshot("kept").unwrap().park().unwrap();
    for value_len in 102..107 {
        fill(&database, value_len).unwrap();
    }
    assert!(is_lost(parked.resume()), "the writer needed space");
    let named = named.resume().unwrap();
    assert_eq!(table.get(&named, 7).unwrap(), Some(&[7; 100][..]));
}

#[test]
fn a_writer_that_wants_space_cancels_and_waits() {
    let (_directory, path) = temporary_path();
    let asked = Arc::new(AtomicU64::new(0));
    let noted = Arc::clone(&asked);
    let database = Options::new()
        .on_slow_reader(move |slow| {
            noted.fetch_add(1, SeqCst);
            assert_eq!(slow.reader.is_cancelled, slow.asked > 0);
            SlowReaderChoice::Cancel
        })
        .open(&path)
        .unwrap();
    let table = fill(&database, 1000).unwrap();
    database.sync().unwrap();
    let txn = database.begin_read().unwrap();
    fill(&database, 1001).unwrap();
    database.sync().unwrap();
    assert_eq!(asked.load(SeqCst), 0);
    let before = database.stat().unwrap().file_bytes;
    thread::scope(|scope| {
        let asked = &asked;
        let table = &table;
        scope.spawn(move || {
            while !is_lost(table.get(&txn, 7)) {
                thread::yield_now();
            }
            // It is waited for until it has ended.
            while asked.load(SeqCst) < 3 {
                thread::yield_now();
            }
        });
        fill(&database, 1002).unwrap();
    });
    assert!(asked.load(SeqCst) >= 3);
    assert_eq!(database.stat().unwrap().file_bytes, before);
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

/// Threads that start and end reuse each other's slots. Those of every other one must not be
/// cancelled.
#[cfg(unix)]
#[test]
fn cancelling_does_not_hit_a_new_reader() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 100).unwrap();
    let spared = Mutex::new(HashSet::new());
    let (is_over, met) = (AtomicBool::new(false), AtomicU64::new(0));
    let reads = || {
        let txn = database.begin_read().unwrap();
        let mut reads = (0..20).map(|number| table.get(&txn, number).map(drop));
        reads.find(Result::is_err).unwrap_or(Ok(()))
    };
    thread::scope(|scope| {
        let (spared, met, reads) = (&spared, &met, &reads);
        let canceller = scope.spawn(|| {
            while !is_over.load(SeqCst) {
                for reader in database.readers().unwrap() {
                    if !spared.lock().unwrap().contains(&reader.thread) {
                        database.cancel_reader(&reader).unwrap();
                    }
                }
            }
        });
        for round in 0..400 {
            let cancelled = move || {
                for _ in 0..20 {
                    met.fetch_add(u64::from(is_lost(reads())), SeqCst);
                }
            };
            let spared = move || {
                spared.lock().unwrap().insert(teak::testing::thread_id());
                (0..20).for_each(|_| reads().unwrap());
            };
            let thread = match round % 2 {
                0 => scope.spawn(cancelled),
                _ => scope.spawn(spared),
            };
            if round % 4 == 3 {
                thread.join().unwrap();
            }
        }
        while met.load(SeqCst) == 0 && !canceller.is_finished() {
            met.fetch_add(u64::from(is_lost(reads())), SeqCst);
        }
        is_over.store(true, SeqCst);
    });
}

#[test]
fn a_reader_cancelled_during_a_scan_fails_at_the_next_leaf() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let table = fill(&database, 300).unwrap();
    let txn = database.begin_read().unwrap();
    let (mut cursor, mut seen) = (DetachedCursor::new(&table), 0);
    let scanned = cursor.scan(&txn, Direction::Forward, |_, _| {
        seen += 1;
        if seen == 3 {
            assert!(database.cancel_reader(&only_reader(&database)).unwrap());
        }
        ControlFlow::Continue(())
    });
    assert!(is_lost(scanned) && (3..100).contains(&seen) && cursor.is_unset());
}
