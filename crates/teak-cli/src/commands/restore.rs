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
    let exists = || teak::Error::AlreadyExists(target.to_path_buf());
    if target.symlink_metadata().is_ok() {
        return Err(exists().into());
    }
    let mut source = open(&arguments.backup)?;
    // It gets its name when it is whole.
    let mut partial = target.as_os_str().to_owned();
    partial.push(".restoring");
    let partial = Path::new(&partial);
    let mut file = File::create_new(partial).map_err(failed("creating the database"))?;
    let restored = restore(&mut source, &mut file, partial).and_then(|report| {
        fs::hard_link(partial, target).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(),
            _ => failed("naming the database")(error),
        })?;
        Ok(report)
    });
    let removed = fs::remove_file(partial).map_err(failed("removing the unfinished copy"));
    let report = restored?;
    removed?;
    let directory = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))
        .and_then(|directory| directory.sync_all())
        .map_err(failed("flushing the directory"))?;
    match style {
        Style::Text => output::print(|output| {
            let (bytes, records) = (BinaryBytes(report.bytes), HumanCount(report.records));
            writeln!(output, "{bytes}, {records} records, no damage").map_err(Failure::Output)
        }),
        Style::Json => output::print_json(&report),
    }
}

/// Copies the backup, to the disk, and checks the copy.
fn restore(source: &mut dyn Read, file: &mut File, path: &Path) -> Result<Report, Failure> {
    let bytes = io::copy(source, file).and_then(|bytes| {
        file.sync_all()?;
        Ok(bytes)
    });
    let bytes = bytes.map_err(failed("copying the backup"))?;
    let records = check(path)?;
    Ok(Report { bytes, records })
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
