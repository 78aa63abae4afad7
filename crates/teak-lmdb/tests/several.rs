//! Databases in which a key has several values.

use crate::kit::{CursorHandle, Found, Kit, Txn, value};
use lmdb::{
    Value, codes,
    cursors::{mdb_cursor_count, mdb_cursor_put},
    flags,
    flags::Operation as Op,
};
use std::ffi::c_uint;

const NOT_FOUND: Found<'static> = Err(codes::NOTFOUND);

fn pair<'b>(key: &'b str, value: &'b str) -> Found<'b> {
    Ok((key.as_bytes(), value.as_bytes()))
}

/// A table with the values 1 and 3 of "a", 2 of "b", and 1, 2, 3 of "c".
fn filled(kit: &Kit) -> (Txn, c_uint) {
    let txn = kit.begin(0);
    let handle = txn
        .open(Some(c"several"), flags::CREATE | flags::DUPSORT)
        .unwrap();
    for (key, value) in ["a1", "a3", "b2", "c1", "c2", "c3"].map(|pair| pair.split_at(1)) {
        assert_eq!(txn.put(handle, key.as_bytes(), value.as_bytes(), 0), 0);
    }
    (txn, handle)
}

fn count(cursor: CursorHandle) -> Result<usize, i32> {
    let mut count = 0;
    // SAFETY: a handle, and memory for the result.
    match unsafe { mdb_cursor_count(cursor.0, &raw mut count) } {
        0 => Ok(count),
        code => Err(code),
    }
}

/// LMDB accepts an empty value too, but does not find it when the key has further ones.
#[test]
fn one_of_several_values_may_be_empty() {
    let mut kit = Kit::new();
    let (txn, handle) = filled(&kit);
    for key in [b"a", b"e"] {
        assert_eq!(txn.put(handle, key, b"", 0), 0);
        assert_eq!(txn.put(handle, key, b"", flags::NODUPDATA), codes::KEYEXIST);
    }
    assert_eq!(txn.commit(), 0);
    kit.reopen(0);
    let txn = kit.begin(0);
    let handle = txn.open(Some(c"several"), 0).unwrap();
    let cursor = txn.cursor(handle);
    assert_eq!(cursor.go(Op::First), pair("a", ""));
    assert_eq!(cursor.go(Op::Next), pair("a", "1"));
    assert_eq!(cursor.go(Op::Last), pair("e", ""));
    assert_eq!(txn.del(handle, b"a", Some(b"")), 0);
    assert_eq!(txn.get(handle, b"a"), Ok(&b"1"[..]));
    assert_eq!(txn.commit(), 0);
}

/// Regression: the cursor counted as still being at a failed search, so its own record was refused.
#[test]
fn a_put_after_a_failed_search_gives_the_cursor_a_value() {
    let kit = Kit::new();
    let (txn, handle) = filled(&kit);
    let cursor = txn.cursor(handle);
    assert_eq!(cursor.seek(Op::Set, b"b5", b""), NOT_FOUND);
    assert_eq!(cursor.go(Op::GetCurrent), Err(libc::EINVAL));
    assert_eq!(cursor.put(b"c", b"2", 0), 0);
    assert_eq!(cursor.go(Op::GetCurrent), pair("c", "2"));
    assert_eq!(cursor.seek(Op::Set, b"b5", b""), NOT_FOUND);
    assert_eq!(cursor.put(b"c", b"2", flags::NODUPDATA), codes::KEYEXIST);
    assert_eq!(count(cursor), Ok(3));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn steps_move_through_values_and_keys() {
    let kit = Kit::new();
    let (txn, handle) = filled(&kit);
    let cursor = txn.cursor(handle);
    assert_eq!(count(cursor), Err(libc::EINVAL));
    assert_eq!(cursor.go(Op::Next), pair("a", "1"));
    assert_eq!(count(cursor), Ok(2));
    assert_eq!(cursor.go(Op::NextDup), pair("a", "3"));
    assert_eq!(cursor.go(Op::NextDup), NOT_FOUND);
    assert_eq!(cursor.go(Op::Next), pair("b", "2"));
    assert_eq!(cursor.go(Op::NextDup), NOT_FOUND);
    assert_eq!(cursor.go(Op::NextNodup), pair("c", "1"));
    assert_eq!(cursor.go(Op::NextDup), pair("c", "2"));
    assert_eq!(cursor.go(Op::NextNodup), NOT_FOUND);
    assert_eq!(
        cursor.go(Op::GetCurrent),
        pair("c", "2"),
        "it has not moved"
    );
    assert_eq!(
        cursor.go(Op::Next),
        NOT_FOUND,
        "LMDB takes the rest of the key for the end"
    );
    assert_eq!(cursor.go(Op::PrevDup), pair("c", "1"));
    assert_eq!(cursor.go(Op::PrevDup), NOT_FOUND);
    assert_eq!(cursor.go(Op::PrevNodup), pair("b", "2"));
    assert_eq!(cursor.go(Op::Prev), pair("a", "3"));
    assert_eq!(cursor.go(Op::PrevNodup), NOT_FOUND);
    assert_eq!(cursor.go(Op::GetCurrent), pair("a", "3"));
    assert_eq!(cursor.go(Op::FirstDup).unwrap().1, b"1");
    assert_eq!(cursor.go(Op::Last), pair("c", "3"));
    assert_eq!(cursor.go(Op::FirstDup).unwrap().1, b"1");
    assert_eq!(cursor.go(Op::Next), pair("c", "2"));
    assert_eq!(cursor.go(Op::LastDup).unwrap().1, b"3");
    assert_eq!(txn.commit(), 0);
}

#[test]
fn pairs_are_searched_for() {
    let kit = Kit::new();
    let (txn, handle) = filled(&kit);
    let cursor = txn.cursor(handle);
    assert_eq!(cursor.seek(Op::GetBoth, b"a", b"3"), pair("a", "3"));
    assert_eq!(cursor.seek(Op::GetBoth, b"a", b"2"), NOT_FOUND);
    assert_eq!(cursor.seek(Op::GetBothRange, b"a", b"2"), pair("a", "3"));
    assert_eq!(cursor.seek(Op::GetBothRange, b"a", b"4"), NOT_FOUND);
    assert_eq!(cursor.go(Op::Next), pair("b", "2"));
    assert_eq!(cursor.seek(Op::GetBothRange, b"aa", b"1"), NOT_FOUND);
    assert_eq!(cursor.seek(Op::SetKey, b"c", &[]), pair("c", "1"));
    assert_eq!(cursor.seek(Op::SetRange, b"bb", &[]), pair("c", "1"));
    assert_eq!(txn.get(handle, b"c"), Ok(&b"1"[..]));
    assert_eq!(txn.commit(), 0);
}

/// lmdb-rkv's `iter_dup_of` relies on it: it searches for a missing key, and asks for the current
/// value. LMDB has not read the values of the next key.
#[test]
fn a_search_for_a_missing_key_does_not_read_the_values_of_the_next_key() {
    const REFUSED: Found<'static> = Err(libc::EINVAL);
    let kit = Kit::new();
    let (txn, handle) = filled(&kit);
    let cursor = txn.cursor(handle);
    assert_eq!(cursor.seek(Op::Set, b"bb", &[]), NOT_FOUND);
    assert_eq!(cursor.go(Op::GetCurrent), REFUSED);
    assert_eq!(cursor.go(Op::LastDup), REFUSED);
    assert_eq!(count(cursor), Err(libc::EINVAL));
    assert_eq!(cursor.seek(Op::Set, b"aa", &[]), NOT_FOUND);
    assert_eq!(
        cursor.go(Op::GetCurrent),
        pair("b", "2"),
        "the key has one value"
    );
    assert_eq!(cursor.seek(Op::Set, b"bb", &[]), NOT_FOUND);
    assert_eq!(cursor.go(Op::Last), pair("c", "3"));
    assert_eq!(cursor.go(Op::GetCurrent), pair("c", "3"));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn flags_restrict_puts() {
    let kit = Kit::new();
    let (txn, handle) = filled(&kit);
    assert_eq!(txn.put(handle, b"a", b"3", 0), 0);
    assert_eq!(
        txn.put(handle, b"a", b"3", flags::NODUPDATA),
        codes::KEYEXIST
    );
    let mut data = value(b"9");
    assert_eq!(
        txn.put_value(handle, b"a", &mut data, flags::NOOVERWRITE),
        codes::KEYEXIST
    );
    assert_eq!(crate::kit::bytes(data), b"1");
    assert_eq!(
        txn.put(handle, b"a", b"2", flags::APPENDDUP),
        codes::KEYEXIST
    );
    assert_eq!(txn.put(handle, b"a", b"4", flags::APPENDDUP), 0);
    assert_eq!(txn.put(handle, b"c", b"9", flags::APPEND), codes::KEYEXIST);
    assert_eq!(txn.put(handle, b"d", b"9", flags::APPEND), 0);
    assert_eq!(txn.put(handle, b"a", &[1; 512], 0), codes::BAD_VALSIZE);
    assert_eq!(txn.del(handle, b"a", Some(b"9")), codes::NOTFOUND);
    assert_eq!(txn.del(handle, b"a", Some(b"3")), 0);
    assert_eq!(txn.del(handle, b"c", None), 0);
    let cursor = txn.cursor(handle);
    let left: Vec<_> = std::iter::from_fn(|| cursor.go(Op::Next).ok()).collect();
    let expected = [
        pair("a", "1"),
        pair("a", "4"),
        pair("b", "2"),
        pair("d", "9"),
    ];
    assert_eq!(left, expected.map(Result::unwrap));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn cursors_stay_in_the_gap_of_a_value() {
    let kit = Kit::new();
    let (txn, handle) = filled(&kit);
    let cursor = txn.cursor(handle);
    cursor.seek(Op::GetBoth, b"c", b"2").unwrap();
    assert_eq!(cursor.del(0), 0);
    assert_eq!(cursor.go(Op::GetCurrent), pair("c", "3"));
    cursor.seek(Op::GetBoth, b"a", b"3").unwrap();
    assert_eq!(cursor.del(0), 0);
    assert_eq!(
        cursor.go(Op::GetCurrent),
        NOT_FOUND,
        "the key exists, and no value follows the gap"
    );
    assert_eq!(cursor.go(Op::Next), pair("b", "2"));
    assert_eq!(cursor.del(0), 0);
    assert_eq!(cursor.go(Op::NextDup), NOT_FOUND);
    assert_eq!(
        cursor.go(Op::GetCurrent),
        pair("c", "1"),
        "the key does not exist any more"
    );
    assert_eq!(cursor.del(flags::NODUPDATA), 0);
    assert_eq!(cursor.go(Op::Next), NOT_FOUND);
    assert_eq!(cursor.go(Op::Prev), pair("a", "1"));
    assert_eq!(cursor.put(b"a", b"7", flags::CURRENT), 0);
    assert_eq!(cursor.go(Op::GetCurrent), pair("a", "7"));
    assert_eq!(count(cursor), Ok(1));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn many_values_are_put_and_read_in_one_call() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    let asked = flags::CREATE | flags::DUPSORT | flags::DUPFIXED | flags::INTEGERDUP;
    let handle = txn.open(Some(c"numbers"), asked).unwrap();
    let numbers: Vec<u8> = (0..5000u32).flat_map(u32::to_ne_bytes).collect();
    let cursor = txn.cursor(handle);
    let mut key = value(b"key");
    let first = Value {
        len: 4,
        ..value(&numbers)
    };
    let mut data = [
        first,
        Value {
            len: 5000,
            ..Value::default()
        },
    ];
    // SAFETY: a handle and values; this flag needs two.
    let put = unsafe { mdb_cursor_put(cursor.0, &raw mut key, data.as_mut_ptr(), flags::MULTIPLE) };
    assert_eq!((put, data[1].len), (0, 5000));
    assert_eq!(cursor.put(b"key", b"too long", 0), codes::BAD_VALSIZE);
    assert_eq!(cursor.put(b"one", &7u32.to_ne_bytes(), 0), 0);

    let mut all = Vec::new();
    let mut page = Vec::new();
    cursor.seek(Op::SetKey, b"key", &[]).unwrap();
    let mut found = cursor.go(Op::GetMultiple);
    while let Ok((_, values)) = found {
        all.extend_from_slice(values);
        page = values.to_vec();
        found = cursor.go(Op::NextMultiple);
    }
    assert_eq!((all, found), (numbers.clone(), NOT_FOUND));
    assert!(page.len() < numbers.len(), "there are several pages");
    let (_, before) = cursor.go(Op::PrevMultiple).unwrap();
    assert!(numbers[..numbers.len() - page.len()].ends_with(before));
    assert_eq!(cursor.go(Op::Last).unwrap().0, b"one");
    assert_eq!(cursor.go(Op::PrevMultiple), NOT_FOUND);
    assert_eq!(txn.commit(), 0);
}
