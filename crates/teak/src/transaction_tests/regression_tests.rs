//! Bugs that were found and fixed, each with the smallest test that fails with the bug. The comment
//! of a test describes the bug.

mod crash_points;
mod failed_writes;
mod fault_sweep;
mod hostile_graphs;
mod hostile_numbers;
mod hostile_pages;
mod long_files;
mod model_findings;
mod shared_files;
mod unknown_tables;

use crate::{Error, Options, Table, Transaction, codec::Str, io::sim::SimDisk, testing};
use crate::{
    admin::check,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, WRITE_MEMORY_BYTES, ascending_key, assert_clean, create_table, fill,
        insert, new_database, open, records, remove, root_of,
    },
    write::transaction::WriteTransaction,
};
use std::ops::Bound;
use std::ops::ControlFlow;

/// Removing all records of the first leaf left the root with one unchanged child, which became the
/// root without its checksum: the catalog kept that of the page before, and the check reported
/// damage.
#[test]
fn a_root_that_collapses_takes_the_checksum_of_its_child() {
    let (_disk, engine) = new_database();
    fill(&engine, records(74, &[7; 100]));
    assert_eq!(root_of(&engine.begin_read().unwrap(), &engine).depth, 2);
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    for i in 0..37 {
        assert!(remove(&mut txn, b"a", &ascending_key(i)));
    }
    txn.commit().unwrap();
    assert_eq!(root_of(&engine.begin_read().unwrap(), &engine).depth, 1);
    assert_clean(&engine);
}

/// Each removal has its own commit, through every shape until the table is empty.
#[test]
fn every_shape_until_the_table_is_empty_is_clean() {
    for count in [60, 67, 74, 79] {
        let (_disk, engine) = new_database();
        fill(&engine, records(count, &[7; 100]));
        for i in 0..count {
            let mut txn = WriteTransaction::begin(&engine).unwrap();
            assert!(remove(&mut txn, b"a", &ascending_key(i)));
            txn.commit().unwrap();
            let report = check::report(&engine.begin_read().unwrap());
            assert!(report.is_clean(), "{i} of {count}: {:#?}", report.damages);
        }
    }
}

/// Removing a range had its own code for collapsing the root, with the same checksum forgotten.
#[test]
fn removing_a_range_takes_the_checksum_of_the_last_child() {
    let (disk, engine) = new_database();
    fill(&engine, records(74, &[7; 100]));
    let image = disk.process_crash();
    for cut in 20..60 {
        let copy = SimDisk::from_image(image.clone(), CAPACITY);
        let engine = open(&copy, false, BOOT).unwrap();
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        let handle = engine.handle(b"a");
        let high = ascending_key(cut);
        let removed = txn.change(handle, b"a", |tree| {
            tree.remove_range(Bound::Unbounded, Bound::Excluded(&high))
        });
        assert_eq!(removed.unwrap(), u64::from(cut));
        txn.commit().unwrap();
        let report = check::report(&engine.begin_read().unwrap());
        assert!(report.is_clean(), "cut at {cut}: {:#?}", report.damages);
    }
}

/// A table's handle was a bare number: in another database it led to whatever table had that
/// number. Now the table is looked up by name there.
#[test]
fn a_handle_of_another_database_never_opens_another_table() {
    let open = |disk: &SimDisk| testing::open(disk, &Options::new(), true, BOOT).unwrap();
    let (one, other) = (open(&SimDisk::new(CAPACITY)), open(&SimDisk::new(CAPACITY)));
    let mut txn = one.begin_write().unwrap();
    let users: Table<Str, Str> = txn.create_table("users").unwrap();
    txn.commit().unwrap();

    let mut txn = other.begin_write().unwrap();
    let orders: Table<Str, Str> = txn.create_table("orders").unwrap();
    orders.insert(&mut txn, "k", "order").unwrap();
    assert!(is_missing(users.get(&txn, "k"), "users"));
    assert!(is_missing(users.insert(&mut txn, "u", "user"), "users"));
    assert!(is_missing(users.remove(&mut txn, "k"), "users"));
    assert!(is_missing(users.range(..).remove(&mut txn), "users"));
    assert!(is_missing(users.clear(&mut txn), "users"));
    txn.commit().unwrap();
    let read = other.begin_read().unwrap();
    assert!(is_missing(users.get(&read, "k"), "users"));
    assert!(is_missing(users.cursor(&read), "users"));
    assert_eq!(orders.get(&read, "k").unwrap(), Some("order"));
    assert_eq!(read.tables().unwrap().len(), 1);

    let mut txn = other.begin_write().unwrap();
    let same: Table<Str, Str> = txn.create_table("users").unwrap();
    users.insert(&mut txn, "u", "user").unwrap();
    assert_eq!(same.get(&txn, "u").unwrap(), Some("user"));
    txn.commit().unwrap();
    let read = other.begin_read().unwrap();
    assert_eq!(users.get(&read, "u").unwrap(), Some("user"));
    assert_eq!(orders.len(&read).unwrap(), 1);
}

/// A handle from an earlier opening was looked up in the slot of its number, and the snapshot
/// cached the root for the rightful owner of that number: a commit then wrote the pages of one
/// table under the name of another.
#[test]
fn a_handle_of_an_earlier_opening_uses_no_slot() {
    let disk = SimDisk::new(CAPACITY);
    let open = |is_new| testing::open(&disk, &Options::new(), is_new, BOOT).unwrap();
    let database = open(true);
    let mut txn = database.begin_write().unwrap();
    let users: Table<Str, Str> = txn.create_table("users").unwrap();
    users.insert(&mut txn, "u", "user").unwrap();
    txn.commit().unwrap();
    database.close().unwrap();

    let database = open(false);
    let read = database.begin_read().unwrap();
    assert_eq!(users.get(&read, "u").unwrap(), Some("user"));
    let mut txn = database.begin_write().unwrap();
    let orders: Table<Str, Str> = txn.create_table("orders").unwrap();
    assert_eq!(orders.get(&txn, "u").unwrap(), None);
    orders.insert(&mut txn, "z", "order").unwrap();
    txn.commit().unwrap();
    let read = database.begin_read().unwrap();
    assert_eq!(orders.len(&read).unwrap(), 1);
    assert_eq!(users.len(&read).unwrap(), 1);
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{:#?}", report.damages);
}

fn is_missing<T>(result: crate::Result<T>, table: &str) -> bool {
    matches!(result, Err(Error::TableNotFound(name)) if name == table)
}

/// Leaves that had been written early came back into memory when they were changed again, and did
/// not count: a transaction that overwrote its own inserts grew without bound.
#[test]
fn a_transaction_that_overwrites_keeps_its_memory_budget() {
    let (_disk, engine) = new_database();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    // A lazy one builds its pages in the mapped file.
    txn.set_durability(Durability::Durable);
    create_table(&mut txn, b"a");
    for round in 1..=2 {
        for i in 0..40_000 {
            insert(&mut txn, b"a", &ascending_key(i), &[round; 100]).unwrap();
        }
        // Inner pages stay in memory, one in some hundred.
        let limit = WRITE_MEMORY_BYTES + WRITE_MEMORY_BYTES / 4;
        assert!(txn.dirty_bytes() <= limit, "{} bytes", txn.dirty_bytes());
    }
    txn.commit().unwrap();
    assert_clean(&engine);
}

/// Savepoints were numbered within their transaction, so that one of an earlier transaction named
/// one of the present transaction.
#[test]
fn a_savepoint_of_another_transaction_is_refused() {
    let (_disk, engine) = new_database();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let foreign = txn.begin_savepoint().unwrap();
    txn.abort();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let own = txn.begin_savepoint().unwrap();
    for result in [txn.roll_back_to(foreign), txn.end_savepoint(foreign)] {
        assert!(matches!(result, Err(Error::InvalidArgument(_))));
    }
    txn.roll_back_to(own).unwrap();
}
