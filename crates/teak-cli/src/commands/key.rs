//! `teak key`: creates files with keys for encrypted databases, and changes the key of a database.

use crate::common_arguments::DatabaseArgument;
use crate::encryption;
use crate::engine;
use crate::failure::Failure;
use crate::key_arguments::NewKeyArguments;
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
  teak key change coins.teak --key-file coins.key --to-key-file new.key

The key has 32 random bytes, and is written as 64 hexadecimal digits. Only the user who creates the \
file may read it. If the key is lost, the data are lost: keep a copy of it apart from the database \
and its backups. Backups keep the key that the database had when they were made.";

/// Create a key for encrypted databases, or change the key of one
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
    /// Change the key of a database that no other process has open
    Change(ChangeKeyArguments),
}

#[derive(Args)]
struct ChangeKeyArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    new_key: NewKeyArguments,
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

#[derive(Serialize)]
struct ChangeOutput {
    database: String,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &KeyCommandArguments, style: ReportStyle) -> Result<(), Failure> {
    let file = match &arguments.action {
        KeyAction::Create(CreateKeyArguments { file }) => file,
        KeyAction::Change(arguments) => return change(arguments, style),
    };
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

fn change(arguments: &ChangeKeyArguments, style: ReportStyle) -> Result<(), Failure> {
    let path = &arguments.database.path;
    let database = engine::open_for_writing(path)?;
    let key = encryption::next_key(&arguments.new_key)?;
    database.change_encryption_key(&key)?;
    database.close()?;
    let database = shown_path(path);
    match style {
        ReportStyle::Text => output::print(|output| {
            writeln!(output, "only the new key opens {database}").map_err(Failure::Output)
        }),
        ReportStyle::Json => output::print_json(&ChangeOutput { database }),
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
