//! The table on the terminal.

use super::{
    HandoverFigure,
    figure::{CommitRates, HandoverOutcome},
};
use crate::{
    arguments::Handover,
    data::{KEY_LEN, VALUE_LEN},
    report::{align_right, plain_table},
};

/// A line that describes the run.
pub(crate) fn describe_run(handover: &Handover) -> String {
    format!(
        "{} records ({KEY_LEN}-byte keys, {VALUE_LEN}-byte values), {} rounds of slices of {} ms, lazy commits of one record each\n",
        handover.records, handover.repeat, handover.slice_ms
    )
}

/// A line per case and engine: the median of commits per second with its spread, the speed of the
/// first engine relative to it, the share of the process with the fewest commits, and the longest
/// wait. The errors follow.
pub(crate) fn table(figures: &[HandoverFigure]) -> String {
    let first = figures
        .first()
        .map_or_else(String::new, |figure| figure.engine.to_string());
    let header = [
        "mode".to_owned(),
        "processes".to_owned(),
        "engine".to_owned(),
        "commits/s (min..max)".to_owned(),
        format!("{first} / this"),
        "least share".to_owned(),
        "longest wait ms (of all rounds)".to_owned(),
    ];
    let mut table = plain_table(header.to_vec());
    for figure in figures {
        table.add_row(row(figures, figure));
    }
    let table = align_right(table, 3);
    format!("{table}\n{}", errors(figures))
}

fn row(figures: &[HandoverFigure], figure: &HandoverFigure) -> Vec<String> {
    let mut row = vec![
        figure.mode.to_string(),
        figure.processes.to_string(),
        figure.engine.to_string(),
    ];
    match &figure.outcome {
        HandoverOutcome::Error { .. } => row.push("failed, see below".to_owned()),
        HandoverOutcome::Rates(rates) => {
            let spread = rates.spread;
            row.extend([
                format!(
                    "{:.0} ({:.0}..{:.0})",
                    rates.commits_per_second, spread.min, spread.max
                ),
                ratio(figures, figure, rates),
                format!("{:.1} %", rates.share_min * 100.0),
                format!(
                    "{:.2} ({:.2})",
                    rates.wait_max_ns / 1e6,
                    rates.wait_longest_ns / 1e6
                ),
            ]);
        }
    }
    row
}

/// The speed of the first engine relative to this one; empty for itself, or if it failed.
fn ratio(figures: &[HandoverFigure], figure: &HandoverFigure, rates: &CommitRates) -> String {
    match figures.iter().find(|known| known.is_same_case(figure)) {
        Some(HandoverFigure {
            engine,
            outcome: HandoverOutcome::Rates(first),
            ..
        }) if *engine != figure.engine => {
            let ratio = first.commits_per_second / rates.commits_per_second;
            format!("{ratio:.2} x the speed")
        }
        _ => String::new(),
    }
}

/// A line for each that failed.
fn errors(figures: &[HandoverFigure]) -> String {
    let line = |figure: &HandoverFigure| match &figure.outcome {
        HandoverOutcome::Rates(_) => None,
        HandoverOutcome::Error { error } => Some(format!(
            "{}, {}, processes: {}: {error}\n",
            figure.engine, figure.mode, figure.processes
        )),
    };
    figures.iter().filter_map(line).collect()
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
