//! Operations on one record and on many at once, against a `BTreeMap`; refused operations, and
//! their effects.

use crate::shared::temporary_path;
use fastrand::Rng;
use std::{
    cmp::Ordering, collections::BTreeMap, ops::ControlFlow, panic::AssertUnwindSafe, path::Path,
};
use teak::{
    CachedLookup, Database, Durability, Error, KeyOrder, Options, Table, TableDef, TableOptions,
    Transaction, Verification, WriteTxn,
    codec::{Bytes, Str},
};

type Raw = Table<Vec<u8>, Vec<u8>>;
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn database(path: &Path, durability: Durability) -> Database {
    Options::new()
        .durability(durability)
        .verification(Verification::Always)
        .open(path)
        .unwrap()
}

/// Tables with all options.
fn options() -> [(&'static str, TableOptions); 4] {
    let order = |order| TableOptions::new().order(order);
    [
        ("plain", TableOptions::new()),
        (
            "counted",
            TableOptions::new()
                .share_prefixes(false)
                .counted(true)
                .value_align(8),
        ),
        ("reverse", order(KeyOrder::ReverseBytes).counted(true)),
        ("integers", order(KeyOrder::Integer)),
    ]
}

/// A table, its expected contents, and its order.
struct Checked {
    table: Raw,
    order: KeyOrder,
    model: Model,
}

impl Checked {
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        match self.order {
            KeyOrder::Integer | KeyOrder::ReverseBytes => a.iter().rev().cmp(b.iter().rev()),
            _ => a.cmp(b),
        }
    }

    fn sorted(&self) -> Vec<(&[u8], &[u8])> {
        let mut records: Vec<_> = self
            .model
            .iter()
            .map(|(key, value)| (key.as_slice(), value.as_slice()))
            .collect();
        records.sort_by(|a, b| self.compare(a.0, b.0));
        records
    }

    fn key(&self, random: &mut Rng) -> Vec<u8> {
        let number = random.u64(..300);
        match self.order {
            KeyOrder::Integer => number.to_le_bytes().to_vec(),
            _ => match random.u64(..10) {
                0 => vec![number as u8; 200],
                1 => Vec::new(),
                _ => number.to_be_bytes()[6..].to_vec(),
            },
        }
    }

    fn step(&mut self, txn: &mut WriteTxn, random: &mut Rng) {
        let key = self.key(random);
        let value = some_value(random);
        let (table, old) = (self.table.clone(), self.model.get(&key).cloned());
        match random.u64(..11) {
            0 => {
                let entry = table.entry(txn, &key).unwrap();
                assert_eq!(entry.get().unwrap(), old.as_deref());
                let expected = old.as_deref().unwrap_or(&value);
                assert_eq!(entry.or_insert(&value).unwrap(), expected);
                self.model.entry(key).or_insert(value);
            }
            1 => {
                assert_eq!(table.update(txn, &key, &value).unwrap(), old.is_some());
                self.model.entry(key).and_modify(|old| *old = value);
            }
            2 => {
                let entry = table.entry(txn, &key).unwrap();
                assert_eq!(entry.insert(&value).unwrap(), old);
                self.model.insert(key, value);
            }
            3 => {
                let entry = table.entry(txn, &key).unwrap();
                assert_eq!(entry.remove().unwrap(), old);
                self.model.remove(&key);
            }
            4 => {
                let expected = match (random.u64(..2), &old) {
                    (0, Some(old)) => old.clone(),
                    _ => value,
                };
                let is_same = old.as_ref() == Some(&expected);
                let swapped = table.compare_and_swap(txn, &key, Some(&expected), None);
                assert_eq!(swapped.unwrap() == Ok(()), is_same);
                if is_same {
                    self.model.remove(&key);
                }
            }
            5 => self.swap(txn, random, key, old),
            6 => self.modify(txn, random, key, old),
            7 => {
                let fill = |room: &mut [u8]| room.copy_from_slice(&value);
                table.insert_with(txn, &key, value.len(), fill).unwrap();
                self.model.insert(key, value);
            }
            8 => {
                let records = self.sorted();
                let count = records.len() as u64;
                let is_after = records
                    .last()
                    .is_none_or(|(last, _)| self.compare(last, &key).is_lt());
                match table.append(txn, &key, &value) {
                    Ok(()) => assert!(is_after),
                    Err(Error::NotSorted { index }) => assert!(!is_after && index == count),
                    Err(other) => panic!("{other}"),
                }
                if is_after {
                    self.model.insert(key, value);
                }
            }
            9 => {
                let new = table.insert_new(txn, &key, &value).unwrap();
                assert_eq!(new, old.is_none());
                self.model.entry(key).or_insert(value);
            }
            _ => self.many(txn, random),
        }
    }

    fn swap(&mut self, txn: &mut WriteTxn, random: &mut Rng, key: Vec<u8>, old: Option<Vec<u8>>) {
        let mut one_of = |old: &Option<Vec<u8>>| match random.u64(..3) {
            0 => None,
            1 => Some(some_value(random)),
            _ => old.clone(),
        };
        let (expected, new) = (one_of(&old), one_of(&old));
        let swapped = self
            .table
            .compare_and_swap(txn, &key, expected.as_deref(), new.as_deref())
            .unwrap();
        if old != expected {
            return assert_eq!(swapped, Err(old));
        }
        assert_eq!(swapped, Ok(()));
        match new {
            Some(new) => self.model.insert(key, new),
            None => self.model.remove(&key),
        };
    }

    fn modify(&mut self, txn: &mut WriteTxn, random: &mut Rng, key: Vec<u8>, old: Option<Vec<u8>>) {
        let choice = random.u64(..4);
        let mut longer = old.clone().unwrap_or_default();
        longer.push(choice as u8);
        let entry = self.table.entry(txn, &key).unwrap();
        assert_eq!(entry.get().unwrap(), old.as_deref());
        match choice {
            0 => drop(entry),
            1 => {
                assert_eq!(entry.remove().unwrap(), old);
                self.model.remove(&key);
            }
            2 => {
                assert_eq!(entry.insert(&longer).unwrap(), old);
                self.model.insert(key, longer);
            }
            _ => {
                let entry = entry.and_modify(|old| [old, &[3]].concat()).unwrap();
                let entry = entry.and_modify(|old| [old, &[4]].concat()).unwrap();
                let new = old.map(|old| [&old[..], &[3, 4]].concat());
                assert_eq!(entry.get().unwrap(), new.as_deref());
                self.model
                    .entry(key)
                    .and_modify(|old| *old = new.unwrap_or_default());
            }
        }
    }

    fn many(&mut self, txn: &mut WriteTxn, random: &mut Rng) {
        let records: Vec<_> = (0..random.u64(..40))
            .map(|_| (self.key(random), some_value(random)))
            .collect();
        if random.u64(..2) == 0 {
            let before = self.model.len();
            self.model.extend(records.iter().cloned());
            let borrowed: Vec<_> = records.iter().map(|(k, v)| (&k[..], &v[..])).collect();
            let added = self.table.insert_many(txn, &borrowed).unwrap();
            assert_eq!(added, (self.model.len() - before) as u64);
        } else {
            let keys: Vec<_> = records.iter().map(|(key, _)| &key[..]).collect();
            let removed = self.table.remove_many(txn, &keys).unwrap();
            let there = keys.iter().filter(|key| self.model.remove(**key).is_some());
            assert_eq!(removed, there.count() as u64);
        }
    }

    /// All ways of reading one record.
    fn audit(&self, txn: &impl Transaction, random: &mut Rng) {
        let records = self.sorted();
        let all: Vec<_> = self
            .table
            .iter(txn)
            .unwrap()
            .collect::<teak::Result<_>>()
            .unwrap();
        let owned = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
        assert!(
            all.into_iter()
                .eq(records.iter().map(|&(key, value)| (key.to_vec(), value)))
        );
        for _ in 0..50 {
            let key = self.key(random);
            let next = records
                .iter()
                .find(|(other, _)| self.compare(other, &key).is_ge());
            let next = next.map(|&record| match record.0 == key {
                true => (Ordering::Equal, owned(record)),
                false => (Ordering::Greater, owned(record)),
            });
            let found = self.table.get_or_next(txn, &key).unwrap();
            let found = found.map(|(exactness, key, value)| (exactness, (key, value.to_vec())));
            assert_eq!(found, next);
        }
    }
}

fn some_value(random: &mut Rng) -> Vec<u8> {
    let len = match random.u64(..20) {
        0 => 0,
        1 => random.u64(..20_000),
        2 => 1900 + random.u64(..200),
        _ => random.u64(..100),
    };
    (0..len).map(|_| random.u64(..) as u8).collect()
}

#[test]
fn random_operations_on_one_record_match_a_map() {
    for (seed, durability) in [(1, Durability::Lazy), (2, Durability::Durable)] {
        let (_directory, path) = temporary_path();
        let mut open = database(&path, durability);
        let mut random = Rng::with_seed(seed);
        let mut txn = open.begin_write().unwrap();
        let mut tables: Vec<_> = options()
            .into_iter()
            .map(|(name, options)| Checked {
                table: TableDef::new(name)
                    .options(options)
                    .create(&mut txn)
                    .unwrap(),
                order: options.order,
                model: Model::new(),
            })
            .collect();
        txn.commit().unwrap();
        for round in 0..30 {
            let mut txn = open.begin_write().unwrap();
            for table in &mut tables {
                for _ in 0..random.u64(..30) {
                    table.step(&mut txn, &mut random);
                }
                if random.u64(..3) == 0 {
                    let before = table.model.clone();
                    let undone = txn.nested(|txn| {
                        for _ in 0..random.u64(..30) {
                            table.step(txn, &mut random);
                        }
                        Err::<(), _>(Error::ReadOnly)
                    });
                    assert!(matches!(undone, Err(Error::ReadOnly)));
                    table.model = before;
                }
                table.audit(&txn, &mut random);
            }
            txn.commit().unwrap();
            let txn = open.begin_read().unwrap();
            tables
                .iter()
                .for_each(|table| table.audit(&txn, &mut random));
            drop(txn);
            if round % 10 == 9 {
                let report = open.check(&mut |_| ControlFlow::Continue(())).unwrap();
                assert!(report.is_clean(), "{report:?}");
                open.close().unwrap();
                open = database(&path, durability);
            }
        }
    }
}

/// A table of texts, one of which is a number, and a transaction on it.
fn words(database: &Database) -> (WriteTxn, Table<Str, Str>, Raw) {
    let mut txn = database.begin_write().unwrap();
    let words = txn.create_table::<Str, Str>("words").unwrap();
    let raw: Raw = words.cast();
    words.insert(&mut txn, "oak", "1").unwrap();
    raw.insert(&mut txn, b"teak", [0xff]).unwrap();
    (txn, words, raw)
}

#[test]
fn undecodable_records_are_refused_and_kept() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let (mut txn, words, raw) = words(&database);
    let refused = |result: teak::Result<()>| {
        assert!(matches!(result, Err(Error::Decode { .. })), "{result:?}");
    };
    refused(words.entry(&mut txn, "teak").unwrap().insert("2").map(drop));
    refused(words.entry(&mut txn, "teak").unwrap().remove().map(drop));
    refused(
        words
            .entry(&mut txn, "teak")
            .unwrap()
            .or_insert("2")
            .map(drop),
    );
    let swapped = words.compare_and_swap(&mut txn, "teak", Some("1"), None);
    refused(swapped.map(drop));
    let entry = words.entry(&mut txn, "teak").unwrap();
    refused(entry.and_modify(|_| "2").map(drop));
    refused(words.get_or_next(&txn, "teak").map(drop));
    refused(words.get_or_next(&txn, "p").map(drop));
    assert_eq!(raw.get(&txn, b"teak").unwrap(), Some(&[0xff][..]));
    // Actions that do not need the old value do not read it.
    assert!(words.update(&mut txn, "teak", "2").unwrap());
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(words.get(&txn, "teak").unwrap(), Some("2"));
}

#[test]
fn refused_calls_change_nothing() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let (mut txn, words, raw) = words(&database);
    let before: Vec<_> = raw.iter(&txn).unwrap().map(Result::unwrap).collect();
    let before: Vec<_> = before.into_iter().map(|(k, v)| (k, v.to_vec())).collect();
    for key in ["oak", "teak", "a"] {
        let refused = words.append(&mut txn, key, "");
        assert!(
            matches!(refused, Err(Error::NotSorted { index: 2 })),
            "{refused:?}"
        );
    }
    let long = "k".repeat(5000);
    let refused = |result: teak::Result<()>| {
        assert!(
            matches!(result, Err(Error::KeyTooLong { .. })),
            "{result:?}"
        );
    };
    refused(words.append(&mut txn, &long, ""));
    refused(words.insert_with(&mut txn, &long, 1, |_| panic!("called")));
    refused(words.update(&mut txn, &long, "").map(drop));
    refused(words.entry(&mut txn, &long).map(drop));
    refused(
        words
            .insert_many(&mut txn, &[("a", ""), (&long, "")])
            .map(drop),
    );
    let refused = words.insert_with(&mut txn, "oak", usize::MAX, |_| panic!("called"));
    assert!(
        matches!(refused, Err(Error::InvalidArgument(_))),
        "{refused:?}"
    );
    assert_eq!(words.get(&txn, &long).unwrap(), None);
    let after = raw.iter(&txn).unwrap().map(Result::unwrap);
    assert!(after.map(|(k, v)| (k, v.to_vec())).eq(before));
    txn.commit().unwrap();
}

#[test]
fn integers_of_another_length_are_refused() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new().order(KeyOrder::Integer);
    let table: Raw = TableDef::new("integers")
        .options(options)
        .create(&mut txn)
        .unwrap();
    let (four, eight) = ([7; 4], [7; 8]);
    let refused = |result: teak::Result<()>| {
        assert!(
            matches!(result, Err(Error::InvalidArgument(_))),
            "{result:?}"
        );
    };
    refused(table.append(&mut txn, b"abc", b""));
    assert_eq!(table.get_or_next(&txn, four).unwrap(), None);
    table.append(&mut txn, four, b"v").unwrap();
    refused(table.append(&mut txn, eight, b""));
    refused(table.insert_with(&mut txn, eight, 1, |_| {}));
    refused(table.entry(&mut txn, eight).map(drop));
    refused(table.get_or_next(&txn, eight).map(drop));
    assert_eq!(table.len(&txn).unwrap(), 1);
}

#[test]
fn after_a_panic_only_rollback_is_possible() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let (txn, words, _) = words(&database);
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    let caught = std::panic::catch_unwind(AssertUnwindSafe(|| {
        words.insert_with(&mut txn, "oak", 3, |_| panic!("expected"))
    }));
    assert!(caught.is_err());
    let refused = words.insert(&mut txn, "oak", "2");
    assert!(
        matches!(refused, Err(Error::TransactionBroken)),
        "{refused:?}"
    );
    drop(txn);
    let txn = database.begin_read().unwrap();
    assert_eq!(words.get(&txn, "oak").unwrap(), Some("1"));
    drop(txn);
    // The closure of an entry runs before anything changes.
    let mut txn = database.begin_write().unwrap();
    let caught = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let entry = words.entry(&mut txn, "oak").unwrap();
        entry
            .and_modify(|_| -> String { panic!("expected") })
            .map(drop)
    }));
    assert!(caught.is_err());
    words.insert(&mut txn, "oak", "1").unwrap();
    drop(txn);
    // A large value is filled before anything changes.
    let mut txn = database.begin_write().unwrap();
    let caught = std::panic::catch_unwind(AssertUnwindSafe(|| {
        words.insert_with(&mut txn, "oak", 100_000, |_| panic!("expected"))
    }));
    assert!(caught.is_err());
    words.insert(&mut txn, "oak", "2").unwrap();
    txn.commit().unwrap();
}

#[test]
fn empty_transactions_make_no_commit() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let (txn, words, _) = words(&database);
    txn.commit().unwrap();
    let before = database.begin_read().unwrap().id();
    let mut txn = database.begin_write().unwrap();
    assert!(words.update(&mut txn, "oak", "1").unwrap());
    let entry = words.entry(&mut txn, "oak").unwrap();
    assert_eq!(entry.insert("1").unwrap().as_deref(), Some("1"));
    let entry = words.entry(&mut txn, "oak").unwrap();
    assert_eq!(entry.or_insert("2").unwrap(), "1");
    assert!(!words.update(&mut txn, "elm", "1").unwrap());
    let entry = words.entry(&mut txn, "elm").unwrap();
    assert_eq!(entry.remove().unwrap(), None);
    let entry = words.entry(&mut txn, "elm").unwrap();
    drop(entry.and_modify(|_| "2").unwrap());
    let same = words.compare_and_swap(&mut txn, "oak", Some("1"), Some("1"));
    assert_eq!(same.unwrap(), Ok(()));
    let nothing = words.compare_and_swap(&mut txn, "elm", None::<&str>, None);
    assert_eq!(nothing.unwrap(), Ok(()));
    assert_eq!(words.remove_many(&mut txn, &["elm", "ash"]).unwrap(), 0);
    assert_eq!(words.insert_many(&mut txn, &[("oak", "1")]).unwrap(), 0);
    txn.commit().unwrap();
    assert_eq!(database.begin_read().unwrap().id(), before);
}

/// Batches leave full pages, even between existing records.
#[test]
fn many_records_fill_their_pages() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<u64, u64>("numbers").unwrap();
    let sparse: Vec<_> = (0..2000u64).map(|n| (n * 1000, n)).collect();
    table.insert_many(&mut txn, &sparse).unwrap();
    let mut random = Rng::with_seed(3);
    let dense: Vec<_> = (0..60_000).map(|n| (random.u64(..2_000_000), n)).collect();
    table.insert_many(&mut txn, &dense).unwrap();
    let stat = table.stat(&txn).unwrap();
    // Slot and header of the node, and the value: the keys are in prefix and head.
    let most_in_page = (4096 - 32) / (6 + 4 + 8);
    let least = stat.records / most_in_page;
    assert!(stat.leaf_pages * 9 / 10 <= least, "{stat:?}");
}

#[test]
fn a_position_is_kept_until_the_table_changes() {
    let (_directory, path) = temporary_path();
    let open = database(&path, Durability::Durable);
    let mut txn = open.begin_write().unwrap();
    let numbers = txn.create_table::<u32, Bytes>("numbers").unwrap();
    let others = txn.create_table::<u32, Bytes>("others").unwrap();
    for number in 0..3000 {
        numbers
            .insert(&mut txn, number, number.to_be_bytes())
            .unwrap();
    }
    numbers.insert(&mut txn, 5, [5; 50_000]).unwrap();
    txn.commit().unwrap();
    let (renewed, kept) = (false, true);
    let mut cached = CachedLookup::default();
    let mut absent = CachedLookup::default();
    let txn = open.begin_read().unwrap();
    for freshness in [renewed, kept] {
        let found = numbers.get_cached(&txn, 5, &mut cached).unwrap();
        assert_eq!(found, (Some(&[5; 50_000][..]), freshness));
        let found = numbers.get_cached(&txn, 9999, &mut absent).unwrap();
        assert_eq!(found, (None, freshness));
    }
    drop(txn);
    // A commit to another table.
    let mut txn = open.begin_write().unwrap();
    others.insert(&mut txn, 1, b"").unwrap();
    txn.commit().unwrap();
    let txn = open.begin_read().unwrap();
    assert_eq!(numbers.get_cached(&txn, 5, &mut cached).unwrap().1, kept);
    assert_eq!(
        numbers.get_cached(&txn, 9999, &mut absent).unwrap(),
        (None, kept)
    );
    drop(txn);
    // To this table, elsewhere, and to this key.
    let mut txn = open.begin_write().unwrap();
    numbers.insert(&mut txn, 2000, b"").unwrap();
    numbers.insert(&mut txn, 9999, b"new").unwrap();
    txn.commit().unwrap();
    let txn = open.begin_read().unwrap();
    assert_eq!(numbers.get_cached(&txn, 5, &mut cached).unwrap().1, renewed);
    let found = numbers.get_cached(&txn, 9999, &mut absent).unwrap();
    assert_eq!(found, (Some(&b"new"[..]), renewed));
    // Another key, another table, and back.
    let found = numbers.get_cached(&txn, 6, &mut cached).unwrap();
    assert_eq!(found, (Some(&6u32.to_be_bytes()[..]), renewed));
    let found = others.get_cached(&txn, 6, &mut cached).unwrap();
    assert_eq!(found, (None, renewed));
    let found = numbers.get_cached(&txn, 6, &mut cached).unwrap();
    assert_eq!(found, (Some(&6u32.to_be_bytes()[..]), renewed));
    drop(txn);
    // The reopened file holds equal trees.
    open.close().unwrap();
    let open = database(&path, Durability::Durable);
    let txn = open.begin_read().unwrap();
    let found = numbers.get_cached(&txn, 6, &mut cached).unwrap();
    assert_eq!(found, (Some(&6u32.to_be_bytes()[..]), kept));
    drop(txn);
    let mut txn = open.begin_write().unwrap();
    numbers.clear(&mut txn).unwrap();
    txn.commit().unwrap();
    let txn = open.begin_read().unwrap();
    assert_eq!(
        numbers.get_cached(&txn, 6, &mut cached).unwrap(),
        (None, renewed)
    );
}

/// Looks keys up in runs, forwards and backwards, with absent ones between, in all tables in turns.
fn find_in_runs(txn: &teak::ReadTxn, tables: &[Checked], random: &mut Rng) {
    for _ in 0..200 {
        let checked = &tables[random.usize(..tables.len())];
        let keys: Vec<&[u8]> = checked.sorted().iter().map(|(key, _)| *key).collect();
        let begin = random.usize(..keys.len());
        let mut run: Vec<Vec<u8>> = Vec::new();
        for key in &keys[begin..keys.len().min(begin + random.usize(1..200))] {
            run.push(key.to_vec());
            if random.u8(..4) == 0 {
                run.push(checked.key(random));
            }
        }
        if random.bool() {
            run.reverse();
        }
        for key in run {
            let found = checked.table.get_in_order(txn, &key).unwrap();
            let expected = checked.model.get(&key).map(Vec::as_slice);
            assert_eq!(found, expected, "{key:?}");
        }
    }
}

#[test]
fn lookups_in_order_find_all_records() {
    let mut random = Rng::with_seed(11);
    for verification in [Verification::FirstTouch, Verification::Always] {
        let (_directory, path) = temporary_path();
        let database = Options::new()
            .verification(verification)
            .open(&path)
            .unwrap();
        let mut txn = database.begin_write().unwrap();
        let mut tables: Vec<Checked> = Vec::new();
        for (name, options) in options() {
            let definition = TableDef::new(name).options(options);
            tables.push(Checked {
                table: definition.create(&mut txn).unwrap(),
                order: options.order,
                model: Model::new(),
            });
        }
        txn.commit().unwrap();
        let mut reader = database.begin_read().unwrap();
        for _ in 0..3 {
            let mut txn = database.begin_write().unwrap();
            for checked in &mut tables {
                for _ in 0..1500 {
                    let (key, value) = (checked.key(&mut random), some_value(&mut random));
                    checked.table.insert(&mut txn, &key, &value).unwrap();
                    checked.model.insert(key, value);
                }
            }
            txn.commit().unwrap();
            assert!(reader.refresh().unwrap());
            find_in_runs(&reader, &tables, &mut random);
            find_in_runs(&reader.clone(), &tables, &mut random);
        }
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let (reader, tables) = (&reader, &tables);
                scope.spawn(move || find_in_runs(reader, tables, &mut Rng::with_seed(seed)));
            }
        });
        let absent = tables[0].table.get_in_order(&reader, b"no such key");
        assert_eq!(absent.unwrap(), None);
    }
}
