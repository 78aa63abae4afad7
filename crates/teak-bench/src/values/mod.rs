//! Values of a few pages that are inserted, changed and removed at random: the length of the file,
//! and the times of commits.
//!
//! All engines get the same operations, a part of them in turn. After each part the file system is
//! flushed, outside the clock, so that no engine pays for another's unwritten data.

mod report;
mod stream;

pub(crate) use report::{describe_run, table};

use crate::{
    arguments::Values,
    bench::{BenchContender, settle, turn_order},
    data::DataSet,
    engines::{Durability, EngineKind, OpenSettings, RecordChange, Space},
    latencies::Latencies,
};
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use std::{fs, path::Path, time::Duration};
use stream::{ValueOperation, ValueStream};

/// The number of size samples.
const SAMPLES: u64 = 20;
/// One of this many keys is compared in the end.
const CHECK_EVERY: usize = 17;

/// The size of a file at one time, and of its data.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct SizeSample {
    /// Operations so far.
    operations: u64,
    /// Bytes of the existing keys and values.
    live_bytes: u64,
    #[serde(flatten)]
    space: Space,
}

impl SizeSample {
    /// The allocated bytes per byte of existing data.
    fn bytes_per_live_byte(&self) -> f64 {
        self.space.allocated_bytes as f64 / self.live_bytes.max(1) as f64
    }
}

/// The figures of one engine.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ValuesFigure {
    work: &'static str,
    engine: EngineKind,
    durability: Durability,
    keys: u64,
    operations: u64,
    per_commit: u32,
    commits: u64,
    /// The rate of all commits together.
    seconds: f64,
    operations_per_second: f64,
    /// The time of a commit with its operations.
    median_us: f64,
    p999_us: f64,
    longest_us: f64,
    /// The final number of allocated bytes per byte of existing data.
    bytes_per_live_byte: f64,
    samples: Vec<SizeSample>,
}

/// An engine at work.
struct ValuesRunner {
    contender: BenchContender,
    latencies: Latencies,
    elapsed: Duration,
    samples: Vec<SizeSample>,
}

/// Runs `values` with databases below `directory`.
pub(crate) fn run(values: &Values, directory: &Path) -> Result<Vec<ValuesFigure>> {
    let (shortest, longest) = (values.shortest as usize, values.longest as usize);
    ensure!(
        shortest <= longest,
        "--shortest must not be more than --longest"
    );
    let keys = DataSet::new(usize::try_from(values.keys)?).keys;
    let mut stream = ValueStream::new(keys, shortest..=longest);
    let mut runners = Vec::new();
    for &kind in &values.engines {
        runners.push(ValuesRunner::start(kind, values, directory)?);
    }
    for sample in 1..=SAMPLES {
        let done = values.operations * sample / SAMPLES;
        let operations = stream.take(done - values.operations * (sample - 1) / SAMPLES);
        for index in turn_order(runners.len(), sample as usize) {
            let runner = &mut runners[index];
            let applied = runner.apply(&operations, &stream, values.per_commit as usize);
            applied.with_context(|| format!("{} failed", runner.contender.kind))?;
            settle(directory)?;
            runner.sample(done, stream.live_bytes())?;
        }
        eprintln!("{done} operations");
    }
    let mut figures = Vec::new();
    for mut runner in runners {
        let kind = runner.contender.kind;
        runner
            .check(&stream)
            .with_context(|| format!("{kind} lost a value"))?;
        figures.extend(runner.figure(values));
        runner.contender.discard()?;
    }
    Ok(figures)
}

impl ValuesRunner {
    fn start(kind: EngineKind, values: &Values, directory: &Path) -> Result<Self> {
        let directory = directory.join(kind.name());
        fs::create_dir_all(&directory)?;
        let mut contender = BenchContender::new(kind, directory);
        contender.reopen_for(&OpenSettings::usual(
            values.durability(),
            values.keys * u64::from(values.longest),
        ))?;
        Ok(Self {
            contender,
            latencies: Latencies::new()?,
            elapsed: Duration::ZERO,
            samples: Vec::new(),
        })
    }

    fn apply(
        &mut self,
        operations: &[ValueOperation],
        stream: &ValueStream,
        per_commit: usize,
    ) -> Result<()> {
        let engine = self.contender.engine()?;
        for operations in operations.chunks(per_commit) {
            let changes: Vec<RecordChange<'_>> = operations
                .iter()
                .map(|operation| stream.change(operation))
                .collect();
            let (applied, time) = self.latencies.time_known(|| engine.change(&changes));
            applied?;
            self.elapsed += time;
        }
        Ok(())
    }

    fn sample(&mut self, operations: u64, live_bytes: u64) -> Result<()> {
        let space = self.contender.engine()?.space()?;
        self.samples.push(SizeSample {
            operations,
            live_bytes,
            space,
        });
        Ok(())
    }

    /// Compares the values of some keys with the expected ones.
    fn check(&mut self, stream: &ValueStream) -> Result<()> {
        let engine = self.contender.engine()?;
        for (key, value) in stream.records().step_by(CHECK_EVERY) {
            ensure!(engine.value(key)?.as_deref() == value, "key {key:02x?}");
        }
        Ok(())
    }

    /// `None` if nothing was done.
    fn figure(&self, values: &Values) -> Option<ValuesFigure> {
        let last = self.samples.last()?;
        let seconds = self.elapsed.as_secs_f64();
        let microseconds = |percent| self.latencies.percentile_ns(percent) as f64 / 1e3;
        Some(ValuesFigure {
            work: "values",
            engine: self.contender.kind,
            durability: values.durability(),
            keys: values.keys,
            operations: values.operations,
            per_commit: values.per_commit,
            commits: self.latencies.count(),
            seconds,
            operations_per_second: values.operations as f64 / seconds,
            median_us: microseconds(50.0),
            p999_us: microseconds(99.9),
            longest_us: microseconds(100.0),
            bytes_per_live_byte: last.bytes_per_live_byte(),
            samples: self.samples.clone(),
        })
    }
}
