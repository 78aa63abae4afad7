//! Creating a database, committing once and dropping it: in memory, in a temporary file, on disk.
//! And opening one that a killed process left with many small commits in its log.

use crate::{
    arguments::OpeningArguments,
    report::{align_right, plain_table},
    statistics::{Samples, Spread},
};
use anyhow::{Result, anyhow, ensure};
use comfy_table::Table as Printed;
use fastrand::Rng;
use serde::Serialize;
use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    time::Instant,
};
use teak::{Database, Durability, Options};

/// The figures of one step, for one kind of database.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OpeningFigure {
    kind: &'static str,
    step: &'static str,
    /// The median over the rounds.
    microseconds: f64,
    spread: Spread,
}

/// The steps that are timed. The last one is all of them.
const STEPS: [&str; 4] = ["create", "commit", "drop", "all"];

/// Runs `opening` with files in `directory`.
pub(crate) fn run(opening: &OpeningArguments, directory: &Path) -> Result<Vec<OpeningFigure>> {
    let path = directory.join("opened.teak");
    let mut figures = measure("in memory", opening.rounds, Database::in_memory)?;
    figures.extend(measure("temporary", opening.rounds, Database::temporary)?);
    let lazy = Options::new().durability(Durability::Lazy);
    let unflushed = lazy.flush_on_close(false).remove_lock_file(false);
    for (kind, options) in [("disk", Options::new()), ("disk, lazy", unflushed)] {
        let create = || {
            // Missing in the first round.
            let _ = fs::remove_file(&path);
            options.open(&path)
        };
        figures.extend(measure(kind, opening.disk_rounds, create)?);
    }
    figures.extend(measure_recovery(opening.disk_rounds, directory)?);
    Ok(figures)
}

/// Records of a database whose process is killed, and the commits of one record just before: almost
/// as many as there can be before they are merged.
const KILLED_RECORDS: u64 = 1_000_000;
const LOGGED_COMMITS: u64 = 15_000;

/// Opens copies of the files that such a process leaves, without the log and with it.
fn measure_recovery(rounds: u32, directory: &Path) -> Result<[OpeningFigure; 2]> {
    let (killed, copy) = (directory.join("killed.teak"), directory.join("copy.teak"));
    let log_of = |path: &Path| path.with_extension("teak-wal");
    let lazy = Options::new().durability(Durability::Lazy);
    let database = lazy.open(&killed)?;
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<u64, [u8; 100]>("records")?;
    table.bulk_load(&mut txn, (0..KILLED_RECORDS).map(|key| (key, [1; 100])))?;
    txn.commit()?;
    let mut rng = Rng::with_seed(1);
    let mut commit = |count: u64| -> teak::Result<u64> {
        let mut last = 0;
        for _ in 0..count {
            let mut txn = database.begin_write()?;
            table.insert(&mut txn, rng.u64(..KILLED_RECORDS), [rng.u8(..); 100])?;
            last = txn.commit()?.0;
        }
        Ok(last)
    };
    // The first merges are of few commits.
    commit(10 * LOGGED_COMMITS)?;
    let mut samples: [Samples; 2] = Default::default();
    for _ in 0..rounds {
        database.sync()?;
        let last = commit(LOGGED_COMMITS)?;
        let (file, log) = (fs::read(&killed)?, fs::read(log_of(&killed))?);
        for (samples, log) in samples.iter_mut().zip([None, Some(log)]) {
            write_durably(&copy, &file)?;
            let has_log = log.is_some();
            if let Some(log) = log {
                write_durably(&log_of(&copy), &log)?;
            }
            let began = Instant::now();
            let opened = lazy.open(&copy)?;
            samples.push(began.elapsed().as_secs_f64() * 1e6);
            let found = opened.stat()?.transaction.0;
            ensure!(
                (found == last) == has_log,
                "commit {found} was found, of {last}"
            );
        }
    }
    let [without, with] = &samples;
    Ok([
        figure("killed, no log", "open", without)?,
        figure("killed, with a log", "open", with)?,
    ])
}

fn write_durably(path: &Path, content: &[u8]) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    // Or opening would flush it.
    Ok(file.sync_all()?)
}

fn figure(kind: &'static str, step: &'static str, samples: &Samples) -> Result<OpeningFigure> {
    let nothing = || anyhow!("there was no round");
    Ok(OpeningFigure {
        kind,
        step,
        microseconds: samples.median().ok_or_else(nothing)?,
        spread: samples.spread().ok_or_else(nothing)?,
    })
}

fn measure(
    kind: &'static str,
    rounds: u32,
    create: impl Fn() -> teak::Result<Database>,
) -> Result<Vec<OpeningFigure>> {
    let mut samples: [Samples; STEPS.len()] = Default::default();
    for _ in 0..rounds {
        let began = Instant::now();
        let mut ends = [began; STEPS.len()];
        let database = create()?;
        ends[1] = Instant::now();
        let mut txn = database.begin_write()?;
        let ages = txn.create_table::<&str, u64>("ages")?;
        ages.insert(&mut txn, "Ada", 36)?;
        txn.commit()?;
        ends[2] = Instant::now();
        drop(database);
        ends[3] = Instant::now();
        for (sample, step) in samples.iter_mut().zip(ends.windows(2)) {
            sample.push((step[1] - step[0]).as_secs_f64() * 1e6);
        }
        samples[3].push((ends[3] - began).as_secs_f64() * 1e6);
    }
    let steps = STEPS.iter().zip(&samples);
    let figures = steps.map(|(step, samples)| figure(kind, step, samples));
    figures.collect()
}

/// The figures as a table.
pub(crate) fn table(figures: &[OpeningFigure]) -> Printed {
    let header = ["database", "step", "µs", "fastest", "slowest"];
    let mut table = plain_table(header.map(String::from).to_vec());
    for figure in figures {
        let times = [figure.microseconds, figure.spread.min, figure.spread.max];
        let names = [figure.kind, figure.step].map(String::from);
        table.add_row(
            names
                .into_iter()
                .chain(times.map(|time| format!("{time:.0}"))),
        );
    }
    align_right(table, 2)
}
