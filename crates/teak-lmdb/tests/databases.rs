use crate::kit::{Kit, Txn, bytes, value};
use lmdb::{
    Stat, Value, codes,
    cursors::mdb_cursor_close,
    databases::{
        mdb_cmp, mdb_dbi_close, mdb_dbi_flags, mdb_dcmp, mdb_drop, mdb_set_compare,
        mdb_set_dupsort, mdb_set_relctx, mdb_set_relfunc, mdb_stat,
    },
    flags,
    flags::Operation,
    transactions::mdb_txn_abort,
};
use std::{
    ffi::{c_int, c_uint},
    ptr,
};

fn entries(txn: Txn, handle: c_uint) -> usize {
    let mut stat = Stat::default();
    // SAFETY: a handle, and room.
    assert_eq!(unsafe { mdb_stat(txn.0, handle, &raw mut stat) }, 0);
    stat.entries
}

fn flags_of(txn: Txn, handle: c_uint) -> c_uint {
    let mut flags = 0;
    // SAFETY: a handle, and room.
    assert_eq!(unsafe { mdb_dbi_flags(txn.0, handle, &raw mut flags) }, 0);
    flags
}

fn drop_database(txn: Txn, handle: c_uint, is_deleted: c_int) -> c_int {
    // SAFETY: a handle.
    unsafe { mdb_drop(txn.0, handle, is_deleted) }
}

#[test]
fn named_databases_are_records_of_the_main_database() {
    let mut kit = Kit::new();
    let txn = kit.begin(0);
    assert_eq!(txn.open(Some(c"words"), 0), Err(codes::NOTFOUND));
    let words = txn
        .open(Some(c"words"), flags::CREATE | flags::DUPSORT)
        .unwrap();
    assert_eq!(txn.put(1, b"plain", b"value", 0), 0);
    assert_eq!(txn.put(words, b"a", b"1", 0), 0);
    assert_eq!((entries(txn, 1), entries(txn, words)), (2, 1));
    assert_eq!(flags_of(txn, words), flags::DUPSORT);

    let cursor = txn.cursor(1);
    assert_eq!(
        cursor.go(Operation::First),
        Ok((&b"plain"[..], &b"value"[..]))
    );
    let (key, description) = cursor.go(Operation::Next).unwrap();
    assert_eq!((key, description.len()), (&b"words"[..], 48));
    assert_eq!(txn.put(1, b"words", b"value", 0), codes::INCOMPATIBLE);
    assert_eq!(
        txn.open(Some(c"plain"), flags::CREATE),
        Err(codes::INCOMPATIBLE)
    );
    assert_eq!(txn.commit(), 0);

    let txn = kit.begin(0);
    assert_eq!(txn.del(1, b"words", None), codes::INCOMPATIBLE);
    assert_eq!(txn.commit(), codes::BAD_TXN);

    kit.reopen(0);
    let txn = kit.begin(flags::RDONLY);
    assert_eq!(txn.open(Some(c"other"), flags::CREATE), Err(libc::EACCES));
    let words = txn.open(Some(c"words"), 0).unwrap();
    assert_eq!(flags_of(txn, words), flags::DUPSORT);
    assert_eq!(txn.commit(), 0, "all transactions know the handle now");
    let txn = kit.begin(flags::RDONLY);
    assert_eq!(txn.get(words, b"a"), Ok(&b"1"[..]));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn handles_are_limited_and_reused_after_they_are_closed() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    let names = [c"a", c"b", c"c", c"d"];
    let handles = names.map(|name| txn.open(Some(name), flags::CREATE).unwrap());
    assert_eq!(handles, [2, 3, 4, 5]);
    assert_eq!(txn.open(Some(c"b"), 0), Ok(3));
    assert_eq!(txn.open(Some(c"e"), flags::CREATE), Err(codes::DBS_FULL));
    assert_eq!(txn.open(Some(c""), flags::CREATE), Err(codes::DBS_FULL));
    assert_eq!(txn.open(Some(c"a"), 0x1000), Err(libc::EINVAL));
    assert_eq!(txn.commit(), 0);
    // SAFETY: a handle.
    unsafe { mdb_dbi_close(kit.environment, 3) };
    let txn = kit.begin(0);
    assert_eq!(txn.get(3, b"key"), Err(libc::EINVAL));
    assert_eq!(txn.open(Some(c""), flags::CREATE), Err(codes::BAD_VALSIZE));
    assert_eq!(txn.open(Some(c"e"), flags::CREATE), Ok(3));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn a_drop_empties_or_deletes_a_database() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    let one = txn.open(Some(c"one"), flags::CREATE).unwrap();
    let other = txn.open(Some(c"other"), flags::CREATE).unwrap();
    assert_eq!(txn.put(one, b"key", b"value", 0), 0);
    assert_eq!(txn.put(other, b"key", b"value", 0), 0);
    let cursor = txn.cursor(one);
    cursor.go(Operation::First).unwrap();
    assert_eq!(drop_database(txn, one, 0), 0);
    assert_eq!(entries(txn, one), 0);
    assert_eq!(cursor.go(Operation::GetCurrent), Err(libc::EINVAL));
    assert_eq!(drop_database(txn, other, 1), 0);
    assert_eq!(txn.get(other, b"key"), Err(libc::EINVAL));
    assert_eq!(drop_database(txn, one, 2), libc::EINVAL);
    assert_eq!(txn.commit(), 0);

    let txn = kit.begin(0);
    assert_eq!(txn.open(Some(c"other"), 0), Err(codes::NOTFOUND));
    assert_eq!(txn.put(1, b"key", b"value", 0), 0);
    assert_eq!(
        drop_database(txn, 1, 1),
        0,
        "the main database is only emptied"
    );
    assert_eq!(entries(txn, 1), 0);
    assert_eq!(txn.commit(), 0);
    let txn = kit.begin(flags::RDONLY);
    assert_eq!(drop_database(txn, 1, 0), libc::EACCES);
    assert_eq!(txn.commit(), 0);
}

#[test]
fn flags_of_the_main_database_are_kept() {
    let mut kit = Kit::new();
    let txn = kit.begin(0);
    assert_eq!(txn.open(None, flags::DUPSORT | flags::INTEGERDUP), Ok(1));
    assert_eq!(txn.put(1, b"key", &7u32.to_ne_bytes(), 0), 0);
    assert_eq!(txn.put(1, b"key", &300u32.to_ne_bytes(), 0), 0);
    assert_eq!(txn.open(None, flags::REVERSEKEY), Err(codes::INCOMPATIBLE));
    assert_eq!(
        txn.open(Some(c"named"), flags::CREATE),
        Err(codes::INCOMPATIBLE)
    );
    assert_eq!(txn.open(Some(c"named"), 0), Err(codes::NOTFOUND));
    assert_eq!(txn.commit(), 0);
    kit.reopen(0);
    let txn = kit.begin(flags::RDONLY);
    assert_eq!(flags_of(txn, 1), flags::DUPSORT | flags::INTEGERDUP);
    assert_eq!(txn.get(1, b"key"), Ok(&7u32.to_ne_bytes()[..]));
    assert_eq!(txn.commit(), 0);
}

#[test]
fn flags_decide_the_order_of_keys_and_values() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    let asked = flags::CREATE | flags::REVERSEKEY | flags::DUPSORT | flags::INTEGERDUP;
    let handle = txn.open(Some(c"odd"), asked).unwrap();
    let (ab, b) = (value(b"ab"), value(b"b"));
    let numbers = [256u64, 3].map(u64::to_ne_bytes);
    let (large, small) = (value(&numbers[0]), value(&numbers[1]));
    // SAFETY: handles and values.
    unsafe {
        assert!(mdb_cmp(txn.0, handle, &raw const ab, &raw const b) > 0);
        assert!(mdb_cmp(txn.0, 1, &raw const ab, &raw const b) < 0);
        assert!(mdb_dcmp(txn.0, handle, &raw const large, &raw const small) > 0);
        assert_eq!(
            mdb_dcmp(txn.0, handle, &raw const small, &raw const small),
            0
        );
        assert_eq!(mdb_set_relfunc(txn.0, handle, None), 0);
        assert_eq!(mdb_set_relctx(txn.0, handle, ptr::null_mut()), 0);
    }
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_txn_abort(txn.0) };
}

unsafe extern "C" fn backwards(a: *const Value, b: *const Value) -> c_int {
    // SAFETY: the library passes values.
    let (a, b) = unsafe { (bytes(*a), bytes(*b)) };
    b.cmp(a) as c_int
}

/// All keys and values, as strings.
fn all(txn: Txn, handle: c_uint) -> Vec<String> {
    let cursor = txn.cursor(handle);
    let records = std::iter::from_fn(|| cursor.go(Operation::Next).ok());
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = records
        .map(|(key, value)| words(key) + &words(value))
        .collect();
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_cursor_close(cursor.0) };
    all
}

#[test]
fn a_client_sets_its_own_orders() {
    let mut kit = Kit::new();
    let txn = kit.begin(0);
    let plain = txn.open(Some(c"plain"), flags::CREATE).unwrap();
    let several = txn
        .open(Some(c"several"), flags::CREATE | flags::DUPSORT)
        .unwrap();
    let filled = txn.open(Some(c"filled"), flags::CREATE).unwrap();
    assert_eq!(txn.put(filled, b"a", b"", 0), 0);
    // SAFETY: handles, and a function for values.
    unsafe {
        assert_eq!(mdb_set_compare(txn.0, plain, Some(backwards)), 0);
        assert_eq!(mdb_set_compare(txn.0, several, Some(backwards)), 0);
        assert_eq!(mdb_set_dupsort(txn.0, several, Some(backwards)), 0);
        assert_eq!(
            mdb_set_dupsort(txn.0, plain, Some(backwards)),
            0,
            "the database has no values to order"
        );
        let refused = mdb_set_compare(txn.0, filled, Some(backwards));
        assert_eq!(
            refused,
            codes::INCOMPATIBLE,
            "the database has records in another order"
        );
        assert_eq!(
            mdb_set_compare(txn.0, 1, Some(backwards)),
            codes::INCOMPATIBLE
        );
    }
    for number in 0..2000u32 {
        let key = format!("{number:04}");
        assert_eq!(txn.put(plain, key.as_bytes(), b"", 0), 0);
        assert_eq!(txn.put(several, b"key", key.as_bytes(), 0), 0);
    }
    assert_eq!(txn.put(several, b"other", b"1", 0), 0);
    assert_eq!(txn.put(several, b"key", b"-", flags::APPENDDUP), 0);
    let numbers: Vec<_> = (0..2000)
        .rev()
        .map(|number| format!("{number:04}"))
        .collect();
    assert_eq!(all(txn, plain), numbers);
    let (a, b) = (value(b"a"), value(b"b"));
    // SAFETY: handles and values.
    unsafe {
        assert!(mdb_cmp(txn.0, plain, &raw const a, &raw const b) > 0);
        assert!(mdb_dcmp(txn.0, several, &raw const a, &raw const b) > 0);
    }
    assert_eq!(txn.commit(), 0);

    kit.reopen(0);
    let txn = kit.begin(flags::RDONLY);
    let plain = txn.open(Some(c"plain"), 0).unwrap();
    let several = txn.open(Some(c"several"), 0).unwrap();
    assert_eq!(all(txn, plain), numbers, "a scan needs no function");
    // SAFETY: handles, and a function for values.
    unsafe {
        assert_eq!(mdb_set_compare(txn.0, plain, Some(backwards)), 0);
        assert_eq!(mdb_set_compare(txn.0, several, Some(backwards)), 0);
        assert_eq!(mdb_set_dupsort(txn.0, several, Some(backwards)), 0);
    }
    assert_eq!(txn.get(plain, b"0007"), Ok(&b""[..]));
    let cursor = txn.cursor(several);
    let found = cursor.seek(Operation::GetBothRange, b"key", b"0007x");
    assert_eq!(found, Ok((&b"key"[..], &b"0007"[..])));
    // SAFETY: a handle that is not used any more.
    unsafe { mdb_cursor_close(cursor.0) };
    assert_eq!(txn.commit(), 0);
}

#[test]
fn read_transactions_see_the_free_pages() {
    let kit = Kit::new();
    for round in 0..20u8 {
        let txn = kit.begin(0);
        assert_eq!(txn.put(1, &[round + 1], &[round; 3000], 0), 0);
        assert_eq!(txn.commit(), 0);
    }
    let txn = kit.begin(flags::RDONLY);
    let mut stat = Stat::default();
    // SAFETY: a handle, and room.
    assert_eq!(unsafe { mdb_stat(txn.0, 0, &raw mut stat) }, 0);
    let cursor = txn.cursor(0);
    let (key, numbers) = cursor.go(Operation::Next).unwrap();
    assert_eq!((key.len(), stat.entries), (8, 1));
    let count = u64::from_ne_bytes(numbers[..8].try_into().unwrap());
    assert!(count > 0);
    assert_eq!(numbers.len() as u64, 8 * (count + 1));
    assert_eq!(cursor.go(Operation::Next), Err(codes::NOTFOUND));
    // SAFETY: a handle that is not used any more.
    unsafe { lmdb::cursors::mdb_cursor_close(cursor.0) };
    assert_eq!(txn.commit(), 0);
}

/// The first keys of a transaction are looked up one by one, later ones among the names of all
/// databases.
#[test]
fn records_of_databases_are_refused_after_few_and_many_lookups() {
    let kit = Kit::new();
    let txn = kit.begin(0);
    txn.open(Some(c"named"), flags::CREATE).unwrap();
    assert_eq!(txn.commit(), 0);
    let txn = kit.begin(0);
    for key in 0..40u8 {
        assert_eq!(txn.put(1, &[b'k', key], b"value", 0), 0);
        assert_eq!(txn.put(1, b"named", b"value", 0), codes::INCOMPATIBLE);
    }
    assert_eq!(txn.commit(), 0);
}
