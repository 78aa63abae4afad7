//! Small commits of Teak with named snapshots: two databases with the same records commit in turns,
//! one without snapshots, one in which each of many small commits created one.

use super::fragmentation::{CommitTimes, SmallRecords};
use crate::{
    arguments::SpaceArguments,
    bench::{settle, turn_order},
    data::{DataSet, Record, VALUE_LEN},
    latencies::Latencies,
    report::{align_right, plain_table},
};
use anyhow::Result;
use comfy_table::Table as Lines;
use fastrand::Rng;
use serde::Serialize;
use std::{fs, path::Path};
use teak::{Database, Durability, Table, codec::Bytes};

const RECORDS: usize = 100_000;
/// Commits of a slice, and slices of each database, of which the first is not counted.
const LAZY: usize = 400;
const DURABLE: usize = 100;
const SLICES: usize = 11;

/// The times of the commits of one database.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SnapshotNamesFigure {
    work: &'static str,
    names: u64,
    /// Lazy commits of one record and a name.
    naming: Option<CommitTimes>,
    lazy: CommitTimes,
    durable: CommitTimes,
}

/// A database, and the times of its commits.
struct SnapshotNamesWorkload {
    names: u64,
    database: Database,
    table: Table<Bytes, Bytes>,
    naming: Latencies,
    lazy: Latencies,
    durable: Latencies,
}

/// Times small commits without snapshots and with the requested number.
pub(crate) fn run(space: &SpaceArguments, directory: &Path) -> Result<[SnapshotNamesFigure; 2]> {
    eprintln!("teak: {} names", space.names);
    run_slices(space.names, SLICES, directory)
}

fn run_slices(names: u64, slices: usize, directory: &Path) -> Result<[SnapshotNamesFigure; 2]> {
    let mut records = SmallRecords {
        keys: DataSet::new(RECORDS).keys,
        rng: Rng::with_seed(names),
    };
    let mut courses = [
        SnapshotNamesWorkload::new(0, &mut records, &directory.join("unnamed.teak"))?,
        SnapshotNamesWorkload::new(names, &mut records, &directory.join("named.teak"))?,
    ];
    for slice in 0..slices {
        for index in turn_order(courses.len(), slice) {
            courses[index].run_slice(&mut records, directory)?;
        }
        if slice == 0 {
            for course in &mut courses {
                (course.lazy, course.durable) = (Latencies::new()?, Latencies::new()?);
            }
        }
    }
    for course in &courses {
        fs::remove_file(course.database.path())?;
    }
    Ok(courses.map(|course| course.figure()))
}

impl SnapshotNamesWorkload {
    /// A new database of all `records`, with `names`.
    fn new(names: u64, records: &mut SmallRecords, path: &Path) -> Result<Self> {
        let database = Database::open(path)?;
        let mut txn = database.begin_write()?;
        let table = txn.create_table("records")?;
        let value = &[0; VALUE_LEN][..];
        let all: Vec<_> = records.keys.iter().map(|key| (&key[..], value)).collect();
        table.insert_many(&mut txn, &all)?;
        txn.commit()?;
        let mut course = Self {
            names,
            database,
            table,
            naming: Latencies::new()?,
            lazy: Latencies::new()?,
            durable: Latencies::new()?,
        };
        for (name, record) in (0..names).zip(records.take(names as usize)) {
            let (database, table) = (&course.database, &course.table);
            let naming = || commit(database, table, &record, Durability::Lazy, Some(name));
            course.naming.time(naming)?;
        }
        Ok(course)
    }

    /// Lazy commits first. When those are on the disk, durable ones.
    fn run_slice(&mut self, records: &mut SmallRecords, directory: &Path) -> Result<()> {
        let (database, table) = (&self.database, &self.table);
        let one = |record: &Record, durability| commit(database, table, record, durability, None);
        for record in records.take(LAZY) {
            self.lazy.time(|| one(&record, Durability::Lazy))?;
        }
        database.sync()?;
        settle(directory)?;
        for record in records.take(DURABLE) {
            self.durable.time(|| one(&record, Durability::Durable))?;
        }
        Ok(())
    }

    fn figure(&self) -> SnapshotNamesFigure {
        SnapshotNamesFigure {
            work: "names",
            names: self.names,
            naming: (self.names > 0).then(|| CommitTimes::of(&self.naming)),
            lazy: CommitTimes::of(&self.lazy),
            durable: CommitTimes::of(&self.durable),
        }
    }
}

/// Commits one record, and optionally creates a snapshot.
fn commit(
    database: &Database,
    table: &Table<Bytes, Bytes>,
    record: &Record,
    durability: Durability,
    name: Option<u64>,
) -> Result<()> {
    let mut txn = database.begin_write()?;
    txn.set_durability(durability);
    table.insert(&mut txn, record.key, record.value)?;
    if let Some(name) = name {
        txn.create_snapshot(name.to_be_bytes())?;
    }
    txn.commit()?;
    Ok(())
}

/// A line for each database.
pub(crate) fn table(figures: &[SnapshotNamesFigure]) -> Lines {
    let header = [
        "names",
        "each that gives one, us: median",
        "99 %",
        "longest",
        "lazy us: median",
        "99 %",
        "longest",
        "durable us: median",
        "99 %",
        "longest",
    ];
    let mut lines = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        let mut line = vec![figure.names.to_string()];
        line.extend(CommitTimes::cells_or_none(figure.naming.as_ref()));
        line.extend(figure.lazy.cells());
        line.extend(figure.durable.cells());
        lines.add_row(line);
    }
    align_right(lines, 0)
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
