//! Cursors.

use super::{Fixture, TREES, fixture, table};
use std::{cmp::Ordering, ops::ControlFlow};
use teak::{DetachedCursor, Direction, Error, InsertMode, SeekOp};

/// Nothing has to be bound, renewed or closed: each operation gets the transaction.
#[test]
fn cursor_lifecycle() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = DetachedCursor::new(&words);
    assert!(cursor.next(&txn).unwrap());
    txn.commit().unwrap();
    let reader = database.begin_read().unwrap();
    assert!(cursor.next(&reader).unwrap());
    assert_eq!(cursor.key(), b"elm");
    let mut txn = database.begin_write().unwrap();
    cursor.remove(&mut txn).unwrap();
    assert!(cursor.is_on_record(&reader).unwrap());
    assert!(!cursor.is_on_record(&txn).unwrap());
    txn.abort();
    cursor.reset();
    assert!(cursor.next(&reader).unwrap());
    assert_eq!(cursor.key(), b"ash");
}

/// `cursor_dbi`, `cursor_copy`: the name, and a clone.
#[test]
fn cursor_table_and_copy() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = DetachedCursor::new(&words);
    cursor.seek(&txn, SeekOp::GreaterOrEqual, b"fir").unwrap();
    let mut copy = cursor.clone();
    assert!(copy.next(&txn).unwrap());
    assert_eq!((cursor.key(), copy.key()), (&b"fir"[..], &b"oak"[..]));
    assert_eq!(copy.table_name(), b"words");
}

#[test]
fn cursor_compare() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let (mut one, mut other) = (DetachedCursor::new(&words), DetachedCursor::new(&words));
    assert_eq!(one.compare(&other, &txn).unwrap(), None);
    one.seek(&txn, SeekOp::GreaterOrEqual, b"fir").unwrap();
    other.seek(&txn, SeekOp::GreaterOrEqual, b"oak").unwrap();
    assert_eq!(one.compare(&other, &txn).unwrap(), Some(Ordering::Less));
    assert_eq!(other.compare(&one, &txn).unwrap(), Some(Ordering::Greater));
    other.prev(&txn).unwrap();
    assert_eq!(one.compare(&other, &txn).unwrap(), Some(Ordering::Equal));
}

/// FIRST, LAST, NEXT, PREV, SET, SET_KEY, SET_RANGE, GET_CURRENT, TO_KEY_LT, _LE, _EQ, _GE, _GT.
#[test]
fn cursor_position_operations() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = DetachedCursor::new(&words);
    // Without a position, NEXT is FIRST and PREV is LAST, and there is no current record.
    assert!(!cursor.current(&txn).unwrap());
    assert!(cursor.clone().prev(&txn).unwrap());
    let at = |moved: bool, cursor: &DetachedCursor| {
        moved.then(|| String::from_utf8(cursor.key().to_vec()).unwrap())
    };
    let mut moves: Vec<Option<String>> = Vec::new();
    macro_rules! go {
        ($($call:tt)*) => {{
            let moved = cursor.$($call)*.unwrap();
            moves.push(at(moved, &cursor));
        }};
    }
    go!(first(&txn));
    go!(last(&txn));
    go!(prev(&txn));
    go!(next(&txn));
    go!(current(&txn));
    go!(next(&txn));
    go!(seek(&txn, SeekOp::GreaterOrEqual, b"g"));
    go!(seek(&txn, SeekOp::Equal, b"fir"));
    go!(seek(&txn, SeekOp::Less, b"fir"));
    go!(seek(&txn, SeekOp::LessOrEqual, b"fir"));
    go!(seek(&txn, SeekOp::Greater, b"fir"));
    go!(seek(&txn, SeekOp::Less, b"ash"));
    go!(seek(&txn, SeekOp::Greater, b"yew"));
    let expected = [
        Some("ash"),
        Some("yew"),
        Some("oak"),
        Some("yew"),
        Some("yew"),
        None,
        Some("oak"),
        Some("fir"),
        Some("elm"),
        Some("fir"),
        Some("oak"),
        None,
        None,
    ];
    assert_eq!(moves, expected.map(|key| key.map(str::to_owned)));
}

/// `cursor_eof`, `on_first`, `on_last`.
#[test]
fn cursor_state() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = DetachedCursor::new(&words);
    assert!(!cursor.ends(&txn).unwrap().is_after_last);
    cursor.first(&txn).unwrap();
    assert!(cursor.ends(&txn).unwrap().is_first && !cursor.ends(&txn).unwrap().is_last);
    cursor.last(&txn).unwrap();
    assert!(cursor.ends(&txn).unwrap().is_last && !cursor.ends(&txn).unwrap().is_after_last);
    cursor.remove(&mut txn).unwrap();
    assert!(cursor.ends(&txn).unwrap().is_after_last);
    let mut borrowing = words.cursor(&txn).unwrap();
    borrowing.next().unwrap();
    assert!(borrowing.ends().is_first && !borrowing.ends().is_last);
}

/// After a removal, both NEXT and GET_CURRENT lead to the next record.
#[test]
fn cursor_put_and_del() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = DetachedCursor::new(&words);
    cursor.seek(&txn, SeekOp::GreaterOrEqual, b"elm").unwrap();
    assert!(cursor.remove(&mut txn).unwrap());
    let mut other = cursor.clone();
    assert!(cursor.next(&txn).unwrap() && other.current(&txn).unwrap());
    assert_eq!((cursor.key(), other.key()), (&b"fir"[..], &b"fir"[..]));
    assert!(cursor.next(&txn).unwrap() && cursor.next(&txn).unwrap());
    assert!(!cursor.next(&txn).unwrap());

    // UPSERT, NOOVERWRITE, CURRENT, APPEND.
    cursor.insert(&mut txn, b"elm", b"new").unwrap();
    assert!(
        !cursor
            .insert_as(&mut txn, InsertMode::NewKey, b"elm", b"newer")
            .unwrap()
    );
    assert_eq!(*cursor.value(&txn).unwrap(), *b"new");
    assert!(cursor.update(&mut txn, b"newest").unwrap());
    assert_eq!(*cursor.value(&txn).unwrap(), *b"newest");
    cursor
        .insert_as(&mut txn, InsertMode::Last, b"zelkova", b"last")
        .unwrap();
    let refused = cursor.insert_as(&mut txn, InsertMode::Last, b"birch", b"");
    assert!(matches!(refused, Err(Error::NotSorted { .. })));
    assert_eq!(cursor.key(), b"zelkova");
}

/// `cursor_get_batch`: a batch leaves the cursor on the first record that was not read.
#[test]
fn cursor_batch_get() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = DetachedCursor::new(&words);
    let mut keys = Vec::new();
    assert!(
        cursor
            .read_batch(&txn, 2, |key, _| keys.push(key.to_vec()))
            .unwrap()
    );
    assert_eq!(cursor.key(), b"fir");
    assert!(
        !cursor
            .read_batch(&txn, 9, |key, _| keys.push(key.to_vec()))
            .unwrap()
    );
    assert_eq!(keys, TREES.map(|key| key.as_bytes().to_vec()));
    let mut borrowing = words.cursor(&txn).unwrap();
    let mut values = Vec::new();
    while borrowing
        .read_batch(2, |_, value| values.push(value.to_vec()))
        .unwrap()
    {}
    assert_eq!(values, [[0], [1], [2], [3], [4]]);
    txn.commit().unwrap();
    let (txn, mut detached) = (database.begin_read().unwrap(), DetachedCursor::new(&words));
    let mut count = 0;
    while detached.read_batch(&txn, 3, |_, _| count += 1).unwrap() {}
    assert_eq!(count, 5);
}

/// `cursor_scan`, `scan_from`.
#[test]
fn cursor_scan() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = DetachedCursor::new(&words);
    let has = |wanted: u8| {
        move |_: &[u8], value: &[u8]| match value == [wanted] {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    assert!(cursor.scan(&txn, Direction::Forward, has(3)).unwrap());
    assert_eq!(cursor.key(), b"oak");
    assert!(cursor.scan(&txn, Direction::Backward, has(1)).unwrap());
    assert_eq!(cursor.key(), b"elm");
    cursor.seek(&txn, SeekOp::GreaterOrEqual, b"fir").unwrap();
    assert!(!cursor.scan(&txn, Direction::Forward, has(1)).unwrap());
    assert!(cursor.ends(&txn).unwrap().is_after_last);
}

/// `cursor_distance`, `cursor_scroll`, `cursor_distribute`.
#[test]
fn cursor_distance_scroll_and_split() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let (mut one, mut other) = (words.cursor(&txn).unwrap(), words.cursor(&txn).unwrap());
    one.seek(SeekOp::GreaterOrEqual, b"elm").unwrap();
    other.seek(SeekOp::GreaterOrEqual, b"yew").unwrap();
    assert_eq!(one.distance(&other).unwrap(), 3);
    assert!(one.skip(2).unwrap());
    assert_eq!(one.key(), b"oak");
    let parts = words.range(..).split(&txn, 2).unwrap();
    let counts = parts.iter().map(|part| part.iter(&txn).unwrap().count());
    assert_eq!(counts.sum::<usize>(), 5);
}

/// A cursor whose transaction has ended continues in another one. If the table does not exist
/// there, it keeps its position.
#[test]
fn cursor_after_its_transaction() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    let mut cursor = DetachedCursor::new(&words);
    cursor.seek(&txn, SeekOp::GreaterOrEqual, b"fir").unwrap();
    txn.abort();
    let txn = database.begin_read().unwrap();
    assert!(matches!(cursor.next(&txn), Err(Error::TableNotFound(_))));
    assert_eq!(cursor.key(), b"fir");
}
