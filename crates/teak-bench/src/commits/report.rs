//! The table on the terminal.

use super::CommitsFigure;
use crate::{
    arguments::Commits,
    data::{KEY_LEN, VALUE_LEN},
    engines::Durability,
    report::{align_right, plain_table},
};
use comfy_table::Table;

/// A line that describes the run.
pub(crate) fn describe_run(commits: &Commits) -> String {
    format!(
        "{} records ({KEY_LEN}-byte keys, {VALUE_LEN}-byte values), {} rounds of {} commits of one record each\n",
        commits.records, commits.repeat, commits.commits
    )
}

/// A line for each number of threads and each engine: the median of commits per second with its
/// spread, the speed of the first engine relative to it, and the times of the calls.
pub(crate) fn table(figures: &[CommitsFigure]) -> Table {
    let first = figures
        .first()
        .map_or_else(String::new, CommitsFigure::name);
    let header = [
        "threads".to_owned(),
        "engine".to_owned(),
        "commits/s (min..max)".to_owned(),
        format!("{first} / this"),
        "p50 us".to_owned(),
        "p99 us".to_owned(),
    ];
    let mut table = plain_table(header.to_vec());
    for figure in figures {
        let begins = |known: &&CommitsFigure| known.threads == figure.threads;
        table.add_row([
            figure.threads.to_string(),
            figure.name(),
            rate(figure),
            ratio(figures.iter().find(begins), figure),
            microseconds(figure.p50_ns),
            microseconds(figure.p99_ns),
        ]);
    }
    align_right(table, 2)
}

/// The result for one number of threads, in a line, as progress report.
pub(super) fn line(threads: u32, figures: &[CommitsFigure]) -> String {
    let rates: Vec<String> = figures
        .iter()
        .map(|figure| format!("{} {:.0}", figure.name(), figure.commits_per_second))
        .collect();
    format!("threads: {threads}; commits/s: {}", rates.join(", "))
}

fn rate(figure: &CommitsFigure) -> String {
    let (median, spread) = (figure.commits_per_second, figure.spread);
    format!("{median:.0} ({:.0}..{:.0})", spread.min, spread.max)
}

/// The speed of the first engine relative to this one; empty for itself and for modes that promise
/// less.
fn ratio(first: Option<&CommitsFigure>, figure: &CommitsFigure) -> String {
    match first {
        Some(first) if first.engine != figure.engine && figure.mode == Durability::Durable => {
            let ratio = first.commits_per_second / figure.commits_per_second;
            format!("{ratio:.2} x the speed")
        }
        _ => String::new(),
    }
}

fn microseconds(nanoseconds: u64) -> String {
    format!("{:.1}", nanoseconds as f64 / 1e3)
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
