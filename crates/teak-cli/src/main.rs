//! The program `teak`: loads, dumps, reads, changes and inspects Teak databases.
//!
//! Each subcommand is a file of `commands/`. All of them reach the engine through `engine`, write
//! through `output`, and end with a `Failure` that knows its exit code. `text` holds the formats.

#![forbid(unsafe_code)]

mod arguments;
mod checksum;
mod commands;
mod engine;
mod failure;
mod output;
mod outputs;
mod text;

use arguments::Arguments;
use clap::Parser;
use failure::Failure;
use output::Style;
use std::{process::ExitCode, sync::Arc};

fn main() -> ExitCode {
    // A file that would be longer than the process may make one is an error then. If this fails the signal ends the program, as before.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && json_is_asked_for() => {
            return Failure::Usage(error.to_string().trim_end().to_owned()).report(Style::Json);
        }
        Err(error) => error.exit(),
    };
    let style = arguments.style();
    match arguments.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(style),
    }
}

/// Whether errors are to be told in JSON, where the arguments could not be understood.
fn json_is_asked_for() -> bool {
    std::env::args_os().any(|argument| argument == "--json")
}
