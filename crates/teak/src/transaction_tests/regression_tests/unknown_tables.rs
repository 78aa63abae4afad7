//! Tables that only a newer version can read. They were treated as damage, and one of them
//! prevented listing all others.

use crate::{
    Error, TransactionId,
    btree::{insert::Existing, mutable_tree::Tree},
    io::sim::SimDisk,
    page::value::{StoredValue, ValueKind},
};
use crate::{
    admin::check,
    instance::engine::Engine,
    observe::recovery::Recovery,
    read::catalog::CatalogEntry,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, OTHER_BOOT, ascending_key, create_table, fill, get, insert, new_database,
        open, open_read_only, put, records, root_of,
    },
    write::transaction::WriteTransaction,
};
use std::sync::Arc;

/// Offsets in the root of a tree: its order, its flags and the transaction of the last change.
const ORDER: usize = 5;
const FLAGS: usize = 6;
const CHANGED: usize = 40;

/// A database with tables `a` and `b`. In the root of `b`, this byte was changed at this offset,
/// and the transaction of its last change was set.
fn with_unknown(at: usize, byte: u8, changed: TransactionId) -> (SimDisk, Arc<Engine>) {
    let (disk, engine) = new_database();
    fill(&engine, records(300, &[7; 100]));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"b");
    insert(&mut txn, b"b", b"key", b"value").unwrap();
    txn.commit().unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let root = txn.root_of(engine.handle(b"b"), b"b").unwrap().unwrap();
    let mut bytes = root.encode();
    bytes[at] = byte;
    bytes[CHANGED..CHANGED + 8].copy_from_slice(&changed.0.to_le_bytes());
    let value = StoredValue {
        kind: ValueKind::Tree,
        bytes: &bytes,
    };
    let mut catalog = txn.catalog;
    let put = Tree::new(&mut txn.pages, &mut catalog).insert(b"b", value, Existing::Replace);
    put.unwrap();
    txn.catalog = catalog;
    txn.set_durability(Durability::Lazy);
    txn.commit().unwrap();
    (disk, engine)
}

fn assert_others_work(engine: &Arc<Engine>) {
    let snapshot = engine.begin_read().unwrap();
    let mut tables = Vec::new();
    snapshot
        .for_each_table(|name, entry, _| {
            tables.push((name.to_vec(), matches!(entry, CatalogEntry::Unknown(_))));
            Ok(())
        })
        .unwrap();
    assert_eq!(tables, [(b"a".to_vec(), false), (b"b".to_vec(), true)]);
    assert_eq!(get(engine, b"a", &ascending_key(9)).unwrap(), [7; 100]);
    assert_eq!(root_of(&snapshot, engine).records, 300);

    let opened = snapshot.root_of(engine.handle(b"b"), b"b");
    let text = opened.unwrap_err().to_string();
    assert!(text.contains("table \"b\""), "{text}");
    assert!(text.contains("newer version"), "{text}");

    let report = check::report(&snapshot);
    assert_eq!(report.unknown_tables, [b"b".to_vec()]);
    assert_eq!((report.tables, report.records), (1, 300));
    assert!(report.is_clean(), "{:#?}", report.damages);
}

/// The table is listed, and reported by the check. It can neither be opened nor dropped, and its
/// pages are kept, while other tables are read and written.
#[test]
fn a_table_of_a_newer_version_does_not_affect_others() {
    for (at, byte) in [(ORDER, 9), (FLAGS + 1, 0x01), (FLAGS + 1, 0x80)] {
        let (disk, engine) = with_unknown(at, byte, TransactionId(2));
        engine.close().unwrap();
        drop(engine);
        let engine = open(&disk, false, BOOT).unwrap();
        assert_others_work(&engine);
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        let dropped = txn.drop_table(engine.handle(b"b"), b"b");
        assert!(matches!(dropped, Err(Error::UnknownFormat { .. })));
        insert(&mut txn, b"a", &ascending_key(9), &[7; 100]).unwrap();
        txn.commit().unwrap();
        assert_others_work(&engine);
        engine.close().unwrap();
        drop(engine);
        assert_others_work(&open(&disk, false, BOOT).unwrap());
    }
}

/// Recovery skips a table that has not changed since the last durable commit. It cannot verify a
/// changed one: the database is readable, and refuses writes.
#[test]
fn recovery_does_not_walk_durable_pages() {
    let (disk, _engine) = with_unknown(ORDER, 9, TransactionId(2));
    for boot in [BOOT, OTHER_BOOT] {
        let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
        let engine = open(&killed, false, boot).unwrap();
        assert_ne!(*engine.recovery(), Recovery::Clean);
        assert_others_work(&engine);
        put(&engine, Durability::Durable, records(300, &[7; 100])).unwrap();
        assert_others_work(&engine);
    }
    let (disk, _engine) = with_unknown(ORDER, 9, TransactionId(3));
    let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
    assert!(matches!(
        open(&killed, false, OTHER_BOOT),
        Err(Error::UnknownFormat { .. })
    ));
    assert_others_work(&open_read_only(&killed).unwrap());
}
