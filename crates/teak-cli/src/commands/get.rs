//! `teak get`: prints the value of one key.

use crate::common_arguments::{
    DatabaseArgument, KeyFormatArgument, SnapshotArgument, TableArgument,
};
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::text::printable;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};

const EXAMPLES: &str = "\
Examples:
  teak get coins.teak bitcoin
  teak get coins.teak --hex 00ff --format hex
  teak get coins.teak bitcoin --table symbols
  teak get coins.teak bitcoin --snapshot monday
  teak get photos.teak cover.jpg --format raw > cover.jpg

If a key has several values, all are printed, in their order.

Exit code 1 means that the key, the table or the snapshot does not exist.";

/// Print the value of a key
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct GetArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    /// The key
    #[arg(allow_hyphen_values = true)]
    key: OsString,

    #[command(flatten)]
    table: TableArgument,

    #[command(flatten)]
    snapshot: SnapshotArgument,

    #[command(flatten)]
    key_format: KeyFormatArgument,

    /// The format of the value
    #[arg(short, long, value_enum, default_value_t)]
    format: GetFormat,
}

/// The format of a value.
#[derive(Clone, Copy, Default, ValueEnum)]
enum GetFormat {
    /// The bytes and a line feed
    #[default]
    Text,
    /// The bytes and nothing else
    Raw,
    /// Two hexadecimal digits for each byte
    Hex,
    /// {"value": TEXT}, or {"value_hex": DIGITS} if it is not UTF-8
    Json,
}

#[derive(Serialize)]
struct GetOutput<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_hex: Option<String>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &GetArguments, style: ReportStyle) -> Result<(), Failure> {
    let key = arguments.key_format.parse(&arguments.key)?;
    let name = arguments.table.name();
    let database = engine::open_for_reading(&arguments.database.path)?;
    let (txn, table) = engine::read_table(&database, arguments.snapshot.name(), name)?;
    let values = table.values(&txn, &key)?;
    if values.is_empty() {
        let message = format!(
            "there is no key \"{}\" in table \"{}\"",
            printable(&key),
            printable(name)
        );
        return Err(Failure::NotFound(message));
    }
    let format = match style {
        ReportStyle::Json => GetFormat::Json,
        ReportStyle::Text => arguments.format,
    };
    output::print(|output| {
        let written = values
            .iter()
            .try_for_each(|value| write_value(value, format, output));
        written.map_err(Failure::Output)
    })
}

fn write_value(value: &[u8], format: GetFormat, output: &mut impl Write) -> io::Result<()> {
    match format {
        GetFormat::Raw => output.write_all(value),
        GetFormat::Text => {
            output.write_all(value)?;
            output.write_all(b"\n")
        }
        GetFormat::Hex => writeln!(output, "{}", output::hexadecimal(value)),
        GetFormat::Json => {
            let (value, value_hex) = output::json_bytes(value);
            output::write_json(&GetOutput { value, value_hex }, output)
        }
    }
}
