//! Named snapshots: states that are kept, and rolling back to them.

use crate::shared::temporary_path;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::ControlFlow,
    path::Path,
};
use teak::{
    Database, Durability, Error, Result, Table, TableTypes, Transaction, WriteTxn, codec::Bytes,
};

type Numbers = Table<u64, Bytes>;
type Model = BTreeMap<u64, Vec<u8>>;

fn open(path: &Path) -> Database {
    Database::open(path).unwrap()
}

fn numbers(database: &Database) -> Numbers {
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table("numbers").unwrap();
    txn.commit().unwrap();
    table
}

fn fill(txn: &mut WriteTxn, table: &Numbers, numbers: std::ops::Range<u64>, byte: u8) {
    for number in numbers {
        table.insert(txn, number, [byte; 100]).unwrap();
    }
}

fn all(table: &Numbers, txn: &impl Transaction) -> Model {
    let records = table.iter(txn).unwrap();
    records
        .map(|record| record.map(|(key, value)| (key, value.to_vec())))
        .collect::<Result<_>>()
        .unwrap()
}

fn assert_clean(database: &Database) {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.damages.is_empty(), "{:?}", report.damages);
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let table = numbers(&database);
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 0..2000, 1);
    txn.create_snapshot("one").unwrap();
    let one = txn.commit().unwrap();
    for round in 0..30 {
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, &table, round * 50..round * 50 + 400, 2);
        txn.commit().unwrap();
    }
    assert_clean(&database);
    let past = database.open_snapshot("one").unwrap();
    assert_eq!(past.id(), one);
    let expected: Model = (0..2000).map(|number| (number, vec![1; 100])).collect();
    assert!(all(&table, &past) == expected);
    drop(past);
    database.close().unwrap();

    let database = open(&path);
    assert_clean(&database);
    let mut txn = database.begin_write().unwrap();
    let table: Numbers = txn.open_table("numbers").unwrap();
    fill(&mut txn, &table, 0..2000, 3);
    txn.commit().unwrap();
    assert_eq!(
        all(&table, &database.open_snapshot("one").unwrap()),
        expected
    );
    let [info] = &database.snapshots().unwrap()[..] else {
        panic!("there is one snapshot");
    };
    assert_eq!((&info.name[..], info.transaction), (&b"one"[..], one));
    assert!(info.kept_pages > 50, "{info:?}");
    assert_clean(&database);
}

#[test]
fn pages_of_a_dropped_snapshot_are_reused() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let table = numbers(&database);
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 0..5000, 1);
    txn.commit().unwrap();
    database.create_snapshot("one").unwrap();
    let mut txn = database.begin_write().unwrap();
    table.clear(&mut txn).unwrap();
    txn.commit().unwrap();
    let small = |count: u64| {
        for number in 0..count {
            let mut txn = database.begin_write().unwrap();
            table
                .insert(&mut txn, number % 3, number.to_le_bytes())
                .unwrap();
            txn.commit().unwrap();
        }
    };
    small(20);
    let kept = database.stat().unwrap();
    assert!(kept.pending_pages > 100, "{kept:?}");
    let past = database.open_snapshot("one").unwrap();
    database.drop_snapshot("one").unwrap();
    assert!(matches!(
        database.open_snapshot("one"),
        Err(Error::SnapshotNotFound(_))
    ));
    small(20);
    assert_eq!(table.len(&past).unwrap(), 5000, "a reader keeps it");
    assert!(all(&table, &past).len() == 5000);
    drop(past);
    small(20);
    let freed = database.stat().unwrap();
    assert!(freed.pending_pages < 30, "{freed:?}");
    assert_eq!(database.snapshots().unwrap(), []);
    assert_clean(&database);
}

#[test]
fn names_are_unique_and_follow_their_transaction() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let table = numbers(&database);
    let mut txn = database.begin_write().unwrap();
    txn.create_snapshot("a").unwrap();
    assert!(matches!(
        txn.create_snapshot("a"),
        Err(Error::SnapshotExists(_))
    ));
    txn.drop_snapshot("a").unwrap();
    assert!(matches!(
        txn.drop_snapshot("a"),
        Err(Error::SnapshotNotFound(_))
    ));
    txn.abort();
    database.create_snapshot("a").unwrap();
    let mut txn = database.begin_write().unwrap();
    let savepoint = txn.savepoint().unwrap();
    txn.drop_snapshot("a").unwrap();
    txn.create_snapshot("b").unwrap();
    txn.rollback_to(&savepoint).unwrap();
    assert!(matches!(
        txn.create_snapshot("a"),
        Err(Error::SnapshotExists(_))
    ));
    txn.release(savepoint).unwrap();
    fill(&mut txn, &table, 0..10, 1);
    txn.drop_snapshot("a").unwrap();
    txn.create_snapshot("a").unwrap();
    txn.commit().unwrap();
    assert_eq!(
        table.len(&database.open_snapshot("a").unwrap()).unwrap(),
        10
    );
    let mut txn = database.begin_write().unwrap();
    for refused in [&[7; 256][..], &[]] {
        assert!(matches!(
            txn.create_snapshot(refused),
            Err(Error::InvalidArgument(_))
        ));
    }
    txn.create_snapshot([7; 255]).unwrap();
    txn.commit().unwrap();
    assert_eq!(database.snapshots().unwrap().len(), 2);
    database.close().unwrap();
    let database = open(&path);
    assert_eq!(database.snapshots().unwrap().len(), 2);
    assert_clean(&database);
}

#[test]
fn the_database_is_rolled_back_and_forward() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let table = numbers(&database);
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 0..3000, 1);
    table.insert(&mut txn, 1, vec![9; 50_000]).unwrap();
    txn.create_snapshot("one").unwrap();
    txn.commit().unwrap();
    let one = all(&table, &database.begin_read().unwrap());

    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 1000..6000, 2);
    table.remove(&mut txn, 1).unwrap();
    table.insert(&mut txn, 2, vec![8; 90_000]).unwrap();
    let other: Numbers = txn.create_table("other").unwrap();
    other.insert(&mut txn, 5, b"five").unwrap();
    txn.create_snapshot("two").unwrap();
    txn.commit().unwrap();
    let two = all(&table, &database.begin_read().unwrap());
    let reader = database.begin_read().unwrap();

    for round in 0..3 {
        for (name, expected, others) in [("one", &one, 0), ("two", &two, 1)] {
            let mut txn = database.begin_write().unwrap();
            txn.roll_back_to_snapshot(name).unwrap();
            assert!(&all(&table, &txn) == expected);
            txn.commit().unwrap();
            let after = database.begin_read().unwrap();
            assert!(&all(&table, &after) == expected, "round {round}");
            assert_eq!(after.tables().unwrap().len(), 1 + others);
            assert_clean(&database);
            assert!(all(&table, &reader) == two);
            let mut txn = database.begin_write().unwrap();
            fill(&mut txn, &table, round * 100..round * 100 + 500, 7);
            txn.commit().unwrap();
            assert_clean(&database);
        }
    }
    drop(reader);
    assert!(all(&table, &database.open_snapshot("one").unwrap()) == one);
    database.drop_snapshot("one").unwrap();
    database.drop_snapshot("two").unwrap();
    for _ in 0..3 {
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, &table, 0..10, 7);
        txn.commit().unwrap();
    }
    assert_clean(&database);
    let stat = database.stat().unwrap();
    assert!(stat.pending_pages < 40, "{stat:?}");
    database.close().unwrap();
    assert_clean(&open(&path));
}

#[test]
fn the_state_before_a_rollback_gets_a_name_in_the_same_transaction() {
    let (_directory, path) = temporary_path();
    for durability in [Durability::Durable, Durability::Lazy, Durability::Async] {
        let database = open(&path);
        let table = numbers(&database);
        let name = |number: u64| format!("{number} {durability:?}");
        let old = format!("old {durability:?}");
        database.create_snapshot(&old).unwrap();
        let mut expected = Vec::new();
        for round in 0..6 {
            let mut txn = database.begin_write().unwrap();
            txn.set_durability(durability);
            fill(&mut txn, &table, 0..1000 + round, round as u8);
            txn.commit().unwrap();
            let before = database.begin_read().unwrap();
            let mut txn = database.begin_write().unwrap();
            txn.set_durability(durability);
            txn.create_snapshot(name(round)).unwrap();
            txn.create_snapshot("not wanted").unwrap();
            txn.drop_snapshot("not wanted").unwrap();
            txn.roll_back_to_snapshot(&old).unwrap();
            assert!(matches!(
                txn.create_snapshot(name(round)),
                Err(Error::SnapshotExists(_))
            ));
            fill(&mut txn, &table, 0..round, 77);
            txn.create_snapshot(name(100 + round)).unwrap();
            txn.commit().unwrap();
            let made = database.begin_read().unwrap();
            for (number, state) in [(round, &before), (100 + round, &made)] {
                let named = database.open_snapshot(name(number)).unwrap();
                assert_eq!(named.id(), state.id());
                assert_eq!(all(&table, &named), all(&table, state));
                expected.push((name(number), all(&table, state)));
            }
        }
        assert_clean(&database);
        database.close().unwrap();
        let database = open(&path);
        assert_clean(&database);
        for (name, model) in &expected {
            let state = database.open_snapshot(name).unwrap();
            assert_eq!(all(&numbers(&database), &state), *model);
        }
    }
}

#[test]
fn a_rollback_is_a_change_that_may_be_undone() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let table = numbers(&database);
    database.create_snapshot("empty").unwrap();
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 0..1000, 1);
    assert!(matches!(
        txn.roll_back_to_snapshot("empty"),
        Err(Error::InvalidArgument(_))
    ));
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    assert!(matches!(
        txn.roll_back_to_snapshot("full"),
        Err(Error::SnapshotNotFound(_))
    ));
    txn.roll_back_to_snapshot("empty").unwrap();
    fill(&mut txn, &table, 5..10, 3);
    txn.abort();
    assert_eq!(table.len(&database.begin_read().unwrap()).unwrap(), 1000);
    assert_clean(&database);
    let mut txn = database.begin_write().unwrap();
    txn.roll_back_to_snapshot("empty").unwrap();
    let savepoint = txn.savepoint().unwrap();
    fill(&mut txn, &table, 0..500, 3);
    txn.rollback_to(&savepoint).unwrap();
    fill(&mut txn, &table, 5..10, 3);
    txn.create_snapshot("five").unwrap();
    txn.commit().unwrap();
    assert_eq!(table.len(&database.begin_read().unwrap()).unwrap(), 5);
    assert_clean(&database);
    assert_eq!(
        table.len(&database.open_snapshot("five").unwrap()).unwrap(),
        5
    );
}

#[test]
fn a_copy_has_the_snapshots_of_its_original() {
    let (directory, path) = temporary_path();
    let database = open(&path);
    let table = numbers(&database);
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 0..3000, 1);
    txn.create_snapshot("one").unwrap();
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 0..3000, 2);
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 0..10, 3);
    txn.commit().unwrap();
    let copy = directory.path().join("copy.teak");
    database
        .backup(&copy, None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let past = database.open_snapshot("one").unwrap();
    let refused = past.write_backup(&mut Vec::new(), None, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let copy = open(&copy);
    assert_clean(&copy);
    let table: Numbers = copy.begin_read().unwrap().open_table("numbers").unwrap();
    let one = copy.open_snapshot("one").unwrap();
    assert_eq!(table.get(&one, 2999).unwrap(), Some(&[1; 100][..]));
    assert_eq!(
        table.get(&copy.begin_read().unwrap(), 5).unwrap(),
        Some(&[3; 100][..])
    );
}

/// Many random changes: snapshots that are made and dropped, rollbacks, restarts, all compared with
/// a model.
#[test]
fn many_snapshots_agree_with_a_model() {
    let (_directory, path) = temporary_path();
    let mut database = open(&path);
    numbers(&database);
    let mut seed = 0x5eed_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut present = Model::new();
    let mut named: BTreeMap<Vec<u8>, Model> = BTreeMap::new();
    for step in 0..400_u64 {
        let mut txn = database.begin_write().unwrap();
        let table: Numbers = txn.open_table("numbers").unwrap();
        txn.set_durability([Durability::Durable, Durability::Lazy][draw(2) as usize]);
        if draw(8) == 0
            && let Some(name) = named.keys().nth(draw(named.len().max(1) as u64) as usize)
        {
            txn.roll_back_to_snapshot(name).unwrap();
            present = named[name].clone();
        }
        for _ in 0..draw(60) {
            let (key, len) = (draw(500), [20, 700, 5000][draw(3) as usize]);
            if draw(3) == 0 {
                table.remove(&mut txn, key).unwrap();
                present.remove(&key);
            } else {
                let value = vec![step as u8; len];
                table.insert(&mut txn, key, &value).unwrap();
                present.insert(key, value);
            }
        }
        if draw(5) == 0
            && let Some(name) = named
                .keys()
                .nth(draw(named.len().max(1) as u64) as usize)
                .cloned()
        {
            txn.drop_snapshot(&name).unwrap();
            named.remove(&name);
        }
        if draw(3) == 0 && named.len() < 8 {
            let name = format!("s{}", draw(20)).into_bytes();
            if let Entry::Vacant(vacant) = named.entry(name) {
                txn.create_snapshot(vacant.key()).unwrap();
                vacant.insert(present.clone());
            }
        }
        txn.commit().unwrap();
        if draw(30) == 0 {
            database.close().unwrap();
            database = open(&path);
        }
        if step % 20 == 19 {
            let table: Numbers = database
                .begin_read()
                .unwrap()
                .open_table("numbers")
                .unwrap();
            assert_eq!(
                all(&table, &database.begin_read().unwrap()),
                present,
                "step {step}"
            );
            for (name, model) in &named {
                let past = database.open_snapshot(name).unwrap();
                assert_eq!(&all(&table, &past), model, "step {step}");
            }
            assert_eq!(database.snapshots().unwrap().len(), named.len());
            assert_clean(&database);
        }
    }
}

fn proceed(_: teak::BackupProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn increments_lead_from_a_copy_to_the_present() {
    let (directory, path) = temporary_path();
    let database = open(&path);
    let table = numbers(&database);
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 0..20_000, 1);
    table.insert(&mut txn, 7, vec![7; 50_000]).unwrap();
    txn.commit().unwrap();
    database.create_snapshot("one").unwrap();
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 100..110, 2);
    txn.commit().unwrap();
    // The copy is of a later state than the snapshot.
    let full = directory.path().join("full.teak");
    database.backup(&full, None, &mut proceed).unwrap();
    let mut increments = Vec::new();
    let mut models = vec![all(&table, &database.begin_read().unwrap())];
    let mut since = "one".to_owned();
    for round in 0..4_u64 {
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, &table, round * 3000..round * 3000 + 5, 3);
        table
            .insert(&mut txn, round, vec![round as u8; 9000])
            .unwrap();
        txn.commit().unwrap();
        if round == 2 {
            let mut txn = database.begin_write().unwrap();
            txn.roll_back_to_snapshot("one").unwrap();
            fill(&mut txn, &table, 500..505, 9);
            txn.commit().unwrap();
        }
        let name = format!("round {round}");
        database.create_snapshot(&name).unwrap();
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, &table, 40..42, round as u8);
        txn.commit().unwrap();
        let mut increment = Vec::new();
        let older = database.open_snapshot(&since).unwrap();
        let newer = database.begin_read().unwrap();
        let done = newer
            .write_backup(&mut increment, Some(&older), &mut proceed)
            .unwrap();
        assert_eq!(done.bytes, done.total_bytes);
        assert!(done.bytes < 60 * 4096, "{done:?}");
        let refused = older.write_backup(&mut Vec::new(), Some(&newer), &mut proceed);
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
        increments.push(increment);
        models.push(all(&table, &newer));
        since = name;
    }
    for count in 0..=increments.len() {
        let target = directory.path().join(format!("restored-{count}.teak"));
        let mut parts: Vec<&[u8]> = increments[..count].iter().map(Vec::as_slice).collect();
        let mut parts: Vec<_> = parts
            .iter_mut()
            .map(|part| part as &mut dyn std::io::Read)
            .collect();
        let mut source = std::fs::File::open(&full).unwrap();
        let mut reports = Vec::new();
        let restored = teak::restore(&mut source, &mut parts, &[], &target, &mut |done| {
            reports.push(done);
            ControlFlow::Continue(())
        });
        restored.unwrap();
        assert!(reports.is_sorted_by_key(|done| (done.bytes, done.check.map(|c| c.pages_done))));
        assert!(reports.iter().any(|done| done.check.is_none()));
        // It ends when requested, and leaves nothing.
        for is_checking in [false, true] {
            let target = target.with_extension("ended");
            let mut source = std::fs::File::open(&full).unwrap();
            let ended = teak::restore(&mut source, &mut [], &[], &target, &mut |done| match done
                .check
                .is_some()
                == is_checking
            {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            });
            assert!(
                matches!(ended, Err(Error::Cancelled { path: Some(_), .. })) && !target.exists()
            );
        }
        let restored = open(&target);
        let table: Numbers = restored
            .begin_read()
            .unwrap()
            .open_table("numbers")
            .unwrap();
        assert!(
            all(&table, &restored.begin_read().unwrap()) == models[count],
            "{count}"
        );
        let one = restored.open_snapshot("one").unwrap();
        assert_eq!(table.get(&one, 100).unwrap(), Some(&[1; 100][..]));
        assert_eq!(restored.snapshots().unwrap().len(), 1 + count);
        let mut txn = restored.begin_write().unwrap();
        fill(&mut txn, &table, 0..5000, 5);
        txn.commit().unwrap();
        assert_clean(&restored);
    }
    // If parts are reordered, missing, damaged, or truncated, nothing is restored.
    let (first, second, third) = (&increments[0][..], &increments[1][..], &increments[2][..]);
    let mut damaged = first.to_vec();
    damaged[30_000] ^= 1;
    let wrong: [&[&[u8]]; 5] = [
        &[second, first],
        &[first, third],
        &[&damaged],
        &[&first[..first.len() - 9]],
        &[b"nonsense"],
    ];
    let target = directory.path().join("wrong.teak");
    for parts in wrong {
        let mut parts = parts.to_vec();
        let mut parts: Vec<_> = parts
            .iter_mut()
            .map(|part| part as &mut dyn std::io::Read)
            .collect();
        let mut source = std::fs::File::open(&full).unwrap();
        let restored = teak::restore(&mut source, &mut parts, &[], &target, &mut |_| {
            ControlFlow::Continue(())
        });
        assert!(
            matches!(
                restored,
                Err(Error::InvalidArgument(_) | Error::Corrupted { .. })
            ),
            "{restored:?}"
        );
        assert!(!target.exists());
    }
}

#[test]
fn a_rollback_from_a_state_without_tables_is_not_lost() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let table = numbers(&database);
    let mut txn = database.begin_write().unwrap();
    fill(&mut txn, &table, 0..3, 1);
    txn.create_snapshot("full").unwrap();
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    assert!(txn.drop_table("numbers").unwrap());
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.roll_back_to_snapshot("full").unwrap();
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    let table: Numbers = txn.open_table("numbers").unwrap();
    assert_eq!(table.len(&txn).unwrap(), 3);
    assert_clean(&database);
    let kinds = database.page_kinds().unwrap();
    assert!(!kinds.contains(&teak::PageUse::Unreachable));
}

/// With many reader slots, writers do not scan all of them each time.
#[test]
fn a_reader_of_a_dropped_snapshot_is_found_among_many() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let table = numbers(&database);
    let readers: Vec<_> = (0..2100).map(|_| database.begin_read().unwrap()).collect();
    drop(readers);
    for round in 0..24_u8 {
        let lazily = |byte: u8| {
            let mut txn = database.begin_write().unwrap();
            txn.set_durability(Durability::Lazy);
            fill(&mut txn, &table, 0..200, byte);
            txn.commit().unwrap();
        };
        let mut txn = database.begin_write().unwrap();
        fill(&mut txn, &table, 0..200, round);
        txn.create_snapshot("held").unwrap();
        txn.commit().unwrap();
        for byte in 0..round % 4 {
            lazily(90 + byte);
            database.sync().unwrap();
        }
        let held = database.open_snapshot("held").unwrap();
        database.drop_snapshot("held").unwrap();
        for byte in 101..106 {
            lazily(byte);
            database.sync().unwrap();
            let is_same = |record: Result<(u64, &[u8])>| record.unwrap().1 == [round; 100];
            assert!(table.iter(&held).unwrap().all(is_same), "round {round}");
        }
    }
    assert_clean(&database);
}

/// The root page stays the same, with other names of types.
#[test]
fn types_can_be_set_after_a_snapshot() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let mut txn = database.begin_write().unwrap();
    let numbers: Numbers = txn.create_table("numbers").unwrap();
    fill(&mut txn, &numbers, 0..10, 1);
    txn.commit().unwrap();
    database.create_snapshot("before").unwrap();
    let mut txn = database.begin_write().unwrap();
    let types = TableTypes::default();
    txn.set_table_types("numbers", &types).unwrap();
    txn.commit().unwrap();
    assert_clean(&database);
}
