//! Scripts: operations on a database that are drawn once and played with each fault.

use super::model::{self, FaultRecords, FaultTables, FaultValue, TABLE_COUNT};
use crate::campaign::{Encoding, draw};
use fastrand::Rng;
use std::{sync::Arc, time::Duration};
use teak::{
    Durability, Geometry, Options, Result, TableDef, WriteTxn, codec::Raw, testing::SimDisk,
};

/// All operations and options.
pub(super) struct FaultScript {
    pub(super) page_size: usize,
    pub(super) write_memory_bytes: usize,
    pub(super) size_limit_bytes: Option<u64>,
    pub(super) acts: Vec<ScriptAction>,
    /// Whether there is a write-ahead log for small commits.
    pub(super) has_log: bool,
    geometry: Geometry,
    /// Tables with more pages are released in parts. `None` leaves this choice to the engine.
    release_at_once: Option<u64>,
    /// Size of the journal; 0 for none.
    journal_bytes: u64,
    pub(super) encoding: Encoding,
}

pub(super) enum ScriptAction {
    Write(ScriptTransaction),
    OpenReader,
    CloseReader,
    Sync,
    Reopen(CloseMode),
}

/// How a process ends before the database is opened again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CloseMode {
    Close,
    /// The process is killed.
    Kill,
    /// The process is killed. The next one only reads, and is followed by one that writes.
    KillThenRead,
}

/// A write transaction.
pub(super) struct ScriptTransaction {
    pub(super) durability: Durability,
    pub(super) steps: Vec<ScriptStep>,
    pub(super) end: ScriptEnd,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScriptEnd {
    Commit,
    Abort,
    PrepareAndCommit,
    PrepareAndRollBack,
}

#[derive(Clone, Debug)]
pub(super) enum ScriptStep {
    Change(usize, TableChange),
    Drop(usize),
    /// Changes within a savepoint, which is then kept or rolled back.
    Nested {
        steps: Vec<ScriptStep>,
        is_kept: bool,
    },
}

impl ScriptStep {
    /// Whether pages of a tree may remain to be released later. Large values have no tree of their
    /// own.
    pub(super) fn drops(&self) -> bool {
        match self {
            Self::Drop(_) => true,
            Self::Change(_, change) => matches!(
                change,
                TableChange::Clear | TableChange::Load { .. } | TableChange::RemoveRange(..)
            ),
            Self::Nested { .. } => false,
        }
    }
}

/// A change of one table.
#[derive(Clone, Debug)]
pub(super) enum TableChange {
    /// This many numbers from the first one on, one in `stride`.
    Put {
        first: u32,
        count: u32,
        stride: u32,
        value: FaultValue,
    },
    /// Inserts the records in one call.
    PutMany {
        first: u32,
        count: u32,
        value: FaultValue,
    },
    Remove {
        first: u32,
        count: u32,
    },
    RemoveRange(u8, u8),
    /// Empties the table, and fills it with sorted records.
    Load {
        count: u32,
        value: FaultValue,
    },
    Clear,
}

/// The maximum file length of a script. Memory is allocated as the file grows. Allocators zero
/// ranges of up to 32 MiB themselves, and get longer ones zeroed from the system.
pub(super) const CAPACITY: usize = 40 << 20;

/// After so many durable commits to the tables, small ones go to the log.
const DURABLE_BEFORE_LOG: usize = 18;

/// The numbers that keys are made from.
const DOMAIN: u32 = 400;

impl FaultScript {
    pub(super) fn draw(rng: &mut Rng, encoding: Encoding) -> Self {
        let page_size = encoding.page_size([4096, 4096, 4096, 8192, 16384][rng.usize(0..5)]);
        let is_limited = rng.u8(0..6) == 0;
        let act_count = rng.usize(8..18);
        // Keeps the other draws the same for each seed.
        let mut other = rng.clone();
        let release_at_once = other.bool().then(|| 1 << other.u32(0..4));
        let journal_bytes = page_size as u64 * [0, 0, 3, 16, 64][other.usize(0..5)];
        // The memtable expects more room than a limited file has.
        let has_log = !is_limited && other.bool();
        Self {
            encoding,
            release_at_once,
            journal_bytes,
            has_log,
            page_size,
            write_memory_bytes: page_size * [4, 16, 1024][rng.usize(0..3)],
            size_limit_bytes: is_limited.then(|| page_size as u64 * rng.u64(24..80)),
            acts: match has_log {
                true => draw_acts_with_log(rng, &mut other, act_count),
                false => (0..act_count).map(|_| draw_act(rng)).collect(),
            },
            geometry: draw::geometry(rng, page_size),
        }
    }

    /// The disk of a new database.
    pub(super) fn new_disk(&self) -> SimDisk {
        let disk = SimDisk::new(CAPACITY);
        match self.has_log {
            true => disk.with_log(Vec::new()),
            false => disk,
        }
    }

    /// Number of acts before those whose calls fail.
    pub(super) fn acts_before_faults(&self) -> usize {
        match self.has_log {
            true => DURABLE_BEFORE_LOG,
            false => 0,
        }
    }

    pub(super) fn releases_in_parts(&self) -> bool {
        self.release_at_once.is_some()
    }

    pub(super) fn options(&self) -> Options {
        let options = Options::new()
            .flush_after(Duration::MAX)
            .page_size(self.page_size)
            .write_memory_bytes(self.write_memory_bytes)
            .geometry(self.geometry)
            .size_limit_bytes(self.size_limit_bytes);
        let options = (self.encoding).apply(options.journal_bytes(self.journal_bytes));
        match self.release_at_once {
            Some(pages) => options.release_at_once(pages),
            None => options,
        }
    }
}

/// Acts with small commits in between, most of which go to the log.
fn draw_acts_with_log(rng: &mut Rng, other: &mut Rng, count: usize) -> Vec<ScriptAction> {
    let mut acts = draw_small_commits(other, Durability::Durable, DURABLE_BEFORE_LOG);
    for _ in 0..count {
        let durability = [Durability::Durable, Durability::Lazy][other.usize(0..2)];
        let count = other.usize(0..4);
        acts.extend(draw_small_commits(other, durability, count));
        acts.push(draw_act(rng));
    }
    acts
}

fn draw_small_commits(rng: &mut Rng, durability: Durability, count: usize) -> Vec<ScriptAction> {
    let mut draw = || {
        let (first, count) = (rng.u32(0..DOMAIN), rng.u32(1..4));
        let change = match rng.u8(0..4) {
            0 => TableChange::Remove { first, count },
            _ => TableChange::Put {
                first,
                count,
                stride: 1,
                value: draw_value(rng, count),
            },
        };
        ScriptAction::Write(ScriptTransaction {
            durability,
            steps: vec![ScriptStep::Change(0, change)],
            end: ScriptEnd::Commit,
        })
    };
    (0..count).map(|_| draw()).collect()
}

fn draw_act(rng: &mut Rng) -> ScriptAction {
    match rng.u8(0..16) {
        0 | 1 => ScriptAction::OpenReader,
        2 => ScriptAction::CloseReader,
        3 => ScriptAction::Sync,
        4 => ScriptAction::Reopen(
            [CloseMode::Close, CloseMode::Kill, CloseMode::KillThenRead][rng.usize(0..3)],
        ),
        _ => ScriptAction::Write(ScriptTransaction {
            durability: [Durability::Durable, Durability::Lazy][rng.usize(0..2)],
            steps: (0..rng.usize(1..4)).map(|_| draw_step(rng, 2)).collect(),
            end: draw_end(rng),
        }),
    }
}

fn draw_end(rng: &mut Rng) -> ScriptEnd {
    // Keeps the other draws the same for each seed.
    let mut other = rng.clone();
    match (rng.u8(0..8), other.u8(..) % 32) {
        (0, _) => ScriptEnd::Abort,
        (_, 1..4) => ScriptEnd::PrepareAndCommit,
        (_, 4..7) => ScriptEnd::PrepareAndRollBack,
        _ => ScriptEnd::Commit,
    }
}

fn draw_step(rng: &mut Rng, depth_max: usize) -> ScriptStep {
    match rng.u8(0..10) {
        0 => ScriptStep::Drop(rng.usize(0..TABLE_COUNT)),
        1 | 2 if depth_max > 0 => ScriptStep::Nested {
            steps: (0..rng.usize(1..4))
                .map(|_| draw_step(rng, depth_max - 1))
                .collect(),
            is_kept: rng.bool(),
        },
        _ => ScriptStep::Change(rng.usize(0..TABLE_COUNT), draw_change(rng)),
    }
}

fn draw_change(rng: &mut Rng) -> TableChange {
    let first = rng.u32(0..DOMAIN);
    let count = [1, 3, 20, 60][rng.usize(0..4)];
    match rng.u8(0..12) {
        0..=3 => TableChange::Put {
            first,
            count,
            stride: [1, 7][rng.usize(0..2)],
            value: draw_value(rng, count),
        },
        4 | 5 => TableChange::PutMany {
            first,
            count,
            value: draw_value(rng, count),
        },
        // Large values, in extents of pages.
        6 | 7 => TableChange::Put {
            first,
            count: 1,
            stride: 1,
            value: FaultValue {
                seed: rng.u8(..),
                len: rng.usize(3_000..60_000),
            },
        },
        8 => TableChange::Remove { first, count },
        9 => {
            let low = rng.u8(..);
            TableChange::RemoveRange(low, low.saturating_add(rng.u8(0..120)))
        }
        10 => TableChange::Load {
            count: count * 3,
            value: draw_value(rng, count * 3),
        },
        _ => TableChange::Clear,
    }
}

/// A value that is stored in its leaf. Values are shorter if there are many.
fn draw_value(rng: &mut Rng, count: u32) -> FaultValue {
    FaultValue {
        seed: rng.u8(..),
        len: rng.usize(0..if count > 20 { 120 } else { 700 }),
    }
}

/// Makes a change in the transaction and in the model, in each as far as it succeeds.
pub(super) fn change(
    txn: &mut WriteTxn,
    model: &mut FaultTables,
    table: usize,
    change: &TableChange,
) -> Result<()> {
    let name = model::name(table);
    let handle = TableDef::<Raw, Raw>::new(name)
        .options(model::options(table))
        .create(txn)?;
    let records = Arc::make_mut(model.entry(table).or_default());
    match change {
        TableChange::Put {
            first,
            count,
            stride,
            value,
        } => {
            let bytes = value.bytes();
            for index in 0..*count {
                let key = model::key((first + index * stride) % DOMAIN);
                handle.insert(txn, key, &bytes)?;
                records.insert(key, *value);
            }
        }
        TableChange::PutMany {
            first,
            count,
            value,
        } => {
            let bytes = value.bytes();
            let keys: Vec<_> = numbers(*first, *count).map(model::key).collect();
            let pairs: Vec<(&[u8], &[u8])> =
                keys.iter().map(|key| (&key[..], &bytes[..])).collect();
            handle.insert_many(txn, &pairs)?;
            records.extend(keys.into_iter().map(|key| (key, *value)));
        }
        TableChange::Remove { first, count } => {
            for key in numbers(*first, *count).map(model::key) {
                handle.remove(txn, key)?;
                records.remove(&key);
            }
        }
        TableChange::RemoveRange(low, high) => {
            handle.range(&[*low][..]..&[*high][..]).remove(txn)?;
            records.retain(|key, _| key[..] < [*low][..] || key[..] >= [*high][..]);
        }
        TableChange::Load { count, value } => {
            handle.clear(txn)?;
            let bytes = value.bytes();
            *records = numbers(0, *count)
                .map(|number| (model::key(number), *value))
                .collect::<FaultRecords>();
            handle.bulk_load(txn, records.keys().map(|key| (key, &bytes)))?;
        }
        TableChange::Clear => {
            handle.clear(txn)?;
            records.clear();
        }
    }
    Ok(())
}

fn numbers(first: u32, count: u32) -> impl Iterator<Item = u32> {
    (first..first + count).map(|number| number % DOMAIN)
}

/// Drops a table, if it exists.
pub(super) fn drop_table(txn: &mut WriteTxn, model: &mut FaultTables, table: usize) -> Result<()> {
    txn.drop_table(model::name(table))?;
    model.remove(&table);
    Ok(())
}
