//! Encrypted databases.

use std::{
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    thread,
};
use teak::{
    Cipher, Database, DetachedCursor, Direction, Durability, EncryptionKey, Error, ExpiryOptions,
    Options, Table, TableDef, TableOptions, Transaction, Verification,
    codec::{Bytes, Raw},
};
use tempfile::tempdir;

pub(crate) type Records = Table<u64, Bytes>;
pub(crate) type Model = BTreeMap<u64, Vec<u8>>;

/// Bytes that are in every value of these tests.
const MARK: &[u8] = b"a text that nobody may read";

fn options(key: u8) -> Options {
    Options::new().encryption_key(EncryptionKey::from_bytes([key; 32]))
}

/// A value of this length with the mark.
pub(crate) fn value(number: u64, len: usize) -> Vec<u8> {
    let mut value = MARK.repeat(len / MARK.len() + 1);
    value.truncate(len);
    value.extend(number.to_le_bytes());
    value
}

/// Changes records of a table and of its model at random: small and large values, removals.
pub(crate) fn change(
    random: &mut fastrand::Rng,
    table: &Records,
    txn: &mut teak::WriteTxn,
    model: &mut Model,
) {
    for _ in 0..random.usize(1..60) {
        let number = random.u64(0..3000);
        if random.u8(0..5) == 0 {
            assert_eq!(
                table.remove(txn, number).unwrap(),
                model.remove(&number).is_some()
            );
            continue;
        }
        let len = match random.u8(0..20) {
            0 => random.usize(2_000..40_000),
            _ => random.usize(0..300),
        };
        let value = value(number, len);
        table.insert(txn, number, &value).unwrap();
        model.insert(number, value);
    }
}

pub(crate) fn create(database: &Database) -> Records {
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table("records").unwrap();
    txn.commit().unwrap();
    table
}

/// Compares a table with its model, and names the first record that differs.
pub(crate) fn assert_content(table: &Records, txn: &impl Transaction, model: &Model) {
    let found = content(table, txn);
    let keys = found.keys().chain(model.keys());
    let differs = |key: &&u64| found.get(key) != model.get(key);
    if let Some(key) = keys.filter(differs).min() {
        let (found, expected) = (found.get(key), model.get(key));
        let lens = [found, expected].map(|value| value.map(Vec::len));
        let pairs = found
            .into_iter()
            .flatten()
            .zip(expected.into_iter().flatten());
        let same = pairs.take_while(|(a, b)| a == b).count();
        panic!("record {key} differs from byte {same} on; lengths {lens:?}");
    }
}

pub(crate) fn assert_sound(database: &Database) {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

fn content(table: &Records, txn: &impl Transaction) -> Model {
    let records = table.iter(txn).unwrap();
    records
        .map(|record| record.map(|(key, value)| (key, value.to_vec())).unwrap())
        .collect()
}

/// Reads all records of a file that may be damaged.
pub(crate) fn read_all(options: Options, path: &Path) -> Result<Model, Error> {
    let options = options.verification(Verification::Off).read_only(true);
    let database = options.open(path)?;
    let txn = database.begin_read()?;
    let table: Records = txn.open_table("records")?;
    let records = table.iter(&txn)?;
    records
        .map(|record| record.map(|(key, value)| (key, value.to_vec())))
        .collect()
}

/// All files next to a database, itself included.
fn files(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file()).collect()
}

fn assert_no_mark(path: &Path) {
    for file in files(path) {
        let bytes = fs::read(&file).unwrap();
        let found = bytes.windows(MARK.len()).any(|window| window == MARK);
        assert!(!found, "{} has a record in clear", file.display());
        let found = bytes
            .windows(8)
            .any(|window| window == b"records\0" || window == b"\0records");
        assert!(
            !found,
            "{} has the name of a table in clear",
            file.display()
        );
    }
}

#[test]
fn an_encrypted_database_matches_a_map_through_reopening() {
    for (seed, cipher) in [(1, Cipher::Aes256Gcm), (2, Cipher::XChaCha20Poly1305)] {
        for durability in [Durability::Durable, Durability::Async, Durability::Lazy] {
            let directory = tempdir().unwrap();
            let path = directory.path().join("x.teak");
            let mut random = fastrand::Rng::with_seed(seed);
            let mut model = Model::new();
            for _ in 0..4 {
                let options = options(1).cipher(cipher).durability(durability);
                let database = options.decoded_cache_bytes(200_000).open(&path).unwrap();
                let table: Records = create(&database);
                for _ in 0..40 {
                    let mut txn = database.begin_write().unwrap();
                    change(&mut random, &table, &mut txn, &mut model);
                    txn.commit().unwrap();
                    let number = random.u64(0..3000);
                    let txn = database.begin_read().unwrap();
                    let found = table.get(&txn, number).unwrap().map(<[u8]>::to_vec);
                    assert_eq!(found, model.get(&number).cloned(), "seed {seed}");
                }
                assert_content(&table, &database.begin_read().unwrap(), &model);
                assert_sound(&database);
                assert_no_mark(&path);
                database.close().unwrap();
                assert_no_mark(&path);
            }
        }
    }
}

#[test]
fn threads_read_the_same_records_while_memory_is_given_back() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let options = options(1)
        .decoded_cache_bytes(100_000)
        .durability(Durability::Lazy);
    let database = options.open(&path).unwrap();
    let table: Records = create(&database);
    let mut txn = database.begin_write().unwrap();
    for number in 0..5_000 {
        table.insert(&mut txn, number, value(number, 200)).unwrap();
    }
    txn.commit().unwrap();
    thread::scope(|scope| {
        for seed in 0..4 {
            let (database, table) = (&database, &table);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..300 {
                    let txn = database.begin_read().unwrap();
                    let numbers: Vec<_> = (0..20).map(|_| random.u64(0..5_000)).collect();
                    let kept: Vec<_> = numbers
                        .iter()
                        .map(|number| table.get(&txn, *number).unwrap().unwrap())
                        .collect();
                    for (number, kept) in numbers.iter().zip(kept) {
                        assert_eq!(kept, value(*number, 200));
                    }
                }
            });
        }
        for round in 0..50 {
            let mut txn = database.begin_write().unwrap();
            for number in (round..5_000).step_by(50) {
                table.insert(&mut txn, number, value(number, 200)).unwrap();
            }
            table.insert(&mut txn, 9_000 + round, value(0, 3)).unwrap();
            txn.commit().unwrap();
        }
    });
    assert_sound(&database);
}

/// Reads most records of a table in short transactions, so that pages are given back.
fn read_much(database: &Database, table: &Records) {
    for _ in 0..3 {
        for number in (1_000..5_000).step_by(10) {
            let txn = database.begin_read().unwrap();
            assert_eq!(
                table.get(&txn, number).unwrap(),
                Some(&value(number, 200)[..])
            );
        }
    }
}

#[test]
fn a_detached_cursor_reads_no_page_that_was_given_back() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let options = options(1).decoded_cache_bytes(100_000);
    let database = options.open(&path).unwrap();
    let table = create(&database);
    let mut txn = database.begin_write().unwrap();
    let pairs = txn.create_multi_table::<u64, u64>("pairs").unwrap();
    for number in 0..5_000 {
        table.insert(&mut txn, number, value(number, 200)).unwrap();
    }
    for number in 0..200 {
        pairs.insert(&mut txn, number / 50, number).unwrap();
    }
    txn.commit().unwrap();
    let key = |number: u64| number.to_be_bytes();
    for round in 0..4 {
        let mut record = DetachedCursor::new(&table);
        let mut pair = DetachedCursor::new(&pairs);
        let txn = database.begin_read().unwrap();
        assert!(record.first(&txn).unwrap() && pair.first(&txn).unwrap());
        drop(txn);
        let evicted = database.metrics().evicted_pages;
        read_much(&database, &table);
        assert!(database.metrics().evicted_pages > evicted + 100);
        let txn = database.begin_read().unwrap();
        match round {
            0 => {
                assert_eq!(*record.value(&txn).unwrap(), value(0, 200)[..]);
                assert_eq!(*pair.value(&txn).unwrap(), key(0));
            }
            1 => {
                assert!(record.next(&txn).unwrap() && pair.next(&txn).unwrap());
                assert_eq!((record.key(), pair.key()), (&key(1)[..], &key(0)[..]));
                assert_eq!(*pair.value(&txn).unwrap(), key(1));
            }
            2 => {
                for cursor in [&mut record, &mut pair] {
                    let go_on = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
                    assert!(!cursor.scan(&txn, Direction::Forward, go_on).unwrap());
                }
            }
            _ => {
                drop(txn);
                let txn = database.begin_write().unwrap();
                assert!(record.next(&txn).unwrap() && pair.next(&txn).unwrap());
                assert_eq!(*record.value(&txn).unwrap(), value(1, 200)[..]);
            }
        }
    }
}

#[test]
fn a_transaction_larger_than_its_memory_is_written_early_and_read_back() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let options = options(1)
        .decoded_cache_bytes(50_000)
        .write_memory_bytes(100_000);
    let database = options.open(&path).unwrap();
    let table: Records = create(&database);
    let mut txn = database.begin_write().unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let mut model = Model::new();
    for _ in 0..60 {
        change(&mut random, &table, &mut txn, &mut model);
        let number = random.u64(0..3000);
        let found = table.get(&txn, number).unwrap().map(<[u8]>::to_vec);
        assert_eq!(found, model.get(&number).cloned());
    }
    assert_content(&table, &txn, &model);
    txn.commit().unwrap();
    assert_content(&table, &database.begin_read().unwrap(), &model);
    assert_sound(&database);
}

#[test]
fn a_page_written_before_a_savepoint_is_copied_with_its_records() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let options = options(1).decoded_cache_bytes(1).write_memory_bytes(1);
    let database = options.open(&path).unwrap();
    let table: Records = create(&database);
    let mut model = Model::new();
    let mut txn = database.begin_write().unwrap();
    for number in 0..500 {
        table.insert(&mut txn, number, value(number, 100)).unwrap();
        model.insert(number, value(number, 100));
    }
    let savepoint = txn.savepoint().unwrap();
    for number in (0..500).step_by(3) {
        table.insert(&mut txn, number, value(number, 90)).unwrap();
        model.insert(number, value(number, 90));
    }
    txn.release(savepoint).unwrap();
    assert_content(&table, &txn, &model);
    txn.commit().unwrap();
    assert_content(&table, &database.begin_read().unwrap(), &model);
    assert_sound(&database);
}

#[test]
fn a_detached_cursor_reads_pages_again_that_were_given_back() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let database = options(1).decoded_cache_bytes(1).open(&path).unwrap();
    let table: Records = create(&database);
    let mut txn = database.begin_write().unwrap();
    for number in 0..500 {
        table.insert(&mut txn, number, value(number, 100)).unwrap();
    }
    txn.commit().unwrap();
    let mut cursor = DetachedCursor::new(&table);
    for number in 0_u64..500 {
        let txn = database.begin_read().unwrap();
        assert!(cursor.next(&txn).unwrap());
        assert_eq!(*cursor.value(&txn).unwrap(), value(number, 100)[..]);
        drop(txn);
        // Other pages take the memory.
        let txn = database.begin_read().unwrap();
        table.get(&txn, (number + 250) % 500).unwrap();
    }
    assert!(database.metrics().evicted_pages > 500);
}

#[test]
fn pages_beyond_the_file_are_read_after_a_transaction_that_was_rolled_back() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let options = options(1).decoded_cache_bytes(1).write_memory_bytes(1);
    let database = options.open(&path).unwrap();
    let table: Records = create(&database);
    for is_kept in [false, true] {
        let mut txn = database.begin_write().unwrap();
        for number in 0..200 {
            table
                .insert(&mut txn, number, value(number, 9_000))
                .unwrap();
        }
        for number in 0..200 {
            let found = table.get(&txn, number).unwrap();
            assert_eq!(found, Some(&value(number, 9_000)[..]));
        }
        match is_kept {
            true => drop(txn.commit().unwrap()),
            false => txn.abort(),
        }
    }
    assert_sound(&database);
}

#[test]
fn the_last_values_of_a_key_are_read_when_the_others_are_removed() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let database = options(1).decoded_cache_bytes(1).open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_multi_table::<u64, Bytes>("values").unwrap();
    let long = |number: u64| value(number, 3_000 - number as usize);
    for number in 0..8 {
        table.insert(&mut txn, 1, long(number)).unwrap();
    }
    txn.commit().unwrap();
    for number in (0..8).rev() {
        let mut txn = database.begin_write().unwrap();
        assert!(table.remove(&mut txn, 1, long(number)).unwrap());
        txn.commit().unwrap();
        assert_sound(&database);
        assert_eq!(table.len(&database.begin_read().unwrap()).unwrap(), number);
    }
}

#[test]
fn values_are_aligned_in_the_transaction_that_writes_them() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let database = options(1).open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let aligned = TableOptions::new().value_align(16);
    let table: Records = TableDef::new("aligned")
        .options(aligned)
        .create(&mut txn)
        .unwrap();
    for number in 0..500 {
        table.insert(&mut txn, number, value(number, 100)).unwrap();
    }
    for number in 0..500 {
        let found = table.get(&txn, number).unwrap().unwrap();
        assert!(found.as_ptr().addr().is_multiple_of(16), "{number}");
    }
}

#[test]
fn only_the_key_opens_an_encrypted_database() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    options(1).open(&path).unwrap().close().unwrap();
    assert!(matches!(Database::open(&path), Err(Error::KeyNeeded(_))));
    assert!(matches!(
        options(2).open(&path),
        Err(Error::WrongKey { .. })
    ));
    assert!(matches!(teak::inspect(&path), Err(Error::KeyNeeded(_))));
    let plain = directory.path().join("plain.teak");
    Database::open(&plain).unwrap().close().unwrap();
    assert!(matches!(
        options(1).open(&plain),
        Err(Error::NotEncrypted(_))
    ));
    let _open = options(1).open(&path).unwrap();
    // Openings beside the first one are refused likewise.
    assert!(matches!(Database::open(&path), Err(Error::KeyNeeded(_))));
    assert!(matches!(
        options(2).open(&path),
        Err(Error::WrongKey { .. })
    ));
    options(1).open(&path).unwrap();
    let _open = Database::open(&plain).unwrap();
    assert!(matches!(
        options(1).open(&plain),
        Err(Error::NotEncrypted(_))
    ));
}

#[test]
fn every_changed_byte_is_an_error_and_never_a_wrong_record() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let mut model = Model::new();
    {
        let database = options(1).open(&path).unwrap();
        let table: Records = create(&database);
        let mut txn = database.begin_write().unwrap();
        let mut random = fastrand::Rng::with_seed(4);
        for _ in 0..10 {
            change(&mut random, &table, &mut txn, &mut model);
        }
        txn.commit().unwrap();
        database.close().unwrap();
    }
    let original = fs::read(&path).unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    let mut detected = 0;
    for _ in 0..200 {
        let mut bytes = original.clone();
        let at = random.usize(0..bytes.len());
        bytes[at] ^= 1 << random.u8(0..8);
        fs::write(&path, &bytes).unwrap();
        match read_all(options(1), &path) {
            Ok(read) => assert!(read == model, "byte {at}"),
            Err(_) => detected += 1,
        }
    }
    assert!(detected > 100, "most pages have records: {detected}");
}

#[test]
fn copies_and_increments_are_encrypted_and_restored_with_the_key() {
    let directory = tempdir().unwrap();
    let [path, copy, delta, restored] =
        ["x.teak", "copy.teak", "delta", "restored.teak"].map(|name| directory.path().join(name));
    let go_on = &mut |_| ControlFlow::Continue(());
    let database = options(1).open(&path).unwrap();
    let table = create(&database);
    let (mut random, mut model) = (fastrand::Rng::with_seed(6), Model::new());
    let mut commit = |model: &mut Model| {
        let mut txn = database.begin_write().unwrap();
        (0..20).for_each(|_| change(&mut random, &table, &mut txn, model));
        txn.commit().unwrap();
    };
    commit(&mut model);
    let first = database.begin_read().unwrap();
    database.backup(&copy, None, go_on).unwrap();
    commit(&mut model);
    let mut increment = Vec::new();
    let second = database.begin_read().unwrap();
    second
        .write_backup(&mut increment, Some(&first), go_on)
        .unwrap();
    fs::write(&delta, &increment).unwrap();
    assert_no_mark(&path);
    let restore = |options: &Options| {
        let full = &mut fs::File::open(&copy).unwrap();
        options.restore(
            full,
            &mut [&mut &increment[..]],
            &[],
            &restored,
            &mut |_| ControlFlow::Continue(()),
        )
    };
    assert!(matches!(restore(&Options::new()), Err(Error::KeyNeeded(_))));
    assert!(restore(&options(1)).unwrap().is_clean());
    let restored = options(1).open(&restored).unwrap();
    assert_content(&table, &restored.begin_read().unwrap(), &model);
    let dense = directory.path().join("dense.teak");
    second
        .copy_dense(&dense, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let saved = directory.path().join("saved.teak");
    let salvaged = options(1).salvage(&copy, &saved, &mut |_| ControlFlow::Continue(()));
    assert!(salvaged.unwrap().is_complete());
    assert_no_mark(&path);
    let dense = options(1).open(&dense).unwrap();
    assert_content(&table, &dense.begin_read().unwrap(), &model);
}

#[test]
fn a_damaged_page_ends_a_backup() {
    let directory = tempdir().unwrap();
    let [path, copy] = ["x.teak", "copy.teak"].map(|name| directory.path().join(name));
    let database = options(1).open(&path).unwrap();
    let table = create(&database);
    let mut txn = database.begin_write().unwrap();
    for number in 0..500 {
        table.insert(&mut txn, number, value(number, 100)).unwrap();
    }
    table.insert(&mut txn, 1_000, value(1_000, 50_000)).unwrap();
    txn.commit().unwrap();
    database.close().unwrap();
    let original = fs::read(&path).unwrap();
    let mut refused = 0;
    for page in 4..original.len() / 4096 {
        let mut bytes = original.clone();
        bytes[page * 4096 + 2_000] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let opened = options(1).read_only(true).open(&path);
        let copied = opened
            .and_then(|database| database.backup(&copy, None, &mut |_| ControlFlow::Continue(())));
        match copied {
            Err(_) => refused += 1,
            Ok(_) => fs::remove_file(&copy).unwrap(),
        }
    }
    assert!(refused > 25, "{refused}");
}

#[test]
fn a_bulk_load_larger_than_memory_leaves_no_text() {
    let directory = tempdir().unwrap();
    let (path, spilled) = (
        directory.path().join("x.teak"),
        directory.path().join("spilled"),
    );
    fs::create_dir(&spilled).unwrap();
    let database = options(1).open(&path).unwrap();
    let table = create(&database);
    let mut txn = database.begin_write().unwrap();
    let records = (0..20_000_u64)
        .rev()
        .map(|number| (number, value(number, 40)));
    let bulk = teak::BulkOptions::new()
        .memory_bytes(1 << 16)
        .directory(&spilled);
    table
        .bulk_load_unsorted(&mut txn, records, bulk, &mut |_| {})
        .unwrap();
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    for number in [0, 7, 19_999] {
        assert_eq!(
            table.get(&txn, number).unwrap(),
            Some(&value(number, 40)[..])
        );
    }
    assert_no_mark(&path);
}

#[test]
fn a_key_is_changed_without_writing_pages_again() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let database = options(1).open(&path).unwrap();
    let table = create(&database);
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 1, value(1, 10)).unwrap();
    txn.commit().unwrap();
    database
        .change_encryption_key(&EncryptionKey::from_bytes([2; 32]))
        .unwrap();
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 2, value(2, 10)).unwrap();
    txn.commit().unwrap();
    database.close().unwrap();
    assert!(matches!(
        options(1).open(&path),
        Err(Error::WrongKey { .. })
    ));
    let database = options(2).open(&path).unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(table.len(&txn).unwrap(), 2);
    let plain = Database::open(directory.path().join("plain.teak")).unwrap();
    let refused = plain.change_encryption_key(&EncryptionKey::from_bytes([2; 32]));
    assert!(matches!(refused, Err(Error::NotEncrypted(_))));
}

#[test]
fn a_key_is_not_changed_while_a_transaction_is_prepared() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let database = options(1).open(&path).unwrap();
    let table = create(&database);
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 1, value(1, 10)).unwrap();
    txn.prepare("seven").unwrap();
    let new = EncryptionKey::from_bytes([2; 32]);
    let refused = database.change_encryption_key(&new);
    let is_expected = matches!(refused, Err(Error::TransactionPrepared { .. }));
    assert!(is_expected, "{refused:?}");
    options(1).open(&path).unwrap();
    database.commit_prepared("seven").unwrap();
    database.change_encryption_key(&new).unwrap();
    database.close().unwrap();
    let database = options(2).open(&path).unwrap();
    assert_eq!(table.len(&database.begin_read().unwrap()).unwrap(), 1);
}

#[test]
fn keys_that_are_changed_at_the_same_time_are_changed_one_after_the_other() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.teak");
    let database = options(1).open(&path).unwrap();
    let table = create(&database);
    let keys = [2, 3, 4, 5].map(|key| EncryptionKey::from_bytes([key; 32]));
    for _ in 0..5 {
        thread::scope(|scope| {
            for key in &keys {
                scope.spawn(|| database.change_encryption_key(key).unwrap());
            }
            let mut txn = database.begin_write().unwrap();
            table.insert(&mut txn, 1, value(1, 10)).unwrap();
            txn.commit().unwrap();
        });
    }
    database.close().unwrap();
    let opening = [1, 2, 3, 4, 5].map(|key| match options(key).open(&path) {
        Ok(_) => true,
        Err(Error::WrongKey { .. }) => false,
        Err(error) => panic!("{error}"),
    });
    let count = opening.iter().filter(|opens| **opens).count();
    assert!(count == 1 && !opening[0], "{opening:?}");
}

#[test]
fn a_record_that_is_not_authentic_costs_only_its_slot() {
    let directory = tempdir().unwrap();
    let [path, foreign, saved] =
        ["x.teak", "foreign.teak", "saved.teak"].map(|name| directory.path().join(name));
    let database = options(1).open(&path).unwrap();
    let table = create(&database);
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 1, value(1, 10)).unwrap();
    txn.commit().unwrap();
    database.close().unwrap();
    let database = options(2).open(&foreign).unwrap();
    (0..4).for_each(|_| drop(create(&database)));
    database.close().unwrap();
    let [original, foreign] = [&path, &foreign].map(|path| fs::read(path).unwrap());
    for slot in 0..4 {
        let mut bytes = original.clone();
        let page = slot * 4096..(slot + 1) * 4096;
        bytes[page.clone()].copy_from_slice(&foreign[page]);
        fs::write(&path, &bytes).unwrap();
        let salvaged = options(1).salvage(&path, &saved, &mut |_| ControlFlow::Continue(()));
        let passed_over = salvaged.unwrap().passed_over.concat();
        assert!(passed_over.contains("not authentic"), "{passed_over}");
        fs::remove_file(&saved).unwrap();
        assert!(matches!(Database::open(&path), Err(Error::KeyNeeded(_))));
        let database = options(1).open(&path).unwrap();
        assert_eq!(table.len(&database.begin_read().unwrap()).unwrap(), 1);
        database.close().unwrap();
    }
    // None is left.
    fs::write(
        &path,
        [&foreign[..4 * 4096], &original[4 * 4096..]].concat(),
    )
    .unwrap();
    assert!(matches!(
        options(1).open(&path),
        Err(Error::WrongKey { .. })
    ));
}

#[test]
fn names_of_expiring_tables_leave_room_for_their_indexes() {
    let directory = tempdir().unwrap();
    let path = |name| directory.path().join(name);
    let plain = Database::open(path("plain.teak")).unwrap();
    for database in [plain, options(1).open(path("x.teak")).unwrap()] {
        let mut txn = database.begin_write().unwrap();
        let expiry = ExpiryOptions::new();
        txn.create_expiring_table::<Raw, Raw>("old", &expiry)
            .unwrap();
        let (mut possible, mut impossible) = (0, 0);
        for len in 3_700..3_850 {
            let name = vec![b'x'; len];
            let created = txn.create_expiring_table::<Raw, Raw>(&name, &expiry);
            if created.is_ok() {
                assert!(txn.drop_table(&name).unwrap());
            }
            let renamed = txn.rename_table("old", &name);
            assert_eq!(created.is_ok(), renamed.is_ok(), "{len}: {renamed:?}");
            match renamed {
                Ok(()) => {
                    txn.rename_table(&name, "old").unwrap();
                    possible += 1;
                }
                Err(_) => impossible += 1,
            }
            txn.create_table::<u32, u64>("other").unwrap();
        }
        assert!(possible > 0 && impossible > 0);
        txn.open_expiring_table::<Raw, Raw>("old").unwrap();
        txn.commit().unwrap();
        assert_sound(&database);
    }
}

#[test]
fn small_commits_of_a_killed_process_are_in_its_encrypted_log() {
    let directory = tempdir().unwrap();
    let [path, copy] = ["x.teak", "copy/x.teak"].map(|name| directory.path().join(name));
    fs::create_dir(copy.parent().unwrap()).unwrap();
    let database = options(1).durability(Durability::Lazy).open(&path).unwrap();
    let table = create(&database);
    for number in 0..100 {
        let mut txn = database.begin_write().unwrap();
        table.insert(&mut txn, number, value(number, 50)).unwrap();
        txn.commit().unwrap();
    }
    // The copy is what another process would find after a kill.
    for file in files(&path) {
        let name = file.file_name().unwrap();
        if !name.to_string_lossy().contains("lock") {
            fs::copy(&file, copy.with_file_name(name)).unwrap();
        }
    }
    assert_no_mark(&copy);
    let database = options(1).open(&copy).unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(table.len(&txn).unwrap(), 100);
}

#[test]
fn a_dense_copy_gets_the_key_and_the_cipher_that_are_given() {
    let directory = tempdir().unwrap();
    let [plain, first, second, third] =
        ["plain", "first", "second", "third"].map(|name| directory.path().join(name));
    let go_on = &mut |_| ControlFlow::Continue(());
    let database = Database::open(&plain).unwrap();
    let table = create(&database);
    let mut txn = database.begin_write().unwrap();
    table.insert(&mut txn, 1, value(1, 100)).unwrap();
    txn.commit().unwrap();
    assert_eq!(database.info().cipher, None);
    let state = database.begin_read().unwrap();
    let wanted = options(1).cipher(Cipher::XChaCha20Poly1305);
    state.copy_dense_with(&wanted, &first, go_on).unwrap();

    // The cipher of the options is that of new databases.
    let database = options(1).open(&first).unwrap();
    assert_eq!(database.info().cipher, Some(Cipher::XChaCha20Poly1305));
    let state = database.begin_read().unwrap();
    state.copy_dense_with(&options(2), &second, go_on).unwrap();
    state.copy_dense(&third, go_on).unwrap();
    let unencrypted = directory.path().join("unencrypted");
    let none = Options::new();
    state.copy_dense_with(&none, &unencrypted, go_on).unwrap();
    for (opened, cipher) in [
        (options(2).open(&second), Some(Cipher::Aes256Gcm)),
        (options(1).open(&third), Some(Cipher::XChaCha20Poly1305)),
        (none.open(&unencrypted), None),
    ] {
        let database = opened.unwrap();
        assert_eq!(database.info().cipher, cipher);
        let txn = database.begin_read().unwrap();
        assert_eq!(table.get(&txn, 1).unwrap(), Some(&value(1, 100)[..]));
    }
}
