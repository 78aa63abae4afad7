//! `teak readers`: who reads, since when, and what that keeps.

use crate::arguments::DatabaseArgument;
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, Style};
use clap::Args;
use indicatif::{BinaryBytes, HumanCount, HumanDuration};
use serde::Serialize;
use std::io::{self, Write};
use teak::ReaderInfo;

const EXAMPLES: &str = "\
Examples:
  teak readers coins.teak
  teak readers coins.teak --json | jq '.[] | select(.kept_bytes > 1000000)'

Kept are pages that would be free if nobody read that state: readers of one state keep the same ones.";

/// List the read transactions of all processes
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    database: DatabaseArgument,
}

#[derive(Serialize)]
struct ReaderReport {
    process: Option<u32>,
    thread: u64,
    age_ms: u128,
    transaction: u64,
    lag: u64,
    parked: bool,
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
            kept_pages: info.kept_pages,
            kept_bytes: info.kept_bytes,
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, style: Style) -> Result<(), Failure> {
    let readers = engine::open_for_reading(&arguments.database.path)?.readers()?;
    match style {
        Style::Text => {
            output::print(|output| write_list(&readers, output).map_err(Failure::Output))
        }
        Style::Json => {
            let reports: Vec<_> = readers.iter().map(ReaderReport::new).collect();
            output::print_json(&reports)
        }
    }
}

fn write_list(readers: &[ReaderInfo], output: &mut impl Write) -> io::Result<()> {
    if readers.is_empty() {
        return writeln!(output, "nobody reads");
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
        writeln!(
            output,
            "{process:>10}  {:>10}  {:>12}  {:>12}  {:>12}  {:>12}",
            reader.thread,
            HumanDuration(reader.age).to_string(),
            reader.transaction.0,
            HumanCount(reader.lag).to_string(),
            BinaryBytes(reader.kept_bytes).to_string(),
        )?;
    }
    Ok(())
}
