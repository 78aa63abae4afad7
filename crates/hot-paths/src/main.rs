//! Teak's hot paths, each by itself, in one thread, with the same records in every run. `cargo xtask instructions` runs
//! it under a tool that counts the instructions of the function [`measured`] and what that calls, and nothing else.
//!
//! What is looked up was looked up before, so that no page is seen for the first time.

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use fastrand::Rng;
use std::{hint::black_box, path::PathBuf, time::Duration};
use teak::{BulkOptions, Database, Durability, Options, Table, codec::Bytes};

const RECORDS: usize = 50_000;
const VALUE_LEN: usize = 100;
const KEY_SEED: u64 = 0x7061_7468;
const NEW_SEED: u64 = 0x6e65_7773;
const LOOKUPS: usize = 10_000;
const GROUP: usize = 32;
const BATCHES: usize = 3;
const BATCH: usize = 10_000;
const LAZY_COMMITS: usize = 2000;
const DURABLE_COMMITS: usize = 200;
const PER_FLUSH: usize = 200;

/// Does one of Teak's hot paths many times, and prints how many.
#[derive(Parser)]
struct Arguments {
    /// The database, which `prepare` makes, and those that write change
    database: PathBuf,
    #[arg(value_enum)]
    path: Path,
}

/// A hot path. One operation is a record, or a commit.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Path {
    /// Make the database
    Prepare,
    Lookup,
    /// 32 at a time
    GetMany,
    BeginLookupEnd,
    Scan,
    /// Batches of 10,000 records in random order
    InsertBatch,
    BulkLoad,
    BulkLoadUnsorted,
    LazyCommit,
    DurableCommit,
}

type Key = [u8; 16];
type Record = (Key, [u8; VALUE_LEN]);

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    // Whether a flush falls into the work would be up to the clock.
    let options = Options::new().flush_after(Duration::MAX);
    let database = options.open(&arguments.database)?;
    let mut transaction = database.begin_write()?;
    let table = transaction.create_table::<Bytes, Bytes>("records")?;
    transaction.commit()?;
    let operations = run(arguments.path, &database, &table)?;
    println!("{operations}");
    Ok(database.close()?)
}

/// All instructions below this are counted.
#[inline(never)]
fn measured(work: impl FnOnce() -> Result<usize>) -> Result<usize> {
    black_box(work())
}

fn run(path: Path, database: &Database, table: &Table<Bytes, Bytes>) -> Result<usize> {
    match path {
        Path::Prepare => insert(database, table, &records(KEY_SEED, RECORDS)),
        Path::Lookup | Path::GetMany | Path::BeginLookupEnd => {
            let mut keys: Vec<Key> = records(KEY_SEED, RECORDS).iter().map(|r| r.0).collect();
            Rng::with_seed(NEW_SEED).shuffle(&mut keys);
            keys.truncate(LOOKUPS);
            look_up(path, database, table, &keys)?;
            measured(|| look_up(path, database, table, &keys))
        }
        Path::Scan => {
            scan(database, table)?;
            measured(|| scan(database, table))
        }
        Path::InsertBatch => {
            let new = records(NEW_SEED, BATCHES * BATCH);
            measured(|| {
                let inserted = new
                    .chunks(BATCH)
                    .map(|batch| insert(database, table, batch));
                inserted.sum()
            })
        }
        Path::BulkLoad | Path::BulkLoadUnsorted => bulk_load(path, database),
        Path::LazyCommit => commit(database, table, Durability::Lazy, LAZY_COMMITS),
        Path::DurableCommit => commit(database, table, Durability::Durable, DURABLE_COMMITS),
    }
}

/// The same records for the same seed.
fn records(seed: u64, count: usize) -> Vec<Record> {
    let mut rng = Rng::with_seed(seed);
    let record = |_| {
        let mut value = [0; VALUE_LEN];
        let key = rng.u128(..).to_be_bytes();
        rng.fill(&mut value);
        (key, value)
    };
    (0..count).map(record).collect()
}

fn look_up(
    path: Path,
    database: &Database,
    table: &Table<Bytes, Bytes>,
    keys: &[Key],
) -> Result<usize> {
    let mut found = 0;
    match path {
        Path::GetMany => {
            let transaction = database.begin_read()?;
            for group in keys.chunks(GROUP) {
                let group: Vec<&[u8]> = group.iter().map(|key| &key[..]).collect();
                let values = table.get_many(&transaction, &group)?;
                found += values.iter().flatten().count();
            }
        }
        Path::BeginLookupEnd => {
            for key in keys {
                let transaction = database.begin_read()?;
                found += usize::from(table.get(&transaction, &key[..])?.is_some());
            }
        }
        _ => {
            let transaction = database.begin_read()?;
            for key in keys {
                found += usize::from(table.get(&transaction, &key[..])?.is_some());
            }
        }
    }
    ensure!(found == keys.len(), "a record is missing");
    Ok(found)
}

fn scan(database: &Database, table: &Table<Bytes, Bytes>) -> Result<usize> {
    let transaction = database.begin_read()?;
    let mut cursor = table.cursor(&transaction)?;
    let (mut count, mut bytes) = (0, 0);
    let mut found = cursor.first()?;
    while found {
        bytes += cursor.key().len() + cursor.value()?.len();
        count += 1;
        found = cursor.next()?;
    }
    ensure!(bytes >= count * VALUE_LEN, "values are too short");
    Ok(count)
}

fn insert(database: &Database, table: &Table<Bytes, Bytes>, records: &[Record]) -> Result<usize> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Lazy);
    let pairs: Vec<(&[u8], &[u8])> = records
        .iter()
        .map(|(key, value)| (&key[..], &value[..]))
        .collect();
    table.insert_many(&mut transaction, &pairs)?;
    transaction.commit()?;
    Ok(records.len())
}

fn bulk_load(path: Path, database: &Database) -> Result<usize> {
    let mut new = records(NEW_SEED, RECORDS);
    if matches!(path, Path::BulkLoad) {
        new.sort_unstable();
    }
    measured(|| {
        let mut transaction = database.begin_write()?;
        transaction.set_durability(Durability::Lazy);
        let table = transaction.create_table::<Bytes, Bytes>("loaded")?;
        let pairs = new.iter().map(|(key, value)| (&key[..], &value[..]));
        match path {
            Path::BulkLoad => table.bulk_load(&mut transaction, pairs)?,
            _ => {
                let options = BulkOptions::default();
                table.bulk_load_unsorted(&mut transaction, pairs, options, &mut |_| {})?
            }
        };
        transaction.commit()?;
        Ok(new.len())
    })
}

/// In turn a new value for an old key, and a new key.
fn commit(
    database: &Database,
    table: &Table<Bytes, Bytes>,
    durability: Durability,
    count: usize,
) -> Result<usize> {
    let (old, mut new) = (records(KEY_SEED, count), records(NEW_SEED, count));
    for (old, new) in old.iter().zip(&mut new).step_by(2) {
        new.0 = old.0;
    }
    let committed = new.chunks(PER_FLUSH).map(|some| {
        // What was flushed can be used again.
        database.sync()?;
        measured(|| {
            for (key, value) in some {
                let mut transaction = database.begin_write()?;
                transaction.set_durability(durability);
                table.insert(&mut transaction, &key[..], &value[..])?;
                transaction.commit()?;
            }
            Ok(some.len())
        })
    });
    committed.sum()
}
