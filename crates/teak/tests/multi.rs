//! Tables in which a key has several values, against a map of sets: with commits, reopening,
//! savepoints, snapshots, rollbacks, and all operations on files.

use crate::shared::{temporary_path, used_len};
use fastrand::Rng;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, ControlFlow},
    path::Path,
};
use teak::{
    CompactOptions, Comparison, Database, Difference, Durability, Error, KeyOrder, KeyStep,
    MultiTable, MultiTableDef, Options, ReadTxn, TableDef, TableOptions, Transaction, ValueSize,
    Verification, WriteTxn,
    codec::{NativeU64, Str},
};

type Raw = MultiTable<Vec<u8>, Vec<u8>>;
type Model = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

static BY_LENGTH: Comparison = Comparison::new("length, then bytes", &|a, b| {
    a.len().cmp(&b.len()).then(a.cmp(b))
});

/// Tables with all options. Values of a fixed size have the size in `Some`.
fn kinds() -> [(&'static str, TableOptions, Option<usize>); 6] {
    let options = TableOptions::new();
    [
        ("any", options, None),
        ("counted", options.counted(true).share_prefixes(false), None),
        (
            "custom",
            options.value_order(KeyOrder::Custom(&BY_LENGTH)),
            None,
        ),
        (
            "eight",
            options.value_size(ValueSize::Bytes(8)).counted(true),
            Some(8),
        ),
        ("integers", options.value_order(KeyOrder::Integer), Some(8)),
        (
            "first",
            options
                .order(KeyOrder::Custom(&BY_LENGTH))
                .value_order(KeyOrder::ReverseBytes)
                .value_size(ValueSize::AsFirst),
            Some(20),
        ),
    ]
}

fn open(path: &Path, durability: Durability) -> Database {
    Options::new()
        .durability(durability)
        .verification(Verification::Always)
        .write_memory_bytes(1 << 18)
        .comparison(&BY_LENGTH)
        .open(path)
        .unwrap()
}

/// The contents of all tables, and the tables.
#[derive(Clone)]
struct State {
    tables: Vec<(Raw, Option<usize>)>,
    models: Vec<Model>,
}

impl State {
    fn create(txn: &mut WriteTxn) -> Self {
        let tables = kinds().map(|(name, options, size)| {
            (
                MultiTableDef::new(name)
                    .options(options)
                    .create(txn)
                    .unwrap(),
                size,
            )
        });
        Self {
            models: vec![Model::new(); tables.len()],
            tables: tables.to_vec(),
        }
    }

    fn change(&mut self, txn: &mut WriteTxn, random: &mut Rng, steps: usize) {
        for _ in 0..steps {
            let index = random.usize(..self.tables.len());
            let (table, size) = &self.tables[index];
            change_one(table, *size, &mut self.models[index], txn, random);
        }
    }

    fn assert_holds<T: Transaction>(&self, txn: &T) {
        for ((table, _), model) in self.tables.iter().zip(&self.models) {
            let mut expected: Vec<_> = pairs_of(model).collect();
            let mut found: Vec<_> = table.iter(txn).unwrap().map(Result::unwrap).collect();
            assert_eq!(table.len(txn).unwrap(), expected.len() as u64);
            let mut back: Vec<_> = table.iter(txn).unwrap().rev().map(Result::unwrap).collect();
            back.reverse();
            assert_eq!(found, back);
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{:?}", table.name());
            for (key, count) in table.range(..).keys(txn).unwrap().map(Result::unwrap) {
                assert_eq!(count, model[&key].len() as u64);
                assert_eq!(table.count(txn, &key).unwrap(), count);
            }
        }
    }
}

/// The differences between two states are those between their models.
fn assert_differences((old, older): &(ReadTxn, State), newer: &State, new: &ReadTxn) {
    for (index, (table, _)) in newer.tables.iter().enumerate() {
        let models = [&older.models[index], &newer.models[index]];
        let [before, after] = models.map(|model| pairs_of(model).collect::<BTreeSet<_>>());
        let (mut inserted, mut removed) = (BTreeSet::new(), BTreeSet::new());
        for difference in table.differences(old, new).unwrap() {
            let is_first = match difference.unwrap() {
                Difference::Inserted { key, value } => inserted.insert((key, value)),
                Difference::Removed { key, value } => removed.insert((key, value)),
                Difference::Changed { .. } => panic!("pairs do not change"),
            };
            assert!(is_first);
        }
        let name = table.name().escape_ascii();
        assert!(inserted == &after - &before, "inserted into {name}");
        assert!(removed == &before - &after, "removed from {name}");
    }
}

fn pairs_of(model: &Model) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let pairs = model.iter();
    pairs.flat_map(|(key, set)| set.iter().map(|value| (key.clone(), value.clone())))
}

fn random_value(random: &mut Rng, size: Option<usize>) -> Vec<u8> {
    let number = random.u64(..4000);
    match size {
        Some(8) => number.to_le_bytes().to_vec(),
        Some(size) => number
            .to_string()
            .into_bytes()
            .into_iter()
            .cycle()
            .take(size)
            .collect(),
        None => match random.usize(..200) {
            0 => vec![number as u8; random.usize(..3800)],
            1 => vec![],
            _ => number.to_string().into_bytes().repeat(random.usize(1..4)),
        },
    }
}

fn change_one(
    table: &Raw,
    size: Option<usize>,
    model: &mut Model,
    txn: &mut WriteTxn,
    random: &mut Rng,
) {
    let key = match random.usize(..3) {
        0 => vec![b'a' + random.u8(..3)],
        _ => random.u16(..60).to_string().into_bytes(),
    };
    let value = random_value(random, size);
    let had = model.get(&key).map_or(0, |set| set.len() as u64);
    match random.usize(..100) {
        0..55 => {
            let is_new = table.insert(txn, &key, &value).unwrap();
            assert_eq!(is_new, model.entry(key).or_default().insert(value));
        }
        55..80 => {
            let one = model.get(&key).and_then(|set| set.iter().next().cloned());
            let value = one.unwrap_or(value);
            let was_there = table.remove(txn, &key, &value).unwrap();
            let set = model.entry(key.clone()).or_default();
            assert_eq!(was_there, set.remove(&value));
        }
        80..90 => {
            let values: Vec<_> = (0..random.usize(..300))
                .map(|_| random_value(random, size))
                .collect();
            let slices: Vec<_> = values.iter().map(Vec::as_slice).collect();
            let added = table.insert_values(txn, &key, &slices).unwrap();
            let set = model.entry(key.clone()).or_default();
            set.extend(values);
            assert_eq!(added, set.len() as u64 - had);
        }
        90..92 => {
            assert_eq!(table.remove_key(txn, &key).unwrap(), had);
            model.remove(&key);
        }
        92..95 => {
            assert_eq!(table.set_values(txn, &key, &[&value]).unwrap(), had);
            model.insert(key.clone(), [value].into());
        }
        95..97 => {
            let pairs: Vec<_> = (0..40)
                .map(|_| (vec![b'0' + random.u8(..10)], random_value(random, size)))
                .collect();
            let slices: Vec<_> = pairs.iter().map(|(k, v)| (&k[..], &v[..])).collect();
            table.insert_many(txn, &slices).unwrap();
            for (key, value) in pairs {
                model.entry(key).or_default().insert(value);
            }
        }
        97 => {
            let bound = (
                Bound::Included((&key[..], &value[..])),
                Bound::Included((&key[..], &value[..])),
            );
            let removed = table.range_pairs(bound).remove(txn).unwrap();
            let was_there = model.get_mut(&key).is_some_and(|set| set.remove(&value));
            assert_eq!(removed, u64::from(was_there));
        }
        _ => {
            let is_there = model.get(&key).is_some_and(|set| set.contains(&value));
            assert_eq!(table.contains(txn, &key, &value).unwrap(), is_there);
        }
    }
    model.retain(|_, set| !set.is_empty());
}

fn assert_clean(database: &Database) {
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{:?}", report.damages);
}

#[test]
fn random_transactions_match_a_model() {
    for seed in 0..3 {
        let mut random = Rng::with_seed(seed);
        let (_directory, path) = temporary_path();
        let durability = [Durability::Lazy, Durability::Durable, Durability::Async][seed as usize];
        let mut database = open(&path, durability);
        let mut txn = database.begin_write().unwrap();
        let mut state = State::create(&mut txn);
        txn.commit().unwrap();
        let mut held: Option<(ReadTxn, State)> = None;
        for round in 0..14 {
            let mut txn = database.begin_write().unwrap();
            state.change(&mut txn, &mut random, 150);
            let before = state.clone();
            let savepoint = txn.savepoint().unwrap();
            state.change(&mut txn, &mut random, 100);
            match random.usize(..3) {
                0 => txn.release(savepoint).unwrap(),
                choice => {
                    txn.rollback_to(&savepoint).unwrap();
                    state = before.clone();
                    if choice == 1 {
                        state.change(&mut txn, &mut random, 50);
                        txn.rollback_to(&savepoint).unwrap();
                        state = before;
                    }
                }
            }
            state.assert_holds(&txn);
            if round % 5 == 1 {
                txn.abort();
                let txn = database.begin_read().unwrap();
                for ((table, _), model) in state.tables.iter().zip(&mut state.models) {
                    model.clear();
                    for pair in table.iter(&txn).unwrap() {
                        let (key, value) = pair.unwrap();
                        model.entry(key).or_default().insert(value);
                    }
                }
            } else {
                txn.commit().unwrap();
            }
            state.assert_holds(&database.begin_read().unwrap());
            let newest = database.begin_read().unwrap();
            if let Some(held) = &held {
                assert_differences(held, &state, &newest);
                assert_differences(&(newest, state.clone()), &held.1, &held.0);
            }
            if let Some((txn, state)) = held.take_if(|_| round % 4 == 3) {
                state.assert_holds(&txn);
            }
            held.get_or_insert_with(|| (database.begin_read().unwrap(), state.clone()));
            assert_clean(&database);
            if round % 4 == 3 {
                held = None;
                database.close().unwrap();
                database = open(&path, durability);
            }
        }
    }
}

#[test]
fn named_snapshots_rollbacks_and_increments_have_nested_trees() {
    let mut random = Rng::with_seed(7);
    let (directory, path) = temporary_path();
    let database = open(&path, Durability::Lazy);
    let mut txn = database.begin_write().unwrap();
    let mut state = State::create(&mut txn);
    state.change(&mut txn, &mut random, 800);
    txn.create_snapshot("before").unwrap();
    txn.commit().unwrap();
    let before = state.clone();
    let full = directory.path().join("full.teak");
    database
        .backup(&full, None, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    for _ in 0..5 {
        let mut txn = database.begin_write().unwrap();
        state.change(&mut txn, &mut random, 200);
        txn.commit().unwrap();
    }
    let snapshot = database.open_snapshot("before").unwrap();
    before.assert_holds(&snapshot);
    let mut delta = Vec::new();
    let now = database.begin_read().unwrap();
    now.write_backup(&mut delta, Some(&snapshot), &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    let restored = directory.path().join("restored.teak");
    let mut file = std::fs::File::open(&full).unwrap();
    teak::restore(
        &mut file,
        &mut [&mut &delta[..]],
        &[],
        &restored,
        &mut |_| ControlFlow::Continue(()),
    )
    .unwrap();
    let copy = open(&restored, Durability::Lazy);
    state.assert_holds(&copy.begin_read().unwrap());
    assert_clean(&copy);
    let dense = directory.path().join("dense.teak");
    database
        .begin_read()
        .unwrap()
        .copy_dense(&dense, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let copy = open(&dense, Durability::Lazy);
    state.assert_holds(&copy.begin_read().unwrap());
    assert_clean(&copy);
    drop((snapshot, now));
    let mut txn = database.begin_write().unwrap();
    txn.roll_back_to_snapshot("before").unwrap();
    txn.commit().unwrap();
    before.assert_holds(&database.begin_read().unwrap());
    assert_clean(&database);
    let mut txn = database.begin_write().unwrap();
    let mut state = before;
    state.change(&mut txn, &mut random, 300);
    txn.drop_snapshot("before").unwrap();
    txn.commit().unwrap();
    state.assert_holds(&database.begin_read().unwrap());
    database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    state.assert_holds(&database.begin_read().unwrap());
    assert_clean(&database);
    let salvaged = directory.path().join("salvaged.teak");
    database.close().unwrap();
    let report = teak::salvage(&path, &salvaged, &[&BY_LENGTH], &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(report.is_complete(), "{report}");
    let copy = open(&salvaged, Durability::Lazy);
    state.assert_holds(&copy.begin_read().unwrap());
    assert_clean(&copy);
    let mut txn = copy.begin_write().unwrap();
    for (name, _, _) in kinds() {
        assert!(txn.drop_table(name).unwrap());
    }
    txn.commit().unwrap();
    assert_clean(&copy);
}

/// The file shrinks, and the values are unchanged.
#[test]
fn the_file_of_a_table_that_shrank_is_cut() {
    let (_directory, path) = temporary_path();
    let database = open(&path, Durability::Lazy);
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new().value_order(KeyOrder::Integer);
    let table = MultiTableDef::<u32, NativeU64>::new("numbers")
        .options(options)
        .create(&mut txn)
        .unwrap();
    for key in 0..20 {
        let values: Vec<_> = (0..20_000).map(|n| n * 7 % 20_011).collect();
        assert_eq!(table.insert_values(&mut txn, key, &values).unwrap(), 20_000);
    }
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    assert_eq!(table.range(3..18).remove(&mut txn).unwrap(), 15 * 20_000);
    txn.commit().unwrap();
    let long = path.metadata().unwrap().len();
    database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(used_len(&database, &path) < long / 2);
    assert_clean(&database);
    let txn = database.begin_read().unwrap();
    for key in [0, 1, 2, 18, 19] {
        let values: Vec<_> = table
            .values(&txn, key)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(values.len(), 20_000);
        assert!(values.is_sorted());
        let mut packed = Vec::new();
        table
            .for_each_packed(&txn, key, |values| {
                packed.extend(
                    values
                        .as_chunks()
                        .0
                        .iter()
                        .map(|value| u64::from_le_bytes(*value)),
                );
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(packed, values);
    }
}

#[test]
fn each_kind_of_handle_refuses_the_tables_of_the_other() {
    let (_directory, path) = temporary_path();
    let database = open(&path, Durability::Lazy);
    let mut txn = database.begin_write().unwrap();
    let plain = txn.create_table::<Str, u32>("plain").unwrap();
    let multi = txn.create_multi_table::<Str, u32>("multi").unwrap();
    multi.insert(&mut txn, "teak", 1).unwrap();
    assert!(matches!(
        txn.open_table::<Str, u32>("multi"),
        Err(Error::TableMismatch { .. })
    ));
    assert!(matches!(
        txn.create_table::<Str, u32>("multi"),
        Err(Error::TableMismatch { .. })
    ));
    assert!(matches!(
        txn.open_multi_table::<Str, u32>("plain"),
        Err(Error::TableMismatch { .. })
    ));
    assert!(matches!(
        txn.create_multi_table::<Str, u32>("plain"),
        Err(Error::TableMismatch { .. })
    ));
    // Tables exchange their names while handles still exist.
    txn.drop_table("plain").unwrap();
    txn.rename_table("multi", "plain").unwrap();
    let is_refused = |error: Error| matches!(error, Error::TableMismatch { .. });
    assert!(is_refused(plain.get(&txn, "teak").unwrap_err()));
    assert!(is_refused(plain.insert(&mut txn, "teak", 1).unwrap_err()));
    assert!(is_refused(plain.remove(&mut txn, "teak").unwrap_err()));
    assert!(is_refused(
        plain.remove_many(&mut txn, &["teak"]).unwrap_err()
    ));
    assert!(is_refused(plain.range(..).remove(&mut txn).unwrap_err()));
    assert!(is_refused(plain.clear(&mut txn).unwrap_err()));
    assert!(is_refused(
        plain.bulk_load(&mut txn, [("a", 0)]).unwrap_err()
    ));
    assert!(is_refused(plain.append(&mut txn, "x", 1).unwrap_err()));
    assert!(is_refused(plain.cursor(&txn).unwrap_err()));
    let renamed = txn.open_multi_table::<Str, u32>("plain").unwrap();
    assert_eq!(
        renamed.len(&txn).unwrap(),
        1,
        "refused calls change nothing"
    );
    txn.commit().unwrap();
    let info = database.begin_read().unwrap().tables().unwrap();
    assert!(info[0].options.is_multi());
}

#[test]
fn unsuitable_records_are_refused_before_any_change() {
    let (_directory, path) = temporary_path();
    let database = open(&path, Durability::Lazy);
    let mut txn = database.begin_write().unwrap();
    let any = txn.create_multi_table::<Vec<u8>, Vec<u8>>("any").unwrap();
    let long = vec![7; 3841];
    assert!(matches!(
        any.insert(&mut txn, b"k", &long),
        Err(Error::ValueTooLong {
            len: 3841,
            max: 3840
        })
    ));
    assert!(matches!(
        any.insert(&mut txn, &long, b"v"),
        Err(Error::KeyTooLong { .. })
    ));
    assert!(any.insert(&mut txn, &long[1..], &long[1..]).unwrap());
    let is_refused = |error: Error| matches!(error, Error::InvalidArgument(_));
    let options = TableOptions::new().value_size(ValueSize::AsFirst);
    let first = MultiTableDef::<Vec<u8>, Vec<u8>>::new("first")
        .options(options)
        .create(&mut txn)
        .unwrap();
    assert!(is_refused(first.insert(&mut txn, b"k", b"").unwrap_err()));
    assert!(is_refused(
        first
            .insert_many(&mut txn, &[(b"a", &b"123"[..]), (b"b", b"1234")])
            .unwrap_err()
    ));
    assert!(first.is_empty(&txn).unwrap());
    first.insert(&mut txn, b"k", b"123").unwrap();
    assert!(is_refused(
        first.insert(&mut txn, b"k", b"1234").unwrap_err()
    ));
    assert!(is_refused(
        first.insert_packed(&mut txn, b"k", b"1234").unwrap_err()
    ));
    first.remove(&mut txn, b"k", b"123").unwrap();
    assert!(
        first.insert(&mut txn, b"k", b"1234").unwrap(),
        "it was empty"
    );
    assert!(matches!(
        first.append(&mut txn, b"k", b"1234"),
        Err(Error::NotSorted { .. })
    ));
    first.append(&mut txn, b"k", b"1235").unwrap();
    for options in [
        TableOptions::new().value_size(ValueSize::Bytes(0)),
        TableOptions::new()
            .value_order(KeyOrder::Integer)
            .value_size(ValueSize::Bytes(5)),
        TableOptions::new()
            .value_order(KeyOrder::Bytes)
            .value_align(8),
    ] {
        let created = MultiTableDef::<Vec<u8>, Vec<u8>>::new("other")
            .options(options)
            .create(&mut txn);
        assert!(is_refused(created.unwrap_err()));
        assert!(is_refused(
            TableDef::<Vec<u8>, Vec<u8>>::new("x")
                .options(options)
                .create(&mut txn)
                .unwrap_err()
        ));
    }
    txn.commit().unwrap();
    assert_clean(&database);
}

#[test]
fn cursors_and_ranges_move_in_both_directions() {
    let (_directory, path) = temporary_path();
    let database = open(&path, Durability::Lazy);
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_multi_table::<u32, u32>("numbers").unwrap();
    let pairs: Vec<_> = (0..30)
        .flat_map(|key| (0..key * key).map(move |n| (key, n * 3)))
        .collect();
    table.insert_many(&mut txn, &pairs).unwrap();
    let mut random = Rng::with_seed(3);
    for _ in 0..300 {
        let mut pair = || (random.u32(..31), random.u32(..2600));
        let (low, high) = (pair(), pair());
        let bounds = [
            (Bound::Included(low), Bound::Excluded(high)),
            (Bound::Excluded(low), Bound::Included(high)),
            (Bound::Unbounded, Bound::Included(high)),
        ];
        for bounds in bounds {
            use std::ops::RangeBounds;
            let expected: Vec<_> = pairs
                .iter()
                .copied()
                .filter(|pair| bounds.contains(pair))
                .collect();
            let found = table.range_pairs(bounds).iter(&txn).unwrap();
            assert_eq!(found.map(Result::unwrap).collect::<Vec<_>>(), expected);
            let mut found = table.range_pairs(bounds).iter(&txn).unwrap();
            let (mut front, mut back) = (Vec::new(), Vec::new());
            while let Some(pair) = found.next() {
                front.push(pair.unwrap());
                let Some(pair) = found.next_back() else {
                    break;
                };
                back.push(pair.unwrap());
            }
            front.extend(back.into_iter().rev());
            assert_eq!(front, expected);
        }
    }
    assert_eq!(table.range(3..=5).iter(&txn).unwrap().count(), 9 + 16 + 25);
    let backwards = (Bound::Included(5), Bound::Excluded(3));
    assert_eq!(table.range(backwards).iter(&txn).unwrap().count(), 0);
    let mut cursor = table.cursor(&txn).unwrap();
    let mut count = 0;
    while cursor.next().unwrap() {
        count += 1;
    }
    assert_eq!(count, pairs.len());
    let mut keys = 0;
    while cursor.step(KeyStep::PrevKey).unwrap() {
        assert!(cursor.step(KeyStep::FirstValue).unwrap());
        keys += 1;
    }
    assert_eq!(keys, 29);
}

/// There may be ten million values of a key: the walk skips shared pages.
#[test]
fn few_changes_among_many_values_are_found() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new().value_size(ValueSize::Bytes(4));
    let lines: MultiTable<Str, u32> = MultiTableDef::new("lines")
        .options(options)
        .create(&mut txn)
        .unwrap();
    let values: Vec<_> = (0..200_000).map(|value| 2 * value).collect();
    lines.insert_values(&mut txn, "teak", &values).unwrap();
    lines.insert(&mut txn, "oak", 1).unwrap();
    txn.commit().unwrap();
    let older = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    lines.insert(&mut txn, "teak", 77_777).unwrap();
    lines.remove(&mut txn, "teak", 300_000).unwrap();
    lines.insert(&mut txn, "oak", 2).unwrap();
    txn.commit().unwrap();
    let newer = database.begin_read().unwrap();
    let differences: Vec<_> = (lines.differences(&older, &newer).unwrap())
        .collect::<teak::Result<_>>()
        .unwrap();
    let teak = || "teak".into();
    assert_eq!(
        differences,
        [
            Difference::Inserted {
                key: "oak".into(),
                value: 2
            },
            Difference::Inserted {
                key: teak(),
                value: 77_777
            },
            Difference::Removed {
                key: teak(),
                value: 300_000
            },
        ]
    );
}
