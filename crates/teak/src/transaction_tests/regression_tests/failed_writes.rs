//! Data that was lost after a failed write or flush, and at a close that was not flushed.

use crate::{
    Error, Result, TransactionId,
    btree::lookup,
    io::{
        Storage,
        sim::{Fault, SimDisk},
    },
    record::{Record, SLOT_COUNT},
};
use crate::{
    admin::check,
    instance::engine::Engine,
    observe::recovery::Recovery,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, OTHER_BOOT, PAGE_SIZE, ascending_key, assert_clean, create_table, fill,
        get, insert, new_database, open, open_read_only, put, records, root_of,
    },
    write::transaction::WriteTransaction,
};
use std::{io::IoSlice, ops::RangeInclusive, sync::Arc};

/// After a failed write, the space map was reloaded as if no reader held an older state: pages of
/// readers counted as free, and the next commits overwrote them.
#[test]
fn a_failed_write_spares_the_pages_of_readers() {
    let (disk, engine) = new_database();
    fill(&engine, records(2000, &[1; 100]));
    let reader = engine.begin_read().unwrap();
    put(&engine, Durability::Durable, records(2000, &[2; 100])).unwrap();

    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", &ascending_key(0), &[3; 100]).unwrap();
    disk.fail_on(disk.calls(), Fault::DISK_FULL);
    assert!(matches!(txn.commit(), Err(Error::Io { .. })));
    for round in 4..9 {
        put(&engine, Durability::Durable, records(2000, &[round; 100])).unwrap();
    }

    let root = root_of(&reader, &engine);
    let is_wrong = |i: &u32| {
        let found = lookup::get(&*reader, &root, &ascending_key(*i));
        !matches!(found, Ok(Some(value)) if value.bytes == [1; 100])
    };
    assert_eq!((0..2000).filter(is_wrong).count(), 0);
    assert_clean(&engine);
}

/// That reload also freed the pages of the last durable commit. Later lazy commits overwrote them,
/// and a power cut before their records reached the disk lost everything.
#[test]
fn a_failed_lazy_commit_spares_the_last_durable_one() {
    let (disk, engine) = new_database();
    let durable = fill(&engine, records(500, &[1; 100]));
    let lazily = |value| put(&engine, Durability::Lazy, records(500, &[value; 100]));
    lazily(2).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    txn.set_durability(Durability::Lazy);
    for (key, value) in records(500, &[3; 100]) {
        insert(&mut txn, b"a", &key, &value).unwrap();
    }
    disk.fail_on(disk.calls(), Fault::DISK_FULL);
    txn.commit().unwrap_err();
    lazily(4).unwrap();
    lazily(5).unwrap();
    // The length is followed by the blocks of the records. All pages reach the disk.
    assert_survives(&disk, durable, 0..=31, |mask, index| match index {
        0..5 => mask >> index & 1 == 1,
        _ => true,
    });
}

/// The record of a clean close was not flushed, but the next open protected its slot: lazy commits
/// overwrote the only record of the last durable commit on the disk.
#[test]
fn a_clean_close_is_on_disk_before_its_record_counts() {
    let (disk, engine) = new_database();
    fill(&engine, records(30, &[0; 100]));
    for round in 1..6 {
        put(&engine, Durability::Durable, records(30, &[round; 100])).unwrap();
    }
    engine.close().unwrap();
    drop(engine);
    // This close has nothing to truncate.
    let engine = open(&disk, false, BOOT).unwrap();
    let durable = put(&engine, Durability::Durable, one(7, b"acknowledged")).unwrap();
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk, false, BOOT).unwrap();
    for round in 0..3 {
        put(&engine, Durability::Lazy, one(8, &[round; 50])).unwrap();
    }
    assert_survives(&disk, durable, 0..=15, length_and_some_records);
}

/// The state after a power cut: the newest length, some of the records, and no pages.
fn length_and_some_records(mask: u32, index: u32) -> bool {
    match index {
        0 => true,
        1..5 => mask >> (index - 1) & 1 == 1,
        _ => false,
    }
}

/// The record of a clean close may be only in the system's cache, if its flush failed or the
/// process was killed before. Reopening in the same boot treated it as the last durable one, and
/// the third lazy commit overwrote the record on the disk.
#[test]
fn a_clean_close_that_was_not_flushed_spares_the_record_before() {
    let (disk, engine) = new_database();
    fill(&engine, []);
    let durable = put(&engine, Durability::Durable, one(7, b"acknowledged")).unwrap();
    disk.fail_on(disk.calls() + 1, Fault::DISK_ERROR);
    assert!(matches!(engine.close(), Err(Error::Io { .. })));
    drop(engine);
    let engine = open(&disk, false, BOOT).unwrap();
    for round in 0..5 {
        put(&engine, Durability::Lazy, one(8, &[round; 50])).unwrap();
    }
    assert_survives(&disk, durable, 0..=15, length_and_some_records);
}

/// A failed flush leaves pages in the system's cache that count as written and never reach the
/// disk. Reopening the database in the same boot found them there and continued from them, and the
/// flush of the next durable commit did not report them.
#[test]
fn pages_left_in_memory_by_a_failed_flush_are_rewritten() {
    let (disk, engine) = new_database();
    fill(&engine, []);
    put(&engine, Durability::Lazy, records(500, &[1; 100])).unwrap();
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(matches!(engine.sync(), Err(Error::Io { .. })));
    assert!(matches!(engine.close(), Err(Error::Poisoned { .. })));
    drop(engine);

    let engine = open(&disk, false, BOOT).unwrap();
    let acknowledged = put(&engine, Durability::Durable, one(1000, b"acknowledged")).unwrap();
    let image = disk.power_cut(&mut |count| count - 1, PAGE_SIZE);
    let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
    assert!(engine.begin_read().unwrap().transaction() >= acknowledged);
    for i in 0..500 {
        assert_eq!(get(&engine, b"a", &ascending_key(i)).unwrap(), [1; 100]);
    }
    assert_clean(&engine);
}

/// Only an open after a kill rewrote pages that a failed flush had left in memory. An open that
/// cannot determine the boot reported everything as verified, and continued from it.
#[test]
fn verified_pages_are_rewritten() {
    let disk = disk_after_a_failed_flush();
    let engine = open(&disk, false, [0; 16]).unwrap();
    assert!(matches!(engine.recovery(), Recovery::Verified { .. }));
    assert_all_is_on_disk(&disk, &engine);
}

/// An open that rolled back a later commit did not rewrite them either.
#[test]
fn the_state_after_a_rollback_is_rewritten() {
    let disk = disk_after_a_failed_flush();
    let (offset, lost) = lost_record(&disk.process_crash());
    disk.write(offset, &[IoSlice::new(&lost.encode(PAGE_SIZE))])
        .unwrap();

    let engine = open(&disk, false, BOOT).unwrap();
    assert!(matches!(engine.recovery(), Recovery::RolledBack { .. }));
    assert_all_is_on_disk(&disk, &engine);
}

/// The record of a losing commit is erased. If the following flush fails, the system treats the
/// erasure as written. The next open found an empty slot and did nothing, and the disk kept the
/// record.
#[test]
fn erased_records_are_erased_again() {
    let (disk, engine) = new_database();
    fill(&engine, records(3, b"value"));
    let (offset, lost) = lost_record(&disk.process_crash());
    let slot = lost.slot;
    disk.write(offset, &[IoSlice::new(&lost.encode(PAGE_SIZE))])
        .unwrap();
    disk.flush().unwrap();
    let is_flush =
        |error| matches!(error, Error::Io { operation, .. } if operation == "flushing the file");
    let fails = |position| {
        disk.fail_on(disk.calls() + position, Fault::DISK_ERROR);
        open(&disk, false, BOOT).is_err_and(is_flush)
    };
    assert!((0..20).any(fails), "one of the calls is the flush");

    open(&disk, false, BOOT).unwrap();
    let image = disk.power_cut(&mut |count| count - 1, PAGE_SIZE);
    assert_ne!(Record::decode(&image[offset as usize..], slot), Ok(lost));
}

/// A record that is newer than those of this image, with a missing catalog, and its slot.
fn lost_record(image: &[u8]) -> (u64, Record) {
    let slots = image.chunks(PAGE_SIZE).zip(0..SLOT_COUNT);
    let records = slots.filter_map(|(bytes, slot)| Record::decode(bytes, slot).ok());
    let newest = records.max_by_key(|record| record.sequence).unwrap();
    let slot = (newest.slot + 2) % SLOT_COUNT;
    let mut lost = Record {
        slot,
        sequence: newest.sequence + 1,
        transaction: newest.transaction.next(),
        ..newest
    };
    // The checksum of the root page.
    lost.catalog_root[8] ^= 1;
    (u64::from(slot) * PAGE_SIZE as u64, lost)
}

/// A database opened read-only, which writes and flushes nothing, reported its newest commit as
/// durable, although a killed process had left it lazy.
#[test]
fn reading_only_proves_nothing_durable() {
    let (disk, engine) = new_database();
    let durable = fill(&engine, records(3, b"durable"));
    let lazy = put(&engine, Durability::Lazy, records(3, b"lazy")).unwrap();
    let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
    let reader = open_read_only(&killed).unwrap();
    assert_eq!(reader.begin_read().unwrap().transaction(), lazy);
    assert_eq!(reader.durable(), durable);
    drop(reader);
    // Opening for writing flushes the commit that it continues from.
    assert_eq!(open(&killed, false, BOOT).unwrap().durable(), lazy);
    engine.close().unwrap();
    drop(engine);
    assert_eq!(open_read_only(&disk).unwrap().durable(), lazy);
}

/// Table `a` with 500 records in a lazy commit whose flush failed: they are only in the cache.
fn disk_after_a_failed_flush() -> SimDisk {
    let (disk, engine) = new_database();
    fill(&engine, []);
    put(&engine, Durability::Lazy, records(500, &[1; 100])).unwrap();
    disk.fail_on(disk.calls(), Fault::DISK_ERROR);
    assert!(matches!(engine.sync(), Err(Error::Io { .. })));
    assert!(matches!(engine.close(), Err(Error::Poisoned { .. })));
    disk
}

/// Commits once more, durably, and cuts the power.
fn assert_all_is_on_disk(disk: &SimDisk, engine: &Arc<Engine>) {
    let acknowledged = put(engine, Durability::Durable, one(1000, b"acknowledged")).unwrap();
    for choose in [|_| 0, |count: usize| count - 1] {
        let image = disk.power_cut(&mut { choose }, PAGE_SIZE);
        let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
        assert!(engine.begin_read().unwrap().transaction() >= acknowledged);
        for i in 0..500 {
            assert_eq!(get(&engine, b"a", &ascending_key(i)).unwrap(), [1; 100]);
        }
        assert_clean(&engine);
    }
}

/// A call after the flush could fail, and the commit was reported as undone although it was on the
/// disk. Whichever call fails, an error means that the commit is invisible and does not reappear,
/// unless the database refuses writes because the outcome is unknown.
#[test]
fn the_outcome_of_a_commit_and_its_visibility_agree() {
    let mut outcomes = Vec::new();
    for position in 0..6 {
        let (disk, engine) = new_database();
        fill(&engine, []);
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        insert(&mut txn, b"a", b"key", b"value").unwrap();
        disk.fail_on(disk.calls() + position, Fault::DISK_ERROR);
        let is_committed = txn.commit().is_ok();
        outcomes.push(is_committed);
        assert_eq!(get(&engine, b"a", b"key").is_some(), is_committed);
        let is_poisoned = matches!(
            WriteTransaction::begin(&engine),
            Err(Error::Poisoned { .. })
        );
        assert!(!is_committed || !is_poisoned, "call {position}");
        for choose in [|_| 0, |count: usize| count - 1] {
            let image = disk.power_cut(&mut { choose }, PAGE_SIZE);
            let engine = open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT).unwrap();
            let is_on_disk = get(&engine, b"a", b"key").is_some();
            assert!(is_on_disk == is_committed || is_poisoned, "call {position}");
        }
    }
    assert!(outcomes.contains(&true) && outcomes.contains(&false));
}

fn one(i: u32, value: &[u8]) -> [(Vec<u8>, Vec<u8>); 1] {
    [(ascending_key(i), value.to_vec())]
}

/// Cuts the power once for each mask. `is_new` tells from the mask and the index of each choice
/// whether the newest or the oldest alternative is taken. Afterwards nothing may be lost.
fn assert_survives(
    disk: &SimDisk,
    durable: TransactionId,
    masks: RangeInclusive<u32>,
    is_new: fn(u32, u32) -> bool,
) {
    for mask in masks {
        let mut index = 0;
        let mut choice = |count: usize| {
            let is_new = is_new(mask, index);
            index += 1;
            if is_new { count - 1 } else { 0 }
        };
        let image = disk.power_cut(&mut choice, PAGE_SIZE);
        let opened: Result<Arc<Engine>> =
            open(&SimDisk::from_image(image, CAPACITY), false, OTHER_BOOT);
        let engine = opened.unwrap_or_else(|error| panic!("mask {mask:05b}: {error}"));
        let snapshot = engine.begin_read().unwrap();
        let recovery = engine.recovery();
        assert!(
            snapshot.transaction() >= durable,
            "mask {mask:05b}: {recovery:?}"
        );
        assert!(check::report(&snapshot).is_clean(), "mask {mask:05b}");
    }
}

/// The newest record was damaged, and opening used the commit before it without a report: as after
/// a kill, or even after a clean close.
#[test]
fn an_unreadable_record_is_reported() {
    for boot in [BOOT, OTHER_BOOT] {
        for is_closed in [false, true] {
            let (disk, engine) = new_database();
            let before = put_first(&engine);
            if is_closed {
                engine.close().unwrap();
            }
            let mut image = disk.process_crash();
            let newest = newest_record(&image);
            let at = usize::from(newest.slot) * PAGE_SIZE;
            image[at + 100] ^= 1;
            let disk = SimDisk::from_image(image, CAPACITY);
            let engine = open(&disk, false, boot).unwrap();
            let Recovery::RolledBack { from, to, .. } = engine.recovery() else {
                panic!("{:?}", engine.recovery());
            };
            assert!(from > to);
            assert_eq!(
                get(&engine, b"a", &ascending_key(0)).is_some(),
                *to >= before
            );
            assert_clean(&engine);
            engine.close().unwrap();
            let engine = open(&disk, false, boot).unwrap();
            assert_eq!(*engine.recovery(), Recovery::Clean, "it is reported once");
        }
    }
}

fn put_first(engine: &Arc<Engine>) -> TransactionId {
    fill(engine, []);
    put(engine, Durability::Durable, one(0, b"first")).unwrap()
}

fn newest_record(image: &[u8]) -> Record {
    let slots = (0..SLOT_COUNT)
        .filter_map(|slot| Record::decode(&image[usize::from(slot) * PAGE_SIZE..], slot).ok());
    slots.max_by_key(|record| record.sequence).unwrap()
}

/// A commit was rolled back to a clean close, and that flush failed. Reopened in the same boot, the
/// database counted as closed, and nothing was done: the losing record was erased in the cache, and
/// still on the disk. Later durable commits then made it look like a promised one.
#[test]
fn an_erasure_after_a_clean_close_is_made_durable() {
    let (disk, engine) = new_database();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    txn.set_durability(Durability::Lazy);
    txn.commit().unwrap();
    let image = disk.kill().power_cut(&mut length_and_record(), PAGE_SIZE);
    let lost = newest_record(&image);
    assert!(!lost.clean_close);
    let disk = SimDisk::from_image(image, CAPACITY);
    let fails = |position| {
        disk.fail_on(disk.calls() + position, Fault::DISK_ERROR);
        let opened = open(&disk, false, OTHER_BOOT);
        matches!(opened, Err(Error::Io { operation, .. }) if operation == "flushing the file")
    };
    assert!((0..20).any(fails), "one of the calls is the flush");
    drop(open(&disk, false, OTHER_BOOT).unwrap());
    let image = disk.power_cut(&mut |_| 0, PAGE_SIZE);
    let at = usize::from(lost.slot) * PAGE_SIZE;
    assert_ne!(Record::decode(&image[at..], lost.slot), Ok(lost));
}

/// The state after a power cut: the newest length, the one record that was written, and no pages.
fn length_and_record() -> impl FnMut(usize) -> usize {
    let mut asked = 0;
    move |count| {
        asked += 1;
        if asked <= 2 { count - 1 } else { 0 }
    }
}
