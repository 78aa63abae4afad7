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

/// A line that describes the run.
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

/// The table of speeds, followed by the table of sizes.
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

/// A line per workload: the median of each engine with its spread, and the speed of the first
/// engine relative to each other one.
fn speeds(measurements: &[Measurement], engines: &[EngineKind]) -> Table {
    let mut table = plain_table(comparison_header(&["work"], engines));
    for work in QuickWorkload::ALL {
        let of_engine = |engine: &EngineKind| {
            measurements
                .iter()
                .find(|found| found.work == *work && found.engine == *engine)
                .map(|found| (found.ns_per_op, found.spread))
        };
        let times: Vec<Option<(f64, Spread)>> = engines.iter().map(of_engine).collect();
        if times.iter().any(Option::is_some) {
            let mut row = vec![work.to_string()];
            row.extend(comparison_cells(&times));
            table.add_row(row);
        }
    }
    align_right(table, 1)
}

/// The header of a table that compares the times of `engines`, after the columns `labels`.
pub(crate) fn comparison_header(labels: &[&str], engines: &[EngineKind]) -> Vec<String> {
    let mut header: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
    let of_each = engines.iter();
    header.extend(of_each.map(|engine| format!("{engine} ns (min..max)")));
    let first = engines.first().map_or("", |engine| engine.name());
    let others = engines.iter().skip(1);
    header.extend(others.map(|other| format!("{first} / {other}")));
    header
}

/// The cells below [`comparison_header`]: the median and spread of each engine, `None` for an
/// engine that was not measured.
pub(crate) fn comparison_cells(times: &[Option<(f64, Spread)>]) -> Vec<String> {
    let cell = |(median_ns, spread)| time_with_spread(median_ns, spread);
    let of_each = times.iter().map(|time| time.map_or_else(String::new, cell));
    let mut cells: Vec<String> = of_each.collect();
    let first = times.first().copied().flatten();
    cells.extend(times.iter().skip(1).map(|other| match (first, other) {
        (Some((first_ns, _)), Some((other_ns, _))) => ratio_of_times(first_ns, *other_ns),
        _ => String::new(),
    }));
    cells
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

/// The speed of the first relative to the second.
pub(crate) fn ratio_of_times(first_ns: f64, other_ns: f64) -> String {
    format!("{:.2} x the speed", other_ns / first_ns)
}

/// A line per load and engine: sizes, and bytes used per byte of data.
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
    align_right(table, 2)
}

/// Millions of bytes, with one decimal.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// An empty table in the common style.
pub(crate) fn plain_table(header: Vec<String>) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_header(header);
    table
}

/// Aligns the columns from `first` on to the right.
pub(crate) fn align_right(mut table: Table, first: usize) -> Table {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Nanoseconds, in a suitable unit.
pub(crate) fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e5 => format!("{:.1} us", ns / 1e3),
        ns if ns < 1e6 => format!("{:.0} us", ns / 1e3),
        ns if ns < 1e8 => format!("{:.1} ms", ns / 1e6),
        ns if ns < 1e9 => format!("{:.0} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}
