//! `teak prepared`: lists the prepared transaction, and commits it or rolls it back.

use crate::common_arguments::DatabaseArgument;
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::text::printable;
use clap::Args;
use indicatif::BinaryBytes;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};
use teak::{Database, PreparedInfo, TransactionId};

const EXAMPLES: &str = "\
Examples:
  teak prepared coins.teak
  teak prepared coins.teak --commit 'transfer 7'
  teak prepared coins.teak --rollback 'transfer 7'

A prepared transaction is durable, and nobody sees it before it is committed. Until then, nothing \
else can be written. Decide as the program that coordinates the transaction has decided: other \
databases may have committed it.";

/// List the prepared transaction, or commit it or roll it back
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PreparedArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    /// Commit this prepared transaction
    #[arg(long, value_name = "NAME", conflicts_with = "rollback")]
    commit: Option<OsString>,

    /// Undo this prepared transaction
    #[arg(long, value_name = "NAME")]
    rollback: Option<OsString>,
}

impl PreparedArguments {
    /// Whether the command changes the database.
    pub(crate) fn is_change(&self) -> bool {
        self.commit.is_some() || self.rollback.is_some()
    }
}

/// A prepared transaction in JSON.
#[derive(Serialize)]
struct PreparedReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    transaction: u64,
    time: Option<String>,
    changed_pages: u64,
    changed_bytes: u64,
}

#[derive(Serialize)]
struct DecisionReport {
    transaction: u64,
}

impl PreparedReport {
    fn new(info: &PreparedInfo) -> Self {
        let (name, name_hex) = output::json_bytes(&info.name);
        Self {
            name: name.map(str::to_owned),
            name_hex,
            transaction: info.transaction.0,
            time: output::time(info.time),
            changed_pages: info.changed_pages,
            changed_bytes: info.changed_bytes,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &PreparedArguments, style: ReportStyle) -> Result<(), Failure> {
    match (&arguments.commit, &arguments.rollback) {
        (Some(name), _) => decide(arguments, style, |database| {
            database.commit_prepared(name.as_encoded_bytes())
        }),
        (None, Some(name)) => decide(arguments, style, |database| {
            database.rollback_prepared(name.as_encoded_bytes())
        }),
        (None, None) => list(arguments, style),
    }
}

fn list(arguments: &PreparedArguments, style: ReportStyle) -> Result<(), Failure> {
    let prepared = engine::open_for_reading(&arguments.database.path)?.prepared()?;
    match style {
        ReportStyle::Text => {
            output::print(|output| write_list(&prepared, output).map_err(Failure::Output))
        }
        ReportStyle::Json => {
            let reports: Vec<_> = prepared.iter().map(PreparedReport::new).collect();
            output::print_json(&reports)
        }
    }
}

fn write_list(prepared: &[PreparedInfo], output: &mut impl Write) -> io::Result<()> {
    if prepared.is_empty() {
        return writeln!(output, "no prepared transaction");
    }
    let names: Vec<String> = (prepared.iter())
        .map(|info| printable(&info.name))
        .collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or(0).max("prepared".len());
    writeln!(
        output,
        "{:width$}  {:>12}  {:20}  {:>12}",
        "prepared", "transaction", "time", "changed"
    )?;
    for (info, name) in prepared.iter().zip(&names) {
        writeln!(
            output,
            "{name:width$}  {:>12}  {:20}  {:>12}",
            info.transaction.0,
            crate::output::time(info.time).unwrap_or_else(|| "?".to_owned()),
            BinaryBytes(info.changed_bytes).to_string(),
        )?;
    }
    Ok(())
}

fn decide(
    arguments: &PreparedArguments,
    style: ReportStyle,
    decide: impl FnOnce(&Database) -> teak::Result<TransactionId>,
) -> Result<(), Failure> {
    let database = engine::open_for_writing(&arguments.database.path)?;
    let transaction = decide(&database)?;
    database.close()?;
    match style {
        ReportStyle::Text => Ok(()),
        ReportStyle::Json => output::print_json(&DecisionReport {
            transaction: transaction.0,
        }),
    }
}
