//! The command line is consistent, and `docs/program.md` documents all of it.

use super::*;
use clap::CommandFactory;

const DOCUMENTATION: &str = include_str!("../tests/repository/docs/program.md");

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn every_option_of_every_subcommand_is_documented() {
    for command in Arguments::command().get_subcommands() {
        let heading = format!("\n## `teak {}`\n", command.get_name());
        let (_, section) = DOCUMENTATION.split_once(&heading).expect(&heading);
        let section = section.split("\n## ").next().unwrap_or_default();
        for option in command.get_arguments().filter_map(clap::Arg::get_long) {
            assert!(
                section.contains(&format!("--{option}")),
                "{heading}: --{option}"
            );
        }
    }
}

#[test]
fn the_exit_codes_of_the_help_are_documented() {
    for line in EXIT_CODES.lines().skip(1) {
        let code = line.trim().split(' ').next().unwrap_or_default();
        assert!(DOCUMENTATION.contains(&format!("\n| {code} |")), "{line}");
    }
}
