//! Savepoints against a model, with more pages than memory has room for.

use crate::{
    io::sim::SimDisk,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, Model, OTHER_BOOT, assert_clean, create_table, get, insert, key, open,
        remove,
    },
    write::{savepoint::SavepointId, transaction::WriteTransaction},
};
use fastrand::Rng;

const KEYS: u32 = 4000;
/// More than the memory limit of a transaction, if all keys are present.
const VALUE_LEN: usize = 600;

/// Changes many records of table `a` one by one.
fn change(txn: &mut WriteTransaction, model: &mut Model, rng: &mut Rng) {
    let first = rng.u32(..KEYS);
    let is_removal = rng.u8(..3) == 0;
    for i in 0..rng.u32(1..500) {
        // Neighbours, or records all over the place.
        let key = match first % 2 {
            0 => key(first.wrapping_add(i) % KEYS),
            _ => key(rng.u32(..KEYS)),
        };
        if is_removal {
            assert_eq!(remove(txn, b"a", &key), model.remove(&key).is_some());
        } else {
            let value = vec![rng.u8(..); rng.usize(..VALUE_LEN)];
            insert(txn, b"a", &key, &value).unwrap();
            model.insert(key, value);
        }
    }
}

/// Runs a transaction with nested savepoints, and returns the resulting records.
fn run(txn: &mut WriteTransaction, mut model: Model, rng: &mut Rng) -> Model {
    let mut savepoints: Vec<(SavepointId, Model)> = Vec::new();
    for _ in 0..40 {
        match rng.u8(..8) {
            0 | 1 if savepoints.len() < 4 => {
                savepoints.push((txn.begin_savepoint().unwrap(), model.clone()));
            }
            2 if !savepoints.is_empty() => {
                savepoints.truncate(rng.usize(..savepoints.len()) + 1);
                let (savepoint, _) = savepoints.pop().unwrap();
                txn.end_savepoint(savepoint).unwrap();
            }
            3 if !savepoints.is_empty() => {
                savepoints.truncate(rng.usize(..savepoints.len()) + 1);
                let (savepoint, before) = savepoints.last().unwrap();
                txn.roll_back_to(*savepoint).unwrap();
                model.clone_from(before);
            }
            _ => change(txn, &mut model, rng),
        }
    }
    model
}

#[test]
fn savepoints_restore_every_record_and_lose_no_page() {
    let mut rng = Rng::with_seed(11);
    let disk = SimDisk::new(CAPACITY);
    let engine = open(&disk, true, BOOT).unwrap();
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"a");
    txn.commit().unwrap();
    let mut model = Model::new();
    for round in 0..24 {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        txn.set_durability(match round % 2 {
            0 => Durability::Lazy,
            _ => Durability::Durable,
        });
        let changed = run(&mut txn, model.clone(), &mut rng);
        if round % 5 == 4 {
            txn.abort();
        } else {
            txn.commit().unwrap();
            model = changed;
        }
        assert_clean(&engine);
        for i in 0..KEYS {
            assert_eq!(get(&engine, b"a", &key(i)).as_ref(), model.get(&key(i)));
        }
    }
    engine.close().unwrap();
    drop(engine);
    assert_clean(&open(&disk, false, OTHER_BOOT).unwrap());
}
