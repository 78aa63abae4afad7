//! Databases: opening, closing, the length of their files, and their limits.

use super::{Fixture, TREES, fixture, table};
use std::{fs, ops::ControlFlow};
use teak::{Create, Database, Durability, Error, Geometry, Options, Table, codec::Bytes};

#[test]
fn page_size() {
    for page_size in [4096, 8192, 16384, 32768, 65536] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.teak");
        let options = Options::new().page_size(page_size);
        options.open(&path).unwrap().close().unwrap();
        // It belongs to the file, whatever else is requested.
        let database = Database::open(&path).unwrap();
        assert_eq!(database.info().page_size, page_size);
    }
    for wrong in [0, 512, 2048, 5000, 131_072] {
        let directory = tempfile::tempdir().unwrap();
        let refused = Options::new()
            .page_size(wrong)
            .open(directory.path().join("wrong.teak"));
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
}

/// Memory does not limit it: pages beyond the budget are written before the commit.
#[test]
fn pages_of_a_write_transaction() {
    let Fixture {
        database,
        path,
        _directory,
    } = fixture();
    database.close().unwrap();
    let options = Options::new().write_memory_bytes(64 << 10);
    let database = options.open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &[]);
    for number in 0..20_000u32 {
        words
            .insert(&mut txn, number.to_be_bytes(), [7; 100])
            .unwrap();
    }
    assert!(txn.info().dirty_bytes < 1 << 20);
    txn.commit().unwrap();
    assert!(database.metrics().early_pages > 400);
    assert_eq!(words.len(&database.begin_read().unwrap()).unwrap(), 20_000);
}

#[test]
fn longest_value() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &[]);
    let long = vec![7; 33 << 20];
    words.insert(&mut txn, b"long", &long).unwrap();
    words.insert(&mut txn, b"short", b"").unwrap();
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(words.get(&txn, b"long").unwrap(), Some(&long[..]));
    assert_eq!(words.get(&txn, b"short").unwrap(), Some(&b""[..]));
}

/// Keys of the maximum length make deep trees, and are found in them.
#[test]
fn tree_height() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &[]);
    let longest = teak::limits(4096).unwrap().key_len_max;
    // Pairs differ only at the end, so that every other separator is as long as a key.
    let key = |number: u32| {
        let mut key = (number / 2).to_be_bytes().repeat(longest / 4 - 1);
        key.extend(number.to_be_bytes());
        key
    };
    for number in 0..600 {
        words.insert(&mut txn, key(number), b"").unwrap();
    }
    let depth = words.stat(&txn).unwrap().depth;
    assert!(depth >= 3, "{depth}");
    assert!((0..600).all(|number| words.contains_key(&txn, key(number)).unwrap()));
    txn.commit().unwrap();
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

#[test]
fn depth_of_nested_transactions() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &[]);
    let savepoints: Vec<_> = (0..200u32)
        .map(|number| {
            words.insert(&mut txn, number.to_be_bytes(), b"").unwrap();
            txn.savepoint().unwrap()
        })
        .collect();
    for (number, savepoint) in savepoints.iter().enumerate().rev() {
        txn.rollback_to(savepoint).unwrap();
        assert_eq!(words.len(&txn).unwrap(), number as u64 + 1);
    }
}

/// No size has to be guessed: without limits, the file grows as long as the disk has room.
#[test]
fn default_geometry() {
    let Fixture { database, .. } = &fixture();
    let geometry = database.geometry().unwrap();
    assert_eq!(geometry, Geometry::default());
    assert_eq!(geometry.upper_limit_bytes, u64::MAX);
    assert!(database.stat().unwrap().file_bytes < 1 << 20);
}

#[test]
fn open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    let missing = Options::new().create(Create::Never).open(&path);
    assert!(matches!(missing, Err(Error::NotFound(_))));
    let database = Options::new().create(Create::New).open(&path).unwrap();
    let refused = Options::new().create(Create::New).open(&path);
    assert!(matches!(refused, Err(Error::AlreadyExists(_))));
    // Opened twice in one process, it is one database.
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    txn.commit().unwrap();
    let again = Database::open(&path).unwrap();
    assert_eq!(words.len(&again.begin_read().unwrap()).unwrap(), 5);
    let other = directory.path().join("other");
    fs::write(&other, vec![1; 100_000]).unwrap();
    for wrong in [other.as_path(), directory.path()] {
        let refused = Database::open(wrong);
        assert!(matches!(refused, Err(Error::NotADatabase { .. })));
    }
}

#[test]
fn read_only() {
    let Fixture {
        database,
        path,
        _directory,
    } = fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    txn.set_durability(Durability::Lazy);
    txn.commit().unwrap();
    // The state after a kill: a read-only process needs no repair before, and repairs nothing.
    let copy = path.with_file_name("copy.teak");
    fs::copy(&path, &copy).unwrap();
    let bytes = fs::read(&copy).unwrap();
    let reading = Options::new().read_only(true).open(&copy).unwrap();
    assert_eq!(words.len(&reading.begin_read().unwrap()).unwrap(), 5);
    assert!(matches!(reading.begin_write(), Err(Error::ReadOnly)));
    reading.close().unwrap();
    assert_eq!(fs::read(&copy).unwrap(), bytes);
}

/// An open without options uses the stored ones.
#[test]
fn accede() {
    let Fixture {
        database,
        path,
        _directory,
    } = fixture();
    database.close().unwrap();
    let lazy = Options::new()
        .durability(Durability::Lazy)
        .size_limit_bytes(Some(1 << 30));
    lazy.open(&path).unwrap().close().unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!(database.geometry().unwrap().upper_limit_bytes, 1 << 30);
    let mut txn = database.begin_write().unwrap();
    table(&mut txn, &TREES);
    let transaction = txn.commit().unwrap();
    assert!(database.stat().unwrap().durable_transaction < transaction);
    // An open with other options while it is open is refused with the reason.
    let refused = Options::new().durability(Durability::Durable).open(&path);
    assert!(matches!(
        refused,
        Err(Error::OptionsDiffer { option }) if option == "durability"
    ));
}

/// Open transactions may continue to read, and nothing is lost.
#[test]
fn close() {
    let Fixture {
        database,
        path,
        _directory,
    } = fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    txn.set_durability(Durability::Lazy);
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    let other = database.clone();
    database.close().unwrap();
    assert_eq!(words.len(&txn).unwrap(), 5);
    assert!(matches!(other.begin_read(), Err(Error::InvalidArgument(_))));
    drop((txn, other));
    let info = teak::inspect(&path).unwrap();
    assert!(info.was_closed && info.durable_transaction == info.transaction);
}

#[test]
fn geometry_at_run_time() {
    let Fixture { database, .. } = &fixture();
    let limited = |bytes| Geometry::new().upper_limit_bytes(bytes);
    let mut txn = database.begin_write().unwrap();
    let numbers: Table<u64, Bytes> = txn.create_table("numbers").unwrap();
    // It is part of the transaction.
    txn.set_geometry(limited(1 << 20)).unwrap();
    txn.abort();
    assert_eq!(database.geometry().unwrap(), Geometry::default());
    let mut txn = database.begin_write().unwrap();
    let numbers: Table<u64, Bytes> = txn.create_table(numbers.name()).unwrap();
    txn.set_geometry(limited(1 << 20)).unwrap();
    let filled = (0..10_000).try_for_each(|number| numbers.insert(&mut txn, number, [7; 500]));
    assert!(matches!(filled, Err(Error::Full { limit_bytes }) if limit_bytes == 1 << 20));
    txn.roll_back().unwrap();
    txn.set_geometry(limited(u64::MAX)).unwrap();
    txn.commit().unwrap();
    let impossible = Geometry::new().lower_limit_bytes(2).upper_limit_bytes(1);
    let mut txn = database.begin_write().unwrap();
    assert!(txn.set_geometry(impossible).is_err());
}

#[test]
fn path() {
    let Fixture { database, path, .. } = &fixture();
    assert_eq!(database.path(), path);
}

/// Each page is verified when it is first read, without a request.
#[test]
fn validation() {
    let Fixture {
        database,
        path,
        _directory,
    } = fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    words.insert(&mut txn, b"pine", b"to be damaged").unwrap();
    txn.commit().unwrap();
    database.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let found = bytes.windows(13).position(|part| part == b"to be damaged");
    bytes[found.unwrap()] = b'T';
    fs::write(&path, &bytes).unwrap();
    let database = Database::open(&path).unwrap();
    let read = words.get(&database.begin_read().unwrap(), b"ash").map(drop);
    assert!(matches!(read, Err(Error::Corrupted { .. })));
}
