//! Teak's hot paths, one at a time, in one thread, with the same records in every run. `cargo xtask
//! instructions` runs this twice under a tool that counts instructions, once [without the
//! work](Arguments::without_work). The difference is the cost of the work.
//! Every key that is looked up has been looked up before, so no page is read for the first time.

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use fastrand::Rng;
use std::{path::PathBuf, process, time::Duration};
use teak::{
    BulkOptions, Database, DetachedCursor, Durability, MultiTable, Options, Table,
    codec::{Bytes, Str},
};

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
const RANGES: usize = 500;
const RANGE: usize = 100;
const VALUES_OF_KEY: usize = 5;
/// Tables that the program has open beside the one that it writes to.
const OTHER_TABLES: usize = 1000;

/// Performs one of Teak's hot paths many times, and prints the number of operations.
#[derive(Parser)]
struct Arguments {
    /// The database, made by `prepare`, which the writing paths change
    database: PathBuf,
    #[arg(value_enum)]
    path: Path,
    /// Only make the preparations
    #[arg(long)]
    without_work: bool,
}

impl Arguments {
    fn measured(&self, work: impl FnOnce() -> Result<usize>) -> Result<usize> {
        match self.without_work {
            true => Ok(0),
            false => work(),
        }
    }
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
    /// With a cursor that gets the transaction at each step, like the cursors of the C interface
    DetachedScan,
    /// Records that iterators lend, of tables whose keys are text, bytes and numbers
    ScanTyped,
    /// Records that iterators return, of the same tables
    IterTyped,
    /// Records that an iterator over a range lends: 100 at a time
    RangeTyped,
    /// Pairs that an iterator over a table with five values per key lends
    MultiTyped,
    /// Batches of 10,000 records in random order
    InsertBatch,
    BulkLoad,
    BulkLoadUnsorted,
    LazyCommit,
    /// In a program that has 1,000 other tables open
    LazyCommitManyTables,
    /// To the tables, not to the log of the memtable
    DurableCommit,
}

type Key = [u8; 16];
type Record = (Key, [u8; VALUE_LEN]);

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    // Otherwise the clock would decide whether a flush happens during the work.
    let options = Options::new().flush_after(Duration::MAX);
    // Likewise, when small commits are merged. Lazy ones are merged by each flush.
    let options = options.memtable(!matches!(arguments.path, Path::DurableCommit));
    let database = options.open(&arguments.database)?;
    let mut transaction = database.begin_write()?;
    let table = transaction.create_table::<Bytes, Bytes>("records")?;
    transaction.commit()?;
    let operations = run(&arguments, &database, &table)?;
    println!("{operations}");
    if !matches!(arguments.path, Path::Prepare) {
        // Closing flushes and compacts, which is not part of the work.
        process::exit(0);
    }
    Ok(database.close()?)
}

fn run(arguments: &Arguments, database: &Database, table: &Table<Bytes, Bytes>) -> Result<usize> {
    let path = arguments.path;
    match path {
        Path::Prepare => insert(database, table, &records(KEY_SEED, RECORDS)),
        Path::Lookup | Path::GetMany | Path::BeginLookupEnd => {
            let mut keys: Vec<Key> = records(KEY_SEED, RECORDS).iter().map(|r| r.0).collect();
            Rng::with_seed(NEW_SEED).shuffle(&mut keys);
            keys.truncate(LOOKUPS);
            lookup(path, database, table, &keys)?;
            arguments.measured(|| lookup(path, database, table, &keys))
        }
        Path::Scan => {
            scan(database, table)?;
            arguments.measured(|| scan(database, table))
        }
        Path::DetachedScan => {
            detached_scan(database, table)?;
            arguments.measured(|| detached_scan(database, table))
        }
        Path::ScanTyped | Path::IterTyped | Path::RangeTyped | Path::MultiTyped => {
            let tables = TypedTables::create(database)?;
            tables.read(path, database)?;
            arguments.measured(|| tables.read(path, database))
        }
        Path::InsertBatch => {
            let new = records(NEW_SEED, BATCHES * BATCH);
            arguments.measured(|| {
                let inserted = new
                    .chunks(BATCH)
                    .map(|batch| insert(database, table, batch));
                inserted.sum()
            })
        }
        Path::BulkLoad | Path::BulkLoadUnsorted => bulk_load(arguments, database),
        Path::LazyCommitManyTables => {
            open_other_tables(database)?;
            commit(arguments, database, table)
        }
        Path::LazyCommit | Path::DurableCommit => commit(arguments, database, table),
    }
}

/// Records that depend only on the seed.
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

fn lookup(
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

fn detached_scan(database: &Database, table: &Table<Bytes, Bytes>) -> Result<usize> {
    let transaction = database.begin_read()?;
    let mut cursor = DetachedCursor::new(table);
    let (mut count, mut bytes) = (0, 0);
    while cursor.next(&transaction)? {
        bytes += cursor.key().len() + cursor.value(&transaction)?.len();
        count += 1;
    }
    ensure!(bytes >= count * VALUE_LEN, "values are too short");
    Ok(count)
}

/// Tables with keys of several types.
struct TypedTables {
    texts: Table<Str, u64>,
    bytes: Table<Bytes, u64>,
    numbers: Table<u64, u64>,
    pairs: MultiTable<Str, u64>,
}

impl TypedTables {
    fn create(database: &Database) -> Result<Self> {
        let mut transaction = database.begin_write()?;
        transaction.set_durability(Durability::Lazy);
        let tables = Self {
            texts: transaction.create_table("texts")?,
            bytes: transaction.create_table("bytes")?,
            numbers: transaction.create_table("numbers")?,
            pairs: transaction.create_multi_table("pairs")?,
        };
        let keys: Vec<String> = (0..RECORDS).map(text).collect();
        let numbered = || keys.iter().zip(0..);
        let records: Vec<(&str, u64)> = numbered().map(|(key, value)| (&key[..], value)).collect();
        tables.texts.insert_many(&mut transaction, &records)?;
        let pairs = numbered().map(|(_, value)| (&keys[value as usize / VALUES_OF_KEY][..], value));
        let pairs: Vec<(&str, u64)> = pairs.collect();
        tables.pairs.insert_many(&mut transaction, &pairs)?;
        let records = numbered().map(|(key, value)| (key.as_bytes(), value));
        let records: Vec<(&[u8], u64)> = records.collect();
        tables.bytes.insert_many(&mut transaction, &records)?;
        let records: Vec<(u64, u64)> = (0..RECORDS as u64).map(|key| (7 * key, key)).collect();
        tables.numbers.insert_many(&mut transaction, &records)?;
        transaction.commit()?;
        Ok(tables)
    }

    fn read(&self, path: Path, database: &Database) -> Result<usize> {
        let transaction = database.begin_read()?;
        let (mut count, mut sum) = (0, 0);
        let mut note = |value: u64| {
            count += 1;
            sum += value;
        };
        match path {
            Path::RangeTyped => {
                for number in 0..RANGES {
                    let from = text(number * 7919 % (RECORDS - RANGE));
                    let mut records = self.texts.range(from..).iter(&transaction)?;
                    for _ in 0..RANGE {
                        let lent = records.lend()?;
                        lent.iter()
                            .for_each(|(key, value)| note(key.len() as u64 + value));
                    }
                }
            }
            Path::MultiTyped => {
                let mut pairs = self.pairs.iter(&transaction)?;
                while let Some((key, value)) = pairs.lend()? {
                    note(key.len() as u64 + value);
                }
            }
            Path::IterTyped => {
                for record in self.texts.iter(&transaction)? {
                    let (key, value) = record?;
                    note(key.len() as u64 + value);
                }
                for record in self.bytes.iter(&transaction)? {
                    let (key, value) = record?;
                    note(key.len() as u64 + value);
                }
                for record in self.numbers.iter(&transaction)? {
                    let (key, value) = record?;
                    note(key + value);
                }
            }
            _ => {
                let mut records = self.texts.iter(&transaction)?;
                while let Some((key, value)) = records.lend()? {
                    note(key.len() as u64 + value);
                }
                let mut records = self.bytes.iter(&transaction)?;
                while let Some((key, value)) = records.lend()? {
                    note(key.len() as u64 + value);
                }
                let mut records = self.numbers.iter(&transaction)?;
                while let Some((key, value)) = records.lend()? {
                    note(key + value);
                }
            }
        }
        ensure!(count >= RECORDS && sum > 0, "records are missing");
        Ok(count)
    }
}

/// A key of 18 bytes.
fn text(number: usize) -> String {
    let scattered = number.wrapping_mul(0x9e37_79b9) & 0xffff;
    format!("user:{number:08}:{scattered:04x}")
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

fn bulk_load(arguments: &Arguments, database: &Database) -> Result<usize> {
    let mut new = records(NEW_SEED, RECORDS);
    if matches!(arguments.path, Path::BulkLoad) {
        new.sort_unstable();
    }
    arguments.measured(|| {
        let mut transaction = database.begin_write()?;
        transaction.set_durability(Durability::Lazy);
        let table = transaction.create_table::<Bytes, Bytes>("loaded")?;
        let pairs = new.iter().map(|(key, value)| (&key[..], &value[..]));
        match arguments.path {
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

/// Makes other tables, and reads each of them, so that states know their roots.
fn open_other_tables(database: &Database) -> Result<()> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Lazy);
    let mut tables = Vec::new();
    for number in 0..OTHER_TABLES {
        let table = transaction.create_table::<Bytes, Bytes>(&format!("other {number}"))?;
        table.insert(&mut transaction, b"key", b"value")?;
        tables.push(table);
    }
    transaction.commit()?;
    database.sync()?;
    let transaction = database.begin_read()?;
    for table in &tables {
        ensure!(
            table.get(&transaction, b"key")?.is_some(),
            "a record is missing"
        );
    }
    Ok(())
}

/// Alternates between a new value for an existing key and a new key.
fn commit(
    arguments: &Arguments,
    database: &Database,
    table: &Table<Bytes, Bytes>,
) -> Result<usize> {
    let (durability, count) = match arguments.path {
        Path::LazyCommit | Path::LazyCommitManyTables => (Durability::Lazy, LAZY_COMMITS),
        _ => (Durability::Durable, DURABLE_COMMITS),
    };
    let (old, mut new) = (records(KEY_SEED, count), records(NEW_SEED, count));
    for (old, new) in old.iter().zip(&mut new).step_by(2) {
        new.0 = old.0;
    }
    arguments.measured(|| {
        for some in new.chunks(PER_FLUSH) {
            for (key, value) in some {
                let mut transaction = database.begin_write()?;
                transaction.set_durability(durability);
                table.insert(&mut transaction, &key[..], &value[..])?;
                transaction.commit()?;
            }
            // Flushed pages can be used again.
            database.sync()?;
        }
        Ok(new.len())
    })
}
