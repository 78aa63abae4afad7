//! Results in the situations whose return codes were observed with libmdbx.

use super::{fixture, table};
use std::{ops::Bound, time::Duration};
use teak::{
    Deletion, DetachedCursor, Error, KeyOrder, MultiTableDef, Options, SeekOp, Table, TableDef,
    TableOptions, Transaction, ValueSize, WriteOptions,
    codec::{Bytes, Str},
};

/// `MDBX_DUPFIXED` and `MDBX_INTEGERDUP` without `MDBX_DUPSORT`.
#[test]
fn values_of_one_size_without_several() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    for options in [
        TableOptions::new().value_size(ValueSize::Bytes(8)),
        TableOptions::new().value_order(KeyOrder::Integer),
    ] {
        let refused = TableDef::<Bytes, Bytes>::new("words")
            .options(options)
            .create(&mut txn);
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
    assert!(txn.tables().unwrap().is_empty());
}

#[test]
fn append_out_of_order() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a", "c"]);
    for key in [&b"b"[..], b"c"] {
        let refused = table.append(&mut txn, key, b"");
        assert!(matches!(refused, Err(Error::NotSorted { .. })));
    }
    // Nothing has changed, and the transaction continues.
    table.append(&mut txn, b"d", b"").unwrap();
    assert_eq!(table.len(&txn).unwrap(), 3);
    txn.commit().unwrap();
}

/// SET b, del, GET_CURRENT, NEXT, NEXT, eof, on_last.
#[test]
fn a_cursor_where_its_record_was_removed() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a", "b", "c", "d"]);
    let mut cursor = DetachedCursor::new(&table);
    assert!(cursor.seek(&txn, SeekOp::Equal, b"b").unwrap());
    assert!(cursor.remove(&mut txn).unwrap());
    assert!(cursor.current(&txn).unwrap() && cursor.key() == b"c");
    assert!(cursor.next(&txn).unwrap() && cursor.key() == b"d");
    assert!(cursor.ends(&txn).unwrap().is_last);
    assert!(!cursor.next(&txn).unwrap());
    assert!(cursor.ends(&txn).unwrap().is_after_last);
}

/// `mdbx_estimate_range`, forwards and in the wrong direction.
#[test]
fn estimates_of_one_record_and_of_none() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a", "b", "c", "d"]);
    let one = table.range(&b"c"[..]..&b"d"[..]).estimate(&txn).unwrap();
    assert_eq!((one.at_least, one.records, one.at_most), (1, 1, 1));
    let none = table.range(&b"d"[..]..&b"c"[..]).estimate(&txn).unwrap();
    assert_eq!((none.records, none.at_most), (0, 0));
}

#[test]
fn deleting_a_database_that_is_not_there() {
    let fixture = fixture();
    let nothing = fixture.path.with_file_name("nothing.teak");
    for deletion in [Deletion::IfUnused, Deletion::WhenUnused, Deletion::Now] {
        assert!(!teak::delete(&nothing, deletion).unwrap());
    }
}

/// `mdbx_cursor_delete_range` from the first of 50,002 records up to the last one, which stays.
#[test]
fn a_range_up_to_the_last_record() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table: Table<u32, Str> = txn.create_table("numbers").unwrap();
    let numbers = (0..50_002_u32).map(|number| (number, "text"));
    table.bulk_load(&mut txn, numbers).unwrap();
    let last = table.last(&txn).unwrap().unwrap().0;
    let range = (Bound::Unbounded, Bound::Excluded(last));
    assert_eq!(table.range(range).remove(&mut txn).unwrap(), 50_001);
    assert_eq!(table.first(&txn).unwrap(), Some((last, "text")));
}

#[test]
fn sizes_that_do_not_fit() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let plain = table(&mut txn, &[]);
    let max = fixture.database.info().max_key_len;
    plain.insert(&mut txn, vec![1; max], b"").unwrap();
    let refused = plain.insert(&mut txn, vec![1; max + 1], b"");
    assert!(
        matches!(refused, Err(Error::KeyTooLong { len, max: most }) if len == max + 1 && most == max)
    );
    let sets = txn.create_multi_table::<Str, Bytes>("sets").unwrap();
    sets.insert(&mut txn, "key", vec![1; max]).unwrap();
    let refused = sets.insert(&mut txn, "key", vec![1; max + 1]);
    assert!(matches!(refused, Err(Error::ValueTooLong { .. })));
    let first = TableOptions::new().value_size(ValueSize::AsFirst);
    let sets = MultiTableDef::<Str, Bytes>::new("first")
        .options(first)
        .create(&mut txn)
        .unwrap();
    sets.insert(&mut txn, "key", b"four").unwrap();
    let refused = sets.insert(&mut txn, "key", b"fives");
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let integers = TableOptions::new().order(KeyOrder::Integer);
    let integers = TableDef::<Bytes, Str>::new("integers")
        .options(integers)
        .create(&mut txn)
        .unwrap();
    integers
        .insert(&mut txn, 1_u64.to_ne_bytes(), "eight bytes")
        .unwrap();
    for other in [&b"abc"[..], &1_u32.to_ne_bytes()] {
        let refused = integers.insert(&mut txn, other, "");
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
    // A refused operation leaves the transaction unchanged.
    txn.commit().unwrap();
}

/// Readers and a writer in one thread are allowed; a second writer is refused.
#[test]
fn transactions_of_one_thread() {
    let fixture = fixture();
    let txn = fixture.database.begin_write().unwrap();
    let readers = [(); 3].map(|()| fixture.database.begin_read().unwrap());
    assert!(
        fixture
            .database
            .begin_write_with(WriteOptions::new().timeout(Duration::ZERO))
            .unwrap()
            .is_none()
    );
    drop((txn, readers));
    assert!(
        fixture
            .database
            .begin_write_with(WriteOptions::new().timeout(Duration::ZERO))
            .unwrap()
            .is_some()
    );
}

#[test]
fn writing_where_only_reading_is_possible() {
    let fixture = fixture();
    fixture.database.close().unwrap();
    let database = Options::new().read_only(true).open(&fixture.path).unwrap();
    let refused = database.begin_write();
    assert!(matches!(refused, Err(Error::ReadOnly)));
}

#[test]
fn zero_length_key_and_value() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &[]);
    table.insert(&mut txn, b"", b"").unwrap();
    assert_eq!(table.get(&txn, b"").unwrap(), Some(&b""[..]));
}

#[test]
fn del_of_another_value() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a"]);
    let swapped = table.compare_and_swap(&mut txn, b"a", Some(b"other"), None);
    assert!(matches!(swapped, Ok(Err(Some(_)))));
    assert_eq!(table.len(&txn).unwrap(), 1);
}

#[test]
fn current_of_several_values() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let sets = txn.create_multi_table::<Str, Str>("sets").unwrap();
    sets.insert_values(&mut txn, "a", &["1", "2"]).unwrap();
    assert!(
        !sets.replace(&mut txn, "b", "1", "3").unwrap(),
        "no such key"
    );
    assert_eq!(
        sets.set_values(&mut txn, "a", &["3"]).unwrap(),
        2,
        "all by one"
    );
    let there = sets
        .insert_values(&mut txn, "a", &["1"])
        .and_then(|_| sets.replace(&mut txn, "a", "1", "3"));
    assert!(matches!(there, Err(Error::InvalidArgument(_))));
}

#[test]
fn nothing_newer_and_nothing_to_flush() {
    let fixture = fixture();
    let mut reader = fixture.database.begin_read().unwrap();
    assert!(!reader.refresh().unwrap(), "it reads the newest state");
    let mut txn = fixture.database.begin_write().unwrap();
    table(&mut txn, &["a"]);
    txn.commit().unwrap();
    assert!(reader.refresh().unwrap());
    fixture.database.sync().unwrap();
    fixture.database.sync().unwrap();
}

#[test]
fn parked_readers() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a"]);
    txn.commit().unwrap();
    let parked = fixture.database.begin_read().unwrap().park().unwrap();
    let mut txn = fixture.database.begin_write().unwrap();
    table.insert(&mut txn, b"b", b"").unwrap();
    txn.commit().unwrap();
    // It cannot be read by mistake, because it has another type. It still has its state, because no
    // writer needed the space.
    let txn = parked.resume().unwrap();
    assert_eq!(table.len(&txn).unwrap(), 1);
}

#[test]
fn upper_limits_below_the_used_size() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &[]);
    table.insert(&mut txn, b"large", [1; 1 << 20]).unwrap();
    txn.commit().unwrap();
    let mut txn = fixture.database.begin_write().unwrap();
    let geometry = fixture.database.geometry().unwrap();
    let small = geometry.upper_limit_bytes(1 << 16);
    // It applies to future commits; existing data stays.
    txn.set_geometry(small).unwrap();
    txn.commit().unwrap();
    let mut txn = fixture.database.begin_write().unwrap();
    let full = table
        .insert(&mut txn, b"more", [2; 1 << 20])
        .and_then(|()| txn.commit());
    assert!(matches!(full, Err(Error::Full { .. })), "{full:?}");
    let txn = fixture.database.begin_read().unwrap();
    assert_eq!(
        table.get(&txn, b"large").unwrap().map(<[u8]>::len),
        Some(1 << 20)
    );
}
