//! `teak completions`: completion of the command line for a shell.

use crate::failure::Failure;
use crate::output;
use clap::{Args, Command};
use clap_complete::Shell;
use std::io::Write;

const EXAMPLES: &str = "\
Examples:
  teak completions bash > /etc/bash_completion.d/teak
  teak completions fish > ~/.config/fish/completions/teak.fish
  teak completions zsh > ~/.zfunc/_teak";

/// Print the completion script for a shell
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &CompletionsArguments, mut command: Command) -> Result<(), Failure> {
    // Generated in memory, because the generator panics when its output fails.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "teak", &mut script);
    output::print(|output| output.write_all(&script).map_err(Failure::Output))
}
