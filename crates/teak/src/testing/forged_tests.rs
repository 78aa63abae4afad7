//! Bugs found by forged files, each in its smallest form.

use super::{SimDisk, forge::state_offsets, open, open_apart, repair, salvage};
use crate::io::FileAt;
use crate::{
    Database, DetachedCursor, Error, KeyOrder, KeyStep, Options, PageNumber, Result, Table,
    TableDef, TableOptions, Transaction,
    codec::{Bytes, Raw},
    page::{
        header::{Header, arrays_start},
        inner::Inner,
        leaf::{HAS_REFERENCES, Leaf},
        value::ValueExtent,
    },
    record::{LAST_NUMBER, Record, SLOT_COUNT},
};
use std::{fs::OpenOptions, ops::ControlFlow};

const PAGE: usize = 4096;
const BOOT: [u8; 16] = [1; 16];
/// Offsets in a page: its kind, the lengths of its heap and of its garbage, and its flags.
const KIND: usize = 4;
const HEAP_LEN: usize = 16;
const GARBAGE_LEN: usize = 18;
const FLAGS: usize = 22;
/// The offset of the length of a record's value.
const VALUE_WORD: usize = 2;

/// A closed database that `make` has filled.
fn image(make: impl FnOnce(&Database) -> Result<()>) -> Vec<u8> {
    let disk = SimDisk::new(8 << 20);
    let database = open(&disk, &Options::new(), true, BOOT).unwrap();
    make(&database).unwrap();
    database.close().unwrap();
    disk.process_crash()
}

fn reopen(image: Vec<u8>) -> Result<Database> {
    let capacity = image.len() + (4 << 20);
    let disk = SimDisk::from_image(image, capacity);
    open(&disk, &Options::new(), false, BOOT)
}

fn is_clean(mut image: Vec<u8>) -> bool {
    repair(&mut image);
    let report = reopen(image)
        .unwrap()
        .check(&mut |_| ControlFlow::Continue(()));
    report.unwrap().is_clean()
}

/// A table with inner pages, and large values. It has no types, so that nothing follows its root in
/// the catalog.
fn fill(database: &Database) -> Result<()> {
    let mut txn = database.begin_write()?;
    let table: Table<Raw, Raw> = TableDef::new("values")
        .options(TableOptions::new().counted(true))
        .create(&mut txn)?;
    for i in 0..60_u8 {
        table.insert(&mut txn, [i; 400], vec![i; 20 * usize::from(i)])?;
    }
    txn.commit().map(drop)
}

/// The offsets of the image's pages of a kind.
fn pages(image: &[u8], kind: u8) -> Vec<usize> {
    let pages = (4 * PAGE..image.len()).step_by(PAGE);
    pages.filter(|start| image[start + KIND] == kind).collect()
}

/// The offset of the catalog of the first named state, which has one page.
fn named_catalog(image: &[u8]) -> usize {
    let leaves = pages(image, 1).into_iter();
    let roots = leaves.flat_map(|leaf| {
        let found_offsets = state_offsets(&image[leaf..leaf + PAGE]).into_iter();
        found_offsets.map(move |at| leaf + at)
    });
    let numbers = roots.map(|root| u32::from_le_bytes(image[root..root + 4].try_into().unwrap()));
    numbers.map(|number| number as usize * PAGE).next().unwrap()
}

#[test]
fn a_check_reports_pages_with_the_wrong_layout() {
    let image = image(fill);
    assert!(is_clean(image.clone()));
    let mut detected = 0;
    for (kind, flag) in [(1, HAS_REFERENCES), (1, 1), (2, 1), (2, 4), (2, 0x4000)] {
        for page in pages(&image, kind) {
            let mut forged = image.clone();
            forged[page + FLAGS] ^= flag as u8;
            forged[page + FLAGS + 1] ^= (flag >> 8) as u8;
            detected += usize::from(!is_clean(forged));
        }
    }
    assert!(detected > 20, "{detected}");
}

/// Heads of separators were not compared with the separators: a search went to another child.
#[test]
fn a_check_reports_a_separator_with_a_wrong_head() {
    let image = image(|database| {
        let mut txn = database.begin_write()?;
        let order = TableOptions::new().order(KeyOrder::ReverseBytes);
        let table: Table<Bytes, Bytes> = TableDef::new("values").options(order).create(&mut txn)?;
        for i in 0..60_u8 {
            table.insert(&mut txn, [i; 400], b"value")?;
        }
        txn.commit().map(drop)
    });
    assert!(is_clean(image.clone()));
    let inner = pages(&image, 2)[0];
    for head in 1..3 {
        let mut image = image.clone();
        image[inner + arrays_start(0) + 4 * head + 2] ^= 64;
        assert!(!is_clean(image), "head {head}");
    }
}

/// Overlapping records can be read, but the next change of the page moves one of them over the
/// other. It panicked if the leaf also claimed to have no room.
#[test]
fn no_record_is_inserted_into_an_empty_leaf_of_a_tree() {
    let mut image = image(|database| {
        let mut txn = database.begin_write()?;
        let table: Table<Bytes, Bytes> = txn.create_table("values")?;
        for i in 0..20_u8 {
            table.insert(&mut txn, [i; 8], [i; 100])?;
        }
        txn.commit().map(drop)
    });
    let leaves = pages(&image, 1).into_iter();
    let leaf = leaves.max_by_key(|leaf| Header::read(&image[*leaf..]).count);
    let leaf = leaf.unwrap();
    let mut header = Header::read(&image[leaf..]);
    header.count = 0;
    header.heap_len = (PAGE - 200) as u16;
    header.write(&mut image[leaf..leaf + PAGE]);
    repair(&mut image);
    let database = reopen(image).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Table<Bytes, Bytes> = txn.open_table("values").unwrap();
    let inserted = table.insert(&mut txn, b"key", [1; 1_000]);
    assert!(
        matches!(inserted, Err(Error::Corrupted { .. })),
        "{inserted:?}"
    );
}

#[test]
fn a_check_reports_overlapping_records() {
    let image = image(fill);
    assert!(is_clean(image.clone()));
    let leaves = pages(&image, 1).into_iter();
    let leaf = leaves.max_by_key(|leaf| Header::read(&image[*leaf..]).count);
    let leaf = leaf.unwrap();
    let parsed = Leaf::parse(&image[leaf..leaf + PAGE]).unwrap();
    let offsets = (0..parsed.count()).map(|index| parsed.node_offset(index).unwrap());
    let mut offsets: Vec<usize> = offsets.collect();
    offsets.sort();
    assert!(offsets.len() > 2);
    // A record ends where the next one begins, and the last one at the end of the page.
    for offset in &offsets[..offsets.len() - 1] {
        let mut image = image.clone();
        image[leaf + offset + VALUE_WORD] += 1;
        assert!(!is_clean(image), "at {offset}");
    }
    let mut image = image;
    image[leaf + GARBAGE_LEN] = 1;
    assert!(!is_clean(image));
}

#[test]
fn a_check_reports_records_outside_of_the_heap() {
    let image = image(fill);
    let mut detected = 0;
    for page in pages(&image, 1) {
        let mut forged = image.clone();
        forged[page + HEAP_LEN..page + HEAP_LEN + 2].fill(0);
        detected += usize::from(!is_clean(forged));
    }
    assert!(detected > 10, "{detected}");
}

/// A separator that lay in the array of counts was read well until a count changed.
#[test]
fn a_check_reports_separators_outside_of_the_heap() {
    let image = image(|database| {
        let mut txn = database.begin_write()?;
        let counted = TableOptions::new().counted(true);
        let table: Table<Bytes, Bytes> =
            TableDef::new("values").options(counted).create(&mut txn)?;
        for i in 0..60_u8 {
            // Equal beginnings, so that separators are longer than their heads.
            table.insert(&mut txn, [&[i / 8; 10][..], &[i; 400]].concat(), b"value")?;
        }
        txn.commit().map(drop)
    });
    assert!(is_clean(image.clone()));
    let inner = pages(&image, 2)[0];
    let page = Inner::parse(&image[inner..inner + PAGE]).unwrap();
    let offset = |index: usize| inner + page.separator_field(index);
    let stored = |index: &usize| {
        let at = offset(*index);
        u16::from_le_bytes([image[at], image[at + 1]]) > 4
    };
    let nodes: Vec<usize> = (1..page.count()).filter(stored).collect();
    assert!(nodes.len() > 2, "{nodes:?}");
    // The counts end where the offsets begin. A count of four is a separator of four bytes.
    let counts = page.separator_field(0) - 8 * page.count();
    let mut forged = image.clone();
    let at = offset(nodes[0]);
    forged[at..at + 2].copy_from_slice(&(counts as u16).to_le_bytes());
    assert!(!is_clean(forged));
    let mut forged = image.clone();
    forged[inner + HEAP_LEN..inner + HEAP_LEN + 2].fill(0);
    assert!(!is_clean(forged));
    // Two children with one separator.
    let mut forged = image.clone();
    forged.copy_within(offset(nodes[1])..offset(nodes[1]) + 2, at);
    assert!(!is_clean(forged));
}

#[test]
fn a_check_reports_a_bad_root_in_the_catalog_of_a_named_state() {
    let mut image = image(|database| {
        fill(database)?;
        database.create_snapshot("name")?;
        let mut txn = database.begin_write()?;
        txn.create_table::<Bytes, Bytes>("other")?;
        txn.commit().map(drop)
    });
    let catalog = named_catalog(&image);
    // The only entry is at the end of the page. Its flags contradict each other then.
    image[catalog + PAGE - 64 + 6] = 28;
    assert!(!is_clean(image));
}

/// A plain table has no order of values: the byte is ignored. The check ignored it, and commits
/// called the catalog damaged.
#[test]
fn a_byte_of_a_root_that_is_ignored_does_not_stop_commits() {
    let mut image = image(fill);
    let leaves = pages(&image, 1).into_iter();
    let mut catalogs = leaves.filter(|leaf| Header::read(&image[*leaf..]).count == 1);
    let catalog = catalogs.next().unwrap();
    // The order of values in the root of its only entry, at the end of the page.
    image[catalog + PAGE - 64 + 57] = 3;
    repair(&mut image);
    assert!(is_clean(image.clone()));
    let database = reopen(image).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Table<Bytes, Bytes> = txn.open_table("values").unwrap();
    table.insert(&mut txn, b"key", b"value").unwrap();
    txn.commit().unwrap();
    assert_eq!(table.len(&database.begin_read().unwrap()).unwrap(), 61);
}

#[test]
fn a_check_reports_wrong_counts_in_a_named_state() {
    let mut image = image(|database| {
        fill(database)?;
        database.create_snapshot("name")?;
        let mut txn = database.begin_write()?;
        let table: Table<Bytes, Bytes> = txn.open_table("values")?;
        table.insert(&mut txn, b"another", b"value")?;
        txn.commit().map(drop)
    });
    assert!(is_clean(image.clone()));
    let catalog = named_catalog(&image);
    // The offset of the number of leaf pages in the root of its only entry.
    image[catalog + PAGE - 64 + 28] += 1;
    assert!(!is_clean(image));
}

/// Pages shared with the newest state are not visited again, and so duplicates were never found.
#[test]
fn a_check_reports_a_page_that_a_named_state_uses_twice() {
    let mut image = image(|database| {
        fill(database)?;
        database.create_snapshot("name")?;
        let mut txn = database.begin_write()?;
        let table: Table<Bytes, Bytes> = txn.open_table("values")?;
        table.insert(&mut txn, [0; 400], b"another")?;
        txn.commit().map(drop)
    });
    assert!(is_clean(image.clone()));
    let header = |start: &usize| Header::read(&image[*start..]);
    let inner = pages(&image, 2).into_iter();
    let inner = inner.min_by_key(|start| header(start).birth).unwrap();
    let (prefix_len, count) = (header(&inner).prefix_len, usize::from(header(&inner).count));
    assert!(count > 6);
    let children = inner + arrays_start(usize::from(prefix_len)) + 4 * count;
    image.copy_within(children + 20..children + 24, children + 24);
    assert!(!is_clean(image));
}

/// Only the first page of a value was looked up among the dead ones, and none if the newest state
/// has a value there: the check found nothing, and rolling back failed.
#[test]
fn a_check_reports_a_value_of_a_named_state_in_wrong_pages() {
    let mut image = image(|database| {
        let mut txn = database.begin_write()?;
        let table: Table<Bytes, Bytes> = txn.create_table("values")?;
        table.insert(&mut txn, b"large", [1; 5_000])?;
        txn.commit()?;
        database.create_snapshot("name")?;
        let mut txn = database.begin_write()?;
        table.insert(&mut txn, b"large", [2; 5_000])?;
        txn.commit().map(drop)
    });
    assert!(is_clean(image.clone()));
    let extents = (4 * PAGE..image.len() - 32).filter_map(|at| {
        let extent = ValueExtent::decode(&image[at..at + 32]).ok()?;
        (extent.len_bytes == 5_000).then_some((at, extent))
    });
    let mut extents: Vec<_> = extents.collect();
    extents.sort_by_key(|(_, extent)| extent.birth);
    let [(at, extent), (_, newest)] = extents[..] else {
        panic!("two values")
    };
    let mut forge = |start, checksum| {
        let forged = ValueExtent {
            start,
            checksum,
            ..extent
        };
        image[at..at + 32].copy_from_slice(&forged.encode());
        is_clean(image.clone())
    };
    assert!(!forge(PageNumber(extent.start.0 + 1), extent.checksum));
    // The newest state's value, born later.
    assert!(!forge(newest.start, newest.checksum));
    assert!(forge(extent.start, extent.checksum));
}

/// Dead pages are kept for the states between their birth and their death. A later state that uses
/// them loses them when the last of those is dropped.
#[test]
fn a_check_reports_pages_not_kept_for_a_named_state() {
    let mut image = image(|database| {
        fill(database)?;
        for name in ["early", "later"] {
            database.create_snapshot(name)?;
            let mut txn = database.begin_write()?;
            let table: Table<Bytes, Bytes> = txn.open_table("values")?;
            table.insert(&mut txn, name.as_bytes(), b"another")?;
            txn.commit()?;
        }
        Ok(())
    });
    assert!(is_clean(image.clone()));
    let list = pages(&image, 1).into_iter().find_map(|leaf| {
        let found_offsets = state_offsets(&image[leaf..leaf + PAGE]);
        (found_offsets.len() == 2).then(|| [leaf + found_offsets[0], leaf + found_offsets[1]])
    });
    let [early, later] = list.unwrap();
    image.copy_within(early..early + 64, later);
    assert!(!is_clean(image));
}

#[test]
fn a_check_reports_exhausted_commit_numbers() {
    let left = [1, 2, 1 << 32];
    assert!(
        left.iter()
            .all(|left| !is_clean(image_with_sequence(LAST_NUMBER - left)))
    );
    assert!(is_clean(image_with_sequence(1 << 62)));
}

#[test]
fn a_copy_of_a_database_without_a_next_number_can_be_read() {
    let image = image_with_sequence(LAST_NUMBER - 1);
    let mut copy = Vec::new();
    let database = reopen(image).unwrap();
    let txn = database.begin_read().unwrap();
    txn.write_backup(&mut copy, None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let copy = reopen(copy).unwrap();
    let txn = copy.begin_read().unwrap();
    let table: Table<Bytes, Bytes> = txn.open_table("values").unwrap();
    assert_eq!(table.len(&txn).unwrap(), 60);
}

/// The newest record of a filled database has another sequence number.
fn image_with_sequence(sequence: u64) -> Vec<u8> {
    let mut image = image(fill);
    let slots = (0..SLOT_COUNT).filter_map(|slot| {
        let start = usize::from(slot) * PAGE;
        Record::decode(&image[start..start + PAGE], slot).ok()
    });
    let mut newest = slots.max_by_key(|record| record.sequence).unwrap();
    newest.sequence = sequence;
    let bytes = newest.encode(PAGE);
    let start = usize::from(newest.slot) * PAGE;
    image[start..start + bytes.len()].copy_from_slice(&bytes);
    image
}

/// Byte 320 selects the valid copy of the commit state; byte 389,120 is the state that readers
/// begin with.
#[test]
fn a_state_that_only_the_lock_file_knows_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    let disk = SimDisk::new(8 << 20);
    let database = open_apart(&disk, &path, &Options::new(), true, BOOT).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    for number in [7_u64] {
        for write_offset in [320, 389_120] {
            file.write_all_at(&number.to_le_bytes(), write_offset)
                .unwrap();
        }
        let read = database.begin_read();
        assert!(read.is_err());
        let _ = database.stat();
    }
}

#[test]
fn moving_back_and_forth_over_a_nested_tree_is_no_damage() {
    let image = image(|database| {
        let mut txn = database.begin_write()?;
        let table = txn.create_multi_table::<Bytes, Bytes>("values")?;
        for i in 0..300_u64 {
            let value = [[7; 100].as_slice(), &i.to_be_bytes()].concat();
            table.insert(&mut txn, b"b", &value)?;
        }
        table.insert(&mut txn, b"a", b"value")?;
        table.insert(&mut txn, b"c", b"value")?;
        txn.commit().map(drop)
    });
    let database = reopen(image).unwrap();
    let txn = database.begin_read().unwrap();
    let table = txn.open_multi_table::<Bytes, Bytes>("values").unwrap();
    let (mut cursor, mut free) = (table.cursor(&txn).unwrap(), DetachedCursor::new(&table));
    assert!(cursor.last().unwrap() && free.last(&txn).unwrap());
    for _ in 0..100 {
        assert!(cursor.prev().unwrap() && free.prev(&txn).unwrap());
        assert!(cursor.next().unwrap() && free.next(&txn).unwrap());
    }
    for _ in 0..100 {
        assert!(
            cursor.step(KeyStep::PrevKey).unwrap() && free.step(&txn, KeyStep::PrevKey).unwrap()
        );
        assert!(
            cursor.step(KeyStep::NextKey).unwrap() && free.step(&txn, KeyStep::NextKey).unwrap()
        );
    }
}

/// The second table of a name was not saved if its types were others than those of the first.
#[test]
fn salvage_keeps_the_records_of_both_tables_of_one_name() {
    let mut image = image(|database| {
        let mut txn = database.begin_write()?;
        txn.create_table::<&str, u64>("twin}")?
            .insert(&mut txn, "Ada", 36)?;
        txn.create_table::<u64, &str>("twin~")?
            .insert(&mut txn, 36, "Ada")?;
        txn.commit().map(drop)
    });
    let leaves = pages(&image, 1).into_iter();
    let catalog = leaves.map(|leaf| leaf..leaf + PAGE);
    let mut catalog = catalog.filter(|page| image[page.clone()].contains(&b'~'));
    let catalog = catalog.next().expect("the catalog is a leaf");
    for byte in image[catalog].iter_mut().filter(|byte| **byte == b'~') {
        *byte = b'}';
    }
    repair(&mut image);
    let (capacity, saved) = (image.len(), SimDisk::new(8 << 20));
    let report = salvage(&SimDisk::from_image(image, capacity), &saved).unwrap();
    assert!(report.tables.iter().all(|table| table.name == b"twin}"));
    let database = open(&saved, &Options::new(), false, BOOT).unwrap();
    let txn = database.begin_read().unwrap();
    let table: Table<Raw, Raw> = txn.open_table("twin}").unwrap();
    assert_eq!(table.len(&txn).unwrap(), 2);
    assert_eq!(txn.tables().unwrap()[0].types.to_string(), "str -> u64");
}
