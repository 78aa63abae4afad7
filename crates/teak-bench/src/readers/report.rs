//! The table on the terminal.

use super::ReadersFigure;
use crate::{
    arguments::Readers,
    data::{KEY_LEN, VALUE_LEN},
    report::{align_right, plain_table, ratio_of_times, time_with_spread},
};
use comfy_table::Table;

/// A line that describes the run.
pub(crate) fn describe_run(readers: &Readers) -> String {
    format!(
        "{} records ({KEY_LEN}-byte keys, {VALUE_LEN}-byte values), {} rounds of slices of {} ms\n",
        readers.records, readers.repeat, readers.slice_ms
    )
}

/// A line per setting, step, engine and way: the median of the nanoseconds with its spread, and the
/// speed of the first engine relative to it.
pub(crate) fn table(figures: &[ReadersFigure]) -> Table {
    let first = figures
        .first()
        .map_or_else(String::new, ReadersFigure::name);
    let header = [
        "open".to_owned(),
        "threads".to_owned(),
        "operation".to_owned(),
        "engine".to_owned(),
        "ns (min..max)".to_owned(),
        format!("{first} / this"),
    ];
    let mut table = plain_table(header.to_vec());
    for figure in figures {
        let first = figures.iter().find(|known| known.is_same_setting(figure));
        table.add_row([
            figure.open.to_string(),
            figure.threads.to_string(),
            figure.step.to_owned(),
            figure.name(),
            time_with_spread(figure.ns_per_op, figure.spread),
            first.map_or_else(String::new, |first| ratio(first, figure)),
        ]);
    }
    align_right(table, 4)
}

/// The speed of the first engine relative to this one; empty for itself.
fn ratio(first: &ReadersFigure, figure: &ReadersFigure) -> String {
    if first.engine == figure.engine {
        String::new()
    } else {
        ratio_of_times(first.ns_per_op, figure.ns_per_op)
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
