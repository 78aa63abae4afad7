//! Files whose space map has many pages: the cost of opening, and of commits, compared with a
//! smaller file.
//!
//! A database of 100,000 records is closed, and its space map rewritten as that of a far longer
//! file, most of whose pages are in use and have no contents. The file is sparse: it has only the
//! blocks of the records and the space map. A process of its own opens it each time, with and
//! without its pages in the system's memory; the last one commits.
//!
//! In a sparse file a commit has to allocate the blocks of the pages that it takes, which would be
//! most of the work of a lazy commit. To time lazy commits as in other files, `--allocate`
//! allocates all blocks at first. This is meant for a file system that can do so cheaply, like one
//! in a sparse file.

mod figure;
mod process;
mod report;

pub(crate) use process::run_process;
pub(crate) use report::{describe_run, table};

use crate::{
    arguments::{SpaceMapArguments, SpaceMapProcess},
    bench::settle,
    process::forget_cached,
    statistics::Samples,
};
use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use figure::SpaceMapFigure;
use process::SpaceMapOutcome;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
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

const SEED: u64 = 0x7370_6163;
/// Consecutive free pages for small commits and for checkpoints of the free map; at most a part of
/// the file.
const ROW: u32 = 1 << 16;
const ROW_PART: u64 = 16;
/// Free extents with room for a value of 1 MiB and the pages of its tree, and one for a value of 64
/// MiB.
const RUNS: [u32; 8] = [512; 8];
const LONG_RUN: u32 = 64 * 256 + 512;

/// Runs `space-map` with databases below `directory`.
pub(crate) fn run(map: &SpaceMapArguments, directory: &Path) -> Result<Vec<SpaceMapFigure>> {
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

fn measure(map: &SpaceMapArguments, pages: u64, run_directory: &Path) -> Result<SpaceMapFigure> {
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

/// Creates the database, and then extends its space map to that of a long file.
fn prepare(map: &SpaceMapArguments, pages: u64, path: &Path) -> Result<VastCounts> {
    let database = Database::open(path)?;
    for part in process::keys().chunks(process::RECORDS / 2) {
        let mut txn = database.begin_write()?;
        txn.set_durability(Durability::Lazy);
        let table: Table<Bytes, Bytes> = txn.create_table("records")?;
        for key in part {
            table.insert(&mut txn, key, [0; 100])?;
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

/// Opens the file in a process of its own, which makes `commits` commits of each kind.
fn start(map: &SpaceMapArguments, path: &Path, commits: u32) -> Result<SpaceMapOutcome> {
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
