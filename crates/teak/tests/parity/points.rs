//! Operations on single records.

use super::{fixture, table};
use std::cmp::Ordering;
use teak::{
    CachedLookup, Durability, Error, Table, Transaction,
    codec::{Bytes, Str},
};

#[test]
fn get() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a", "b"]);
    assert_eq!(table.get(&txn, b"b").unwrap(), Some(&[1][..]));
    assert_eq!(table.get(&txn, b"c").unwrap(), None);
    txn.commit().unwrap();
    let txn = fixture.database.begin_read().unwrap();
    let value = table.get(&txn, b"a").unwrap();
    // The slice belongs to the mapped file, for as long as the transaction.
    let mut other = fixture.database.begin_write().unwrap();
    table.insert(&mut other, b"a", b"another").unwrap();
    other.commit().unwrap();
    assert_eq!(value, Some(&[0][..]));
}

#[test]
fn get_ex() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a"]);
    let record = table.get_or_next(&txn, b"a").unwrap();
    let expected = (Ordering::Equal, b"a".to_vec(), &[0][..]);
    assert_eq!(record, Some(expected));
    let sets = txn.create_multi_table::<Str, Str>("sets").unwrap();
    sets.insert_values(&mut txn, "a", &["x", "y"]).unwrap();
    assert_eq!(sets.count(&txn, "a").unwrap(), 2);
}

#[test]
fn lower_bound_get() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["b", "d"]);
    let found = |key| {
        let found = table.get_or_next(&txn, key).unwrap();
        found.map(|(exactness, key, _)| (exactness, key))
    };
    assert_eq!(found(b"b"), Some((Ordering::Equal, b"b".to_vec())));
    assert_eq!(found(b"c"), Some((Ordering::Greater, b"d".to_vec())));
    assert_eq!(found(b"e"), None);
}

#[test]
fn cached_get() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a"]);
    txn.commit().unwrap();
    let (txn, mut cached) = (
        fixture.database.begin_read().unwrap(),
        CachedLookup::default(),
    );
    let mut get = |txn: &_| {
        let (value, freshness) = table.get_cached(txn, b"a", &mut cached).unwrap();
        (value.map(<[u8]>::to_vec), freshness)
    };
    assert_eq!(get(&txn), (Some(vec![0]), false));
    assert_eq!(get(&txn), (Some(vec![0]), true));
    let mut change = fixture.database.begin_write().unwrap();
    table.remove(&mut change, b"a").unwrap();
    change.commit().unwrap();
    let txn = fixture.database.begin_read().unwrap();
    assert_eq!(get(&txn), (None, false));
    assert_eq!(get(&txn), (None, true), "a missing record is cached, too");
}

/// The flags of a put are methods.
#[test]
fn put() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["b"]);
    // NOOVERWRITE: the existing value is returned.
    assert!(!table.insert_new(&mut txn, b"b", b"x").unwrap());
    let entry = table.entry(&mut txn, b"b").unwrap();
    assert_eq!(entry.or_insert(b"x").unwrap(), [0]);
    let entry = table.entry(&mut txn, b"c").unwrap();
    assert_eq!(entry.get().unwrap(), None);
    assert_eq!(entry.or_insert(b"new").unwrap(), b"new");
    // CURRENT: only if it exists.
    assert!(!table.update(&mut txn, b"a", b"x").unwrap());
    assert!(table.update(&mut txn, b"b", b"x").unwrap());
    // RESERVE: filled in place.
    let fill = |space: &mut [u8]| space.fill(7);
    table.insert_with(&mut txn, b"d", 100_000, fill).unwrap();
    assert_eq!(table.get(&txn, b"d").unwrap(), Some(&[7; 100_000][..]));
    // APPEND: out of order nothing changes, and the transaction continues.
    let refused = table.append(&mut txn, b"a", b"x");
    assert!(matches!(refused, Err(Error::NotSorted { .. })));
    table.append(&mut txn, b"e", b"x").unwrap();
    // UPSERT; an equal value changes no page.
    table.insert(&mut txn, b"e", b"y").unwrap();
    let id = txn.commit().unwrap();
    let mut txn = fixture.database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    table.insert(&mut txn, b"e", b"y").unwrap();
    assert_eq!(txn.commit().unwrap(), id);
}

/// The flags for several values are methods of their tables.
#[test]
fn put_among_several_values() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = txn.create_multi_table::<Str, Bytes>("sets").unwrap();
    // NODUPDATA.
    assert!(table.insert(&mut txn, "a", b"1").unwrap());
    assert!(!table.insert(&mut txn, "a", b"1").unwrap());
    // NOOVERWRITE: the first value is returned.
    let first = table.insert_new_key(&mut txn, "a", b"2").unwrap();
    assert_eq!(first.as_deref(), Some(&b"1"[..]));
    // CURRENT and NOOVERWRITE: one of the values becomes another.
    assert!(table.replace(&mut txn, "a", b"1", b"5").unwrap());
    assert!(!table.replace(&mut txn, "a", b"1", b"6").unwrap());
    // MULTIPLE: returns the number of new ones.
    let values = [&b"4"[..], b"5", b"6"];
    assert_eq!(table.insert_values(&mut txn, "a", &values).unwrap(), 2);
    // APPENDDUP.
    assert!(matches!(
        table.append(&mut txn, "a", b"4"),
        Err(Error::NotSorted { .. })
    ));
    table.append(&mut txn, "a", b"7").unwrap();
    // ALLDUPS: all by one.
    assert_eq!(table.set_values(&mut txn, "a", &[b"only"]).unwrap(), 4);
    assert_eq!(table.count(&txn, "a").unwrap(), 1);
}

#[test]
fn replace() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table: Table<Str, Str> = txn.create_table("words").unwrap();
    let mut insert = |value| table.entry(&mut txn, "a").unwrap().insert(value).unwrap();
    assert_eq!(insert("1"), None);
    assert_eq!(insert("2").as_deref(), Some("1"));
    // Without a new value, the record is removed.
    let mut remove = || table.entry(&mut txn, "a").unwrap().remove().unwrap();
    assert_eq!(remove().as_deref(), Some("2"));
    assert_eq!(remove(), None);
    // Conditional changes.
    let swap = table.compare_and_swap(&mut txn, "a", Some("2"), Some("3"));
    assert_eq!(swap.unwrap(), Err(None));
    let swap = table.compare_and_swap(&mut txn, "a", None, Some("3"));
    assert_eq!(swap.unwrap(), Ok(()));
    let entry = table.entry(&mut txn, "a").unwrap();
    let entry = entry.and_modify(|old| format!("longer than {old}"));
    assert_eq!(entry.unwrap().get().unwrap(), Some("longer than 3"));
    assert_eq!(table.get(&txn, "a").unwrap(), Some("longer than 3"));
}

#[test]
fn del() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a", "b"]);
    let mut remove_if = |value: &[u8]| table.compare_and_swap(&mut txn, b"a", Some(value), None);
    assert!(matches!(remove_if(b"another value"), Ok(Err(_))));
    assert_eq!(remove_if(&[0]).unwrap(), Ok(()));
    assert!(table.remove(&mut txn, b"b").unwrap());
    assert!(!table.remove(&mut txn, b"b").unwrap());
    let sets = txn.create_multi_table::<Str, Str>("sets").unwrap();
    sets.insert_values(&mut txn, "a", &["1", "2", "3"]).unwrap();
    assert!(!sets.remove(&mut txn, "a", "4").unwrap());
    assert!(sets.remove(&mut txn, "a", "2").unwrap());
    assert_eq!(sets.remove_key(&mut txn, "a").unwrap(), 2);
}

#[test]
fn put_and_del_of_many() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &[]);
    let records = [(&b"b"[..], &b"1"[..]), (b"a", b"2"), (b"b", b"3")];
    assert_eq!(table.insert_many(&mut txn, &records).unwrap(), 2);
    assert_eq!(
        table.get(&txn, b"b").unwrap(),
        Some(&b"3"[..]),
        "the last one counts"
    );
    assert_eq!(table.remove_many(&mut txn, &[b"b", b"x"]).unwrap(), 1);
    assert_eq!(table.len(&txn).unwrap(), 1);
    assert!(txn.tables().unwrap().len() == 1);
}
