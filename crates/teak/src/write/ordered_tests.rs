//! Tables in custom orders: the records about them in the file, and recovery, which compares no
//! keys.

use crate::{
    Error, Result,
    btree::TreeRoot,
    io::sim::SimDisk,
    page::{
        comparison::{Comparison, Comparisons},
        key::KeyOrder,
    },
    record::TABLE_KINDS,
    types::TypeNames,
};
use crate::{
    admin::check,
    instance::{engine::Engine, policies::Settings},
    maintain::{compact::compact, compact_options::CompactOptions},
    observe::recovery::Recovery,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, OTHER_BOOT, assert_clean, create_table, get, insert, settings_with,
    },
    write::transaction::WriteTransaction,
};
use std::{ops::ControlFlow, sync::Arc};

static DOWNWARDS: Comparison = Comparison::new("downwards", &|a, b| b.cmp(a));

fn knowing(settings: &mut Settings) {
    settings.comparisons = Comparisons::new(&[&DOWNWARDS]);
}

fn open(disk: &SimDisk, is_new: bool, boot: [u8; 16], settings: Settings) -> Result<Arc<Engine>> {
    let storage = Arc::new(disk.clone());
    Engine::open_storage(storage, "simulated".into(), is_new, false, settings, boot).map(Arc::new)
}

fn features(engine: &Arc<Engine>) -> u32 {
    engine.begin_read().unwrap().record().features.incompatible
}

fn create_ordered(txn: &mut WriteTransaction, name: &[u8]) {
    let root = TreeRoot::new(KeyOrder::Custom(&DOWNWARDS), true, true, 0);
    let handle = txn.engine().handle(name);
    txn.create_table(handle, name, root, TypeNames::default())
        .unwrap();
}

/// The feature is set from the commit that creates such a table on, even after the table is
/// dropped, and with no other table.
#[test]
fn such_a_table_is_marked_permanently() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT, settings_with(knowing)).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    let savepoint = txn.begin_savepoint().unwrap();
    create_ordered(&mut txn, b"b");
    txn.roll_back_to(savepoint).unwrap();
    txn.commit().unwrap();
    assert_eq!(features(&engine), 0);
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_ordered(&mut txn, b"b");
    txn.rename_table((engine.handle(b"b"), b"b"), (engine.handle(b"c"), b"c"))
        .unwrap();
    txn.commit().unwrap();
    assert_eq!(features(&engine), TABLE_KINDS);
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    txn.drop_table(engine.handle(b"c"), b"c").unwrap();
    txn.commit().unwrap();
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk, false, OTHER_BOOT, settings_with(|_| {})).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    insert(&mut txn, b"a", b"key", b"value").unwrap();
    txn.commit().unwrap();
    assert_eq!(features(&engine), TABLE_KINDS);
}

/// Recovering, writing, relocating pages and closing do not need the comparison.
#[test]
fn recovery_does_without_the_comparison() {
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT, settings_with(knowing)).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    create_ordered(&mut txn, b"b");
    for number in 0..2000u32 {
        insert(&mut txn, b"b", &number.to_be_bytes(), &[1; 100]).unwrap();
        insert(&mut txn, b"a", &number.to_be_bytes(), &[1; 1000]).unwrap();
    }
    txn.commit().unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    txn.set_durability(Durability::Lazy);
    insert(&mut txn, b"b", b"key", b"value").unwrap();
    txn.commit().unwrap();

    let killed = SimDisk::from_image(disk.process_crash(), CAPACITY);
    let unknowing = open(&killed, false, OTHER_BOOT, settings_with(|_| {})).unwrap();
    assert_ne!(*unknowing.recovery(), Recovery::Clean);
    let opened = unknowing.begin_read().unwrap();
    let opened = opened.root_of(unknowing.handle(b"b"), b"b").map(drop);
    assert!(
        matches!(opened, Err(Error::ComparisonMissing { .. })),
        "{opened:?}"
    );
    let mut txn = WriteTransaction::begin(&unknowing).unwrap();
    txn.drop_table(unknowing.handle(b"a"), b"a").unwrap();
    create_table(&mut txn, b"c");
    txn.commit().unwrap();
    for number in 0..300u32 {
        let mut txn = WriteTransaction::begin(&unknowing).unwrap();
        insert(&mut txn, b"c", &number.to_be_bytes(), &[2; 300]).unwrap();
        txn.commit().unwrap();
    }
    let options = CompactOptions::default();
    compact(&unknowing, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_clean(&unknowing);
    unknowing.close().unwrap();
    drop(unknowing);

    let engine = open(&killed, false, BOOT, settings_with(knowing)).unwrap();
    assert_eq!(get(&engine, b"b", b"key").unwrap(), b"value");
    assert_eq!(get(&engine, b"b", &7u32.to_be_bytes()).unwrap(), [1; 100]);
    let report = check::report(&engine.begin_read().unwrap());
    assert!(report.is_clean(), "{:#?}", report.damages);
    assert!(report.unordered_tables.is_empty());
    assert_eq!(report.records, 2000 + 1 + 300);
}
