//! Kills a program that loads records, at random times, and inspects the database.
//!
//! The program reports the number of loaded records after each commit. The database must hold the
//! first records of the input, in its order: the acknowledged ones, and perhaps those of the one
//! commit in progress.

use super::loader::load;
use crate::{
    Failure, Result, built,
    campaign::database::{self, expect_clean},
    dump::{self, DumpRecords},
};
use fastrand::Rng;
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use teak::Database;

const SAMPLE: &str = "examples/data/coins-702861.dump";
const TABLE: &str = "coins";

/// The batch sizes of loads, one for each kill.
const BATCHES: [usize; 3] = [1, 16, 250];

/// The maximum time until a program has created its database. Many kills fall in that time.
const CREATION: Duration = Duration::from_millis(4);

/// The duration of an uninterrupted load with one batch size.
struct LoadTiming {
    batch: usize,
    duration: Duration,
}

/// Kills a load repeatedly.
pub(super) struct LoadKills<'a> {
    directory: &'a Path,
    program: PathBuf,
    /// All records to load.
    records: &'a DumpRecords,
    timings: Vec<LoadTiming>,
    /// How long a killed program may keep its locks.
    settle: Duration,
}

/// The records of the sample, in an order that depends on the random numbers.
pub(super) fn records(rng: &mut Rng) -> Result<DumpRecords> {
    let mut records = dump::read(&fs::read_to_string(built::workspace().join(SAMPLE))?)?;
    rng.shuffle(&mut records);
    Ok(records)
}

/// The counts of the kills so far.
#[derive(Default)]
pub(super) struct LoadKillTally {
    pub(super) kills: u64,
    pub(super) violations: u64,
    /// Kills before the end of the load.
    pub(super) interrupted: u64,
    /// Kills that left no database, or an empty one.
    pub(super) early: u64,
    pub(super) continued: u64,
}

impl<'a> LoadKills<'a> {
    /// Measures the duration of the loads.
    pub(super) fn begin(
        directory: &'a Path,
        program: PathBuf,
        records: &'a DumpRecords,
        settle: Duration,
    ) -> Result<Self> {
        let mut loads = Self {
            directory,
            program,
            records,
            timings: Vec::new(),
            settle,
        };
        loads.measure()?;
        Ok(loads)
    }

    fn measure(&mut self) -> Result {
        for batch in BATCHES {
            let path = self.directory.join(format!("measure-{batch}.teak"));
            let run = load(&self.program, [&self.write_input(0)?, &path], batch, None)?;
            ensure!(
                run.acknowledged == self.records.len(),
                "an uninterrupted load acknowledged {} records",
                run.acknowledged
            );
            expect_prefix(&path, self.records, &[run.acknowledged])?;
            println!(
                "loading {} records by {batch} takes {:.1} ms",
                self.records.len(),
                run.duration.as_secs_f64() * 1e3
            );
            self.timings.push(LoadTiming {
                batch,
                duration: run.duration,
            });
        }
        Ok(())
    }

    /// Kills on a new database, and usually some more times on the resulting database.
    pub(super) fn run_episode(
        &self,
        rng: &mut Rng,
        kills_max: u64,
        tally: &mut LoadKillTally,
    ) -> Result {
        let directory = tempfile::tempdir_in(self.directory)?;
        let path = directory.path().join("kill.teak");
        let mut present = 0;
        while tally.kills < kills_max {
            let timing = &self.timings[rng.usize(0..self.timings.len())];
            let rest = (self.records.len() - present) as f64 / self.records.len() as f64;
            let mut delay = timing.duration.mul_f64(rest * rng.f64() * 1.05);
            if present == 0 && rng.u8(0..3) == 0 {
                delay = delay.min(CREATION.mul_f64(rng.f64()));
            }
            let files = [&*self.write_input(present)?, &path];
            let run = load(&self.program, files, timing.batch, Some(delay))?;
            thread::sleep(self.settle);
            tally.kills += 1;
            tally.interrupted += u64::from(run.was_killed);
            let acknowledged = present + run.acknowledged;
            let possible = [
                acknowledged,
                (acknowledged + timing.batch).min(self.records.len()),
            ];
            match expect_prefix(&path, self.records, &possible) {
                Ok(count) => {
                    present = count;
                    tally.early += u64::from(count == 0);
                }
                Err(Failure(text)) => {
                    tally.violations += 1;
                    println!(
                        "violation at kill {}, after {:.3} ms of a load by {}: {text}",
                        tally.kills,
                        delay.as_secs_f64() * 1e3,
                        timing.batch
                    );
                    return Ok(());
                }
            }
            if present == self.records.len() || rng.u8(0..3) == 0 {
                return Ok(());
            }
            tally.continued += 1;
        }
        Ok(())
    }

    /// Writes a dump of the records that are not loaded yet.
    fn write_input(&self, present: usize) -> Result<PathBuf> {
        let path = self.directory.join("input.dump");
        fs::write(&path, dump::write(TABLE, &self.records[present..])?)?;
        Ok(path)
    }
}

/// Fails unless the database has no damage and holds as many of the first records as one of the
/// `possible` numbers says. Returns that number.
fn expect_prefix(path: &Path, records: &DumpRecords, possible: &[usize]) -> Result<usize> {
    if !path.exists() {
        ensure!(possible.contains(&0), "there is no database");
        return Ok(0);
    }
    let database = Database::open(path)?;
    expect_clean(&database)?;
    let found = database::records(&database.begin_read()?, TABLE)?;
    ensure!(
        possible.contains(&found.len()),
        "there are {} records, but allowed are {possible:?}",
        found.len()
    );
    let mut expected = records[..found.len()].to_vec();
    expected.sort();
    ensure!(
        found == expected,
        "the {} records are not the first of the input",
        found.len()
    );
    database.close()?;
    Ok(found.len())
}
