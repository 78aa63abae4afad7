//! The work of a process with the file, and its times.

use crate::{
    arguments::SpaceMapProcess,
    data::{DataSet, Key, random_key},
    latencies::Latencies,
    process::Memory,
};
use anyhow::Result;
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use std::time::Instant;
use teak::{Database, Durability, Table, Transaction, WriteTxn, codec::Bytes};

pub(super) const RECORDS: usize = 100_000;
const SEED: u64 = 0x636f_6d6d;
/// Dead pages that a commit leaves in any case.
const SETTLED_PAGES: u64 = 64;
/// The maximum number of commits until no page is pending.
const SETTLING_MAX: u32 = 10_000;
/// Changes in a commit that exceed the room in the log, which forces a checkpoint of the free map.
const FOLDED: usize = 500;
const FOLDS: u32 = 50;
/// Values of 1 MiB.
const MEDIUM_VALUES: u32 = 5;
const MIB: u64 = 1 << 20;

/// The result of a process.
#[derive(Serialize, Deserialize)]
pub(super) struct SpaceMapOutcome {
    pub(super) open_us: f64,
    /// When it was opened.
    pub(super) memory: Memory,
    /// `None` if the database was only opened.
    pub(super) work: Option<SpaceMapWork>,
}

/// The times of the commits of one kind.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SpaceMapTimes {
    pub(super) count: u64,
    pub(super) median_us: f64,
    pub(super) p99_us: f64,
    pub(super) longest_us: f64,
}

/// A commit of one large value.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct LargeValue {
    pub(super) mib: u64,
    /// Whether no free extent was long enough.
    pub(super) file_grew: bool,
    pub(super) insert_us: f64,
    pub(super) commit_us: f64,
}

/// The times of the commits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SpaceMapWork {
    /// The first durable commits, until the dead pages are free.
    pub(super) settling: SpaceMapTimes,
    pub(super) durable: SpaceMapTimes,
    /// Commits of many changes, with a checkpoint of the free map, until the call returns.
    pub(super) checkpointing: SpaceMapTimes,
    pub(super) large: Vec<LargeValue>,
    /// Until the call returns.
    pub(super) asynchronous: SpaceMapTimes,
    /// The first one makes the engine search for missing blocks of the file.
    pub(super) first_lazy_us: Option<f64>,
    pub(super) lazy: Option<SpaceMapTimes>,
    /// At the end of all work.
    pub(super) memory_after: Memory,
    pub(super) close_us: f64,
}

/// The open database.
struct SpaceMapWriter {
    database: Database,
    table: Table<Bytes, Bytes>,
    keys: Vec<Key>,
    rng: Rng,
}

/// Does `task`, and reports on standard output.
pub(crate) fn run_process(task: &SpaceMapProcess) -> Result<()> {
    let begin = Instant::now();
    let database = Database::open(&task.path)?;
    let open_us = microseconds(begin);
    let memory = Memory::now();
    let work = match task.commits {
        0 => None,
        commits => Some(SpaceMapWriter::new(database)?.work(commits, task)?),
    };
    let outcome = SpaceMapOutcome {
        open_us,
        memory,
        work,
    };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}

impl SpaceMapWriter {
    fn new(database: Database) -> Result<Self> {
        let table = database.begin_read()?.open_table("records")?;
        Ok(Self {
            database,
            table,
            keys: keys(),
            rng: Rng::with_seed(SEED),
        })
    }

    fn work(mut self, commits: u32, task: &SpaceMapProcess) -> Result<SpaceMapWork> {
        let settling = self.settle()?;
        let durable = self.small(commits, Durability::Durable)?;
        let checkpointing = self.checkpoint()?;
        let mut large = Vec::new();
        for _ in 0..MEDIUM_VALUES {
            large.push(self.large(1)?);
        }
        for mib in [64, task.largest_mib] {
            large.push(self.large(mib)?);
        }
        // The asynchronous commits are flushed before a durable one.
        let asynchronous = self.small(commits, Durability::Async)?;
        self.database.sync()?;
        let (mut first_lazy_us, mut lazy) = (None, None);
        if task.lazy {
            first_lazy_us = Some(self.small(1, Durability::Lazy)?.longest_us);
            lazy = Some(self.small(commits, Durability::Lazy)?);
        }
        let memory_after = Memory::now();
        let begin = Instant::now();
        self.database.close()?;
        Ok(SpaceMapWork {
            settling,
            durable,
            checkpointing,
            large,
            asynchronous,
            first_lazy_us,
            lazy,
            memory_after,
            close_us: microseconds(begin),
        })
    }

    /// Commits durably until the dead pages are free.
    fn settle(&mut self) -> Result<SpaceMapTimes> {
        let mut latencies = Latencies::new()?;
        for _ in 0..SETTLING_MAX {
            latencies.time(|| self.commit(1, Durability::Durable))?;
            if self.database.stat()?.pending_pages < SETTLED_PAGES {
                break;
            }
        }
        Ok(SpaceMapTimes::of(&latencies))
    }

    fn small(&mut self, count: u32, durability: Durability) -> Result<SpaceMapTimes> {
        let mut latencies = Latencies::new()?;
        for _ in 0..count {
            latencies.time(|| self.commit(1, durability))?;
        }
        Ok(SpaceMapTimes::of(&latencies))
    }

    /// Asynchronous commits, each of them on the disk before the next.
    fn checkpoint(&mut self) -> Result<SpaceMapTimes> {
        let mut latencies = Latencies::new()?;
        for _ in 0..FOLDS {
            latencies.time(|| self.commit(FOLDED, Durability::Async))?;
            self.database.sync()?;
        }
        Ok(SpaceMapTimes::of(&latencies))
    }

    /// A durable commit of a new record with a large value.
    fn large(&mut self, mib: u64) -> Result<LargeValue> {
        let value = vec![self.rng.u8(..); usize::try_from(mib * MIB)?];
        let key = random_key(&mut self.rng);
        let pages_before = self.database.stat()?.page_count;
        let begin = Instant::now();
        let mut txn = self.begin(Durability::Durable)?;
        self.table.insert(&mut txn, key, &value)?;
        let insert_us = microseconds(begin);
        let begin = Instant::now();
        txn.commit()?;
        Ok(LargeValue {
            mib,
            insert_us,
            commit_us: microseconds(begin),
            file_grew: self.database.stat()?.page_count > pages_before,
        })
    }

    /// Gives `count` random records new values.
    fn commit(&mut self, count: usize, durability: Durability) -> Result<()> {
        let mut txn = self.begin(durability)?;
        for _ in 0..count {
            let key = self.keys[self.rng.usize(..self.keys.len())];
            let value = self.rng.u64(..).to_le_bytes();
            self.table.insert(&mut txn, key, value)?;
        }
        txn.commit()?;
        Ok(())
    }

    fn begin(&self, durability: Durability) -> Result<WriteTxn> {
        let mut txn = self.database.begin_write()?;
        txn.set_durability(durability);
        Ok(txn)
    }
}

impl SpaceMapTimes {
    fn of(latencies: &Latencies) -> Self {
        let microseconds = |percent| latencies.percentile_ns(percent) as f64 / 1e3;
        Self {
            count: latencies.count(),
            median_us: microseconds(50.0),
            p99_us: microseconds(99.0),
            longest_us: microseconds(100.0),
        }
    }
}

fn microseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e6
}

/// The keys of the records.
pub(super) fn keys() -> Vec<Key> {
    DataSet::new(RECORDS).keys
}
