//! The table on the terminal.

use super::{
    figure::SpaceMapFigure,
    process::{LargeValue, SpaceMapTimes},
};
use crate::{
    arguments::SpaceMapArguments,
    report::{align_right, megabytes, plain_table},
};
use comfy_table::Table;

/// A line that describes the run.
pub(crate) fn describe_run(map: &SpaceMapArguments) -> String {
    let blocks = match map.allocate {
        true => "all blocks allocated",
        false => "sparse",
    };
    format!(
        "{} % of the pages in use, {} pending, {blocks}, {} small commits of each kind\n",
        map.used_percent, map.pending, map.commits
    )
}

/// A column for each file.
pub(crate) fn table(figures: &[SpaceMapFigure]) -> Table {
    let mut header = vec!["pages".to_owned()];
    header.extend(figures.iter().map(|figure| figure.pages.to_string()));
    let mut table = plain_table(header);
    let mut add = |name: &str, cell: &dyn Fn(&SpaceMapFigure) -> String| {
        let mut row = vec![name.to_owned()];
        row.extend(figures.iter().map(cell));
        table.add_row(row);
    };
    add("free pages", &|figure| figure.free_pages.to_string());
    add("pending pages", &|figure| figure.pending_pages.to_string());
    add("pages of the map", &|figure| figure.map_pages.to_string());
    add("allocated MB", &|figure| {
        figure.allocated_bytes.map(megabytes).join(" to ")
    });
    add("open ms, cold", &|figure| milliseconds(figure.open_cold_us));
    add("open ms, warm", &|figure| milliseconds(figure.open_warm_us));
    add("own memory MB, opened", &|figure| {
        megabytes(figure.memory.own_bytes)
    });
    add("most memory MB, opened", &|figure| {
        megabytes(figure.memory.peak_bytes)
    });
    add("own memory MB, behind all", &|figure| {
        megabytes(figure.commits.memory_after.own_bytes)
    });
    add("first commits us", &|figure| {
        times(&figure.commits.settling)
    });
    add("durable us", &|figure| times(&figure.commits.durable));
    add("checkpointing us", &|figure| {
        times(&figure.commits.checkpointing)
    });
    add("asynchronous us", &|figure| {
        times(&figure.commits.asynchronous)
    });
    add("first lazy us", &|figure| {
        let first = figure.commits.first_lazy_us;
        first.map_or_else(String::new, |time| format!("{time:.0}"))
    });
    add("lazy us", &|figure| {
        figure.commits.lazy.as_ref().map_or_else(String::new, times)
    });
    let count = figures.first().map_or(0, |first| first.commits.large.len());
    for index in 0..count {
        add("large value ms", &|figure| {
            figure
                .commits
                .large
                .get(index)
                .map_or_else(String::new, large)
        });
    }
    add("close ms", &|figure| milliseconds(figure.commits.close_us));
    align_right(table, 1)
}

/// The median, 99th percentile, maximum and number of times.
fn times(times: &SpaceMapTimes) -> String {
    format!(
        "{:.1} / {:.1} / {:.1} of {}",
        times.median_us, times.p99_us, times.longest_us, times.count
    )
}

/// The times of inserting a value, and of the commit after it.
fn large(value: &LargeValue) -> String {
    let growth = match value.file_grew {
        true => ", file grew",
        false => "",
    };
    format!(
        "{} MiB: {} + {}{growth}",
        value.mib,
        milliseconds(value.insert_us),
        milliseconds(value.commit_us)
    )
}

fn milliseconds(microseconds: f64) -> String {
    format!("{:.2}", microseconds / 1e3)
}
