//! A program that makes small commits, and what they leave.

use crate::{Context, Result};
use fastrand::Rng;
use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, Write},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};
use teak::{Database, Durability, Options, ReadTxn, Table, Transaction, WriteTxn, codec::Bytes};

/// The key that has the number of the last commit.
const NUMBER: &[u8] = b"number";
pub(super) const TABLE: &str = "records";
const KEYS: u32 = 300;
const THREADS: usize = 2;
/// After how many commits a thread begins to read, and how many of its readers it keeps.
const READ_EVERY: u64 = 20;
const READERS_MAX: usize = 3;
/// Commits of some databases are merged at half of this age.
const FLUSH_AFTER: Duration = Duration::from_millis(20);
/// After how many commits some programs pause.
const PAUSE_EVERY: u64 = 150;
const PAUSE: Duration = Duration::from_millis(12);

/// One of the programs that `memtable` kills
#[derive(clap::Args)]
pub(crate) struct SmallCommitsArguments {
    #[arg(long)]
    path: PathBuf,
    #[arg(long)]
    seed: u64,
}

type Records = Table<Bytes, Bytes>;

/// The content of the table.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct RecordsFound {
    pub(super) number: u64,
    records: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// The content after the commits so far.
#[derive(Clone)]
pub(super) struct Expected {
    seed: u64,
    state: RecordsFound,
}

impl Expected {
    pub(super) fn new(seed: u64) -> Self {
        let state = RecordsFound::default();
        Self { seed, state }
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn number(&self) -> u64 {
        self.state.number
    }

    /// Fails unless `found` is the content after commit `returned`, the last one that is known to
    /// have returned, or after one of those that had begun.
    pub(super) fn compare(&mut self, found: &RecordsFound, returned: u64) -> Result {
        self.compare_within(found, returned..=returned + THREADS as u64)
    }

    /// Fails unless `found` is the content after commit `earliest` or a later one that may have
    /// been made.
    pub(super) fn compare_possible(
        &mut self,
        found: &RecordsFound,
        earliest: u64,
        returned: u64,
    ) -> Result {
        self.compare_within(found, earliest..=returned + THREADS as u64)
    }

    /// Fails unless `found` is the content after one of these commits.
    pub(super) fn compare_within(
        &mut self,
        found: &RecordsFound,
        commits: RangeInclusive<u64>,
    ) -> Result {
        ensure!(
            commits.contains(&found.number),
            "one of the commits {commits:?} was to be the last, and commit {} is",
            found.number
        );
        for number in self.state.number + 1..=found.number {
            for (key, value) in changes(self.seed, number) {
                match value {
                    Some(value) => self.state.records.insert(key, value),
                    None => self.state.records.remove(&key),
                };
            }
            self.state.number = number;
        }
        ensure!(
            self.state == *found,
            "other records are there than commit {} leaves",
            found.number
        );
        Ok(())
    }
}

/// The changes of a commit.
fn changes(seed: u64, number: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut rng = Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let change = |_| {
        let key = key(rng.u32(0..KEYS));
        let len = rng.usize(0..300);
        let value = (rng.u8(0..4) > 0).then(|| vec![rng.u8(..); len]);
        (key, value)
    };
    let count = match number % 97 {
        11 => 500,
        _ => 1 + number as usize % 4,
    };
    (0..count).map(change).collect()
}

pub(super) fn open(path: &Path) -> Result<Database> {
    let options = Options::new().durability(Durability::Lazy);
    Ok(options.open(path)?)
}

/// Opens or creates a database. In some the memtable is merged soon, which is stored in the file.
pub(super) fn open_first(path: &Path, seed: u64) -> Result<Database> {
    let options = Options::new().durability(Durability::Lazy);
    let options = match seed % 4 {
        0 | 1 => options.flush_after(FLUSH_AFTER),
        _ => options,
    };
    Ok(options.open(path)?)
}

/// The content of the table of a database.
pub(super) fn state_of(database: &Database) -> Result<RecordsFound> {
    state_in(&database.begin_read()?)
}

fn state_in(txn: &ReadTxn) -> Result<RecordsFound> {
    let mut state = RecordsFound::default();
    let records: Records = match txn.open_table(TABLE) {
        Err(teak::Error::TableNotFound(_)) => return Ok(state),
        opened => opened?,
    };
    for record in records.range(..).iter(txn)? {
        let (key, value) = record?;
        match key == NUMBER {
            true => state.number = u64::from_le_bytes(value.try_into()?),
            false => drop(state.records.insert(key.to_vec(), value.to_vec())),
        }
    }
    Ok(state)
}

/// A reader that stays while others commit and merge, and what it found at first.
struct KeptReader {
    txn: ReadTxn,
    found: RecordsFound,
}

impl KeptReader {
    fn begin(database: &Database) -> Result<Self> {
        let txn = database.begin_read()?;
        let found = Self::find_all(&txn).context("a reader looks up")?;
        Ok(Self { txn, found })
    }

    /// The content of the table, by lookups alone.
    fn find_all(txn: &ReadTxn) -> Result<RecordsFound> {
        let table: Records = txn.open_table(TABLE)?;
        let mut found = RecordsFound::default();
        if let Some(number) = table.get(txn, NUMBER)? {
            found.number = u64::from_le_bytes(number.try_into()?);
        }
        for key in (0..KEYS).map(key) {
            if let Some(value) = table.get(txn, &key[..])? {
                found.records.insert(key, value.to_vec());
            }
        }
        Ok(found)
    }

    /// Fails unless it finds what it found before.
    fn end(self, scans: bool) -> Result {
        let again = Self::find_all(&self.txn).context("a reader looks up again")?;
        ensure!(
            again == self.found,
            "a reader finds other records than before"
        );
        if scans {
            let scanned = state_in(&self.txn).context("a reader scans")?;
            ensure!(
                scanned == self.found,
                "a reader scans other records than it finds"
            );
        }
        Ok(())
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

/// Whether a program only makes small commits of one durability, so that they go on while others
/// are merged.
/// Others read, flush and make whole transactions in between.
fn is_steady(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

/// Whether all its commits are durable.
fn is_durable(seed: u64) -> bool {
    seed.is_multiple_of(3)
}

/// Commits until it is killed, and prints the number of each commit that has returned.
pub(crate) fn run(arguments: &SmallCommitsArguments) -> Result {
    let database = open_first(&arguments.path, arguments.seed)?;
    let mut txn = database.begin_write()?;
    txn.create_table::<Bytes, Bytes>(TABLE)?;
    txn.commit()?;
    let last = AtomicU64::new(0);
    let ended = thread::scope(|scope| {
        let write = || write(arguments.seed, &database, &last);
        let threads = [0; THREADS].map(|_| scope.spawn(write));
        threads.map(|thread| thread.join().expect("no thread panics"))
    });
    ended.into_iter().collect()
}

/// Commits in turns with other threads. While one of them merges, the others go on. `last` is the
/// last commit that has returned.
fn write(seed: u64, database: &Database, last: &AtomicU64) -> Result {
    let mut output = io::stdout();
    let mut readers = VecDeque::new();
    loop {
        let returned = last.load(SeqCst);
        let mut txn = database.begin_write().context("beginning to write")?;
        let records: Records = txn.open_table(TABLE)?;
        let number = commit(seed, &records, &mut txn)?;
        ensure!(
            number > returned,
            "commit {returned} had returned, and {number} is the next one"
        );
        if seed.is_multiple_of(4) && number.is_multiple_of(PAUSE_EVERY) {
            // No other thread commits meanwhile.
            thread::sleep(PAUSE);
        }
        txn.commit().context("committing")?;
        last.fetch_max(number, SeqCst);
        // One call of the system, so that no line is printed in part.
        output.write_all(format!("{number}\n").as_bytes())?;
        if number.is_multiple_of(READ_EVERY) {
            readers.push_back(KeptReader::begin(database)?);
        }
        if readers.len() > READERS_MAX
            && let Some(reader) = readers.pop_front()
        {
            reader.end(!is_steady(seed))?;
        }
        match number % 97 {
            _ if is_steady(seed) => {}
            13 => {
                let seen = state_of(database).context("a new reader")?.number;
                ensure!(seen >= number, "a reader sees commit {seen} after {number}");
            }
            40 => database.sync()?,
            _ => {}
        }
    }
}

/// Makes the changes of the next commit, and returns its number.
pub(super) fn commit(seed: u64, records: &Records, txn: &mut WriteTxn) -> Result<u64> {
    let number = match records.get(&*txn, NUMBER).context("the number")? {
        Some(before) => u64::from_le_bytes(before.try_into()?) + 1,
        None => 1,
    };
    for (key, value) in changes(seed, number) {
        match value {
            Some(value) => records
                .insert(txn, &key[..], &value[..])
                .context("inserting")?,
            None => drop(records.remove(txn, &key[..]).context("removing")?),
        }
    }
    if is_durable(seed) {
        txn.set_durability(Durability::Durable);
    }
    match number % 61 {
        _ if is_steady(seed) => {}
        7 => txn.set_durability(Durability::Durable),
        // Makes it a whole transaction.
        23 => drop(records.len(&*txn).context("the length")?),
        _ => {}
    }
    records.insert(txn, NUMBER, &number.to_le_bytes()[..])?;
    Ok(number)
}
