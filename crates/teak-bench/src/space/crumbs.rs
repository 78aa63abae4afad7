//! Small commits beside many free and many pending pages: neither should be felt.
//!
//! Two databases commit in turns. Both have the same records. The other one has besides them values of a page each, every second of which
//! was removed: at first beside a reader that sees them, so that their pages are pending; then without it, so that they are free, and none
//! is beside another. What is compared with each other was so measured in the same minute. The file is never cut, and no pages are moved.

use crate::{
    data::{Key, random_key},
    latencies::Latencies,
    report::plain_table,
};
use anyhow::Result;
use comfy_table::{CellAlignment, Table as Lines};
use fastrand::Rng;
use serde::Serialize;
use std::path::Path;
use teak::{
    Database, Durability, Geometry, Options, PageUse, ReadTxn, Table,
    codec::{Bytes, U64},
};

/// Records that small commits change.
const RECORDS: usize = 100_000;
/// Commits of a slice, and slices of each database in each state. The first slice is not counted.
const LAZY: usize = 400;
const DURABLE: usize = 100;
const SLICES: usize = 11;
/// A value of this length has a page of its own.
const PAGE_VALUE_LEN: usize = 4000;
/// Values of a transaction.
const BATCH: u64 = 50_000;
/// Dead pages that one small commit leaves in any case, and more.
const SETTLED_PAGES: u64 = 64;

/// The times of the commits of one database in one state.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    work: &'static str,
    beside: &'static str,
    /// In the end.
    free_pages: u64,
    /// Free pages in a row count once.
    free_runs: u64,
    pending_pages: u64,
    lazy: Option<Times>,
    durable: Times,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Times {
    count: u64,
    median_us: f64,
    p99_us: f64,
    longest_us: f64,
}

/// A database that commits.
struct Place {
    database: Database,
    table: Table<Bytes, Bytes>,
}

/// What a database commits in one state.
struct Course<'p> {
    beside: &'static str,
    place: &'p Place,
    lazy: Latencies,
    durable: Latencies,
}

/// Times commits beside `pages` pages of each kind.
pub(crate) fn run(pages: u64, directory: &Path) -> Result<Vec<Figure>> {
    let mut rng = Rng::with_seed(pages);
    let keys: Vec<Key> = (0..RECORDS).map(|_| random_key(&mut rng)).collect();
    let alone = Place::load(&directory.join("alone"), &keys)?;
    let beside = Place::load(&directory.join("beside"), &keys)?;
    eprintln!("preparing {pages} pages");
    let reader = beside.add_dead(pages)?;
    let pending = [("nothing", &alone), ("pending", &beside)];
    let mut figures = take_turns(&keys, &mut rng, pending)?;
    drop(reader);
    figures.push(beside.settle(&keys, &mut rng)?);
    let free = [("nothing", &alone), ("free", &beside)];
    figures.extend(take_turns(&keys, &mut rng, free)?);
    Ok(figures)
}

/// Commits to both databases in slices.
fn take_turns(
    keys: &[Key],
    rng: &mut Rng,
    places: [(&'static str, &Place); 2],
) -> Result<Vec<Figure>> {
    let mut courses = Vec::new();
    for (beside, place) in places {
        courses.push(Course::new(beside, place)?);
    }
    for slice in 0..SLICES {
        for turn in 0..courses.len() {
            let index = (slice + turn) % courses.len();
            courses[index].run_slice(keys, rng)?;
        }
        if slice == 0 {
            for course in &mut courses {
                *course = Course::new(course.beside, course.place)?;
            }
        }
    }
    courses.iter().map(Course::figure).collect()
}

impl<'p> Course<'p> {
    fn new(beside: &'static str, place: &'p Place) -> Result<Self> {
        Ok(Self {
            beside,
            place,
            lazy: Latencies::new()?,
            durable: Latencies::new()?,
        })
    }

    /// First lazy commits, then, when those are on the disk, durable ones.
    fn run_slice(&mut self, keys: &[Key], rng: &mut Rng) -> Result<()> {
        for _ in 0..LAZY {
            let commit = || self.place.commit(keys, rng, Durability::Lazy);
            self.lazy.time(commit)?;
        }
        self.place.database.sync()?;
        for _ in 0..DURABLE {
            let commit = || self.place.commit(keys, rng, Durability::Durable);
            self.durable.time(commit)?;
        }
        Ok(())
    }

    fn figure(&self) -> Result<Figure> {
        let lazy = Some(Times::of(&self.lazy));
        self.place.figure(self.beside, lazy, &self.durable)
    }
}

impl Place {
    fn load(path: &Path, keys: &[Key]) -> Result<Self> {
        // What is free is to stay so.
        let geometry = Geometry {
            shrink_threshold_bytes: u64::MAX,
            ..Geometry::default()
        };
        let database = Options::new()
            .geometry(geometry)
            .move_percent(0)
            .open(path)?;
        let mut txn = database.begin_write()?;
        txn.set_durability(Durability::Lazy);
        let table = txn.create_table::<Bytes, Bytes>("records")?;
        for key in keys {
            table.insert(&mut txn, key, &[0; 100])?;
        }
        txn.commit()?;
        database.sync()?;
        Ok(Self { database, table })
    }

    /// Has `pages` pages die, none beside another, and returns who sees them.
    fn add_dead(&self, pages: u64) -> Result<ReadTxn> {
        let mut txn = self.database.begin_write()?;
        let values = txn.create_table::<U64, Bytes>("values")?;
        txn.commit()?;
        for first in (0..2 * pages).step_by(BATCH as usize) {
            let mut txn = self.database.begin_write()?;
            txn.set_durability(Durability::Lazy);
            for number in first..(first + BATCH).min(2 * pages) {
                values.insert(&mut txn, number, &[number as u8; PAGE_VALUE_LEN])?;
            }
            txn.commit()?;
        }
        self.database.sync()?;
        let reader = self.database.begin_read()?;
        for first in (0..2 * pages).step_by(BATCH as usize) {
            let mut txn = self.database.begin_write()?;
            txn.set_durability(Durability::Lazy);
            for number in (first..(first + BATCH).min(2 * pages)).step_by(2) {
                values.remove(&mut txn, number)?;
            }
            txn.commit()?;
        }
        self.database.sync()?;
        Ok(reader)
    }

    /// Durable commits until what nobody sees any more is free.
    fn settle(&self, keys: &[Key], rng: &mut Rng) -> Result<Figure> {
        let mut latencies = Latencies::new()?;
        loop {
            latencies.time(|| self.commit(keys, rng, Durability::Durable))?;
            if self.database.stat()?.pending_pages < SETTLED_PAGES {
                return self.figure("what becomes free", None, &latencies);
            }
        }
    }

    /// Gives a random record a new value.
    fn commit(&self, keys: &[Key], rng: &mut Rng, durability: Durability) -> Result<()> {
        let key = keys[rng.usize(..keys.len())];
        let value = rng.u64(..).to_le_bytes();
        let mut txn = self.database.begin_write()?;
        txn.set_durability(durability);
        self.table.insert(&mut txn, &key, &value)?;
        txn.commit()?;
        Ok(())
    }

    fn figure(
        &self,
        beside: &'static str,
        lazy: Option<Times>,
        durable: &Latencies,
    ) -> Result<Figure> {
        let stat = self.database.stat()?;
        // To who looks at the file what is pending looks free.
        let free_runs = match stat.pending_pages < SETTLED_PAGES {
            true => self.free_runs()?,
            false => 0,
        };
        Ok(Figure {
            work: "crumbs",
            beside,
            free_pages: stat.free_pages,
            free_runs,
            pending_pages: stat.pending_pages,
            lazy,
            durable: Times::of(durable),
        })
    }

    fn free_runs(&self) -> Result<u64> {
        let uses = self.database.page_kinds()?;
        let runs = uses.chunk_by(|a, b| a == b);
        Ok(runs.filter(|run| run[0] == PageUse::Free).count() as u64)
    }
}

impl Times {
    fn of(latencies: &Latencies) -> Self {
        let microseconds = |percent| latencies.percentile_ns(percent) as f64 / 1e3;
        Self {
            count: latencies.count(),
            median_us: microseconds(50.0),
            p99_us: microseconds(99.0),
            longest_us: microseconds(100.0),
        }
    }

    fn cells(&self) -> [String; 3] {
        [self.median_us, self.p99_us, self.longest_us].map(|time| format!("{time:.1}"))
    }
}

/// A line for each state of each database; those of the same turns stand together.
pub(crate) fn table(figures: &[Figure]) -> Lines {
    let header = [
        "beside",
        "free pages",
        "free runs",
        "pending pages",
        "lazy us: median",
        "99 %",
        "longest",
        "durable us: median",
        "99 %",
        "longest",
        "durable commits",
    ];
    let mut lines = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        let mut line = vec![figure.beside.to_owned()];
        line.extend(
            [figure.free_pages, figure.free_runs, figure.pending_pages]
                .map(|count| count.to_string()),
        );
        let none = || [const { String::new() }; 3];
        line.extend(figure.lazy.as_ref().map_or_else(none, Times::cells));
        line.extend(figure.durable.cells());
        line.push(figure.durable.count.to_string());
        lines.add_row(line);
    }
    for column in lines.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    lines
}

#[cfg(test)]
#[path = "crumbs_tests.rs"]
mod tests;
