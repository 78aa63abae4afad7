//! The length of files with an open reader, and after most records were removed.

pub(crate) mod chart;
pub(crate) mod fragmentation;
pub(crate) mod names;
mod watched;

use crate::{
    arguments::SpaceArguments,
    bench::{BenchContender, settle},
    data::{DataSet, Fingerprint, Key, Record},
    engines::{Durability, Engine, EngineKind, Insertion, OpenSettings, RecordChange, SlotOwner},
    latencies::Latencies,
    report::{align_right, megabytes, plain_table},
};
use anyhow::Result;
use comfy_table::Table;
use fastrand::Rng;
use serde::Serialize;
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, Instant},
};
use watched::WatchedStates;

/// Records of a transaction of a load, or of a removal.
const BATCH: usize = 10_000;
/// The number of size samples.
const SAMPLES: u64 = 10;
const SEED: u64 = 0x7370_6163;

/// The size of one engine's file in the course of a workload.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SpaceFigure {
    work: &'static str,
    engine: String,
    /// The number of commits, and the bytes that the file system has allocated by then.
    bytes: Vec<(u64, u64)>,
    /// The longest commit, in microseconds.
    longest_us: f64,
    #[serde(flatten)]
    removal: Option<Removal>,
}

/// Further figures after most records were removed.
#[derive(Clone, Copy, Debug, Serialize)]
struct Removal {
    /// The size of a new database with the same records.
    fresh_bytes: u64,
    /// The time of the removal.
    removal_seconds: f64,
    /// States that readers compared during the removal, and then during the commits.
    verified_in_removal: u64,
    verified_in_commits: u64,
}

/// Runs `space` with databases below `directory`.
pub(crate) fn run(space: &SpaceArguments, directory: &Path) -> Result<Vec<SpaceFigure>> {
    let mut figures = Vec::new();
    for &kind in space.engines.iter().filter(|_| space.commits > 0) {
        for (work, held) in [("alone", 0), ("reader", 1)] {
            eprintln!("{kind}: {work}");
            let mut contender = BenchContender::new(kind, directory.join(kind.name()));
            let data = DataSet::new(usize::try_from(space.records)?);
            load(&mut contender, &data)?;
            let course = SpaceWorkload {
                work,
                held,
                verifiers: 0,
                commits: space.commits,
            };
            figures.push(course.run(&mut contender, &data.keys)?.0);
            contender.discard()?;
        }
    }
    for &kind in space.engines.iter().filter(|_| space.removal > 0) {
        eprintln!("{kind}: removal");
        figures.push(remove(kind, space, directory)?);
    }
    Ok(figures)
}

fn load(contender: &mut BenchContender, data: &DataSet) -> Result<()> {
    contender.recreate(data)?;
    // LMDB and libmdbx do not reuse dead pages that a reader may see, so their files grow.
    contender.reopen_for(&OpenSettings::usual(Durability::Careless, data.bytes() * 4))?;
    for keys in data.keys.chunks(BATCH) {
        let records: Vec<_> = keys.iter().map(|key| Record::new(*key, 0)).collect();
        contender.engine()?.write(&records, Insertion::Batch)?;
    }
    Ok(())
}

/// Values that are replaced one by one, on the disk before the next.
struct SpaceWorkload {
    work: &'static str,
    /// Read transactions that stay open.
    held: u32,
    /// Threads that verify states.
    verifiers: u32,
    commits: u64,
}

impl SpaceWorkload {
    /// The sizes, and the number of states compared. `keys` have their first versions.
    fn run(&self, contender: &mut BenchContender, keys: &[Key]) -> Result<(SpaceFigure, u64)> {
        contender.reopen_for(&OpenSettings {
            slots: SlotOwner::Transactions { max: 126 },
            // In LMDB a commit with an open reader takes up to 30 KB.
            ..OpenSettings::usual(
                Durability::Durable,
                keys.len() as u64 * 1000 + self.commits * 4000,
            )
        })?;
        settle(contender.directory())?;
        let reader = contender.reader()?;
        let watched = WatchedStates::new(fingerprint(keys));
        let held = reader.hold(self.held)?;
        let work = || self.commit_all(contender, keys, &watched);
        let (figure, verified) = watched.verify_during(reader, self.verifiers, work)?;
        drop(held);
        Ok((figure, verified))
    }

    fn commit_all(
        &self,
        contender: &BenchContender,
        keys: &[Key],
        watched: &WatchedStates,
    ) -> Result<SpaceFigure> {
        let directory = contender.directory();
        let mut bytes = vec![(0, allocated(directory)?)];
        let mut latencies = Latencies::new()?;
        let mut rng = Rng::with_seed(SEED);
        let mut versions = vec![0; keys.len()];
        for sample in 1..=SAMPLES {
            let done = self.commits * sample / SAMPLES;
            let count = done - self.commits * (sample - 1) / SAMPLES;
            let changes: Vec<_> = (0..count)
                .map(|_| {
                    let index = rng.usize(..keys.len());
                    let before = Record::new(keys[index], versions[index]);
                    versions[index] = rng.u64(1..);
                    (before, Record::new(keys[index], versions[index]))
                })
                .collect();
            let mut records = changes.iter().map(|(before, record)| {
                watched.will_commit(|state| {
                    state.remove(before);
                    state.add(&record.key, &record.value);
                });
                record
            });
            let committer = contender.shared()?.committer();
            committer.commit_each(&mut records, &mut latencies)?;
            bytes.push((done, allocated(directory)?));
        }
        Ok(SpaceFigure {
            work: self.work,
            engine: contender.kind.to_string(),
            bytes,
            longest_us: latencies.percentile_ns(100.0) as f64 / 1e3,
            removal: None,
        })
    }
}

/// The digest of the loaded records.
fn fingerprint(keys: &[Key]) -> Fingerprint {
    Fingerprint::of(keys.iter().map(|key| Record::new(*key, 0)))
}

/// Removes nine of ten records, and commits further, while threads verify the states they see.
fn remove(kind: EngineKind, space: &SpaceArguments, directory: &Path) -> Result<SpaceFigure> {
    let mut contender = BenchContender::new(kind, directory.join(kind.name()));
    let data = DataSet::new(usize::try_from(space.removal)?);
    load(&mut contender, &data)?;
    let mut keys = data.keys.clone();
    Rng::with_seed(SEED).shuffle(&mut keys);
    let left = keys.split_off(keys.len() * 9 / 10);
    let watched = WatchedStates::new(fingerprint(&data.keys));
    let work = || remove_all(contender.shared()?, &keys, &watched);
    let (time, verified_in_removal) =
        watched.verify_during(contender.reader()?, space.verifiers, work)?;
    let course = SpaceWorkload {
        work: "removal",
        held: 0,
        verifiers: space.verifiers,
        commits: space.commits_after,
    };
    let (mut figure, verified_in_commits) = course.run(&mut contender, &left)?;
    contender.discard()?;
    figure.removal = Some(Removal {
        fresh_bytes: fresh(kind, &data, left, directory)?,
        removal_seconds: time.as_secs_f64(),
        verified_in_removal,
        verified_in_commits,
    });
    Ok(figure)
}

fn remove_all(engine: &dyn Engine, keys: &[Key], watched: &WatchedStates) -> Result<Duration> {
    let begin = Instant::now();
    for keys in keys.chunks(BATCH) {
        watched.will_commit(|state| {
            for key in keys {
                state.remove(&Record::new(*key, 0));
            }
        });
        let removal = |key| RecordChange { key, value: None };
        engine.change(&keys.iter().map(removal).collect::<Vec<_>>())?;
    }
    Ok(begin.elapsed())
}

/// The size of a new database of the records of `keys`.
fn fresh(kind: EngineKind, data: &DataSet, mut keys: Vec<Key>, directory: &Path) -> Result<u64> {
    let mut contender = BenchContender::new(kind, directory.join(kind.name()));
    contender.recreate(data)?;
    keys.sort_unstable();
    let records: Vec<_> = keys.iter().map(|key| Record::new(*key, 0)).collect();
    contender.engine()?.write(&records, Insertion::Append)?;
    contender.close()?;
    settle(directory)?;
    let bytes = allocated(contender.directory())?;
    contender.discard()?;
    Ok(bytes)
}

/// The space allocated for the largest file, which is the data file.
fn allocated(directory: &Path) -> Result<u64> {
    let mut largest = 0;
    for entry in fs::read_dir(directory)? {
        largest = largest.max(entry?.metadata()?.blocks() * 512);
    }
    Ok(largest)
}

/// A line per workload and engine, a column per sample.
pub(crate) fn table(figures: &[SpaceFigure]) -> Table {
    let mut header = vec!["work".to_owned(), "engine".to_owned()];
    header.push("MB at first".to_owned());
    header.extend((1..=SAMPLES).map(|sample| format!("{} %", 100 * sample / SAMPLES)));
    let rest = ["fresh", "longest ms", "removal s", "verified meanwhile"];
    header.extend(rest.map(str::to_owned));
    let mut table = plain_table(header);
    for figure in figures {
        let mut row = vec![figure.work.to_owned(), figure.engine.clone()];
        row.extend(figure.bytes.iter().map(|(_, bytes)| megabytes(*bytes)));
        let of_removal = |cell: &dyn Fn(&Removal) -> String| {
            figure.removal.as_ref().map_or_else(String::new, cell)
        };
        row.push(of_removal(&|removal| megabytes(removal.fresh_bytes)));
        row.push(format!("{:.1}", figure.longest_us / 1e3));
        row.push(of_removal(&|removal| {
            format!("{:.1}", removal.removal_seconds)
        }));
        row.push(of_removal(&|removal| {
            format!(
                "{} + {}",
                removal.verified_in_removal, removal.verified_in_commits
            )
        }));
        table.add_row(row);
    }
    align_right(table, 2)
}
