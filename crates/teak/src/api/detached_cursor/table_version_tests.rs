//! When a hint is still valid, so that a step needs no search.

use super::DetachedCursor;
use crate::{
    Database, DeleteScope, EncryptionKey, KeyStep, MultiTable, Options, SeekOp, SeekTarget, Table,
    Transaction, btree::position::Direction, codec::Bytes,
};

fn is_known<T: Transaction>(cursor: &DetachedCursor, txn: &T) -> bool {
    let root = cursor.table.root(txn).unwrap();
    let hint = cursor.hint.as_ref();
    hint.is_some_and(|hint| hint.is_valid_for(txn, &cursor.table, &root))
}

fn insert(txn: &mut crate::WriteTxn, table: &Table<Bytes, Bytes>, number: u32) {
    table.insert(txn, number.to_be_bytes(), b"value").unwrap();
}

#[test]
fn a_hint_is_valid_while_its_table_is_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Bytes, Bytes>("some").unwrap();
    let other = txn.create_table::<Bytes, Bytes>("other").unwrap();
    for number in 0..2000 {
        insert(&mut txn, &table, number);
    }
    let mut cursor = DetachedCursor::new(&table);
    assert!(cursor.next(&txn).unwrap() && is_known(&cursor, &txn));
    insert(&mut txn, &other, 1);
    assert!(is_known(&cursor, &txn));
    let savepoint = txn.savepoint().unwrap();
    assert!(cursor.next(&txn).unwrap() && is_known(&cursor, &txn));
    let before = cursor.clone();
    insert(&mut txn, &table, 5000);
    assert!(!is_known(&cursor, &txn));
    assert!(cursor.next(&txn).unwrap() && is_known(&cursor, &txn));
    txn.rollback_to(&savepoint).unwrap();
    assert!(is_known(&before, &txn) && !is_known(&cursor, &txn));
    // The next state is a new one.
    insert(&mut txn, &table, 6000);
    assert!(!is_known(&before, &txn) && !is_known(&cursor, &txn));
    txn.commit().unwrap();

    let reader = database.begin_read().unwrap();
    assert!(!is_known(&cursor, &reader));
    assert!(cursor.next(&reader).unwrap() && is_known(&cursor, &reader));
    let mut txn = database.begin_write().unwrap();
    assert!(is_known(&cursor, &txn));
    insert(&mut txn, &other, 2);
    txn.commit().unwrap();
    assert!(is_known(&cursor, &database.begin_read().unwrap()));
    let mut txn = database.begin_write().unwrap();
    insert(&mut txn, &table, 7000);
    assert!(!is_known(&cursor, &txn) && is_known(&cursor, &reader));
    txn.drop_table("some").unwrap();
    txn.commit().unwrap();
    assert!(cursor.next(&reader).unwrap());
    assert_eq!(cursor.key(), 4u32.to_be_bytes());
}

#[test]
fn a_hint_of_an_encrypted_database_is_valid_in_one_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new().encryption_key(EncryptionKey::from_bytes([1; 32]));
    let database = options.open(directory.path().join("x.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Bytes, Bytes>("some").unwrap();
    (0..2000).for_each(|number| insert(&mut txn, &table, number));
    let mut cursor = DetachedCursor::new(&table);
    assert!(cursor.next(&txn).unwrap() && is_known(&cursor, &txn));
    txn.commit().unwrap();

    let reader = database.begin_read().unwrap();
    assert!(!is_known(&cursor, &reader));
    assert!(cursor.next(&reader).unwrap() && is_known(&cursor, &reader));
    assert!(cursor.step_in_leaf(&reader, Direction::Forward));
    assert!(is_known(&cursor, &reader) && is_known(&cursor, &reader.clone()));
    assert!(!is_known(&cursor, &database.begin_read().unwrap()));
    let mut txn = database.begin_write().unwrap();
    assert!(!is_known(&cursor, &txn));
    assert!(cursor.next(&txn).unwrap() && is_known(&cursor, &txn));
    assert!(!is_known(&cursor, &reader));
    insert(&mut txn, &table, 5000);
    assert!(!is_known(&cursor, &txn));
    assert!(cursor.next(&reader).unwrap() && is_known(&cursor, &reader));
    // Neither slot nor state change.
    drop(txn);
    let reader = reader.reset().renew().unwrap();
    assert!(!is_known(&cursor, &reader) && !cursor.step_in_leaf(&reader, Direction::Forward));
    assert!(cursor.next(&reader).unwrap());
    assert_eq!(cursor.key(), 5_u32.to_be_bytes());
}

#[test]
fn a_reader_of_another_state_is_not_mistaken_for_this_one() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Bytes, Bytes>("some").unwrap();
    let other = txn.create_table::<Bytes, Bytes>("other").unwrap();
    (0..50).for_each(|number| insert(&mut txn, &table, number));
    txn.commit().unwrap();
    let number_of = |cursor: &DetachedCursor| u32::from_be_bytes(cursor.key().try_into().unwrap());
    let mut reader = database.begin_read().unwrap();
    let mut cursor = DetachedCursor::new(&table);
    (0..3).for_each(|_| assert!(cursor.next(&reader).unwrap()));
    assert!(is_known(&cursor, &database.begin_read().unwrap()));

    let mut txn = database.begin_write().unwrap();
    insert(&mut txn, &other, 1);
    txn.commit().unwrap();
    let second = database.begin_read().unwrap();
    assert!(is_known(&cursor, &second), "only the other table changed");
    assert!(cursor.next(&second).unwrap() && is_known(&cursor, &reader));

    let mut txn = database.begin_write().unwrap();
    for number in [4_u32, 5] {
        assert!(table.remove(&mut txn, number.to_be_bytes()).unwrap());
    }
    assert!(!is_known(&cursor, &txn));
    txn.commit().unwrap();
    assert_eq!(number_of(&cursor), 3);
    assert!(cursor.clone().next(&reader).unwrap() && is_known(&cursor, &reader));
    assert!(reader.refresh().unwrap() && !is_known(&cursor, &reader));
    let mut old = cursor.clone();
    assert!(cursor.next(&reader).unwrap() && is_known(&cursor, &reader));
    assert!(old.next(&second).unwrap() && is_known(&old, &second));
    assert_eq!((number_of(&cursor), number_of(&old)), (6, 4));
    assert!(!is_known(&cursor, &second) && !is_known(&old, &reader));
    assert!(cursor.prev(&second).unwrap() && old.next(&reader).unwrap());
    assert_eq!((number_of(&cursor), number_of(&old)), (5, 6));
}

#[test]
fn a_hint_continues_after_a_removed_record() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Bytes, Bytes>("some").unwrap();
    for number in 0..2000 {
        insert(&mut txn, &table, number);
    }
    let mut cursor = DetachedCursor::new(&table);
    let (mut left, mut searched) = (Vec::new(), 0);
    while cursor.next(&txn).unwrap() {
        let number = u32::from_be_bytes(cursor.key().try_into().unwrap());
        if number % 7 == 3 {
            left.push(number);
            continue;
        }
        assert!(cursor.remove(&mut txn).unwrap());
        assert!(!cursor.is_on_record(&txn).unwrap());
        searched += u32::from(!is_known(&cursor, &txn));
        let mut other = cursor.clone();
        assert_eq!(other.prev(&txn).unwrap(), !left.is_empty());
        if let Some(before) = left.last() {
            assert_eq!(other.key(), before.to_be_bytes());
        }
        let mut other = cursor.clone();
        assert_eq!(other.current(&txn).unwrap(), number < 1999);
        if number < 1999 {
            assert_eq!(other.key(), (number + 1).to_be_bytes());
        }
    }
    assert_eq!(left.len(), 286);
    assert!(
        searched < 200,
        "only at the end of a leaf or after its removal"
    );
}

#[test]
fn a_hint_to_a_pair_is_valid_among_the_values_of_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak")).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: MultiTable<Bytes, Bytes> = txn.create_multi_table("some").unwrap();
    // A single value, a set, and a nested tree.
    for (key, count) in [(b"a", 1), (b"b", 3), (b"c", 2000_u32)] {
        for value in 0..count {
            table.insert(&mut txn, key, value.to_be_bytes()).unwrap();
        }
    }
    let mut cursor = DetachedCursor::new(&table);
    let mut seen = 0;
    while cursor.step(&txn, KeyStep::NextKey).unwrap() {
        assert!(is_known(&cursor, &txn));
        while cursor.step(&txn, KeyStep::NextValue).unwrap() {
            assert!(is_known(&cursor, &txn));
            seen += 1;
        }
        // The hint is still valid at the same position.
        assert!(is_known(&cursor, &txn));
    }
    assert_eq!(seen, 2001);
    assert!(cursor.last(&txn).unwrap());
    assert!(
        !cursor
            .seek(
                &txn,
                SeekOp::GreaterOrEqual,
                SeekTarget::Value(b"b", &[9; 4])
            )
            .unwrap()
    );
    assert!(!is_known(&cursor, &txn), "the search has moved the cursor");
    assert!(cursor.step(&txn, KeyStep::PrevValue).unwrap() && is_known(&cursor, &txn));
    let before = cursor.clone();
    assert_eq!(
        cursor
            .remove_scope(&mut txn, DeleteScope::ValuesUpToCurrent)
            .unwrap(),
        1999
    );
    assert!(!is_known(&cursor, &txn) && !is_known(&before, &txn));
    assert!(cursor.step(&txn, KeyStep::NextValue).unwrap() && is_known(&cursor, &txn));
    assert_eq!(*cursor.value(&txn).unwrap(), 1999_u32.to_be_bytes());
}
