//! Tables in custom orders, against models, and with missing or different comparisons.

use crate::shared::temporary_path;
use fastrand::Rng;
use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fs,
    ops::{Bound, ControlFlow},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use teak::{
    BulkOptions, CompactOptions, Comparison, Database, Difference, Durability, Error, KeyOrder,
    Options, PageUse, Result, Table, TableDef, TableOptions, Transaction, WriteTxn,
};

type Raw = Table<Vec<u8>, Vec<u8>>;

/// The empty key is the greatest one.
static DOWNWARDS: Comparison = Comparison::new("downwards", &|a, b| b.cmp(a));
static BY_LENGTH: Comparison = Comparison::new("length, then bytes", &|a, b| {
    a.len().cmp(&b.len()).then(a.cmp(b))
});
/// Many byte strings are one key.
static WITHOUT_CASE: Comparison = Comparison::new("without case", &|a, b| {
    a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
});
/// Another comparison under the same name.
static UPWARDS_AS_DOWNWARDS: Comparison = Comparison::new("downwards", &|a, b| a.cmp(b));

/// A key as its order sees it.
#[derive(Clone, Debug)]
struct Key(Vec<u8>, &'static Comparison);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.1, &self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

fn compare(comparison: &Comparison, a: &[u8], b: &[u8]) -> Ordering {
    match comparison.name() {
        "downwards" => b.cmp(a),
        "without case" => a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase()),
        _ => a.len().cmp(&b.len()).then(a.cmp(b)),
    }
}

type Model = BTreeMap<Key, Vec<u8>>;

fn all() -> [&'static Comparison; 3] {
    [&DOWNWARDS, &BY_LENGTH, &WITHOUT_CASE]
}

fn options() -> Options {
    let lazy = Options::new().durability(Durability::Lazy);
    all().into_iter().fold(lazy, Options::comparison)
}

fn ordered(comparison: &'static Comparison) -> TableOptions {
    TableOptions::new().order(KeyOrder::Custom(comparison))
}

/// Sometimes empty, and with letters in both cases.
fn random_key(random: &mut Rng) -> Vec<u8> {
    let letters = b"aAbBcCdDeE";
    let len = random.u64(..9) * (1 + 20 * u64::from(random.u64(..8) == 0));
    let letter = |_| letters[random.u64(..10) as usize];
    (0..len).map(letter).collect()
}

fn records(model: &Model) -> Vec<(Vec<u8>, Vec<u8>)> {
    let record = |(key, value): (&Key, &Vec<u8>)| (key.0.clone(), value.clone());
    model.iter().map(record).collect()
}

fn found(txn: &impl Transaction, table: &Raw) -> Vec<(Vec<u8>, Vec<u8>)> {
    let records = table.iter(txn).unwrap().map(Result::unwrap);
    records.map(|(key, value)| (key, value.to_vec())).collect()
}

/// The equal key of the model stays unchanged.
fn put(model: &mut Model, key: Key, value: Vec<u8>) {
    *model.entry(key).or_default() = value;
}

fn change(
    random: &mut Rng,
    txn: &mut WriteTxn,
    table: &Raw,
    model: &mut Model,
    order: &'static Comparison,
) {
    let key = Key(random_key(random), order);
    let value = vec![7; random.u64(..400) as usize];
    match random.u64(..10) {
        0..5 => {
            table.insert(txn, &key.0, &value).unwrap();
            put(model, key, value);
        }
        5 => assert_eq!(
            table.remove(txn, &key.0).unwrap(),
            model.remove(&key).is_some()
        ),
        6 => {
            let other = Key(random_key(random), order);
            let range = (Bound::Included(&key.0[..]), Bound::Excluded(&other.0[..]));
            let is_doomed = |k: &Key| *k >= key && *k < other;
            if model.keys().filter(|k| is_doomed(k)).count() > 60 {
                return;
            }
            let before = model.len();
            model.retain(|k, _| !is_doomed(k));
            assert_eq!(
                table.range(range).remove(txn).unwrap(),
                (before - model.len()) as u64
            );
        }
        7 => {
            let mut keys: Vec<_> = (0..20).map(|_| Key(random_key(random), order)).collect();
            keys.sort();
            keys.dedup();
            let batch: Vec<_> = keys.iter().map(|key| (&key.0[..], &value[..])).collect();
            table.insert_many(txn, &batch).unwrap();
            keys.into_iter()
                .for_each(|key| put(model, key, value.clone()));
        }
        8 => {
            let stored = table
                .range(&key.0[..]..)
                .iter(txn)
                .unwrap()
                .next()
                .map(|r| r.unwrap().0);
            assert_eq!(
                stored.as_ref(),
                model.range(key..).next().map(|(key, _)| &key.0)
            );
        }
        _ => {
            let stored = table
                .range(..&key.0[..])
                .iter(txn)
                .unwrap()
                .next_back()
                .map(|r| r.unwrap().0);
            assert_eq!(
                stored.as_ref(),
                model.range(..key).next_back().map(|(key, _)| &key.0)
            );
        }
    }
}

fn differences(older: &Model, newer: &Model) -> Vec<Difference<Vec<u8>, Vec<u8>>> {
    let mut keys: Vec<_> = older.keys().chain(newer.keys()).cloned().collect();
    keys.sort();
    keys.dedup();
    let stored = |model: &Model, key: &Key| model.get_key_value(key).map(|(key, _)| key.0.clone());
    let difference = |key: Key| match (older.get(&key), newer.get(&key)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) => Some(Difference::Changed {
            key: stored(newer, &key)?,
            old: old.clone(),
            new: new.clone(),
        }),
        (Some(value), None) => Some(Difference::Removed {
            key: key.0,
            value: value.clone(),
        }),
        (None, value) => Some(Difference::Inserted {
            key: key.0,
            value: value?.clone(),
        }),
    };
    keys.into_iter().filter_map(difference).collect()
}

fn found_differences(
    table: &Raw,
    older: &teak::ReadTxn,
    newer: &teak::ReadTxn,
) -> Vec<Difference<Vec<u8>, Vec<u8>>> {
    let owned = |difference| match difference {
        Difference::Inserted { key, value } => Difference::Inserted {
            key,
            value: <[u8]>::to_vec(value),
        },
        Difference::Removed { key, value } => Difference::Removed {
            key,
            value: value.to_vec(),
        },
        Difference::Changed { key, old, new } => Difference::Changed {
            key,
            old: old.to_vec(),
            new: new.to_vec(),
        },
    };
    table
        .differences(older, newer)
        .unwrap()
        .map(|d| owned(d.unwrap()))
        .collect()
}

/// Random changes, commits, savepoints, differences of states, reopening, and a check at the end;
/// with pages moved meanwhile.
#[test]
fn tables_preserve_the_order_of_their_comparison() {
    for (seed, order) in (1..).zip(all()) {
        let mut random = Rng::with_seed(seed);
        let (_directory, path) = temporary_path();
        let database = options().move_percent(400).open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let table: Raw = TableDef::new("t")
            .options(ordered(order).counted(seed % 2 == 0))
            .create(&mut txn)
            .unwrap();
        txn.commit().unwrap();
        let mut model = Model::new();
        for _ in 0..30 {
            let (before, older) = (model.clone(), database.begin_read().unwrap());
            let mut txn = database.begin_write().unwrap();
            for _ in 0..60 {
                change(&mut random, &mut txn, &table, &mut model, order);
            }
            let kept = model.clone();
            let savepoint = txn.savepoint().unwrap();
            for _ in 0..20 {
                change(&mut random, &mut txn, &table, &mut model, order);
            }
            if random.u64(..2) == 0 {
                txn.rollback_to(&savepoint).unwrap();
                model = kept;
            }
            txn.release(savepoint).unwrap();
            assert_eq!(found(&txn, &table), records(&model));
            txn.commit().unwrap();
            let newer = database.begin_read().unwrap();
            assert_eq!(
                found_differences(&table, &older, &newer),
                differences(&before, &model)
            );
            assert_eq!(
                found_differences(&table, &newer, &older).len(),
                differences(&before, &model).len()
            );
        }
        assert!(model.len() > 200, "the test should have some pages");
        database.close().unwrap();
        let database = options().open(&path).unwrap();
        let txn = database.begin_read().unwrap();
        let table: Raw = txn.open_table("t").unwrap();
        assert_eq!(found(&txn, &table), records(&model));
        assert_eq!(table.options(&txn).unwrap().order, KeyOrder::Custom(order));
        for (key, value) in &model {
            assert_eq!(table.get(&txn, &key.0).unwrap(), Some(&value[..]));
        }
        let backwards: Vec<_> = table
            .iter(&txn)
            .unwrap()
            .rev()
            .map(|r| r.unwrap().0)
            .collect();
        assert!(backwards.iter().rev().eq(model.keys().map(|key| &key.0)));
        let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
        assert!(report.is_clean(), "{:?}", report.damages);
        assert!(report.unordered_tables.is_empty());
    }
}

/// A walk that moves pages began at the position of the empty key, which is the end here.
#[test]
fn compacting_moves_tables_with_a_first_key_that_is_not_empty() {
    let (_directory, path) = temporary_path();
    let database = options().open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let junk: Raw = txn.create_table("junk").unwrap();
    let table: Raw = TableDef::new("t")
        .options(ordered(&DOWNWARDS))
        .create(&mut txn)
        .unwrap();
    for number in 0..4000u32 {
        junk.insert(&mut txn, number.to_be_bytes(), [1; 1000])
            .unwrap();
    }
    for number in 0..4000u32 {
        table
            .insert(&mut txn, number.to_be_bytes(), [2; 200])
            .unwrap();
    }
    table.insert(&mut txn, b"", b"the last").unwrap();
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("junk").unwrap();
    txn.commit().unwrap();
    let before = database.stat().unwrap().file_bytes;
    database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let after = database.stat().unwrap().file_bytes;
    assert!(after * 2 < before, "{before} {after}");
    let txn = database.begin_read().unwrap();
    assert_eq!(table.len(&txn).unwrap(), 4001);
    assert_eq!(table.last(&txn).unwrap().unwrap().0, b"");
    drop(txn);
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

#[test]
fn sorted_and_unsorted_input_is_loaded() {
    let (_directory, path) = temporary_path();
    let database = options().open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let sorted: Raw = TableDef::new("sorted")
        .options(ordered(&DOWNWARDS))
        .create(&mut txn)
        .unwrap();
    let keys = (0..5000u32)
        .rev()
        .map(|number| (number.to_be_bytes(), [0; 9]));
    assert_eq!(sorted.bulk_load(&mut txn, keys.clone()).unwrap(), 5000);
    assert_eq!(sorted.bulk_load(&mut txn, [(&b""[..], b"")]).unwrap(), 1);
    let unsorted: Raw = TableDef::new("unsorted")
        .options(ordered(&DOWNWARDS))
        .create(&mut txn)
        .unwrap();
    let shuffled =
        keys.map(|(key, value)| (u32::from_be_bytes(key).reverse_bits().to_be_bytes(), value));
    let options = BulkOptions::new().memory_bytes(1 << 14);
    assert_eq!(
        unsorted
            .bulk_load_unsorted(&mut txn, shuffled, options, &mut |_| {})
            .unwrap(),
        5000
    );
    assert_eq!(
        unsorted
            .bulk_load_unsorted(&mut txn, [(b"", b"")], BulkOptions::default(), &mut |_| {})
            .unwrap(),
        1
    );
    txn.commit().unwrap();
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{:?}", report.damages);
    assert_eq!(report.records, 2 * 5001);
    let mut txn = database.begin_write().unwrap();
    let ascending = (0..9u32).map(|number| (number.to_be_bytes(), []));
    let other: Raw = TableDef::new("other")
        .options(ordered(&DOWNWARDS))
        .create(&mut txn)
        .unwrap();
    assert!(matches!(
        other.bulk_load(&mut txn, ascending),
        Err(Error::NotSorted { index: 1 })
    ));
}

/// Keys that compare as equal are one key. Its first bytes stay, wherever its value is moved.
#[test]
fn equal_keys_are_one() {
    let (_directory, path) = temporary_path();
    let database = options().open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Raw = TableDef::new("t")
        .options(ordered(&WITHOUT_CASE))
        .create(&mut txn)
        .unwrap();
    table.insert(&mut txn, b"Teak", b"a").unwrap();
    for value in [&b"b"[..], &[1; 100], &[2; 10_000], b""] {
        table.insert(&mut txn, b"TEAK", value).unwrap();
        assert!(!table.insert_new(&mut txn, b"teak", b"c").unwrap());
        assert_eq!(found(&txn, &table), [(b"Teak".to_vec(), value.to_vec())]);
    }
    table
        .insert_many(
            &mut txn,
            &[(&b"tEAK"[..], b"d"), (b"OAK", b"e"), (b"oak", b"f")],
        )
        .unwrap();
    assert_eq!(
        found(&txn, &table),
        [
            (b"oak".to_vec(), b"f".to_vec()),
            (b"Teak".to_vec(), b"d".to_vec())
        ]
    );
    table
        .insert_with(&mut txn, b"TEak", 3, |value| value.copy_from_slice(b"yes"))
        .unwrap();
    let entry = table.entry(&mut txn, b"OAK").unwrap();
    entry.insert(b"a longer value").unwrap();
    let now = [
        (b"oak".to_vec(), b"a longer value".to_vec()),
        (b"Teak".to_vec(), b"yes".to_vec()),
    ];
    assert_eq!(found(&txn, &table), now);
    assert!(table.remove(&mut txn, b"teaK").unwrap());

    // Many that are inserted into one leaf are laid out together.
    let keys: Vec<Vec<u8>> = (0..3000)
        .map(|number| format!("key{number:06}").into_bytes())
        .collect();
    for key in keys.iter().step_by(50) {
        table.insert(&mut txn, key, b"x").unwrap();
    }
    let upper: Vec<Vec<u8>> = keys.iter().map(|key| key.to_ascii_uppercase()).collect();
    let batch: Vec<_> = upper.iter().map(|key| (&key[..], &b"longer"[..])).collect();
    table.insert_many(&mut txn, &batch).unwrap();
    for (number, (key, value)) in found(&txn, &table).into_iter().take(3000).enumerate() {
        let stored = if number % 50 == 0 { &keys } else { &upper };
        assert_eq!((key, &value[..]), (stored[number].clone(), &b"longer"[..]));
    }
    txn.commit().unwrap();
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

/// A database with a table in byte order and one in the order of `DOWNWARDS`.
fn with_both(path: &Path) {
    let database = options().open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let plain: Raw = txn.create_table("plain").unwrap();
    let table: Raw = TableDef::new("custom")
        .options(ordered(&DOWNWARDS))
        .create(&mut txn)
        .unwrap();
    for number in 0..3000u32 {
        plain
            .insert(&mut txn, number.to_be_bytes(), [1; 20])
            .unwrap();
        table
            .insert(&mut txn, number.to_be_bytes(), [2; 20])
            .unwrap();
    }
    table.insert(&mut txn, b"large", [3; 20_000]).unwrap();
    txn.commit().unwrap();
    database.create_snapshot("before").unwrap();
    database.close().unwrap();
}

fn is_missing<T>(result: Result<T>) -> bool {
    let is_named = |error: &Error| {
        let text = error.to_string();
        text.contains("\"custom\"") && text.contains("\"downwards\"")
    };
    matches!(&result, Err(error @ Error::ComparisonMissing { .. }) if is_named(error))
}

/// The table cannot be opened. It is listed, checked and copied, and can be dropped. The other
/// table is not affected.
#[test]
fn a_missing_comparison_does_not_affect_other_tables() {
    let (directory, path) = temporary_path();
    with_both(&path);
    let database = Database::open(&path).unwrap();
    let txn = database.begin_read().unwrap();
    let [custom, plain] = &txn.tables().unwrap()[..] else {
        panic!("there are two tables");
    };
    assert_eq!(
        (&custom.name[..], custom.stat.records),
        (&b"custom"[..], 3001)
    );
    assert_eq!(custom.missing_comparisons, ["downwards"]);
    assert!(plain.missing_comparisons.is_empty() && custom.unknown.is_none());
    assert!(is_missing(txn.open_table::<Vec<u8>, Vec<u8>>("custom")));
    assert!(is_missing(
        txn.copy_dense(directory.path().join("dense.teak"), &mut |_| {
            ControlFlow::Continue(())
        })
    ));
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{:?}", report.damages);
    assert_eq!(report.unordered_tables, [b"custom".to_vec()]);
    assert_eq!((report.tables, report.records), (2, 6001));
    let copy = directory.path().join("copy.teak");
    database
        .backup(&copy, None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    drop(txn);

    let mut txn = database.begin_write().unwrap();
    assert!(is_missing(txn.open_table::<Vec<u8>, Vec<u8>>("custom")));
    assert!(is_missing(txn.create_table::<Vec<u8>, Vec<u8>>("custom")));
    assert!(is_missing(
        TableDef::<Vec<u8>, Vec<u8>>::new("custom")
            .options(ordered(&DOWNWARDS))
            .create(&mut txn)
    ));
    assert!(is_missing(txn.rename_table("custom", "other")));
    let other = TableDef::<Vec<u8>, Vec<u8>>::new("other")
        .options(ordered(&BY_LENGTH))
        .create(&mut txn);
    assert!(matches!(other, Err(Error::ComparisonMissing { .. })));
    // A rolled back change is undone.
    let savepoint = txn.savepoint().unwrap();
    assert!(txn.drop_table("custom").unwrap());
    assert!(!txn.drop_table("custom").unwrap());
    assert_eq!(txn.tables().unwrap().len(), 1);
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(txn.tables().unwrap().len(), 2);
    assert!(is_missing(txn.open_table::<Vec<u8>, Vec<u8>>("custom")));
    assert!(txn.drop_table("custom").unwrap());
    let plain: Raw = txn.create_table("plain").unwrap();
    assert_eq!(
        plain
            .range(&[0; 4][..]..&[1; 4][..])
            .remove(&mut txn)
            .unwrap(),
        3000
    );
    txn.commit().unwrap();
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean() && report.unordered_tables.is_empty());
    let mut txn = database.begin_write().unwrap();
    txn.roll_back_to_snapshot("before").unwrap();
    txn.commit().unwrap();
    assert_eq!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .records,
        6001
    );
    database.close().unwrap();
    for path in [&path, &copy] {
        let database = options().open(path).unwrap();
        let txn = database.begin_read().unwrap();
        let table: Raw = txn.open_table("custom").unwrap();
        assert_eq!(table.first(&txn).unwrap().unwrap().0, b"large");
        assert_eq!(
            table.get(&txn, 7u32.to_be_bytes()).unwrap(),
            Some(&[2; 20][..])
        );
    }
}

#[test]
fn another_comparison_of_that_name_is_refused() {
    let (_directory, path) = temporary_path();
    with_both(&path);
    let wrong = Options::new().comparison(&UPWARDS_AS_DOWNWARDS);
    let database = wrong.open(&path).unwrap();
    let txn = database.begin_read().unwrap();
    let opened = txn.open_table::<Vec<u8>, Vec<u8>>("custom");
    assert!(
        matches!(&opened, Err(Error::ComparisonMismatch { .. })),
        "{opened:?}"
    );
    let mut txn = database.begin_write().unwrap();
    let created = TableDef::<Vec<u8>, Vec<u8>>::new("custom")
        .options(ordered(&UPWARDS_AS_DOWNWARDS))
        .create(&mut txn);
    assert!(matches!(created, Err(Error::ComparisonMismatch { .. })));
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(
        report
            .damages
            .iter()
            .all(|damage| damage.table.as_deref() == Some(b"custom"))
    );
    assert!(!report.is_clean());
    assert!(txn.drop_table("custom").unwrap());
    txn.drop_snapshot("before").unwrap();
    txn.commit().unwrap();
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

#[test]
fn impossible_comparisons_are_refused() {
    static NAMELESS: Comparison = Comparison::new("", &|a, b| a.cmp(b));
    static LONG: Comparison = Comparison::new(
        "a name of sixty-five bytes, which is one more than there may be..",
        &|a, b| a.cmp(b),
    );
    let (_directory, path) = temporary_path();
    let refused = |options: Options| match options.open(&path) {
        Err(Error::InvalidArgument(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(refused(Options::new().comparison(&NAMELESS)).contains("1 to 64 bytes"));
    assert!(refused(Options::new().comparison(&LONG)).contains("not 65"));
    let twice = options().comparison(&UPWARDS_AS_DOWNWARDS);
    assert!(refused(twice).contains("\"downwards\""));
    let database = Database::open(&path).unwrap();
    let created = TableDef::<Vec<u8>, Vec<u8>>::new("t")
        .options(ordered(&NAMELESS))
        .create(&mut database.begin_write().unwrap());
    assert!(matches!(created, Err(Error::ComparisonMissing { .. })));
    // This process has it open without them.
    assert!(matches!(
        options().open(&path),
        Err(Error::OptionsDiffer {
            option: "comparison"
        })
    ));
    database.close().unwrap();
    let database = options().open(&path).unwrap();
    let fewer = Options::new().comparison(&BY_LENGTH).open(&path).unwrap();
    let created = TableDef::<Vec<u8>, Vec<u8>>::new("t")
        .options(ordered(&DOWNWARDS))
        .create(&mut fewer.begin_write().unwrap());
    created.unwrap();
    drop(database);
}

/// The order stored in an old snapshot counts for it, whatever the order is now.
#[test]
fn a_table_that_was_created_again_in_another_order_is_not_compared() {
    let (_directory, path) = temporary_path();
    with_both(&path);
    let database = options().open(&path).unwrap();
    let older = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("custom").unwrap();
    let table: Raw = TableDef::new("custom")
        .options(ordered(&BY_LENGTH))
        .create(&mut txn)
        .unwrap();
    let other = TableDef::<Vec<u8>, Vec<u8>>::new("custom")
        .options(ordered(&DOWNWARDS))
        .create(&mut txn);
    assert!(matches!(other, Err(Error::TableMismatch { .. })));
    txn.commit().unwrap();
    let newer = database.begin_read().unwrap();
    let refused = table.differences(&older, &newer).map(drop);
    assert!(matches!(refused, Err(Error::InvalidArgument(text)) if text.contains("downwards")));
}

#[test]
fn dense_copies_and_salvage_preserve_the_order() {
    let (directory, path) = temporary_path();
    with_both(&path);
    let database = options().open(&path).unwrap();
    let dense = directory.path().join("dense.teak");
    assert_eq!(
        database
            .begin_read()
            .unwrap()
            .copy_dense(&dense, &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .records,
        6001
    );
    database.close().unwrap();
    let (saved, without) = (
        directory.path().join("saved.teak"),
        directory.path().join("without.teak"),
    );
    let report = teak::salvage(&path, &without, &[], &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(!report.is_complete());
    assert_eq!(report.unordered_tables, [b"custom".to_vec()]);
    assert!(
        report.to_string().contains("\"custom\" was not saved"),
        "{report}"
    );
    assert_eq!(report.tables.len(), 1);
    let report = teak::salvage(&path, &saved, &[&DOWNWARDS], &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(report.unordered_tables.is_empty(), "{report}");
    assert_eq!(report.lost_snapshots, [b"before"]);
    assert!(report.tables.iter().all(|table| table.records_lost() == 0));
    for path in [dense, saved] {
        let database = options().open(&path).unwrap();
        let txn = database.begin_read().unwrap();
        let table: Raw = txn.open_table("custom").unwrap();
        assert_eq!(table.len(&txn).unwrap(), 3001);
        assert_eq!(table.first(&txn).unwrap().unwrap().0, b"large");
        assert!(
            database
                .check(&mut |_| ControlFlow::Continue(()))
                .unwrap()
                .is_clean()
        );
    }
}

/// Leaves of the table are damaged, one by one: the rest is saved, in order.
#[test]
fn salvage_of_a_damaged_table_in_an_order_of_its_own() {
    let (directory, path) = temporary_path();
    with_both(&path);
    let database = options().open(&path).unwrap();
    let kinds = database.page_kinds().unwrap();
    database.close().unwrap();
    let whole = fs::read(&path).unwrap();
    let leaves = (0..kinds.len()).filter(|page| kinds[*page] == PageUse::Leaf);
    let mut damaged = 0;
    for (round, page) in leaves.step_by(5).enumerate() {
        let mut bytes = whole.clone();
        bytes[page * 4096 + 2000] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let saved = directory.path().join(format!("saved-{round}.teak"));
        let report = match teak::salvage(&path, &saved, &[&DOWNWARDS], &mut |_| {
            ControlFlow::Continue(())
        }) {
            // The root of the catalog.
            Err(Error::Corrupted { .. }) => continue,
            report => report.unwrap(),
        };
        let database = options().open(&saved).unwrap();
        let txn = database.begin_read().unwrap();
        let table: Raw = txn.open_table("custom").unwrap();
        let keys: Vec<_> = table.iter(&txn).unwrap().map(|r| r.unwrap().0).collect();
        assert!(keys.is_sorted_by(|a, b| a > b));
        assert!(keys.len() > 2800, "{report}");
        damaged += u32::from(keys.len() < 3001);
        assert!(
            database
                .check(&mut |_| ControlFlow::Continue(()))
                .unwrap()
                .is_clean()
        );
    }
    assert!(damaged > 3);
}

/// A panic in a comparison reaches the caller, and has no other effect.
#[test]
fn a_panic_of_a_comparison_loses_nothing() {
    static IS_PANICKING: AtomicBool = AtomicBool::new(false);
    static PANICKING: Comparison = Comparison::new("panicking", &|a, b| {
        assert!(!IS_PANICKING.load(Relaxed), "told to");
        a.cmp(b)
    });
    let (_directory, path) = temporary_path();
    let database = Options::new().comparison(&PANICKING).open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Raw = TableDef::new("t")
        .options(ordered(&PANICKING))
        .create(&mut txn)
        .unwrap();
    for number in 0..500u32 {
        table.insert(&mut txn, number.to_be_bytes(), b"x").unwrap();
    }
    txn.commit().unwrap();
    let panics = |work: &mut dyn FnMut()| {
        IS_PANICKING.store(true, Relaxed);
        let result = catch_unwind(AssertUnwindSafe(work));
        IS_PANICKING.store(false, Relaxed);
        assert!(result.is_err());
    };
    let read = database.begin_read().unwrap();
    panics(&mut || drop(table.get(&read, b"key")));
    assert_eq!(
        table.get(&read, 7u32.to_be_bytes()).unwrap(),
        Some(&b"x"[..])
    );
    let mut txn = database.begin_write().unwrap();
    let savepoint = txn.savepoint().unwrap();
    panics(&mut || drop(table.insert(&mut txn, b"key", b"y")));
    assert!(matches!(
        table.insert(&mut txn, b"key", b"y"),
        Err(Error::TransactionBroken)
    ));
    txn.rollback_to(&savepoint).unwrap();
    table.insert(&mut txn, b"key", b"z").unwrap();
    txn.commit().unwrap();
    assert_eq!(
        table.get(&database.begin_read().unwrap(), b"key").unwrap(),
        Some(&b"z"[..])
    );
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

/// A table with an inconsistent comparison is useless, but each operation ends, and the check
/// reports it.
#[test]
fn an_inconsistent_comparison_causes_no_endless_loop() {
    static NO_ORDER: Comparison = Comparison::new("no order", &|a, b| {
        let mix = |bytes: &[u8], start: u32| {
            bytes
                .iter()
                .fold(start, |mix, byte| mix.wrapping_mul(31) ^ u32::from(*byte))
        };
        (mix(a, 1) % 7).cmp(&(mix(b, 2) % 7))
    });
    let (_directory, path) = temporary_path();
    let database = Options::new()
        .comparison(&NO_ORDER)
        .durability(Durability::Lazy)
        .open(&path)
        .unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Raw = TableDef::new("t")
        .options(ordered(&NO_ORDER))
        .create(&mut txn)
        .unwrap();
    let mut random = Rng::with_seed(5);
    for number in 0..3000u32 {
        let key = number.to_be_bytes();
        table.insert(&mut txn, key, [1; 30]).unwrap();
        if random.u64(..4) == 0 {
            let _ = table.remove(&mut txn, key).unwrap();
        }
    }
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    let _ = table
        .range(&b"a"[..]..&b"b"[..])
        .iter(&txn)
        .unwrap()
        .count();
    assert!(table.iter(&txn).unwrap().count() < 3001);
    drop(txn);
    assert!(
        !database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}
