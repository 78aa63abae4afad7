//! `teak table`: creating, dropping, renaming and clearing tables.

use crate::common_arguments::{DatabaseArgument, WaitArgument};
use crate::engine;
use crate::failure::Failure;
use crate::key_arguments::EncodingArguments;
use crate::output::{self, ReportStyle};
use crate::outputs;
use crate::text::{Header, Order, TableKind, ValueKind};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use std::ffi::OsString;
use teak::{Database, TransactionId, WriteTxn};

const EXAMPLES: &str = "\
Examples:
  teak table create coins.teak prices
  teak table create coins.teak symbols --multi
  teak table rename coins.teak prices old-prices
  teak table clear coins.teak old-prices
  teak table drop coins.teak old-prices

Each is one durable transaction.";

/// Create, drop, rename or clear a table
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TableArguments {
    #[command(subcommand)]
    action: TableAction,
}

#[derive(Subcommand)]
enum TableAction {
    /// Create an empty table, and the database if it does not exist
    Create(CreateArguments),
    /// Remove a table and all its records
    Drop(TableNameArguments),
    /// Give a table another name
    Rename(RenameArguments),
    /// Remove all records of a table and keep the table
    Clear(TableNameArguments),
}

#[derive(Args)]
struct TableNameArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    wait: WaitArgument,

    /// The table
    name: OsString,
}

#[derive(Args)]
struct CreateArguments {
    #[command(flatten)]
    table: TableNameArguments,

    /// The order of keys
    #[arg(long, value_enum, default_value_t)]
    order: OrderArgument,

    /// Create a multi-value table
    #[arg(long)]
    multi: bool,

    /// The order of the values of a key
    #[arg(long, value_enum, default_value_t, requires = "multi")]
    value_order: OrderArgument,

    /// All values have the length of the first one
    #[arg(long, requires = "multi")]
    fixed_values: bool,

    #[command(flatten)]
    encoding: EncodingArguments,
}

#[derive(Args)]
struct RenameArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    wait: WaitArgument,

    /// The current name
    old: OsString,

    /// The new name
    new: OsString,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum OrderArgument {
    /// By their bytes
    #[default]
    Bytes,
    /// By their bytes from the last to the first
    Reverse,
    /// As native integers of 4 or 8 bytes
    Integer,
}

impl From<OrderArgument> for Order {
    fn from(argument: OrderArgument) -> Self {
        match argument {
            OrderArgument::Bytes => Self::Bytes,
            OrderArgument::Reverse => Self::ReverseBytes,
            OrderArgument::Integer => Self::Integer,
        }
    }
}

#[derive(Serialize)]
struct TableChangeOutput {
    transaction: u64,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &TableArguments, style: ReportStyle) -> Result<(), Failure> {
    let transaction = match &arguments.action {
        TableAction::Create(arguments) => create(arguments),
        TableAction::Drop(arguments) => drop_table(arguments),
        TableAction::Rename(arguments) => rename(arguments),
        TableAction::Clear(arguments) => clear(arguments),
    }?;
    match style {
        ReportStyle::Text => Ok(()),
        ReportStyle::Json => output::print_json(&TableChangeOutput {
            transaction: transaction.0,
        }),
    }
}

fn create(arguments: &CreateArguments) -> Result<TransactionId, Failure> {
    let name = arguments.table.name.as_encoded_bytes();
    let kind = TableKind {
        order: arguments.order.into(),
        values: arguments.multi.then(|| ValueKind {
            order: arguments.value_order.into(),
            is_fixed: arguments.fixed_values,
        }),
    };
    let create = |txn: &mut WriteTxn| {
        if engine::has_table(txn, name)? {
            return Err(teak::Error::TableExists(engine::lossy(name)).into());
        }
        engine::open_or_create_table(txn, name, &Header::of_kind(kind)).map(drop)
    };
    let create = |database: &Database| engine::change(database, arguments.table.wait, create);
    let path = &arguments.table.database.path;
    let ((), transaction) =
        engine::open_or_create(path, None, outputs::NEW_MODE, arguments.encoding, create)?;
    Ok(transaction)
}

fn drop_table(arguments: &TableNameArguments) -> Result<TransactionId, Failure> {
    let name = arguments.name.as_encoded_bytes();
    let database = engine::open_for_writing(&arguments.database.path)?;
    let ((), transaction) = engine::change(&database, arguments.wait, |txn| {
        match txn.drop_table(name)? {
            true => Ok(()),
            false => Err(teak::Error::TableNotFound(engine::lossy(name)).into()),
        }
    })?;
    close(database, transaction)
}

fn rename(arguments: &RenameArguments) -> Result<TransactionId, Failure> {
    let (old, new) = (
        arguments.old.as_encoded_bytes(),
        arguments.new.as_encoded_bytes(),
    );
    let database = engine::open_for_writing(&arguments.database.path)?;
    let ((), transaction) = engine::change(&database, arguments.wait, |txn| {
        txn.rename_table(old, new)?;
        Ok(())
    })?;
    close(database, transaction)
}

fn clear(arguments: &TableNameArguments) -> Result<TransactionId, Failure> {
    let database = engine::open_for_writing(&arguments.database.path)?;
    let ((), transaction) = engine::change(&database, arguments.wait, |txn| {
        let table = engine::open_table_for_writing(txn, arguments.name.as_encoded_bytes())?;
        Ok(table.clear(txn)?)
    })?;
    close(database, transaction)
}

fn close(database: Database, transaction: TransactionId) -> Result<TransactionId, Failure> {
    database.close()?;
    Ok(transaction)
}
