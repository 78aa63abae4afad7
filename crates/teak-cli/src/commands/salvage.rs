//! `teak salvage`: copies the readable records of a damaged database to a new one, and lists the
//! losses.

use crate::engine;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::output::{self, ReportStyle};
use crate::outputs;
use crate::text::shown_path;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use teak::{Loss, SalvageReport, SalvagedTable};

const EXAMPLES: &str = "\
Examples:
  teak salvage damaged.teak saved.teak
  teak salvage damaged.teak saved.teak --json | jq '.tables[] | select(.records_lost > 0)'

DAMAGED is never changed, and need not be a database that can be opened. Exit code 3 means that something was \
lost. Each loss is listed with its page, its table and its keys. Restore the missing records from a backup.";

/// Copy the readable part of a damaged database into a new one
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SalvageArguments {
    /// The damaged database
    #[arg(value_name = "DAMAGED", value_hint = clap::ValueHint::FilePath)]
    damaged: PathBuf,

    /// The new database, which must not exist
    #[arg(value_name = "SAVED", value_hint = clap::ValueHint::FilePath)]
    saved: PathBuf,
}

#[derive(Serialize)]
struct SalvageOutput {
    complete: bool,
    transaction: u64,
    passed_over: Vec<String>,
    tables: Vec<SalvagedTableReport>,
    catalog_losses: Vec<LossReport>,
    unknown_tables: Vec<String>,
    unordered_tables: Vec<String>,
    lost_snapshots: Vec<String>,
    lost_prepared: Vec<String>,
    snapshot_list_losses: Vec<LossReport>,
    more_losses: u64,
}

#[derive(Serialize)]
struct SalvagedTableReport {
    name: String,
    records: u64,
    records_lost: u64,
    losses: Vec<LossReport>,
}

#[derive(Serialize)]
struct LossReport {
    page: u32,
    from_key_hex: Option<String>,
    to_key_hex: Option<String>,
    records_max: Option<u64>,
    detail: String,
}

impl LossReport {
    fn new(loss: &Loss) -> Self {
        let keys = loss.keys.as_ref();
        let hexadecimal = |key: Option<&Vec<u8>>| key.map(|key| output::hexadecimal(key));
        Self {
            page: loss.page.0,
            from_key_hex: hexadecimal(keys.and_then(|keys| keys.low.as_ref())),
            to_key_hex: hexadecimal(keys.and_then(|keys| keys.high.as_ref())),
            records_max: loss.records_max,
            detail: loss.detail.clone(),
        }
    }

    fn all(losses: &[Loss]) -> Vec<Self> {
        losses.iter().map(Self::new).collect()
    }
}

impl SalvageOutput {
    fn new(report: &SalvageReport) -> Self {
        let table = |table: &SalvagedTable| SalvagedTableReport {
            name: output::table_name(&table.name),
            records: table.records,
            records_lost: table.records_lost(),
            losses: LossReport::all(&table.losses),
        };
        Self {
            complete: report.is_complete(),
            transaction: report.transaction.0,
            passed_over: report.passed_over.clone(),
            tables: report.tables.iter().map(table).collect(),
            catalog_losses: LossReport::all(&report.catalog_losses),
            unknown_tables: output::table_names(&report.unknown_tables),
            unordered_tables: output::table_names(&report.unordered_tables),
            lost_snapshots: output::table_names(&report.lost_snapshots),
            lost_prepared: output::table_names(&report.lost_prepared),
            snapshot_list_losses: LossReport::all(&report.snapshot_list_losses),
            more_losses: report.more_losses,
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &SalvageArguments, style: ReportStyle) -> Result<(), Failure> {
    outputs::refuse_inputs(&arguments.saved, &[&arguments.damaged])?;
    let bar = ProgressBar::new(0)
        .with_style(bar_style())
        .with_message("saving");
    let interruption = Interruption::begin();
    let report = engine::salvage(&arguments.damaged, &arguments.saved, |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        interruption.go_on()
    });
    drop(interruption);
    bar.finish_and_clear();
    let report = report?;
    match style {
        ReportStyle::Text => {
            output::print(|output| write!(output, "{report}").map_err(Failure::Output))
        }
        ReportStyle::Json => output::print_json(&SalvageOutput::new(&report)),
    }?;
    if report.is_complete() {
        return Ok(());
    }
    Err(Failure::Damaged(format!(
        "not everything could be saved to {}; restore the missing records from a backup",
        shown_path(&arguments.saved)
    )))
}

fn bar_style() -> ProgressStyle {
    ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} pages")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
