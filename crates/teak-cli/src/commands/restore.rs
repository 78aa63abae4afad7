//! `teak restore`: makes a database from a copy and its increments, and checks it.

use crate::encryption::{self, KeyUse};
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::output::{self, ReportStyle};
use crate::outputs;
use crate::text::shown_path;
use clap::Args;
use indicatif::{BinaryBytes, HumanCount, ProgressBar, ProgressStyle};
use serde::Serialize;
use std::cell::Cell;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use teak::{Options, RestoreProgress};

const EXAMPLES: &str = "\
Examples:
  teak restore /mnt/backup/coins.teak coins.teak
  teak restore full.teak monday.delta tuesday.delta coins.teak
  zstd -d < coins.teak.zst | teak restore - coins.teak

Every page is compared with its checksum. If anything is damaged, or an increment does not continue \
the previous one, nothing is left; `teak salvage` saves the readable part of a damaged copy. \
Exit code 3 means that pages are damaged, 2 that an increment is incomplete or does not fit.";

/// Make a database from a copy and its increments, and check it
#[derive(Args)]
#[command(after_long_help = EXAMPLES, override_usage = "teak restore [OPTIONS] <COPY> [INCREMENT]... <DATABASE>")]
pub(crate) struct RestoreArguments {
    /// The copy, then its increments in the order in which they were made; one of them may be `-`,
    /// standard input
    #[arg(required = true, value_name = "COPY", value_hint = clap::ValueHint::FilePath)]
    backups: Vec<PathBuf>,

    /// A new file
    #[arg(value_hint = clap::ValueHint::FilePath)]
    database: PathBuf,
}

#[derive(Serialize)]
struct RestoreOutput {
    bytes: u64,
    records: u64,
    increments: usize,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &RestoreArguments, style: ReportStyle) -> Result<(), Failure> {
    let backups = arguments.backups.as_slice();
    if backups.iter().filter(|backup| is_pipe(backup)).count() > 1 {
        let text =
            "only one of the backups can come from standard input; name files for the others";
        return Err(Failure::Usage(text.to_owned()));
    }
    let target = arguments.database.as_path();
    let files = backups.iter().filter(|backup| !is_pipe(backup));
    outputs::refuse_inputs(target, &files.map(PathBuf::as_path).collect::<Vec<_>>())?;
    let reading = Cell::new(0);
    let (mut sources, mut attributes) = (Vec::new(), Vec::new());
    for (index, backup) in backups.iter().enumerate() {
        let (input, found) = open(backup)?;
        attributes.extend(found);
        sources.push(RestoreSource {
            input,
            index,
            reading: &reading,
        });
    }
    let mut sources = sources.iter_mut().map(|source| source as &mut dyn Read);
    let Some(copy) = sources.next() else {
        return Err(Failure::Usage("there is no backup to restore".to_owned()));
    };
    let options = encryption::for_existing(Options::new(), &backups[0], KeyUse::Always)?;
    let bar = ProgressBar::new(0).with_style(bar_style());
    let total_bytes = total_bytes(backups);
    let interruption = Interruption::begin_unless(backups.iter().any(|backup| is_pipe(backup)));
    let restored = options.restore(
        copy,
        &mut sources.collect::<Vec<_>>(),
        &attributes,
        target,
        &mut |progress| {
            show(progress, total_bytes, &bar);
            interruption.go_on()
        },
    );
    drop(interruption);
    bar.finish_and_clear();
    let restored = restored.map_err(|error| explain(error, backups, reading.get()))?;
    let file = target.metadata();
    let report = RestoreOutput {
        bytes: file
            .map_err(Failure::file("reading the attributes of", target))?
            .len(),
        records: restored.records,
        increments: backups.len() - 1,
    };
    match style {
        ReportStyle::Text => output::print(|output| {
            let (bytes, records) = (BinaryBytes(report.bytes), HumanCount(report.records));
            writeln!(output, "{bytes}, {records} records, no damage").map_err(Failure::Output)
        }),
        ReportStyle::Json => output::print_json(&report),
    }
}

/// The number of bytes to be written, as far as the files say.
fn total_bytes(backups: &[PathBuf]) -> u64 {
    let lens = backups.iter().filter_map(|backup| backup.metadata().ok());
    lens.map(|file| file.len()).sum()
}

fn show(progress: RestoreProgress, total_bytes: u64, bar: &ProgressBar) {
    let (message, done, total) = match progress.check {
        None => ("writing", progress.bytes, total_bytes),
        Some(check) => ("checking", check.pages_done, check.pages_total),
    };
    bar.set_message(message);
    bar.set_length(total);
    bar.set_position(done);
}

fn bar_style() -> ProgressStyle {
    ProgressStyle::with_template("{msg} {wide_bar} {percent} %")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// A copy or an increment that reports its reads.
struct RestoreSource<'a> {
    input: Box<dyn Read>,
    index: usize,
    reading: &'a Cell<usize>,
}

impl Read for RestoreSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reading.set(self.index);
        self.input.read(buffer)
    }
}

/// Explains an error to a user who has only the backups; the one at `index` was read last.
fn explain(error: teak::Error, backups: &[PathBuf], index: usize) -> Failure {
    let path = |index: usize| match is_pipe(&backups[index]) {
        true => PathBuf::from("standard input"),
        false => backups[index].clone(),
    };
    let failure = match error {
        teak::Error::Corrupted { page, detail, .. } => {
            return Failure::Damaged(format!(
                "the backup is damaged: page {page}: {detail}; nothing was restored"
            ));
        }
        // It was opened under a temporary name.
        teak::Error::NotADatabase { reason, .. } => {
            let path = path(0);
            return teak::Error::NotADatabase { path, reason }.into();
        }
        teak::Error::KeyNeeded(_) => teak::Error::KeyNeeded(path(0)).into(),
        teak::Error::NotEncrypted(_) => teak::Error::NotEncrypted(path(0)).into(),
        teak::Error::WrongKey { reason, .. } => {
            let path = Some(path(0));
            teak::Error::WrongKey { path, reason }.into()
        }
        // The output exists already.
        teak::Error::Io {
            operation,
            path: None,
            cause,
        } => teak::Error::Io {
            operation,
            path: Some(path(index)),
            cause,
        }
        .into(),
        other => other.into(),
    };
    match index {
        0 => failure,
        _ => Failure::During {
            context: format!(
                "{} was being applied; nothing was restored",
                shown_path(&path(index))
            ),
            cause: Box::new(failure),
        },
    }
}

fn is_pipe(backup: &Path) -> bool {
    backup == Path::new("-")
}

fn open(backup: &Path) -> Result<(Box<dyn Read>, Option<Metadata>), Failure> {
    if is_pipe(backup) {
        let found = outputs::standard_input();
        return Ok((Box::new(io::stdin().lock()), found));
    }
    let file = File::open(backup).map_err(Failure::opening(backup))?;
    let found = file
        .metadata()
        .map_err(Failure::file("reading the attributes of", backup))?;
    Ok((Box::new(file), Some(found)))
}
