//! The differences between two states, against models of the states; and following commits.

use crate::shared::temporary_path;
use fastrand::Rng;
use std::{
    collections::BTreeMap,
    fs,
    ops::{Bound, ControlFlow},
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use teak::{
    CompactOptions, Database, Difference, Durability, Error, KeyOrder, Options, ReadTxn, Result,
    Sharing, Table, TableChange, TableDef, TableOptions, Transaction, TransactionId, Verification,
    WriteTxn,
    codec::{Bytes, Str},
};

type Raw = Table<Vec<u8>, Vec<u8>>;
type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Tables = BTreeMap<&'static str, Model>;

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

fn options_of(name: &str) -> TableOptions {
    let mut all = options().into_iter();
    all.find(|(known, _)| *known == name).unwrap().1
}

fn key_of(name: &str, number: u64) -> Vec<u8> {
    if name == "integers" {
        return number.to_le_bytes().to_vec();
    }
    let mut key = format!("{number:05}").into_bytes();
    key.extend(std::iter::repeat_n(b'x', (number % 50) as usize));
    key
}

fn compare(name: &str, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    match options_of(name).order {
        KeyOrder::ReverseBytes => a.iter().rev().cmp(b.iter().rev()),
        KeyOrder::Integer => u64::from_le_bytes(a.try_into().unwrap())
            .cmp(&u64::from_le_bytes(b.try_into().unwrap())),
        _ => a.cmp(b),
    }
}

/// The differences of the models, in key order.
fn expected(name: &str, older: &Tables, newer: &Tables) -> Vec<Difference<Vec<u8>, Vec<u8>>> {
    let nothing = Model::new();
    let model = |tables: &Tables| tables.get(name).unwrap_or(&nothing).clone();
    let (older, newer) = (model(older), model(newer));
    let mut keys: Vec<_> = older.keys().chain(newer.keys()).cloned().collect();
    keys.sort_by(|a, b| compare(name, a, b));
    keys.dedup();
    let difference = |key: Vec<u8>| match (older.get(&key), newer.get(&key)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) => Some(Difference::Changed {
            key,
            old: old.clone(),
            new: new.clone(),
        }),
        (Some(value), None) => Some(Difference::Removed {
            key,
            value: value.clone(),
        }),
        (None, value) => Some(Difference::Inserted {
            key,
            value: value.cloned().unwrap_or_default(),
        }),
    };
    keys.into_iter().filter_map(difference).collect()
}

fn found(name: &str, older: &ReadTxn, newer: &ReadTxn) -> Vec<Difference<Vec<u8>, Vec<u8>>> {
    let table: Raw = match older.open_table(name) {
        Err(Error::TableNotFound(_)) => newer.open_table(name).unwrap(),
        opened => opened.unwrap(),
    };
    let differences = table.differences(older, newer).unwrap();
    differences
        .map(|difference| owned(difference.unwrap()))
        .collect()
}

fn owned(difference: Difference<Vec<u8>, &[u8]>) -> Difference<Vec<u8>, Vec<u8>> {
    match difference {
        Difference::Inserted { key, value } => Difference::Inserted {
            key,
            value: value.to_vec(),
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
    }
}

fn assert_differences(older: &(ReadTxn, Tables), newer: &(ReadTxn, Tables)) {
    let tables: BTreeMap<_, _> = newer
        .0
        .changed_tables(&older.0)
        .unwrap()
        .into_iter()
        .collect();
    for (name, _) in options() {
        let expected = expected(name, &older.1, &newer.1);
        let change = tables.get(name.as_bytes()).copied();
        let is_there = [&older.1, &newer.1].map(|tables| tables.contains_key(name));
        match is_there {
            [false, false] => assert_eq!(change, None),
            [false, true] => assert_eq!(change, Some(TableChange::Created)),
            [true, false] => assert_eq!(change, Some(TableChange::Dropped)),
            [true, true] => assert!(expected.is_empty() || change == Some(TableChange::Changed)),
        }
        if is_there.contains(&true) {
            assert_eq!(found(name, &older.0, &newer.0), expected, "{name}");
        }
    }
}

/// One random change of one table.
fn change(txn: &mut WriteTxn, tables: &mut Tables, random: &mut Rng) -> Result<()> {
    let name = options()[random.u64(..4) as usize].0;
    let table: Raw = TableDef::new(name).options(options_of(name)).create(txn)?;
    let model = tables.entry(name).or_default();
    let key = |random: &mut Rng| key_of(name, random.u64(..3000));
    match random.u64(..12) {
        0 => {
            let (low, high) = (key(random), key(random));
            let range = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
            table.range(range).remove(txn)?;
            model.retain(|key, _| {
                compare(name, key, &low).is_lt() || compare(name, key, &high).is_ge()
            });
        }
        1 => {
            txn.drop_table(name)?;
            tables.remove(name);
        }
        2 => {
            let mut records: Vec<_> = (0..500)
                .map(|_| (key(random), vec![random.u64(..) as u8; 20]))
                .collect();
            records.sort_by(|a, b| compare(name, &a.0, &b.0));
            records.dedup_by(|a, b| a.0 == b.0);
            table.clear(txn)?;
            table.bulk_load(txn, records.iter().map(|(k, v)| (k, v)))?;
            *model = records.into_iter().collect();
        }
        kind => {
            for _ in 0..random.u64(..40) {
                let key = key(random);
                if kind < 6 && random.u64(..2) == 0 {
                    table.remove(txn, &key)?;
                    model.remove(&key);
                    continue;
                }
                let len = match random.u64(..10) {
                    0 => 5000,
                    _ => random.u64(..60) as usize,
                };
                let value = vec![random.u64(..) as u8; len];
                table.insert(txn, &key, &value)?;
                model.insert(key, value);
            }
        }
    }
    Ok(())
}

#[test]
fn differences_of_all_pairs_of_random_states_match_the_models() {
    for seed in 1..=4_u64 {
        let mut random = Rng::with_seed(seed * 0x9e37_79b9);
        let (_directory, path) = temporary_path();
        let database = Options::new()
            .durability(Durability::Lazy)
            .open(&path)
            .unwrap();
        let mut tables = Tables::new();
        let mut states: Vec<(ReadTxn, Tables)> = Vec::new();
        for round in 0..60 {
            let mut txn = database.begin_write().unwrap();
            for _ in 0..=random.u64(..4) {
                change(&mut txn, &mut tables, &mut random).unwrap();
            }
            txn.commit().unwrap();
            if round % 20 == 10 {
                database
                    .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
                    .unwrap();
            }
            let state = (database.begin_read().unwrap(), tables.clone());
            // Some stay long, so that pages around them are reused.
            match states.len() < 8 {
                true => states.push(state),
                false => states[random.u64(..8) as usize] = state,
            }
        }
        for older in &states {
            for newer in &states {
                assert_differences(older, newer);
            }
        }
    }
}

#[test]
fn moved_pages_make_no_differences() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<u64, Bytes>("records").unwrap();
    for number in 0..3000 {
        table.insert(&mut txn, number, [number as u8; 500]).unwrap();
    }
    table.insert(&mut txn, 5000, [1; 50_000]).unwrap();
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    table.range(0..2500).remove(&mut txn).unwrap();
    txn.commit().unwrap();
    let older = database.begin_read().unwrap();
    let before = database.stat().unwrap().transaction;
    database
        .compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(database.stat().unwrap().transaction > before);
    let newer = database.begin_read().unwrap();
    assert_eq!(table.differences(&older, &newer).unwrap().count(), 0);
}

#[test]
fn only_states_of_one_database_and_one_order_are_compared() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let empty = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    let words = txn.create_table::<Str, Str>("words").unwrap();
    words.insert(&mut txn, "teak", "a tree").unwrap();
    txn.commit().unwrap();
    let older = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("words").unwrap();
    let backwards = TableOptions::new().order(KeyOrder::ReverseBytes);
    TableDef::<Str, Str>::new("words")
        .options(backwards)
        .create(&mut txn)
        .unwrap();
    txn.commit().unwrap();
    let newer = database.begin_read().unwrap();
    let refused = words.differences(&older, &newer).unwrap_err();
    assert!(
        refused.to_string().contains("another order of keys"),
        "{refused}"
    );
    assert_eq!(
        newer.changed_tables(&older).unwrap(),
        [(b"words".to_vec(), TableChange::Changed)]
    );

    let (_directory, path) = temporary_path();
    let other = Database::open(&path).unwrap().begin_read().unwrap();
    for refused in [
        words.differences(&older, &other).unwrap_err(),
        other.changed_tables(&older).unwrap_err(),
        database.follow(other.clone()).unwrap_err(),
    ] {
        assert!(refused.to_string().contains("two databases"), "{refused}");
    }
    assert!(matches!(
        words.differences(&empty, &empty),
        Err(Error::TableNotFound(_))
    ));
}

/// A database whose table has many records, and two states of it: `count` records in all, `changes`
/// of them changed.
fn two_states(
    path: &Path,
    count: u64,
    changes: u64,
) -> (Database, Table<u64, Bytes>, ReadTxn, ReadTxn) {
    let options = Options::new().verification(Verification::Always);
    let database = options.open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<u64, Bytes>("records").unwrap();
    for number in 0..count {
        let value = format!("value {number:05}");
        table.insert(&mut txn, number, value.as_bytes()).unwrap();
    }
    txn.commit().unwrap();
    let older = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    for number in 0..changes {
        table
            .insert(&mut txn, number * (count / changes), b"another value")
            .unwrap();
    }
    txn.commit().unwrap();
    let newer = database.begin_read().unwrap();
    (database, table, older, newer)
}

#[test]
fn damage_is_found_where_states_differ_and_reported_with_its_table() {
    let (_directory, path) = temporary_path();
    let (_database, table, older, newer) = two_states(&path, 20_000, 10);
    assert_eq!(table.differences(&older, &newer).unwrap().count(), 10);
    // All pages that only the newer state has, and most of the shared ones.
    let mut bytes = fs::read(&path).unwrap();
    let needle = b"another value";
    let offsets: Vec<_> = (0..bytes.len() - needle.len())
        .filter(|at| bytes[*at..].starts_with(needle))
        .collect();
    offsets.into_iter().for_each(|at| bytes[at] ^= 1);
    fs::write(&path, bytes).unwrap();
    let mut differences = table.differences(&older, &newer).unwrap();
    match differences.next() {
        Some(Err(Error::Corrupted { table, keys, .. })) => {
            assert_eq!(table.as_deref(), Some("records"));
            assert!(keys.is_some());
        }
        other => panic!("{other:?}"),
    }
    assert!(differences.next().is_none(), "an error ends it");
}

#[test]
fn shared_pages_of_states_are_not_read() {
    let (_directory, path) = temporary_path();
    let (_database, table, older, newer) = two_states(&path, 20_000, 1);
    // The first leaf differs; those of the second half are damaged.
    let mut bytes = fs::read(&path).unwrap();
    let offsets: Vec<_> = (0..bytes.len() - 7)
        .filter(|at| bytes[*at..].starts_with(b"value 1"))
        .collect();
    assert!(offsets.len() >= 10_000);
    offsets.into_iter().for_each(|at| bytes[at] ^= 1);
    fs::write(&path, bytes).unwrap();
    assert_eq!(table.differences(&older, &newer).unwrap().count(), 1);
    assert!(table.iter(&newer).unwrap().any(|record| record.is_err()));
}

#[test]
fn a_range_of_integers_has_bounds_of_their_length() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let older = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new().order(KeyOrder::Integer);
    let table: Raw = TableDef::new("integers")
        .options(options)
        .create(&mut txn)
        .unwrap();
    for number in 0..100_u64 {
        table.insert(&mut txn, number.to_le_bytes(), b"").unwrap();
    }
    txn.commit().unwrap();
    let newer = database.begin_read().unwrap();
    let (low, high) = (10_u64.to_le_bytes(), 20_u64.to_le_bytes());
    let range = &low[..]..&high[..];
    assert_eq!(
        table
            .range(range)
            .differences(&older, &newer)
            .unwrap()
            .count(),
        10
    );
    let short = 10_u32.to_le_bytes();
    assert!(matches!(
        table.range(&short[..]..).differences(&older, &newer),
        Err(Error::InvalidArgument(_))
    ));
}

fn put(database: &Database, durability: Durability, number: u64) -> TransactionId {
    let mut txn = database.begin_write().unwrap();
    txn.set_durability(durability);
    let numbers = txn.create_table::<u64, u64>("numbers").unwrap();
    numbers.insert(&mut txn, number, number).unwrap();
    txn.commit().unwrap()
}

#[test]
fn a_feed_reports_every_record_once() {
    for sharing in [Sharing::Processes, Sharing::Alone] {
        let (_directory, path) = temporary_path();
        let database = Options::new().sharing(sharing).open(&path).unwrap();
        put(&database, Durability::Durable, 0);
        let mut feed = database.follow(database.begin_read().unwrap()).unwrap();
        let (sender, received) = mpsc::channel();
        let follower = thread::spawn(move || {
            let numbers = feed.seen().open_table::<u64, u64>("numbers").unwrap();
            let mut seen = Vec::new();
            while seen.last() != Some(&300) {
                let changes = feed
                    .next(Some(Duration::from_secs(60)))
                    .unwrap()
                    .expect("in time");
                for difference in changes.of(&numbers).unwrap() {
                    let difference = difference.unwrap();
                    assert!(matches!(difference, Difference::Inserted { .. }));
                    seen.push(*difference.key());
                }
                assert_eq!(changes.tables().unwrap().len(), 1);
                sender.send(*seen.last().unwrap()).unwrap();
            }
            seen
        });
        for number in 1..=300 {
            let durabilities = [Durability::Durable, Durability::Async, Durability::Lazy];
            put(&database, durabilities[number as usize % 3], number);
            if number % 10 == 0 {
                while received.recv_timeout(Duration::from_secs(60)).unwrap() < number {}
            }
        }
        assert_eq!(follower.join().unwrap(), (1..=300).collect::<Vec<_>>());
    }
}

#[test]
fn a_feed_continues_at_its_position() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, Durability::Durable, 0);
    let seen = database
        .follow(database.begin_read().unwrap())
        .unwrap()
        .seen()
        .clone();
    put(&database, Durability::Durable, 1);
    put(&database, Durability::Durable, 2);
    let mut feed = database.follow(seen).unwrap();
    let changes = feed.next(Some(Duration::ZERO)).unwrap().unwrap();
    let numbers = changes.newer.open_table::<u64, u64>("numbers").unwrap();
    assert_eq!(changes.of(&numbers).unwrap().count(), 2);
    assert!(feed.next(Some(Duration::ZERO)).unwrap().is_none());
    let mut again = database.follow(changes.older.clone()).unwrap();
    let again = again.next(Some(Duration::ZERO)).unwrap();
    assert_eq!(again.unwrap().of(&numbers).unwrap().count(), 2);
}

#[test]
fn waiting_ends_when_the_database_is_closed() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let seen = database.begin_read().unwrap().id();
    let waiting = {
        let database = database.clone();
        thread::spawn(move || database.wait_for_commit(seen, None))
    };
    thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    database.close().unwrap();
    assert!(matches!(
        waiting.join().unwrap(),
        Err(Error::InvalidArgument(_))
    ));
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn waiting_ends_at_its_timeout() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let seen = database.begin_read().unwrap().id();
    let limit = Duration::from_millis(30);
    let began = Instant::now();
    assert_eq!(database.wait_for_commit(seen, Some(limit)).unwrap(), None);
    assert!(began.elapsed() >= limit);
    let committed = put(&database, Durability::Lazy, 7);
    let waited = database
        .wait_for_commit(seen, Some(Duration::ZERO))
        .unwrap();
    assert_eq!(waited, Some(committed));
}
