//! The command line: the subcommands, and the options that all of them have.

use crate::commands::{
    backup, check, compact, completions, del, diff, dump, export, get, import, key, load, man,
    page, prepared, put, readers, restore, salvage, scan, snapshot, stat, table, tables,
};
use crate::encryption;
use crate::failure::Failure;
use crate::key_arguments::KeyArguments;
use crate::locking::{self, Locking};
use crate::output::ReportStyle;
use clap::{CommandFactory, Parser, Subcommand};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the key, table, snapshot or prepared transaction does not exist
  2  the command line is invalid
  3  the database is damaged
  4  the database is missing, in use, or not a database
  5  the input is malformed
  6  reading or writing failed, or another error";

/// Loads, dumps, reads, changes and inspects Teak databases.
#[derive(Parser)]
#[command(name = "teak", version, propagate_version = true, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Print the report as JSON, and errors as JSON on standard error
    #[arg(long, global = true)]
    json: bool,

    /// The lock file, for databases that are opened with `Options::lock_file` [default: next to the
    /// database]
    #[arg(long, global = true, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    lock_file: Option<PathBuf>,

    /// Read without a lock file, even while others write. Writers do not see this reader, so its
    /// reads may fail, but never return wrong data
    #[arg(long, global = true)]
    no_lock: bool,

    #[command(flatten)]
    key: KeyArguments,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Load(load::LoadArguments),
    Import(import::ImportArguments),
    Dump(dump::DumpArguments),
    Export(export::ExportArguments),
    Get(get::GetArguments),
    Put(put::PutArguments),
    Del(del::DelArguments),
    Scan(scan::ScanArguments),
    Tables(tables::TablesArguments),
    Table(table::TableArguments),
    Stat(stat::StatArguments),
    Readers(readers::ReadersArguments),
    Snapshot(snapshot::SnapshotArguments),
    Prepared(prepared::PreparedArguments),
    Diff(diff::DiffArguments),
    Backup(backup::BackupArguments),
    Restore(restore::RestoreArguments),
    Check(check::CheckArguments),
    Compact(compact::CompactArguments),
    Salvage(salvage::SalvageArguments),
    Page(page::PageArguments),
    Key(key::KeyCommandArguments),
    Completions(completions::CompletionsArguments),
    Man(man::ManArguments),
}

impl Command {
    /// Whether the subcommand changes something, so that its output is only a report.
    fn is_change(&self) -> bool {
        match self {
            Self::Load(_)
            | Self::Import(_)
            | Self::Export(_)
            | Self::Put(_)
            | Self::Del(_)
            | Self::Table(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::Key(_)
            | Self::Compact(_)
            | Self::Salvage(_) => true,
            Self::Snapshot(arguments) => arguments.is_change(),
            Self::Prepared(arguments) => arguments.is_change(),
            _ => false,
        }
    }
}

impl Arguments {
    /// The style of reports.
    pub(crate) fn style(&self) -> ReportStyle {
        if self.json {
            ReportStyle::Json
        } else {
            ReportStyle::Text
        }
    }

    /// Runs the subcommand.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let style = self.style();
        locking::set_locking(Locking {
            lock_file: self.lock_file,
            is_unlocked: self.no_lock,
        });
        encryption::set_key(self.key)?;
        let is_change = self.command.is_change();
        let done = match self.command {
            Command::Load(arguments) => load::run(&arguments, style),
            Command::Import(arguments) => import::run(&arguments, style),
            Command::Dump(arguments) => dump::run(&arguments),
            Command::Export(arguments) => export::run(&arguments, style),
            Command::Get(arguments) => get::run(&arguments, style),
            Command::Put(arguments) => put::run(&arguments, style),
            Command::Del(arguments) => del::run(&arguments, style),
            Command::Scan(arguments) => scan::run(&arguments, style),
            Command::Tables(arguments) => tables::run(&arguments, style),
            Command::Table(arguments) => table::run(&arguments, style),
            Command::Stat(arguments) => stat::run(&arguments, style),
            Command::Readers(arguments) => readers::run(&arguments, style),
            Command::Snapshot(arguments) => snapshot::run(&arguments, style),
            Command::Prepared(arguments) => prepared::run(&arguments, style),
            Command::Diff(arguments) => diff::run(&arguments, style),
            Command::Backup(arguments) => backup::run(&arguments, style),
            Command::Restore(arguments) => restore::run(&arguments, style),
            Command::Check(arguments) => check::run(&arguments, style),
            Command::Compact(arguments) => compact::run(&arguments, style),
            Command::Salvage(arguments) => salvage::run(&arguments, style),
            Command::Page(arguments) => page::run(&arguments, style),
            Command::Key(arguments) => key::run(&arguments, style),
            Command::Completions(arguments) => completions::run(&arguments, Self::command()),
            Command::Man(arguments) => man::run(&arguments, Self::command()),
        };
        match is_change {
            true => done.map_err(Failure::after_work),
            false => done,
        }
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
