//! The summary at the end of an import.

use super::copy::CopiedTable;
use crate::failure::Failure;
use crate::output::{self, ReportStyle, counted, table_name};
use crate::text::shown_path;
use indicatif::{BinaryBytes, HumanCount};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// The state of the source that was imported.
pub(super) struct ImportedState {
    /// The name of the format.
    pub(super) format: &'static str,
    /// The noun for the number.
    pub(super) unit: &'static str,
    pub(super) number: u64,
}

#[derive(Serialize)]
struct ImportOutput {
    format: &'static str,
    source_transaction: u64,
    tables: Vec<ImportedTableReport>,
    records: u64,
    data_bytes: u64,
    copy_seconds: f64,
    seconds: f64,
}

#[derive(Serialize)]
struct ImportedTableReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    records: u64,
    data_bytes: u64,
}

/// Prints the copied tables, and the seconds spent copying and comparing.
pub(super) fn print(
    state: &ImportedState,
    copied: &[CopiedTable],
    [copy_seconds, seconds]: [f64; 2],
    database: &Path,
    style: ReportStyle,
) -> Result<(), Failure> {
    let report = ImportOutput {
        format: state.format,
        source_transaction: state.number,
        tables: copied.iter().map(ImportedTableReport::new).collect(),
        records: copied.iter().map(|table| table.records).sum(),
        data_bytes: copied.iter().map(|table| table.data_bytes).sum(),
        copy_seconds,
        seconds,
    };
    match style {
        ReportStyle::Json => output::print_json(&report),
        ReportStyle::Text => output::print(|output| {
            write_text(&report, (state.unit, copied), database, output).map_err(Failure::Output)
        }),
    }
}

impl ImportedTableReport {
    fn new(copied: &CopiedTable) -> Self {
        let (name, name_hex) = output::json_bytes(&copied.name);
        Self {
            name: name.map(str::to_owned),
            name_hex,
            records: copied.records,
            data_bytes: copied.data_bytes,
        }
    }
}

fn write_text(
    report: &ImportOutput,
    (unit, copied): (&str, &[CopiedTable]),
    database: &Path,
    output: &mut impl Write,
) -> io::Result<()> {
    for table in copied {
        writeln!(
            output,
            "table \"{}\": {}, {} of keys and values",
            table_name(&table.name),
            counted(table.records, "record"),
            BinaryBytes(table.data_bytes),
        )?;
    }
    writeln!(
        output,
        "imported {} in {} of {}, {unit} {}, into {}",
        counted(report.records, "record"),
        counted(copied.len() as u64, "table"),
        report.format,
        report.source_transaction,
        shown_path(database),
    )?;
    writeln!(
        output,
        "  copied in {:.2} s: {} records/s; all checked and compared after {:.2} s",
        report.copy_seconds,
        HumanCount((report.records as f64 / report.copy_seconds.max(1e-9)) as u64),
        report.seconds,
    )
}
