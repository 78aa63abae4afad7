//! Records that iterators lend: the same as those that they return, from both ends.

use crate::shared::temporary_path;
use fastrand::Rng;
use std::borrow::Cow;
use std::{
    collections::{BTreeSet, VecDeque},
    ops::Bound::{self, Excluded, Included, Unbounded},
};
use teak::{
    Database, Error, Iter, Kind, MultiTable, Result, Table, TableDef, TableOptions, Transaction,
    codec::{Codec, CodecOrder, EncodeAs, Str},
};

const SEED: u64 = 0x6c65_6e64;
const RANGES: usize = 150;

type Pair = (String, u64);

/// A pair that an iterator returned or lent.
fn copied<K: AsRef<str>>(pair: Option<(K, u64)>) -> Option<Pair> {
    pair.map(|(key, value)| (key.as_ref().to_owned(), value))
}

/// Takes all records in random steps from both ends, as `model` has them.
fn take_all<M>(mut records: Iter<'_, Str, u64, M>, mut model: VecDeque<Pair>, rng: &mut Rng)
where
    M: for<'t> Kind<Value<'t, u64> = u64>,
{
    // Mostly from one end, so that steps within a leaf follow one another.
    let from_front = rng.u32(0..=10);
    for _ in 0..model.len() + 2 {
        let (found, expected) = match (rng.u32(0..10) < from_front, rng.bool()) {
            (true, true) => (copied(records.lend().unwrap()), model.pop_front()),
            (true, false) => (
                copied(records.next().transpose().unwrap()),
                model.pop_front(),
            ),
            (false, true) => (copied(records.lend_back().unwrap()), model.pop_back()),
            (false, false) => {
                let found = records.next_back().transpose().unwrap();
                (copied(found), model.pop_back())
            }
        };
        assert_eq!(found, expected, "seed {SEED}");
    }
    assert!(records.lend().unwrap().is_none() && records.lend_back().unwrap().is_none());
    assert!(records.next().is_none() && records.next_back().is_none());
}

fn random_bounds(rng: &mut Rng, pairs: &[Pair]) -> (Bound<String>, Bound<String>) {
    let mut bound = || {
        let mut key = pairs[rng.usize(..pairs.len())].0.clone();
        if rng.bool() {
            key.push('!');
        }
        match rng.u32(0..4) {
            0 => Unbounded,
            1 => Excluded(key),
            _ => Included(key),
        }
    };
    (bound(), bound())
}

fn is_within(key: &String, (low, high): &(Bound<String>, Bound<String>)) -> bool {
    let is_after = match low {
        Unbounded => true,
        Included(low) => key >= low,
        Excluded(low) => key > low,
    };
    is_after
        && match high {
            Unbounded => true,
            Included(high) => key <= high,
            Excluded(high) => key < high,
        }
}

fn check<M>(table: &Table<Str, u64, M>, txn: &impl Transaction, pairs: &[Pair], rng: &mut Rng)
where
    M: for<'t> Kind<Value<'t, u64> = u64>,
{
    for _ in 0..RANGES {
        let bounds = random_bounds(rng, pairs);
        let model = pairs.iter().filter(|(key, _)| is_within(key, &bounds));
        let model = model.cloned().collect();
        take_all(table.range(bounds).iter(txn).unwrap(), model, rng);
    }
    take_all(table.iter(txn).unwrap(), pairs.to_vec().into(), rng);
    let prefixed = pairs.iter().filter(|(key, _)| key.starts_with("key 1"));
    let prefixed = prefixed.cloned().collect();
    take_all(table.prefix(b"key 1").iter(txn).unwrap(), prefixed, rng);
}

/// Keys of different lengths, of which some have many values.
fn random_pairs(rng: &mut Rng, most_values: u64) -> Vec<Pair> {
    let mut pairs = BTreeSet::new();
    for number in 0..800 {
        let key = format!("key {number:03} {}", "x".repeat(rng.usize(0..40)));
        let count = match rng.u32(0..100) {
            0 => most_values,
            _ => rng.u64(1..=most_values.min(5)),
        };
        pairs.extend((0..count).map(|_| (key.clone(), rng.u64(..))));
    }
    pairs.into_iter().collect()
}

fn borrowed(pairs: &[Pair]) -> Vec<(&str, u64)> {
    pairs
        .iter()
        .map(|(key, value)| (&key[..], *value))
        .collect()
}

#[test]
fn lent_and_returned_records_are_those_of_the_model() {
    let mut rng = Rng::with_seed(SEED);
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    for keys_in_pages in [false, true] {
        let pairs = random_pairs(&mut rng, 1);
        let mut txn = database.begin_write().unwrap();
        let name = format!("single {keys_in_pages}");
        let options = TableOptions::new().share_prefixes(!keys_in_pages);
        let table = TableDef::<Str, u64>::new(&name)
            .options(options)
            .create(&mut txn)
            .unwrap();
        table.insert_many(&mut txn, &borrowed(&pairs)).unwrap();
        check(&table, &txn, &pairs, &mut rng);
        txn.commit().unwrap();
        check(&table, &database.begin_read().unwrap(), &pairs, &mut rng);
    }
}

#[test]
fn lent_and_returned_pairs_are_those_of_the_model() {
    let mut rng = Rng::with_seed(SEED);
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let pairs = random_pairs(&mut rng, 2000);
    let mut txn = database.begin_write().unwrap();
    let table: MultiTable<Str, u64> = txn.create_multi_table("pairs").unwrap();
    table.insert_many(&mut txn, &borrowed(&pairs)).unwrap();
    check(&table, &txn, &pairs, &mut rng);
    txn.commit().unwrap();
    check(&table, &database.begin_read().unwrap(), &pairs, &mut rng);
}

/// Text of which some is refused, or makes the program panic.
struct Picky;

impl Codec for Picky {
    type Item<'a> = &'a str;
    type Owned = String;
    const ORDER: CodecOrder = CodecOrder::Any;

    fn name() -> Cow<'static, str> {
        "test.picky".into()
    }

    fn decode(bytes: &[u8]) -> Result<&str> {
        assert_ne!(bytes, b"panic", "as requested");
        match bytes {
            b"refuse" => Err(Error::Decode {
                expected: Self::name(),
                detail: String::new(),
            }),
            _ => Str::decode(bytes),
        }
    }

    fn to_owned(item: &str) -> String {
        item.to_owned()
    }
}

impl EncodeAs<Picky> for str {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        Ok(self.as_bytes())
    }
}

impl EncodeAs<Picky> for String {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        Ok(self.as_bytes())
    }
}

#[test]
fn a_value_that_is_refused_ends_the_iteration() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let single = txn.create_table::<u64, Picky>("single").unwrap();
    let multi = txn.create_multi_table::<u64, Picky>("multi").unwrap();
    for (key, value) in [(1, "a"), (2, "refuse"), (3, "b")] {
        single.insert(&mut txn, key, value).unwrap();
        multi.insert(&mut txn, key, value).unwrap();
    }
    let refused = |error: Option<Error>| assert!(matches!(error, Some(Error::Decode { .. })));

    let mut records = single.iter(&txn).unwrap();
    assert_eq!(records.lend().unwrap(), Some((1, "a")));
    refused(records.lend().err());
    assert_eq!(records.lend().unwrap(), None);
    assert!(records.next().is_none() && records.next_back().is_none());

    let mut pairs = multi.iter(&txn).unwrap();
    assert_eq!(pairs.lend_back().unwrap(), Some((3, "b")));
    refused(pairs.lend_back().err());
    assert_eq!(pairs.lend_back().unwrap(), None);
    assert!(pairs.next().is_none() && pairs.next_back().is_none());
}

#[test]
fn an_iteration_continues_after_a_caught_panic() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<u64, Picky>("values").unwrap();
    for (key, value) in [(1, "a"), (2, "panic"), (3, "b")] {
        table.insert(&mut txn, key, value).unwrap();
    }
    let mut records = table.iter(&txn).unwrap();
    assert_eq!(records.lend().unwrap(), Some((1, "a")));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(records.lend())));
    assert!(caught.is_err());
    assert_eq!(records.lend_back().unwrap(), Some((3, "b")));
    assert_eq!(records.lend().unwrap(), None);
}
