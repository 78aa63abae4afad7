//! Small commits in files with many dead pages: pages that an open reader uses, and free ones.
//!
//! Two databases of each engine commit in turns. Both have the same records: small ones, which the
//! commits change, and values of a page each. The second one had twice as many of those, and every
//! other one was removed while a reader had them open; later the reader ends. Figures to be
//! compared are therefore measured in the same minute.

use crate::{
    arguments::SpaceArguments,
    bench::{BenchContender, settle, turn_order},
    data::{DataSet, Key, RECORD_LEN, Record},
    engines::{
        DeadPages, Durability, Engine, EngineKind, Insertion, OpenSettings, RecordChange,
        Shrinking, SlotOwner,
    },
    latencies::Latencies,
    report::{align_right, plain_table},
};
use anyhow::Result;
use comfy_table::Table;
use fastrand::Rng;
use serde::Serialize;
use std::{fs, path::Path};

/// Records that small commits change.
const RECORDS: usize = 100_000;
/// Commits of a slice, and slices of each database in each state, of which the first is not
/// counted.
const LAZY: usize = 400;
const DURABLE: usize = 100;
const SLICES: usize = 11;
/// A value of this length fills a page.
const PAGE_VALUE_LEN: usize = 4000;
/// Values of a transaction.
const BATCH: usize = 50_000;
/// Dead pages that small commits leave until there is a flush, which is rare with a journal, and
/// some more.
const SETTLED_PAGES: u64 = 4096;

/// The times of the commits of one database in one state.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FragmentationFigure {
    work: &'static str,
    engine: EngineKind,
    /// The dead pages of the database.
    #[serde(rename = "beside")]
    state: &'static str,
    /// The final value.
    dead_pages: DeadPages,
    lazy: Option<CommitTimes>,
    durable: CommitTimes,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct CommitTimes {
    pub(super) count: u64,
    median_us: f64,
    p99_us: f64,
    longest_us: f64,
}

/// The commits to a database in one state.
struct FragmentationWorkload<'c> {
    state: &'static str,
    contender: &'c BenchContender,
    lazy: Latencies,
    durable: Latencies,
}

/// Small records that get new values.
pub(super) struct SmallRecords {
    pub(super) keys: Vec<Key>,
    pub(super) rng: Rng,
}

/// Times the commits of each engine with the requested number of dead pages.
pub(crate) fn run(space: &SpaceArguments, directory: &Path) -> Result<Vec<FragmentationFigure>> {
    let mut figures = Vec::new();
    for &kind in &space.engines {
        eprintln!("{kind}: {} dead pages", space.fragmented_pages);
        figures.extend(run_engine(kind, space.fragmented_pages, SLICES, directory)?);
    }
    Ok(figures)
}

fn run_engine(
    kind: EngineKind,
    pages: u64,
    slices: usize,
    directory: &Path,
) -> Result<Vec<FragmentationFigure>> {
    let mut records = SmallRecords {
        keys: DataSet::new(RECORDS).keys,
        rng: Rng::with_seed(pages),
    };
    let all: Vec<u64> = (0..2 * pages).collect();
    let (even, odd): (Vec<u64>, Vec<u64>) = all.iter().partition(|number| *number % 2 == 0);
    let mut alone = load(kind, &directory.join("alone"), &records.keys, &odd)?;
    let mut fragmented = load(kind, &directory.join("beside"), &records.keys, &all)?;
    let opening = OpenSettings {
        durability: Durability::Durable,
        ..opening(2 * pages)
    };
    alone.reopen_for(&opening)?;
    fragmented.reopen_for(&opening)?;
    let reader = fragmented.reader()?.hold(1)?;
    change(fragmented.shared()?, &even, None)?;
    let states = [
        ("nothing", &alone),
        ("pages that a reader sees", &fragmented),
    ];
    let mut figures = take_turns(states, &mut records, slices, directory)?;
    drop(reader);
    figures.push(free(&fragmented, &mut records)?);
    let states = [("nothing", &alone), ("free pages", &fragmented)];
    figures.extend(take_turns(states, &mut records, slices, directory)?);
    alone.discard()?;
    fragmented.discard()?;
    Ok(figures)
}

/// A database of `keys`, and of `numbers` with a value of a page each.
fn load(
    kind: EngineKind,
    directory: &Path,
    keys: &[Key],
    numbers: &[u64],
) -> Result<BenchContender> {
    let mut contender = BenchContender::new(kind, directory.to_owned());
    fs::create_dir_all(directory)?;
    contender.reopen_for(&opening(numbers.len() as u64))?;
    let records: Vec<_> = keys.iter().map(|key| Record::new(*key, 0)).collect();
    contender.engine()?.write(&records, Insertion::Batch)?;
    let mut value = [0; PAGE_VALUE_LEN];
    Rng::with_seed(0).fill(&mut value);
    change(contender.shared()?, numbers, Some(&value))?;
    Ok(contender)
}

/// The settings for a database of this many values.
fn opening(values: u64) -> OpenSettings {
    let data_bytes = values * PAGE_VALUE_LEN as u64 + (RECORDS * RECORD_LEN) as u64;
    OpenSettings {
        slots: SlotOwner::Transactions { max: 126 },
        shrinking: Shrinking::Never,
        ..OpenSettings::usual(Durability::Careless, data_bytes)
    }
}

/// Sets the values of `numbers`, or removes them.
fn change(engine: &dyn Engine, numbers: &[u64], value: Option<&[u8]>) -> Result<()> {
    for numbers in numbers.chunks(BATCH) {
        // These keys sort before those of the small records, which are random.
        let keys: Vec<Key> = numbers
            .iter()
            .map(|number| u128::from(*number).to_be_bytes())
            .collect();
        let changes: Vec<_> = keys.iter().map(|key| RecordChange { key, value }).collect();
        engine.change(&changes)?;
    }
    Ok(())
}

/// Commits durably after the end of a reader, until its pages are free.
fn free(contender: &BenchContender, records: &mut SmallRecords) -> Result<FragmentationFigure> {
    let mut course = FragmentationWorkload::new("what becomes free", contender)?;
    loop {
        let records = records.take(DURABLE);
        let committer = contender.shared()?.committer();
        committer.commit_each(&mut records.iter(), &mut course.durable)?;
        let figure = course.figure()?;
        if figure.dead_pages.pending.unwrap_or_default() < SETTLED_PAGES {
            return Ok(figure);
        }
    }
}

/// Commits to both databases in slices.
fn take_turns(
    states: [(&'static str, &BenchContender); 2],
    records: &mut SmallRecords,
    slices: usize,
    directory: &Path,
) -> Result<Vec<FragmentationFigure>> {
    let mut courses = Vec::new();
    for (state, contender) in states {
        courses.push(FragmentationWorkload::new(state, contender)?);
    }
    for slice in 0..slices {
        for index in turn_order(courses.len(), slice) {
            courses[index].run_slice(records, directory)?;
        }
        if slice == 0 {
            for course in &mut courses {
                *course = FragmentationWorkload::new(course.state, course.contender)?;
            }
        }
    }
    courses.iter().map(FragmentationWorkload::figure).collect()
}

impl<'c> FragmentationWorkload<'c> {
    fn new(state: &'static str, contender: &'c BenchContender) -> Result<Self> {
        Ok(Self {
            state,
            contender,
            lazy: Latencies::new()?,
            durable: Latencies::new()?,
        })
    }

    /// Lazy commits first. When those are on the disk, durable ones.
    fn run_slice(&mut self, records: &mut SmallRecords, directory: &Path) -> Result<()> {
        let engine = self.contender.shared()?;
        let (lazy, durable) = (records.take(LAZY), records.take(DURABLE));
        engine.commit_each_lazily(&mut lazy.iter(), &mut self.lazy)?;
        let committer = engine.committer();
        committer.settle()?;
        settle(directory)?;
        committer.commit_each(&mut durable.iter(), &mut self.durable)
    }

    fn figure(&self) -> Result<FragmentationFigure> {
        Ok(FragmentationFigure {
            work: "fragmentation",
            engine: self.contender.kind,
            state: self.state,
            dead_pages: self.contender.shared()?.dead_pages()?,
            lazy: (self.lazy.count() > 0).then(|| CommitTimes::of(&self.lazy)),
            durable: CommitTimes::of(&self.durable),
        })
    }
}

impl SmallRecords {
    /// New values of random keys.
    pub(super) fn take(&mut self, count: usize) -> Vec<Record> {
        let record = |_| {
            let key = self.keys[self.rng.usize(..self.keys.len())];
            Record::new(key, self.rng.u64(1..))
        };
        (0..count).map(record).collect()
    }
}

impl CommitTimes {
    pub(super) fn of(latencies: &Latencies) -> Self {
        let microseconds = |percent| latencies.percentile_ns(percent) as f64 / 1e3;
        Self {
            count: latencies.count(),
            median_us: microseconds(50.0),
            p99_us: microseconds(99.0),
            longest_us: microseconds(100.0),
        }
    }

    pub(super) fn cells(&self) -> [String; 3] {
        [self.median_us, self.p99_us, self.longest_us].map(|time| format!("{time:.1}"))
    }

    pub(super) fn cells_or_none(times: Option<&Self>) -> [String; 3] {
        times.map_or_else(Default::default, Self::cells)
    }
}

/// A line per state of each database; those of the same turns are adjacent.
pub(crate) fn table(figures: &[FragmentationFigure]) -> Table {
    let header = [
        "engine",
        "beside",
        "dead pages",
        "of them pending",
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
        let dead = figure.dead_pages;
        let pending = dead.pending.map(|pages| pages.to_string());
        let mut line = vec![figure.engine.to_string(), figure.state.to_owned()];
        line.extend([dead.count.to_string(), pending.unwrap_or_default()]);
        line.extend(CommitTimes::cells_or_none(figure.lazy.as_ref()));
        line.extend(figure.durable.cells());
        line.push(figure.durable.count.to_string());
        lines.add_row(line);
    }
    align_right(lines, 2)
}

#[cfg(test)]
#[path = "fragmentation_tests.rs"]
mod tests;
