//! `teak backup`: a copy of a database while others use it, or an increment to one.

use crate::common_arguments::{DatabaseArgument, WaitArgument};
use crate::encryption::{self, KeyUse};
use crate::engine;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::key_arguments::CopyKeyArguments;
use crate::output::{self, ReportStyle};
use crate::outputs;
use crate::text::{printable, shown_path};
use clap::Args;
use indicatif::{BinaryBytes, HumanCount, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use teak::Transaction as _;
use teak::{BackupProgress, Database, DenseProgress, ReadTxn};

/// Records between two checks of the rate of a dense copy.
const RECORDS_PER_CHECK: u64 = 1024;
/// Bytes sent at once.
const CHUNK_BYTES: u64 = 256 << 10;
const TO_OUTPUT: &str = "writing the backup to standard output";

const EXAMPLES: &str = "\
Examples:
  teak backup coins.teak /mnt/backup/coins.teak
  teak backup coins.teak - | zstd > coins.teak.zst
  teak backup coins.teak small.teak --compact
  teak backup coins.teak monday.teak --compact --of monday
  teak backup coins.teak secret.teak --compact --encrypt --to-key-file secret.key

A full copy, then the changes of each day:
  teak backup coins.teak full.teak --snapshot sunday
  teak backup coins.teak monday.delta --since sunday --snapshot monday
  teak backup coins.teak tuesday.delta --since monday --snapshot tuesday
  teak restore full.teak monday.delta tuesday.delta restored.teak

A copy is a database that can be opened. An increment has the pages that have changed since the named \
snapshot. Everything is compared with its checksums while it is copied, so a damaged database cannot be \
backed up. `teak restore` puts copies and increments together, and checks all pages. A snapshot from which \
no further increment starts can be dropped: `teak snapshot drop`.";

/// Copy a database in use, or its changes since a snapshot
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct BackupArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    wait: WaitArgument,

    /// A new file, or `-` for standard output
    target: PathBuf,

    /// Write an increment: the pages that a copy of this named snapshot, or of a later state, lacks
    #[arg(long, value_name = "SNAPSHOT", conflicts_with = "compact")]
    since: Option<OsString>,

    /// First give the newest state this name, so that the next increment can start from it
    #[arg(long, value_name = "NAME", conflicts_with = "compact")]
    snapshot: Option<OsString>,

    /// Write the records densely instead of copying pages; to `-` through a temporary file
    #[arg(long)]
    compact: bool,

    /// Copy this named snapshot instead of the newest state
    #[arg(long, value_name = "SNAPSHOT", requires = "compact")]
    of: Option<OsString>,

    /// Write at most this many million bytes a second
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    max_rate: Option<u64>,

    #[command(flatten)]
    copy_key: CopyKeyArguments,
}

#[derive(Default, Serialize)]
struct BackupOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &BackupArguments, style: ReportStyle) -> Result<(), Failure> {
    match arguments.is_to_pipe() {
        true => outputs::refuse_closed_output()?,
        false => outputs::refuse_inputs(&arguments.target, &[&arguments.database.path])?,
    }
    let bar = ProgressBar::new(0).with_style(bar_style(arguments.compact));
    let report = match arguments.compact {
        true => copy_dense(arguments, &bar),
        false => copy_pages(arguments, &bar),
    };
    bar.finish_and_clear();
    let report = report?;
    if arguments.is_to_pipe() {
        return Ok(());
    }
    match style {
        ReportStyle::Text => {
            output::print(|output| write_report(&report, output).map_err(Failure::Output))
        }
        ReportStyle::Json => output::print_json(&report),
    }
}

fn write_report(report: &BackupOutput, output: &mut impl Write) -> io::Result<()> {
    let bytes = BinaryBytes(report.bytes.unwrap_or_default());
    match (report.since, report.transaction) {
        (Some(since), Some(transaction)) => {
            writeln!(output, "from transaction {since} to {transaction}, {bytes}")
        }
        (None, Some(transaction)) => writeln!(output, "transaction {transaction}, {bytes}"),
        _ => {
            let records = report.records.unwrap_or_default();
            writeln!(output, "{} records", HumanCount(records))
        }
    }
}

impl BackupArguments {
    fn is_to_pipe(&self) -> bool {
        self.target == Path::new("-")
    }
}

/// Writes the records densely; to a pipe through a temporary file, because they are not written in
/// order.
fn copy_dense(arguments: &BackupArguments, bar: &ProgressBar) -> Result<BackupOutput, Failure> {
    let key_use = match arguments.copy_key.encrypt {
        // The key may be meant for the copy.
        true => KeyUse::IfEncrypted,
        false => KeyUse::Always,
    };
    let database = engine::open_for_copying(&arguments.database.path, key_use)?;
    let options = encryption::for_copy(&database, &arguments.copy_key)?;
    let of = arguments.of.as_deref().map(OsStr::as_encoded_bytes);
    let state = engine::begin_read(&database, of)?;
    let limiter = RateLimiter::new(arguments.max_rate);
    let interruption = Interruption::begin();
    let mut progress = |copied: DenseProgress| {
        if copied.records.is_multiple_of(RECORDS_PER_CHECK) {
            bar.set_position(copied.records);
            limiter.wait(copied.bytes);
        }
        interruption.go_on()
    };
    let copied = match arguments.is_to_pipe() {
        false => state.copy_dense_with(&options, &arguments.target, &mut progress)?,
        true => {
            let scratch = tempfile::Builder::new().prefix("teak-backup-").tempdir();
            let scratch = scratch.map_err(failed("creating a temporary directory"))?;
            let path = scratch.path().join("copy");
            let copied = state.copy_dense_with(&options, &path, &mut progress)?;
            drop(interruption);
            let mut copy = File::open(&path).map_err(failed("opening the copy"))?;
            let sent = send(&mut copy, &RateLimiter::new(arguments.max_rate));
            sent.map_err(failed(TO_OUTPUT))?;
            copied
        }
    };
    Ok(BackupOutput {
        records: Some(copied.records),
        ..BackupOutput::default()
    })
}

/// Sends a whole file to standard output.
fn send(file: &mut File, limiter: &RateLimiter) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let mut sent = 0;
    loop {
        let copied = io::copy(&mut file.take(CHUNK_BYTES), &mut output)?;
        if copied == 0 {
            return output.flush();
        }
        sent += copied;
        limiter.wait(sent);
    }
}

/// A limit for the rate of writing.
struct RateLimiter {
    /// Million bytes a second.
    rate: Option<u64>,
    begun: Instant,
}

impl RateLimiter {
    fn new(rate: Option<u64>) -> Self {
        let begun = Instant::now();
        Self { rate, begun }
    }

    /// Waits until this many bytes may have been written.
    fn wait(&self, bytes: u64) {
        if let Some(rate) = self.rate {
            let due = Duration::from_secs_f64(bytes as f64 / (rate as f64 * 1e6));
            thread::sleep(due.saturating_sub(self.begun.elapsed()));
        }
    }
}

/// Copies all pages, or those that have changed.
fn copy_pages(arguments: &BackupArguments, bar: &ProgressBar) -> Result<BackupOutput, Failure> {
    if arguments.copy_key.new_key.source()?.is_some() {
        let text = "a copy of pages has the key of its database; add --compact for another one";
        return Err(Failure::Usage(text.to_owned()));
    }
    let name = arguments.snapshot.as_deref().map(OsStr::as_encoded_bytes);
    let database = match name {
        Some(_) => engine::open_for_writing(&arguments.database.path)?,
        None => engine::open_for_reading(&arguments.database.path)?,
    };
    let since = arguments.since.as_deref().map(OsStr::as_encoded_bytes);
    let since = since
        .map(|since| database.open_snapshot(since))
        .transpose()?;
    if let Some(name) = name {
        let made = engine::change(&database, arguments.wait, |txn| {
            Ok(txn.create_snapshot(name)?)
        });
        made.map_err(|failure| explain_taken_name(&database, name, failure))?;
    }
    let written = write_pages(&database, since.as_ref(), arguments, bar);
    let done = written.map_err(|failure| match name {
        Some(name) => drop_useless(&database, arguments.wait, name, failure),
        None => failure,
    })?;
    let since = since.map(|since| since.id().0);
    database.close()?;
    let bytes = match (since, arguments.is_to_pipe()) {
        // An increment has more than pages.
        (Some(_), false) => {
            let file = arguments.target.metadata();
            file.map_err(Failure::file(
                "reading the attributes of",
                &arguments.target,
            ))?
            .len()
        }
        _ => done.bytes,
    };
    Ok(BackupOutput {
        since,
        transaction: Some(done.transaction.0),
        bytes: Some(bytes),
        records: None,
    })
}

fn write_pages(
    database: &Database,
    since: Option<&ReadTxn>,
    arguments: &BackupArguments,
    bar: &ProgressBar,
) -> Result<BackupProgress, Failure> {
    let limiter = RateLimiter::new(arguments.max_rate);
    let interruption = Interruption::begin_unless(arguments.is_to_pipe());
    let mut progress = |progress: BackupProgress| {
        bar.set_length(progress.total_bytes);
        bar.set_position(progress.bytes);
        limiter.wait(progress.bytes);
        interruption.go_on()
    };
    if !arguments.is_to_pipe() {
        return Ok(database.backup(&arguments.target, since, &mut progress)?);
    }
    let state = database.begin_read()?;
    let mut output = BufWriter::new(io::stdout().lock());
    let done = state.write_backup(&mut output, since, &mut progress);
    let done = done.map_err(|error| match error {
        teak::Error::Io {
            operation: "writing the backup",
            cause,
            ..
        } => teak::Error::Io {
            operation: TO_OUTPUT,
            path: None,
            cause,
        },
        other => other,
    })?;
    output.flush().map_err(failed(TO_OUTPUT))?;
    Ok(done)
}

/// Explains where an existing snapshot may come from: a killed backup leaves the snapshot that it
/// created.
fn explain_taken_name(database: &Database, name: &[u8], failure: Failure) -> Failure {
    if !matches!(failure, Failure::Engine(teak::Error::SnapshotExists(_))) {
        return failure;
    }
    let snapshots = database.snapshots().unwrap_or_default();
    let Some(taken) = snapshots.iter().find(|info| info.name == name) else {
        return failure;
    };
    let mut readers = database.readers().unwrap_or_default().into_iter();
    let is_read = readers.any(|reader| reader.transaction == taken.transaction);
    let advice = match is_read {
        true => "somebody is reading that state, perhaps a backup that is still running".to_owned(),
        false => format!(
            "no reader uses that state now; if a killed backup left it, and no backup of yours depends on it, drop it: \
             teak snapshot drop {} {}",
            shown_path(database.path()),
            printable(name)
        ),
    };
    let time = output::time(taken.time).unwrap_or_else(|| "?".to_owned());
    Failure::During {
        context: format!(
            "it is of transaction {}, {time}; {advice}",
            taken.transaction
        ),
        cause: Box::new(failure),
    }
}

/// Drops the snapshot of a failed backup, so that the command can be repeated.
fn drop_useless(database: &Database, wait: WaitArgument, name: &[u8], failure: Failure) -> Failure {
    let dropped = engine::change(database, wait, |txn| Ok(txn.drop_snapshot(name)?));
    match dropped {
        Ok(_) => failure,
        Err(_) => Failure::During {
            context: format!("the snapshot \"{}\" was created and stays", printable(name)),
            cause: Box::new(failure),
        },
    }
}

/// A closed pipe is a failure of a backup, unlike of a list.
fn failed(operation: &'static str) -> impl FnOnce(io::Error) -> teak::Error {
    move |cause| teak::Error::Io {
        operation,
        path: None,
        cause: cause.into(),
    }
}

fn bar_style(counts_records: bool) -> ProgressStyle {
    let template = match counts_records {
        true => "{spinner} {human_pos} records",
        false => "{wide_bar} {binary_bytes}/{binary_total_bytes}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
