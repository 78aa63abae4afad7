//! Custom comparisons: the treatment of byte strings that compare as equal, and the arguments of
//! the comparison.

use crate::shared::temporary_path;
use std::{
    cmp::Ordering,
    path::Path,
    sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed},
};
use teak::{
    Comparison, Database, KeyOrder, MultiTable, MultiTableDef, Options, SeekOp, TableDef,
    TableOptions, ValueSize, codec::Bytes,
};

static WITHOUT_CASE: Comparison = Comparison::new("without case", &|a, b| {
    a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
});

/// The starts of the slices that are searched for, and how often another one was the first
/// argument.
static KEY: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static VALUE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static OTHERS: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

static KEYS: Comparison = Comparison::new("keys, watched", &|a, b| watched(&KEY, a, b));
static VALUES: Comparison = Comparison::new("values, watched", &|a, b| watched(&VALUE, a, b));

fn watched(expected: &AtomicPtr<u8>, a: &[u8], b: &[u8]) -> Ordering {
    CALLS.fetch_add(1, Relaxed);
    if a.as_ptr() != expected.load(Relaxed) {
        OTHERS.fetch_add(1, Relaxed);
    }
    a.cmp(b)
}

fn open(path: &Path) -> Database {
    let options = Options::new().comparison(&WITHOUT_CASE);
    let options = options.comparison(&KEYS).comparison(&VALUES);
    options.open(path).unwrap()
}

fn without_case() -> TableOptions {
    let options = TableOptions::new().order(KeyOrder::Custom(&WITHOUT_CASE));
    options.share_prefixes(false)
}

#[test]
fn a_key_that_is_equal_to_a_stored_one_replaces_the_value_and_no_byte_of_the_key() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let mut txn = database.begin_write().unwrap();
    let table = TableDef::<Bytes, Bytes>::new("table")
        .options(without_case())
        .create(&mut txn)
        .unwrap();
    table.insert(&mut txn, b"Key", b"1").unwrap();
    table.insert(&mut txn, b"kEY", b"a longer value").unwrap();
    assert!(!table.insert_new(&mut txn, b"KEY", b"3").unwrap());
    assert_eq!(
        table.get(&txn, b"key").unwrap(),
        Some(&b"a longer value"[..])
    );
    table
        .insert_many(&mut txn, &[(&b"KEy"[..], &b"4"[..])])
        .unwrap();
    let first = table.first(&txn).unwrap().unwrap();
    assert_eq!((&first.0[..], first.1), (&b"Key"[..], &b"4"[..]));
    txn.commit().unwrap();
}

/// The values of a key, in order.
fn values(table: &MultiTable<Bytes, Bytes>, txn: &teak::WriteTxn) -> Vec<Vec<u8>> {
    let pairs = table.iter(txn).unwrap().map(Result::unwrap);
    pairs.map(|(_, value)| value.to_vec()).collect()
}

#[test]
fn a_pair_that_is_equal_to_a_stored_one_changes_nothing_unless_it_is_to_replace_it() {
    for count in [1, 3, 5000] {
        for size in [ValueSize::Any, ValueSize::AsFirst] {
            let (_directory, path) = temporary_path();
            let database = open(&path);
            let mut txn = database.begin_write().unwrap();
            let options = without_case()
                .value_order(KeyOrder::Custom(&WITHOUT_CASE))
                .value_size(size);
            let table = MultiTableDef::<Bytes, Bytes>::new("table")
                .options(options)
                .create(&mut txn)
                .unwrap();
            let mut expected: Vec<_> = (0..count)
                .map(|number| format!("Value {number:06}").into_bytes())
                .collect();
            for value in &expected {
                assert!(table.insert(&mut txn, b"Key", value).unwrap());
            }
            let at = count / 2;
            let equal = expected[at].to_ascii_uppercase();
            assert!(!table.insert(&mut txn, b"KEY", &equal).unwrap());
            let added = table.insert_values(&mut txn, b"KEY", &[&equal]);
            assert_eq!(added.unwrap(), 0);
            assert!(table.contains(&txn, b"key", &equal).unwrap());
            assert_eq!(values(&table, &txn), expected);
            assert!(table.replace(&mut txn, b"kEY", &equal, &equal).unwrap());
            expected[at] = equal;
            assert_eq!(values(&table, &txn), expected);
            assert_eq!(table.len(&txn).unwrap(), count as u64);
            let first = table.iter(&txn).unwrap().next().unwrap().unwrap();
            assert_eq!(first.0, b"Key");
            txn.commit().unwrap();
        }
    }
}

/// Clients of LMDB rely on this: their comparison reads bytes around its first argument.
#[test]
fn a_search_gives_the_comparison_the_wanted_slice_first() {
    let (_directory, path) = temporary_path();
    let database = open(&path);
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new()
        .order(KeyOrder::Custom(&KEYS))
        .share_prefixes(false);
    let single = TableDef::<Bytes, Bytes>::new("single")
        .options(options)
        .create(&mut txn)
        .unwrap();
    let options = options.value_order(KeyOrder::Custom(&VALUES));
    let multi = MultiTableDef::<Bytes, Bytes>::new("multi")
        .options(options)
        .create(&mut txn)
        .unwrap();
    let search_for = |key: &[u8], value: &[u8]| {
        KEY.store(key.as_ptr().cast_mut(), Relaxed);
        VALUE.store(value.as_ptr().cast_mut(), Relaxed);
    };
    for number in 0..3000_u32 {
        let number = number.wrapping_mul(2_654_435_761);
        let (key, value) = (number.to_be_bytes(), (number / 2).to_be_bytes());
        let key_of_few = [key[0] & 1];
        search_for(&key, &value);
        single.insert(&mut txn, &key[..], &value[..]).unwrap();
        single
            .insert(&mut txn, &key[..], [value; 4].concat())
            .unwrap();
        single.get(&txn, &key[..]).unwrap().unwrap();
        assert!(
            single
                .cursor(&txn)
                .unwrap()
                .seek(SeekOp::Equal, &key)
                .unwrap()
        );
        search_for(&key_of_few, &value);
        multi.insert(&mut txn, &key_of_few[..], &value[..]).unwrap();
        assert!(multi.contains(&txn, &key_of_few[..], &value[..]).unwrap());
        let mut cursor = multi.cursor(&txn).unwrap();
        assert!(cursor.seek(SeekOp::Equal, (&key_of_few, &value)).unwrap());
        search_for(&key, &value);
        if number % 3 == 0 {
            assert!(single.remove(&mut txn, &key[..]).unwrap());
        }
        search_for(&key_of_few, &value);
        if number % 3 == 0 {
            assert!(multi.remove(&mut txn, &key_of_few[..], &value[..]).unwrap());
        }
    }
    txn.commit().unwrap();
    let (others, calls) = (OTHERS.load(Relaxed), CALLS.load(Relaxed));
    assert_eq!(others, 0, "of {calls} calls");
    assert!(calls > 10_000);
}
