//! `teak check`: reads every page and compares it with its checksum and its neighbours.

use crate::common_arguments::DatabaseArgument;
use crate::engine;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::output::{self, ReportStyle, counted};
use crate::text::{printable, shown_path};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::{self, Write};
use teak::{CheckReport, Damage};

const EXAMPLES: &str = "\
Examples:
  teak check coins.teak
  teak check coins.teak --json | jq '.damages[].page'

Named snapshots are checked too. Exit code 3 means that damage was found. Each damage is listed with its page, \
its table and its key range. `teak page` shows a page; `teak salvage` saves the readable part.";

/// Check every page for damage
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    database: DatabaseArgument,
}

#[derive(Serialize)]
struct CheckOutput {
    clean: bool,
    pages: u64,
    tables: u64,
    records: u64,
    snapshots: Option<u64>,
    unknown_tables: Vec<String>,
    unordered_tables: Vec<String>,
    damages: Vec<DamageReport>,
}

#[derive(Serialize)]
struct DamageReport {
    page: Option<u32>,
    table: Option<String>,
    from_key_hex: Option<String>,
    to_key_hex: Option<String>,
    detail: String,
}

impl DamageReport {
    fn new(damage: &Damage) -> Self {
        let range = damage.key_range.as_ref();
        Self {
            page: damage.page.map(|page| page.0),
            table: damage.table.as_deref().map(printable),
            from_key_hex: range.map(|(from, _)| output::hexadecimal(from)),
            to_key_hex: range
                .and_then(|(_, to)| to.as_deref())
                .map(output::hexadecimal),
            detail: damage.detail.clone(),
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &CheckArguments, style: ReportStyle) -> Result<(), Failure> {
    let database = engine::open_for_reading(&arguments.database.path)?;
    let bar = ProgressBar::new(0)
        .with_style(bar_style())
        .with_message("checking");
    let interruption = Interruption::begin();
    let report = database.check(&mut |progress| {
        bar.set_length(engine::wide(progress.pages_total));
        bar.set_position(engine::wide(progress.pages_done));
        interruption.go_on()
    });
    drop(interruption);
    bar.finish_and_clear();
    let report = report?;
    // If the snapshots cannot be listed, the report says why.
    let snapshots = (database.snapshots().ok()).map(|snapshots| engine::wide(snapshots.len()));
    match style {
        ReportStyle::Text => output::print(|output| {
            write_report(&report, snapshots, output).map_err(Failure::Output)
        }),
        ReportStyle::Json => output::print_json(&CheckOutput {
            clean: report.is_clean(),
            pages: engine::wide(report.pages),
            tables: engine::wide(report.tables),
            records: engine::wide(report.records),
            snapshots,
            unknown_tables: output::table_names(&report.unknown_tables),
            unordered_tables: output::table_names(&report.unordered_tables),
            damages: report.damages.iter().map(DamageReport::new).collect(),
        }),
    }?;
    match report.is_clean() {
        true => Ok(()),
        false => Err(Failure::Damaged(format!(
            "{} has {}; restore a backup, or save the readable part into a new database with `teak salvage`",
            shown_path(&arguments.database.path),
            counted(report.damages.len() as u64 + report.more_damages, "damage"),
        ))),
    }
}

fn bar_style() -> ProgressStyle {
    ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} pages, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn write_report(
    report: &CheckReport,
    snapshots: Option<u64>,
    output: &mut impl Write,
) -> io::Result<()> {
    for damage in &report.damages {
        writeln!(output, "{}", describe(damage))?;
    }
    for table in &report.unknown_tables {
        let name = printable(table);
        writeln!(
            output,
            "table \"{name}\" was not checked: it needs a newer version of teak"
        )?;
    }
    for table in &report.unordered_tables {
        let name = printable(table);
        writeln!(
            output,
            "table \"{name}\" is in a custom order: everything but the order of its keys was checked"
        )?;
    }
    let verdict = if report.is_clean() {
        "no damage".to_owned()
    } else {
        counted(report.damages.len() as u64 + report.more_damages, "damage")
    };
    let snapshots = match snapshots {
        None | Some(0) => String::new(),
        Some(count) => format!(", and in {}", counted(count, "named snapshot")),
    };
    writeln!(
        output,
        "{verdict} in {}, {} and {}{snapshots}",
        counted(engine::wide(report.pages), "page"),
        counted(engine::wide(report.tables), "table"),
        counted(engine::wide(report.records), "record"),
    )
}

fn describe(damage: &Damage) -> String {
    let mut locations = Vec::new();
    if let Some(page) = damage.page {
        locations.push(format!("page {page}"));
    }
    if let Some(table) = &damage.table {
        locations.push(format!("table \"{}\"", printable(table)));
    }
    match &damage.key_range {
        Some((from, Some(to))) => {
            locations.push(format!(
                "keys from \"{}\" to before \"{}\"",
                printable(from),
                printable(to)
            ));
        }
        Some((from, None)) => locations.push(format!("keys from \"{}\"", printable(from))),
        None => {}
    }
    if locations.is_empty() {
        return damage.detail.clone();
    }
    format!("{}: {}", locations.join(", "), damage.detail)
}
