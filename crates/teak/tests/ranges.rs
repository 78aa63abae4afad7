//! Ranges that are copied and moved between tables.

use crate::shared::temporary_path;
use fastrand::Rng;
use std::ops::ControlFlow;
use std::{collections::BTreeMap, ops::Bound};
use teak::{
    Comparison, Database, Durability, Error, KeyOrder, Options, Result, Table, TableDef,
    TableOptions, Transaction, WriteTxn,
    codec::{Bytes, Str},
};

type Raw = Table<Vec<u8>, Vec<u8>>;
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

static DOWNWARDS: Comparison = Comparison::new("downwards", &|a, b| b.cmp(a));

fn records(txn: &impl Transaction, table: &Raw) -> Vec<(Vec<u8>, Vec<u8>)> {
    let records = table.iter(txn).unwrap().map(Result::unwrap);
    let mut records: Vec<_> = records.map(|(key, value)| (key, value.to_vec())).collect();
    records.sort();
    records
}

fn fill(random: &mut Rng, txn: &mut WriteTxn, table: &Raw, model: &mut Model, count: usize) {
    for _ in 0..count {
        let key = random.u32(..5000).to_be_bytes();
        let len = match random.u32(..20) {
            0 => random.usize(..60_000),
            _ => random.usize(..500),
        };
        let value = vec![random.u8(..); len];
        table.insert(txn, key, &value).unwrap();
        model.insert(key.to_vec(), value);
    }
}

/// Several batches; empty and filled tables, before and after each other or interleaved, in equal
/// or different orders.
#[test]
fn copied_and_moved_ranges_match_the_model() {
    for seed in 0..12 {
        let mut random = Rng::with_seed(seed);
        let (_directory, path) = temporary_path();
        let options = Options::new().durability(Durability::Lazy);
        let database = options.comparison(&DOWNWARDS).open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let from_options = TableOptions::new().counted(random.bool());
        let to_options = match random.u32(..3) {
            0 => from_options.order(KeyOrder::ReverseBytes),
            1 => from_options.order(KeyOrder::Custom(&DOWNWARDS)),
            _ => from_options,
        };
        let from: Raw = TableDef::new("from")
            .options(from_options)
            .create(&mut txn)
            .unwrap();
        let to: Raw = TableDef::new("to")
            .options(to_options)
            .create(&mut txn)
            .unwrap();
        let (mut from_model, mut to_model) = (Model::new(), Model::new());
        for _ in 0..3 {
            fill(&mut random, &mut txn, &from, &mut from_model, 1500);
            let count = random.usize(..400);
            fill(&mut random, &mut txn, &to, &mut to_model, count);
            if random.bool() {
                txn.commit().unwrap();
                txn = database.begin_write().unwrap();
            }
            let [low, high] = [0; 2].map(|_| random.u32(..5000).to_be_bytes());
            let range = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
            let chosen: Model = match low < high {
                true => (from_model.range::<[u8], _>(range))
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
                false => Model::new(),
            };
            let copied = match random.bool() {
                true => from.range(range).copy_to(&mut txn, &to),
                false => {
                    from_model.retain(|key, _| !chosen.contains_key(key));
                    from.range(range).move_to(&mut txn, &to)
                }
            };
            assert_eq!(copied.unwrap(), chosen.len() as u64);
            to_model.extend(chosen);
            assert!(records(&txn, &from).into_iter().eq(from_model.clone()));
            assert!(records(&txn, &to).into_iter().eq(to_model.clone()));
        }
        txn.commit().unwrap();
        let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
        assert!(report.is_clean(), "seed {seed}: {report:?}");
    }
}

#[test]
fn a_refused_copy_changes_nothing() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let words: Table<Str, u32> = txn.create_table("words").unwrap();
    let order = TableOptions::new().order(KeyOrder::Integer);
    let numbers: Table<Str, u32> = TableDef::new("numbers")
        .options(order)
        .create(&mut txn)
        .unwrap();
    words
        .insert_many(&mut txn, &[("four", 1), ("five5", 2), ("oaks", 3)])
        .unwrap();
    let refused = words.range(..).copy_to(&mut txn, &words);
    assert!(matches!(refused, Err(Error::InvalidArgument(text)) if text.contains("itself")));
    for refused in [
        words.range(..).move_to(&mut txn, &numbers),
        words.range(..).copy_to(&mut txn, &numbers),
    ] {
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
    assert_eq!(words.len(&txn).unwrap(), 3);
    assert!(numbers.is_empty(&txn).unwrap());
    assert_eq!(
        words
            .range("four"..="four")
            .move_to(&mut txn, &numbers)
            .unwrap(),
        1
    );
    txn.drop_table("numbers").unwrap();
    let missing = words.range(.."a").copy_to(&mut txn, &numbers);
    assert!(matches!(missing, Err(Error::TableNotFound(_))));
    txn.commit().unwrap();
    assert_eq!(words.len(&database.begin_read().unwrap()).unwrap(), 2);
}

/// Many batches. The memory limit of a transaction bounds the memory.
#[test]
fn a_large_table_is_moved_in_parts() {
    let (_directory, path) = temporary_path();
    let options = Options::new().durability(Durability::Lazy);
    let database = options.write_memory_bytes(4 << 20).open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let from: Table<u32, Bytes> = txn.create_table("from").unwrap();
    let to: Table<u32, Bytes> = txn.create_table("to").unwrap();
    let records = (0..60_000u32).map(|number| (number, [7; 200]));
    from.bulk_load(&mut txn, records).unwrap();
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    assert_eq!(from.range(10_000..).move_to(&mut txn, &to).unwrap(), 50_000);
    assert_eq!(
        (from.len(&txn).unwrap(), to.len(&txn).unwrap()),
        (10_000, 50_000)
    );
    assert_eq!(to.first(&txn).unwrap(), Some((10_000, &[7; 200][..])));
    txn.commit().unwrap();
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}
