//! Closing while a write transaction is open.

use crate::transaction_tests::test_kit::{BOOT, CAPACITY};
use crate::{
    Database, Error, Options, Result, SlowReaderChoice, WriteOptions,
    codec::{Bytes, Str},
    instance::opening::open_here,
    io::sim::{Call, SimDisk},
    testing,
};
use std::{
    mem,
    sync::{Arc, Mutex, OnceLock, mpsc},
    thread,
    time::Duration,
};

fn new_database() -> Database {
    testing::open(&SimDisk::new(CAPACITY), &Options::new(), true, BOOT).unwrap()
}

/// Closes it, which must terminate.
fn close(database: Database) -> Result<(), Error> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(database.close()));
    let closed = receiver.recv_timeout(Duration::from_secs(20));
    closed.expect("closing ends")
}

/// Closing waited for the end of the transaction forever.
#[test]
fn closing_fails_after_a_write_transaction_was_forgotten() {
    let database = new_database();
    mem::forget(database.begin_write().unwrap());
    let closed = close(database.clone());
    assert!(
        matches!(closed, Err(Error::InvalidArgument(_))),
        "{closed:?}"
    );
    // Nothing was closed.
    database.begin_read().unwrap();
    assert!(
        database
            .begin_write_with(WriteOptions::new().timeout(Duration::ZERO))
            .unwrap()
            .is_none()
    );
}

#[test]
fn closing_succeeds_once_the_transaction_has_ended() {
    let database = new_database();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Str, Bytes>("a").unwrap();
    table.insert(&mut txn, "key", b"value").unwrap();
    assert!(close(database.clone()).is_err());
    txn.commit().unwrap();
    close(database.clone()).unwrap();
    assert!(database.begin_read().is_err());
}

/// The callback runs inside a write transaction, and closing waits for its end.
#[test]
fn closing_in_the_callback_for_slow_readers_is_an_error() {
    let cell: Arc<OnceLock<Database>> = Arc::default();
    let outcomes: Arc<Mutex<Vec<Result<()>>>> = Arc::default();
    let (own, noted) = (Arc::downgrade(&cell), Arc::clone(&outcomes));
    let options = Options::new().on_slow_reader(move |_| {
        if let Some(database) = own.upgrade().and_then(|cell| cell.get().cloned()) {
            noted.lock().unwrap().push(close(database));
        }
        SlowReaderChoice::Grow
    });
    let database = testing::open(&SimDisk::new(CAPACITY), &options, true, BOOT).unwrap();
    cell.set(database.clone()).unwrap();
    let fill = |value: &[u8]| {
        let mut txn = database.begin_write().unwrap();
        let table = txn.create_table::<Str, Bytes>("a").unwrap();
        for number in 0..2000 {
            table.insert(&mut txn, number.to_string(), value).unwrap();
        }
        txn.commit().unwrap();
        database.sync().unwrap();
    };
    fill(&[0; 1000]);
    let reader = database.begin_read().unwrap();
    fill(&[1; 1000]);
    fill(&[2; 1000]);
    drop(reader);
    let outcomes = outcomes.lock().unwrap();
    assert!(!outcomes.is_empty());
    let is_refused = |outcome: &Result<()>| matches!(outcome, Err(Error::InvalidArgument(_)));
    assert!(outcomes.iter().all(is_refused), "{outcomes:?}");
    // Nothing was closed.
    database.begin_read().unwrap();
}

/// The name of a real file takes one more flush, of its directory.
#[test]
fn creating_committing_and_closing_flush_once_each() {
    let disk = SimDisk::new(CAPACITY);
    let flushes = || {
        let calls = disk.call_kinds();
        calls.iter().filter(|call| **call == Call::Flush).count()
    };
    let options = Options::new();
    let database = testing::open(&disk, &options, true, BOOT).unwrap();
    assert_eq!(flushes(), 1);
    let mut txn = database.begin_write().unwrap();
    txn.create_table::<Str, Bytes>("a").unwrap();
    txn.commit().unwrap();
    assert_eq!(flushes(), 2);
    close(database).unwrap();
    assert_eq!(flushes(), 3);

    let database = testing::open(&disk, &options, false, BOOT).unwrap();
    drop(database.begin_read().unwrap());
    close(database).unwrap();
    assert_eq!(
        flushes(),
        3,
        "nothing was committed, so there is nothing to flush"
    );
}

/// An opening gave up after one second, while another thread was closing the database.
#[test]
fn an_opening_waits_for_a_close_that_takes_long() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    let database = Database::open(&path).unwrap();
    thread::scope(|scope| {
        let engine = open_here(&path).pop().unwrap();
        let gate = engine.shared().unwrap().lock_file.pass_gate().unwrap();
        let closing = scope.spawn(|| database.close());
        while !engine.openings.is_being_closed() {
            thread::yield_now();
        }
        let opening = scope.spawn(|| Database::open(&path));
        thread::sleep(Duration::from_millis(1300));
        drop(gate);
        drop(engine);
        closing.join().unwrap().unwrap();
        opening.join().unwrap().unwrap();
    });
}
