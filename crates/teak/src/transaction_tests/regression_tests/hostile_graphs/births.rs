//! Pages that are younger than a state that uses them, or were overwritten since.

use super::*;
use crate::{record::durability::Durability, transaction_tests::test_kit::put, types::TypeNames};
use std::ops::ControlFlow;

/// A leaf of table `a` has a birth this many transactions too late, and a snapshot uses it.
fn with_birth(later: u64) -> (SimDisk, Arc<Engine>) {
    let (disk, engine) = new_database();
    fill(&engine, records(3, b"value"));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"b");
    txn.create_snapshot(b"before").unwrap();
    txn.commit().unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let mut forger = Forger::new(&mut txn, plain_root());
    forger.birth.0 += later;
    let leaf = forger.leaf([(&b"key"[..], StoredValue::inline(b"value"))]);
    let root = TreeRoot {
        page: leaf.page,
        checksum: leaf.checksum,
        depth: 1,
        records: 1,
        leaf_pages: 1,
        ..plain_root()
    };
    let mut catalog = txn.catalog;
    catalog::insert(
        &mut txn.pages,
        &mut catalog,
        b"a",
        &root,
        TypeNames::default(),
    )
    .unwrap();
    txn.catalog = catalog;
    txn.create_snapshot(b"forged").unwrap();
    txn.commit().unwrap();
    engine.close().unwrap();
    drop(engine);
    let engine = crate::transaction_tests::test_kit::open(&disk, false, BOOT).unwrap();
    (disk, engine)
}

/// `check` found no damage, and rolling back recorded a death before the birth: a panic.
#[test]
fn a_page_born_later_than_its_state_is_found() {
    let (disk, engine) = with_birth(1000);
    let snapshot = engine.begin_read().unwrap();
    assert!(!crate::admin::check::report(&snapshot).is_clean());
    let read = snapshot
        .root_of(engine.handle(b"a"), b"a")
        .unwrap()
        .map(|root| {
            let found = lookup::get(&*snapshot, &root, b"key");
            found.map(drop)
        });
    assert!(is_damage(&read.unwrap()));
    drop(snapshot);
    engine.close().unwrap();
    drop(engine);
    for verification in [Verification::FirstTouch, Verification::Off] {
        let options = Options::new().verification(verification);
        let database = testing::open(&disk, &options, false, BOOT).unwrap();
        let rolled = (|| {
            let mut txn = database.begin_write()?;
            txn.roll_back_to_snapshot("before")?;
            txn.commit()
        })();
        assert!(is_damage(&rolled), "{rolled:?}");
        let dropped = (|| {
            let mut txn = database.begin_write()?;
            txn.drop_table("a")?;
            txn.commit()
        })();
        assert!(is_damage(&dropped), "{dropped:?}");
    }
}

/// By now its birth is early enough for the newest state, but not for the snapshot, which loses the
/// page when it is changed.
#[test]
fn a_page_born_later_than_a_snapshot_that_has_it_is_found() {
    let (disk, engine) = with_birth(1);
    for round in 0..3 {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        insert(&mut txn, b"b", b"key", &[round]).unwrap();
        txn.commit().unwrap();
    }
    engine.close().unwrap();
    drop(engine);
    let database = open(&disk);
    let newest = database.begin_read().unwrap();
    let table: Raw = newest.open_table("a").unwrap();
    assert_eq!(table.get(&newest, b"key").unwrap(), Some(&b"value"[..]));
    // The newest state has found nothing wrong with the page.
    let past = database.open_snapshot("forged").unwrap();
    let table: Raw = past.open_table("a").unwrap();
    assert!(is_damage(&table.get(&past, b"key")));
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(
        report
            .damages
            .iter()
            .any(|damage| damage.detail.contains("forged")),
        "{report:?}"
    );
}

/// A page that the newest state uses too was skipped, even if it is wrong for the snapshot. If the
/// newest state had read it, the snapshot read wrong contents.
#[test]
fn a_page_of_a_snapshot_that_was_overwritten_is_found() {
    let (disk, engine) = new_database();
    fill(&engine, records(3, b"old"));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"b");
    txn.create_snapshot(b"old").unwrap();
    txn.commit().unwrap();
    let snapshot = engine.begin_read().unwrap();
    let root = root_of(&snapshot, &engine);
    let mut page = PageSource::page(&*snapshot, root.page).unwrap().to_vec();
    drop(snapshot);
    // As if the page had been reused for a table of the newest state.
    let end = page.len();
    page[end - 3..].copy_from_slice(b"new");
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let mut catalog = txn.catalog;
    let root = TreeRoot {
        checksum: Checksum::of(&page),
        ..root
    };
    catalog::insert(
        &mut txn.pages,
        &mut catalog,
        b"a",
        &root,
        TypeNames::default(),
    )
    .unwrap();
    txn.catalog = catalog;
    txn.commit().unwrap();
    engine.close().unwrap();
    drop(engine);
    let offset = u64::from(root.page.0) * PAGE_SIZE as u64;
    disk.write(offset, &[IoSlice::new(&page)]).unwrap();
    let database = open(&disk);
    let newest = database.begin_read().unwrap();
    let table: Raw = newest.open_table("a").unwrap();
    let values = |txn: &ReadTxn| {
        table
            .iter(txn)?
            .map(|r| Ok(r?.1.to_vec()))
            .collect::<Result<Vec<_>>>()
    };
    assert!(values(&newest).unwrap().contains(&b"new".to_vec()));
    let past = database.open_snapshot("old").unwrap();
    let read = values(&past);
    assert!(is_damage(&read), "{read:?}");
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(
        report
            .damages
            .iter()
            .any(|damage| damage.detail.contains("\"old\"")),
        "{report:?}"
    );
    let since = newest.write_backup(&mut Vec::new(), Some(&past), &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(is_damage(&since), "{since:?}");
    assert!(is_damage(
        &table
            .differences(&past, &newest)
            .unwrap()
            .collect::<Result<Vec<_>>>()
    ));
    let mut txn = database.begin_write().unwrap();
    assert!(is_damage(&txn.roll_back_to_snapshot("old")));
}

/// The free-space map keeps a dead page from the birth in its entry on. A page with an earlier
/// birth may belong to an older snapshot too, which would lose it together with the snapshot that
/// it is kept for.
#[test]
fn a_dead_page_older_than_the_states_it_is_kept_for_is_found() {
    let (disk, engine) = new_database();
    fill(&engine, records(3, b"one"));
    for name in [&b"first"[..], b"second"] {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        insert(&mut txn, b"a", b"key", name).unwrap();
        txn.create_snapshot(name).unwrap();
        txn.commit().unwrap();
    }
    let page = root_of(&engine.begin_read().unwrap(), &engine).page;
    put(&engine, Durability::Durable, records(3, b"last")).unwrap();
    engine.close().unwrap();
    drop(engine);
    let mut image = disk.process_crash();
    let header = page.0 as usize * PAGE_SIZE;
    let birth = &mut image[header + 8..][..8];
    assert!(birth[0] > 1);
    birth.copy_from_slice(&1u64.to_le_bytes());
    testing::repair(&mut image);
    let disk = SimDisk::from_image(image, 4 << 20);
    let report = open(&disk)
        .check(&mut |_| ControlFlow::Continue(()))
        .unwrap();
    let is_named =
        |damage: &crate::Damage| damage.page == Some(page) && damage.detail.contains("\"second\"");
    assert!(report.damages.iter().any(is_named), "{report:?}");
}
