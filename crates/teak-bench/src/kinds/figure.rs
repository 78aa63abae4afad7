//! The figures, and the tables on the terminal.

use crate::{
    arguments::Kinds,
    engines::EngineKind,
    measurement::LoadSize,
    report::{align_right, comparison_cells, comparison_header, megabytes, plain_table},
    statistics::{Samples, Spread},
};
use comfy_table::Table;
use serde::Serialize;

/// The figure of one engine for one operation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct KindsFigure {
    /// The table: the number of values per key, or the kind of the table.
    pub(super) work: String,
    pub(super) operation: &'static str,
    pub(super) engine: EngineKind,
    /// Operations of a round: pairs, lookups, ranges, removed records, or nested transactions.
    pub(super) operations: u64,
    /// The median over the rounds.
    pub(super) ns_per_op: f64,
    pub(super) spread: Spread,
    pub(super) repeats: usize,
    /// The mean deviation of an estimate from the exact number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deviation_percent: Option<f64>,
    /// For loads: the size of the database.
    #[serde(flatten)]
    pub(super) size: Option<LoadSize>,
}

impl KindsFigure {
    /// The figure from `samples`; `None` if there are none.
    pub(super) fn new(
        work: &str,
        operation: &'static str,
        engine: EngineKind,
        operations: u64,
        samples: &Samples,
    ) -> Option<Self> {
        Some(Self {
            work: work.to_owned(),
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

/// A line that describes the run.
pub(crate) fn describe_run(kinds: &Kinds) -> String {
    format!(
        "many: {} values of one key; ten: 10 of each of {} keys; one: 1 of each of {} keys; {} records, {} nested transactions; {} rounds\n",
        kinds.many, kinds.tens, kinds.ones, kinds.records, kinds.nested, kinds.repeat
    )
}

/// The table of times, followed by those of sizes and of estimates, if there are any.
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

/// A line per operation: the median of each engine with its spread, and the speed of the first
/// engine relative to each other one.
fn times(figures: &[KindsFigure], engines: &[EngineKind]) -> Table {
    let mut table = plain_table(comparison_header(&["table", "operation"], engines));
    for one in figures {
        let is_same =
            |other: &&KindsFigure| other.work == one.work && other.operation == one.operation;
        let same: Vec<&KindsFigure> = figures.iter().filter(is_same).collect();
        // The figures of all engines share the line of the first.
        if same[0].engine == one.engine {
            let of_engine = |engine: &EngineKind| {
                let found = same.iter().find(|figure| figure.engine == *engine);
                found.map(|figure| (figure.ns_per_op, figure.spread))
            };
            let times: Vec<Option<(f64, Spread)>> = engines.iter().map(of_engine).collect();
            let mut row = vec![one.work.clone(), one.operation.to_owned()];
            row.extend(comparison_cells(&times));
            table.add_row(row);
        }
    }
    align_right(table, 2)
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
    align_right(table, 2)
}
