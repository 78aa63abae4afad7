//! `teak compact`: makes the file as short as possible, while others use it.

use crate::common_arguments::{DatabaseArgument, WaitArgument};
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use clap::Args;
use indicatif::{BinaryBytes, HumanCount, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::Duration;
use teak::{CompactObstacle, CompactOptions, CompactProgress, Database};

const EXAMPLES: &str = "\
Examples:
  teak compact coins.teak
  teak compact coins.teak --until-free 20 --commit-bytes 1000000 --pause-ms 50
  teak compact coins.teak --until-bytes 1000000000 --max-bytes 100000000

Others may read and write meanwhile. Pages at the end of the file that old readers see stay; `teak readers` \
lists the readers. Commits also shorten the file gradually, if much of it is free.";

/// Make the file as short as possible, or as short as requested
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompactArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    wait: WaitArgument,

    /// Stop when the file is no longer than this
    #[arg(long, value_name = "BYTES")]
    until_bytes: Option<u64>,

    /// Stop when at most this share of the file is free
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=100))]
    until_free: Option<u8>,

    /// Stop when about this many bytes were moved
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,

    /// Stop when about this many pages were moved
    #[arg(long, value_name = "PAGES")]
    max_pages: Option<u64>,

    /// Move at most about this many bytes per commit
    #[arg(long, value_name = "BYTES")]
    commit_bytes: Option<u64>,

    /// Wait this many milliseconds between two commits
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pause_ms: u64,
}

impl CompactArguments {
    /// The bytes left to move after `moved` of them.
    fn options(&self, moved_bytes: u64) -> CompactOptions {
        let mut options = CompactOptions::new()
            .pause(Duration::from_millis(self.pause_ms))
            .wait_for_writers(engine::silence(self.wait));
        if let Some(bytes) = self.until_bytes {
            options = options.until_file_bytes(bytes);
        }
        if let Some(percent) = self.until_free {
            options = options.until_free_percent(percent);
        }
        if let Some(bytes) = self.max_bytes {
            options = options.max_moved_bytes(bytes.saturating_sub(moved_bytes));
        }
        if let Some(bytes) = self.commit_bytes {
            options = options.max_commit_bytes(bytes);
        }
        options
    }
}

/// The obstacle, as a word and as a sentence.
fn describe_obstacle(obstacle: CompactObstacle) -> (&'static str, &'static str) {
    match obstacle {
        CompactObstacle::Limit => ("limit", "a limit of this command was reached"),
        CompactObstacle::Readers => (
            "readers",
            "readers keep pages that would have to move, or their destinations; `teak readers` lists the readers",
        ),
        CompactObstacle::NamedSnapshots => (
            "named_snapshots",
            "named snapshots keep pages that would have to move, or their destinations; `teak snapshot list` lists the snapshots",
        ),
        _ => (
            "room",
            "more is in use, or there is no room on the disk or below the size limit to copy large values past the end first",
        ),
    }
}

#[derive(Serialize)]
struct CompactOutput {
    bytes_before: u64,
    bytes_after: u64,
    moved_pages: u64,
    is_reached: bool,
    obstacle: Option<&'static str>,
}

/// Compacts, and reports when a commit waits for other writers.
fn compact(
    database: &Database,
    arguments: &CompactArguments,
    bar: &ProgressBar,
) -> Result<CompactProgress, Failure> {
    let max_pages = arguments.max_pages.unwrap_or(u64::MAX);
    let mut moved_before = 0;
    loop {
        let moved_bytes = moved_before * database.info().page_size as u64;
        let mut progress = |progress: CompactProgress| {
            let moved_pages = moved_before + progress.moved_pages;
            bar.set_message(format!(
                "{} pages moved, {}",
                HumanCount(moved_pages),
                BinaryBytes(progress.file_bytes)
            ));
            bar.tick();
            match moved_pages < max_pages {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        let mut done = database.compact(&arguments.options(moved_bytes), &mut progress)?;
        moved_before += done.moved_pages;
        if done.obstacle != Some(CompactObstacle::Writers) {
            done.moved_pages = moved_before;
            return Ok(done);
        }
        bar.suspend(|| {
            let silence = engine::silence(arguments.wait);
            engine::wait_and_report(database, arguments.wait, silence).map(drop)
        })?;
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &CompactArguments, style: ReportStyle) -> Result<(), Failure> {
    let database = engine::open_for_writing(&arguments.database.path)?;
    let bytes_before = database.stat()?.file_bytes;
    let bar = ProgressBar::new_spinner().with_style(
        ProgressStyle::with_template("{spinner} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let done = compact(&database, arguments, &bar);
    bar.finish_and_clear();
    let done = done?;
    database.close()?;
    let obstacle = done.obstacle.map(describe_obstacle);
    let report = CompactOutput {
        bytes_before,
        bytes_after: done.file_bytes,
        moved_pages: done.moved_pages,
        is_reached: done.is_reached,
        obstacle: obstacle.map(|(word, _)| word),
    };
    match style {
        ReportStyle::Text => output::print(|output| {
            let line = writeln!(
                output,
                "{} -> {}, {} pages moved",
                BinaryBytes(report.bytes_before),
                BinaryBytes(report.bytes_after),
                HumanCount(report.moved_pages)
            );
            line.map_err(Failure::Output)?;
            let Some((_, sentence)) = obstacle else {
                return Ok(());
            };
            let line = writeln!(output, "the goal was not reached: {sentence}");
            line.map_err(Failure::Output)
        }),
        ReportStyle::Json => output::print_json(&report),
    }
}
