//! `teak-bench`: compares Teak with other engines, on the same data.
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
//! cargo run --release -p teak-bench --features leveldb,rocksdb -- compression
//! cargo run --release -p teak-bench -- opening
//! cargo run --release -p teak-bench --features heed,redb,fjall -- typed
//! cargo run --release -p teak-bench -- backup --bytes 1000000000
//! cargo run --release -p teak-bench --features space-map -- space-map --pages 1048576,268435456
//! ```
//!
//! `compare` has more engines, each in a process of its own. `docs/benchmarks.md` describes it.
//!
//! # Measurements of `quick`
//!
//! Records have 16-byte random keys (from a fixed seed, so every run has the same) and 100-byte
//! values that do not compress. The workloads, in the order in which they run:
//!
//! | workload | one operation |
//! |---|---|
//! | `load_random_lazy` | one record of a load in random order, 10,000 per transaction, no flush, passed in one call: `insert_many` (LMDB and libmdbx have no such call: one put per record) |
//! | `load_presorted_lazy` | like `load_random_lazy`, but the program sorts each 10,000 first, which counts |
//! | `load_single_lazy` | like `load_random_lazy`, unsorted, with one call per record |
//! | `get` | a lookup of an existing key; one read transaction per slice of 20,000 |
//! | `get_many_32` | the same keys, 32 at a time (LMDB and libmdbx have no such call: one get per key) |
//! | `get_txn` | begin a read transaction, one lookup, end it |
//! | `get_txn_renew` | like `get_txn`, with `mdb_txn_renew` and `mdb_txn_reset` of LMDB, and those of libmdbx; Teak as in `get_txn` |
//! | `scan` | one record of a forward scan of everything, key and value touched |
//! | `txn_lazy` | one transaction of one record: a new one, or a new value for an old one |
//! | `txn_durable` | like `txn_lazy`, on disk before it returns |
//! | `load_sorted_lazy` | one record of a load in key order by ordinary inserts, 10,000 per transaction |
//! | `load_sorted_append` | like `load_sorted_lazy`, through each engine's call for it: `bulk_load`, `MDB_APPEND`, `MDBX_APPEND` |
//!
//! # Measurements of `commits`
//!
//! Commits of one record from many threads at the same time, each on disk before it returns:
//! alternately a new value for an old key and a new key, on a database of `--records`. All threads
//! share one open database of each engine. In LMDB and libmdbx one thread commits while the others
//! wait for the lock. In Teak the threads that commit during a flush share the next one.
//!
//! A slice is 64 commits per thread or a few more. Its threads begin together and take records from
//! one shared list. The time of a slice is from the begin of the first thread to the end of the
//! last. A latency is the time of begin, put and commit of one record, including all waits.
//! Percentiles are over all rounds; commits per second are the median of the rounds.
//!
//! With `--mode` Teak also runs in other modes, on databases of their own. In `async` mode
//! (`commit_async`) a slice ends when the ticket of each thread's last commit is durable, and a
//! latency when the call returns. In `lazy` mode the remaining commits are flushed after each
//! slice, outside the clock.
//!
//! After each round all records of the round are compared, and the whole database by a sum.
//!
//! `flushes` is the same without a store: threads that share flushes of pages anywhere in a file,
//! and nothing else. Its result is the upper bound of the machine and its disk.
//!
//! # Measurements of `readers`
//!
//! Nanoseconds of a thread per operation, on a table that fits the processor's caches, with
//! `--open` other open read transactions of the same process:
//!
//! | operation | meaning |
//! |---|---|
//! | `begin_end` | a read transaction is begun and ended |
//! | `begin_lookup_end` | a read transaction with a lookup of an existing key |
//! | `lookup` | only the lookup, in an open transaction: the difference to the other two is the cost of the transaction |
//!
//! Teak has one line for each. LMDB and libmdbx have one for each way of using them. `begin` begins
//! and ends a transaction, `renew` renews a reset one. Both use `MDB_NOTLS` or
//! `MDBX_NOSTICKYTHREADS`, which tie a slot of the reader table to the transaction; without them a
//! thread cannot have many. `begin, slots of threads` does without: the thread keeps its slot.
//! There are as many slots as needed.
//!
//! # Measurements of `handover`
//!
//! Lazy commits of one record, a new value for an old key, from several processes with one open
//! database: commits per second of all together, the share of the process with the fewest, and the
//! longest wait for a turn. With `--mode free` the process that gets the lock commits, and the wait
//! is the time to begin a write. With `strict` each process commits only after it has seen the
//! other's last commit in a read transaction, and the wait is the time from its own last commit to
//! that. An engine that fails shows its error instead.
//!
//! # Measurements of `space`
//!
//! The space allocated for the file, for one engine after the other, after each tenth of the
//! commits:
//!
//! - `alone`, `reader`: after a load in random order each commit replaces the value of a random
//!   record, on the disk before it returns. With `reader` one read transaction of the same process
//!   stays open during all commits.
//! - `removal`: nine of ten records, chosen at random, are removed in transactions of 10,000; then
//!   the same commits follow. `fresh` is the size of a new database with the remaining records,
//!   loaded in key order by each engine's call for that. At the same time `--verifiers` threads
//!   read whole states, each in a transaction, and compare count and hashes of the records with
//!   those committed before the transaction began. The first difference ends the run with an error.
//!
//! With `--chart FILE` the sizes of `alone` and `reader` are drawn.
//!
//! With `--fragmented-pages N`: the time of one commit of one record, lazy and durable, in two
//! databases of an engine in turns, with the same records: one with nothing else, and one with N
//! dead pages, which an open reader uses at first and which are free when it has ended. LMDB's lazy
//! commits have `MDB_NOSYNC` in their transaction, libmdbx's `MDBX_TXN_NOSYNC`.
//!
//! With `--names N`: the same for Teak in two databases, one without named snapshots, and one with
//! N, of states one small commit apart; also the time of the commits that created the snapshots.
//!
//! # Measurements of `values`
//!
//! Values of 2 to 10 KiB that are inserted, updated and removed at random, 100 operations per
//! commit: operations per second including all commits, the times of the commits, and the allocated
//! bytes per byte of keys and values. The engines get the same operations, in turns of a twentieth.
//!
//! # Measurements of `transaction`
//!
//! One transaction that inserts `--records` in random order into an empty database, one call each,
//! durable and lazy: its time, the bytes passed to write calls, and the bytes of pages made dirty.
//! Teak has a line for each memory budget of `--write-mib`; the others have no such budget.
//!
//! # Measurements of `kinds`
//!
//! Nanoseconds per operation, median (fastest..slowest) of `--repeat` rounds, all engines in turns,
//! all commits lazy. Keys have 16 bytes. In tables with several values per key (Teak `MultiTable`,
//! the others `DUPSORT`): `many` is `--many` values of one key, `ten` 10 values of each of `--tens`
//! keys, `one` 1 value of each of `--ones` keys; `fixed` are values of 8 bytes, with the size
//! declared (`ValueSize::Bytes`, `DUPFIXED`), `variable` are values of 16 to 24 bytes. Reads use
//! the table that `insert` made, after a lookup or scan that is not counted.
//!
//! | operation | meaning |
//! |---|---|
//! | `insert` | a pair, in random order, 10,000 per transaction, by one call each |
//! | `insert_batches` | a pair, with all pairs of a key together, in one call: `insert_packed`, `insert_values`, `insert_many`; `MULTIPLE` for a key's values of fixed length, otherwise puts |
//! | `first_value` | the first value of a key: `first_value`, `get` |
//! | `pair` | whether a pair exists: `contains`, `GET_BOTH` of a cursor |
//! | `count` | the number of values of a key: `count`, `SET` and `cursor_count` |
//! | `scan_packed` | a value of a scan of all, as many per call as possible: `for_each_packed` for one key, `read_packed` for several, `GET_MULTIPLE` and `NEXT_MULTIPLE` |
//! | `scan` | a pair of a scan of all by a cursor, key and value touched |
//! | `count_range` | the number of records in a range of a hundredth of `--records`: Teak's, for a counted table, and for one that is not, which reads the leaves |
//! | `estimate_range` | the estimated number: Teak's and libmdbx's, with the mean deviation |
//! | `walk_range` | a cursor walk over the range |
//! | `remove_range` | a record of a range of `--records` in a table of 1.2 times as many, loaded in order, removed in one transaction: `remove_range`; cursor deletes of LMDB, `cursor_delete_range` of libmdbx |
//! | `clear` | a record of that table, emptied by one call: `clear`, `mdb_drop`, `mdbx_drop`. Teak releases the first 65,536 pages and leaves the rest to later commits |
//! | `commit`, `commit_after_clear` | a transaction with one record, 1,000 of them, in a new database, and in the one just emptied |
//! | `transaction_of_10` | a nested transaction of 10 new values in a table of a tenth of `--records`, every other one rolled back, 100 in an outer one |
//!
//! The results of loads, removals and nested transactions are compared whole with the expected
//! records, and the results of reads by counts and sums.
//!
//! # Measurements of `opening`
//!
//! Microseconds to create a database, commit one record durably, and drop the database: in memory,
//! in a temporary file, and on the disk. `disk, lazy` commits lazily, closes without a flush and
//! leaves the lock file.
//!
//! # Measurements of `backup`
//!
//! Copies of a whole open database: the bytes read from and written to the disk, and the time until
//! the copy is complete. Then some records get new values, and it is copied again. `plain` is
//! `Database::backup`, `mdb_env_copy` and `mdbx_env_copy`; `compact` is `ReadTxn::copy_dense`
//! and both with their flags to compact.
//!
//! # Measurements of `space-map`
//!
//! With `--features space-map`: Teak on files whose space map has many pages, while the files have
//! few blocks. The time to open the file in a new process, with the file cached and not; the memory
//! of the process; commits of one record, of many, and of large values. Lazy commits need
//! `--allocate`, and a file system with room for the whole file. A file system in a sparse file
//! takes little space itself:
//!
//! ```text
//! truncate --size 1200G image && mkfs.xfs -l size=64m image && mount -o loop image DIRECTORY
//! cargo run --release -p teak-bench --features space-map -- space-map --allocate --dir DIRECTORY
//! ```
//!
//! # Why the figures are comparable
//!
//! The engines take turns: a round of loads runs one whole load after the other, everything else
//! runs in short slices, and the order changes from turn to turn. Between loads the file system is
//! flushed, outside the clock. Reads and transactions run on databases loaded as by
//! `load_single_lazy`. Records are made before the clock starts. Before reads are timed, each
//! engine has done all of them once. The result of every timed read is checked by a sum, and a
//! sample is compared. The figure is the median over the rounds, with the fastest and the slowest.
//!
//! # Settings, and the effect of a power cut
//!
//! | engine, mode | settings | after a power cut |
//! |---|---|---|
//! | `teak`, lazy | `Durability::Lazy` | the newest complete commit; never corrupt |
//! | `teak`, durable | `Durability::Durable`, one flush per commit | every commit that returned |
//! | `teak`, async | `commit_async` | the newest complete commit, and every commit whose ticket was waited for |
//! | `lmdb`, lazy | `MDB_NOSYNC` | may be corrupt, unless the file system keeps the order of writes |
//! | `lmdb`, durable | no flag: two flushes per commit | every commit that returned |
//! | `lmdb-writemap`, lazy | `MDB_WRITEMAP`, `MDB_NOSYNC` | may be corrupt |
//! | `lmdb-writemap`, durable | `MDB_WRITEMAP` | every commit that returned |
//! | `mdbx`, lazy | `MDBX_SAFE_NOSYNC` | the last flushed commit; never corrupt |
//! | `mdbx`, for the loads and removals of `space` | `MDBX_UTTERLY_NOSYNC`; the others as lazy | may be corrupt |
//! | `mdbx`, durable | `MDBX_SYNC_DURABLE`: two flushes per commit | every commit that returned |
//!
//! `--engines` also accepts `mdbx-writemap`, `teak-unverified` and `teak-always`. The latter two
//! are Teak with `Verification::Off` and `Verification::Always`, on databases of their own. `teak`
//! uses the default: each page is compared with its checksum when it is first read.
//!
//! LMDB always has `MDB_NOSUBDIR`, `MDB_NORDAHEAD` and a map of 8 times the data plus 1 GiB, and
//! keeps its records in the unnamed database. Its C functions are called directly. With
//! `MDB_WRITEMAP` its file is as long as its map, and sparse: see `allocated_bytes`.
//!
//! libmdbx always has `MDBX_NOSUBDIR` and `MDBX_NORDAHEAD`, and keeps its records in the unnamed
//! database. Its geometry: as much room as LMDB's map, growing by 64 MiB at a time, never
//! shrinking, so that its file is sparse too; pages of the system's size. Everything else is the
//! default. Its C functions are called directly. One thread begins and ends each transaction, which
//! libmdbx and LMDB require.
//!
//! # Space
//!
//! After each load: `file_bytes` is the length of the file, `allocated_bytes` the space that the
//! file system has allocated for it, `used_bytes` the pages that are not free, `data_bytes` keys
//! and values only.

#![deny(unsafe_code)]

mod arguments;
mod backup;
mod bench;
mod children;
mod cold;
mod commits;
mod compare;
mod compression;
mod data;
mod engines;
mod environment;
mod flushes;
mod handover;
mod kinds;
mod latencies;
mod measurement;
mod opening;
mod process;
mod readers;
mod report;
mod space;
#[cfg(feature = "space-map")]
mod space_map;
mod statistics;
mod transaction;
mod typed;
mod values;
mod workloads;

use anyhow::{Context, Result, ensure};
use arguments::{
    Arguments, BackupArguments, Cold, Command, Commits, Flushes, Handover, Kinds, OpeningArguments,
    Quick, Readers, RunPaths, SpaceArguments, TransactionArguments, Values,
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
        Command::Compression(work) => in_directory(&work.paths, |directory| {
            write_figures(&work.paths, &compression::run_and_print(&work, directory)?)
        }),
        Command::Opening(opening) => {
            in_directory(&opening.paths, |directory| run_opening(&opening, directory))
        }
        Command::Typed(typed) => in_directory(&typed.paths, |directory| {
            write_figures(&typed.paths, &typed::run_and_print(&typed, directory)?)
        }),
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

/// Prints the environment, and runs `work` with a temporary directory.
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

fn run_space(space: &SpaceArguments, directory: &Path) -> Result<()> {
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

/// Figures of any kind, for one list of JSON.
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

fn run_transaction(transaction: &TransactionArguments, directory: &Path) -> Result<()> {
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

fn run_opening(opening: &OpeningArguments, directory: &Path) -> Result<()> {
    let figures = opening::run(opening, directory)?;
    println!("\n{}", opening::table(&figures));
    write_figures(&opening.paths, &figures)
}

fn run_backup(backup: &BackupArguments, directory: &Path) -> Result<()> {
    println!("{}", backup::describe_run(backup));
    let figures = backup::run(backup, directory)?;
    println!("\n{}", backup::table(&figures));
    write_figures(&backup.paths, &figures)
}

#[cfg(feature = "space-map")]
fn run_space_map(map: &arguments::SpaceMapArguments, directory: &Path) -> Result<()> {
    println!("{}", space_map::describe_run(map));
    let figures = space_map::run(map, directory)?;
    println!("\n{}", space_map::table(&figures));
    write_figures(&map.paths, &figures)
}

/// Writes the JSON file, if one was requested.
fn write_figures(paths: &RunPaths, figures: &[impl Serialize]) -> Result<()> {
    if let Some(path) = &paths.json {
        report::write_json(path, figures)?;
        println!("figures written to {}", path.display());
    }
    Ok(())
}

/// The parent directory of the databases: the given one, or the directory of this program, which is
/// on the disk it was built on.
fn parent_directory(paths: &RunPaths) -> Result<PathBuf> {
    if let Some(directory) = &paths.dir {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        return Ok(directory.clone());
    }
    let program = env::current_exe().context("cannot find this program's path; give --dir")?;
    Ok(program.parent().map_or_else(env::temp_dir, PathBuf::from))
}
