//! Ranges and bunches of records, and whole tables.

use super::{Fixture, Raw, TREES, fixture, table};
use teak::{DeleteScope, DetachedCursor, Error, SeekOp, TableDef, TableOptions};

/// After all others, bottom-up, and in batches.
#[test]
fn bulk_insert() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let words = table(&mut txn, &["a"]);
    words.append(&mut txn, b"b", b"").unwrap();
    let refused = words.append(&mut txn, b"aa", b"");
    assert!(matches!(refused, Err(Error::NotSorted { .. })));
    let more: [(&[u8], &[u8]); 2] = [(b"d", b""), (b"c", b"")];
    assert_eq!(words.insert_many(&mut txn, &more).unwrap(), 2);
    let built: Raw = txn.create_table("built").unwrap();
    let sorted = (0..10_000u32).map(|number| (number.to_be_bytes(), [7; 100]));
    assert_eq!(built.bulk_load(&mut txn, sorted).unwrap(), 10_000);
    let stat = built.stat(&txn).unwrap();
    let full = 10_000 * 104 / 4096;
    assert!(stat.leaf_pages < full + full / 5, "{stat:?}");
}

/// Between valid bounds, and exact in a table with counts.
#[test]
fn estimates() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let counted = TableOptions::new().counted(true);
    let exact: Raw = TableDef::new("exact")
        .options(counted)
        .create(&mut txn)
        .unwrap();
    let about: Raw = txn.create_table("about").unwrap();
    for table in [&exact, &about] {
        let sorted = (0..50_000u32).map(|number| (number.to_be_bytes(), [7; 20]));
        table.bulk_load(&mut txn, sorted).unwrap();
    }
    let (low, high) = (1000u32.to_be_bytes(), 31_000u32.to_be_bytes());
    let range = &low[..]..&high[..];
    for table in [&exact, &about] {
        assert_eq!(table.range(range.clone()).count(&txn).unwrap(), 30_000);
        let estimate = table.range(range.clone()).estimate(&txn).unwrap();
        assert!((estimate.at_least..=estimate.at_most).contains(&30_000));
        assert!(estimate.records.abs_diff(30_000) < 3000, "{estimate:?}");
    }
    assert!(exact.range(range).estimate(&txn).unwrap().is_exact());
    assert_eq!(exact.rank(&txn, low).unwrap(), 1000);
    let nothing = &high[..]..&low[..];
    assert_eq!(about.range(nothing).estimate(&txn).unwrap().at_most, 0);
}

/// `cursor_delete_range`.
#[test]
fn range_delete() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let removed = words.range(&b"elm"[..]..=&b"oak"[..]).remove(&mut txn);
    assert_eq!(removed.unwrap(), 3);
    assert_eq!(words.range(..).remove(&mut txn).unwrap(), 2);
}

/// `cursor_bunch_delete`: BEFORE and AFTER, with the current record and without, WHOLE,
/// CURRENT_VALUE.
#[test]
fn delete_scopes() {
    let Fixture { database, .. } = &fixture();
    for (scope, left) in [
        (DeleteScope::Before, &["fir", "oak", "yew"][..]),
        (DeleteScope::UpToCurrent, &["oak", "yew"]),
        (DeleteScope::FromCurrent, &["ash", "elm"]),
        (DeleteScope::After, &["ash", "elm", "fir"]),
        (DeleteScope::All, &[]),
    ] {
        let mut txn = database.begin_write().unwrap();
        let words = table(&mut txn, &TREES);
        let mut cursor = DetachedCursor::new(&words);
        cursor.seek(&txn, SeekOp::GreaterOrEqual, b"fir").unwrap();
        let removed = cursor.remove_scope(&mut txn, scope).unwrap();
        assert_eq!(removed as usize, TREES.len() - left.len());
        let records = words.iter(&txn).unwrap();
        let keys: Vec<_> = records.map(|record| record.unwrap().0).collect();
        assert!(keys.iter().eq(left.iter().map(|key| key.as_bytes())));
    }
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = DetachedCursor::new(&words);
    cursor.seek(&txn, SeekOp::GreaterOrEqual, b"fir").unwrap();
    assert!(cursor.remove(&mut txn).unwrap());
    assert_eq!(words.len(&txn).unwrap(), 4);
}

/// `drop` with and without deletion.
#[test]
fn drop_and_empty() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    words.clear(&mut txn).unwrap();
    assert!(words.is_empty(&txn).unwrap());
    assert!(txn.drop_table("words").unwrap());
    assert!(!txn.drop_table("words").unwrap());
}

/// Features without a row: moving between tables.
#[test]
fn copying_and_moving() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let others = txn.create_table::<Vec<u8>, Vec<u8>>("others").unwrap();
    assert_eq!(words.range(..).copy_to(&mut txn, &others).unwrap(), 5);
    assert_eq!(
        others.range(&b"f"[..]..).move_to(&mut txn, &words).unwrap(),
        3
    );
    assert_eq!(
        (words.len(&txn).unwrap(), others.len(&txn).unwrap()),
        (5, 2)
    );
}
