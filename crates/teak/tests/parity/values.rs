//! Several values of a key.

use super::fixture;
use std::ops::{Bound, ControlFlow};
use teak::{
    Error, KeyOrder, KeyStep, MultiTable, MultiTableDef, SeekOp, SeekTarget, TableOptions,
    ValueSize, WriteTxn,
    codec::{NativeU64, Str},
};

type Raw = MultiTable<Vec<u8>, Vec<u8>>;

fn create(txn: &mut WriteTxn, options: TableOptions) -> Raw {
    MultiTableDef::new("sets")
        .options(options)
        .create(txn)
        .unwrap()
}

fn values(table: &Raw, txn: &WriteTxn, key: &[u8]) -> Vec<Vec<u8>> {
    let values = table.values(txn, key).unwrap();
    values.collect::<teak::Result<_>>().unwrap()
}

/// One value next to its key, a few as a set in the leaf, many as a nested tree, and back again.
#[test]
fn storage_of_values() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = create(&mut txn, TableOptions::new());
    let leaf_pages = |txn: &WriteTxn| table.stat(txn).unwrap().leaf_pages;
    table.insert(&mut txn, b"key", b"one").unwrap();
    table.insert(&mut txn, b"key", b"two").unwrap();
    assert_eq!(leaf_pages(&txn), 1);
    for value in 0..1000_u32 {
        table.insert(&mut txn, b"key", value.to_be_bytes()).unwrap();
    }
    assert!(leaf_pages(&txn) > 1);
    assert_eq!(table.count(&txn, b"key").unwrap(), 1002);
    for value in 0..1000_u32 {
        table.remove(&mut txn, b"key", value.to_be_bytes()).unwrap();
    }
    assert_eq!(leaf_pages(&txn), 1);
    assert_eq!(values(&table, &txn, b"key"), [b"one", b"two"]);
}

#[test]
fn dupfixed() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = create(
        &mut txn,
        TableOptions::new().value_size(ValueSize::Bytes(8)),
    );
    let all: Vec<u8> = (0..10_000_u64).flat_map(u64::to_be_bytes).collect();
    assert_eq!(table.insert_packed(&mut txn, b"key", &all).unwrap(), 10_000);
    // A packed array: 504 of these values would fill a page of 4 KiB.
    let stat = table.stat(&txn).unwrap();
    assert!(stat.leaf_pages <= 10_000 / 504 + 12, "{stat:?}");
    let mut read = Vec::new();
    table
        .for_each_packed(&txn, b"key", |values| {
            read.extend_from_slice(values);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(read, all);
    let refused = table.insert(&mut txn, b"key", b"seven b");
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
}

#[test]
fn integerdup_and_reversedup() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let options = TableOptions::new().value_order(KeyOrder::Integer);
    let table: MultiTable<Str, NativeU64> = MultiTableDef::new("integers")
        .options(options)
        .create(&mut txn)
        .unwrap();
    table
        .insert_values(&mut txn, "key", &[256, 1, 1 << 40])
        .unwrap();
    let found: Vec<_> = table
        .values(&txn, "key")
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(found, [1, 256, 1 << 40]);
    let reverse = create(
        &mut txn,
        TableOptions::new().value_order(KeyOrder::ReverseBytes),
    );
    reverse
        .insert_values(&mut txn, b"key", &[&b"ab"[..], b"ba", b"c"])
        .unwrap();
    assert_eq!(values(&reverse, &txn, b"key"), [&b"ba"[..], b"ab", b"c"]);
}

#[test]
fn zero_length_keys_and_values() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = create(&mut txn, TableOptions::new());
    table
        .insert_values(&mut txn, b"", &[&b"x"[..], b""])
        .unwrap();
    assert_eq!(values(&table, &txn, b""), [&b""[..], b"x"]);
    assert!(table.contains(&txn, b"", b"").unwrap());
    assert!(table.remove(&mut txn, b"", b"").unwrap());
    assert_eq!(table.count(&txn, b"").unwrap(), 1);
}

#[test]
fn alldups() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = create(&mut txn, TableOptions::new());
    table.insert_values(&mut txn, b"a", &[b"1", b"2"]).unwrap();
    assert_eq!(table.set_values(&mut txn, b"a", &[b"3"]).unwrap(), 2);
    assert_eq!(values(&table, &txn, b"a"), [b"3"]);
    assert_eq!(table.remove_key(&mut txn, b"a").unwrap(), 1);
    assert!(!table.contains_key(&txn, b"a").unwrap());
}

#[test]
fn count_of_values() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = create(&mut txn, TableOptions::new());
    let many: Vec<_> = (0..50_000_u32).map(u32::to_be_bytes).collect();
    let many: Vec<&[u8]> = many.iter().map(|value| &value[..]).collect();
    table.insert_values(&mut txn, b"many", &many).unwrap();
    table.insert(&mut txn, b"one", b"value").unwrap();
    assert_eq!(table.count(&txn, b"many").unwrap(), 50_000);
    assert_eq!(table.count(&txn, b"none").unwrap(), 0);
    assert_eq!(table.len(&txn).unwrap(), 50_001);
    let mut cursor = table.cursor(&txn).unwrap();
    assert!(cursor.last().unwrap());
    assert_eq!(cursor.count(), 1);
}

/// The operations of cursors for several values.
#[test]
fn positions_among_values() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = create(&mut txn, TableOptions::new());
    for (key, all) in [(b"a", "135"), (b"c", "24")] {
        for value in all.bytes() {
            table.insert(&mut txn, key, [value]).unwrap();
        }
    }
    let mut cursor = table.cursor(&txn).unwrap();
    let at = |cursor: &teak::Cursor<'_>| {
        let is_on = cursor.is_on_record();
        is_on.then(|| [cursor.key(), cursor.value().unwrap()].concat())
    };
    // GET_BOTH, GET_BOTH_RANGE.
    assert!(cursor.seek(SeekOp::Equal, (b"a", b"3")).unwrap());
    assert!(!cursor.seek(SeekOp::Equal, (b"a", b"2")).unwrap());
    assert!(
        cursor
            .seek(SeekOp::GreaterOrEqual, SeekTarget::Value(b"a", b"4"))
            .unwrap()
    );
    assert_eq!(at(&cursor).unwrap(), b"a5");
    // FIRST_DUP, LAST_DUP, NEXT_DUP, PREV_DUP.
    assert!(cursor.step(KeyStep::FirstValue).unwrap() && at(&cursor).unwrap() == b"a1");
    assert!(cursor.step(KeyStep::LastValue).unwrap() && at(&cursor).unwrap() == b"a5");
    assert!(!cursor.step(KeyStep::NextValue).unwrap() && at(&cursor).unwrap() == b"a5");
    assert!(cursor.step(KeyStep::PrevValue).unwrap() && at(&cursor).unwrap() == b"a3");
    // NEXT_NODUP, PREV_NODUP, NEXT, PREV.
    assert!(cursor.step(KeyStep::NextKey).unwrap() && at(&cursor).unwrap() == b"c2");
    assert!(cursor.step(KeyStep::PrevKey).unwrap() && at(&cursor).unwrap() == b"a5");
    assert!(cursor.next().unwrap() && at(&cursor).unwrap() == b"c2");
    assert!(cursor.prev().unwrap() && at(&cursor).unwrap() == b"a5");
    // SET, SET_RANGE, TO_PAIR.
    assert!(!cursor.seek(SeekOp::Equal, b"b").unwrap());
    assert!(cursor.seek(SeekOp::GreaterOrEqual, b"b").unwrap() && at(&cursor).unwrap() == b"c2");
    assert!(
        cursor.seek(SeekOp::GreaterOrEqual, (b"a", b"6")).unwrap() && at(&cursor).unwrap() == b"c2"
    );
    // FIRST, LAST.
    assert!(cursor.first().unwrap() && at(&cursor).unwrap() == b"a1");
    assert!(cursor.last().unwrap() && at(&cursor).unwrap() == b"c4");
    assert!(!cursor.next().unwrap() && at(&cursor).is_none());
}

#[test]
fn ranges_of_pairs() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = create(&mut txn, TableOptions::new());
    for key in [b"a", b"b", b"c"] {
        table
            .insert_values(&mut txn, key, &[b"1", b"2", b"3"])
            .unwrap();
    }
    let range = (
        Bound::Included((&b"a"[..], &b"3"[..])),
        Bound::Excluded((&b"c"[..], &b"2"[..])),
    );
    assert_eq!(table.range_pairs(range).iter(&txn).unwrap().count(), 5);
    assert_eq!(table.range_pairs(range).remove(&mut txn).unwrap(), 5);
    assert_eq!(table.len(&txn).unwrap(), 4);
    assert_eq!(
        table.range(&b"a"[..]..&b"b"[..]).remove(&mut txn).unwrap(),
        2
    );
}
