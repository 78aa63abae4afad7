//! Databases: opening, closing, how long their files are; what they can hold.

use super::{Place, TREES, place, table};
use std::fs;
use teak::{
    Database, Durability, Error, Geometry, Options, Table,
    codec::{Bytes, U64},
};

#[test]
fn page_size() {
    for page_size in [4096, 8192, 16384, 32768, 65536] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.teak");
        let options = Options::new().page_size(page_size);
        options.open(&path).unwrap().close().unwrap();
        // It is the file's, whatever else is asked for.
        let database = Database::open(&path).unwrap();
        assert_eq!(database.page_size(), page_size);
    }
    for wrong in [0, 512, 2048, 5000, 131_072] {
        let place = tempfile::tempdir().unwrap();
        let refused = Options::new()
            .page_size(wrong)
            .open(place.path().join("wrong.teak"));
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
}

/// It is not bounded by memory: what the budget does not hold is written before the commit.
#[test]
fn pages_of_a_write_transaction() {
    let Place {
        database,
        path,
        _directory,
    } = place();
    database.close().unwrap();
    let options = Options::new().write_memory_bytes(64 << 10);
    let database = options.open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &[]);
    for number in 0..20_000u32 {
        words
            .insert(&mut txn, &number.to_be_bytes(), &[7; 100])
            .unwrap();
    }
    assert!(txn.dirty_bytes() < 1 << 20);
    txn.commit().unwrap();
    assert!(database.metrics().early_pages > 400);
    assert_eq!(words.len(&database.begin_read().unwrap()).unwrap(), 20_000);
}

#[test]
fn longest_value() {
    let Place { database, .. } = &place();
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

/// Keys as long as they may be make deep trees, and are found in them.
#[test]
fn tree_height() {
    let Place { database, .. } = &place();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &[]);
    let longest = teak::limits(4096).unwrap().key_len_max;
    // Two and two are alike but for the end, so that every other separator is as long as a key.
    let key = |number: u32| {
        let mut key = (number / 2).to_be_bytes().repeat(longest / 4 - 1);
        key.extend(number.to_be_bytes());
        key
    };
    for number in 0..600 {
        words.insert(&mut txn, &key(number), b"").unwrap();
    }
    let depth = words.stat(&txn).unwrap().depth;
    assert!(depth >= 3, "{depth}");
    assert!((0..600).all(|number| words.contains(&txn, &key(number)).unwrap()));
    txn.commit().unwrap();
    assert!(database.check(&mut |_| {}).unwrap().is_clean());
}

#[test]
fn depth_of_nested_transactions() {
    let Place { database, .. } = &place();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &[]);
    let savepoints: Vec<_> = (0..200u32)
        .map(|number| {
            words.insert(&mut txn, &number.to_be_bytes(), b"").unwrap();
            txn.savepoint().unwrap()
        })
        .collect();
    for (number, savepoint) in savepoints.iter().enumerate().rev() {
        txn.rollback_to(savepoint).unwrap();
        assert_eq!(words.len(&txn).unwrap(), number as u64 + 1);
    }
}

/// Nothing has to be guessed: without limits the file grows as long as the disk has room.
#[test]
fn default_geometry() {
    let Place { database, .. } = &place();
    let geometry = database.geometry().unwrap();
    assert_eq!(geometry, Geometry::default());
    assert_eq!(geometry.upper_limit_bytes, u64::MAX);
    assert!(database.stat().unwrap().file_bytes < 1 << 20);
}

#[test]
fn open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    let missing = Options::new().create(false).open(&path);
    assert!(matches!(missing, Err(Error::NotFound(_))));
    let database = Options::new().create_new(true).open(&path).unwrap();
    let refused = Options::new().create_new(true).open(&path);
    assert!(matches!(refused, Err(Error::AlreadyExists(_))));
    // Opened twice in one process, it is the same one.
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
    let Place {
        database,
        path,
        _directory,
    } = place();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    txn.set_durability(Durability::Lazy);
    txn.commit().unwrap();
    // As a kill leaves it: who only reads needs nobody to repair it before, and repairs nothing.
    let copy = path.with_file_name("copy.teak");
    fs::copy(&path, &copy).unwrap();
    let bytes = fs::read(&copy).unwrap();
    let reading = Options::new().read_only(true).open(&copy).unwrap();
    assert_eq!(words.len(&reading.begin_read().unwrap()).unwrap(), 5);
    assert!(matches!(reading.begin_write(), Err(Error::ReadOnly)));
    reading.close().unwrap();
    assert_eq!(fs::read(&copy).unwrap(), bytes);
}

/// Who opens without asking for anything takes what the file says.
#[test]
fn accede() {
    let Place {
        database,
        path,
        _directory,
    } = place();
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
    // Who asks for something else while it is open is told what.
    let refused = Options::new().durability(Durability::Durable).open(&path);
    assert!(matches!(
        refused,
        Err(Error::OptionsDiffer { option }) if option == "durability"
    ));
}

/// Transactions that are open may go on to read, and nothing is lost.
#[test]
fn close() {
    let Place {
        database,
        path,
        _directory,
    } = place();
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
    let Place { database, .. } = &place();
    let limited = |bytes| Geometry {
        upper_limit_bytes: bytes,
        ..Geometry::default()
    };
    let mut txn = database.begin_write().unwrap();
    let numbers: Table<U64, Bytes> = txn.create_table("numbers").unwrap();
    // It is part of the transaction.
    txn.set_geometry(limited(1 << 20)).unwrap();
    txn.abort();
    assert_eq!(database.geometry().unwrap(), Geometry::default());
    let mut txn = database.begin_write().unwrap();
    let numbers: Table<U64, Bytes> = txn.create_table(numbers.name()).unwrap();
    txn.set_geometry(limited(1 << 20)).unwrap();
    let filled = (0..10_000).try_for_each(|number| numbers.insert(&mut txn, number, &[7; 500]));
    assert!(matches!(filled, Err(Error::Full { limit_bytes }) if limit_bytes == 1 << 20));
    txn.roll_back().unwrap();
    txn.set_geometry(limited(u64::MAX)).unwrap();
    txn.commit().unwrap();
    let impossible = Geometry {
        lower_limit_bytes: 2,
        upper_limit_bytes: 1,
        ..Geometry::default()
    };
    let mut txn = database.begin_write().unwrap();
    assert!(txn.set_geometry(impossible).is_err());
}

#[test]
fn path() {
    let Place { database, path, .. } = &place();
    assert_eq!(database.path(), path);
}

/// Each page is compared with its checksum when it is first read, without being asked for.
#[test]
fn validation() {
    let Place {
        database,
        path,
        _directory,
    } = place();
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
