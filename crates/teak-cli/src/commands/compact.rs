//! `teak compact`: the file as short as it can be, while others use it.

use crate::arguments::DatabaseArgument;
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, Style};
use clap::Args;
use indicatif::{BinaryBytes, HumanCount, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::Write;
use std::ops::ControlFlow;

const EXAMPLES: &str = "\
Examples:
  teak compact coins.teak
  teak compact coins.teak --max-pages 100000

Others may read and write meanwhile. What old readers see at the end of the file stays: `teak readers` \
lists them. Commits make the file shorter by themselves, by and by, when much of it is free.";

/// Make the file as short as it can be
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    database: DatabaseArgument,

    /// Stop when about so many pages were moved
    #[arg(long, value_name = "PAGES")]
    max_pages: Option<u64>,
}

#[derive(Serialize)]
struct Report {
    bytes_before: u64,
    bytes_after: u64,
    moved_pages: u64,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, style: Style) -> Result<(), Failure> {
    let database = engine::open_for_writing(&arguments.database.path)?;
    let bytes_before = database.stat()?.file_bytes;
    let bar = ProgressBar::new_spinner().with_style(
        ProgressStyle::with_template("{spinner} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let max_pages = arguments.max_pages.unwrap_or(u64::MAX);
    let done = database.compact(&mut |progress| {
        bar.set_message(format!(
            "{} pages moved, {}",
            HumanCount(progress.moved_pages),
            BinaryBytes(progress.file_bytes)
        ));
        bar.tick();
        match progress.moved_pages >= max_pages {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    bar.finish_and_clear();
    let done = done?;
    database.close()?;
    let report = Report {
        bytes_before,
        bytes_after: done.file_bytes,
        moved_pages: done.moved_pages,
    };
    match style {
        Style::Text => output::print(|output| {
            let line = writeln!(
                output,
                "{} -> {}, {} pages moved",
                BinaryBytes(report.bytes_before),
                BinaryBytes(report.bytes_after),
                HumanCount(report.moved_pages)
            );
            line.map_err(Failure::Output)
        }),
        Style::Json => output::print_json(&report),
    }
}
