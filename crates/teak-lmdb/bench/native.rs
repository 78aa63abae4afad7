//! The workloads of `works.c` through Teak's own interface, with equal keys, values, order and
//! output.

use std::{
    env,
    error::Error,
    fs,
    path::Path,
    time::{Duration, Instant},
};
use teak::{
    Cursor, Database, Durability, Options, SeekOp, Table, TableDef, TableOptions, Transaction,
    WriteTxn, codec::Bytes,
};

type Done<T = ()> = Result<T, Box<dyn Error>>;

const VALUE_LEN: usize = 100;
const BATCH: u64 = 1000;

/// Maps each number to a different one (SplitMix64, of Steele, Lea and Flood).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn key_of(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed(number).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

fn value_of(content: u64) -> [u8; VALUE_LEN] {
    let mut value = [0; VALUE_LEN];
    value[..8].copy_from_slice(&content.to_ne_bytes());
    value
}

fn content_of(value: &[u8]) -> u64 {
    value
        .first_chunk()
        .map_or(u64::MAX, |content| u64::from_ne_bytes(*content))
}

fn report(work: &str, count: u64, begin: Instant) {
    let each = begin.elapsed().as_nanos() as f64 / count as f64;
    println!("{work} {count} {each:.2}");
}

fn expect(found: u64, wanted: u64, subject: &str) -> Done {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{subject}: {found} instead of {wanted}").into()),
    }
}

struct Works {
    database: Database,
    table: Table<Bytes, Bytes>,
    records: u64,
}

impl Works {
    fn open(directory: &Path, records: u64) -> Done<Self> {
        Self::of(Self::database(directory)?, records)
    }

    /// Closes without a flush of lazy commits and keeps the lock file, as the library does.
    fn database(directory: &Path) -> Done<Database> {
        let options = Options::new()
            .durability(Durability::Lazy)
            .flush_on_close(false)
            .remove_lock_file(false);
        Ok(options.open(directory.join("native.teak"))?)
    }

    /// Makes a table as the library makes it: keys whole in their pages.
    fn of(database: Database, records: u64) -> Done<Self> {
        let mut txn = database.begin_write()?;
        let options = TableOptions::new().share_prefixes(false);
        let table = TableDef::new("").options(options).create(&mut txn)?;
        txn.commit()?;
        Ok(Self {
            database,
            table,
            records,
        })
    }

    fn put(&self, txn: &mut WriteTxn, number: u64, content: u64) -> Done {
        self.table
            .insert(txn, &key_of(number)[..], &value_of(content)[..])?;
        Ok(())
    }

    fn load(&self) -> Done {
        let begin = Instant::now();
        let mut number = 0;
        while number < self.records {
            let mut txn = self.database.begin_write()?;
            let end = self.records.min(number + BATCH);
            for number in number..end {
                self.put(&mut txn, number, number)?;
            }
            txn.commit()?;
            number = end;
        }
        report("load", self.records, begin);
        Ok(())
    }

    fn get_one(&self, txn: &impl Transaction, draw: u64) -> Done {
        let number = mixed(draw) % self.records;
        let value = self.table.get(txn, &key_of(number)[..])?;
        expect(value.map_or(u64::MAX, content_of), number, "get")
    }

    fn get(&self) -> Done {
        let txn = self.database.begin_read()?;
        let begin = Instant::now();
        for draw in 0..self.records {
            self.get_one(&txn, draw)?;
        }
        report("get", self.records, begin);
        Ok(())
    }

    fn scan(&self) -> Done {
        let txn = self.database.begin_read()?;
        let mut cursor = self.table.cursor(&txn)?;
        let begin = Instant::now();
        let (mut count, mut sum) = (0, 0_u64);
        let mut is_there = cursor.first()?;
        while is_there {
            sum += content_of(cursor.value()?);
            count += 1;
            is_there = cursor.next()?;
        }
        report("scan", count, begin);
        expect(count, self.records, "scan")?;
        expect(sum, (0..self.records).sum(), "scan")
    }

    fn ranges(&self) -> Done {
        let txn = self.database.begin_read()?;
        let mut cursor: Cursor<'_> = self.table.cursor(&txn)?;
        let (count, mut read) = (self.records / 10, 0);
        let begin = Instant::now();
        for draw in 0..count {
            let mut is_there = cursor.seek(SeekOp::GreaterOrEqual, &key_of(self.records + draw))?;
            for _ in 0..10 {
                if !is_there {
                    break;
                }
                read += cursor.value()?.len();
                is_there = cursor.next()?;
            }
        }
        report("range", count, begin);
        match read != 0 && read % VALUE_LEN == 0 {
            true => Ok(()),
            false => Err(format!("ranges: {read} bytes").into()),
        }
    }

    /// A transaction for each read. There are no transactions to renew, so this is both workloads.
    fn read_transactions(&self, work: &str) -> Done {
        let begin = Instant::now();
        for draw in 0..self.records {
            self.get_one(&self.database.begin_read()?, draw)?;
        }
        report(work, self.records, begin);
        Ok(())
    }

    fn empty_transactions(&self) -> Done {
        let begin = Instant::now();
        for _ in 0..self.records {
            self.database.begin_read()?;
        }
        report("empty-transaction", self.records, begin);
        Ok(())
    }

    fn single_records(&self) -> Done {
        let count = self.records / 5;
        let begin = Instant::now();
        for draw in 0..count {
            let mut txn = self.database.begin_write()?;
            self.put(&mut txn, 2 * self.records + draw, draw)?;
            txn.commit()?;
        }
        report("single-record", count, begin);
        Ok(())
    }

    fn small_transactions(&self) -> Done {
        let count = self.records / 20;
        let begin = Instant::now();
        for draw in 0..count {
            let mut txn = self.database.begin_write()?;
            for each in 0..10 {
                self.put(&mut txn, mixed(draw * 10 + each) % self.records, draw)?;
            }
            txn.commit()?;
        }
        report("transaction", count, begin);
        Ok(())
    }

    fn durable_transactions(&self, count: u64) -> Done {
        self.database.sync()?;
        let begin = Instant::now();
        for draw in 0..count {
            let mut txn = self.database.begin_write()?;
            txn.set_durability(Durability::Durable);
            self.put(&mut txn, mixed(draw) % self.records, draw + 1)?;
            txn.commit()?;
        }
        report("durable", count, begin);
        Ok(())
    }
}

/// Creates databases with a few records, closes them, and then opens them to read.
fn sessions(directory: &Path, count: u64) -> Done {
    let [mut creating, mut closing, mut opening] = [Duration::ZERO; 3];
    for number in 0..count {
        let path = directory.join(number.to_string());
        fs::create_dir(&path)?;
        let begin = Instant::now();
        let session = Works::open(&path, BATCH)?;
        let mut txn = session.database.begin_write()?;
        for each in 0..BATCH {
            session.put(&mut txn, each, each)?;
        }
        txn.commit()?;
        let made = Instant::now();
        drop(session);
        let closed = Instant::now();
        let session = Works::open(&path, BATCH)?;
        session.get_one(&session.database.begin_read()?, number)?;
        drop(session);
        opening += closed.elapsed();
        closing += closed - made;
        creating += made - begin;
    }
    let end = Instant::now();
    report("create", count, end - creating);
    report("close", count, end - closing);
    report("open-and-close", count, end - opening);
    Ok(())
}

/// New databases of which each gets a thousand records, one in a commit, and is closed. The first
/// commit is the one that creates the table.
fn short_runs(directory: &Path, count: u64) -> Done {
    let [mut opening, mut first, mut others, mut closing] = [Duration::ZERO; 4];
    for number in 0..count {
        let path = directory.join(format!("short-{number}"));
        fs::create_dir(&path)?;
        let begin = Instant::now();
        let database = Works::database(&path)?;
        let opened = Instant::now();
        let works = Works::of(database, BATCH)?;
        let committed = Instant::now();
        for each in 1..BATCH {
            let mut txn = works.database.begin_write()?;
            works.put(&mut txn, each, each)?;
            txn.commit()?;
        }
        let filled = Instant::now();
        drop(works);
        closing += filled.elapsed();
        others += filled - committed;
        first += committed - opened;
        opening += opened - begin;
    }
    let end = Instant::now();
    report("short-open", count, end - opening);
    report("short-first-commit", count, end - first);
    report("short-999-commits", count, end - others);
    report("short-close", count, end - closing);
    Ok(())
}

fn main() -> Done {
    let words: Vec<String> = env::args().collect();
    let [_, directory, records, durable] = &words[..] else {
        return Err("usage: native DIRECTORY RECORDS DURABLE".into());
    };
    let works = Works::open(Path::new(directory), records.parse()?)?;
    works.load()?;
    works.get()?;
    works.scan()?;
    works.ranges()?;
    works.read_transactions("read-transaction")?;
    works.read_transactions("renewal")?;
    works.empty_transactions()?;
    works.small_transactions()?;
    works.single_records()?;
    sessions(Path::new(directory), 50)?;
    short_runs(Path::new(directory), 12)?;
    works.durable_transactions(durable.parse()?)
}
