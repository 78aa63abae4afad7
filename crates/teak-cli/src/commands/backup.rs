//! `teak backup`: a copy of a database while others use it.

use crate::arguments::DatabaseArgument;
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, Style};
use clap::Args;
use indicatif::{BinaryBytes, HumanCount, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use teak::BackupProgress;

const EXAMPLES: &str = "\
Examples:
  teak backup coins.teak /mnt/backup/coins.teak
  teak backup coins.teak - | zstd > coins.teak.zst
  teak backup coins.teak small.teak --compact

A backup is a database file: it can be opened as it is. `teak restore` copies and checks it.";

/// Copy a database while others use it
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    database: DatabaseArgument,

    /// A file that does not exist yet, or `-` for the standard output
    target: PathBuf,

    /// Write records anew, as dense as they can be, instead of copying pages
    #[arg(long)]
    compact: bool,

    /// Write so many million bytes a second at most
    #[arg(long, value_name = "MB", conflicts_with = "compact", value_parser = clap::value_parser!(u64).range(1..))]
    max_rate: Option<u64>,
}

#[derive(Serialize)]
struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, style: Style) -> Result<(), Failure> {
    let database = engine::open_for_reading(&arguments.database.path)?;
    let target = arguments.target.as_path();
    let is_pipe = target == Path::new("-");
    let bar = ProgressBar::new(0).with_style(bar_style(arguments.compact));
    let report = match (arguments.compact, is_pipe) {
        (true, true) => {
            let text = "a compact copy cannot be written to the standard output; name a file";
            return Err(Failure::Usage(text.to_owned()));
        }
        (true, false) => {
            let records = database.backup_compact(target, &mut |records| {
                if records.is_multiple_of(4096) {
                    bar.set_position(records);
                }
                ControlFlow::Continue(())
            })?;
            Report {
                transaction: None,
                bytes: None,
                records: Some(records),
            }
        }
        (false, _) => {
            let begun = Instant::now();
            let mut progress = |progress: BackupProgress| {
                bar.set_length(progress.total_bytes);
                bar.set_position(progress.bytes);
                if let Some(rate) = arguments.max_rate {
                    let due = Duration::from_secs_f64(progress.bytes as f64 / (rate as f64 * 1e6));
                    thread::sleep(due.saturating_sub(begun.elapsed()));
                }
                ControlFlow::Continue(())
            };
            let done = match is_pipe {
                true => {
                    let mut output = io::stdout().lock();
                    let done = database
                        .begin_read()?
                        .write_backup(&mut output, &mut progress)?;
                    output.flush().map_err(Failure::Output)?;
                    done
                }
                false => database.backup(target, &mut progress)?,
            };
            Report {
                transaction: Some(done.transaction.0),
                bytes: Some(done.bytes),
                records: None,
            }
        }
    };
    bar.finish_and_clear();
    if is_pipe {
        return Ok(());
    }
    match style {
        Style::Text => output::print(|output| {
            let line = match (report.transaction, report.bytes) {
                (Some(transaction), Some(bytes)) => {
                    writeln!(output, "transaction {transaction}, {}", BinaryBytes(bytes))
                }
                _ => {
                    let records = report.records.unwrap_or_default();
                    writeln!(output, "{} records", HumanCount(records))
                }
            };
            line.map_err(Failure::Output)
        }),
        Style::Json => output::print_json(&report),
    }
}

fn bar_style(counts_records: bool) -> ProgressStyle {
    let template = match counts_records {
        true => "{spinner} {human_pos} records",
        false => "{wide_bar} {binary_bytes}/{binary_total_bytes}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
