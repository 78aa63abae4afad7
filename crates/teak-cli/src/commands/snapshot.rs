//! `teak snapshot`: listing, creating and dropping named snapshots, and rolling back to them.

use crate::common_arguments::{DatabaseArgument, WaitArgument};
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::text::printable;
use clap::{Args, Subcommand};
use indicatif::BinaryBytes;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use teak::{Database, SnapshotInfo, WriteTxn};

const EXAMPLES: &str = "\
Examples:
  teak snapshot create coins.teak monday
  teak snapshot list coins.teak
  teak diff coins.teak monday
  teak snapshot rollback coins.teak monday --keep before-rollback
  teak snapshot drop coins.teak before-rollback

A named snapshot is a state that stays, with all its tables, until it is dropped. It costs the pages \
that have changed since: the bytes that `list` shows as kept would be free without that snapshot alone.";

/// List, create and drop named snapshots, and roll back to them
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SnapshotArguments {
    #[command(subcommand)]
    action: SnapshotAction,
}

impl SnapshotArguments {
    /// Whether the subcommand changes the database.
    pub(crate) fn is_change(&self) -> bool {
        !matches!(self.action, SnapshotAction::List(_))
    }
}

#[derive(Subcommand)]
enum SnapshotAction {
    /// List the named snapshots
    List(ListArguments),
    /// Give the newest state a name
    Create(SnapshotNameArguments),
    /// Drop a named snapshot, which frees the space that it alone keeps
    Drop(SnapshotNameArguments),
    /// Restore all tables to a named snapshot, which stays
    Rollback(RollbackArguments),
}

#[derive(Args)]
struct ListArguments {
    #[command(flatten)]
    database: DatabaseArgument,
}

#[derive(Args)]
struct SnapshotNameArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    wait: WaitArgument,

    /// The snapshot
    name: OsString,
}

#[derive(Args)]
struct RollbackArguments {
    #[command(flatten)]
    snapshot: SnapshotNameArguments,

    /// First give the present state this name, so that nothing is lost
    #[arg(long, value_name = "NAME")]
    keep: Option<OsString>,
}

/// A named snapshot in JSON.
#[derive(Serialize)]
struct SnapshotReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    transaction: u64,
    time: Option<String>,
    kept_pages: u64,
    kept_bytes: u64,
}

#[derive(Serialize)]
struct SnapshotChangeReport {
    transaction: u64,
}

#[derive(Serialize)]
struct RollbackReport {
    transaction: u64,
    back_to: SnapshotReport,
    kept_transaction: Option<u64>,
}

impl SnapshotReport {
    fn new(info: &SnapshotInfo) -> Self {
        let (name, name_hex) = output::json_bytes(&info.name);
        Self {
            name: name.map(str::to_owned),
            name_hex,
            transaction: info.transaction.0,
            time: output::time(info.time),
            kept_pages: info.kept_pages,
            kept_bytes: info.kept_bytes,
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &SnapshotArguments, style: ReportStyle) -> Result<(), Failure> {
    match &arguments.action {
        SnapshotAction::List(arguments) => list(arguments, style),
        SnapshotAction::Create(arguments) => change(arguments, style, WriteTxn::create_snapshot),
        SnapshotAction::Drop(arguments) => change(arguments, style, WriteTxn::drop_snapshot),
        SnapshotAction::Rollback(arguments) => roll_back(arguments, style),
    }
}

fn list(arguments: &ListArguments, style: ReportStyle) -> Result<(), Failure> {
    let snapshots = engine::open_for_reading(&arguments.database.path)?.snapshots()?;
    match style {
        ReportStyle::Text => {
            output::print(|output| write_list(&snapshots, output).map_err(Failure::Output))
        }
        ReportStyle::Json => {
            let reports: Vec<_> = snapshots.iter().map(SnapshotReport::new).collect();
            output::print_json(&reports)
        }
    }
}

fn write_list(snapshots: &[SnapshotInfo], output: &mut impl Write) -> io::Result<()> {
    if snapshots.is_empty() {
        return writeln!(output, "no named snapshots");
    }
    let names: Vec<String> = (snapshots.iter())
        .map(|info| printable(&info.name))
        .collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or(0).max("snapshot".len());
    writeln!(
        output,
        "{:width$}  {:>12}  {:20}  {:>12}",
        "snapshot", "transaction", "time", "keeps"
    )?;
    for (info, name) in snapshots.iter().zip(&names) {
        writeln!(
            output,
            "{name:width$}  {:>12}  {:20}  {:>12}",
            info.transaction.0,
            time(info),
            BinaryBytes(info.kept_bytes).to_string(),
        )?;
    }
    Ok(())
}

fn time(info: &SnapshotInfo) -> String {
    output::time(info.time).unwrap_or_else(|| "?".to_owned())
}

fn change<'a>(
    arguments: &'a SnapshotNameArguments,
    style: ReportStyle,
    change: impl FnOnce(&mut WriteTxn, &'a [u8]) -> teak::Result<()>,
) -> Result<(), Failure> {
    let name = arguments.name.as_encoded_bytes();
    let database = engine::open_for_writing(&arguments.database.path)?;
    let ((), transaction) =
        engine::change(&database, arguments.wait, |txn| Ok(change(txn, name)?))?;
    database.close()?;
    match style {
        ReportStyle::Text => Ok(()),
        ReportStyle::Json => output::print_json(&SnapshotChangeReport {
            transaction: transaction.0,
        }),
    }
}

fn roll_back(arguments: &RollbackArguments, style: ReportStyle) -> Result<(), Failure> {
    let name = arguments.snapshot.name.as_encoded_bytes();
    let keep = arguments.keep.as_deref().map(OsStr::as_encoded_bytes);
    let database = engine::open_for_writing(&arguments.snapshot.database.path)?;
    find(&database, name)?;
    let (info, transaction) = engine::change(&database, arguments.snapshot.wait, |txn| {
        keep.map_or(Ok(()), |keep| txn.create_snapshot(keep))?;
        // This transaction keeps others from changing the list of snapshots.
        let info = find(&database, name)?;
        txn.roll_back_to_snapshot(name)?;
        Ok(info)
    })?;
    let kept = keep.map(|keep| find(&database, keep)).transpose()?;
    database.close()?;
    let kept_transaction = kept.as_ref().map(|kept| kept.transaction.0);
    match style {
        ReportStyle::Json => output::print_json(&RollbackReport {
            transaction: transaction.0,
            back_to: SnapshotReport::new(&info),
            kept_transaction,
        }),
        ReportStyle::Text => output::print(|output| {
            let (name, past) = (printable(name), info.transaction);
            let written = writeln!(
                output,
                "transaction {transaction} rolled back to \"{name}\", the state of transaction {past} of {}",
                time(&info)
            );
            written
                .and_then(|()| match &kept {
                    Some(kept) => writeln!(
                        output,
                        "the state before the rollback is kept as \"{}\"",
                        printable(&kept.name)
                    ),
                    None => Ok(()),
                })
                .map_err(Failure::Output)
        }),
    }
}

fn find(database: &Database, name: &[u8]) -> Result<SnapshotInfo, Failure> {
    let found = (database.snapshots()?.into_iter()).find(|info| info.name == name);
    found.ok_or_else(|| teak::Error::SnapshotNotFound(engine::lossy(name)).into())
}
