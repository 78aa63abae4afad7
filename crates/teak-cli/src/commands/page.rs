//! `teak page`: shows the contents of one page of the file.

use crate::common_arguments::DatabaseArgument;
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use clap::Args;
use serde::Serialize;
use std::io::Write;
use teak::PageNumber;

const EXAMPLES: &str = "\
Examples:
  teak page coins.teak 3
  teak page coins.teak 0x1f

`teak check` and error messages name pages by these numbers.";

/// Describe one page of the file
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PageArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    /// The page's number, decimal or with 0x
    #[arg(value_parser = parse_number)]
    number: u32,
}

#[derive(Serialize)]
struct PageOutput<'a> {
    page: u32,
    description: &'a str,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &PageArguments, style: ReportStyle) -> Result<(), Failure> {
    let database = engine::open_for_reading(&arguments.database.path)?;
    let description = database.describe_page(PageNumber(arguments.number))?;
    match style {
        ReportStyle::Text => output::print(|output| {
            writeln!(output, "{}", description.trim_end()).map_err(Failure::Output)
        }),
        ReportStyle::Json => output::print_json(&PageOutput {
            page: arguments.number,
            description: &description,
        }),
    }
}

fn parse_number(given: &str) -> Result<u32, String> {
    let parsed = match given.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => given.parse(),
    };
    parsed.map_err(|error| error.to_string())
}
