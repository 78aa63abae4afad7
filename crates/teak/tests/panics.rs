//! The state of a write transaction after a caught panic in code of the application.

use crate::shared::temporary_path;
use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};
use teak::{Database, Error, Options, ReadTxn, SlowReaderChoice, Table, WriteTxn, codec::Bytes};

type Numbers = Table<u64, Bytes>;

const TABLES: u64 = 400;

fn name(number: u64) -> String {
    format!("a table whose name is so long that few fit into a page {number:050}")
}

/// A database with many tables, in which the reader keeps most of the free pages. The callback for
/// slow readers panics while that is set.
fn tight() -> (tempfile::TempDir, Database, ReadTxn, Arc<AtomicBool>) {
    let (directory, path) = temporary_path();
    let panics = Arc::new(AtomicBool::new(false));
    let is_to_panic = Arc::clone(&panics);
    let database = Options::new()
        .on_slow_reader(move |_| {
            assert!(!is_to_panic.load(SeqCst), "the hook panics");
            SlowReaderChoice::Grow
        })
        .open(&path)
        .unwrap();
    let mut txn = database.begin_write().unwrap();
    let numbers: Numbers = txn.create_table("numbers").unwrap();
    for number in 0..2000 {
        numbers.insert(&mut txn, number, [1; 100]).unwrap();
    }
    for number in 0..TABLES {
        txn.create_table::<u64, Bytes>(name(number)).unwrap();
    }
    txn.commit().unwrap();
    let reader = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    numbers.clear(&mut txn).unwrap();
    txn.commit().unwrap();
    (directory, database, reader, panics)
}

fn assert_clean(database: &Database) {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

/// The catalog changes when a table is created. Nothing may be committed halfway through that.
#[test]
fn after_a_panic_in_table_creation_only_rollback_is_possible() {
    let (_directory, database, _reader, panics) = tight();
    let mut txn = database.begin_write().unwrap();
    panics.store(true, SeqCst);
    let created = (TABLES..10 * TABLES).find(|number| {
        let create = AssertUnwindSafe(|| txn.create_table::<u64, Bytes>(name(*number)));
        catch_unwind(create).is_err()
    });
    assert!(created.is_some(), "it needed space");
    panics.store(false, SeqCst);
    assert!(matches!(txn.savepoint(), Err(Error::TransactionBroken)));
    assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
    assert_clean(&database);
}

/// A checkpoint had written some roots to the catalog; the next one would have committed these.
#[test]
fn a_panic_in_a_checkpoint_undoes_it() {
    let (_directory, database, _reader, panics) = tight();
    let mut txn = database.begin_write().unwrap();
    for number in 0..TABLES {
        let table: Numbers = txn.create_table(name(number)).unwrap();
        table.draw_sequence(&mut txn, 1).unwrap();
    }
    panics.store(true, SeqCst);
    let checkpoint = AssertUnwindSafe(|| txn.checkpoint().map(drop));
    assert!(catch_unwind(checkpoint).is_err(), "it needed space");
    panics.store(false, SeqCst);
    assert!(matches!(txn.checkpoint(), Err(Error::TransactionBroken)));
    txn.roll_back().unwrap();
    let table: Numbers = txn.create_table(name(0)).unwrap();
    assert_eq!(table.draw_sequence(&mut txn, 1).unwrap(), 0);
    txn.commit().unwrap();
    assert_clean(&database);
}

/// It mistook the running panic for one of its own.
#[test]
fn a_nested_transaction_may_run_while_a_panic_unwinds() {
    struct Noting<'t>(&'t mut WriteTxn, Numbers);

    impl Drop for Noting<'_> {
        fn drop(&mut self) {
            let Self(txn, numbers) = self;
            txn.nested(|txn| numbers.insert(txn, 7, b"noted")).unwrap();
        }
    }

    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let numbers: Numbers = txn.create_table("numbers").unwrap();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _noting = Noting(&mut txn, numbers.clone());
        panic!("elsewhere");
    }));
    assert!(unwound.is_err());
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(numbers.get(&txn, 7).unwrap(), Some(&b"noted"[..]));
}
