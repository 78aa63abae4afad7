//! The result: for people a table, for programs JSON.

use super::{EngineFailure, arguments::Compare, figure::CompareFigure, keys::KeyKind};
use crate::{
    environment,
    report::{plain_table, time_with_spread},
};
use comfy_table::{CellAlignment, Table};
use serde::Serialize;
use std::{env, path::Path};

/// All that came of a run.
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

    /// Whether every engine came through.
    pub(crate) fn is_complete(&self) -> bool {
        self.failures.is_empty()
    }
}

/// What this run does, in a line.
pub(crate) fn describe_run(compare: &Compare) -> String {
    format!(
        "{} records, keys: {}, values of {} bytes, {} rounds\n",
        compare.records,
        compare.keys.name(),
        compare.value,
        compare.repeat
    )
}

/// A line for each work and engine, then what the databases take.
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
    to_the_right(table)
}

/// How many times Teak's time an engine takes.
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
        let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
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
    to_the_right(table)
}

fn to_the_right(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Nanoseconds, as people say them.
pub(super) fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e5 => format!("{:.1} us", ns / 1e3),
        ns if ns < 1e6 => format!("{:.0} us", ns / 1e3),
        ns if ns < 1e8 => format!("{:.1} ms", ns / 1e6),
        ns if ns < 1e9 => format!("{:.0} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}
