use crate::kit::{CursorHandle, Found, Kit, Txn, value};
use lmdb::{
    codes,
    cursors::{
        mdb_cursor_close, mdb_cursor_count, mdb_cursor_dbi, mdb_cursor_get, mdb_cursor_put,
        mdb_cursor_renew, mdb_cursor_txn,
    },
    flags,
    flags::Operation as Op,
    transactions::{mdb_txn_renew, mdb_txn_reset},
};
use std::ptr;

const NOT_FOUND: Found<'static> = Err(codes::NOTFOUND);

fn filled(kit: &Kit) -> Txn {
    let txn = kit.begin(0);
    for key in [b"b", b"d", b"f"] {
        assert_eq!(txn.put(1, key, key, 0), 0);
    }
    txn
}

/// The record whose key and value are this byte.
fn at(byte: &u8) -> Found<'_> {
    let bytes = std::slice::from_ref(byte);
    Ok((bytes, bytes))
}

fn close(cursor: CursorHandle) {
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_cursor_close(cursor.0) };
}

#[test]
fn steps_move_through_the_table_and_stop_at_its_ends() {
    let kit = Kit::new();
    let txn = filled(&kit);
    let cursor = txn.cursor(1);
    assert_eq!(cursor.go(Op::GetCurrent), Err(libc::EINVAL));
    assert_eq!(cursor.go(Op::Next), at(&b'b'));
    assert_eq!(cursor.go(Op::Prev), NOT_FOUND);
    assert_eq!(cursor.go(Op::GetCurrent), at(&b'b'));
    assert_eq!(cursor.go(Op::Next), at(&b'd'));
    assert_eq!(cursor.go(Op::Last), at(&b'f'));
    assert_eq!(cursor.go(Op::Next), NOT_FOUND);
    assert_eq!(cursor.go(Op::GetCurrent), at(&b'f'));
    assert_eq!(cursor.go(Op::Prev), at(&b'd'));
    assert_eq!(cursor.go(Op::First), at(&b'b'));
    let cursor = txn.cursor(1);
    assert_eq!(cursor.go(Op::Prev), at(&b'f'));
    assert_eq!(cursor.go(Op::Next), NOT_FOUND);
    assert_eq!(txn.put(1, b"g", b"g", 0), 0);
    assert_eq!(cursor.go(Op::Next), at(&b'g'));
    assert_eq!(txn.commit(), 0);
}

/// LMDB searches the values of a key only where it can have several.
#[test]
fn a_step_to_another_value_moves_to_another_key_if_keys_have_one_value() {
    let kit = Kit::new();
    let txn = filled(&kit);
    let cursor = txn.cursor(1);
    assert_eq!(cursor.go(Op::NextDup), at(&b'b'));
    assert_eq!(cursor.go(Op::NextDup), at(&b'd'));
    assert_eq!(cursor.go(Op::PrevDup), at(&b'b'));
    assert_eq!(cursor.go(Op::PrevDup), NOT_FOUND);
    assert_eq!(cursor.go(Op::GetCurrent), at(&b'b'));
    assert_eq!(cursor.del(0), 0);
    assert_eq!(cursor.go(Op::NextDup), NOT_FOUND, "its record was deleted");
    // LMDB has forgotten the deletion by now: see c/deleted.c.
    assert_eq!(cursor.go(Op::GetCurrent), at(&b'd'));
    assert_eq!(cursor.go(Op::NextDup), at(&b'f'));
    assert_eq!(cursor.go(Op::NextDup), NOT_FOUND);
    assert_eq!(txn.commit(), 0);
}

#[test]
fn searches_find_the_key_or_the_next_one() {
    let kit = Kit::new();
    let txn = filled(&kit);
    let cursor = txn.cursor(1);
    assert_eq!(cursor.seek(Op::SetKey, b"d", &[]), at(&b'd'));
    assert_eq!(cursor.seek(Op::SetRange, b"c", &[]), at(&b'd'));
    assert_eq!(cursor.seek(Op::SetRange, b"g", &[]), NOT_FOUND);
    assert_eq!(cursor.go(Op::GetCurrent), NOT_FOUND);
    assert_eq!(cursor.go(Op::Next), NOT_FOUND);
    assert_eq!(cursor.go(Op::Prev), at(&b'f'));
    assert_eq!(cursor.seek(Op::Set, b"c", &[]), NOT_FOUND);
    assert_eq!(cursor.go(Op::GetCurrent), at(&b'd'));
    assert_eq!(cursor.seek(Op::Set, b"", &[]), Err(codes::BAD_VALSIZE));
    assert_eq!(
        cursor.seek(Op::GetBoth, b"b", b"b"),
        Err(codes::INCOMPATIBLE)
    );
    assert_eq!(cursor.go(Op::GetMultiple), Err(codes::INCOMPATIBLE));
    assert_eq!(cursor.go(Op::FirstDup), Err(codes::INCOMPATIBLE));
    // SAFETY: a handle, null for unwanted results, and an invalid operation.
    unsafe {
        assert_eq!(
            mdb_cursor_get(cursor.0, ptr::null_mut(), ptr::null_mut(), Op::First as i32),
            0
        );
        let unknown = mdb_cursor_get(cursor.0, ptr::null_mut(), ptr::null_mut(), 77);
        assert_eq!(unknown, libc::EINVAL);
    }
    assert_eq!(txn.commit(), 0);
}

#[test]
fn after_a_deletion_the_next_step_finds_the_following_record() {
    let kit = Kit::new();
    let txn = filled(&kit);
    let (cursor, other, third) = (txn.cursor(1), txn.cursor(1), txn.cursor(1));
    for cursor in [cursor, other, third] {
        cursor.seek(Op::Set, b"d", &[]).unwrap();
    }
    assert_eq!(cursor.del(0), 0);
    assert_eq!(cursor.go(Op::Next), at(&b'f'));
    assert_eq!(other.go(Op::GetCurrent), at(&b'f'));
    assert_eq!(third.go(Op::Prev), at(&b'b'));
    assert_eq!(cursor.del(0), 0, "the record after it");
    assert_eq!(cursor.go(Op::GetCurrent), NOT_FOUND);
    assert_eq!(cursor.del(0), codes::NOTFOUND);
    assert_eq!(third.del(0), 0);
    assert_eq!(
        third.go(Op::GetCurrent),
        Err(libc::EINVAL),
        "the table is empty"
    );
    assert_eq!(txn.put(1, b"a", b"a", 0), 0);
    assert_eq!(other.go(Op::Next), at(&b'a'));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn a_put_moves_the_cursor_to_its_record() {
    let kit = Kit::new();
    let txn = filled(&kit);
    let cursor = txn.cursor(1);
    assert_eq!(cursor.put(b"c", b"c", flags::CURRENT), libc::EINVAL);
    assert_eq!(cursor.put(b"c", b"c", 0), 0);
    assert_eq!(cursor.go(Op::GetCurrent), at(&b'c'));
    assert_eq!(cursor.go(Op::Next), at(&b'd'));
    assert_eq!(cursor.put(b"d", b"other", flags::CURRENT), 0);
    assert_eq!(txn.get(1, b"d"), Ok(&b"other"[..]));
    assert_eq!(cursor.put(b"f", b"", flags::NOOVERWRITE), codes::KEYEXIST);
    assert_eq!(cursor.go(Op::GetCurrent), at(&b'f'));
    let mut several = [value(b"y"), value(b"z")];
    // SAFETY: a handle and values, two of them with this flag.
    let put = unsafe {
        mdb_cursor_put(
            cursor.0,
            &mut value(b"x"),
            several.as_mut_ptr(),
            flags::MULTIPLE,
        )
    };
    assert_eq!(put, codes::INCOMPATIBLE);
    assert_eq!(txn.commit(), 0);
}

#[test]
fn cursor_positions_survive_splits_and_merges_of_pages() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    let key = |number: u32| number.to_be_bytes();
    for number in 0..100 {
        assert_eq!(txn.put(1, &key(number * 100), &[1; 100], 0), 0);
    }
    let cursors = [0, 50, 99].map(|number| {
        let cursor = txn.cursor(1);
        cursor.seek(Op::SetKey, &key(number * 100), &[]).unwrap();
        (number, cursor)
    });
    for number in 0..10_000 {
        assert_eq!(txn.put(1, &key(number), &[2; 100], 0), 0);
    }
    for (number, cursor) in cursors {
        assert_eq!(cursor.go(Op::Next).unwrap().0, key(number * 100 + 1));
    }
    for number in 0..10_000 {
        assert_eq!(txn.del(1, &key(number), None), 0);
        assert_eq!(txn.put(1, &key(20_000 + number % 3), &[2; 100], 0), 0);
    }
    for (_, cursor) in cursors {
        assert_eq!(cursor.go(Op::GetCurrent).unwrap().0, key(20_000));
    }
    assert_eq!(txn.commit(), 0);
}

/// Regression: PHP scans a database with one cursor and resets its transaction between the steps.
/// It looped over the first two records.
#[test]
fn a_cursor_continues_after_its_transaction_was_reset_and_renewed() {
    let kit = Kit::with(flags::NOTLS, |_| {});
    assert_eq!(filled(&kit).commit(), 0);
    let txn = kit.begin(flags::RDONLY);
    let cursor = txn.cursor(1);
    assert_eq!(cursor.go(Op::First), at(&b'b'));
    for next in [Op::Next, Op::Next] {
        let before = cursor.go(Op::GetCurrent).unwrap().0.to_vec();
        // SAFETY: a handle.
        unsafe { mdb_txn_reset(txn.0) };
        assert_eq!(
            cursor.go(next),
            Err(codes::BAD_TXN),
            "the transaction is not renewed"
        );
        // SAFETY: a handle.
        assert_eq!(unsafe { mdb_txn_renew(txn.0) }, 0);
        assert!(cursor.go(next).unwrap().0 > &before[..]);
    }
    // SAFETY: handles.
    unsafe {
        mdb_txn_reset(txn.0);
        assert_eq!(mdb_txn_renew(txn.0), 0);
        assert_eq!(mdb_cursor_renew(txn.0, cursor.0), 0);
    }
    assert_eq!(cursor.go(Op::Next), at(&b'b'), "it has no position");
    close(cursor);
    assert_eq!(txn.commit(), 0);
}

#[test]
fn cursors_outlive_read_transactions_and_can_be_renewed() {
    let kit = Kit::with(flags::NOTLS, |_| {});
    assert_eq!(filled(&kit).commit(), 0);
    let txn = kit.begin(flags::RDONLY);
    let cursor = txn.cursor(1);
    // SAFETY: a handle.
    unsafe {
        assert_eq!(mdb_cursor_txn(cursor.0), txn.0);
        assert_eq!(mdb_cursor_dbi(cursor.0), 1);
    }
    assert_eq!(cursor.go(Op::First), at(&b'b'));
    assert_eq!(cursor.del(0), libc::EACCES);
    assert_eq!(cursor.put(b"x", b"x", 0), libc::EACCES);
    assert_eq!(txn.commit(), 0);
    assert_eq!(cursor.go(Op::First), Err(codes::BAD_TXN));
    let (txn, writer) = (kit.begin(flags::RDONLY), kit.begin(0));
    let mut count = 0;
    // SAFETY: handles, and memory for the result.
    unsafe {
        assert_eq!(mdb_cursor_renew(writer.0, cursor.0), libc::EINVAL);
        assert_eq!(mdb_cursor_renew(txn.0, cursor.0), 0);
        assert_eq!(
            mdb_cursor_count(cursor.0, &raw mut count),
            codes::INCOMPATIBLE
        );
    }
    assert_eq!(cursor.go(Op::Next), at(&b'b'));
    assert_eq!((writer.commit(), txn.commit()), (0, 0));
    close(cursor);
    close(CursorHandle(ptr::null_mut()));
}
