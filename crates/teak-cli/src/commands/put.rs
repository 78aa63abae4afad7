//! `teak put`: writes a record durably.

use crate::common_arguments::{
    BytesFormat, DatabaseArgument, KeyFormatArgument, TableArgument, WaitArgument,
};
use crate::engine;
use crate::failure::Failure;
use crate::key_arguments::EncodingArguments;
use crate::output::{self, ReportStyle};
use crate::outputs;
use crate::text::Header;
use clap::Args;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use teak::Database;

const EXAMPLES: &str = "\
Examples:
  teak put coins.teak bitcoin '{\"symbol\":\"BTC\"}'
  teak put coins.teak --hex 00ff --value-format hex cafe
  teak put photos.teak cover.jpg --value-file cover.jpg

The database and the table are created if they do not exist. A present value of the key is \
replaced; in a multi-value table the key gets one more value. When the command ends, the record is on disk.";

/// Write a record
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PutArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    wait: WaitArgument,

    /// The key
    #[arg(allow_hyphen_values = true)]
    key: OsString,

    /// The value
    #[arg(allow_hyphen_values = true, required_unless_present = "value_file")]
    value: Option<OsString>,

    /// Read the value from this file; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "value", value_hint = clap::ValueHint::FilePath)]
    value_file: Option<PathBuf>,

    /// The format of the value
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        conflicts_with = "value_file"
    )]
    value_format: BytesFormat,

    #[command(flatten)]
    table: TableArgument,

    #[command(flatten)]
    key_format: KeyFormatArgument,

    #[command(flatten)]
    encoding: EncodingArguments,
}

#[derive(Serialize)]
struct PutOutput {
    transaction: u64,
    replaced: bool,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &PutArguments, style: ReportStyle) -> Result<(), Failure> {
    let key = arguments.key_format.parse(&arguments.key)?;
    let value = value(arguments)?;
    let put = |database: &Database| {
        engine::change(database, arguments.wait, |txn| {
            let table =
                engine::open_or_create_table(txn, arguments.table.name(), &Header::default())?;
            Ok(table.insert(txn, &key, &value)?.is_some())
        })
    };
    let path = &arguments.database.path;
    let source = arguments.value_file.as_deref().and_then(outputs::input);
    let file_mode = outputs::mode_of(source.as_ref(), path);
    let (replaced, transaction) =
        engine::open_or_create(path, None, file_mode, arguments.encoding, put)?;
    match style {
        ReportStyle::Text => Ok(()),
        ReportStyle::Json => output::print_json(&PutOutput {
            transaction: transaction.0,
            replaced,
        }),
    }
}

fn value(arguments: &PutArguments) -> Result<Vec<u8>, Failure> {
    match (&arguments.value_file, &arguments.value) {
        (Some(path), _) => read_file(path).map_err(Failure::file("reading", path)),
        (None, Some(value)) => arguments.value_format.parse("value", value),
        (None, None) => Err(Failure::Usage("pass a value, or --value-file".to_owned())),
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut value = Vec::new();
    if path.as_os_str() == "-" {
        io::stdin().lock().read_to_end(&mut value)?;
    } else {
        File::open(path)?.read_to_end(&mut value)?;
    }
    Ok(value)
}
