//! `teak tables`: lists the tables.

use crate::commands::expiry::ExpiryReport;
use crate::common_arguments::{DatabaseArgument, SnapshotArgument};
use crate::engine;
use crate::failure::Failure;
use crate::output::{self, ReportStyle};
use crate::text::{Order, printable};
use clap::Args;
use indicatif::{BinaryBytes, HumanCount};
use serde::Serialize;
use std::io::{self, Write};
use teak::Transaction as _;
use teak::{TableInfo, TableTypes};

const EXAMPLES: &str = "\
Examples:
  teak tables coins.teak
  teak tables coins.teak --snapshot monday
  teak tables coins.teak --json | jq -r '.[].name'";

/// List the tables
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TablesArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    #[command(flatten)]
    snapshot: SnapshotArgument,
}

/// A table in JSON.
#[derive(Serialize)]
pub(crate) struct TableReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    order: &'static str,
    /// The application's comparison of a custom order.
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<String>,
    /// The order of values of a multi-value table.
    #[serde(skip_serializing_if = "Option::is_none")]
    value_order: Option<&'static str>,
    /// The names of the types of keys and values, if they are recorded.
    #[serde(skip_serializing_if = "String::is_empty")]
    key_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    value_type: String,
    records: u64,
    depth: u8,
    inner_pages: u64,
    leaf_pages: u64,
    value_pages: u64,
    page_bytes: u64,
    sequence: u64,
    /// Of a table whose records expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry: Option<ExpiryReport>,
}

impl TableReport {
    /// The report on a table.
    pub(crate) fn new(
        info: &TableInfo,
        page_size_bytes: u64,
        expiry: Option<&ExpiryReport>,
    ) -> Self {
        let (name, name_hex) = output::json_bytes(&info.name);
        let stat = &info.stat;
        let comparison = info.missing_comparisons.first();
        Self {
            name: name.map(str::to_owned),
            name_hex,
            order: match info.unknown {
                Some(_) => "unknown: needs a newer version",
                None if comparison.is_some() => "custom",
                None => order_name(engine::order_of(info)),
            },
            comparison: comparison.cloned(),
            value_order: engine::kind_of(info)
                .values
                .map(|values| order_name(values.order)),
            key_type: info.types.keys.clone(),
            value_type: info.types.values.clone(),
            records: stat.records,
            depth: stat.depth,
            inner_pages: stat.inner_pages,
            leaf_pages: stat.leaf_pages,
            value_pages: stat.value_pages,
            // A forged file may have any counts.
            page_bytes: [stat.inner_pages, stat.leaf_pages, stat.value_pages]
                .into_iter()
                .fold(0, u64::saturating_add)
                .saturating_mul(page_size_bytes),
            sequence: match info.options.expiring {
                true => 0,
                false => stat.sequence,
            },
            expiry: expiry.cloned(),
        }
    }

    fn order_in_words(&self) -> String {
        match &self.comparison {
            Some(comparison) => format!("{} \"{}\"", self.order, printable(comparison.as_bytes())),
            None => self.order.to_owned(),
        }
    }
}

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Bytes => "bytes",
        Order::ReverseBytes => "reverse",
        Order::Integer => "integer",
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &TablesArguments, style: ReportStyle) -> Result<(), Failure> {
    let database = engine::open_for_reading(&arguments.database.path)?;
    let txn = engine::begin_read(&database, arguments.snapshot.name())?;
    let infos = txn.tables()?;
    let expiries = ExpiryReport::of_all(&txn, &infos)?;
    let page_size_bytes = engine::wide(database.info().page_size);
    match style {
        ReportStyle::Text => output::print(|output| {
            write_list((&infos, &expiries), page_size_bytes, output).map_err(Failure::Output)
        }),
        ReportStyle::Json => {
            let reports: Vec<_> = infos
                .iter()
                .zip(&expiries)
                .map(|(info, expiry)| TableReport::new(info, page_size_bytes, expiry.as_ref()))
                .collect();
            output::print_json(&reports)
        }
    }
}

/// Writes a line for each table under a heading.
pub(crate) fn write_list(
    (infos, expiries): (&[TableInfo], &[Option<ExpiryReport>]),
    page_size_bytes: u64,
    output: &mut impl Write,
) -> io::Result<()> {
    if infos.is_empty() {
        return writeln!(output, "no tables");
    }
    let names: Vec<String> = infos
        .iter()
        .map(|info| output::table_name(&info.name))
        .collect();
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0)
        .max("table".len());
    writeln!(
        output,
        "{:width$}  {:>15}  {:>12}  {:>5}  order",
        "table", "records", "pages", "depth"
    )?;
    for ((info, name), expiry) in infos.iter().zip(&names).zip(expiries) {
        let report = TableReport::new(info, page_size_bytes, expiry.as_ref());
        write!(
            output,
            "{name:width$}  {:>15}  {:>12}  {:>5}  {}",
            HumanCount(report.records).to_string(),
            BinaryBytes(report.page_bytes).to_string(),
            report.depth,
            report.order_in_words(),
        )?;
        if let Some(order) = report.value_order {
            write!(output, ", several values of a key: {order}")?;
        }
        if info.types != TableTypes::default() {
            write!(
                output,
                ", types {}",
                printable(info.types.to_string().as_bytes())
            )?;
        }
        if let Some(expiry) = &report.expiry {
            write!(output, ", {}", expiry.in_words())?;
        }
        match report.sequence {
            0 => writeln!(output)?,
            next => writeln!(output, ", sequence at {next}")?,
        }
    }
    Ok(())
}
