//! The summary at the end of a load.

use super::arguments::DurabilityArgument;
use super::state::LoadState;
use crate::failure::Failure;
use crate::output::{self, ReportStyle, counted, table_name};
use crate::text::shown_path;
use indicatif::{BinaryBytes, HumanCount};
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct LoadOutput {
    tables: Vec<String>,
    records: u64,
    replaced: Option<u64>,
    data_bytes: u64,
    commits: u64,
    transaction: Option<u64>,
    durability: &'static str,
    seconds: f64,
    records_per_second: u64,
    verified_records: Option<u64>,
}

/// Prints the summary of a load that took `seconds` before it was verified.
pub(super) fn print(
    state: &LoadState<'_>,
    seconds: f64,
    verified: Option<u64>,
    style: ReportStyle,
) -> Result<(), Failure> {
    let report = report(state, seconds, verified);
    match style {
        ReportStyle::Json => output::print_json(&report),
        ReportStyle::Text => {
            output::print(|output| write_text(state, &report, output).map_err(Failure::Output))
        }
    }
}

fn report(state: &LoadState<'_>, seconds: f64, verified: Option<u64>) -> LoadOutput {
    let tally = &state.tally;
    LoadOutput {
        tables: state
            .table_names
            .iter()
            .map(|name| table_name(name))
            .collect(),
        records: tally.records,
        replaced: verified.map(|_| tally.replaced),
        data_bytes: tally.data_bytes,
        commits: tally.commits,
        transaction: tally.last_transaction.map(|transaction| transaction.0),
        durability: match state.arguments.durability {
            DurabilityArgument::Durable => "durable",
            DurabilityArgument::Lazy => "lazy",
        },
        seconds,
        records_per_second: (tally.records as f64 / seconds.max(1e-9)) as u64,
        verified_records: verified,
    }
}

fn write_text(
    state: &LoadState<'_>,
    report: &LoadOutput,
    output: &mut impl Write,
) -> io::Result<()> {
    let tables = match report.tables.as_slice() {
        [table] => format!("table \"{table}\""),
        tables => counted(tables.len() as u64, "table"),
    };
    let database = shown_path(&state.arguments.database.path);
    writeln!(
        output,
        "loaded {} into {tables} of {database}",
        counted(report.records, "record")
    )?;
    writeln!(
        output,
        "  {} of keys and values in {:.2} s: {} records/s, {}",
        BinaryBytes(report.data_bytes),
        report.seconds,
        HumanCount(report.records_per_second),
        counted(report.commits, &format!("{} commit", report.durability)),
    )?;
    if let Some(replaced) = report.replaced.filter(|replaced| *replaced > 0) {
        writeln!(
            output,
            "  {} replaced an existing value",
            counted(replaced, "record")
        )?;
    }
    match report.verified_records {
        Some(records) => writeln!(output, "verified {}", counted(records, "record")),
        None => Ok(()),
    }
}
