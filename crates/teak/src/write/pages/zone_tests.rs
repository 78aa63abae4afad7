//! Positions of the pages of durable transactions.

use crate::{
    TransactionId,
    admin::page_walk::walk_pages,
    instance::engine::Engine,
    record::durability::Durability,
    transaction_tests::test_kit::{
        ascending_key, assert_clean, fill, insert, new_database, put, records, remove,
    },
    write::transaction::WriteTransaction,
};
use std::{
    ops::{ControlFlow, Range},
    sync::Arc,
};

const RECORD_COUNT: u32 = 12_000;

/// Changes a record in each of this many transactions, at random positions.
fn change(engine: &Arc<Engine>, durability: Durability, count: u32) {
    for i in 0..count {
        let key = ascending_key(i.wrapping_mul(0x9e37_79b1) % RECORD_COUNT);
        put(engine, durability, [(key, vec![2; 1000])]).unwrap();
    }
}

fn zone_of(engine: &Engine) -> Range<u64> {
    engine.acquire_writer().unwrap().zone.pages().clone()
}

/// The number of inner pages and of leaves born after `since`: those in the zone, and all.
fn count_in_zone(engine: &Arc<Engine>, since: TransactionId) -> [(usize, usize); 2] {
    let zone = zone_of(engine);
    let mut counts = [(0, 0); 2];
    let snapshot = engine.begin_read().unwrap();
    walk_pages(&snapshot, &mut |visit| {
        if visit.birth > since && visit.table.is_some() {
            let (in_zone, all) = &mut counts[usize::from(visit.level == 0)];
            *in_zone += usize::from(zone.contains(&u64::from(visit.extent.start.0)));
            *all += 1;
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    counts
}

/// Each inner page was a separate part of the flush.
#[test]
fn durable_transactions_write_inner_pages_together_and_leaves_elsewhere() {
    let (_disk, engine) = new_database();
    fill(&engine, records(RECORD_COUNT, &[1; 1000]));
    // Until then all pages are young.
    change(&engine, Durability::Durable, 100);
    let since = engine.begin_read().unwrap().transaction();
    change(&engine, Durability::Durable, 300);
    let [inner, leaves] = count_in_zone(&engine, since);
    assert!(inner.1 > 10 && inner.0 == inner.1, "{inner:?}");
    assert!(leaves.1 > 150 && leaves.0 < leaves.1 / 20, "{leaves:?}");
    let zone = zone_of(&engine);
    change(&engine, Durability::Durable, 300);
    assert_eq!(zone_of(&engine), zone, "it is large enough");
    assert_clean(&engine);
}

#[test]
fn lazy_transactions_need_no_zone() {
    let (_disk, engine) = new_database();
    fill(&engine, records(RECORD_COUNT, &[1; 1000]));
    change(&engine, Durability::Lazy, 100);
    assert!(zone_of(&engine).is_empty());
}

/// Of programs that choose when they commit, like those in Java, each lazy commit was written by
/// system calls, like a durable one.
#[test]
fn a_transaction_expects_the_durability_of_the_commit_before() {
    let (_disk, engine) = new_database();
    fill(&engine, records(1, &[1; 1000]));
    change(&engine, Durability::Durable, 1);
    let expected = |chosen: Durability| {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        let limits = txn.pages.limits.clone();
        assert_eq!(limits.durability, Durability::Durable, "nothing was chosen");
        let key = txn.id().0.to_be_bytes();
        insert(&mut txn, b"a", &key, b"value").unwrap();
        txn.set_durability(chosen);
        txn.commit().unwrap();
        limits.expected
    };
    assert_eq!(expected(Durability::Lazy), Durability::Durable);
    assert_eq!(expected(Durability::Lazy), Durability::Lazy);
    assert_eq!(expected(Durability::Durable), Durability::Lazy);
    assert_eq!(expected(Durability::Durable), Durability::Durable);
    assert_clean(&engine);
}

/// A zone at the end would prevent the file from shrinking.
#[test]
fn there_is_no_zone_in_the_end_of_a_file_that_is_emptied() {
    let (_disk, engine) = new_database();
    fill(&engine, records(RECORD_COUNT, &[1; 1000]));
    change(&engine, Durability::Durable, 10);
    assert!(!zone_of(&engine).is_empty());
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    for (key, _) in records(RECORD_COUNT / 10 * 9, &[]) {
        assert!(remove(&mut txn, b"a", &key));
    }
    txn.commit().unwrap();
    for i in 0..2000 {
        let key = ascending_key(RECORD_COUNT - 1 - i % 1000);
        put(&engine, Durability::Durable, [(key, vec![3; 1000])]).unwrap();
    }
    let turn = engine.acquire_writer().unwrap();
    let (zone, page_count) = (turn.zone.pages().clone(), turn.space.page_count());
    assert!(
        zone.end <= page_count && page_count < 1500,
        "{zone:?} of {page_count}"
    );
    drop(turn);
    assert_clean(&engine);
}

/// Free pages of the zone are the last ones that other pages get, but they get them.
#[test]
fn a_file_that_may_not_become_longer_has_its_zone_filled() {
    let (_disk, engine) = new_database();
    fill(&engine, records(RECORD_COUNT, &[1; 1000]));
    change(&engine, Durability::Durable, 10);
    let page_count = engine.acquire_writer().unwrap().space.page_count();
    let geometry = crate::Geometry {
        upper_limit_bytes: page_count * engine.file.page_size as u64,
        ..crate::Geometry::default()
    };
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    txn.set_geometry(geometry);
    txn.commit().unwrap();
    let mut added = 0;
    while put(
        &engine,
        Durability::Durable,
        [(vec![255, added], vec![4; 3000])],
    )
    .is_ok()
        && added < 255
    {
        added += 1;
    }
    let turn = engine.acquire_writer().unwrap();
    let free = turn.space.free_count();
    assert!(
        added == 255 || free < 64,
        "{free} pages are free after {added}"
    );
    drop(turn);
    assert_clean(&engine);
}
