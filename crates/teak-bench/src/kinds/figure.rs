//! The figures, and the tables on the terminal.

use crate::{
    arguments::Kinds,
    engines::EngineKind,
    measurement::LoadSize,
    report::{plain_table, ratio_of_times, time_with_spread},
    statistics::{Samples, Spread},
};
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

/// What one engine needed for one operation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct KindsFigure {
    /// The table: how many values its keys have, or its kind.
    pub(super) work: String,
    pub(super) operation: &'static str,
    pub(super) engine: EngineKind,
    /// Operations of a round: pairs, lookups, ranges, removed records, or nested transactions.
    pub(super) operations: u64,
    /// The median over the rounds.
    pub(super) ns_per_op: f64,
    pub(super) spread: Spread,
    pub(super) repeats: usize,
    /// How far an estimate was from what there is, in the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deviation_percent: Option<f64>,
    /// For loads: the size of what came of it.
    #[serde(flatten)]
    pub(super) size: Option<LoadSize>,
}

impl KindsFigure {
    /// What `samples` come to; `None` if there are none.
    pub(super) fn new(
        work: String,
        operation: &'static str,
        engine: EngineKind,
        operations: u64,
        samples: &Samples,
    ) -> Option<Self> {
        Some(Self {
            work,
            operation,
            engine,
            operations,
            ns_per_op: samples.median()?,
            spread: samples.spread()?,
            repeats: samples.len(),
            deviation_percent: None,
            size: None,
        })
    }
}

/// What this run does, in a line.
pub(crate) fn describe_run(kinds: &Kinds) -> String {
    format!(
        "many: {} values of one key; ten: 10 of each of {} keys; one: 1 of each of {} keys; {} records, {} nested transactions; {} rounds\n",
        kinds.many, kinds.tens, kinds.ones, kinds.records, kinds.nested, kinds.repeat
    )
}

/// The table of times, and behind it those of sizes and of estimates, if there are any.
pub(crate) fn tables(figures: &[KindsFigure], engines: &[EngineKind]) -> String {
    let mut text = format!("{}\n", times(figures, engines));
    if figures.iter().any(|figure| figure.size.is_some()) {
        text.push_str(&format!("\n{}\n", sizes(figures)));
    }
    for figure in figures {
        if let Some(deviation) = figure.deviation_percent {
            let (engine, operation) = (figure.engine, figure.operation);
            text.push_str(&format!(
                "\n{operation} of {engine}: {deviation:.1} % off in the mean"
            ));
        }
    }
    text
}

/// A line for each operation: the median of each engine with its spread, and how many times as fast as each other the first is.
fn times(figures: &[KindsFigure], engines: &[EngineKind]) -> Table {
    let mut header = vec!["table".to_owned(), "operation".to_owned()];
    let of_engine = engines
        .iter()
        .map(|engine| format!("{engine} ns (min..max)"));
    header.extend(of_engine);
    let first = engines.first().map_or("", |engine| engine.name());
    let others = engines.iter().skip(1);
    header.extend(others.map(|other| format!("{first} / {other}")));
    let mut table = plain_table(header);
    for one in figures {
        let is_same =
            |other: &&KindsFigure| other.work == one.work && other.operation == one.operation;
        let same: Vec<&KindsFigure> = figures.iter().filter(is_same).collect();
        // Only where the first engine that has a figure comes by.
        if same[0].engine == one.engine {
            table.add_row(row(&same, engines));
        }
    }
    to_the_right(table)
}

fn row(same: &[&KindsFigure], engines: &[EngineKind]) -> Vec<String> {
    let of_engine = |engine: &EngineKind| same.iter().find(|figure| figure.engine == *engine);
    let mut row = vec![same[0].work.clone(), same[0].operation.to_owned()];
    row.extend(engines.iter().map(|engine| {
        of_engine(engine).map_or_else(String::new, |figure| {
            time_with_spread(figure.ns_per_op, figure.spread)
        })
    }));
    let first = engines.first().and_then(of_engine);
    for other in engines.iter().skip(1) {
        row.push(match (first, of_engine(other)) {
            (Some(first), Some(other)) => ratio_of_times(first.ns_per_op, other.ns_per_op),
            _ => String::new(),
        });
    }
    row
}

/// A line for each load and engine: bytes of each pair.
fn sizes(figures: &[KindsFigure]) -> Table {
    let header = [
        "table",
        "operation",
        "engine",
        "file MB",
        "allocated MB",
        "used MB",
        "data MB",
        "used bytes per pair",
        "used / data",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        let Some(LoadSize { space, data_bytes }) = figure.size else {
            continue;
        };
        let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
        let used = space.used_bytes as f64;
        table.add_row([
            figure.work.clone(),
            figure.operation.to_owned(),
            figure.engine.to_string(),
            megabytes(space.file_bytes),
            megabytes(space.allocated_bytes),
            megabytes(space.used_bytes),
            megabytes(data_bytes),
            format!("{:.1}", used / figure.operations as f64),
            format!("{:.2}", used / data_bytes as f64),
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
