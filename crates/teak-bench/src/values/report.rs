//! The tables on the terminal.

use super::{SAMPLES, SizeSample, ValuesFigure};
use crate::{
    arguments::Values,
    engines::Durability,
    report::{align_right, megabytes, plain_table},
};
use comfy_table::Table;

/// The samples of the file's size that have a column.
const SHOWN_EVERY: usize = 2;

/// A line that describes the run.
pub(crate) fn describe_run(values: &Values) -> String {
    let commits = match values.durability() {
        Durability::Durable => "durable",
        _ => "lazy",
    };
    format!(
        "{} operations on {} keys, values of {} to {} bytes, {} in a commit, {commits}\n",
        values.operations, values.keys, values.shortest, values.longest, values.per_commit
    )
}

/// A line for each engine. Below it, the bytes per byte of data in the course of the work.
pub(crate) fn table(figures: &[ValuesFigure]) -> String {
    format!("{}\n\n{}", times(figures), ratios(figures))
}

fn times(figures: &[ValuesFigure]) -> Table {
    let header = [
        "engine",
        "seconds",
        "operations/s",
        "commit us: median",
        "99.9 %",
        "longest",
        "live MB",
        "used MB",
        "allocated MB",
        "file MB",
        "used / live",
        "allocated / live",
    ];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        let Some(last) = figure.samples.last() else {
            continue;
        };
        table.add_row([
            figure.engine.to_string(),
            format!("{:.1}", figure.seconds),
            format!("{:.0}", figure.operations_per_second),
            format!("{:.0}", figure.median_us),
            format!("{:.0}", figure.p999_us),
            format!("{:.0}", figure.longest_us),
            megabytes(last.live_bytes),
            megabytes(last.space.used_bytes),
            megabytes(last.space.allocated_bytes),
            megabytes(last.space.file_bytes),
            ratio(last.space.used_bytes, last),
            ratio(last.space.allocated_bytes, last),
        ]);
    }
    align_right(table, 1)
}

fn ratios(figures: &[ValuesFigure]) -> Table {
    let shown = (SHOWN_EVERY..=SAMPLES as usize).step_by(SHOWN_EVERY);
    let mut header = vec!["allocated / live".to_owned()];
    header.extend(shown.map(|sample| format!("{} %", 100 * sample as u64 / SAMPLES)));
    let mut table = plain_table(header);
    for figure in figures {
        let samples = figure.samples.iter().skip(SHOWN_EVERY - 1);
        let mut row = vec![figure.engine.to_string()];
        row.extend(
            samples
                .step_by(SHOWN_EVERY)
                .map(|sample| format!("{:.2}", sample.bytes_per_live_byte())),
        );
        table.add_row(row);
    }
    align_right(table, 1)
}

fn ratio(bytes: u64, sample: &SizeSample) -> String {
    format!("{:.2}", bytes as f64 / sample.live_bytes.max(1) as f64)
}
