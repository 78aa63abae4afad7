//! Files that no engine has written: damaged pages, and features of future versions.

use crate::{
    Error, PageNumber, TransactionId,
    btree::{PageSource, cursor::TreeCursor},
    io::{Storage, sim::SimDisk},
    page::{header::HEADER_LEN, inner::Inner, leaf::Leaf},
    record::Record,
    testing,
};
use crate::{
    instance::engine::Engine,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, PAGE_SIZE, ascending_key, create_table, fill, get, insert, new_database,
        open, open_read_only, put, records, root_of,
    },
    write::transaction::WriteTransaction,
};
use std::{io::IoSlice, sync::Arc};

/// The page of the root of table `a`, and its bytes.
fn root_page(engine: &Arc<Engine>) -> (PageNumber, Vec<u8>) {
    let snapshot = engine.begin_read().unwrap();
    let number = root_of(&snapshot, engine).page;
    let bytes = PageSource::page(&*snapshot, number).unwrap().to_vec();
    (number, bytes)
}

fn overwrite(disk: &SimDisk, number: PageNumber, bytes: &[u8]) {
    let offset = u64::from(number.0) * PAGE_SIZE as u64;
    disk.write(offset, &[IoSlice::new(bytes)]).unwrap();
}

/// Reading the child after the last one of an inner page was an index out of bounds. Found by the
/// fuzz target of inner pages.
#[test]
fn the_child_after_the_last_is_an_error() {
    let (_disk, engine) = new_database();
    fill(&engine, records(60, &[7; 100]));
    assert_eq!(root_of(&engine.begin_read().unwrap(), &engine).depth, 2);
    let (_, page) = root_page(&engine);
    testing::fuzz_page(&page);
}

/// A large value with a damaged birth in the future was added to the space map, and this commit and
/// all later ones panicked.
#[test]
fn a_value_from_a_future_transaction_is_an_error() {
    let (disk, engine) = new_database();
    fill(&engine, [(b"big".to_vec(), vec![9; 20_000])]);
    let (number, mut page) = root_page(&engine);
    // The description of the value's run ends the page, and its birth ends the description.
    *page.last_mut().unwrap() ^= 0x40;
    overwrite(&disk, number, &page);

    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let removed = txn.change(engine.handle(b"a"), b"a", |tree| tree.remove(b"big"));
    assert!(
        matches!(removed, Err(Error::Corrupted { .. })),
        "{removed:?}"
    );
    assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));

    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"b");
    insert(&mut txn, b"b", b"key", b"value").unwrap();
    txn.commit().unwrap();
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk, false, BOOT).unwrap();
    assert_eq!(get(&engine, b"b", b"key").unwrap(), b"value");
}

/// With separators that claim to be longer than any key, inner pages could not be split: each child
/// got a page of its own, level upon level, until the disk was full.
#[test]
fn separators_longer_than_keys_are_an_error() {
    let (disk, engine) = new_database();
    fill(&engine, records(130, &[7; 100]));
    let (number, mut page) = root_page(&engine);
    forge_long_separators(&mut page);
    overwrite(&disk, number, &page);

    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let result = (0..80u32).try_for_each(|i| {
        let key = [&[1; 4][..], &i.to_be_bytes()].concat();
        insert(&mut txn, b"a", &key, &[7; 100])
    });
    assert!(matches!(result, Err(Error::Corrupted { .. })), "{result:?}");
    assert!(disk.len() < 4 << 20, "the file has {} bytes", disk.len());
}

/// Gives an inner page a prefix of 2,000 bytes, followed by separators of 3,000 bytes that all
/// share their position.
fn forge_long_separators(page: &mut [u8]) {
    let put = |page: &mut [u8], offset: usize, bytes: &[u8]| {
        page[offset..offset + bytes.len()].copy_from_slice(bytes);
    };
    let count = 3;
    let heads = HEADER_LEN + 2000;
    let offsets = heads + 16 * count;
    put(page, 6, &(count as u16).to_le_bytes());
    let node = offsets + 2 * count;
    put(page, 16, &((PAGE_SIZE - node) as u16).to_le_bytes());
    put(page, 20, &2000u16.to_le_bytes());
    put(page, node, &3000u16.to_le_bytes());
    for index in 1..count {
        let head = (index as u32) << 24;
        put(page, heads + 4 * index, &head.to_le_bytes());
        put(page, offsets + 2 * index, &(node as u16).to_le_bytes());
    }
}

/// A new database whose record was changed by `change`, as a future version might write it.
fn with_record(change: impl FnOnce(&mut Record)) -> SimDisk {
    let (disk, engine) = new_database();
    fill(&engine, records(1, b"value"));
    change_record(&disk, engine, change);
    disk
}

/// Closes a database and changes its newest record.
fn change_record(disk: &SimDisk, engine: Arc<Engine>, change: impl FnOnce(&mut Record)) {
    engine.close().unwrap();
    drop(engine);
    let image = disk.process_crash();
    let slots = image.chunks(PAGE_SIZE).zip(0..4u8);
    let mut newest = slots
        .filter_map(|(bytes, slot)| Record::decode(bytes, slot).ok())
        .max_by_key(|record| record.sequence)
        .unwrap();
    change(&mut newest);
    let slot = PageNumber(u32::from(newest.slot));
    overwrite(disk, slot, &newest.encode(PAGE_SIZE));
}

/// Features that allow only reading were read but not checked: such a database was written to.
#[test]
fn unknown_features_that_allow_reading_only_forbid_writing() {
    let disk = with_record(|record| record.features.read_only_compatible = 1 << 7);
    assert!(matches!(
        open(&disk, false, BOOT),
        Err(Error::UnknownFormat { .. })
    ));
    let engine = open_read_only(&disk).unwrap();
    assert_eq!(get(&engine, b"a", &ascending_key(0)).unwrap(), b"value");
}

/// A record with the last number but one could be read. The next commit wrote a record that could
/// not, and the database was lost.
#[test]
fn a_record_without_a_next_number_takes_no_commit() {
    let last = (1 << 63) - 1;
    let changes: [fn(&mut Record, u64); 2] = [
        |record, last| record.sequence = last,
        |record, last| {
            record.transaction = TransactionId(last);
            record.flushed_transaction = record.transaction;
        },
    ];
    for change in changes {
        let disk = with_record(|record| change(record, last));
        let engine = open(&disk, false, BOOT).unwrap();
        let committed = put(&engine, Durability::Durable, records(2, b"new"));
        assert!(
            matches!(committed, Err(Error::Corrupted { .. })),
            "{committed:?}"
        );
        assert_eq!(get(&engine, b"a", &ascending_key(0)).unwrap(), b"value");
        drop(engine);
        let engine = open(&disk, false, BOOT).unwrap();
        assert_eq!(get(&engine, b"a", &ascending_key(0)).unwrap(), b"value");
    }
}

/// The next commit could not append its group to a space log of later transactions, and panicked.
#[test]
fn a_space_log_of_future_transactions_is_an_error() {
    // One group, of transaction 2^62, without runs and deaths.
    let log = [[0x80; 8].as_slice(), &[0x40, 0, 0]].concat();
    let disk = with_record(|record| record.space_log = log);
    assert!(matches!(
        open(&disk, false, BOOT),
        Err(Error::Corrupted { .. })
    ));
    let engine = open_read_only(&disk).unwrap();
    assert_eq!(get(&engine, b"a", &ascending_key(0)).unwrap(), b"value");
}

/// The check adds up the lengths of large values before it knows whether they exist. A leaf with
/// invented lengths caused an overflow.
#[test]
fn made_up_lengths_are_added_without_overflow() {
    let mut totals = crate::btree::walk::totals::Totals::default();
    totals.add_value(u32::MAX, u64::MAX - 1);
    totals.add_value(u32::MAX, u64::MAX - 1);
    assert_eq!(totals.data_bytes, u64::MAX);
}

/// A record of a newer version among older ones of this version was skipped as damaged, and the
/// commits of that version were lost.
#[test]
fn a_record_of_a_newer_version_among_others_is_refused() {
    let disk = with_record(|record| record.features.incompatible = 1 << 7);
    for opened in [open(&disk, false, BOOT), open_read_only(&disk)] {
        assert!(matches!(opened, Err(Error::UnknownFormat { .. })));
    }
}

/// Reserved bytes at the end of each page were ignored: pages were laid out over them.
#[test]
fn bytes_reserved_in_each_page_are_refused() {
    let disk = with_record(|record| record.reserved_per_page = 32);
    for opened in [open(&disk, false, BOOT), open_read_only(&disk)] {
        assert!(matches!(opened, Err(Error::UnknownFormat { .. })));
    }
}

/// A damaged space map, which reads do not need, prevented all reads.
#[test]
fn a_damaged_space_map_does_not_prevent_reads() {
    let (disk, engine) = new_database();
    fill(&engine, []);
    for round in 0..60u32 {
        let scattered = (0..200).map(|i| (ascending_key(i * 7919 + round), vec![7; 100]));
        put(&engine, Durability::Durable, scattered).unwrap();
    }
    let space = engine.begin_read().unwrap().load_space_map().unwrap();
    let own = space.classify().own;
    assert!(!own.is_empty(), "the space map has pages of its own");
    engine.close().unwrap();
    drop(engine);
    let mut image = disk.process_crash();
    for number in &own {
        image[number.0 as usize * PAGE_SIZE + 100] ^= 1;
    }
    let damaged = SimDisk::from_image(image, CAPACITY);
    assert!(matches!(
        open(&damaged, false, BOOT),
        Err(Error::Corrupted { .. })
    ));
    let engine = open_read_only(&damaged).unwrap();
    for i in 0..200 {
        assert_eq!(
            get(&engine, b"a", &ascending_key(i * 7919)).unwrap(),
            [7; 100]
        );
    }
}

/// A page that was both in use and free was treated as its own copy, and then not found.
#[test]
fn a_space_map_without_some_pages_causes_no_panic() {
    for count in [1, 5, 60, 200] {
        let (disk, engine) = new_database();
        fill(&engine, records(count, &[7; 100]));
        change_record(&disk, engine, |record| record.space_log = Vec::new());
        let engine = open(&disk, false, BOOT).unwrap();
        for durability in [Durability::Durable, Durability::Lazy] {
            let result = put(&engine, durability, records(3, b"new"));
            let is_expected = matches!(result, Ok(_) | Err(Error::Corrupted { .. }));
            assert!(is_expected, "{count} records: {:?}", result.err());
        }
    }
}

/// A database with several leaves, the second of them damaged, and the number of records in the
/// first.
fn second_leaf_damaged() -> (SimDisk, Arc<Engine>, usize) {
    let (disk, engine) = new_database();
    fill(&engine, records(400, &[7; 100]));
    let snapshot = engine.begin_read().unwrap();
    let root = root_of(&snapshot, &engine).page;
    let inner = Inner::parse(PageSource::page(&*snapshot, root).unwrap()).unwrap();
    let (first, second) = (inner.child(0).unwrap(), inner.child(1).unwrap());
    let page = PageSource::page(&*snapshot, first).unwrap();
    let count = Leaf::parse(page).unwrap().count();
    overwrite(&disk, second, &[0xff; 8]);
    (disk, engine, count)
}

/// After an error, half a path was left. The next steps along it returned records of the leaf
/// before.
#[test]
fn a_cursor_that_found_damage_has_no_position() {
    let (_disk, engine, count) = second_leaf_damaged();
    let snapshot = engine.begin_read().unwrap();
    let mut cursor = TreeCursor::new(&*snapshot, root_of(&snapshot, &engine));
    for i in 0..count as u32 {
        assert!(cursor.next().unwrap());
        assert_eq!(cursor.key(), ascending_key(i));
    }
    assert!(matches!(cursor.next(), Err(Error::Corrupted { .. })));
    for _ in 0..3 {
        assert!(cursor.next().is_err());
        assert!(cursor.prev().is_err());
        assert_eq!(cursor.key(), b"");
    }
    assert_eq!(cursor.seek(&ascending_key(3)).unwrap(), Some(true));
    assert!(cursor.next().unwrap());
    assert_eq!(cursor.key(), ascending_key(4));
}

/// Prefetching a damaged leaf made reading the intact one before it fail.
#[test]
fn an_intact_leaf_before_a_damaged_one_is_read() {
    let (_disk, engine, count) = second_leaf_damaged();
    let snapshot = engine.begin_read().unwrap();
    let mut cursor = TreeCursor::new(&*snapshot, root_of(&snapshot, &engine));
    assert!(cursor.first().unwrap());
    for i in 0..count as u32 {
        assert_eq!(cursor.seek(&ascending_key(i)).unwrap(), Some(true));
    }
}
