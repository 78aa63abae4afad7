//! `teak del`: removes a record durably.

use crate::common_arguments::{
    BytesFormat, DatabaseArgument, KeyFormatArgument, TableArgument, WaitArgument,
};
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::text::printable;
use clap::Args;
use serde::Serialize;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  teak del coins.teak bitcoin
  teak del coins.teak --hex 00ff
  teak del coins.teak bitcoin BTC --table symbols

Exit code 1 means that the key, the table, or that value of the key does not exist; nothing was changed then.";

/// Remove a record
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DelArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    wait: WaitArgument,

    /// The key
    #[arg(allow_hyphen_values = true)]
    key: OsString,

    /// Remove only this value of the key [default: all values]
    #[arg(allow_hyphen_values = true)]
    value: Option<OsString>,

    /// The format of the value
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        requires = "value"
    )]
    value_format: BytesFormat,

    #[command(flatten)]
    table: TableArgument,

    #[command(flatten)]
    key_format: KeyFormatArgument,
}

#[derive(Serialize)]
struct DelOutput {
    transaction: u64,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &DelArguments, style: ReportStyle) -> Result<(), Failure> {
    let key = arguments.key_format.parse(&arguments.key)?;
    let value = arguments.value.as_ref();
    let value = value.map(|value| arguments.value_format.parse("value", value));
    let value = value.transpose()?;
    let name = arguments.table.name();
    let database = engine::open_for_writing(&arguments.database.path)?;
    let ((), transaction) = engine::change(&database, arguments.wait, |txn| {
        let table = engine::open_table_for_writing(txn, name)?;
        if table.remove(txn, &key, value.as_deref())? {
            return Ok(());
        }
        let message = format!(
            "there is no key \"{}\"{} in table \"{}\"",
            printable(&key),
            match &value {
                Some(value) => format!(" with the value \"{}\"", printable(value)),
                None => String::new(),
            },
            printable(name)
        );
        Err(Failure::NotFound(message))
    })?;
    database.close()?;
    match style {
        ReportStyle::Text => Ok(()),
        ReportStyle::Json => output::print_json(&DelOutput {
            transaction: transaction.0,
        }),
    }
}
