use crate::kit::{Kit, bytes, value};
use lmdb::{Value, codes, data::mdb_get, flags, flags::Operation};
use std::ptr;

#[test]
fn records_are_put_read_and_deleted() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    assert_eq!(txn.get(1, b"key"), Err(codes::NOTFOUND));
    assert_eq!(txn.del(1, b"key", None), codes::NOTFOUND);
    assert_eq!(txn.put(1, b"key", b"one", 0), 0);
    assert_eq!(txn.put(1, b"key", b"other", 0), 0);
    assert_eq!(txn.get(1, b"key"), Ok(&b"other"[..]));
    let mut data = value(b"third");
    assert_eq!(
        txn.put_value(1, b"key", &mut data, flags::NOOVERWRITE),
        codes::KEYEXIST
    );
    assert_eq!(bytes(data), b"other");
    assert_eq!(txn.put(1, b"large", &[7; 100_000], 0), 0);
    assert_eq!(txn.get(1, b"large"), Ok(&[7; 100_000][..]));
    assert_eq!(txn.del(1, b"key", Some(b"ignored")), 0);
    assert_eq!(txn.get(1, b"key"), Err(codes::NOTFOUND));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn sizes_and_arguments_are_checked() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    assert_eq!(txn.put(1, b"", b"value", 0), codes::BAD_VALSIZE);
    assert_eq!(txn.put(1, &[1; 512], b"value", 0), codes::BAD_VALSIZE);
    assert_eq!(txn.put(1, &[1; 511], b"value", 0), 0);
    assert_eq!(txn.get(1, b""), Err(codes::BAD_VALSIZE));
    assert_eq!(txn.del(1, b"", None), codes::BAD_VALSIZE);
    assert_eq!(txn.put(1, b"key", b"value", flags::CURRENT), libc::EINVAL);
    assert_eq!(txn.put(9, b"key", b"value", 0), libc::EINVAL);
    assert_eq!(txn.put(0, b"key", b"value", 0), libc::EINVAL);
    assert_eq!(
        // SAFETY: null is refused.
        unsafe { mdb_get(txn.0, 1, ptr::null_mut(), ptr::null_mut()) },
        libc::EINVAL
    );
    assert_eq!(txn.commit(), 0);
}

#[test]
fn appended_keys_must_ascend() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    assert_eq!(txn.put(1, b"a", b"", flags::APPEND), 0);
    assert_eq!(txn.put(1, b"c", b"", flags::APPEND), 0);
    assert_eq!(txn.put(1, b"b", b"", flags::APPEND), codes::KEYEXIST);
    assert_eq!(txn.put(1, b"c", b"", flags::APPEND), codes::KEYEXIST);
    assert_eq!(txn.put(1, b"b", b"", 0), 0);
    let mut data = value(b"own");
    let asked = flags::APPEND | flags::NOOVERWRITE;
    assert_eq!(txn.put_value(1, b"c", &mut data, asked), codes::KEYEXIST);
    assert_eq!(bytes(data), b"own", "the other flag is checked first");
    assert_eq!(txn.commit(), 0);
}

#[test]
fn integer_keys_are_ordered_by_value_and_have_one_size() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    let handle = txn
        .open(Some(c"numbers"), flags::CREATE | flags::INTEGERKEY)
        .unwrap();
    for number in [300u32, 7, 70_000] {
        assert_eq!(txn.put(handle, &number.to_ne_bytes(), b"", 0), 0);
    }
    assert_eq!(
        txn.put(handle, &7u64.to_ne_bytes(), b"", 0),
        codes::BAD_VALSIZE
    );
    let cursor = txn.cursor(handle);
    let numbers = std::iter::from_fn(|| cursor.go(Operation::Next).ok());
    let numbers = numbers.map(|(key, _)| u32::from_ne_bytes(key.try_into().unwrap()));
    assert_eq!(numbers.collect::<Vec<_>>(), [7, 300, 70_000]);
    assert_eq!(txn.commit(), 0);
}

#[test]
fn a_reserved_value_is_written_after_it_was_put() {
    for len in [100, 100_000] {
        let kit = Kit::new();
        let txn = kit.begin(0);
        let mut data = Value {
            len,
            ..Value::default()
        };
        assert_eq!(txn.put_value(1, b"key", &mut data, flags::RESERVE), 0);
        assert_eq!(data.len, len);
        let cursor = txn.cursor(1);
        assert_eq!(cursor.go(Operation::First).unwrap().1.len(), len);
        // SAFETY: the memory has that many bytes until the next change.
        unsafe { ptr::write_bytes(data.bytes.cast::<u8>(), 7, len) };
        assert_eq!(cursor.go(Operation::GetCurrent).unwrap().1, vec![7; len]);
        // SAFETY: the memory has that many bytes until the next change; a read is not a change.
        unsafe { ptr::write_bytes(data.bytes.cast::<u8>(), 8, len) };
        assert_eq!(txn.put(1, b"other", b"", 0), 0);
        assert_eq!(txn.get(1, b"key"), Ok(&vec![8; len][..]));
        assert_eq!(txn.commit(), 0);
    }
}

/// Regression: lmdb-zero's `overwrite_in_place` reserves an existing value and changes a part of
/// it. The rest became zeros.
#[test]
fn a_reserved_value_of_unchanged_length_keeps_its_bytes() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    assert_eq!(txn.put(1, b"key", b"bar", 0), 0);
    let cursor = txn.cursor(1);
    assert_eq!(cursor.go(Operation::First), Ok((&b"key"[..], &b"bar"[..])));
    for asked in [flags::RESERVE, flags::RESERVE | flags::CURRENT] {
        let mut data = Value {
            len: 3,
            ..Value::default()
        };
        assert_eq!(cursor.put_value(b"key", &mut data, asked), 0);
        assert_eq!(crate::kit::bytes(data), b"bar");
        // SAFETY: the memory has three bytes until the next change.
        unsafe { data.bytes.cast::<u8>().add(2).write(b'r') };
    }
    let mut data = Value {
        len: 4,
        ..Value::default()
    };
    assert_eq!(cursor.put_value(b"key", &mut data, flags::RESERVE), 0);
    assert_eq!(crate::kit::bytes(data), [0; 4]);
    assert_eq!(txn.commit(), 0);
}

#[test]
fn returned_bytes_are_valid_until_the_next_change() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    for number in 0..2000u32 {
        let key = format!("key number {number:06}");
        assert_eq!(txn.put(1, key.as_bytes(), &number.to_ne_bytes(), 0), 0);
    }
    let check = |txn: crate::kit::Txn| {
        let cursor = txn.cursor(1);
        let all: Vec<_> = std::iter::from_fn(|| cursor.go(Operation::Next).ok()).collect();
        assert_eq!(all.len(), 2000);
        for (number, (key, value)) in all.iter().enumerate() {
            assert_eq!(*key, format!("key number {number:06}").as_bytes());
            assert_eq!(*value, (number as u32).to_ne_bytes());
        }
        cursor
    };
    check(txn);
    assert_eq!(txn.commit(), 0);
    let txn = kit.begin(flags::RDONLY);
    let cursor = check(txn);
    // SAFETY: a handle that is not used any more.
    unsafe { lmdb::cursors::mdb_cursor_close(cursor.0) };
    assert_eq!(txn.commit(), 0);
}

#[test]
fn passed_bytes_may_be_in_the_database_itself() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    assert_eq!(txn.put(1, b"key", &[7; 3000], 0), 0);
    for round in 0..50u8 {
        let there = txn.get(1, b"key").unwrap();
        assert_eq!(txn.put(1, &[b'a', round], there, 0), 0);
        let there = txn.get(1, &[b'a', round]).unwrap();
        assert_eq!(txn.put(1, b"key", there, 0), 0);
    }
    assert_eq!(txn.get(1, &[b'a', 49]), Ok(&[7; 3000][..]));
    assert_eq!(txn.commit(), 0);
}
