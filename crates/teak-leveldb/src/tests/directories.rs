//! The rules of directories: opening, conversion, removal, repair.

use super::{backwards, get, open, options, put, walk};
use crate::{
    comparator::{BYTEWISE, KeyComparator},
    directory::{self, OpenOptions},
    failure::{Failure, Kind},
    files::DATA,
    iterator::StoreIterator,
    long_keys::Tables,
    removal,
    store::MAIN,
};
use std::{fs, path::Path};
use teak::{KeyOrder, WriteTxn};
use teak_foreign::leveldb::LevelDb;

#[test]
fn directories_are_opened_by_leveldbs_rules() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let refused = |path: &Path, options: OpenOptions| directory::open(path, options).err().unwrap();
    let name = path.display();
    let expected = format!("{name}: does not exist (create_if_missing is false)");
    assert_eq!(
        refused(path, options(false)),
        Failure::invalid_argument(expected)
    );
    let store = open(path);
    let expected = format!("lock {name}/LOCK: already held by process");
    assert_eq!(
        refused(path, options(true)),
        Failure::new(Kind::Io, expected)
    );
    drop(store);
    let expected = format!("{name}: exists (error_if_exists is true)");
    let wrong = OpenOptions {
        error_if_exists: true,
        ..options(true)
    };
    assert_eq!(refused(path, wrong), Failure::invalid_argument(expected));
    let expected = "leveldb.BytewiseComparator does not match existing comparator : backwards";
    assert_eq!(
        refused(path, backwards("backwards")),
        Failure::invalid_argument(expected)
    );
    let failure = refused(&path.join("no/such"), options(true));
    assert_eq!(failure.kind, Kind::NotFound);
    assert!(
        failure.text.ends_with("LOCK: No such file or directory"),
        "{}",
        failure.text
    );
    fs::write(path.join("CURRENT"), "nonsense\n").unwrap();
    assert_eq!(refused(path, options(true)).kind, Kind::Corruption);
    fs::write(path.join("CURRENT"), "MANIFEST-000002\n").unwrap();
    let failure = refused(path, options(true));
    assert!(
        failure.text.contains("TEAK_LEVELDB_IMPORT=1"),
        "{}",
        failure.text
    );
}

#[test]
fn a_database_without_current_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let current = path.join("CURRENT");
    let new = || OpenOptions {
        error_if_exists: true,
        ..options(true)
    };
    // A creation that did not end may be repeated.
    drop(directory::open(path, new()).unwrap());
    fs::remove_file(&current).unwrap();
    assert!(directory::open(path, options(false)).is_err());
    put(&directory::open(path, new()).unwrap(), b"a", b"1");
    fs::remove_file(&current).unwrap();
    let failure = directory::open(path, new()).err().unwrap();
    assert_eq!(failure.kind, Kind::InvalidArgument);
    let store = directory::open(path, options(false)).unwrap();
    assert_eq!(get(&store, b"a"), Some(b"1".to_vec()));
    assert!(current.exists());
    drop(store);
    fs::remove_file(path.join(DATA)).unwrap();
    let failure = directory::open(path, options(true)).err().unwrap();
    assert_eq!(failure.kind, Kind::Corruption);
    assert!(
        failure.text.contains("data.teak is missing"),
        "{}",
        failure.text
    );
}

/// As `teak import` makes it.
#[test]
fn a_file_with_only_the_records_becomes_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let database = teak::Database::open(path.join(DATA)).unwrap();
    let mut txn = database.begin_write().unwrap();
    let main = MAIN.create(&mut txn).unwrap();
    main.insert(&mut txn, b"a", b"1").unwrap();
    txn.commit().unwrap();
    drop(database);
    let failure = directory::open(path, backwards("backwards")).err().unwrap();
    assert_eq!(failure.kind, Kind::InvalidArgument);
    let store = directory::open(path, options(false)).unwrap();
    let key = [b'k'; 5000];
    put(&store, &key, b"2");
    assert_eq!(get(&store, b"a"), Some(b"1".to_vec()));
    assert_eq!(get(&store, &key), Some(b"2".to_vec()));
}

/// LevelDB's files are removed after this comparison.
#[test]
fn a_copy_that_differs_from_leveldb_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let stored = "tests/repository/crates/teak-foreign/tests/data/leveldb";
    let source =
        LevelDb::open_unlocked(&Path::new(env!("CARGO_MANIFEST_DIR")).join(stored)).unwrap();
    let database = teak::Database::in_memory().unwrap();
    directory::create_tables(&database, BYTEWISE, KeyOrder::Bytes).unwrap();
    let tables = directory::open_tables(&database, BYTEWISE, KeyOrder::Bytes).unwrap();
    directory::copy(&source, path, &database, &tables).unwrap();
    let compare = || directory::compare(&source, path, &database, &tables);
    compare().unwrap();
    let change = |make: fn(&Tables, &mut WriteTxn, &[u8], &[u8])| {
        let txn = database.begin_read().unwrap();
        let (_, key, value) = tables.main.get_or_next(&txn, b"").unwrap().unwrap();
        let mut writer = database.begin_write().unwrap();
        make(&tables, &mut writer, &key, value);
        writer.commit().unwrap();
        assert_eq!(compare().unwrap_err().kind, Kind::Corruption);
        let mut writer = database.begin_write().unwrap();
        tables.remove(&mut writer, b"~").unwrap();
        tables.insert(&mut writer, &key, value).unwrap();
        writer.commit().unwrap();
        compare().unwrap();
    };
    change(|tables, txn, key, _| tables.insert(txn, key, b"other").unwrap());
    change(|tables, txn, key, _| tables.remove(txn, key).unwrap());
    change(|tables, txn, _, value| tables.insert(txn, b"~", value).unwrap());
}

#[test]
fn a_database_in_memory_outlives_its_openings() {
    let mut memory = None;
    let name = Path::new("/memory");
    let open =
        |memory: &mut _, create| directory::open_in_memory((name, name), memory, options(create));
    assert!(open(&mut memory, false).is_err());
    put(&open(&mut memory, true).unwrap(), b"a", b"1");
    assert_eq!(
        get(&open(&mut memory, false).unwrap(), b"a"),
        Some(b"1".to_vec())
    );
}

#[test]
fn destroying_leaves_the_files_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    removal::destroy(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let store = open(&path);
    assert!(removal::destroy(&path).is_err(), "it is open");
    drop(store);
    fs::write(path.join("000005.ldb"), "").unwrap();
    fs::write(path.join("other"), "").unwrap();
    removal::destroy(&path).unwrap();
    let left: Vec<_> = fs::read_dir(&path)
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert_eq!(left, ["other"]);
    fs::remove_file(path.join("other")).unwrap();
    drop(open(&path));
    removal::destroy(&path).unwrap();
    assert!(!path.exists());
}

/// Programs of Teak do not take `LOCK`.
#[test]
fn a_file_in_use_is_neither_removed_nor_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    put(&open(path), b"a", b"1");
    let data = path.join(DATA);
    let user = teak::Database::open(&data).unwrap();
    for refused in [
        removal::destroy(path),
        removal::repair(path, KeyComparator::Bytewise),
    ] {
        let failure = refused.unwrap_err();
        assert_eq!(failure.kind, Kind::Io);
        assert!(failure.text.contains("is in use"), "{}", failure.text);
    }
    assert!(path.join("CURRENT").exists(), "nothing was removed");
    drop(user);
    assert_eq!(get(&open(path), b"a"), Some(b"1".to_vec()));
    removal::repair(path, KeyComparator::Bytewise).unwrap();
    removal::destroy(path).unwrap();
    assert!(!path.exists());
    // A file that is no database is removed, too.
    fs::create_dir(path).unwrap();
    fs::write(&data, "no database").unwrap();
    removal::destroy(path).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_damaged_database_is_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let store = open(path);
    for number in 0..5_000_u32 {
        put(&store, &number.to_be_bytes(), &[7; 100]);
    }
    drop(store);
    removal::repair(path, KeyComparator::Bytewise).unwrap();
    assert!(
        !path.join("data.teak.damaged").exists(),
        "a sound one stays"
    );
    let data = path.join(DATA);
    let mut bytes = fs::read(&data).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle + 100..middle + 200].fill(0xEE);
    fs::write(&data, bytes).unwrap();
    removal::repair(path, KeyComparator::Bytewise).unwrap();
    assert!(path.join("data.teak.damaged").exists());
    let store = open(path);
    let mut iterator = store.iterator(None).unwrap();
    iterator.first();
    let left = walk(&mut iterator, StoreIterator::next).len();
    assert!((4_000..=5_000).contains(&left), "{left} records");
    drop((iterator, store));
    removal::destroy(path).unwrap();
    assert!(!path.exists(), "nothing of the repair is left");
}

#[test]
fn repair_makes_an_empty_database_where_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    assert!(removal::repair(&path, KeyComparator::Bytewise).is_err());
    fs::create_dir(&path).unwrap();
    for _ in 0..2 {
        removal::repair(&path, KeyComparator::Bytewise).unwrap();
        let store = open(&path);
        let mut iterator = store.iterator(None).unwrap();
        iterator.first();
        assert_eq!(walk(&mut iterator, StoreIterator::next).len(), 0);
        drop((iterator, store));
        removal::destroy(&path).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("LOG"), "lines").unwrap();
    }
    fs::write(path.join("000007.ldb"), "a table").unwrap();
    assert!(removal::repair(&path, KeyComparator::Bytewise).is_err());
}
