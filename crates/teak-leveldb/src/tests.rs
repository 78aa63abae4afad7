//! Databases compared with maps.

mod compression;
mod directories;
mod encryption;

use crate::{
    comparator::KeyComparator,
    directory::{self, OpenOptions},
    failure::{Failure, Kind},
    files::DATA,
    iterator::StoreIterator,
    store::Store,
};
use fastrand::Rng;
use std::{collections::BTreeMap, path::Path, sync::Arc, thread};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(create_if_missing: bool) -> OpenOptions {
    OpenOptions {
        create_if_missing,
        error_if_exists: false,
        may_compress: true,
        comparator: KeyComparator::Bytewise,
    }
}

fn open(path: &Path) -> Store {
    directory::open(path, options(true)).unwrap()
}

fn backwards(name: &str) -> OpenOptions {
    OpenOptions {
        comparator: KeyComparator::Custom {
            name: name.as_bytes().to_vec(),
            address: 0,
            // Upper and lower case are equal.
            function: Box::new(|_, a, b| b.to_ascii_lowercase().cmp(&a.to_ascii_lowercase())),
        },
        ..options(true)
    }
}

fn push_string(batch: &mut Vec<u8>, bytes: &[u8]) {
    let mut len = bytes.len();
    while len >= 0x80 {
        batch.push(len as u8 | 0x80);
        len >>= 7;
    }
    batch.push(len as u8);
    batch.extend_from_slice(bytes);
}

/// A batch of insertions, and of removals where there is no value.
fn batch(changes: &[(&[u8], Option<&[u8]>)]) -> Vec<u8> {
    let mut batch = vec![0; 8];
    batch.extend_from_slice(&(changes.len() as u32).to_le_bytes());
    for (key, value) in changes {
        batch.push(u8::from(value.is_some()));
        push_string(&mut batch, key);
        if let Some(value) = value {
            push_string(&mut batch, value);
        }
    }
    batch
}

fn put(store: &Store, key: &[u8], value: &[u8]) {
    store.write(&batch(&[(key, Some(value))]), false).unwrap();
}

fn get(store: &Store, key: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    let is_there = store
        .get(None, key, |value| found = Some(value.to_vec()))
        .unwrap();
    assert_eq!(is_there, found.is_some());
    found
}

/// The records of an iterator, which `step` moves.
fn walk(iterator: &mut StoreIterator, step: fn(&mut StoreIterator)) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut records = Vec::new();
    while let Some(record) = iterator.record() {
        records.push((record.key.to_vec(), record.value.to_vec()));
        step(iterator);
    }
    assert_eq!(iterator.failure(), None);
    records
}

/// A key around the lengths at which keys are split, whose parts are often equal.
fn long_key(random: &mut Rng) -> Vec<u8> {
    const L: usize = 3840;
    let mut key = Vec::new();
    for part in 0..random.usize(1..5) {
        let len = match part {
            0 => L,
            _ => L - 8,
        };
        let len = random.usize(len - 1..=len + 1);
        key.extend(std::iter::repeat_n(random.u8(b'a'..b'c'), len));
    }
    match random.u8(..4) {
        0 => key.truncate(random.usize(..=key.len())),
        1 => key.extend([random.u8(..), random.u8(..)]),
        _ => {}
    }
    key
}

#[test]
fn keys_of_any_length_are_a_sorted_map() {
    for seed in 0..6 {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let mut random = Rng::with_seed(seed);
        let mut model = Model::new();
        for round in 0..120 {
            let key = match random.bool() {
                true => long_key(&mut random),
                false => vec![random.u8(b'a'..b'd'); random.usize(..3)],
            };
            let known = model.keys().nth(random.usize(..=model.len())).cloned();
            let key = if random.u8(..3) == 0 {
                known.unwrap_or(key)
            } else {
                key
            };
            let value = (random.u8(..5) > 1).then(|| vec![round; usize::from(round)]);
            store
                .write(&batch(&[(&key, value.as_deref())]), false)
                .unwrap();
            match value {
                Some(value) => model.insert(key, value),
                None => model.remove(&key),
            };
        }
        compare(&store, &model, &mut random);
        drop(store);
        let store = open(directory.path());
        compare(&store, &model, &mut random);
        for key in model.keys() {
            store.write(&batch(&[(key, None)]), false).unwrap();
        }
        compare(&store, &Model::new(), &mut random);
        let database = teak::Database::open(directory.path().join(DATA)).unwrap();
        let txn = database.begin_read().unwrap();
        let rests = crate::store::RESTS.open(&txn).unwrap();
        assert!(rests.is_empty(&txn).unwrap(), "empty buckets are removed");
    }
}

fn compare(store: &Store, model: &Model, random: &mut Rng) {
    let mut expected: Vec<_> = model.clone().into_iter().collect();
    let mut iterator = store.iterator(None).unwrap();
    iterator.first();
    assert_eq!(walk(&mut iterator, StoreIterator::next), expected);
    expected.reverse();
    iterator.last();
    assert_eq!(walk(&mut iterator, StoreIterator::prev), expected);
    for _ in 0..60 {
        let target = match random.bool() {
            true => long_key(random),
            false => model
                .keys()
                .nth(random.usize(..=model.len()))
                .cloned()
                .unwrap_or_default(),
        };
        assert_eq!(get(store, &target), model.get(&target).cloned());
        iterator.seek(&target);
        let mut after = model.range(target.clone()..);
        let mut before = model.range(..target.clone()).rev();
        let first = iterator.record().map(|record| record.key.to_vec());
        assert_eq!(first.as_ref(), after.next().map(|(key, _)| key));
        // One step in either direction, and back.
        if first.is_some() {
            iterator.prev();
            let found = iterator.record().map(|record| record.key.to_vec());
            assert_eq!(found.as_ref(), before.next().map(|(key, _)| key));
            if found.is_some() {
                iterator.next();
                let found = iterator.record().map(|record| record.key.to_vec());
                assert_eq!(found, first);
            }
        }
    }
}

#[test]
fn snapshots_and_iterators_see_their_state() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&store, b"a", b"1");
    let snapshot = store.snapshot().unwrap();
    let mut iterator = store.iterator(None).unwrap();
    put(&store, b"a", b"2");
    put(&store, b"b", b"3");
    let mut found = Vec::new();
    store
        .get(Some(&snapshot), b"a", |value| found = value.to_vec())
        .unwrap();
    assert_eq!(found, b"1");
    drop(store);
    iterator.first();
    let records = walk(&mut iterator, StoreIterator::next);
    assert_eq!(records, [(b"a".to_vec(), b"1".to_vec())]);
}

#[test]
fn the_last_entry_of_a_key_counts_in_batches_of_all_lengths() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut random = Rng::with_seed(1);
    let mut model = Model::new();
    for round in 0..60 {
        let only_puts = round % 3 == 0;
        let mut entries = Vec::new();
        for number in 0..random.u32(..40) {
            let key = vec![random.u8(b'a'..b'j'); random.usize(1..4)];
            let is_put = only_puts || random.bool();
            let value = is_put.then(|| [round, number].map(u32::to_be_bytes).concat());
            entries.push((key, value));
        }
        let changes: Vec<_> = (entries.iter())
            .map(|(key, value)| (&key[..], value.as_deref()))
            .collect();
        store.write(&batch(&changes), false).unwrap();
        for (key, value) in entries {
            match value {
                Some(value) => model.insert(key, value),
                None => model.remove(&key),
            };
        }
        compare(&store, &model, &mut random);
    }
}

#[test]
fn a_batch_is_made_in_its_order_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let changes: [(&[u8], Option<&[u8]>); 4] = [
        (b"a", Some(b"1")),
        (b"b", Some(b"2")),
        (b"a", None),
        (b"", Some(b"")),
    ];
    store.write(&batch(&changes), true).unwrap();
    assert_eq!(get(&store, b"a"), None);
    assert_eq!(get(&store, b""), Some(Vec::new()));
    for (damage, says) in [
        (vec![0; 11], "malformed WriteBatch (too small)"),
        (
            [batch(&changes), vec![9]].concat(),
            "WriteBatch has wrong count",
        ),
        (batch(&changes)[..16].to_vec(), "bad WriteBatch Put"),
        (batch(&changes)[..12].to_vec(), "WriteBatch has wrong count"),
    ] {
        let failure = store.write(&damage, false).unwrap_err();
        assert_eq!(failure, Failure::corruption(says));
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    let threads: Vec<_> = (0..8_u8)
        .map(|thread| {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                for round in 0..100_u8 {
                    let is_synced = round % 25 == 0;
                    let key = [thread, round];
                    store
                        .write(&batch(&[(&key, Some(&key))]), is_synced)
                        .unwrap();
                    // A thread sees what it has written.
                    assert_eq!(get(&store, &key), Some(key.to_vec()));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let mut iterator = store.iterator(None).unwrap();
    iterator.first();
    assert_eq!(walk(&mut iterator, StoreIterator::next).len(), 800);
}

#[test]
fn keys_that_a_comparator_finds_equal_are_one_key() {
    let directory = tempfile::tempdir().unwrap();
    // A name that the engine would refuse.
    let name = "x".repeat(1_000);
    let store = directory::open(directory.path(), backwards(&name)).unwrap();
    for key in [b"a", b"B", b"b", b"c"] {
        put(&store, key, key);
    }
    let mut iterator = store.iterator(None).unwrap();
    iterator.first();
    let keys: Vec<_> = walk(&mut iterator, StoreIterator::next)
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(
        keys,
        [b"c", b"b", b"a"],
        "the bytes are those of the newest key"
    );
    let failure = store
        .write(&batch(&[(&[b'k'; 5000], Some(b""))]), false)
        .unwrap_err();
    assert_eq!(failure.kind, Kind::InvalidArgument);
    assert_eq!(get(&store, &[b'k'; 5000]), None);
    drop(store);
    let store = directory::open(directory.path(), backwards(&name)).unwrap();
    assert_eq!(get(&store, b"A"), Some(b"a".to_vec()));
}

#[test]
fn the_comparator_of_sizes_sees_whole_keys() {
    let directory = tempfile::tempdir().unwrap();
    let by_len = OpenOptions {
        comparator: KeyComparator::Custom {
            name: b"by length".to_vec(),
            address: 0,
            function: Box::new(|_, a, b| a.len().cmp(&b.len())),
        },
        ..options(true)
    };
    let store = directory::open(directory.path(), by_len).unwrap();
    for len in 1..3_000 {
        put(&store, &vec![b'k'; len], b"value");
    }
    let size = |low, high| {
        store
            .approximate_size(&vec![0; low], &vec![0; high])
            .unwrap()
    };
    assert!(size(0, 9_000) > 0);
    // Both bounds have the same first bytes.
    assert_eq!(size(9_000, 5_000), 0);
    assert!(size(0, 9_000) >= size(0, 2_000));
    assert_eq!(size(8_000, 9_000), 0);
}
