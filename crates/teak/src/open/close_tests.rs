//! Closing while a write transaction is open.

use crate::transaction_tests::test_kit::{BOOT, CAPACITY};
use crate::{
    Database, Error, Options,
    codec::{Bytes, Str},
    io::sim::SimDisk,
    testing,
};
use std::{mem, sync::mpsc, thread, time::Duration};

fn new_database() -> Database {
    testing::open(&SimDisk::new(CAPACITY), &Options::new(), true, BOOT).unwrap()
}

/// Closes it, which must come to an end.
fn close(database: Database) -> Result<(), Error> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(database.close()));
    let closed = receiver.recv_timeout(Duration::from_secs(20));
    closed.expect("closing ends")
}

/// Closing waited for the end of the transaction for ever.
#[test]
fn a_write_transaction_that_was_forgotten_makes_closing_an_error() {
    let database = new_database();
    mem::forget(database.begin_write().unwrap());
    let closed = close(database.clone());
    assert!(
        matches!(closed, Err(Error::InvalidArgument(_))),
        "{closed:?}"
    );
    // Nothing was closed.
    database.begin_read().unwrap();
    assert!(database.try_begin_write().unwrap().is_none());
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
