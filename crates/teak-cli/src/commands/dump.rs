//! `teak dump`: tables as text that `teak load`, `mdb_load` and `mdbx_load` read.

use crate::common_arguments::{DEFAULT_TABLE, DatabaseArgument, SnapshotArgument};
use crate::engine;
use crate::failure::Failure;
use crate::output;
use crate::outputs::{self, TextFile};
use crate::text::{DumpWriter, Encoding, printable, write_tsv_field};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use teak::Transaction as _;
use teak::{Database, ReadTxn, TableInfo};

const EXAMPLES: &str = "\
Examples:
  teak dump coins.teak -o coins.dump
  teak dump coins.teak --all --format print | less
  teak dump coins.teak --table prices --format tsv > prices.tsv
  teak dump coins.teak --all --snapshot monday -o monday.dump
  teak dump coins.teak | mdb_load -n coins.mdb

The whole dump is one snapshot, whatever is written meanwhile. The table `main` alone is dumped \
without a name, like the unnamed database of the other engines. mdb_load and mdbx_load read the dump \
without changes, and say that they ignore the lines with the names of types. db_load does not know the line mapsize=; remove it first.";

/// Write tables as text
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DumpArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    /// The table
    #[arg(short, long, value_name = "NAME", default_value = DEFAULT_TABLE)]
    table: OsString,

    /// All tables, one after the other
    #[arg(short, long, conflicts_with = "table")]
    all: bool,

    #[command(flatten)]
    snapshot: SnapshotArgument,

    /// The format of records
    #[arg(short, long, value_enum, default_value_t)]
    format: DumpFormat,

    /// Write to this file, with permissions no wider than the database's [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
}

/// The format of records.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum DumpFormat {
    /// The dump format, in hexadecimal (format=bytevalue)
    #[default]
    Dump,
    /// The dump format, with printable characters unescaped (format=print)
    Print,
    /// Key, tab and value on each line, with the escapes \t \n \r \\ and \xHH
    Tsv,
}

/// The tables to write, and their names.
struct Selection {
    infos: Vec<TableInfo>,
    naming: Naming,
}

/// Whether tables are written with their names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// All tables.
    Named,
    /// All except the default table.
    DefaultUnnamed,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &DumpArguments) -> Result<(), Failure> {
    if arguments.all && arguments.format == DumpFormat::Tsv {
        let message =
            "tab-separated text cannot hold table names; use --format dump, or dump each table";
        return Err(Failure::Usage(message.to_owned()));
    }
    let file = arguments.output.as_deref();
    if file.is_none() {
        outputs::refuse_closed_output()?;
    }
    let file = file
        .map(|path| begin_file(path, &arguments.database.path))
        .transpose()?;
    let database = engine::open_for_reading(&arguments.database.path)?;
    let txn = engine::begin_read(&database, arguments.snapshot.name())?;
    let selection = select(&txn, arguments)?;
    let (infos, format) = (&selection, arguments.format);
    match (file, &arguments.output) {
        (Some(mut file), Some(path)) => {
            let failed = |source| Failure::file("writing", path)(source);
            write(&database, &txn, infos, format, &mut file, failed)?;
            file.finish()
        }
        _ => output::print(|output| write(&database, &txn, infos, format, output, Failure::Output)),
    }
}

/// Begins the output before the database is opened. A refused output therefore opens neither.
/// Later, inspecting this process's own lock file would release its locks.
fn begin_file(path: &Path, database: &Path) -> Result<TextFile, Failure> {
    outputs::refuse_inputs(path, &[database])?;
    TextFile::create(path, Some(database))
}

fn select(txn: &ReadTxn, arguments: &DumpArguments) -> Result<Selection, Failure> {
    let selection = if arguments.all {
        Selection {
            infos: txn.tables()?,
            naming: Naming::Named,
        }
    } else {
        let info = engine::table_info(txn, arguments.table.as_encoded_bytes())?;
        Selection {
            infos: vec![info],
            naming: Naming::DefaultUnnamed,
        }
    };
    let unfit = selection
        .infos
        .iter()
        .find(|info| info.name.contains(&b'\n'));
    if let (Some(info), DumpFormat::Dump | DumpFormat::Print) = (unfit, arguments.format) {
        let message = format!(
            "the dump format cannot hold the name \"{}\"; rename the table, or use --format tsv",
            printable(&info.name)
        );
        return Err(Failure::Usage(message));
    }
    let expiring = selection.infos.iter().find(|info| info.options.expiring);
    if let (Some(info), DumpFormat::Dump | DumpFormat::Print) = (expiring, arguments.format) {
        let message = format!(
            "the dump format cannot hold when the records of \"{}\" expire; copy the database with \
             `teak backup`, or use --format tsv for the records alone",
            printable(&info.name)
        );
        return Err(Failure::Usage(message));
    }
    // Read errors are reported before anything is written.
    for info in &selection.infos {
        engine::open_table(txn, &info.name)?;
    }
    Ok(selection)
}

fn write(
    database: &Database,
    txn: &ReadTxn,
    selection: &Selection,
    format: DumpFormat,
    output: &mut impl Write,
    failed: impl Fn(std::io::Error) -> Failure,
) -> Result<(), Failure> {
    let encoding = match format {
        DumpFormat::Dump => Encoding::Hex,
        DumpFormat::Print => Encoding::Print,
        DumpFormat::Tsv => return write_tsv(txn, &selection.infos, output, failed),
    };
    let map_size_bytes = map_size_bytes(engine::file_stat(database)?.file_bytes);
    let mut writer = DumpWriter::new(output, encoding);
    for info in &selection.infos {
        let unnamed =
            selection.naming == Naming::DefaultUnnamed && info.name == DEFAULT_TABLE.as_bytes();
        let name = (!unnamed).then_some(info.name.as_slice());
        writer
            .begin_table(name, (engine::kind_of(info), &info.types), map_size_bytes)
            .map_err(&failed)?;
        let table = engine::open_table(txn, &info.name)?;
        table.for_each(txn, |key, value| writer.record(key, value).map_err(&failed))?;
        writer.end_table().map_err(&failed)?;
    }
    Ok(())
}

/// The map size in the header, because other engines cannot grow while loading. It costs only
/// addresses, so it is generous, and equal for all databases that are not large.
fn map_size_bytes(file_bytes: u64) -> u64 {
    const LEAST: u64 = 1 << 30;
    let ample = file_bytes.saturating_mul(4).max(LEAST);
    ample.checked_next_power_of_two().unwrap_or(ample)
}

fn write_tsv(
    txn: &ReadTxn,
    infos: &[TableInfo],
    output: &mut impl Write,
    failed: impl Fn(std::io::Error) -> Failure,
) -> Result<(), Failure> {
    for info in infos {
        let table = engine::open_table(txn, &info.name)?;
        table.for_each(txn, |key, value| {
            write_tsv_field(key, output)
                .and_then(|()| output.write_all(b"\t"))
                .and_then(|()| write_tsv_field(value, output))
                .and_then(|()| output.write_all(b"\n"))
                .map_err(&failed)
        })?;
    }
    Ok(())
}
