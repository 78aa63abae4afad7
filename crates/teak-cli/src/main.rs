//! The program `teak`: loads, dumps, reads, changes and inspects Teak databases.
//!
//! Each subcommand is a file of `commands/`. All of them use the database through `engine`, write
//! through `output`, and end with a `Failure` that has an exit code. `text` has the formats.

#![forbid(unsafe_code)]

mod arguments;
mod checksum;
mod commands;
mod common_arguments;
mod encryption;
mod engine;
mod failure;
mod failure_report;
mod interruption;
mod key_arguments;
mod key_source;
mod locking;
mod output;
mod outputs;
mod system;
mod text;

use arguments::Arguments;
use clap::Parser;
use clap::error::ContextValue;
use failure::Failure;
use output::ReportStyle;
use std::process::ExitCode;

fn main() -> ExitCode {
    system::survive_file_limit();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => return report_usage(error),
        Err(error) => error.exit(),
    };
    let style = arguments.style();
    match arguments.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(style),
    }
}

/// Reports an error on the command line, with escapes for hidden characters in the arguments that
/// it repeats.
fn report_usage(mut error: clap::Error) -> ExitCode {
    let mut shown = Vec::new();
    for (kind, value) in error.context() {
        if let ContextValue::String(text) = value {
            shown.push((kind, ContextValue::String(text::printable(text.as_bytes()))));
        }
    }
    for (kind, value) in shown {
        error.insert(kind, value);
    }
    let text = error.to_string();
    if json_is_asked_for() {
        let text = text.trim_start_matches("error: ").trim_end();
        return Failure::Usage(text.to_owned()).report(ReportStyle::Json);
    }
    let shown = text::shown_message(&text);
    if shown == text {
        // In colours if the terminal has any.
        error.exit();
    }
    eprint!("{shown}");
    ExitCode::from(failure::FailureKind::Usage as u8)
}

/// Whether to report in JSON an error that kept the arguments from being parsed.
fn json_is_asked_for() -> bool {
    std::env::args_os().any(|argument| argument == "--json")
}
