//! How long files become: beside a reader that stays, and after most records were removed.

pub(crate) mod crumbs;

use crate::{
    arguments::SpaceRun,
    bench::{Contender, settle},
    data::{DataSet, Key, Record},
    engines::{Durability, EngineKind, Insertion, Opening, Slots},
    latencies::Latencies,
    report::plain_table,
};
use anyhow::Result;
use comfy_table::{CellAlignment, Table};
use fastrand::Rng;
use serde::Serialize;
use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// Records of a transaction of a load, or of a removal.
const BATCH: usize = 10_000;
/// How often a file is looked at.
const LOOKS: u64 = 10;
const SEED: u64 = 0x7370_6163;

/// The size of one engine's file in the course of a work.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    work: &'static str,
    engine: String,
    /// Commits, and bytes that the file system has set aside then.
    bytes: Vec<(u64, u64)>,
    /// The longest commit, in microseconds.
    longest_us: f64,
    /// The size of a new database with the same records.
    #[serde(skip_serializing_if = "Option::is_none")]
    fresh_bytes: Option<u64>,
}

/// Runs what `space` asks for, with databases below `directory`.
pub(crate) fn run(space: &SpaceRun, directory: &Path) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for &kind in space.engines.iter().filter(|_| space.commits > 0) {
        for (work, held) in [("alone", 0), ("reader", 1)] {
            eprintln!("{kind}: {work}");
            let mut contender = Contender::new(kind, directory.join(kind.name()));
            let data = DataSet::new(usize::try_from(space.records)?);
            load(&mut contender, &data)?;
            figures.push(commit(
                &mut contender,
                &data.keys,
                work,
                held,
                space.commits,
            )?);
            contender.discard()?;
        }
    }
    for &kind in space.engines.iter().filter(|_| space.removal > 0) {
        eprintln!("{kind}: removal");
        figures.push(remove(kind, space, directory)?);
    }
    Ok(figures)
}

fn load(contender: &mut Contender, data: &DataSet) -> Result<()> {
    contender.start_anew(data)?;
    for keys in data.keys.chunks(BATCH) {
        let records: Vec<_> = keys.iter().map(|key| Record::new(*key, 0)).collect();
        contender.engine()?.write(&records, Insertion::Batch)?;
    }
    Ok(())
}

/// Replaces values one by one, beside readers that stay.
fn commit(
    contender: &mut Contender,
    keys: &[Key],
    work: &'static str,
    held: u32,
    commits: u64,
) -> Result<Figure> {
    contender.reopen_for(&Opening {
        durability: Durability::Durable,
        // Of LMDB a commit beside a reader takes up to 30 KB.
        data_bytes: keys.len() as u64 * 1000 + commits * 4000,
        slots: Slots::Transactions { max: 126 },
    })?;
    settle(contender.directory())?;
    let directory = contender.directory().to_owned();
    let mut bytes = vec![(0, allocated(&directory)?)];
    let mut latencies = Latencies::new()?;
    let mut rng = Rng::with_seed(SEED);
    let engine = &*contender.engine()?;
    let readers = engine.reader().hold(held)?;
    for look in 1..=LOOKS {
        let count = commits * look / LOOKS - commits * (look - 1) / LOOKS;
        let records: Vec<_> = (0..count)
            .map(|_| Record::new(keys[rng.usize(..keys.len())], rng.u64(1..)))
            .collect();
        engine
            .committer()
            .commit_each(&mut records.iter(), &mut latencies)?;
        bytes.push((commits * look / LOOKS, allocated(&directory)?));
    }
    drop(readers);
    Ok(Figure {
        work,
        engine: contender.kind.to_string(),
        bytes,
        longest_us: latencies.percentile_ns(100.0) as f64 / 1e3,
        fresh_bytes: None,
    })
}

/// Removes nine of ten records, and commits on.
fn remove(kind: EngineKind, space: &SpaceRun, directory: &Path) -> Result<Figure> {
    let mut contender = Contender::new(kind, directory.join(kind.name()));
    let data = DataSet::new(usize::try_from(space.removal)?);
    load(&mut contender, &data)?;
    let mut keys = data.keys.clone();
    Rng::with_seed(SEED).shuffle(&mut keys);
    let left = keys.split_off(keys.len() * 9 / 10);
    for keys in keys.chunks(BATCH) {
        contender.engine()?.remove(keys)?;
    }
    let mut figure = commit(&mut contender, &left, "removal", 0, space.commits_after)?;
    contender.discard()?;

    let mut fresh = Contender::new(kind, directory.join(kind.name()));
    fresh.start_anew(&data)?;
    let mut sorted = left;
    sorted.sort_unstable();
    let records: Vec<_> = sorted.iter().map(|key| Record::new(*key, 0)).collect();
    fresh.engine()?.write(&records, Insertion::Append)?;
    fresh.close()?;
    settle(directory)?;
    figure.fresh_bytes = Some(allocated(fresh.directory())?);
    fresh.discard()?;
    Ok(figure)
}

/// What the file system has set aside for the largest file, which is that of the data.
fn allocated(directory: &Path) -> Result<u64> {
    let mut largest = 0;
    for entry in fs::read_dir(directory)? {
        largest = largest.max(entry?.metadata()?.blocks() * 512);
    }
    Ok(largest)
}

/// A line for each work and engine, a column for each look.
pub(crate) fn table(figures: &[Figure]) -> Table {
    let mut header = vec!["work".to_owned(), "engine".to_owned()];
    header.push("MB at first".to_owned());
    header.extend((1..=LOOKS).map(|look| format!("{} %", 100 * look / LOOKS)));
    header.extend(["fresh".to_owned(), "longest ms".to_owned()]);
    let mut table = plain_table(header);
    let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
    for figure in figures {
        let mut row = vec![figure.work.to_owned(), figure.engine.clone()];
        row.extend(figure.bytes.iter().map(|(_, bytes)| megabytes(*bytes)));
        row.push(figure.fresh_bytes.map_or_else(String::new, megabytes));
        row.push(format!("{:.1}", figure.longest_us / 1e3));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
