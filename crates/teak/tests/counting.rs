//! Counting records, estimates, and ranges in parts, against sorted lists.

use fastrand::Rng;
use std::{collections::BTreeMap, ops::Bound};
use teak::{
    Database, Error, KeyOrder, MultiTableDef, OwnedIter, Result, SeekOp, Table, TableDef,
    TableOptions, Transaction,
    codec::{Bytes, Str},
};

struct Directory {
    _directory: tempfile::TempDir,
    database: Database,
}

fn database() -> Directory {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("counting.teak")).unwrap();
    Directory {
        _directory: directory,
        database,
    }
}

fn is_refused<T>(result: Result<T>) -> bool {
    matches!(result.map(drop), Err(Error::InvalidArgument(_)))
}

/// Everything that a transaction sees of a table of numbers with counts.
fn compare<T: Transaction>(txn: &T, table: &Table<u64, Bytes>, model: &BTreeMap<u64, usize>) {
    let keys: Vec<u64> = model.keys().copied().collect();
    let mut cursor = table.cursor(txn).unwrap();
    for (number, key) in keys.iter().enumerate().step_by(7) {
        assert_eq!(table.rank(txn, *key).unwrap(), number as u64);
        let (found, value) = table.nth(txn, number as u64).unwrap().unwrap();
        assert_eq!((found, value.len()), (*key, model[key]));
        assert!(cursor.seek_nth(number as u64).unwrap());
        assert_eq!(cursor.key(), key.to_be_bytes());
        assert_eq!(cursor.value().unwrap().len(), model[key]);
        let expected = keys.get(number + 1000).map(|key| key.to_be_bytes());
        assert_eq!(cursor.skip(1000).unwrap(), expected.is_some());
        assert_eq!(cursor.key(), expected.as_ref().map_or(&[][..], |key| key));
    }
    assert!(table.nth(txn, keys.len() as u64).unwrap().is_none());
    assert_eq!(table.range(..).count(txn).unwrap(), keys.len() as u64);
    let mut random = Rng::with_seed(3);
    for _ in 0..200 {
        let (low, high) = (random.u64(..100_000), random.u64(..100_000));
        let expected = keys.iter().filter(|key| (low..high).contains(key)).count();
        assert_eq!(table.range(low..high).count(txn).unwrap(), expected as u64);
        let about = table.range(low..high).estimate(txn).unwrap();
        assert!(about.is_exact() && about.records == expected as u64);
    }
}

#[test]
fn counts_are_right_after_changes_rollbacks_and_commits() {
    let Directory { database, .. } = &database();
    let mut random = Rng::with_seed(1);
    let mut model = BTreeMap::new();
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new().counted(true);
    let table = TableDef::<u64, Bytes>::new("numbers")
        .options(options)
        .create(&mut txn)
        .unwrap();
    txn.commit().unwrap();
    for round in 0..6 {
        let mut txn = database.begin_write().unwrap();
        let before = model.clone();
        let savepoint = txn.savepoint().unwrap();
        for _ in 0..3000 {
            let (key, len) = (random.u64(..100_000), random.u64(..300) as usize);
            if random.u64(..4) == 0 {
                let removed = table.remove(&mut txn, key).unwrap();
                assert_eq!(removed, model.remove(&key).is_some());
            } else {
                table.insert(&mut txn, key, vec![7; len]).unwrap();
                model.insert(key, len);
            }
        }
        let low = random.u64(..90_000);
        table.range(low..low + 3000).remove(&mut txn).unwrap();
        model.retain(|key, _| !(low..low + 3000).contains(key));
        compare(&txn, &table, &model);
        if round % 3 == 2 {
            txn.rollback_to(&savepoint).unwrap();
            model = before;
            compare(&txn, &table, &model);
        }
        txn.commit().unwrap();
        compare(&database.begin_read().unwrap(), &table, &model);
    }
}

#[test]
fn unsupported_operations_are_refused_with_helpful_text() {
    let Directory { database, .. } = &database();
    let mut txn = database.begin_write().unwrap();
    let plain = txn.create_table::<u64, u64>("plain").unwrap();
    plain.insert(&mut txn, 1, 1).unwrap();
    let text = plain.rank(&txn, 1).unwrap_err().to_string();
    assert!(text.contains("\"plain\"") && text.contains("TableOptions::counted"));
    assert!(is_refused(plain.nth(&txn, 0)));
    assert!(is_refused(plain.cursor(&txn).unwrap().seek_nth(0)));
    assert!(is_refused(plain.range(..).split(&txn, 0)));

    let options = TableOptions::new().order(KeyOrder::Integer).counted(true);
    let integers = TableDef::<Bytes, u64>::new("integers")
        .options(options)
        .create(&mut txn)
        .unwrap();
    assert_eq!(integers.rank(&txn, b"of any length").unwrap(), 0);
    integers.insert(&mut txn, [1, 0, 0, 0], 1).unwrap();
    let long = &[2; 8][..];
    assert!(is_refused(integers.rank(&txn, long)));
    assert!(is_refused(integers.range(long..).count(&txn)));
    assert!(is_refused(integers.range(..=long).estimate(&txn)));
    assert!(is_refused(integers.range(long..).split(&txn, 2)));
    assert_eq!(integers.get(&txn, long).unwrap(), None);
    assert!(!integers.contains_key(&txn, long).unwrap());
    assert!(integers.contains_key(&txn, [1, 0, 0, 0]).unwrap());

    let (one, other) = (plain.cursor(&txn).unwrap(), integers.cursor(&txn).unwrap());
    assert!(is_refused(one.distance(&other)));
    txn.drop_table("plain").unwrap();
    let missing = plain.range(..).count(&txn);
    assert!(matches!(missing, Err(Error::TableNotFound(_))));
}

#[test]
fn ranges_that_end_before_they_begin_have_nothing() {
    let Directory { database, .. } = &database();
    let mut txn = database.begin_write().unwrap();
    let words = txn.create_table::<Str, u64>("words").unwrap();
    words
        .insert_many(&mut txn, &[("ash", 1), ("oak", 2)])
        .unwrap();
    assert_eq!(words.range("z".."a").count(&txn).unwrap(), 0);
    let about = words.range("z".."a").estimate(&txn).unwrap();
    assert!(about.is_exact() && about.records == 0 && about.deviation == 0);
    let parts = words.range("z".."a").split(&txn, 3).unwrap();
    assert_eq!((parts.len(), parts[0].count(&txn).unwrap()), (1, 0));
    let excluded = (Bound::Excluded("ash"), Bound::Excluded("oak"));
    assert_eq!(words.range(excluded).count(&txn).unwrap(), 0);
}

#[test]
fn parts_cover_the_range() {
    let Directory { database, .. } = &database();
    let mut txn = database.begin_write().unwrap();
    for (name, options) in [
        ("plain", TableOptions::new()),
        ("counted", TableOptions::new().counted(true)),
        ("reverse", TableOptions::new().order(KeyOrder::ReverseBytes)),
    ] {
        let table = TableDef::<Bytes, u64>::new(name)
            .options(options)
            .create(&mut txn)
            .unwrap();
        for number in 0..20_000_u64 {
            table
                .insert(&mut txn, number.to_be_bytes(), number)
                .unwrap();
        }
    }
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    for info in txn.tables().unwrap() {
        let table: Table<Bytes, u64> = txn.open_table(&info.name).unwrap();
        let bounds = 300u64.to_be_bytes()..18_000u64.to_be_bytes();
        let range = || table.range(bounds.clone()).iter(&txn).unwrap();
        let expected: Vec<_> = range().collect::<Result<_>>().unwrap();
        for parts in [1, 2, 7, 100] {
            let split = table.range(bounds.clone()).split(&txn, parts).unwrap();
            assert_eq!(split.len(), parts);
            let found = split.iter().flat_map(|part| part.iter(&txn).unwrap());
            let found: Vec<_> = found.collect::<Result<_>>().unwrap();
            assert!(found == expected);
            let owned = split.iter().map(|part| part.owned(&txn).unwrap());
            let owned: Vec<OwnedIter<_, _>> = owned.collect();
            let threads: Vec<_> = owned
                .into_iter()
                .map(|part| std::thread::spawn(|| part.map(|r| r.unwrap().0).collect::<Vec<_>>()))
                .collect();
            let found = threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap());
            assert!(found.eq(expected.iter().map(|(key, _)| key.clone())));
        }
    }
}

#[test]
fn cursors_of_two_transactions_have_a_distance() {
    let Directory { database, .. } = &database();
    let mut txn = database.begin_write().unwrap();
    let plain = txn.create_table::<u64, u64>("plain").unwrap();
    let options = TableOptions::new().counted(true);
    let counted = TableDef::<u64, u64>::new("counted")
        .options(options)
        .create(&mut txn)
        .unwrap();
    for number in 0..5000 {
        plain.insert(&mut txn, number, number).unwrap();
        counted.insert(&mut txn, number, number).unwrap();
    }
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    for table in [&plain, &counted] {
        let second = database.begin_read().unwrap();
        let mut one = table.cursor(&txn).unwrap();
        let mut other = table.cursor(&second).unwrap();
        assert!(one.skip(-1000).unwrap() && other.skip(1001).unwrap());
        assert_eq!(one.key(), 4000_u64.to_be_bytes());
        assert_eq!(other.value().unwrap(), 1000_u64.to_be_bytes());
        assert_eq!(one.distance(&other).unwrap(), -3000);
        assert!(!one.skip(i64::MAX).unwrap() && !other.skip(i64::MIN).unwrap());
        assert!(!one.is_on_record() && one.key().is_empty());
        assert_eq!(other.distance(&one).unwrap(), 5001);
    }
    let mut cursor = counted.cursor(&txn).unwrap();
    assert!(cursor.seek_nth(17).unwrap());
    assert_eq!(cursor.key(), 17_u64.to_be_bytes());
    assert!(is_refused(plain.cursor(&txn).unwrap().seek_nth(17)));

    let before = plain.cursor(&txn).unwrap();
    let mut change = database.begin_write().unwrap();
    plain.insert(&mut change, 9999, 1).unwrap();
    change.commit().unwrap();
    let changed = database.begin_read().unwrap();
    let after = plain.cursor(&changed).unwrap();
    assert!(is_refused(before.distance(&after)));
}

/// The pairs of a multi-value table are counted like records: those of a single value, of a set and
/// of a nested tree.
#[test]
fn cursors_over_pairs_skip_and_have_a_distance() {
    let Directory { database, .. } = &database();
    let mut txn = database.begin_write().unwrap();
    for counted in [false, true] {
        let options = TableOptions::new().counted(counted);
        let name = format!("counted {counted}");
        let table = MultiTableDef::<u64, u64>::new(&name)
            .options(options)
            .create(&mut txn)
            .unwrap();
        let count_of = |key: u64| [1, 5, 3000, 1][key as usize % 4];
        let pairs: Vec<(u64, u64)> = (0..40)
            .flat_map(|key| (0..count_of(key)).map(move |value| (key, value)))
            .collect();
        table.insert_many(&mut txn, &pairs).unwrap();
        let here = |cursor: &teak::Cursor<'_>| {
            let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
            (number(cursor.key()), number(cursor.value().unwrap()))
        };
        let mut random = Rng::with_seed(5);
        let (unset, mut end) = (table.cursor(&txn).unwrap(), table.cursor(&txn).unwrap());
        end.last().unwrap();
        assert!(!end.next().unwrap());
        let (mut one, mut other) = (unset.clone(), unset.clone());
        for _ in 0..60 {
            let (from, to) = (random.usize(..pairs.len()), random.usize(..pairs.len()));
            for (cursor, number) in [(&mut one, from), (&mut other, to)] {
                let (key, value) = (pairs[number].0.to_be_bytes(), pairs[number].1.to_be_bytes());
                match counted {
                    true => assert!(cursor.seek_nth(number as u64).unwrap()),
                    false => assert!(cursor.seek(SeekOp::Equal, (&key, &value)).unwrap()),
                }
                assert_eq!(here(cursor), pairs[number]);
            }
            let distance = to as i64 - from as i64;
            assert_eq!(one.distance(&other).unwrap(), distance);
            assert_eq!(unset.distance(&one).unwrap(), from as i64 + 1);
            let to_end = (pairs.len() - from) as i64;
            assert_eq!(end.distance(&one).unwrap(), -to_end);
            assert!(one.skip(distance).unwrap());
            assert_eq!(here(&one), pairs[to]);
        }
        assert!(!one.skip(i64::MAX).unwrap() && !one.is_on_record());
        assert!(one.skip(-1).unwrap() && one.ends().is_last);
        assert!(!one.skip(i64::MIN).unwrap() && one.key().is_empty());
        match counted {
            true => assert!(!one.seek_nth(pairs.len() as u64).unwrap() && one.prev().unwrap()),
            false => assert!(is_refused(one.seek_nth(0))),
        }
    }
}
