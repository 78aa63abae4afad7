//! Relocating pages of tables, with and without handles to them.

use super::Relocation;
use crate::{
    transaction_tests::test_kit::{
        BOOT, assert_clean, fill, get, insert, key, new_database, open, records, remove,
    },
    write::transaction::WriteTransaction,
};

/// A reader looked up a table for the first time while a commit relocated pages of it. The new
/// state took over the root that the reader had cached in the previous one, which referred to free
/// pages.
#[test]
fn a_table_is_found_while_it_is_moved() {
    let (disk, engine) = new_database();
    fill(&engine, records(2000, &[7; 100]));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    for (key, _) in records(1900, &[]) {
        assert!(remove(&mut txn, b"a", &key));
    }
    txn.commit().unwrap();
    engine.close().unwrap();
    drop(engine);

    let engine = open(&disk, false, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let mut work = Relocation {
        boundary: 16,
        pages_left: 1000,
        visits_left: 1000,
        value_pages_max: u64::MAX,
        saved_min: 1,
        ..Relocation::default()
    };
    super::relocate(&mut txn, &mut work).unwrap();
    assert!(work.moved > 0, "pages of the table are moved");
    let last = records(2000, &[]).last().unwrap().0;
    assert_eq!(get(&engine, b"a", &last), Some(vec![7; 100]));
    txn.commit().unwrap();
    for i in 0..100 {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        insert(&mut txn, b"a", &key(i), &[8; 100]).unwrap();
        txn.commit().unwrap();
    }
    assert_eq!(get(&engine, b"a", &last), Some(vec![7; 100]));
    assert_clean(&engine);
}
