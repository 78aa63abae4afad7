//! Cursors over several values of a key: each operation of a detached cursor.

use super::{Fixture, fixture};
use std::cmp::Ordering;
use teak::{
    DeleteScope, DetachedCursor, Direction, Error, InsertMode, KeyStep, MultiTable, MultiTableDef,
    Result, SeekOp, SeekTarget, TableOptions, ValueSize, WriteTxn, codec::Bytes,
};

type Raw = MultiTable<Bytes, Bytes>;

/// The pairs a1 a3 a5 b2 c2 c4.
fn pairs(txn: &mut WriteTxn) -> Raw {
    let options = TableOptions::new().value_size(ValueSize::Bytes(1));
    let table: Raw = MultiTableDef::new("sets")
        .options(options)
        .create(txn)
        .unwrap();
    for (key, values) in [(b"a", "135"), (b"b", "2"), (b"c", "24")] {
        table.insert_packed(txn, key, values.as_bytes()).unwrap();
    }
    table
}

fn all(table: &Raw, txn: &WriteTxn) -> Vec<String> {
    let pairs = table.iter(txn).unwrap().map(Result::unwrap);
    pairs
        .map(|(key, value)| String::from_utf8([key, value].concat()).unwrap())
        .collect()
}

/// The position of a cursor, if a step found something.
fn at(cursor: &DetachedCursor, txn: &WriteTxn, moved: Result<bool>) -> String {
    match moved.unwrap() {
        true => {
            let value = cursor.value(txn).unwrap();
            String::from_utf8([cursor.key(), &value].concat()).unwrap()
        }
        false => "-".to_owned(),
    }
}

/// All operations except those of packed values, with their results.
#[test]
fn cursor_position_operations_of_values() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let table = pairs(&mut txn);
    let mut cursor = DetachedCursor::new(&table);
    use KeyStep::*;
    use SeekOp::*;
    use SeekTarget::Value;
    macro_rules! check_moves {
        ($($method:ident ($($argument:expr),*) => $expected:expr;)*) => {
            $(
                let moved = cursor.$method(&txn $(, $argument)*);
                assert_eq!(at(&cursor, &txn, moved), $expected, stringify!($method));
            )*
        };
    }
    check_moves! {
        // FIRST_DUP, LAST_DUP, NEXT_DUP, PREV_DUP, GET_CURRENT from nowhere.
        step(FirstValue) => "-"; step(LastValue) => "-"; step(NextValue) => "-";
        step(PrevValue) => "-"; current() => "-";
        // NEXT, PREV, FIRST, LAST.
        next() => "a1"; next() => "a3"; prev() => "a1"; last() => "c4"; first() => "a1";
        // NEXT_NODUP, PREV_NODUP.
        step(NextKey) => "b2"; step(NextKey) => "c2"; step(PrevKey) => "b2"; step(PrevKey) => "a5";
        // FIRST_DUP, LAST_DUP, NEXT_DUP, PREV_DUP, and GET_CURRENT after a failed move.
        step(FirstValue) => "a1"; step(PrevValue) => "-"; current() => "a1";
        step(NextValue) => "a3"; step(LastValue) => "a5"; step(NextValue) => "-";
        current() => "a5"; step(PrevValue) => "a3";
        // SET, SET_KEY, SET_RANGE.
        seek(Equal, b"c") => "c2"; seek(Equal, b"bb") => "-";
        seek(GreaterOrEqual, b"bb") => "c2"; seek(GreaterOrEqual, b"d") => "-";
        // GET_BOTH, GET_BOTH_RANGE.
        seek(Equal, Value(b"a", b"3")) => "a3"; seek(Equal, Value(b"a", b"2")) => "-";
        seek(GreaterOrEqual, Value(b"a", b"2")) => "a3";
        seek(GreaterOrEqual, Value(b"a", b"6")) => "-";
        seek(GreaterOrEqual, Value(b"d", b"1")) => "-";
        // SET_LOWERBOUND, SET_UPPERBOUND.
        seek(GreaterOrEqual, (b"a", b"3")) => "a3"; seek(GreaterOrEqual, (b"a", b"6")) => "b2";
        seek(Greater, (b"a", b"5")) => "b2"; seek(Greater, (b"c", b"4")) => "-";
        // TO_KEY_LT, _LE, _EQ, _GE, _GT.
        seek(Less, b"b") => "a5"; seek(LessOrEqual, b"b") => "b2"; seek(Equal, b"a") => "a1";
        seek(GreaterOrEqual, b"b") => "b2"; seek(Greater, b"b") => "c2";
        // TO_EXACT_KEY_VALUE_LT, _LE, _EQ, _GE, _GT.
        seek(Less, Value(b"c", b"4")) => "c2"; seek(Less, Value(b"c", b"2")) => "-";
        seek(LessOrEqual, Value(b"c", b"3")) => "c2"; seek(Equal, Value(b"c", b"4")) => "c4";
        seek(GreaterOrEqual, Value(b"c", b"3")) => "c4"; seek(Greater, Value(b"c", b"2")) => "c4";
        seek(Greater, Value(b"c", b"4")) => "-";
        // TO_PAIR_LT, _LE, _EQ, _GE, _GT.
        seek(Less, (b"c", b"2")) => "b2"; seek(LessOrEqual, (b"c", b"3")) => "c2";
        seek(Equal, (b"c", b"4")) => "c4"; seek(Equal, (b"c", b"3")) => "-";
        seek(GreaterOrEqual, (b"b", b"3")) => "c2"; seek(Greater, (b"a", b"1")) => "a3";
        seek(Less, (b"a", b"1")) => "-";
    }
}

/// GET_MULTIPLE, NEXT_MULTIPLE, PREV_MULTIPLE, SEEK_AND_GET_MULTIPLE.
#[test]
fn cursor_multiple_operations() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let table = pairs(&mut txn);
    let many: Vec<u8> = (0..=255).collect();
    table.insert_packed(&mut txn, b"a", &many).unwrap();
    let mut cursor = DetachedCursor::new(&table);
    assert_eq!(cursor.read_packed(&txn, Direction::Forward).unwrap(), None);
    assert!(
        cursor
            .seek(
                &txn,
                SeekOp::GreaterOrEqual,
                SeekTarget::Value(b"a", &[100])
            )
            .unwrap()
    );
    assert_eq!(
        cursor.read_packed(&txn, Direction::Forward).unwrap(),
        Some(&many[100..])
    );
    assert!(!cursor.step(&txn, KeyStep::NextValue).unwrap());
    assert_eq!(
        cursor.read_packed(&txn, Direction::Backward).unwrap(),
        Some(&many[..])
    );
    assert!(cursor.ends(&txn).unwrap().is_first_value);
    assert!(cursor.step(&txn, KeyStep::NextKey).unwrap());
    assert_eq!(
        cursor.read_packed(&txn, Direction::Forward).unwrap(),
        Some(&b"2"[..])
    );
}

/// `cursor_eof`, `on_first`, `on_last`, `on_first_dup`, `on_last_dup`.
#[test]
fn cursor_state_of_values() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let table = pairs(&mut txn);
    let mut cursor = DetachedCursor::new(&table);
    let state = |cursor: &DetachedCursor| {
        let ends = cursor.ends(&txn).unwrap();
        [
            ends.is_first,
            ends.is_last,
            ends.is_first_value,
            ends.is_last_value,
            ends.is_after_last,
        ]
    };
    assert_eq!(state(&cursor), [false; 5]);
    let mut states = Vec::new();
    while cursor.next(&txn).unwrap() {
        states.push(state(&cursor).map(u8::from));
    }
    let expected = [
        [1, 0, 1, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 1, 0, 0],
        [0, 1, 0, 1, 0],
    ];
    assert_eq!(states, expected);
    assert_eq!(state(&cursor), [false, false, false, false, true]);
}

/// `cursor_count`, `cursor_count_ex`.
#[test]
fn cursor_count() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let table = pairs(&mut txn);
    let mut cursor = DetachedCursor::new(&table);
    assert_eq!(cursor.count(&txn).unwrap(), 0);
    cursor.first(&txn).unwrap();
    assert_eq!(cursor.count(&txn).unwrap(), 3);
    let stat = table.value_stat(&txn, cursor.key()).unwrap().unwrap();
    assert_eq!((stat.records, stat.leaf_pages), (3, 0));
}

/// `cursor_compare`, with and without the values of a key.
#[test]
fn cursor_compare_of_values() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let table = pairs(&mut txn);
    let mut one = DetachedCursor::new(&table);
    one.first(&txn).unwrap();
    let mut other = one.clone();
    other.next(&txn).unwrap();
    assert_eq!(one.compare(&other, &txn).unwrap(), Some(Ordering::Less));
    let by_key = table.compare_keys(&txn, one.key(), other.key()).unwrap();
    assert_eq!(by_key, Ordering::Equal);
}

/// NOOVERWRITE, NODUPDATA, APPEND, APPENDDUP, CURRENT, ALLDUPS; deletion of one value and of all.
#[test]
fn cursor_put_and_del_of_values() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let table = pairs(&mut txn);
    let mut cursor = DetachedCursor::new(&table);
    assert!(
        !cursor
            .insert_as(&mut txn, InsertMode::NewKey, b"a", b"9")
            .unwrap()
    );
    assert_eq!(*cursor.value(&txn).unwrap(), *b"1");
    assert!(!cursor.insert(&mut txn, b"a", b"3").unwrap());
    assert!(cursor.insert(&mut txn, b"a", b"4").unwrap());
    assert!(!cursor.insert(&mut txn, b"a", b"4").unwrap());
    cursor
        .insert_as(&mut txn, InsertMode::Last, b"d", b"1")
        .unwrap();
    cursor
        .insert_as(&mut txn, InsertMode::LastValue, b"b", b"3")
        .unwrap();
    let refused = cursor.insert_as(&mut txn, InsertMode::LastValue, b"b", b"3");
    assert!(matches!(refused, Err(Error::NotSorted { .. })));
    assert!(cursor.update(&mut txn, b"0").unwrap());
    assert_eq!(at(&cursor, &txn, Ok(true)), "b0");
    let expected = ["a1", "a3", "a4", "a5", "b0", "b2", "c2", "c4", "d1"];
    assert_eq!(all(&table, &txn), expected);
    // After a removal, both NEXT and GET_CURRENT lead to the next pair.
    assert!(cursor.remove(&mut txn).unwrap() && !cursor.remove(&mut txn).unwrap());
    let mut other = cursor.clone();
    let moved = cursor.next(&txn);
    assert_eq!(at(&cursor, &txn, moved), "b2");
    assert!(other.current(&txn).unwrap() && other.prev(&txn).unwrap());
    assert_eq!(
        other
            .remove_scope(&mut txn, DeleteScope::AllValues)
            .unwrap(),
        4
    );
    let moved = other.next(&txn);
    assert_eq!(at(&other, &txn, moved), "b2");
    assert_eq!(table.set_values(&mut txn, b"c", &[b"7"]).unwrap(), 2);
    assert_eq!(all(&table, &txn), ["b2", "c7", "d1"]);
}

/// `cursor_bunch_delete` of the values of a key.
#[test]
fn delete_scopes_of_values() {
    let Fixture { database, .. } = &fixture();
    for (scope, left) in [
        (DeleteScope::ValuesBefore, &["a3", "a5"][..]),
        (DeleteScope::ValuesUpToCurrent, &["a5"]),
        (DeleteScope::ValuesFromCurrent, &["a1"]),
        (DeleteScope::ValuesAfter, &["a1", "a3"]),
        (DeleteScope::AllValues, &[]),
    ] {
        let mut txn = database.begin_write().unwrap();
        let table = pairs(&mut txn);
        let mut cursor = DetachedCursor::new(&table);
        assert!(
            cursor
                .seek(&txn, SeekOp::Equal, SeekTarget::Value(b"a", b"3"))
                .unwrap()
        );
        let removed = cursor.remove_scope(&mut txn, scope).unwrap();
        assert_eq!(removed as usize, 3 - left.len());
        let expected = [left, &["b2", "c2", "c4"]].concat();
        assert_eq!(all(&table, &txn), expected);
    }
}
