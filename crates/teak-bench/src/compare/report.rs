//! The result: a table for people, JSON for programs.

use super::{
    arguments::Compare,
    figure::{CompareFigure, EngineFailure},
    keys::KeyKind,
};
use crate::{
    environment,
    report::{align_right, megabytes, plain_table, time_with_spread},
};
use comfy_table::Table;
use serde::Serialize;
use std::{env, path::Path};

/// The result of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The command line.
    pub(super) command: String,
    pub(super) environment: Vec<(&'static str, String)>,
    pub(super) records: u64,
    pub(super) keys: KeyKind,
    pub(super) value_bytes: u32,
    pub(super) figures: Vec<CompareFigure>,
    pub(super) failures: Vec<EngineFailure>,
}

impl Report {
    pub(super) fn new(
        compare: &Compare,
        directory: &Path,
        figures: Vec<CompareFigure>,
        failures: Vec<EngineFailure>,
    ) -> Self {
        let words: Vec<String> = env::args().skip(1).collect();
        Self {
            command: format!("teak-bench {}", words.join(" ")),
            environment: environment::facts(directory),
            records: compare.records,
            keys: compare.keys,
            value_bytes: compare.value,
            figures,
            failures,
        }
    }

    /// Whether no engine failed.
    pub(crate) fn is_complete(&self) -> bool {
        self.failures.is_empty()
    }
}

/// A line that describes the run.
pub(crate) fn describe_run(compare: &Compare) -> String {
    format!(
        "{} records, keys: {}, values of {} bytes, {} rounds\n",
        compare.records,
        compare.keys.name(),
        compare.value,
        compare.repeat
    )
}

/// A line per workload and engine, followed by the sizes of the databases.
pub(crate) fn table(report: &Report) -> String {
    let mut text = format!("{}\n\n{}\n", speeds(report), sizes(report));
    for failure in &report.failures {
        let EngineFailure {
            work,
            engine,
            reason,
        } = failure;
        text += &format!("\n{engine} has failed in {work}: {reason}\n");
    }
    text
}

fn speeds(report: &Report) -> Table {
    let header = [
        "work",
        "engine",
        "ns/op (min..max)",
        "to teak",
        "p50",
        "p99",
        "p99.9",
        "longest",
        "rest ns/op",
        "cpu ns/op",
        "written B/op",
        "flushes/op",
        "memory MB",
        "own MB",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in &report.figures {
        table.add_row([
            figure.work.clone(),
            figure.engine.to_string(),
            time_with_spread(figure.ns_per_op, figure.spread),
            to_teak(report, figure),
            figure.latency(50.0),
            figure.latency(99.0),
            figure.latency(99.9),
            figure.latency(100.0),
            format!("{:.0}", figure.rest_ns_per_op),
            format!("{:.0}", figure.cpu_ns_per_op),
            format!("{:.0}", figure.device_written_bytes_per_op),
            format!("{:.2}", figure.device_flushes_per_op),
            format!("{:.0}", figure.memory_bytes as f64 / 1e6),
            format!("{:.0}", figure.own_memory_bytes as f64 / 1e6),
        ]);
    }
    align_right(table, 2)
}

/// The time of an engine relative to Teak's.
fn to_teak(report: &Report, figure: &CompareFigure) -> String {
    let teak = report.figures.iter().find(|other| {
        other.work == figure.work && other.engine == crate::engines::rivals::Rival::Teak
    });
    teak.map_or_else(String::new, |teak| {
        format!("{:.2}", figure.ns_per_op / teak.ns_per_op)
    })
}

fn sizes(report: &Report) -> Table {
    let header = [
        "space after",
        "engine",
        "data MB",
        "used MB",
        "allocated MB",
        "file MB",
        "used / data",
        "allocated / data",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in &report.figures {
        let Some(size) = figure.size else {
            continue;
        };
        let ratio = |bytes: u64| format!("{:.2}", bytes as f64 / size.data_bytes as f64);
        table.add_row([
            figure.work.clone(),
            figure.engine.to_string(),
            megabytes(size.data_bytes),
            size.used_bytes.map(megabytes).unwrap_or_default(),
            megabytes(size.allocated_bytes),
            megabytes(size.file_bytes),
            size.used_bytes.map(ratio).unwrap_or_default(),
            ratio(size.allocated_bytes),
        ]);
    }
    align_right(table, 2)
}
