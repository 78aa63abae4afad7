//! The tables on the terminal, and the JSON file.

use crate::{
    arguments::Quick,
    data::{KEY_LEN, VALUE_LEN},
    engines::EngineKind,
    measurement::Measurement,
    statistics::Spread,
    workloads::QuickWorkload,
};
use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::{fs, path::Path};

/// What this run does, in a line.
pub(crate) fn describe_run(quick: &Quick) -> String {
    let engines: Vec<&str> = quick.engines.iter().map(|engine| engine.name()).collect();
    format!(
        "{} records ({KEY_LEN}-byte keys, {VALUE_LEN}-byte values), {} rounds, engines: {}\n",
        quick.records,
        quick.repeat,
        engines.join(", ")
    )
}

/// Writes figures as JSON.
pub(crate) fn write_json(path: &Path, figures: &(impl Serialize + ?Sized)) -> Result<()> {
    let mut text = serde_json::to_string_pretty(figures)?;
    text.push('\n');
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The table of speeds, and behind it the table of sizes.
pub(crate) fn tables(measurements: &[Measurement], engines: &[EngineKind]) -> String {
    let mut text = format!("\n{}\n", speeds(measurements, engines));
    if measurements
        .iter()
        .any(|measurement| measurement.size.is_some())
    {
        text.push_str(&format!("\n{}\n", sizes(measurements)));
    }
    text
}

/// A line for each work: the median of each engine with its spread, and how many times as fast as each other the first is.
fn speeds(measurements: &[Measurement], engines: &[EngineKind]) -> Table {
    let mut header = vec!["work".to_owned()];
    header.extend(
        engines
            .iter()
            .map(|engine| format!("{engine} ns (min..max)")),
    );
    let first = engines.first().map_or("", |engine| engine.name());
    header.extend(
        engines
            .iter()
            .skip(1)
            .map(|other| format!("{first} / {other}")),
    );
    let mut table = plain_table(header);
    for work in QuickWorkload::ALL {
        let of_engine = |engine: &EngineKind| {
            measurements
                .iter()
                .find(|found| found.work == *work && found.engine == *engine)
        };
        let found: Vec<Option<&Measurement>> = engines.iter().map(of_engine).collect();
        if found.iter().any(Option::is_some) {
            table.add_row(speed_row(*work, &found));
        }
    }
    align(&mut table)
}

fn speed_row(work: QuickWorkload, found: &[Option<&Measurement>]) -> Vec<String> {
    let mut row = vec![work.to_string()];
    row.extend(found.iter().map(|found| {
        found.map_or_else(String::new, |found| {
            time_with_spread(found.ns_per_op, found.spread)
        })
    }));
    let first = found.first().copied().flatten();
    for other in found.iter().skip(1) {
        row.push(match (first, other) {
            (Some(first), Some(other)) => ratio_of_times(first.ns_per_op, other.ns_per_op),
            _ => String::new(),
        });
    }
    row
}

/// A median in nanoseconds, with the fastest and the slowest round.
pub(crate) fn time_with_spread(median_ns: f64, spread: Spread) -> String {
    let nanoseconds = |value: f64| {
        if value < 100.0 {
            format!("{value:.1}")
        } else {
            format!("{value:.0}")
        }
    };
    format!(
        "{} ({}..{})",
        nanoseconds(median_ns),
        nanoseconds(spread.min),
        nanoseconds(spread.max)
    )
}

/// How many times as fast the first is.
pub(crate) fn ratio_of_times(first_ns: f64, other_ns: f64) -> String {
    format!("{:.2} x the speed", other_ns / first_ns)
}

/// A line for each load and engine: sizes, and how many bytes each byte of data takes.
fn sizes(measurements: &[Measurement]) -> Table {
    let header = [
        "space after",
        "engine",
        "data MB",
        "used MB",
        "allocated MB",
        "file MB",
        "used / data",
        "file / data",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for measurement in measurements {
        let Some(size) = measurement.size else {
            continue;
        };
        let (space, data) = (size.space, size.data_bytes);
        let ratio = |bytes: u64| format!("{:.2}", bytes as f64 / data as f64);
        table.add_row([
            measurement.work.to_string(),
            measurement.engine.to_string(),
            megabytes(data),
            megabytes(space.used_bytes),
            megabytes(space.allocated_bytes),
            megabytes(space.file_bytes),
            ratio(space.used_bytes),
            ratio(space.file_bytes),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// An empty table in the style of all.
pub(crate) fn plain_table(header: Vec<String>) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_header(header);
    table
}

/// Figures to the right, under each other.
fn align(table: &mut Table) -> Table {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.clone()
}
