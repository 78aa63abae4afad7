//! Random transactions against a model: nested ones to any depth, checkpoints, rolling back and
//! continuing, continuing as a reader, beginning on a reader; records, tables, sequences and marks.
//! Readers keep their states all the time.

use crate::shared::temporary_path;
use fastrand::Rng;
use std::{collections::BTreeMap, mem, ops::ControlFlow};
use teak::{
    Database, Durability, Error, Options, ReadTxn, Savepoint, Table, Transaction, TransactionId,
    WriteOptions, WriteTxn, codec::Bytes,
};

type Records = Table<u64, Bytes>;

const NAMES: [&str; 4] = ["ash", "elm", "oak", "teak"];
const KEYS: u64 = 400;

#[derive(Clone, PartialEq, Debug, Default)]
struct TableModel {
    records: BTreeMap<u64, Vec<u8>>,
    sequence: u64,
}

/// The expected contents of a state.
#[derive(Clone, PartialEq, Debug, Default)]
struct Model {
    tables: BTreeMap<&'static str, TableModel>,
    marks: [u64; 3],
    set_in: Option<TransactionId>,
}

/// A write transaction, and its expected view.
struct Writing {
    txn: WriteTxn,
    model: Model,
    /// The state that it rolls back to.
    base: Model,
    /// Savepoints that have not ended, the innermost last, with the state at their beginning.
    savepoints: Vec<(Savepoint, Model)>,
}

struct World {
    rng: Rng,
    database: Database,
    committed: Model,
    newest: TransactionId,
    writing: Option<Writing>,
    readers: Vec<(ReadTxn, Model)>,
}

fn assert_same(txn: &impl Transaction, model: &Model) {
    let marks = txn.marks();
    assert_eq!((marks.values, marks.set_in), (model.marks, model.set_in));
    let names: Vec<_> = txn.tables().unwrap().into_iter().map(|t| t.name).collect();
    let expected: Vec<_> = model.tables.keys().map(|name| name.as_bytes()).collect();
    assert_eq!(names, expected);
    for (name, expected) in &model.tables {
        let table: Records = txn.open_table(name).unwrap();
        assert_eq!(table.stat(txn).unwrap().sequence, expected.sequence);
        let records = table.iter(txn).unwrap().map(|record| {
            let (key, value) = record.unwrap();
            (key, value.to_vec())
        });
        assert!(records.eq(expected.records.clone()), "table {name}");
    }
}

impl World {
    fn any_name(&mut self) -> &'static str {
        NAMES[self.rng.usize(..NAMES.len())]
    }

    fn any_durability(&mut self) -> Durability {
        let all = [Durability::Durable, Durability::Async, Durability::Lazy];
        all[self.rng.usize(..3)]
    }

    fn step(&mut self) {
        match self.writing.take() {
            None => self.begin(),
            Some(writing) => match self.rng.u32(..100) {
                0..50 => self.writing = Some(self.change(writing)),
                50..75 => self.writing = Some(self.nest(writing)),
                75..90 => self.writing = Some(self.go_on(writing)),
                _ => self.end(writing),
            },
        }
        self.read();
    }

    fn begin(&mut self) {
        let txn = match self.rng.u32(..4) {
            0 if !self.readers.is_empty() => {
                let index = self.rng.usize(..self.readers.len());
                let reader = &self.readers[index].0;
                match self
                    .database
                    .begin_write_with(WriteOptions::new().at(reader))
                {
                    Ok(txn) => {
                        assert_eq!(reader.id(), self.newest);
                        txn.expect("there is no timeout")
                    }
                    Err(Error::SnapshotStale { held, newest }) => {
                        assert!(held == reader.id() && newest == self.newest && held < newest);
                        return;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            _ => self.database.begin_write().unwrap(),
        };
        assert_eq!(txn.id().0, self.newest.0 + 1);
        self.writing = Some(Writing {
            txn,
            model: self.committed.clone(),
            base: self.committed.clone(),
            savepoints: Vec::new(),
        });
    }

    fn change(&mut self, mut writing: Writing) -> Writing {
        let name = self.any_name();
        let Writing { txn, model, .. } = &mut writing;
        let Some(found) = model.tables.get_mut(name) else {
            txn.create_table::<u64, Bytes>(name).unwrap();
            model.tables.insert(name, TableModel::default());
            return writing;
        };
        let table: Records = txn.open_table(name).unwrap();
        match self.rng.u32(..20) {
            0..8 => {
                for _ in 0..self.rng.u32(1..40) {
                    let len = match self.rng.u32(..60) {
                        0 => self.rng.usize(5_000..20_000),
                        _ => self.rng.usize(..200),
                    };
                    let (key, value) = (self.rng.u64(..KEYS), vec![self.rng.u8(..); len]);
                    table.insert(txn, key, &value).unwrap();
                    found.records.insert(key, value);
                }
            }
            8..11 => {
                let key = self.rng.u64(..KEYS);
                let range = key..key + self.rng.u64(..60);
                let removed = table.range(range.clone()).remove(txn).unwrap();
                let before = found.records.len();
                found.records.retain(|key, _| !range.contains(key));
                assert_eq!(removed as usize, before - found.records.len());
            }
            11 => {
                table.clear(txn).unwrap();
                found.records.clear();
            }
            12 => {
                assert!(txn.drop_table(name).unwrap());
                model.tables.remove(name);
            }
            13 => {
                let other = self.any_name();
                match txn.rename_table(name, other) {
                    Ok(()) => {
                        let moved = model.tables.remove(name).unwrap();
                        assert!(model.tables.insert(other, moved).is_none());
                    }
                    Err(Error::TableExists(_)) => assert!(model.tables.contains_key(other)),
                    Err(error) => panic!("{error}"),
                }
            }
            14..18 => {
                let count = match self.rng.u32(..20) {
                    0 => u64::MAX - self.rng.u64(..3),
                    _ => self.rng.u64(..5),
                };
                match (
                    table.draw_sequence(txn, count),
                    found.sequence.checked_add(count),
                ) {
                    (Ok(first), Some(next)) => {
                        assert_eq!(first, mem::replace(&mut found.sequence, next));
                    }
                    (Err(Error::SequenceExhausted { .. }), None) => {}
                    (drawn, next) => panic!("{drawn:?} instead of up to {next:?}"),
                }
            }
            _ => {
                model.marks = [self.rng.u64(..3), self.rng.u64(..), 7];
                model.set_in = Some(txn.id());
                txn.set_marks(model.marks).unwrap();
            }
        }
        writing
    }

    fn nest(&mut self, mut writing: Writing) -> Writing {
        let depth = writing.savepoints.len();
        assert_eq!(writing.txn.info().savepoints, depth);
        match self.rng.u32(..6) {
            0 | 1 => {
                let savepoint = writing.txn.savepoint().unwrap();
                writing.savepoints.push((savepoint, writing.model.clone()));
            }
            2 | 3 if depth > 0 => {
                let index = self.rng.usize(..depth);
                let (savepoint, model) = &writing.savepoints[index];
                writing.txn.rollback_to(savepoint).unwrap();
                writing.model = model.clone();
                writing.savepoints.truncate(index + 1);
            }
            4 if depth > 0 => {
                let index = self.rng.usize(..depth);
                writing.savepoints.truncate(index + 1);
                let (savepoint, _) = writing.savepoints.pop().unwrap();
                writing.txn.release(savepoint).unwrap();
            }
            // A nested transaction with one change, which is kept or rolled back.
            _ => {
                let (name, stays) = (self.any_name(), self.rng.bool());
                let done: teak::Result<()> = writing.txn.nested(|txn| {
                    let table: Records = txn.create_table(name)?;
                    table.draw_sequence(txn, 0)?;
                    table.insert(txn, KEYS, b"nested")?;
                    match stays {
                        true => Ok(()),
                        false => Err(Error::InvalidArgument("changed my mind".into())),
                    }
                });
                assert_eq!(done.is_ok(), stays);
                if stays {
                    let table = writing.model.tables.entry(name).or_default();
                    table.records.insert(KEYS, b"nested".to_vec());
                }
            }
        }
        if self.rng.u32(..8) == 0 {
            assert_same(&writing.txn, &writing.model);
        }
        writing
    }

    /// Lets the transaction continue, based on another state or without its changes.
    fn go_on(&mut self, mut writing: Writing) -> Writing {
        writing.txn.set_durability(self.any_durability());
        match self.rng.u32(..5) {
            0 => {
                if self.rng.bool() {
                    writing.txn.set_broken();
                    let refused = writing.txn.checkpoint();
                    assert!(matches!(refused, Err(Error::TransactionBroken)));
                }
                writing.txn.roll_back().unwrap();
                writing.model = writing.base.clone();
                writing.savepoints.clear();
            }
            _ => {
                // A checkpoint ends them.
                writing.savepoints.clear();
                let transaction = writing.txn.checkpoint().unwrap();
                assert!(transaction >= self.newest && transaction.0 <= self.newest.0 + 1);
                assert_eq!(writing.txn.id().0, transaction.0 + 1);
                self.newest = transaction;
                writing.base = writing.model.clone();
                self.committed = writing.model.clone();
            }
        }
        writing
    }

    fn end(&mut self, mut writing: Writing) {
        writing.txn.set_durability(self.any_durability());
        let transaction = match self.rng.u32(..8) {
            0 => return writing.txn.abort(),
            1 => return drop(writing.txn),
            2 | 3 => {
                let reader = writing.txn.commit_and_read().unwrap();
                let transaction = reader.id();
                self.readers.push((reader, writing.model.clone()));
                transaction
            }
            4 => writing.txn.commit_measured().unwrap().0,
            5 => writing.txn.commit_async().unwrap().transaction(),
            _ => writing.txn.commit().unwrap(),
        };
        assert!(transaction >= self.newest && transaction.0 <= self.newest.0 + 1);
        self.newest = transaction;
        self.committed = writing.model;
    }

    fn read(&mut self) {
        match self.rng.u32(..12) {
            0 => {
                let reader = self.database.begin_read().unwrap();
                assert_eq!(reader.id(), self.newest);
                self.readers.push((reader, self.committed.clone()));
            }
            1 if !self.readers.is_empty() => {
                let index = self.rng.usize(..self.readers.len());
                let (reader, model) = &mut self.readers[index];
                let is_older = reader.id() < self.newest;
                assert_eq!(reader.lag(), self.newest.0 - reader.id().0);
                assert_eq!(reader.refresh().unwrap(), is_older);
                *model = self.committed.clone();
            }
            2 if !self.readers.is_empty() => {
                let index = self.rng.usize(..self.readers.len());
                let (reader, model) = &self.readers[index];
                assert_same(reader, model);
                assert_same(&reader.clone(), model);
            }
            3 if self.readers.len() > 4 => {
                let index = self.rng.usize(..self.readers.len());
                self.readers.swap_remove(index);
            }
            _ => {}
        }
    }
}

fn run(seed: u64, steps: u32) {
    println!("seed {seed}");
    let (_directory, path) = temporary_path();
    let options = Options::new().write_memory_bytes(64 << 10);
    let database = options.open(&path).unwrap();
    let mut world = World {
        rng: Rng::with_seed(seed),
        database,
        committed: Model::default(),
        newest: TransactionId(0),
        writing: None,
        readers: Vec::new(),
    };
    for round in 0..4 {
        (0..steps).for_each(|_| world.step());
        if let Some(writing) = world.writing.take() {
            assert_same(&writing.txn, &writing.model);
            world.end(writing);
        }
        for (reader, model) in mem::take(&mut world.readers) {
            assert_same(&reader, &model);
        }
        let report = world
            .database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert!(report.is_clean(), "round {round}: {report:#?}");
        world.database.close().unwrap();
        world.database = options.open(&path).unwrap();
        assert_same(&world.database.begin_read().unwrap(), &world.committed);
    }
}

#[test]
fn random_transactions_match_the_model() {
    for seed in 0..8 {
        run(seed, 300);
    }
}
