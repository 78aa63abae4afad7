//! Invalid numbers in files: lengths, flags, pages and depths that earlier engines trusted.
//! Checksums do not protect here, because a page written by this process counts as verified.

use crate::{
    Error, PageNumber, Result,
    btree::{PageSource, TreeRoot, cursor::TreeCursor, insert::Existing, mutable_tree::Tree},
    io::{Storage, sim::SimDisk},
    page::{
        header::{HEADER_LEN, Header},
        inner::Inner,
        value::{StoredValue, ValueKind},
    },
    record::{Record, SLOT_COUNT},
    types::TypeNames,
};
use crate::{
    admin::check,
    instance::engine::Engine,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, PAGE_SIZE, ascending_key, create_table, fill, get, insert, new_database,
        open, open_read_only, records, root_of,
    },
    write::transaction::WriteTransaction,
};
use std::{io::IoSlice, ops::Bound, sync::Arc};

fn overwrite(disk: &SimDisk, offset: usize, bytes: &[u8]) {
    disk.write(offset as u64, &[IoSlice::new(bytes)]).unwrap();
}

/// The offset of the root page of table `a` in the file, and its bytes.
fn root_page(engine: &Arc<Engine>) -> (usize, Vec<u8>) {
    let snapshot = engine.begin_read().unwrap();
    let number = root_of(&snapshot, engine).page;
    let bytes = PageSource::page(&*snapshot, number).unwrap().to_vec();
    (number.index() * PAGE_SIZE, bytes)
}

/// An error must report damage.
fn expect<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(found) => Some(found),
        Err(Error::Corrupted { .. } | Error::UnknownFormat { .. } | Error::TransactionBroken) => {
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Reads, checks and changes table `a`, each in several ways, without a commit. Returns how many of
/// these found damage.
fn exercise(engine: &Arc<Engine>, keys: &[Vec<u8>]) -> usize {
    let mut damaged = 0;
    let snapshot = engine.begin_read().unwrap();
    let report = check::report(&snapshot);
    damaged += usize::from(!report.is_clean());
    let Ok(Some(root)) = snapshot.root_of(engine.handle(b"a"), b"a") else {
        return damaged + 1;
    };
    let mut cursor = TreeCursor::new(&*snapshot, *root);
    for _ in 0..2000 {
        match expect(cursor.next()) {
            Some(true) => drop(expect(cursor.value().map(<[u8]>::len))),
            Some(false) => break,
            None => {
                damaged += 1;
                break;
            }
        }
    }
    for key in keys {
        let found = crate::btree::lookup::get(&*snapshot, &root, key);
        damaged += usize::from(expect(found).is_none());
        for change in 0..4 {
            let mut txn = WriteTransaction::begin(engine).unwrap();
            let changed = txn.change(engine.handle(b"a"), b"a", |tree| match change {
                0 => tree.remove(key).map(drop),
                1 => {
                    let value = StoredValue::inline(&[9; 1500]);
                    tree.insert(key, value, Existing::Replace).map(drop)
                }
                2 => {
                    let low = Bound::Included(&key[..]);
                    tree.remove_range(low, Bound::Unbounded).map(drop)
                }
                _ => (0..40u8).try_for_each(|i| {
                    let (key, value) = ([&key[..], &[i]].concat(), [i; 200]);
                    let value = StoredValue::inline(&value);
                    tree.insert(&key, value, Existing::Replace).map(drop)
                }),
            });
            damaged += usize::from(expect(changed).is_none());
        }
    }
    damaged
}

/// Numbers at the limits of two bytes.
const EDGES: [u16; 7] = [0, 1, 0x7f, 0x00ff, 0x7fff, 0x8000, 0xffff];

/// Puts each of these numbers at each used offset of the root page, and exercises the result.
fn exercise_every_offset(disk: &SimDisk, engine: &Arc<Engine>, keys: &[Vec<u8>]) {
    let (start, page) = root_page(engine);
    let mut damaged = 0;
    let is_used = |at: &usize| *at < HEADER_LEN + 64 || page[*at..*at + 2] != [0; 2];
    for at in (0..PAGE_SIZE - 1).filter(is_used) {
        for edge in EDGES {
            overwrite(disk, start + at, &edge.to_le_bytes());
            damaged += exercise(engine, keys);
        }
        overwrite(disk, start + at, &page[at..at + 2]);
    }
    assert!(damaged > 500, "{damaged} errors");
    let snapshot = engine.begin_read().unwrap();
    assert!(check::report(&snapshot).is_clean(), "restored");
}

/// Node sizes, bounds of the free space and extents of large values were trusted by reads, puts,
/// splits and deletes (LMDB: CVE-2019-16226, and checks that py-lmdb 2.1.0 added). All two-byte
/// fields of a leaf, including a large value's description, get numbers at the limits.
#[test]
fn any_number_in_a_leaf_is_an_error_or_harmless() {
    let (disk, engine) = new_database();
    let large = (b"large".to_vec(), vec![1; 3 * PAGE_SIZE]);
    let small = (b"k".repeat(20), vec![2; 5]);
    fill(&engine, [large.clone(), small.clone()]);
    exercise_every_offset(&disk, &engine, &[large.0, small.0]);
}

/// Any number in an inner page: heads, children, separators.
#[test]
fn any_number_in_an_inner_page_is_an_error_or_harmless() {
    let (disk, engine) = new_database();
    fill(&engine, records(130, &[0; 100]));
    let root = root_of(&engine.begin_read().unwrap(), &engine);
    assert_eq!(root.depth, 2);
    exercise_every_offset(&disk, &engine, &[ascending_key(0), ascending_key(70)]);
}

/// A flag in the file that contradicted the table led to a null pointer, or marked unchanged pages
/// as changed (LMDB: CVE-2019-16224, -16225, -16227). Each flag of a leaf and of an inner page is
/// inverted.
#[test]
fn any_flag_of_a_page_is_an_error_or_harmless() {
    for count in [3, 130] {
        let (disk, engine) = new_database();
        fill(&engine, records(count, &[0; 100]));
        let (start, page) = root_page(&engine);
        let flags = Header::read(&page).flags;
        for bit in 0..16 {
            let turned = (flags ^ 1 << bit).to_le_bytes();
            overwrite(&disk, start + 22, &turned);
            exercise(&engine, &[ascending_key(0), ascending_key(70)]);
        }
    }
}

/// An inner page that counts the records below its children, in a table that does not count, or the
/// other way round, was laid out in one way and read in the other: adding a child was an index out
/// of bounds. Found by forged files.
#[test]
fn an_inner_page_that_counts_where_its_table_does_not_is_an_error() {
    for is_counted in [false, true] {
        let (disk, engine) = new_database();
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        let root = TreeRoot::new(crate::KeyOrder::Bytes, true, is_counted, 0);
        txn.create_table(engine.handle(b"a"), b"a", root, TypeNames::default())
            .unwrap();
        for i in 0..130 {
            insert(&mut txn, b"a", &ascending_key(2 * i), &[7; 100]).unwrap();
        }
        txn.commit().unwrap();
        let (start, mut page) = root_page(&engine);
        let mut header = Header::read(&page);
        // The only flag in which the two differ.
        header.flags ^= 2;
        header.write(&mut page);
        overwrite(&disk, start, &page);
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        let result = (0..260).try_for_each(|i| {
            let key = [&ascending_key(i)[..], b"between"].concat();
            insert(&mut txn, b"a", &key, &[7; 100])
        });
        assert!(matches!(result, Err(Error::Corrupted { .. })), "{result:?}");
    }
}

/// A page that was its own child made reading endless and ended the process (redb 4.2), and a page
/// number far beyond the end requested terabytes. A child must be one level below its parent and
/// inside the file; anything else is damage.
#[test]
fn a_page_that_is_its_own_child_is_an_error() {
    let (disk, engine) = new_database();
    fill(&engine, records(130, &[7; 100]));
    let (start, page) = root_page(&engine);
    let inner = Inner::parse(&page).unwrap();
    let (own, other) = (start / PAGE_SIZE, inner.child(1).unwrap().index());
    let entry_offset = start + inner.child_offset(0);
    // The page itself, a sibling, a record, and pages that do not exist.
    for child in [own, other, 0, 3, u32::MAX as usize, 1 << 31] {
        overwrite(&disk, entry_offset, &(child as u32).to_le_bytes());
        let damaged = exercise(&engine, &[ascending_key(0)]);
        // A sibling is distinguished from the right child by its checksum, and by the check.
        let least = if child == other { 1 } else { 2 };
        assert!(damaged >= least, "child {child}: {damaged} errors");
        assert!(disk.len() < 1 << 20, "the file has {} bytes", disk.len());
    }
}

/// Replaces the catalog's entry of table `a` by these bytes, as if that had been committed.
fn with_entry(change: impl FnOnce(TreeRoot) -> Vec<u8>) -> (SimDisk, Arc<Engine>) {
    let (disk, engine) = new_database();
    fill(&engine, records(130, &[7; 100]));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"b");
    insert(&mut txn, b"b", b"key", b"value").unwrap();
    txn.commit().unwrap();
    let bytes = change(root_of(&engine.begin_read().unwrap(), &engine));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let value = StoredValue {
        kind: ValueKind::Tree,
        bytes: &bytes,
    };
    let mut catalog = txn.catalog;
    let put = Tree::new(&mut txn.pages, &mut catalog).insert(b"a", value, Existing::Replace);
    put.unwrap();
    txn.catalog = catalog;
    txn.commit().unwrap();
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk, false, BOOT).unwrap();
    (disk, engine)
}

/// A root on a meta page, a depth beyond the stack of a cursor, and a table description of another
/// length were followed (LMDB; checks that py-lmdb 2.1.0 added). Other tables are not affected.
#[test]
fn an_impossible_root_is_an_error() {
    let page = |number| {
        move |root: TreeRoot| TreeRoot {
            page: PageNumber(number),
            ..root
        }
    };
    let depth = |depth| move |root: TreeRoot| TreeRoot { depth, ..root };
    let changes: Vec<Box<dyn FnOnce(TreeRoot) -> Vec<u8>>> = vec![
        Box::new(move |root| page(0)(root).encode().to_vec()),
        Box::new(move |root| page(1)(root).encode().to_vec()),
        Box::new(move |root| page(3)(root).encode().to_vec()),
        Box::new(move |root| page(u32::MAX)(root).encode().to_vec()),
        Box::new(move |root| depth(0)(root).encode().to_vec()),
        Box::new(move |root| depth(1)(root).encode().to_vec()),
        Box::new(move |root| depth(3)(root).encode().to_vec()),
        Box::new(move |root| depth(40)(root).encode().to_vec()),
        Box::new(move |root| depth(255)(root).encode().to_vec()),
        Box::new(|root| root.encode()[..63].to_vec()),
        Box::new(|root| [&root.encode()[..], &[0]].concat()),
        Box::new(|_| Vec::new()),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let (_disk, engine) = with_entry(change);
        let damaged = exercise(&engine, &[ascending_key(0)]);
        assert!(damaged >= 2, "change {index}: {damaged} errors");
        assert_eq!(get(&engine, b"b", b"key").unwrap(), b"value");
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        insert(&mut txn, b"b", b"key", b"another").unwrap();
        txn.commit().unwrap();
        assert_eq!(get(&engine, b"b", b"key").unwrap(), b"another");
    }
}

/// A page size of zero was a division by zero (LMDB, CVE-2019-16228). The only record of the file
/// has it, or another impossible size, with a correct checksum.
#[test]
fn a_file_with_an_impossible_page_size_is_no_database() {
    for page_size in [0, 1, 3, 512, 2048, 4095, 4097, 131_072, 1 << 31, u32::MAX] {
        let (disk, engine) = new_database();
        fill(&engine, records(3, b"value"));
        let mut image = disk.process_crash();
        let mut records: Vec<Record> = (0..SLOT_COUNT)
            .filter_map(|slot| Record::decode(&image[usize::from(slot) * PAGE_SIZE..], slot).ok())
            .collect();
        records.sort_by_key(|record| record.sequence);
        let mut newest = records.pop().unwrap();
        (newest.slot, newest.page_size) = (0, page_size);
        image[..usize::from(SLOT_COUNT) * PAGE_SIZE].fill(0);
        let bytes = newest.encode(PAGE_SIZE);
        image[..bytes.len()].copy_from_slice(&bytes);
        let disk = SimDisk::from_image(image, CAPACITY);
        for opened in [open(&disk, false, BOOT), open_read_only(&disk)] {
            assert!(matches!(opened, Err(Error::NotADatabase { .. })));
        }
    }
}
