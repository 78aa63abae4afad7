//! The table of `typed`.

use crate::{
    arguments::{TypedArguments, TypedLoop},
    report::{align_right, plain_table, ratio_of_times, time_with_spread},
    statistics::Spread,
};
use comfy_table::Table;
use serde::Serialize;

/// The figures of a loop.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct TypedFigure {
    pub(super) work: &'static str,
    pub(super) keys: &'static str,
    #[serde(rename = "loop")]
    pub(super) reader: TypedLoop,
    /// The median over the rounds, for one record.
    pub(super) ns_per_op: f64,
    pub(super) spread: Spread,
}

/// A line that describes the run.
pub(crate) fn describe_run(typed: &TypedArguments) -> String {
    let loops: Vec<String> = typed.loops.iter().map(ToString::to_string).collect();
    format!(
        "{} records, {} ranges, {} rounds, loops: {}\n",
        typed.records,
        typed.ranges,
        typed.repeat,
        loops.join(", ")
    )
}

/// A line per work and loop.
pub(crate) fn table(figures: &[TypedFigure]) -> Table {
    let header = [
        "work",
        "keys",
        "loop",
        "ns (min..max)",
        "time / teak-cursor",
        "teak / loop",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        let of_loop = |reader| {
            let same_work = figures
                .iter()
                .filter(|other| (other.work, other.keys) == (figure.work, figure.keys));
            let found = same_work.into_iter().find(|other| other.reader == reader);
            found.map(|other| other.ns_per_op)
        };
        let cursor = of_loop(TypedLoop::TeakCursor);
        let to_cursor = cursor.map(|cursor_ns| format!("{:.2}", figure.ns_per_op / cursor_ns));
        let of_teak = of_loop(TypedLoop::Teak);
        let to_teak = of_teak.map(|teak_ns| ratio_of_times(teak_ns, figure.ns_per_op));
        table.add_row([
            figure.work.to_owned(),
            figure.keys.to_owned(),
            figure.reader.to_string(),
            time_with_spread(figure.ns_per_op, figure.spread),
            to_cursor.unwrap_or_default(),
            to_teak.unwrap_or_default(),
        ]);
    }
    align_right(table, 3)
}
