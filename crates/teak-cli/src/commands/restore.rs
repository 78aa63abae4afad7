//! `teak restore`: a database from a backup, checked.

use crate::engine;
use crate::failure::Failure;
use crate::output::{self, Style};
use clap::Args;
use indicatif::{BinaryBytes, HumanCount};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  teak restore /mnt/backup/coins.teak coins.teak
  zstd -d < coins.teak.zst | teak restore - coins.teak

Every page is compared with its checksum. If the backup is damaged nothing is left (exit code 3); \
`teak salvage` saves what can be read of it.";

/// Copy a backup to where the database is to be, and check it
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The backup, or `-` for the standard input
    backup: PathBuf,

    /// A file that does not exist yet
    database: PathBuf,
}

#[derive(Serialize)]
struct Report {
    bytes: u64,
    records: u64,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, style: Style) -> Result<(), Failure> {
    let target = arguments.database.as_path();
    let mut source = open(&arguments.backup)?;
    let mut file = File::create_new(target).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => teak::Error::AlreadyExists(target.to_path_buf()),
        _ => failed("creating the database")(error),
    })?;
    let copied = io::copy(&mut source, &mut file).and_then(|bytes| {
        file.sync_all()?;
        Ok(bytes)
    });
    let restored = copied.map_err(|error| failed("copying the backup")(error).into());
    let restored = restored.and_then(|bytes| {
        let records = check(target)?;
        Ok(Report { bytes, records })
    });
    let report = match restored {
        Ok(report) => report,
        Err(failure) => {
            // It was made here, and is of no use.
            let _ = fs::remove_file(target);
            return Err(failure);
        }
    };
    match style {
        Style::Text => output::print(|output| {
            let (bytes, records) = (BinaryBytes(report.bytes), HumanCount(report.records));
            writeln!(output, "{bytes}, {records} records, no damage").map_err(Failure::Output)
        }),
        Style::Json => output::print_json(&report),
    }
}

fn open(backup: &Path) -> Result<Box<dyn Read>, Failure> {
    if backup == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(backup).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => teak::Error::NotFound(backup.to_path_buf()),
        _ => failed("opening the backup")(error),
    })?;
    Ok(Box::new(file))
}

fn failed(operation: &'static str) -> impl FnOnce(io::Error) -> teak::Error {
    move |source| teak::Error::Io { operation, source }
}

/// Looks at every page; says how many records there are.
fn check(target: &Path) -> Result<u64, Failure> {
    let database = engine::open_for_reading(target)?;
    let report = database.check(&mut |_| {})?;
    match report.damages.first() {
        None => Ok(report.records),
        Some(damage) => Err(Failure::Damaged(format!(
            "the backup is damaged: {}; nothing was restored",
            damage.detail
        ))),
    }
}
