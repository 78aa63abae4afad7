//! Creating a database, committing once and dropping it: in memory, in a temporary file, on disk.

use crate::{
    arguments::OpeningArguments,
    report::{align_right, plain_table},
    statistics::{Samples, Spread},
};
use anyhow::{Result, anyhow};
use comfy_table::Table as Printed;
use serde::Serialize;
use std::{fs, path::Path, time::Instant};
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
    Ok(figures)
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
    let nothing = || anyhow!("there was no round");
    let figures = STEPS.iter().zip(&samples).map(|(step, samples)| {
        Ok(OpeningFigure {
            kind,
            step,
            microseconds: samples.median().ok_or_else(nothing)?,
            spread: samples.spread().ok_or_else(nothing)?,
        })
    });
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
