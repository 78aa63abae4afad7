//! What is done to a database while its disk fails: drawn once, played with each fault.

use super::model::{self, Records, TABLE_COUNT, Tables, Value};
use crate::geometry;
use fastrand::Rng;
use std::{sync::Arc, time::Duration};
use teak::{Durability, Geometry, Options, Result, Transaction, WriteTxn, codec::Bytes};

/// Everything that is done, and with which options.
pub(super) struct Script {
    pub(super) page_size: usize,
    pub(super) write_memory_bytes: usize,
    pub(super) size_limit_bytes: Option<u64>,
    pub(super) acts: Vec<Act>,
    geometry: Geometry,
    /// Tables of more pages are released in parts, if that is not the engine's choice.
    release_at_once: Option<u64>,
    /// Of the journal; 0 for none.
    journal_bytes: u64,
}

pub(super) enum Act {
    Write(Work),
    OpenReader,
    CloseReader,
    Sync,
    Reopen(Leave),
}

/// How a database is left before it is opened again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Leave {
    Close,
    /// The process is killed.
    Kill,
    /// The process is killed, and the next one reads only; then comes one that writes.
    KillThenRead,
}

/// A write transaction.
pub(super) struct Work {
    pub(super) durability: Durability,
    pub(super) steps: Vec<Step>,
    /// Whether it is committed.
    pub(super) is_kept: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Change(usize, Change),
    Drop(usize),
    /// Changes within a savepoint, which is then kept or rolled back.
    Nested {
        steps: Vec<Step>,
        is_kept: bool,
    },
}

impl Step {
    /// Whether pages of a tree may be left to be released later. Large values have no tree of their own.
    pub(super) fn drops(&self) -> bool {
        match self {
            Self::Drop(_) => true,
            Self::Change(_, change) => matches!(
                change,
                Change::Clear | Change::Load { .. } | Change::RemoveRange(..)
            ),
            Self::Nested { .. } => false,
        }
    }
}

/// A change of one table.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// So many numbers from the first on, one in `stride`.
    Put {
        first: u32,
        count: u32,
        stride: u32,
        value: Value,
    },
    /// The same in one call.
    PutMany {
        first: u32,
        count: u32,
        value: Value,
    },
    Remove {
        first: u32,
        count: u32,
    },
    RemoveRange(u8, u8),
    /// The table is emptied, and filled with sorted records.
    Load {
        count: u32,
        value: Value,
    },
    Clear,
}

/// Numbers that keys are made from.
const DOMAIN: u32 = 400;

impl Script {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let page_size = [4096, 4096, 4096, 8192, 16384][rng.usize(0..5)];
        let is_limited = rng.u8(0..6) == 0;
        let act_count = rng.usize(8..18);
        // What is drawn otherwise stays what it is for each seed.
        let mut other = rng.clone();
        Self {
            release_at_once: other.bool().then(|| 1 << other.u32(0..4)),
            journal_bytes: page_size as u64 * [0, 0, 3, 16, 64][other.usize(0..5)],
            page_size,
            write_memory_bytes: page_size * [4, 16, 1024][rng.usize(0..3)],
            size_limit_bytes: is_limited.then(|| page_size as u64 * rng.u64(24..80)),
            acts: (0..act_count).map(|_| draw_act(rng)).collect(),
            geometry: geometry::draw(rng, page_size),
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
        let options = options.journal_bytes(self.journal_bytes);
        match self.release_at_once {
            Some(pages) => options.release_at_once(pages),
            None => options,
        }
    }
}

fn draw_act(rng: &mut Rng) -> Act {
    match rng.u8(0..16) {
        0 | 1 => Act::OpenReader,
        2 => Act::CloseReader,
        3 => Act::Sync,
        4 => Act::Reopen([Leave::Close, Leave::Kill, Leave::KillThenRead][rng.usize(0..3)]),
        _ => Act::Write(Work {
            durability: [Durability::Durable, Durability::Lazy][rng.usize(0..2)],
            steps: (0..rng.usize(1..4)).map(|_| draw_step(rng, 2)).collect(),
            is_kept: rng.u8(0..8) > 0,
        }),
    }
}

fn draw_step(rng: &mut Rng, depth_max: usize) -> Step {
    match rng.u8(0..10) {
        0 => Step::Drop(rng.usize(0..TABLE_COUNT)),
        1 | 2 if depth_max > 0 => Step::Nested {
            steps: (0..rng.usize(1..4))
                .map(|_| draw_step(rng, depth_max - 1))
                .collect(),
            is_kept: rng.bool(),
        },
        _ => Step::Change(rng.usize(0..TABLE_COUNT), draw_change(rng)),
    }
}

fn draw_change(rng: &mut Rng) -> Change {
    let first = rng.u32(0..DOMAIN);
    let count = [1, 3, 20, 60][rng.usize(0..4)];
    match rng.u8(0..12) {
        0..=3 => Change::Put {
            first,
            count,
            stride: [1, 7][rng.usize(0..2)],
            value: draw_value(rng, count),
        },
        4 | 5 => Change::PutMany {
            first,
            count,
            value: draw_value(rng, count),
        },
        // Large values, in runs of pages.
        6 | 7 => Change::Put {
            first,
            count: 1,
            stride: 1,
            value: Value {
                seed: rng.u8(..),
                len: rng.usize(3_000..60_000),
            },
        },
        8 => Change::Remove { first, count },
        9 => {
            let low = rng.u8(..);
            Change::RemoveRange(low, low.saturating_add(rng.u8(0..120)))
        }
        10 => Change::Load {
            count: count * 3,
            value: draw_value(rng, count * 3),
        },
        _ => Change::Clear,
    }
}

/// A value that is stored in its leaf, shorter where there are many.
fn draw_value(rng: &mut Rng, count: u32) -> Value {
    Value {
        seed: rng.u8(..),
        len: rng.usize(0..if count > 20 { 120 } else { 700 }),
    }
}

/// Makes a change in the transaction and in the model; in one of these only, where it fails.
pub(super) fn change(
    txn: &mut WriteTxn,
    model: &mut Tables,
    table: usize,
    change: &Change,
) -> Result<()> {
    let name = model::name(table);
    let handle = txn.create_table_with::<Bytes, Bytes>(name, model::options(table))?;
    let records = Arc::make_mut(model.entry(table).or_default());
    match change {
        Change::Put {
            first,
            count,
            stride,
            value,
        } => {
            let bytes = value.bytes();
            for index in 0..*count {
                let key = model::key((first + index * stride) % DOMAIN);
                handle.insert(txn, &key, &bytes)?;
                records.insert(key, *value);
            }
        }
        Change::PutMany {
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
        Change::Remove { first, count } => {
            for key in numbers(*first, *count).map(model::key) {
                handle.remove(txn, &key)?;
                records.remove(&key);
            }
        }
        Change::RemoveRange(low, high) => {
            handle.remove_range(txn, &[*low][..]..&[*high][..])?;
            records.retain(|key, _| key[..] < [*low][..] || key[..] >= [*high][..]);
        }
        Change::Load { count, value } => {
            handle.clear(txn)?;
            let bytes = value.bytes();
            *records = numbers(0, *count)
                .map(|number| (model::key(number), *value))
                .collect::<Records>();
            handle.bulk_load(txn, records.keys().map(|key| (key, &bytes)))?;
        }
        Change::Clear => {
            handle.clear(txn)?;
            records.clear();
        }
    }
    Ok(())
}

fn numbers(first: u32, count: u32) -> impl Iterator<Item = u32> {
    (first..first + count).map(|number| number % DOMAIN)
}

/// Drops a table, if it is there.
pub(super) fn drop_table(txn: &mut WriteTxn, model: &mut Tables, table: usize) -> Result<()> {
    txn.drop_table(model::name(table))?;
    model.remove(&table);
    Ok(())
}

/// Says whether the transaction and the model hold the same.
pub(super) fn is_same(txn: &impl Transaction, model: &Tables) -> std::result::Result<(), String> {
    model::compare(txn, model)
}
