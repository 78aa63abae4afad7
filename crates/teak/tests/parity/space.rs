//! Free space: when it is reused, and information about it.

use super::{Fixture, fixture};
use std::ops::ControlFlow;
use teak::{Database, PageUse, Table, codec::Bytes};

type Numbers = Table<u64, Bytes>;

fn fill(database: &Database, count: u64, byte: u8) -> Numbers {
    let mut txn = database.begin_write().unwrap();
    let numbers: Numbers = txn.create_table("numbers").unwrap();
    for number in 0..count {
        numbers.insert(&mut txn, number, [byte; 1000]).unwrap();
    }
    txn.commit().unwrap();
    numbers
}

/// Ended readers keep nothing: repeated work takes no more of the file.
#[test]
fn reclaim() {
    let Fixture { database, .. } = &fixture();
    for round in 0..4 {
        fill(database, 1000, round);
    }
    let before = database.stat().unwrap().file_bytes;
    for round in 4..40 {
        fill(database, 1000, round);
    }
    assert!(database.stat().unwrap().file_bytes <= before);
    assert!(database.metrics().reclaimed_pages > 30 * 250);
}

/// A transaction that frees its own new pages needs no additional pages for that.
#[test]
fn loose_pages() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let numbers: Numbers = txn.create_table("numbers").unwrap();
    for round in 0..50 {
        for number in 0..200 {
            numbers.insert(&mut txn, number, [round; 1000]).unwrap();
        }
        numbers.insert(&mut txn, 1000, [round; 100_000]).unwrap();
        numbers.clear(&mut txn).unwrap();
    }
    txn.commit().unwrap();
    assert!(database.stat().unwrap().file_bytes < 2 << 20);
}

/// Many pages that die in one commit are recorded in few pages, and are reused together.
#[test]
fn many_deaths_at_once() {
    let Fixture { database, .. } = &fixture();
    let numbers = fill(database, 40_000, 1);
    // Every other page, so that they are not consecutive.
    let some = || (0..40_000).filter(|number| number / 4 % 2 == 0);
    let mut file_bytes = Vec::new();
    for round in 0..6 {
        let mut txn = database.begin_write().unwrap();
        for number in some() {
            numbers.remove(&mut txn, number).unwrap();
        }
        txn.commit().unwrap();
        let mut txn = database.begin_write().unwrap();
        for number in some() {
            numbers.insert(&mut txn, number, [round; 1000]).unwrap();
        }
        txn.commit().unwrap();
        file_bytes.push(database.stat().unwrap().file_bytes);
    }
    let (first, last) = (file_bytes[1], file_bytes[5]);
    assert!(last <= first + (first >> 3), "{file_bytes:?}");
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

/// Free and pending pages, as counts and page by page.
#[test]
fn gc_info() {
    let Fixture { database, .. } = &fixture();
    let stat = database.stat().unwrap();
    assert_eq!(stat.free_pages + stat.pending_pages, 0);
    fill(database, 1000, 1);
    let reader = database.begin_read().unwrap();
    fill(database, 1000, 2);
    let stat = database.stat().unwrap();
    assert!(stat.pending_pages >= 250, "{stat:?}");
    let kept = reader.info().unwrap().kept_pages;
    assert!(kept <= stat.pending_pages && kept >= 250);
    let kinds = database.page_kinds().unwrap();
    let count = |kind| kinds.iter().filter(|is| **is == kind).count() as u64;
    assert_eq!(kinds.len() as u64, stat.page_count);
    // Pages kept only for readers are not distinguished from free ones.
    let sum = stat.free_pages + stat.pending_pages;
    assert_eq!(count(PageUse::Free) + count(PageUse::Pending), sum);
}
