//! `teak-bench`: Teak beside other engines, on the same data.
//!
//! ```text
//! cargo run --release -p teak-bench -- compare --html report.html
//! cargo run --release -p teak-bench -- quick
//! cargo run --release -p teak-bench -- quick --records 10000000 --json figures.json
//! cargo run --release -p teak-bench -- quick --engines teak,lmdb,mdbx
//! cargo run --release -p teak-bench -- commits --threads 1,16 --mode async,lazy
//! cargo run --release -p teak-bench -- flushes --threads 1,16
//! cargo run --release -p teak-bench -- readers --threads 1,2 --open 0,1000
//! cargo run --release -p teak-bench -- handover --processes 1,2
//! cargo run --release -p teak-bench -- space --records 100000 --commits 200000 --removal 10000000
//! cargo run --release -p teak-bench -- values --operations 1000000 --per-commit 100
//! cargo run --release -p teak-bench -- transaction --write-mib 32,256
//! cargo run --release -p teak-bench -- kinds
//! cargo run --release -p teak-bench -- kinds --only many --many 10000000 --engines teak
//! cargo run --release -p teak-bench -- cold
//! cargo run --release -p teak-bench -- backup --bytes 1000000000
//! cargo run --release -p teak-bench --features space-map -- space-map --pages 1048576,268435456
//! ```
//!
//! `compare`, which has more engines, each in a process of its own, is described in `docs/benchmarks.md`.
//!
//! # What `quick` measures
//!
//! Records are 16-byte random keys (seeded, so each run has the same) with 100-byte values that do
//! not compress. The works, in the order in which they run:
//!
//! | work | what one operation is |
//! |---|---|
//! | `load_random_lazy` | one record of a load in random order, 10,000 a transaction, no flush; handed over at once: `insert_many` (LMDB and libmdbx have no such call: one after the other) |
//! | `load_presorted_lazy` | the same, but the program sorts each 10,000 first, which counts |
//! | `load_single_lazy` | the same, unsorted, one call for each record |
//! | `get` | a lookup of a present key; one read transaction for each slice of 20,000 |
//! | `get_many_32` | the same keys, 32 at a time (LMDB and libmdbx have no such call: one after the other) |
//! | `get_txn` | begin a read, one lookup, end it |
//! | `get_txn_renew` | the same with `mdb_txn_renew` and `mdb_txn_reset` of LMDB, and libmdbx's; Teak as above |
//! | `scan` | one record of a scan forwards over everything, key and value touched |
//! | `txn_lazy` | one transaction of one record: a new one, or a new value for an old one |
//! | `txn_durable` | the same, on disk before it returns |
//! | `load_sorted_lazy` | one record of a load in key order by ordinary inserts, 10,000 a transaction |
//! | `load_sorted_append` | the same through what each engine has for it: `bulk_load`, `MDB_APPEND`, `MDBX_APPEND` |
//!
//! # What `commits` measures
//!
//! Commits of one record, each on disk before it returns, from many threads at the same time: in turn a new value
//! for an old key and a new key, on a database of `--records`. All threads share one open database of each engine. Of LMDB and
//! libmdbx one thread commits while the others wait for their lock, which is all that they have; of Teak those that commit
//! meanwhile share the next flush.
//!
//! A slice is 64 commits for each thread or a few more. Its threads begin together and take its records from one place;
//! its time is from the first thread's begin to the last one's end. A latency is the time of begin, put and commit
//! of one record, with all waiting. Percentiles are over all rounds, commits a second the median of the rounds.
//!
//! With `--mode` Teak runs in other modes too, on databases of their own: `async` (`commit_async`; the time of a slice is over when
//! the ticket of each thread's last commit is, a latency when the call returns) and `lazy` (what was not flushed yet is flushed
//! behind each slice, outside the clock).
//!
//! After each round the round's records are compared whole, and all of the database by a sum.
//!
//! `flushes` is the same without a store: threads that share flushes of pages anywhere in a file, and nothing else. What it
//! comes to is what the machine and its disk leave to be had.
//!
//! # What `readers` measures
//!
//! Nanoseconds of a thread for one operation, on a table that fits the processor's caches, beside `--open` other read transactions
//! of the same process:
//!
//! | operation | what it is |
//! |---|---|
//! | `begin_end` | a read transaction is begun and ended |
//! | `begin_lookup_end` | the same with a lookup of a present key in it |
//! | `lookup` | the lookup alone, in a transaction that is open: what the other two are more than this is the transaction |
//!
//! Teak has one line for each; LMDB and libmdbx have one for each way that their users do it. `begin` is a transaction begun and ended
//! for good, `renew` one that is taken up again, both with `MDB_NOTLS` or `MDBX_NOSTICKYTHREADS`, which tie a slot of their table of
//! readers to the transaction, and without which a thread cannot have many. `begin, slots of threads` is without: the thread
//! keeps its slot. Slots are as many as are needed.
//!
//! # What `handover` measures
//!
//! Lazy commits of one record, a new value for an old key, from processes that have one database open at the same time: commits a
//! second of all together, what part of them came from the process with the fewest, and the longest wait for a turn. With
//! `--mode free` whoever gets the lock commits, and the wait is that to begin a write. With `strict` each commits only when
//! it has seen the other's last commit through a read of its own, and the wait is from its own last commit to that. An engine
//! that fails shows its error instead.
//!
//! # What `space` measures
//!
//! What the file system has set aside for the file, each engine by itself, after each tenth of the commits:
//!
//! - `alone`, `reader`: after a load in random order each commit replaces the value of a random record, on the disk before it
//!   returns. With `reader` one read transaction of the same process stays open from before the first commit to behind the last.
//! - `removal`: nine of ten records, chosen at random, are removed in transactions of 10,000; then the same commits. `fresh` is the
//!   size of a new database that is given what is left, in the order of keys, by the call that each engine has for that. Meanwhile
//!   `--verifiers` threads read whole states, one after the other, each in a transaction, and compare count and hashes of the records
//!   with what was committed before the transaction began. The first that is something else ends the run with an error.
//!
//! With `--chart FILE` the sizes of `alone` and `reader` are drawn.
//!
//! With `--fragmented_pages N`: the time of one commit of one record, lazy and durable, in two databases of an engine in turns, with the same records: one
//! with nothing else, and one with N dead pages that an open reader sees, then, when the reader is gone, with N free pages. LMDB's lazy
//! commits have `MDB_NOSYNC` in their transaction, libmdbx's `MDBX_TXN_NOSYNC`.
//!
//! With `--names N`: the same for Teak in two databases, one without named snapshots, one with N, of states one small commit from each
//! other; and the time of the commits that gave the names.
//!
//! # What `values` measures
//!
//! Values of 2 to 10 KiB that are inserted, updated and removed at random, 100 such operations in a commit: the operations of all
//! commits a second, how long commits take, and how many bytes the file system has set aside for each byte of keys and values that is
//! there. The engines are given the same operations, a twentieth of them in turn.
//!
//! # What `transaction` measures
//!
//! One transaction that inserts `--records` in random order into an empty database, one call each, durable and lazy: its time, the bytes that it
//! gave to calls that write, and the bytes of pages that it made dirty. Teak has a line for each memory budget of `--write-mib`; the
//! others have no such budget.
//!
//! # What `cold` measures
//!
//! Two tables of records as `quick` has them, one loaded in the order of keys and one at random, 10,000 in a transaction. Before each round the
//! database is opened with another kind of reading ahead (`Options::read_ahead`) and gives all memory of the file back; then all
//! records are scanned, or some looked up at random. `bytes read` are those that the disk gave for it, as the system counts them.
//!
//! # What `kinds` measures
//!
//! Nanoseconds of an operation, median (fastest..slowest) of `--repeat` rounds, all engines in turns, all commits lazy. Keys are of 16 bytes. Tables in which
//! a key has several values (Teak `MultiTable`, the others `DUPSORT`): `many` are `--many` values of one key, `ten` 10 of each of `--tens`
//! keys, `one` 1 of each of `--ones` keys; `fixed` are values of 8 bytes, which the table is told (`ValueSize::Bytes`, `DUPFIXED`), `variable` such of 16 to 24.
//! On what `insert` leaves are reads; a lookup or scan that is not counted goes before.
//!
//! | operation | what it is |
//! |---|---|
//! | `insert` | a pair, in random order, 10,000 a transaction, by a call each |
//! | `insert_batches` | the same, those of a key one behind the other, at once: `insert_packed`, `insert_values`, `insert_many`; `MULTIPLE` of a key's values of fixed length, else puts |
//! | `first_value` | the first value of a key: `first_value`, `get` |
//! | `pair` | whether a pair is there: `contains`, `GET_BOTH` of a cursor |
//! | `count` | how many values a key has: `count`, `SET` and `cursor_count` |
//! | `scan_packed` | a value of a scan of all, as many at a time as there are: `for_each_packed` of one key, `read_packed` of several, `GET_MULTIPLE` and `NEXT_MULTIPLE` |
//! | `scan` | a pair of a scan of all by a cursor, key and value touched |
//! | `count_range` | how many records are in a range of a hundredth of `--records`: Teak's, of a table that counts and of one that does not, which reads the leaves |
//! | `estimate_range` | about how many: Teak's and libmdbx's, and how far they were off in the mean |
//! | `walk_range` | a cursor that goes over them |
//! | `remove_range` | a record of a range of `--records` of a table of 1.2 times as many, which was loaded in order, removed in one transaction: `remove_range`; LMDB has cursor deletes, libmdbx `cursor_delete_range` |
//! | `clear` | a record of that table, all of which are removed by the call for that: `clear`, `mdb_drop`, `mdbx_drop`. Teak releases the first 65,536 pages of it and leaves the rest to later commits |
//! | `commit`, `commit_after_clear` | a transaction with one record, 1,000 of them, in a new database, and in the one that was just emptied |
//! | `transaction_of_10` | a nested transaction of 10 new values in a table of a tenth of `--records`, every other one rolled back, 100 in an outer one |
//!
//! What a load, a removal or nested transactions left is compared whole with what it should be, and what reads found by counts and sums.
//!
//! # What `backup` measures
//!
//! Copies of a whole database that is open: what comes from the disk, what goes to it, and how long it takes until the copy is there.
//! Then some records get new values, and it is copied again. `plain` is `Database::backup`, `mdb_env_copy` and `mdbx_env_copy`;
//! `compact` is `Database::backup_compact` and both with their flags to compact.
//!
//! # What `space-map` measures
//!
//! With `--features space-map`: Teak on files whose space map is of many pages, while they have few blocks. How long opening takes a new
//! process, with the file in the system's memory and not; its memory; commits of one record, of many, and of large values. Lazy commits need
//! `--allocate`, and a file system with room for the whole file. One in a sparse file takes up little itself:
//!
//! ```text
//! truncate --size 1200G image && mkfs.xfs -l size=64m image && mount -o loop image DIRECTORY
//! cargo run --release -p teak-bench --features space-map -- space-map --allocate --dir DIRECTORY
//! ```
//!
//! # Why the figures may be compared
//!
//! The engines take turns: a round of loads runs one whole load after the other, everything else
//! runs in short slices, and who goes first changes from turn to turn. Between loads the file system is flushed,
//! outside the clock. Reads and transactions run on the databases of `load_single_lazy`, or such as it makes. Records are made before the clock starts. Before reads are timed each engine
//! has done all of them once; what every timed read returns is checked by a sum, and a sample is
//! compared whole. The figure is the median over the rounds, beside the fastest and the slowest.
//!
//! # Settings, and what a power cut does
//!
//! | engine, mode | settings | after a power cut |
//! |---|---|---|
//! | `teak`, lazy | `Durability::Lazy` | the newest commit that is whole; never corrupt |
//! | `teak`, durable | `Durability::Durable`, one flush a commit | every commit that returned |
//! | `teak`, async | `commit_async` | the newest commit that is whole, and every commit whose ticket was waited for |
//! | `lmdb`, lazy | `MDB_NOSYNC` | may be corrupt, unless the file system keeps the order of writes |
//! | `lmdb`, durable | no flag: two flushes a commit | every commit that returned |
//! | `lmdb-writemap`, lazy | `MDB_WRITEMAP`, `MDB_NOSYNC` | may be corrupt |
//! | `lmdb-writemap`, durable | `MDB_WRITEMAP` | every commit that returned |
//! | `mdbx`, lazy | `MDBX_SAFE_NOSYNC` | the last commit that was flushed; never corrupt |
//! | `mdbx`, before what `space` measures, and while it removes | `MDBX_UTTERLY_NOSYNC`; the others as lazy | may be corrupt |
//! | `mdbx`, durable | `MDBX_SYNC_DURABLE`: two flushes a commit | every commit that returned |
//!
//! `--engines` also knows `mdbx-writemap`, and `teak-unverified` and `teak-always`: Teak with `Verification::Off` and
//! `Verification::Always`, on databases of their own. `teak` has what databases are opened with by default:
//! each page is compared with its checksum when it is first read.
//!
//! LMDB always has `MDB_NOSUBDIR`, `MDB_NORDAHEAD` and a map of 8 times the data and 1 GiB more, and keeps
//! its records in the unnamed database. It is called through its C functions with nothing between.
//! With `MDB_WRITEMAP` its file is as long as its map, and sparse: look at `allocated_bytes`.
//!
//! libmdbx always has `MDBX_NOSUBDIR` and `MDBX_NORDAHEAD`, and keeps its records in the unnamed database. Its geometry: as much room
//! as LMDB's map, growing by 64 MiB at a time, never shrinking, so that its file is sparse too; pages of the system's size. Everything else is as it comes, and it is
//! called through its C functions with nothing between, one thread beginning and ending each of its transactions, which it and LMDB ask for.
//!
//! # Space
//!
//! After each load: `file_bytes` is the length of the file, `allocated_bytes` what the file system
//! has set aside for it, `used_bytes` the pages that are not free, `data_bytes` keys and values alone.

#![deny(unsafe_code)]

mod arguments;
mod backup;
mod bench;
mod children;
mod cold;
mod commits;
mod compare;
mod data;
mod engines;
mod environment;
mod flushes;
mod handover;
mod kinds;
mod latencies;
mod measurement;
mod process;
mod readers;
mod report;
mod space;
#[cfg(feature = "space-map")]
mod space_map;
mod statistics;
mod transaction;
mod values;
mod workloads;

use anyhow::{Context, Result, ensure};
use arguments::{
    Arguments, BackupRun, Cold, Command, Commits, Flushes, Handover, Kinds, Quick, Readers,
    RunPaths, SpaceRun, TransactionRun, Values,
};
use clap::Parser;
use compare::Compare;
use serde::Serialize;
use std::{
    env, fs,
    path::{Path, PathBuf},
};

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Compare(compare) => {
            in_directory(&compare.paths, |directory| run_compare(&compare, directory))
        }
        Command::CompareEngine(task) => compare::run_process(task.engine),
        Command::Quick(quick) => {
            in_directory(&quick.paths, |directory| run_quick(&quick, directory))
        }
        Command::Commits(commits) => {
            in_directory(&commits.paths, |directory| run_commits(&commits, directory))
        }
        Command::Flushes(flushes) => {
            in_directory(&flushes.paths, |directory| run_flushes(&flushes, directory))
        }
        Command::Readers(readers) => {
            in_directory(&readers.paths, |directory| run_readers(&readers, directory))
        }
        Command::Handover(handover) => in_directory(&handover.paths, |directory| {
            run_handover(&handover, directory)
        }),
        Command::Space(space) => {
            in_directory(&space.paths, |directory| run_space(&space, directory))
        }
        Command::Values(values) => {
            in_directory(&values.paths, |directory| run_values(&values, directory))
        }
        Command::Transaction(transaction) => in_directory(&transaction.paths, |directory| {
            run_transaction(&transaction, directory)
        }),
        Command::Kinds(kinds) => {
            in_directory(&kinds.paths, |directory| run_kinds(&kinds, directory))
        }
        Command::Cold(cold) => in_directory(&cold.paths, |directory| run_cold(&cold, directory)),
        Command::Backup(backup) => {
            in_directory(&backup.paths, |directory| run_backup(&backup, directory))
        }
        #[cfg(feature = "space-map")]
        Command::SpaceMap(map) => {
            in_directory(&map.paths, |directory| run_space_map(&map, directory))
        }
        #[cfg(feature = "space-map")]
        Command::SpaceMapProcess(task) => space_map::run_process(&task),
        Command::HandoverProcess(task) => handover::run_process(&task),
    }
}

/// Says what it runs on, and runs `work` with a directory that is there as long.
fn in_directory(paths: &RunPaths, work: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let parent = parent_directory(paths)?;
    let directory = tempfile::Builder::new()
        .prefix("teak-bench-")
        .tempdir_in(&parent)
        .with_context(|| format!("cannot create a directory in {}", parent.display()))?;
    println!("{}", environment::describe(directory.path()));
    work(directory.path())?;
    let path = directory.path().to_owned();
    directory
        .close()
        .with_context(|| format!("cannot remove {}; remove it by hand", path.display()))
}

fn run_compare(compare: &Compare, directory: &Path) -> Result<()> {
    println!("{}", compare::describe_run(compare));
    let report = compare::run(compare, directory)?;
    println!("\n{}", compare::table(&report));
    if let Some(path) = &compare.paths.json {
        report::write_json(path, &report)?;
        println!("figures written to {}", path.display());
    }
    if let Some(path) = compare.html() {
        compare::write_html(&report, path)?;
        println!("report written to {}", path.display());
    }
    ensure!(report.is_complete(), "not every engine came through");
    Ok(())
}

fn run_quick(quick: &Quick, directory: &Path) -> Result<()> {
    println!("{}", report::describe_run(quick));
    let measurements = workloads::run(quick, directory)?;
    print!("{}", report::tables(&measurements, &quick.engines));
    write_figures(&quick.paths, &measurements)
}

fn run_commits(commits: &Commits, directory: &Path) -> Result<()> {
    println!("{}", commits::describe_run(commits));
    let figures = commits::run(commits, directory)?;
    println!("\n{}", commits::table(&figures));
    write_figures(&commits.paths, &figures)
}

fn run_flushes(flushes: &Flushes, directory: &Path) -> Result<()> {
    println!("{}", flushes::describe_run(flushes));
    let figures = flushes::run(flushes, directory)?;
    println!("{}", flushes::table(&figures));
    write_figures(&flushes.paths, &figures)
}

fn run_readers(readers: &Readers, directory: &Path) -> Result<()> {
    println!("{}", readers::describe_run(readers));
    let figures = readers::run(readers, directory)?;
    println!("\n{}", readers::table(&figures));
    write_figures(&readers.paths, &figures)
}

fn run_handover(handover: &Handover, directory: &Path) -> Result<()> {
    println!("{}", handover::describe_run(handover));
    let figures = handover::run(handover, directory)?;
    println!("\n{}", handover::table(&figures));
    write_figures(&handover.paths, &figures)
}

fn run_space(space: &SpaceRun, directory: &Path) -> Result<()> {
    ensure!(
        space.chart.is_none() || space.commits > 0,
        "--chart draws the files in the course of --commits, which are none"
    );
    let figures = space::run(space, directory)?;
    if !figures.is_empty() {
        println!("\n{}", space::table(&figures));
    }
    if let Some(path) = &space.chart {
        space::chart::draw(&figures, space.records, path)?;
        println!("chart drawn to {}", path.display());
    }
    let mut all = to_values(&figures)?;
    if space.fragmented_pages > 0 {
        let figures = space::fragmentation::run(space, directory)?;
        println!("\n{}", space::fragmentation::table(&figures));
        all.extend(to_values(&figures)?);
    }
    if space.names > 0 {
        let figures = space::names::run(space, directory)?;
        println!("\n{}", space::names::table(&figures));
        all.extend(to_values(&figures)?);
    }
    write_figures(&space.paths, &all)
}

/// Figures of any kind, as one list of JSON has them.
fn to_values(figures: &[impl Serialize]) -> Result<Vec<serde_json::Value>> {
    let values = figures.iter().map(serde_json::to_value);
    Ok(values.collect::<Result<_, _>>()?)
}

fn run_values(values: &Values, directory: &Path) -> Result<()> {
    println!("{}", values::describe_run(values));
    let figures = values::run(values, directory)?;
    println!("\n{}", values::table(&figures));
    write_figures(&values.paths, &figures)
}

fn run_transaction(transaction: &TransactionRun, directory: &Path) -> Result<()> {
    println!("{}", transaction::describe_run(transaction));
    let figures = transaction::run(transaction, directory)?;
    println!("\n{}", transaction::table(&figures));
    write_figures(&transaction.paths, &figures)
}

fn run_kinds(kinds: &Kinds, directory: &Path) -> Result<()> {
    println!("{}", kinds::describe_run(kinds));
    let figures = kinds::run(kinds, directory)?;
    println!("\n{}", kinds::tables(&figures, &kinds.engines));
    write_figures(&kinds.paths, &figures)
}

fn run_cold(cold: &Cold, directory: &Path) -> Result<()> {
    println!("{}", cold::describe_run(cold));
    let figures = cold::run(cold, directory)?;
    println!("\n{}", cold::table(&figures));
    write_figures(&cold.paths, &figures)
}

fn run_backup(backup: &BackupRun, directory: &Path) -> Result<()> {
    println!("{}", backup::describe_run(backup));
    let figures = backup::run(backup, directory)?;
    println!("\n{}", backup::table(&figures));
    write_figures(&backup.paths, &figures)
}

#[cfg(feature = "space-map")]
fn run_space_map(map: &arguments::SpaceMapRun, directory: &Path) -> Result<()> {
    println!("{}", space_map::describe_run(map));
    let figures = space_map::run(map, directory)?;
    println!("\n{}", space_map::table(&figures));
    write_figures(&map.paths, &figures)
}

/// Writes the JSON file, if one was asked for.
fn write_figures(paths: &RunPaths, figures: &[impl Serialize]) -> Result<()> {
    if let Some(path) = &paths.json {
        report::write_json(path, figures)?;
        println!("figures written to {}", path.display());
    }
    Ok(())
}

/// Where the databases go: as asked, else beside this program, which is on the disk it was built on.
fn parent_directory(paths: &RunPaths) -> Result<PathBuf> {
    if let Some(directory) = &paths.dir {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        return Ok(directory.clone());
    }
    let program = env::current_exe().context("cannot find this program's path; give --dir")?;
    Ok(program.parent().map_or_else(env::temp_dir, PathBuf::from))
}
