//! Transactions on the simulated disk.

use crate::{Error, TransactionId, btree::lookup, io::sim::SimDisk};
use crate::{
    admin::check,
    instance::engine::Engine,
    observe::recovery::Recovery,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, Model, OTHER_BOOT, TestCodec, assert_clean, coded, create_table, get,
        insert, key, new_database, open, remove,
    },
    write::transaction::WriteTransaction,
};

#[test]
fn committed_records_exist_after_a_close() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    assert_eq!(txn.id(), TransactionId(1));
    create_table(&mut txn, b"a");
    for i in 0..1000 {
        insert(&mut txn, b"a", &key(i), &[i as u8; 50]).unwrap();
    }
    assert_eq!(txn.commit().unwrap(), TransactionId(1));
    assert_clean(&engine);
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk, false, OTHER_BOOT).unwrap();
    assert_eq!(*engine.recovery(), Recovery::Clean);
    for i in 0..1000 {
        assert_eq!(get(&engine, b"a", &key(i)).unwrap(), [i as u8; 50]);
    }
    assert_clean(&engine);
}

#[test]
fn an_unchanged_transaction_makes_no_call() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    insert(&mut txn, b"a", b"key", b"value").unwrap();
    txn.commit().unwrap();
    let events = disk.event_count();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", b"key", b"value").unwrap();
    assert!(!remove(&mut txn, b"a", b"another"));
    assert_eq!(txn.commit().unwrap(), TransactionId(1));
    WriteTransaction::begin(&engine).unwrap().commit().unwrap();
    assert_eq!(disk.event_count(), events);
}

#[test]
fn creating_a_database_flushes_its_record_once() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    let events = disk.events();
    let flushes = events
        .iter()
        .filter(|event| matches!(***event, crate::io::sim::DiskEvent::Flush));
    assert_eq!(flushes.count(), 1);
    drop(engine);
    // From now on the record is on the disk.
    let engine = open(&disk, false, OTHER_BOOT).unwrap();
    assert_eq!(engine.newest(), TransactionId(0));
    assert_clean(&engine);
}

#[test]
fn a_durable_commit_flushes_once() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    for i in 0..300u32 {
        let before = disk.event_count();
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        if i == 0 {
            create_table(&mut txn, b"a");
        }
        insert(&mut txn, b"a", &key(i), b"value").unwrap();
        txn.commit().unwrap();
        let events = &disk.events()[before..];
        let flushes = events
            .iter()
            .filter(|event| matches!(***event, crate::io::sim::DiskEvent::Flush));
        assert_eq!(flushes.count(), 1);
    }
    assert_clean(&engine);
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    insert(&mut txn, b"a", b"key", b"value").unwrap();
    txn.commit().unwrap();
    let free = engine.begin_read().unwrap().counts().unwrap()[0];
    for _ in 0..3 {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        for i in 0..20_000 {
            insert(&mut txn, b"a", &key(i), &[7; 100]).unwrap();
        }
        drop(txn);
        assert_eq!(get(&engine, b"a", &key(5)), None);
    }
    assert_clean(&engine);
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", b"key", b"other").unwrap();
    txn.commit().unwrap();
    assert_clean(&engine);
    assert!(engine.begin_read().unwrap().counts().unwrap()[0] >= free);
}

/// The transaction held the writer lock that the end of the engine waited for.
#[test]
fn a_transaction_may_be_the_last_owner_of_the_database() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    let txn = WriteTransaction::begin(&engine).unwrap();
    drop(engine);
    drop(txn);
    let engine = open(&disk, false, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    drop(engine);
    txn.commit().unwrap();
    let engine = open(&disk, false, OTHER_BOOT).unwrap();
    assert_eq!(*engine.recovery(), Recovery::Clean);
}

#[test]
fn a_reader_keeps_only_its_own_snapshot() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    for i in 0..2000 {
        insert(&mut txn, b"a", &key(i), &[1; 100]).unwrap();
    }
    txn.commit().unwrap();
    let reader = engine.begin_read().unwrap();
    let size = |engine: &Engine| engine.file_bytes();
    let before = size(&engine);
    for round in 0..400u32 {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        insert(&mut txn, b"a", &key(round % 50), &round.to_le_bytes()).unwrap();
        txn.commit().unwrap();
    }
    let root = reader.root_of(engine.handle(b"a"), b"a").unwrap().unwrap();
    for i in 0..2000 {
        let value = lookup::get(&*reader, &root, &key(i)).unwrap().unwrap();
        assert_eq!(value.bytes, [1; 100]);
    }
    assert!(check::report(&reader).is_clean());
    assert_clean(&engine);
    // Pages visible to the reader, new pages and free pages, so that commits find consecutive
    // pages.
    assert!(
        size(&engine) < before * 5 / 2,
        "{} then {}",
        before,
        size(&engine)
    );
}

#[test]
fn random_transactions_match_a_map_through_reopening() {
    let disk = SimDisk::new(CAPACITY);
    let mut engine = open(&disk, true, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    txn.commit().unwrap();
    let mut boot = BOOT;
    let mut model = Model::new();
    let mut seed = 77u64;
    let mut random = move |limit: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % limit
    };
    for round in 0..150u64 {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        if random(2) == 0 {
            txn.set_durability(Durability::Lazy);
        }
        let mut next = model.clone();
        for _ in 0..random(300) {
            let key = key(random(3000) as u32);
            if random(3) == 0 {
                assert_eq!(remove(&mut txn, b"a", &key), next.remove(&key).is_some());
            } else {
                let len = if random(20) == 0 {
                    random(30_000)
                } else {
                    random(200)
                };
                let value = vec![random(256) as u8; len as usize];
                insert(&mut txn, b"a", &key, &value).unwrap();
                next.insert(key, value);
            }
        }
        if random(4) == 0 {
            txn.abort();
        } else {
            txn.commit().unwrap();
            model = next;
        }
        if round % 10 == 9 {
            assert_clean(&engine);
            if random(2) == 0 {
                engine.close().unwrap();
            } else {
                // As if the process had been killed.
                let image = disk.process_crash();
                let copy = SimDisk::from_image(image, CAPACITY);
                let other = open(&copy, false, boot).unwrap();
                assert!(
                    matches!(other.recovery(), Recovery::Killed { .. }),
                    "{round}"
                );
                assert_clean(&other);
                for (key, value) in &model {
                    assert_eq!(get(&other, b"a", key).as_ref(), Some(value));
                }
                continue;
            }
            drop(engine);
            boot = OTHER_BOOT;
            engine = open(&disk, false, boot).unwrap();
            assert_eq!(*engine.recovery(), Recovery::Clean);
            for (key, value) in &model {
                assert_eq!(get(&engine, b"a", key).as_ref(), Some(value));
            }
        }
    }
}

#[test]
fn savepoints_roll_back_to_any_depth() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    for i in 0..500 {
        insert(&mut txn, b"a", &key(i), b"base").unwrap();
    }
    txn.commit().unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", &key(0), b"outer").unwrap();
    let outer = txn.begin_savepoint().unwrap();
    for i in 0..400 {
        insert(&mut txn, b"a", &key(i), b"middle").unwrap();
    }
    create_table(&mut txn, b"b");
    let inner = txn.begin_savepoint().unwrap();
    for i in 0..500 {
        remove(&mut txn, b"a", &key(i));
    }
    txn.roll_back_to(inner).unwrap();
    txn.end_savepoint(inner).unwrap();
    insert(&mut txn, b"b", b"x", b"y").unwrap();
    let second = txn.begin_savepoint().unwrap();
    insert(&mut txn, b"a", &key(499), b"second").unwrap();
    txn.end_savepoint(second).unwrap();
    assert!(matches!(
        txn.roll_back_to(second),
        Err(Error::InvalidArgument(_))
    ));
    txn.roll_back_to(outer).unwrap();
    insert(&mut txn, b"a", &key(1), b"after").unwrap();
    txn.commit().unwrap();
    assert_eq!(get(&engine, b"a", &key(0)).unwrap(), b"outer");
    assert_eq!(get(&engine, b"a", &key(1)).unwrap(), b"after");
    assert_eq!(get(&engine, b"a", &key(499)).unwrap(), b"base");
    assert_eq!(get(&engine, b"b", b"x"), None);
    assert_clean(&engine);
}

/// A workload of durable and lazy commits, then every crash point with random choices. An opened
/// database must be in a committed state, not older than the last durable one.
#[test]
fn power_cuts_leave_a_committed_state() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    let mut states = vec![(TransactionId(0), Model::new())];
    let mut marks = Vec::new();
    let mut model = Model::new();
    for round in 0..60u32 {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        if round == 0 {
            create_table(&mut txn, b"a");
        }
        let is_lazy = round % 3 != 0;
        if is_lazy {
            txn.set_durability(Durability::Lazy);
        }
        for i in 0..(round % 7) * 9 + 1 {
            let (key, value) = (key(i * 31 + round), vec![round as u8; 150]);
            insert(&mut txn, b"a", &key, &value).unwrap();
            model.insert(key, value);
        }
        let id = txn.commit().unwrap();
        states.push((id, model.clone()));
        marks.push((disk.event_count(), id, is_lazy));
    }
    let mut seed = 5u64;
    let mut images = 0;
    for event in 4..disk.event_count() {
        for granularity in [4096, 512, 64] {
            let mut choice = |count: usize| {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(99);
                (seed >> 33) as usize % count
            };
            let image = disk.power_cut_at(event, &mut choice, granularity);
            let least = marks
                .iter()
                .filter(|(at, _, is_lazy)| *at <= event && !is_lazy)
                .map(|(_, id, _)| *id)
                .max()
                .unwrap_or_default();
            let crashed = SimDisk::from_image(image, CAPACITY);
            let engine = match open(&crashed, false, OTHER_BOOT) {
                Ok(engine) => engine,
                Err(error) => panic!("event {event}: {error}"),
            };
            let snapshot = engine.begin_read().unwrap();
            assert!(
                snapshot.transaction() >= least,
                "event {event}: {:?}",
                engine.recovery()
            );
            let (_, expected) = states
                .iter()
                .find(|(id, _)| *id == snapshot.transaction())
                .unwrap();
            assert_clean(&engine);
            for (key, value) in expected {
                assert_eq!(
                    get(&engine, b"a", key).as_ref(),
                    Some(value),
                    "event {event}"
                );
            }
            images += 1;
        }
    }
    println!("{images} images");
}

#[test]
fn power_cuts_leave_a_committed_state_of_an_encrypted_database() {
    coded(TestCodec::Encrypted, power_cuts_leave_a_committed_state);
}

#[test]
fn power_cuts_leave_a_committed_state_of_a_compressed_database() {
    coded(TestCodec::Compressed, power_cuts_leave_a_committed_state);
}

#[test]
fn random_transactions_of_an_encrypted_database_match_a_map() {
    coded(
        TestCodec::Encrypted,
        random_transactions_match_a_map_through_reopening,
    );
}

#[test]
fn random_transactions_of_a_compressed_database_match_a_map() {
    coded(
        TestCodec::Compressed,
        random_transactions_match_a_map_through_reopening,
    );
}

#[test]
fn random_transactions_of_a_compressed_and_encrypted_database_match_a_map() {
    coded(
        TestCodec::Both,
        random_transactions_match_a_map_through_reopening,
    );
}

#[test]
fn savepoints_of_an_encrypted_database_roll_back() {
    coded(TestCodec::Encrypted, savepoints_roll_back_to_any_depth);
}

#[test]
fn savepoints_of_a_compressed_database_roll_back() {
    coded(TestCodec::Compressed, savepoints_roll_back_to_any_depth);
}

/// A process that gives each of its short-lived tables a new name has many handles, which must not
/// slow down transactions.
#[test]
fn a_transaction_has_only_the_tables_that_it_opened() {
    let (_, engine) = new_database();
    for number in 0..5000 {
        engine.handle(format!("table {number}").as_bytes());
    }
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"table 4999");
    txn.begin_savepoint().unwrap();
    insert(&mut txn, b"table 4999", b"key", b"value").unwrap();
    assert_eq!(txn.tables.open.len(), 1);
    txn.commit().unwrap();
    assert_eq!(get(&engine, b"table 4999", b"key"), Some(b"value".to_vec()));
}
