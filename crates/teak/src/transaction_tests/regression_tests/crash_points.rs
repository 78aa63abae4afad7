//! Crashes at times that other engines did not survive: while a record is written, while the file
//! changes its length, during recovery.

use crate::{
    Error, TransactionId,
    io::sim::{DiskEvent, SimDisk},
    record::{Record, SLOT_COUNT},
    testing,
};
use crate::{
    admin::check,
    observe::recovery::Recovery,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, OTHER_BOOT, PAGE_SIZE, ascending_key, assert_clean, create_table, fill,
        get, insert, new_database, open, put, records, remove, root_of,
    },
    write::transaction::WriteTransaction,
};
use std::collections::BTreeSet;

/// A meta page torn inside a sector was accepted (LMDB, ITS#7668), and an engine that relied on
/// atomic writes of 106 bytes lost its data. Here a record overwrites an older one and is torn at
/// each byte, with the new part first or last. The commit either exists or not.
#[test]
fn a_record_torn_at_any_byte_is_no_record() {
    let (disk, engine) = new_database();
    fill(&engine, records(3, &[0; 100]));
    for round in 1..6 {
        put(&engine, Durability::Durable, records(3, &[round; 100])).unwrap();
    }
    let before = disk.process_crash();
    let last = put(&engine, Durability::Durable, records(3, &[6; 100])).unwrap();
    let after = disk.process_crash();
    let slot = newest_record(&after).slot;
    let (start, end) = (
        usize::from(slot) * PAGE_SIZE,
        usize::from(slot + 1) * PAGE_SIZE,
    );
    let differing: Vec<usize> = (start..end)
        .filter(|at| before[*at] != after[*at])
        .collect();
    assert!(differing.len() > 20, "the records differ enough");
    let mut torn = 0;
    for &at in &differing[1..] {
        for is_new_in_front in [false, true] {
            let mut image = after.clone();
            let old = if is_new_in_front { at..end } else { start..at };
            image[old.clone()].copy_from_slice(&before[old]);
            // A record needs no bytes after its end.
            let is_whole = newest_record(&image).transaction == last;
            let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
            let found = engine.begin_read().unwrap().transaction();
            let expected = if is_whole { last.0 } else { last.0 - 1 };
            assert_eq!(found.0, expected, "torn at {at}: {:?}", engine.recovery());
            torn += usize::from(matches!(engine.recovery(), Recovery::RolledBack { .. }));
            let value = if is_whole { 6 } else { 5 };
            assert_eq!(get(&engine, b"a", &ascending_key(0)).unwrap(), [value; 100]);
        }
    }
    assert!(torn > differing.len(), "{torn} images had no whole record");
}

/// The header was durable but not the length of the file (LMDB's `fdatasync` on a file that grew,
/// "truncated below stored layout" of redb 4.2). Here too, the bytes after the old end are lost,
/// and the commit with them. Once it is acknowledged, the length is on the disk.
#[test]
fn a_commit_with_lost_growth_did_not_happen() {
    let (disk, engine) = new_database();
    let before = fill(&engine, records(10, &[1; 100]));
    let len = disk.process_crash().len();
    let last = put(&engine, Durability::Durable, records(900, &[2; 2000])).unwrap();
    let flush = disk.event_count() - 1;
    assert!(matches!(
        *disk.events()[flush],
        DiskEvent::FlushEnded { .. }
    ));
    assert!(disk.process_crash().len() > len, "the file has grown");
    let mut is_first = true;
    let mut old_length = |count: usize| {
        let is_length = std::mem::take(&mut is_first);
        if is_length { 0 } else { count - 1 }
    };
    let image = disk.power_cut_at(flush, &mut old_length, PAGE_SIZE);
    assert_eq!(newest_record(&image).transaction, last);
    let cut = SimDisk::from_image(image, CAPACITY);
    let engine = open(&cut, false, OTHER_BOOT).unwrap();
    let recovery = engine.recovery();
    assert!(
        matches!(recovery, Recovery::RolledBack { to, .. } if *to == before),
        "{recovery:?}"
    );
    assert_clean(&engine);
    put(&engine, Durability::Durable, records(900, &[3; 2000])).unwrap();
    assert_clean(&engine);
    // Once it is acknowledged, the file has only one possible length.
    let image = disk.power_cut(&mut |_| 0, PAGE_SIZE);
    let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
    assert_eq!(engine.begin_read().unwrap().transaction(), last);
}

/// A database was closed, which truncated the file; opened, and killed after the file had grown
/// again. The record before the close fits the file then, but not its state after a power cut.
#[test]
fn a_file_that_grew_again_after_a_close_keeps_the_records_of_the_close() {
    let (disk, engine) = new_database();
    fill(&engine, records(900, &[1; 2000]));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    (10..900).for_each(|i| assert!(remove(&mut txn, b"a", &ascending_key(i))));
    let last = txn.commit().unwrap();
    let before = disk.process_crash().len();
    engine.close().unwrap();
    drop(engine);
    assert!(disk.process_crash().len() < before, "the file was cut");

    let engine = open(&disk, false, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    txn.set_durability(Durability::Lazy);
    records(1800, &[2; 2000])
        .for_each(|(key, value)| insert(&mut txn, b"a", &key, &value).unwrap());
    let killed = disk.after_kill();
    assert!(killed.process_crash().len() >= before, "it is longer again");

    let engine = open(&killed, false, BOOT).unwrap();
    for round in 0..4 {
        put(&engine, Durability::Lazy, records(10, &[3 + round; 100])).unwrap();
    }
    let mut is_first = true;
    let mut old_length = |count: usize| {
        let is_length = std::mem::take(&mut is_first);
        if is_length { 0 } else { count - 1 }
    };
    let image = killed.power_cut(&mut old_length, PAGE_SIZE);
    let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
    assert!(engine.begin_read().unwrap().transaction() >= last);
    assert_clean(&engine);
}

/// A crash while the repair of an earlier crash was being written left a file that could not be
/// opened (redb 4.2). Here a recovery with a rollback is interrupted after each of its calls, and
/// once more.
#[test]
fn recovery_interrupted_anywhere_ends_in_an_equal_state() {
    let (disk, engine) = new_database();
    let durable = fill(&engine, records(200, &[1; 100]));
    for round in 2..5 {
        put(&engine, Durability::Lazy, records(200, &[round; 100])).unwrap();
    }
    // All records, and no pages: the newest three are rolled back.
    let image = disk.power_cut(&mut heads_only(), PAGE_SIZE);
    let crashed = SimDisk::from_image(image, CAPACITY);
    let assert_recovers = |disk: &SimDisk| {
        let engine = open(disk, false, OTHER_BOOT).unwrap();
        assert_eq!(engine.begin_read().unwrap().transaction(), durable);
        assert_clean(&engine);
    };
    assert_recovers(&crashed);
    let count = crashed.event_count();
    assert!(count > 3, "recovery writes");
    for event in 0..=count {
        for choice in 0..4 {
            let mut seed = choice;
            let mut choose = |count: usize| match choice {
                0 => 0,
                1 => count - 1,
                _ => {
                    seed = seed * 7 + 3;
                    seed % count
                }
            };
            let image = crashed.power_cut_at(event, &mut choose, 512);
            let again = SimDisk::from_image(image, CAPACITY);
            assert_recovers(&again);
            let image = again.power_cut(&mut choose, 512);
            assert_recovers(&SimDisk::from_image(image, CAPACITY));
        }
    }
}

/// A check that repaired its findings silently went back to an older state (redb 5.0 in
/// development). A check makes no call that writes, regardless of its findings.
#[test]
fn a_check_changes_nothing() {
    let (disk, engine) = new_database();
    fill(&engine, records(400, &[1; 100]));
    engine.close().unwrap();
    drop(engine);
    let mut image = disk.process_crash();
    let len = image.len();
    image[len / 2..].fill(0x5a);
    let disk = SimDisk::from_image(image.clone(), CAPACITY);
    let engine = open(&disk, false, BOOT).unwrap();
    let events = disk.event_count();
    let snapshot = engine.begin_read().unwrap();
    assert!(!check::report(&snapshot).is_clean());
    assert_eq!(disk.event_count(), events);
    assert_eq!(engine.newest(), snapshot.transaction());
}

/// With only weak metas after a crash there was no state left to go back to (nimiq with libmdbx,
/// #1042), or weak metas of another boot were trusted. Here all commits since the creation are
/// lazy, and any part of each may be missing: the result is one of them, complete, or the empty
/// database.
#[test]
fn lazy_commits_alone_preserve_the_state_before_them() {
    let (disk, engine) = new_database();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    txn.set_durability(Durability::Lazy);
    create_table(&mut txn, b"a");
    txn.commit().unwrap();
    for round in 0..20 {
        put(&engine, Durability::Lazy, records(50, &[round; 100])).unwrap();
    }
    for boot in [OTHER_BOOT, [0; 16]] {
        let image = disk.power_cut(&mut heads_only(), PAGE_SIZE);
        let engine = open(&SimDisk::from_image(image, CAPACITY), false, boot).unwrap();
        assert_eq!(engine.begin_read().unwrap().transaction(), TransactionId(0));
        assert!(matches!(engine.recovery(), Recovery::RolledBack { .. }));
    }
    let mut found = BTreeSet::new();
    for seed in 0..200 {
        let mut random = seed;
        let mut choose = |count: usize| {
            random = (random * 1_103_515_245 + 12_345) % (1 << 31);
            // The newest content in most cases.
            match (random >> 16) % 50 {
                0 => random % count,
                _ => count - 1,
            }
        };
        let image = disk.power_cut(&mut choose, PAGE_SIZE);
        let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
        assert_clean(&engine);
        found.insert(engine.begin_read().unwrap().transaction());
    }
    assert!(found.len() > 1, "{found:?}");
}

/// After a manual switch, two metas had one transaction, and it was random which of them counted
/// (libmdbx). Two records of one sequence do not occur. A file that has them is in one of both
/// states, always the same one, and accepts commits.
#[test]
fn two_records_of_one_sequence_are_one_state() {
    for is_other_transaction in [false, true] {
        let (disk, engine) = new_database();
        fill(&engine, records(20, &[1; 100]));
        put(&engine, Durability::Durable, records(20, &[2; 100])).unwrap();
        let mut image = disk.process_crash();
        let newest = newest_record(&image);
        let older = |record: &Record| record.sequence + 1 == newest.sequence;
        let copied = match is_other_transaction {
            true => all_records(&image).find(older).unwrap(),
            false => newest.clone(),
        };
        let twin = Record {
            slot: (newest.slot + 1) % SLOT_COUNT,
            sequence: newest.sequence,
            ..copied
        };
        let start = usize::from(twin.slot) * PAGE_SIZE;
        let bytes = twin.encode(PAGE_SIZE);
        image[start..start + bytes.len()].copy_from_slice(&bytes);
        let mut states = BTreeSet::new();
        for boot in [BOOT, OTHER_BOOT, BOOT] {
            let disk = SimDisk::from_image(image.clone(), CAPACITY);
            let engine = match open(&disk, false, boot) {
                Ok(engine) => engine,
                Err(Error::Corrupted { .. }) if is_other_transaction => continue,
                Err(error) => panic!("{error}"),
            };
            states.insert(get(&engine, b"a", &ascending_key(0)));
            for round in 3..9 {
                put(&engine, Durability::Durable, records(20, &[round; 100])).unwrap();
                let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
                let killed = open(&killed, false, boot).unwrap();
                assert_eq!(get(&killed, b"a", &ascending_key(0)).unwrap(), [round; 100]);
                assert_clean(&killed);
            }
        }
        assert!(states.len() <= 1, "{states:?}");
    }
}

/// A crash during truncation left a file shorter than its header said, and it could not be opened
/// (redb 4.2). Here a truncating close is interrupted after each of its calls, with either length.
#[test]
fn a_close_that_truncates_the_file_may_be_interrupted() {
    let (disk, engine) = new_database();
    fill(&engine, records(900, &[1; 2000]));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    for i in 5..900 {
        remove(&mut txn, b"a", &ascending_key(i));
    }
    txn.commit().unwrap();
    let last = put(&engine, Durability::Durable, records(5, &[2; 2000])).unwrap();
    let (begin, len) = (disk.event_count(), disk.process_crash().len());
    engine.close().unwrap();
    drop(engine);
    let cut_len = disk.process_crash().len();
    assert!(cut_len < len, "{len} bytes, then {cut_len}");
    for event in begin..=disk.event_count() {
        for mask in 0..16 {
            let mut index = 0;
            let mut choose = |count: usize| {
                let is_new = mask >> (index % 4) & 1 == 1;
                index += 1;
                if is_new { count - 1 } else { 0 }
            };
            let image = disk.power_cut_at(event, &mut choose, 512);
            let cut = SimDisk::from_image(image, CAPACITY);
            let engine = open(&cut, false, OTHER_BOOT).unwrap();
            assert_eq!(engine.begin_read().unwrap().transaction(), last);
            assert_eq!(get(&engine, b"a", &ascending_key(4)).unwrap(), [2; 2000]);
            assert_clean(&engine);
        }
    }
}

/// A repair accepted a record that was only half flushed (LevelDB #251). Salvage, which repairs
/// nothing either, saves the state that recovery would go back to.
#[test]
fn salvage_skips_commits_that_recovery_rolls_back() {
    let (disk, engine) = new_database();
    let durable = fill(&engine, records(200, &[1; 100]));
    put(&engine, Durability::Lazy, records(250, &[2; 100])).unwrap();
    let image = disk.power_cut(&mut heads_only(), PAGE_SIZE);
    assert!(newest_record(&image).transaction > durable);
    let saved = SimDisk::new(CAPACITY);
    let report = testing::salvage(&SimDisk::from_image(image, CAPACITY), &saved).unwrap();
    assert_eq!(report.transaction, durable);
    assert!(report.is_complete(), "{report}");
    let is_of_lazy = |text: &String| text.contains("commit 2,");
    assert!(report.passed_over.iter().any(is_of_lazy), "{report}");
    let engine = open(&saved, false, BOOT).unwrap();
    assert_eq!(root_of(&engine.begin_read().unwrap(), &engine).records, 200);
    assert_eq!(get(&engine, b"a", &ascending_key(9)).unwrap(), [1; 100]);
}

/// The state after a power cut: the newest length, all records, and no pages.
fn heads_only() -> impl FnMut(usize) -> usize {
    let mut asked = 0;
    move |count| {
        asked += 1;
        if asked <= 1 + usize::from(SLOT_COUNT) {
            count - 1
        } else {
            0
        }
    }
}

fn all_records(image: &[u8]) -> impl Iterator<Item = Record> {
    (0..SLOT_COUNT)
        .filter_map(|slot| Record::decode(&image[usize::from(slot) * PAGE_SIZE..], slot).ok())
}

fn newest_record(image: &[u8]) -> Record {
    all_records(image)
        .max_by_key(|record| record.sequence)
        .unwrap()
}
