//! Transactions: their owners, and their ends.

use super::{Fixture, TREES, fixture, table};
use std::{thread, time::Duration};
use teak::{Durability, Error, Options, Transaction};

/// Any thread may continue a transaction of another one.
#[test]
fn thread_ownership() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    thread::scope(|scope| {
        let words = &words;
        let written = scope.spawn(move || {
            words.insert(&mut txn, b"pine", b"").unwrap();
            txn
        });
        let txn = written.join().unwrap();
        scope.spawn(move || txn.commit().unwrap());
    });
    let txn = database.begin_read().unwrap();
    let counted = thread::scope(|scope| {
        let counts = [(); 3].map(|()| scope.spawn(|| words.len(&txn).unwrap()));
        counts.map(|count| count.join().unwrap())
    });
    assert_eq!(counted, [6; 3]);
}

#[test]
fn abort() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    txn.abort();
    let mut txn = database.begin_write().unwrap();
    assert!(txn.tables().unwrap().is_empty());
    table(&mut txn, &TREES);
    drop(txn);
    assert_eq!(database.stat().unwrap().transaction.0, 0);
    // A handle from a dropped transaction is a name, and refers to the table with that name.
    let txn = database.begin_read().unwrap();
    assert!(matches!(words.len(&txn), Err(Error::TableNotFound(_))));
}

/// One transaction may be weaker or stronger than the others.
#[test]
fn weaker_commits() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let first = txn.commit().unwrap();
    let durable = || database.stat().unwrap().durable_transaction;
    assert_eq!(durable(), first);
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    words.insert(&mut txn, b"lime", b"").unwrap();
    txn.commit().unwrap();
    assert_eq!(durable(), first);
    let mut txn = database.begin_write().unwrap();
    words.insert(&mut txn, b"pine", b"").unwrap();
    assert_eq!(txn.commit().unwrap(), durable());
}

/// Lazy commits become durable automatically when there are enough of them, or when they are old
/// enough.
#[test]
fn thresholds() {
    let options = Options::new().durability(Durability::Lazy);
    let by_bytes = options.clone().flush_after(Duration::MAX);
    let by_age = options.flush_after_bytes(u64::MAX);
    for options in [
        by_bytes.flush_after_bytes(1 << 20),
        by_age.flush_after(Duration::from_millis(1)),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let database = options.open(directory.path().join("x.teak")).unwrap();
        let mut txn = database.begin_write().unwrap();
        let words = table(&mut txn, &TREES);
        words.insert(&mut txn, b"lime", vec![7; 2 << 20]).unwrap();
        let committed = txn.commit().unwrap();
        while database.stat().unwrap().durable_transaction < committed {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn id() {
    let Fixture { database, .. } = &fixture();
    let before = database.begin_read().unwrap().id();
    let mut txn = database.begin_write().unwrap();
    assert_eq!(txn.id().0, before.0 + 1);
    table(&mut txn, &TREES);
    let committed = txn.commit().unwrap();
    assert_eq!(committed.0, before.0 + 1);
    assert_eq!(database.begin_read().unwrap().id(), committed);
}
