//! `teak readers`: lists the readers, their ages, and the pages that they keep.

use crate::common_arguments::DatabaseArgument;
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::text::shown_path;
use clap::Args;
use indicatif::{BinaryBytes, HumanCount, HumanDuration};
use serde::Serialize;
use std::io::{self, Write};
use teak::ReaderInfo;

const EXAMPLES: &str = "\
Examples:
  teak readers coins.teak
  teak readers coins.teak --json | jq '.[] | select(.kept_bytes > 1000000)'
  teak readers coins.teak --cancel 4711

A reader keeps the pages that would be free if nobody read its state; readers of one state keep the same \
pages. The next operation of a cancelled reader fails, and its pages become free when it ends its transaction.";

/// List the read transactions of all processes, or cancel some
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ReadersArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    /// Cancel the read transactions of this process, or of one of its threads, and list them
    #[arg(long, value_name = "PROCESS[:THREAD]", value_parser = parse_reader_filter)]
    cancel: Option<ReaderFilter>,
}

/// The readers to cancel.
#[derive(Clone, Copy)]
struct ReaderFilter {
    process: u32,
    thread: Option<u64>,
}

impl ReaderFilter {
    fn is_meant(self, reader: &ReaderInfo) -> bool {
        reader.process == Some(self.process)
            && self.thread.is_none_or(|thread| thread == reader.thread)
    }
}

fn parse_reader_filter(text: &str) -> Result<ReaderFilter, String> {
    let (process, thread) = match text.split_once(':') {
        Some((process, thread)) => (process, Some(thread)),
        None => (text, None),
    };
    let process = process.parse().ok();
    let thread = thread.map(str::parse).transpose().ok();
    match (process, thread) {
        (Some(process), Some(thread)) => Ok(ReaderFilter { process, thread }),
        _ => Err(
            "pass a process id, or a process id and a thread id separated by a colon".to_owned(),
        ),
    }
}

#[derive(Serialize)]
struct ReaderReport {
    process: Option<u32>,
    thread: u64,
    age_ms: u128,
    transaction: u64,
    lag: u64,
    parked: bool,
    cancelled: bool,
    kept_pages: u64,
    kept_bytes: u64,
}

impl ReaderReport {
    fn new(info: &ReaderInfo) -> Self {
        Self {
            process: info.process,
            thread: info.thread,
            age_ms: info.age.as_millis(),
            transaction: info.transaction.0,
            lag: info.lag,
            parked: info.is_parked,
            cancelled: info.is_cancelled,
            kept_pages: info.kept_pages,
            kept_bytes: info.kept_bytes,
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &ReadersArguments, style: ReportStyle) -> Result<(), Failure> {
    engine::refuse_unlocked("the lock file is where processes find each other's readers")?;
    let database = engine::open_for_reading(&arguments.database.path)?;
    if !database.info().has_lock_file {
        return Err(Failure::Busy(format!(
            "the readers of {} cannot be listed, because its lock file cannot be created or written; run this command as a user who may do that, or name another lock file (--lock-file)",
            shown_path(database.path())
        )));
    }
    let mut readers = database.readers()?;
    if let Some(selected) = arguments.cancel {
        readers.retain(|reader| selected.is_meant(reader));
        for reader in &mut readers {
            reader.is_cancelled = database.cancel_reader(reader)?;
        }
        readers.retain(|reader| reader.is_cancelled);
        if readers.is_empty() {
            let text = "there is no such reader, or it has ended; `teak readers` lists the readers";
            return Err(Failure::NotFound(text.to_owned()));
        }
    }
    match style {
        ReportStyle::Text => {
            output::print(|output| write_list(&readers, output).map_err(Failure::Output))
        }
        ReportStyle::Json => {
            let reports: Vec<_> = readers.iter().map(ReaderReport::new).collect();
            output::print_json(&reports)
        }
    }
}

fn write_list(readers: &[ReaderInfo], output: &mut impl Write) -> io::Result<()> {
    if readers.is_empty() {
        return writeln!(output, "no readers");
    }
    writeln!(
        output,
        "{:>10}  {:>10}  {:>12}  {:>12}  {:>12}  {:>12}",
        "process", "thread", "age", "transaction", "behind", "keeps"
    )?;
    for reader in readers {
        let process = reader
            .process
            .map_or_else(|| "?".to_owned(), |id| id.to_string());
        let note = match (reader.is_cancelled, reader.is_parked) {
            (true, _) => "  cancelled",
            (false, true) => "  parked",
            (false, false) => "",
        };
        writeln!(
            output,
            "{process:>10}  {:>10}  {:>12}  {:>12}  {:>12}  {:>12}{note}",
            reader.thread,
            HumanDuration(reader.age).to_string(),
            reader.transaction.0,
            HumanCount(reader.lag).to_string(),
            BinaryBytes(reader.kept_bytes).to_string(),
        )?;
    }
    Ok(())
}
