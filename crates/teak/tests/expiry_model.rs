//! Random operations on an expiring table, compared with a map that has expiries and ages.

use crate::{
    expiry::{TestClock, assert_sound, at},
    shared::temporary_path,
};
use fastrand::Rng;
use std::{collections::BTreeMap, time::Duration};
use teak::{
    Database, Durability, ExpiringTable, Expiry, ExpiryOptions, ReadTxn, Transaction, WriteTxn,
};

type Cache = ExpiringTable<u16, Vec<u8>>;

/// More keys than fit the limits of records.
const KEYS: u16 = 300;

#[derive(Clone, Debug, PartialEq)]
struct Record {
    value: Vec<u8>,
    expires_ms: Option<u64>,
    /// Greater than that of all records that were inserted before.
    number: u64,
}

/// The expected contents.
#[derive(Clone, Default)]
struct Model {
    /// Those that have expired may be missing in the table.
    records: BTreeMap<u16, Record>,
    ttl_ms: Option<u64>,
    max_records: Option<usize>,
    max_bytes: Option<usize>,
    next: u64,
}

impl Model {
    fn expiry(&self, expiry: Expiry, now: u64) -> Option<u64> {
        match expiry {
            Expiry::Default => self.ttl_ms.map(|ttl| now + ttl),
            Expiry::Never => None,
            Expiry::After(after) => Some(now + after.as_millis() as u64),
            Expiry::At(time) => Some(
                time.duration_since(at(0))
                    .map_or(0, |since| since.as_millis() as u64),
            ),
        }
    }

    fn live(&self, now: u64) -> BTreeMap<u16, Record> {
        let is_live = |record: &Record| record.expires_ms.is_none_or(|expires| now < expires);
        let live = self.records.iter().filter(|(_, record)| is_live(record));
        live.map(|(key, record)| (*key, record.clone())).collect()
    }

    fn insert(&mut self, key: u16, value: &[u8], expires_ms: Option<u64>) {
        let record = Record {
            value: value.to_vec(),
            expires_ms,
            number: self.next,
        };
        self.next += 1;
        self.records.insert(key, record);
    }
}

struct World {
    rng: Rng,
    clock: TestClock,
    now: u64,
    database: Database,
    table: Cache,
    committed: Model,
    /// Readers, what they see, and their moments.
    readers: Vec<(ReadTxn, Model, u64)>,
}

/// Compares the table with what is expected. With limits the table decides which expired records
/// make room, so that the live ones are those that the model has less some of the oldest.
fn assert_same(rng: &mut Rng, table: &Cache, txn: &impl Transaction, model: &Model, now: u64) {
    let expected = model.live(now);
    let stat = table.stat(txn).unwrap();
    assert_eq!(stat.records, expected.len() as u64);
    assert_eq!(table.len(txn).unwrap(), expected.len() as u64);
    let records = table.iter(txn).unwrap().map(Result::unwrap);
    let found: Vec<_> = records.map(|(key, value)| (key, value.to_vec())).collect();
    let pairs = expected
        .iter()
        .map(|(key, record)| (*key, record.value.clone()));
    assert!(found.iter().cloned().eq(pairs), "{found:?}");
    let backwards: Vec<_> = table
        .iter(txn)
        .unwrap()
        .rev()
        .map(|r| r.unwrap().0)
        .collect();
    assert!(backwards.iter().rev().eq(expected.keys()));
    let low = rng.u16(..KEYS);
    let high = low.saturating_add(rng.u16(..KEYS));
    let range = table.range(txn, low..high).unwrap().map(|r| r.unwrap().0);
    assert!(range.eq(expected.range(low..high).map(|(key, _)| *key)));
    for _ in 0..20 {
        let key = rng.u16(..KEYS);
        let record = expected.get(&key);
        let found = table.get_with_expiry(txn, key).unwrap();
        let found = found.map(|(value, expires)| (value.to_vec(), expires));
        let wanted = record.map(|record| (record.value.clone(), record.expires_ms.map(at)));
        assert_eq!(found, wanted, "{key}");
        assert_eq!(table.contains_key(txn, key).unwrap(), record.is_some());
    }
}

impl World {
    fn some_expiry(&mut self) -> Expiry {
        match self.rng.u8(..6) {
            0 => Expiry::Never,
            1 => Expiry::At(at(self.now.saturating_sub(self.rng.u64(..20)))),
            2 => Expiry::At(at(self.now + self.rng.u64(..200))),
            3 => Expiry::After(Duration::from_millis(self.rng.u64(..100))),
            _ => Expiry::Default,
        }
    }

    fn some_value(&mut self) -> Vec<u8> {
        let len = match self.rng.u8(..30) {
            0 => self.rng.usize(..10_000),
            _ => self.rng.usize(..40),
        };
        vec![self.rng.u8(..); len]
    }

    /// Takes what the table has removed to keep its limits out of the model: expired records first,
    /// and then the oldest.
    fn enforce_limits(&self, model: &mut Model) {
        loop {
            let bytes: usize = model
                .records
                .values()
                .map(|record| 2 + record.value.len())
                .sum();
            let is_above = |count: usize, max: Option<usize>| max.is_some_and(|max| count > max);
            let is_over = is_above(model.records.len(), model.max_records)
                || is_above(bytes, model.max_bytes);
            if !is_over || model.records.is_empty() {
                return;
            }
            let live = model.live(self.now);
            let expired = model
                .records
                .iter()
                .filter(|(key, _)| !live.contains_key(key));
            let first = expired.min_by_key(|(_, record)| (record.expires_ms, record.number));
            let oldest = model.records.iter().min_by_key(|(_, record)| record.number);
            let key = *first.or(oldest).expect("it is above a limit").0;
            model.records.remove(&key);
        }
    }

    fn operate(&mut self, txn: &mut WriteTxn, model: &mut Model) {
        let (key, now) = (self.rng.u16(..KEYS), self.now);
        let is_live = model.live(now).contains_key(&key);
        match self.rng.u8(..20) {
            0..=8 => {
                let (value, expiry) = (self.some_value(), self.some_expiry());
                self.table
                    .insert_with_expiry(txn, key, &value, expiry)
                    .unwrap();
                model.insert(key, &value, model.expiry(expiry, now));
            }
            9 => {
                let (value, expiry) = (self.some_value(), self.some_expiry());
                let inserted = self.table.insert_new(txn, key, &value, expiry).unwrap();
                assert_eq!(inserted, !is_live);
                if inserted {
                    model.insert(key, &value, model.expiry(expiry, now));
                }
            }
            10 => {
                let value = self.some_value();
                assert_eq!(self.table.update(txn, key, &value).unwrap(), is_live);
                if is_live {
                    let expires_ms = model.records[&key].expires_ms;
                    model.insert(key, &value, expires_ms);
                }
            }
            11..=12 => {
                let expiry = self.some_expiry();
                assert_eq!(self.table.set_expiry(txn, key, expiry).unwrap(), is_live);
                if is_live {
                    let expires_ms = model.expiry(expiry, now);
                    model.records.get_mut(&key).unwrap().expires_ms = expires_ms;
                }
            }
            13..=15 => {
                assert_eq!(self.table.remove(txn, key).unwrap(), is_live);
                if is_live {
                    model.records.remove(&key);
                }
            }
            16 => {
                let limit = self.rng.u64(..50);
                let removed = self.table.remove_expired(txn, limit).unwrap();
                assert!(removed <= limit);
                if removed < limit {
                    model.records = model.live(now);
                    assert_eq!(self.table.stat(txn).unwrap().expired, 0);
                }
            }
            17 => self.change_settings(txn, model),
            18 if self.rng.u8(..20) == 0 => {
                self.table.clear(txn).unwrap();
                model.records.clear();
            }
            _ => assert_same(&mut self.rng, &self.table, txn, model, now),
        }
        // Which expired records are left decides what makes room.
        if model.max_records.is_some() || model.max_bytes.is_some() {
            self.table.remove_expired(txn, u64::MAX).unwrap();
            model.records = model.live(now);
        }
        self.enforce_limits(model);
    }

    fn change_settings(&mut self, txn: &mut WriteTxn, model: &mut Model) {
        match self.rng.u8(..5) {
            0 => {
                let records = self.rng.bool().then(|| self.rng.usize(1..400));
                self.table.remove_expired(txn, u64::MAX).unwrap();
                model.records = model.live(self.now);
                model.max_records = records;
                let records = records.map(|records| records as u64);
                self.table.set_max_records(txn, records).unwrap();
            }
            1 => {
                let bytes = self.rng.bool().then(|| self.rng.usize(100..20_000));
                self.table.remove_expired(txn, u64::MAX).unwrap();
                model.records = model.live(self.now);
                model.max_bytes = bytes;
                let bytes = bytes.map(|bytes| bytes as u64);
                self.table.set_max_bytes(txn, bytes).unwrap();
            }
            _ => {
                model.ttl_ms = self.rng.bool().then(|| self.rng.u64(..300));
                let ttl = model.ttl_ms.map(Duration::from_millis);
                self.table.set_ttl(txn, ttl).unwrap();
            }
        }
        self.enforce_limits(model);
    }

    fn write(&mut self) {
        let database = self.database.clone();
        let mut txn = database.begin_write().unwrap();
        if self.rng.bool() {
            txn.set_durability(Durability::Lazy);
        }
        let mut model = self.committed.clone();
        for _ in 0..self.rng.usize(..30) {
            if self.rng.u8(..10) > 0 {
                self.operate(&mut txn, &mut model);
                continue;
            }
            let before = model.clone();
            let is_kept = self.rng.bool();
            let nested = txn.nested(|txn| {
                for _ in 0..self.rng.usize(..10) {
                    self.operate(txn, &mut model);
                }
                match is_kept {
                    true => Ok(()),
                    false => Err(teak::Error::InvalidArgument("undone".into())),
                }
            });
            if nested.is_err() {
                model = before;
            }
        }
        if self.rng.u8(..10) == 0 {
            txn.abort();
            return;
        }
        txn.commit().unwrap();
        self.committed = model;
    }

    fn step(&mut self) {
        match self.rng.u8(..10) {
            0..=4 => self.write(),
            5 => {
                let txn = self.database.begin_read().unwrap();
                self.table.now(&txn).unwrap();
                self.readers.push((txn, self.committed.clone(), self.now));
            }
            6 if !self.readers.is_empty() => {
                let index = self.rng.usize(..self.readers.len());
                let (txn, model, now) = self.readers.swap_remove(index);
                assert_same(&mut self.rng, &self.table, &txn, &model, now);
            }
            7 => {
                let txn = self.database.begin_read().unwrap();
                let (model, now) = (&self.committed, self.now);
                assert_same(&mut self.rng, &self.table, &txn, model, now);
            }
            _ => {
                self.now += self.rng.u64(..60);
                self.clock.set(self.now);
            }
        }
    }
}

fn run(seed: u64, steps: usize) {
    eprintln!("seed {seed}");
    let (_directory, path) = temporary_path();
    let clock = TestClock::default();
    let now = 10_000;
    clock.set(now);
    let database = clock.open(&path);
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_expiring_table("cache", &ExpiryOptions::new());
    let table = table.unwrap();
    txn.commit().unwrap();
    let mut world = World {
        rng: Rng::with_seed(seed),
        clock: clock.clone(),
        now,
        database,
        table,
        committed: Model::default(),
        readers: Vec::new(),
    };
    for step in 0..steps {
        world.step();
        if step % 100 == 99 {
            assert_sound(&world.database);
        }
        if step % 150 == 149 {
            world.readers.clear();
            // Closes the database, and opens it again.
            world.database = Database::in_memory().unwrap();
            world.database = clock.open(&path);
        }
    }
}

#[test]
fn an_expiring_table_behaves_like_a_map_with_expiries() {
    for seed in 0..6 {
        run(seed, 300);
    }
    run(fastrand::u64(..), 600);
}

#[test]
fn a_new_limit_of_bytes_keeps_the_newest_records() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut random = Rng::with_seed(3);
    let mut txn = database.begin_write().unwrap();
    let options = ExpiryOptions::new();
    let table: Cache = txn.create_expiring_table("values", &options).unwrap();
    let lens: Vec<_> = (0..3_000).map(|_| random.usize(0..200)).collect();
    for (key, len) in lens.iter().enumerate() {
        table.insert(&mut txn, key as u16, vec![7; *len]).unwrap();
    }
    for max_bytes in [200_000, 199_900, 100_000, 5_000, 3] {
        table.set_max_bytes(&mut txn, Some(max_bytes)).unwrap();
        let mut bytes = 0;
        let kept = lens.iter().rev().take_while(|len| {
            bytes += 2 + **len as u64;
            bytes <= max_bytes
        });
        let first = lens.len() - kept.count();
        let records = table.iter(&txn).unwrap();
        let left: Vec<_> = records.map(|record| record.unwrap().0).collect();
        assert_eq!(
            left,
            (first as u16..3_000).collect::<Vec<_>>(),
            "{max_bytes}"
        );
    }
    txn.commit().unwrap();
    assert_sound(&database);
}
