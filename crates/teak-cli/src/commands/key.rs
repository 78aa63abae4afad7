//! `teak key`: creates files with keys for encrypted databases.

use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::outputs;
use crate::text::shown_path;
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use teak::EncryptionKey;

const EXAMPLES: &str = "\
Examples:
  teak key create coins.key
  teak load coins.dump coins.teak --encrypt --key-file coins.key
  teak scan coins.teak --key-file coins.key

The key has 32 random bytes, and is written as 64 hexadecimal digits. Only the user who creates the \
file may read it. If the key is lost, the data are lost: keep a copy of it apart from the database \
and its backups.";

/// Create a key for encrypted databases
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct KeyCommandArguments {
    #[command(subcommand)]
    action: KeyAction,
}

#[derive(Subcommand)]
enum KeyAction {
    /// Write a new random key to a new file
    Create(CreateKeyArguments),
}

#[derive(Args)]
struct CreateKeyArguments {
    /// The new file, which must not exist
    #[arg(value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
}

#[derive(Serialize)]
struct KeyOutput {
    file: String,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &KeyCommandArguments, style: ReportStyle) -> Result<(), Failure> {
    let KeyAction::Create(CreateKeyArguments { file }) = &arguments.action;
    create(file)?;
    let file = shown_path(file);
    match style {
        ReportStyle::Text => output::print(|output| {
            let advice = "keep a copy of it apart from the database and its backups";
            writeln!(output, "created a key in {file}; {advice}").map_err(Failure::Output)
        }),
        ReportStyle::Json => output::print_json(&KeyOutput { file }),
    }
}

fn create(file: &Path) -> Result<(), Failure> {
    outputs::refuse_lock_names(file)?;
    match EncryptionKey::create_file(file) {
        Err(teak::Error::AlreadyExists(_)) => Err(Failure::Usage(format!(
            "{} exists already, and may be the only copy of a key, so it is not replaced; name \
             another file",
            shown_path(file)
        ))),
        created => Ok(created.map(drop)?),
    }
}
