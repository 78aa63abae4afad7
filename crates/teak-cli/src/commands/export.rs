//! `teak export`: writes a table to a directory of LevelDB, and compares them at the end.

use super::staging::StagingDirectory;
use crate::common_arguments::{DatabaseArgument, SnapshotArgument, TableArgument};
use crate::engine::{self, AnyTable};
use crate::failure::Failure;
use crate::output::{self, ReportStyle, counted, table_name};
use crate::system;
use crate::text::{Order, shown_path};
use clap::{Args, ValueEnum};
use indicatif::{BinaryBytes, HumanCount};
use serde::Serialize;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;
use teak::ReadTxn;
use teak_foreign::leveldb::{LevelDb, LevelDbOptions, LevelDbWriter};

const EXAMPLES: &str = "\
Examples:
  teak export leveldb:chainstate chainstate.teak
  teak export leveldb:/srv/index index.teak --table terms --compression none

LevelDB has one table, whose keys are in byte order and have one value each. DIRECTORY must not \
exist, or be empty. It gets its files when everything is written, compared with the database, and on disk.";

/// Write a table to a directory that LevelDB opens
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    /// leveldb:DIRECTORY
    #[arg(value_hint = clap::ValueHint::DirPath)]
    target: OsString,

    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    table: TableArgument,

    #[command(flatten)]
    snapshot: SnapshotArgument,

    /// The compression of blocks
    #[arg(long, value_enum, default_value_t)]
    compression: BlockCompression,

    /// Bits per key of the Bloom filters; 0 for none. LevelDB uses them if the application has
    /// LevelDB's own filter policy
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=100))]
    bloom_bits: u8,

    /// The size at which a table file ends
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 20, value_parser = clap::value_parser!(u64).range(1 << 16..=1 << 30))]
    file_size: u64,
}

/// The compression of blocks.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum BlockCompression {
    /// snappy, for blocks that it makes smaller
    #[default]
    Snappy,
    /// No compression
    None,
}

#[derive(Serialize)]
struct ExportReport {
    records: u64,
    data_bytes: u64,
    file_bytes: u64,
    write_seconds: f64,
    seconds: f64,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &ExportArguments, style: ReportStyle) -> Result<(), Failure> {
    let Some(target) = system::path_after(&arguments.target, "leveldb:") else {
        return Err(Failure::Usage(format!(
            "the target {:?} has no prefix; write leveldb:DIRECTORY",
            arguments.target
        )));
    };
    refuse_used(target)?;
    let database = engine::open_for_reading(&arguments.database.path)?;
    let txn = engine::begin_read(&database, arguments.snapshot.name())?;
    let table = open_table(&txn, arguments.table.name())?;
    let staging = StagingDirectory::for_directory(target)?;
    create(&staging.path(), &arguments.database.path)?;
    let started = Instant::now();
    let mut report = write(&table, &txn, &staging.path(), arguments)?;
    compare(&table, &txn, &staging)?;
    report.file_bytes = len_bytes(&staging.path())?;
    staging.finish_directory(target)?;
    report.seconds = started.elapsed().as_secs_f64();
    match style {
        ReportStyle::Json => output::print_json(&report),
        ReportStyle::Text => output::print(|output| {
            print(&report, arguments, target, output).map_err(Failure::Output)
        }),
    }
}

/// Opens a table that LevelDB can have.
fn open_table(txn: &ReadTxn, name: &[u8]) -> Result<AnyTable, Failure> {
    let info = engine::table_info(txn, name)?;
    let kind = engine::kind_of(&info);
    let refused = |reason: &str| {
        let name = table_name(name);
        Err(Failure::Usage(format!(
            "table \"{name}\" {reason}, which LevelDB cannot have; write it with teak dump"
        )))
    };
    if kind.values.is_some() {
        return refused("has several values for a key");
    }
    if kind.order != Order::Bytes {
        return refused("has its keys in another order than that of bytes");
    }
    engine::open_table(txn, name)
}

fn write(
    table: &AnyTable,
    txn: &ReadTxn,
    directory: &Path,
    arguments: &ExportArguments,
) -> Result<ExportReport, Failure> {
    let started = Instant::now();
    let options = LevelDbOptions {
        is_compressed: arguments.compression == BlockCompression::Snappy,
        bloom_bits_per_key: arguments.bloom_bits.into(),
        table_bytes: arguments.file_size,
    };
    let mut writer = LevelDbWriter::create(directory, options).map_err(failure)?;
    let mut data_bytes = 0;
    table.for_each(txn, |key, value| {
        data_bytes += (key.len() + value.len()) as u64;
        writer.add(key, value).map_err(failure)
    })?;
    Ok(ExportReport {
        records: writer.finish().map_err(failure)?,
        data_bytes,
        file_bytes: 0,
        write_seconds: started.elapsed().as_secs_f64(),
        seconds: 0.0,
    })
}

/// Reads the directory, and compares its records with those of the table.
fn compare(table: &AnyTable, txn: &ReadTxn, staging: &StagingDirectory) -> Result<(), Failure> {
    let unlike = || {
        let text = "the directory differs from what was written; nothing was exported";
        Failure::Unverified(text.to_owned())
    };
    let written = LevelDb::open(&staging.path()).map_err(failure)?;
    let mut records = written
        .records(staging.directory(), false)
        .map_err(failure)?;
    table.for_each(txn, |key, value| {
        let found = records.next_record().map_err(failure)?;
        let is_same = found.is_some_and(|(k, v)| *k == *key && *v == *value);
        is_same.then_some(()).ok_or_else(unlike)
    })?;
    match records.next_record().map_err(failure)? {
        None => Ok(()),
        Some(_) => Err(unlike()),
    }
}

fn print(
    report: &ExportReport,
    arguments: &ExportArguments,
    target: &Path,
    output: &mut impl io::Write,
) -> io::Result<()> {
    writeln!(
        output,
        "exported {} of table \"{}\", {} of keys and values, to {}: {}",
        counted(report.records, "record"),
        table_name(arguments.table.name()),
        BinaryBytes(report.data_bytes),
        shown_path(target),
        BinaryBytes(report.file_bytes),
    )?;
    writeln!(
        output,
        "  written in {:.2} s: {} records/s; all compared after {:.2} s",
        report.write_seconds,
        HumanCount((report.records as f64 / report.write_seconds.max(1e-9)) as u64),
        report.seconds,
    )
}

/// Refuses a target that is not an empty directory.
fn refuse_used(target: &Path) -> Result<(), Failure> {
    match fs::read_dir(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::file("reading", target)(error)),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Failure::Usage(format!(
                "{} is not empty; name a directory that does not exist",
                shown_path(target)
            ))),
        },
    }
}

/// Creates the directory, until it has its name. For others, it has at most the permissions of the
/// database.
fn create(directory: &Path, database: &Path) -> Result<(), Failure> {
    let readers = fs::metadata(database).map_or(0, |database| system::mode_bits(&database)) & 0o044;
    let mode = 0o700 | readers | readers >> 2;
    fs::create_dir(directory)
        .and_then(|()| system::set_directory_mode(directory, mode))
        .map_err(Failure::file("creating", directory))
}

fn len_bytes(directory: &Path) -> Result<u64, Failure> {
    let sizes = fs::read_dir(directory).and_then(|entries| {
        let len = |entry: io::Result<fs::DirEntry>| Ok(entry?.metadata()?.len());
        entries.map(len).sum::<io::Result<u64>>()
    });
    sizes.map_err(Failure::file("reading", directory))
}

/// The failure for an error of the written directory.
fn failure(error: teak_foreign::Error) -> Failure {
    match error {
        teak_foreign::Error::File { path, source } => Failure::file("writing", &path)(source),
        error => Failure::Unverified(format!("{error}; nothing was exported")),
    }
}
