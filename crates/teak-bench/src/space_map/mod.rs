//! A file whose space map is of many pages: what opening it costs, and what commits cost, beside a smaller one.
//!
//! A database of 100,000 records is closed, and its space map written anew: as one of a far longer file, most of whose pages are in use
//! and have no contents. The file is sparse, so that it takes as many blocks as the records and the space map. A process of its own opens
//! it each time, with and without its pages in the system's memory; the last one commits.
//!
//! In holes each run of pages gets its blocks when a commit takes it. To time lazy commits, which then do hardly anything else, as they are
//! in other files, all blocks are allocated at first: `--allocate`, for a file system that need not have them, like one in a sparse file.

mod process;
mod report;

pub(crate) use process::run_process;
pub(crate) use report::{describe_run, table};

use crate::{
    arguments::{SpaceMapProcess, SpaceMapRun},
    bench::settle,
    data::{DataSet, Key},
    process::{Memory, forget_cached},
    statistics::Samples,
};
use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use process::{SpaceMapOutcome, SpaceMapWork};
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use serde::Serialize;
use std::{
    env,
    fs::{self, OpenOptions},
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Command, Stdio},
};
use teak::{
    Database, Durability, Table,
    codec::Bytes,
    testing::{VastCounts, VastFile, make_vast},
};

const RECORDS: usize = 100_000;
const SEED: u64 = 0x7370_6163;
/// Pages in a row, for small commits and for folds to find; at most a part of the file.
const ROW: u32 = 1 << 16;
const ROW_PART: u64 = 16;
/// Free runs that have room for a value of 1 MiB and for the pages of its tree, and one for a value of 64 MiB.
const RUNS: [u32; 8] = [512; 8];
const LONG_RUN: u32 = 64 * 256 + 512;

/// What came of one file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SpaceMapFigure {
    work: &'static str,
    pages: u64,
    free_pages: u64,
    pending_pages: u64,
    /// Pages of the space map.
    map_pages: u64,
    /// What the file system has set aside before the first commit, and behind the last.
    allocated_bytes: [u64; 2],
    /// Medians. With nothing of the file in the system's memory, and with what opening reads.
    open_cold_us: f64,
    open_warm_us: f64,
    /// When it was opened.
    memory: Memory,
    #[serde(flatten)]
    commits: SpaceMapWork,
}

/// Runs what `space-map` asks for, with databases below `directory`.
pub(crate) fn run(map: &SpaceMapRun, directory: &Path) -> Result<Vec<SpaceMapFigure>> {
    let run = |pages: &u64| {
        eprintln!("{pages} pages");
        let run_directory = directory.join(pages.to_string());
        fs::create_dir_all(&run_directory)?;
        let figure = measure(map, *pages, &run_directory)?;
        fs::remove_dir_all(&run_directory)?;
        Ok(figure)
    };
    map.pages.iter().map(run).collect()
}

fn measure(map: &SpaceMapRun, pages: u64, run_directory: &Path) -> Result<SpaceMapFigure> {
    let path = run_directory.join("vast.teak");
    let counts = prepare(map, pages, &path)?;
    settle(run_directory)?;
    let before = fs::metadata(&path)?.blocks() * 512;
    let (mut cold, mut warm) = (Samples::default(), Samples::default());
    for _ in 0..map.repeat {
        forget_cached(run_directory)?;
        cold.push(start(map, &path, 0)?.open_us);
        warm.push(start(map, &path, 0)?.open_us);
    }
    let outcome = start(map, &path, map.commits)?;
    Ok(SpaceMapFigure {
        work: "space-map",
        pages,
        free_pages: counts.free_pages,
        pending_pages: counts.pending_pages,
        map_pages: counts.map_pages,
        allocated_bytes: [before, fs::metadata(&path)?.blocks() * 512],
        open_cold_us: cold.median().unwrap_or_default(),
        open_warm_us: warm.median().unwrap_or_default(),
        memory: outcome.memory,
        commits: outcome.work.context("a process did nothing")?,
    })
}

/// Makes the database and then the file a vast one.
fn prepare(map: &SpaceMapRun, pages: u64, path: &Path) -> Result<VastCounts> {
    let database = Database::open(path)?;
    for part in keys().chunks(RECORDS / 2) {
        let mut txn = database.begin_write()?;
        txn.set_durability(Durability::Lazy);
        let table: Table<Bytes, Bytes> = txn.create_table("records")?;
        for key in part {
            table.insert(&mut txn, key, &[0; 100])?;
        }
        txn.commit()?;
    }
    database.close()?;
    let mut rng = Rng::with_seed(SEED ^ pages);
    let row = ROW.min((pages / ROW_PART) as u32);
    let vast = VastFile {
        page_count: pages,
        used_percent: map.used_percent,
        pending_pages: map.pending,
        free_extents: [&[row], &RUNS[..], &[LONG_RUN]].concat(),
    };
    let counts = make_vast(path, &vast, &mut || rng.u64(..))?;
    if map.allocate {
        allocate(path)?;
    }
    Ok(counts)
}

/// Allocates each block of the file.
fn allocate(path: &Path) -> Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let len = file.metadata()?.len();
    let system = statvfs(path)?;
    let room = system.f_bavail * system.f_frsize;
    ensure!(
        len < room,
        "the file system has {room} bytes and not {len}; do without --allocate, or mount one that has them, \
         like one in a sparse file"
    );
    fallocate(&file, FallocateFlags::empty(), 0, len)?;
    Ok(file.sync_all()?)
}

/// The keys of the records.
fn keys() -> Vec<Key> {
    DataSet::new(RECORDS).keys
}

/// Has a process of its own open the file, and commit if there are `commits`.
fn start(map: &SpaceMapRun, path: &Path, commits: u32) -> Result<SpaceMapOutcome> {
    let task = SpaceMapProcess {
        path: path.to_path_buf(),
        commits,
        largest_mib: map.largest_mib,
        lazy: map.allocate,
    };
    let program = env::current_exe().context("cannot find this program's path")?;
    let output = Command::new(program)
        .args(task.to_command_line())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        bail!("a process that opens {} failed", path.display());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
