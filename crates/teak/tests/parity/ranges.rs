//! Ranges and bunches of records, and tables as a whole.

use super::{Place, TREES, place, table};
use teak::{Bunch, FreeCursor, codec::Bytes};

/// `cursor_delete_range`.
#[test]
fn range_delete() {
    let Place { database, .. } = &place();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let removed = words.remove_range(&mut txn, &b"elm"[..]..=&b"oak"[..]);
    assert_eq!(removed.unwrap(), 3);
    assert_eq!(words.remove_range(&mut txn, ..).unwrap(), 2);
}

/// `cursor_bunch_delete`: BEFORE and AFTER, with the current record and without, WHOLE, CURRENT_VALUE.
#[test]
fn bunch_delete() {
    let Place { database, .. } = &place();
    for (bunch, left) in [
        (Bunch::Before, &["fir", "oak", "yew"][..]),
        (Bunch::ToHere, &["oak", "yew"]),
        (Bunch::FromHere, &["ash", "elm"]),
        (Bunch::Behind, &["ash", "elm", "fir"]),
        (Bunch::Whole, &[]),
    ] {
        let mut txn = database.begin_write().unwrap();
        let words = table(&mut txn, &TREES);
        let mut cursor = FreeCursor::new(&words);
        cursor.seek(&txn, b"fir").unwrap();
        let removed = cursor.remove_bunch(&mut txn, bunch).unwrap();
        assert_eq!(removed as usize, TREES.len() - left.len());
        let records = words.iter(&txn).unwrap();
        let keys: Vec<_> = records.map(|record| record.unwrap().0).collect();
        assert!(keys.iter().eq(left.iter().map(|key| key.as_bytes())));
    }
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = FreeCursor::new(&words);
    cursor.seek(&txn, b"fir").unwrap();
    assert!(cursor.remove(&mut txn).unwrap());
    assert_eq!(words.len(&txn).unwrap(), 4);
}

/// `drop` with and without deletion.
#[test]
fn drop_and_empty() {
    let Place { database, .. } = &place();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    words.clear(&mut txn).unwrap();
    assert!(words.is_empty(&txn).unwrap());
    assert!(txn.drop_table("words").unwrap());
    assert!(!txn.drop_table("words").unwrap());
}

/// What has no row there: from one table to another.
#[test]
fn copying_and_moving() {
    let Place { database, .. } = &place();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let others = txn.create_table::<Bytes, Bytes>("others").unwrap();
    assert_eq!(words.copy_range(&mut txn, .., &others).unwrap(), 5);
    assert_eq!(others.move_range(&mut txn, &b"f"[..].., &words).unwrap(), 3);
    assert_eq!(
        (words.len(&txn).unwrap(), others.len(&txn).unwrap()),
        (5, 2)
    );
}
