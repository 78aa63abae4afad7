//! `teak scan`: prints the records of a range.

use crate::common_arguments::{
    DatabaseArgument, KeyFormatArgument, SnapshotArgument, TableArgument,
};
use crate::engine::{self, Direction, KeyBound};
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::text::{Order, write_tsv_field};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::Bound;
use teak::ReadTxn;

const EXAMPLES: &str = "\
Examples:
  teak scan coins.teak
  teak scan coins.teak --prefix bit --limit 10
  teak scan coins.teak --snapshot monday
  teak scan coins.teak --from a --to c --reverse --format json

Text output has one record per line: key, tab, value, with the escapes \\t \\n \\r \\\\ and \\xHH. It can \
be loaded again with `teak load --format tsv`.";

/// Print the records of a range
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ScanArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    table: TableArgument,

    #[command(flatten)]
    snapshot: SnapshotArgument,

    /// Begin with this key, or the next one after it
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    from: Option<OsString>,

    /// End before this key
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    to: Option<OsString>,

    /// Only keys that begin with these bytes
    #[arg(long, value_name = "KEY", allow_hyphen_values = true, conflicts_with_all = ["from", "to"])]
    prefix: Option<OsString>,

    /// Print at most this many records
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,

    /// From the last record to the first
    #[arg(short, long)]
    reverse: bool,

    #[command(flatten)]
    key_format: KeyFormatArgument,

    /// The format of records
    #[arg(short, long, value_enum, default_value_t)]
    format: ScanFormat,
}

/// The format of a record.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum ScanFormat {
    /// Key, tab, value, with escapes
    #[default]
    Text,
    /// Key, tab, value, in hexadecimal digits
    Hex,
    /// One JSON object on each line: key and value, or `key_hex` and `value_hex` if not UTF-8
    Json,
}

#[derive(Serialize)]
struct ScannedRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_hex: Option<String>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &ScanArguments, style: ReportStyle) -> Result<(), Failure> {
    let (from, to) = bounds(arguments)?;
    let name = arguments.table.name();
    let database = engine::open_for_reading(&arguments.database.path)?;
    let (txn, table) = engine::read_table(&database, arguments.snapshot.name(), name)?;
    if arguments.prefix.is_some() {
        require_byte_order(&txn, name)?;
    }
    let format = match style {
        ReportStyle::Json => ScanFormat::Json,
        ReportStyle::Text => arguments.format,
    };
    let direction = if arguments.reverse {
        Direction::Backward
    } else {
        Direction::Forward
    };
    let limit = arguments.limit.unwrap_or(usize::MAX);
    output::print(|output| {
        table.for_each_in_range(&txn, (&from, &to), direction, limit, |key, value| {
            write_record(key, value, format, output).map_err(Failure::Output)
        })
    })
}

fn bounds(arguments: &ScanArguments) -> Result<(KeyBound, KeyBound), Failure> {
    let parse = |given: &Option<OsString>| match given {
        Some(key) => arguments.key_format.parse(key).map(Some),
        None => Ok(None),
    };
    if let Some(prefix) = parse(&arguments.prefix)? {
        let end = prefix_end(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
        return Ok((Bound::Included(prefix), end));
    }
    let from = parse(&arguments.from)?.map_or(Bound::Unbounded, Bound::Included);
    let to = parse(&arguments.to)?.map_or(Bound::Unbounded, Bound::Excluded);
    Ok((from, to))
}

/// The first key after all that begin with `prefix`; `None` if there is no such key.
fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

fn require_byte_order(txn: &ReadTxn, name: &[u8]) -> Result<(), Failure> {
    if engine::order_of(&engine::table_info(txn, name)?) == Order::Bytes {
        return Ok(());
    }
    let message = "the keys of this table are not in the order of their bytes, so those with one prefix are not \
                   side by side; use --from and --to, or search the whole scan";
    Err(Failure::Usage(message.to_owned()))
}

fn write_record(
    key: &[u8],
    value: &[u8],
    format: ScanFormat,
    output: &mut impl Write,
) -> io::Result<()> {
    match format {
        ScanFormat::Text => {
            write_tsv_field(key, output)?;
            output.write_all(b"\t")?;
            write_tsv_field(value, output)?;
            output.write_all(b"\n")
        }
        ScanFormat::Hex => writeln!(
            output,
            "{}\t{}",
            output::hexadecimal(key),
            output::hexadecimal(value)
        ),
        ScanFormat::Json => {
            let (key, key_hex) = output::json_bytes(key);
            let (value, value_hex) = output::json_bytes(value);
            output::write_json(
                &ScannedRecord {
                    key,
                    key_hex,
                    value,
                    value_hex,
                },
                output,
            )
        }
    }
}
