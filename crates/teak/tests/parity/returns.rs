//! Answers in the situations whose codes were observed of libmdbx.

use super::{place, table};
use teak::{
    Error, Geometry, KeyOrder, Options, TableOptions, Transaction, ValueSize,
    codec::{Bytes, Str},
};

#[test]
fn sizes_that_do_not_fit() {
    let place = place();
    let mut txn = place.database.begin_write().unwrap();
    let plain = table(&mut txn, &[]);
    let max = place.database.max_key_len();
    plain.insert(&mut txn, &vec![1; max], b"").unwrap();
    let refused = plain.insert(&mut txn, &vec![1; max + 1], b"");
    assert!(
        matches!(refused, Err(Error::KeyTooLong { len, max: most }) if len == max + 1 && most == max)
    );
    let sets = txn.create_multi_table::<Str, Bytes>("sets").unwrap();
    sets.insert(&mut txn, "key", &vec![1; max]).unwrap();
    let refused = sets.insert(&mut txn, "key", &vec![1; max + 1]);
    assert!(matches!(refused, Err(Error::ValueTooLong { .. })));
    let first = TableOptions::new().value_size(ValueSize::AsFirst);
    let sets = txn
        .create_multi_table_with::<Str, Bytes>("first", first)
        .unwrap();
    sets.insert(&mut txn, "key", b"four").unwrap();
    let refused = sets.insert(&mut txn, "key", b"fives");
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let integers = TableOptions::new().order(KeyOrder::Integer);
    let integers = txn
        .create_table_with::<Bytes, Str>("integers", integers)
        .unwrap();
    let refused = integers.insert(&mut txn, b"abc", "");
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    // A refused operation leaves the transaction as it was.
    txn.commit().unwrap();
}

/// A reader beside the writer, and several readers, in one thread; a second writer is told.
#[test]
fn transactions_of_one_thread() {
    let place = place();
    let txn = place.database.begin_write().unwrap();
    let readers = [(); 3].map(|()| place.database.begin_read().unwrap());
    assert!(place.database.try_begin_write().unwrap().is_none());
    drop((txn, readers));
    assert!(place.database.try_begin_write().unwrap().is_some());
}

#[test]
fn writing_where_only_reading_is_possible() {
    let place = place();
    place.database.close().unwrap();
    let database = Options::new().read_only(true).open(&place.path).unwrap();
    let refused = database.begin_write();
    assert!(matches!(refused, Err(Error::ReadOnly)));
}

#[test]
fn zero_length_key_and_value() {
    let place = place();
    let mut txn = place.database.begin_write().unwrap();
    let table = table(&mut txn, &[]);
    table.insert(&mut txn, b"", b"").unwrap();
    assert_eq!(table.get(&txn, b"").unwrap(), Some(&b""[..]));
}

#[test]
fn del_of_another_value() {
    let place = place();
    let mut txn = place.database.begin_write().unwrap();
    let table = table(&mut txn, &["a"]);
    assert!(!table.remove_if(&mut txn, b"a", b"other").unwrap());
    assert_eq!(table.len(&txn).unwrap(), 1);
}

#[test]
fn current_of_several_values() {
    let place = place();
    let mut txn = place.database.begin_write().unwrap();
    let sets = txn.create_multi_table::<Str, Str>("sets").unwrap();
    sets.insert_values(&mut txn, "a", &["1", "2"]).unwrap();
    assert!(
        !sets.replace(&mut txn, "b", "1", "3").unwrap(),
        "no such key"
    );
    assert_eq!(sets.set(&mut txn, "a", "3").unwrap(), 2, "all by one");
    let there = sets
        .insert_values(&mut txn, "a", &["1"])
        .and_then(|_| sets.replace(&mut txn, "a", "1", "3"));
    assert!(matches!(there, Err(Error::InvalidArgument(_))));
}

#[test]
fn nothing_newer_and_nothing_to_flush() {
    let place = place();
    let mut reader = place.database.begin_read().unwrap();
    assert!(!reader.refresh().unwrap(), "it reads the newest state");
    let mut txn = place.database.begin_write().unwrap();
    table(&mut txn, &["a"]);
    txn.commit().unwrap();
    assert!(reader.refresh().unwrap());
    place.database.sync().unwrap();
    place.database.sync().unwrap();
}

#[test]
fn parked_readers() {
    let place = place();
    let parked = place.database.begin_read().unwrap().park().unwrap();
    // It cannot be read by mistake: it is of another type.
    let txn = parked.resume().unwrap();
    assert!(txn.tables().unwrap().is_empty());
}

#[test]
fn upper_limits_below_what_is_used() {
    let place = place();
    let mut txn = place.database.begin_write().unwrap();
    let table = table(&mut txn, &[]);
    table.insert(&mut txn, b"large", &[1; 1 << 20]).unwrap();
    txn.commit().unwrap();
    let mut txn = place.database.begin_write().unwrap();
    let geometry = place.database.geometry().unwrap();
    let small = Geometry {
        upper_limit_bytes: 1 << 16,
        ..geometry
    };
    // It holds for what comes; what is there stays.
    txn.set_geometry(small).unwrap();
    txn.commit().unwrap();
    let mut txn = place.database.begin_write().unwrap();
    let full = table
        .insert(&mut txn, b"more", &[2; 1 << 20])
        .and_then(|()| txn.commit());
    assert!(matches!(full, Err(Error::Full { .. })), "{full:?}");
    let txn = place.database.begin_read().unwrap();
    assert_eq!(
        table.get(&txn, b"large").unwrap().map(<[u8]>::len),
        Some(1 << 20)
    );
}
