//! `teak diff`: shows the records in which two states of a database differ.

use crate::commands::scan::ScanFormat;
use crate::common_arguments::DatabaseArgument;
use crate::engine::{self, RecordChange};
use crate::failure::Failure;
use crate::output::{self, ReportStyle, counted};
use crate::text::{printable, write_tsv_field};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use teak::Transaction as _;
use teak::{ReadTxn, TableChange, TableInfo};

const EXAMPLES: &str = "\
Examples:
  teak diff coins.teak monday
  teak diff coins.teak monday tuesday --table prices
  teak diff coins.teak monday --count
  teak diff coins.teak monday --json | jq -r 'select(.change == \"removed\") | .key'

OLD and NEW are names of snapshots: see `teak snapshot`. Pages that both states share are not read, so \
the time depends on the number of changes, not on the size of the database. If OLD and NEW are exchanged, \
insertions are shown as removals.

As text, each table has a line, followed by a line for each differing record, in key order, with tabs \
between the fields:
  +  KEY  VALUE    only the new state has it
  ~  KEY  OLD NEW  both have it, with different values
  -  KEY  VALUE    only the old state has it
with the escapes \\t \\n \\r \\\\ and \\xHH. The exit code is 0 whether there are differences or not.";

/// Show the records in which two states differ
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DiffArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    /// The snapshot of the old state
    old: OsString,

    /// The snapshot of the new state [default: the newest state]
    new: Option<OsString>,

    /// Only this table [default: all tables]
    #[arg(short, long, value_name = "NAME")]
    table: Option<OsString>,

    /// Only the number of differing records of each table
    #[arg(short, long, conflicts_with = "format")]
    count: bool,

    /// The format of records
    #[arg(short, long, value_enum, default_value_t)]
    format: ScanFormat,
}

/// The change of a table. A table that was dropped and created again with another key order counts
/// as two tables, because their records cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TableDifference {
    Changed,
    Created,
    Dropped,
}

/// Both states, with their tables.
struct ComparedStates {
    older: ReadTxn,
    newer: ReadTxn,
    older_tables: BTreeMap<Vec<u8>, TableInfo>,
    newer_tables: BTreeMap<Vec<u8>, TableInfo>,
}

/// The number of differing records of a table, in JSON.
#[derive(Serialize)]
struct CountReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    table: TableDifference,
    #[serde(flatten)]
    counts: DiffCounts,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct DiffCounts {
    inserted: u64,
    changed: u64,
    removed: u64,
}

/// A table that was created or dropped, or a record that differs, in JSON.
#[derive(Default, Serialize)]
struct LineReport<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table_hex: Option<String>,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_hex: Option<String>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &DiffArguments, style: ReportStyle) -> Result<(), Failure> {
    let database = engine::open_for_reading(&arguments.database.path)?;
    let older = engine::begin_read(&database, Some(arguments.old.as_encoded_bytes()))?;
    let new = arguments.new.as_deref().map(OsStr::as_encoded_bytes);
    let states = ComparedStates::new(older, engine::begin_read(&database, new)?)?;
    let only = arguments.table.as_deref().map(OsStr::as_encoded_bytes);
    let tables = states.changed_tables(only)?;
    if arguments.count {
        return count(&states, &tables, style);
    }
    let format = match style {
        ReportStyle::Json => ScanFormat::Json,
        ReportStyle::Text => arguments.format,
    };
    output::print(|output| {
        for (name, fate) in &tables {
            write_table(&states, name, *fate, format, output)?;
        }
        Ok(())
    })
}

impl ComparedStates {
    fn new(older: ReadTxn, newer: ReadTxn) -> Result<Self, Failure> {
        let tables = |txn: &ReadTxn| -> Result<BTreeMap<_, _>, Failure> {
            let infos = txn.tables()?.into_iter();
            Ok(infos.map(|info| (info.name.clone(), info)).collect())
        };
        Ok(Self {
            older_tables: tables(&older)?,
            newer_tables: tables(&newer)?,
            older,
            newer,
        })
    }

    /// The tables that may differ, in the order of their names: all tables, or only one.
    fn changed_tables(
        &self,
        only: Option<&[u8]>,
    ) -> Result<Vec<(Vec<u8>, TableDifference)>, Failure> {
        if let Some(name) = only
            && !self.older_tables.contains_key(name)
            && !self.newer_tables.contains_key(name)
        {
            return Err(teak::Error::TableNotFound(engine::lossy(name)).into());
        }
        let mut tables = Vec::new();
        for (name, change) in self.newer.changed_tables(&self.older)? {
            if only.is_some_and(|only| only != name) {
                continue;
            }
            match change {
                TableChange::Created => tables.push((name, TableDifference::Created)),
                TableChange::Dropped => tables.push((name, TableDifference::Dropped)),
                _ if self.has_one_order(&name) => tables.push((name, TableDifference::Changed)),
                _ => {
                    tables.push((name.clone(), TableDifference::Dropped));
                    tables.push((name, TableDifference::Created));
                }
            }
        }
        Ok(tables)
    }

    fn has_one_order(&self, name: &[u8]) -> bool {
        let kind = |tables: &BTreeMap<_, TableInfo>| tables.get(name).map(engine::kind_of);
        kind(&self.older_tables) == kind(&self.newer_tables)
    }

    /// Shows the records of a table that differ to `visit`, in the order of keys.
    fn for_each_change(
        &self,
        name: &[u8],
        fate: TableDifference,
        mut visit: impl FnMut(RecordChange<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let txn = match fate {
            TableDifference::Changed => {
                let table = engine::open_table(&self.newer, name)?;
                return table.for_each_change((&self.older, &self.newer), visit);
            }
            TableDifference::Created => &self.newer,
            TableDifference::Dropped => &self.older,
        };
        let table = engine::open_table(txn, name)?;
        table.for_each(txn, |key, value| {
            let (old, new) = match fate {
                TableDifference::Dropped => (Some(value), None),
                _ => (None, Some(value)),
            };
            visit(RecordChange { key, old, new })
        })
    }

    fn counts(&self, name: &[u8], fate: TableDifference) -> Result<DiffCounts, Failure> {
        let records = |tables: &BTreeMap<Vec<u8>, TableInfo>| {
            tables.get(name).map_or(0, |info| info.stat.records)
        };
        let mut counts = DiffCounts::default();
        match fate {
            TableDifference::Created => counts.inserted = records(&self.newer_tables),
            TableDifference::Dropped => counts.removed = records(&self.older_tables),
            TableDifference::Changed => self.for_each_change(name, fate, |record| {
                match (record.old, record.new) {
                    (None, _) => counts.inserted += 1,
                    (_, None) => counts.removed += 1,
                    _ => counts.changed += 1,
                }
                Ok(())
            })?,
        }
        Ok(counts)
    }
}

fn count(
    states: &ComparedStates,
    tables: &[(Vec<u8>, TableDifference)],
    style: ReportStyle,
) -> Result<(), Failure> {
    let mut counted = Vec::new();
    for (name, fate) in tables {
        let counts = states.counts(name, *fate)?;
        // In some tables only pages have moved.
        if *fate != TableDifference::Changed || counts != DiffCounts::default() {
            counted.push((name, *fate, counts));
        }
    }
    match style {
        ReportStyle::Text => {
            output::print(|output| write_counts(&counted, output).map_err(Failure::Output))
        }
        ReportStyle::Json => {
            let report = |(bytes, table, counts): &(&Vec<u8>, TableDifference, DiffCounts)| {
                let (name, name_hex) = output::json_bytes(bytes);
                CountReport {
                    name: name.map(str::to_owned),
                    name_hex,
                    table: *table,
                    counts: *counts,
                }
            };
            output::print_json(&counted.iter().map(report).collect::<Vec<_>>())
        }
    }
}

fn write_counts(
    tables: &[(&Vec<u8>, TableDifference, DiffCounts)],
    output: &mut impl Write,
) -> io::Result<()> {
    if tables.is_empty() {
        return writeln!(output, "no differences");
    }
    for (name, fate, counts) in tables {
        let records = match fate {
            TableDifference::Created => counted(counts.inserted, "record"),
            TableDifference::Dropped => counted(counts.removed, "record"),
            TableDifference::Changed => format!(
                "{} inserted, {} changed, {} removed",
                indicatif::HumanCount(counts.inserted),
                indicatif::HumanCount(counts.changed),
                indicatif::HumanCount(counts.removed)
            ),
        };
        writeln!(output, "{}: {records}", heading(name, *fate))?;
    }
    Ok(())
}

fn heading(name: &[u8], fate: TableDifference) -> String {
    let fate = match fate {
        TableDifference::Changed => "",
        TableDifference::Created => " created",
        TableDifference::Dropped => " dropped",
    };
    format!("table \"{}\"{fate}", printable(name))
}

fn write_table(
    states: &ComparedStates,
    name: &[u8],
    fate: TableDifference,
    format: ScanFormat,
    output: &mut impl Write,
) -> Result<(), Failure> {
    // In some tables only pages have moved; they are not reported.
    let mut is_named = fate != TableDifference::Changed;
    if is_named {
        write_heading(name, fate, format, output).map_err(Failure::Output)?;
    }
    states.for_each_change(name, fate, |record| {
        if !is_named {
            write_heading(name, fate, format, output).map_err(Failure::Output)?;
            is_named = true;
        }
        write_record(name, record, format, output).map_err(Failure::Output)
    })
}

fn write_heading(
    name: &[u8],
    fate: TableDifference,
    format: ScanFormat,
    output: &mut impl Write,
) -> io::Result<()> {
    let change = match (format, fate) {
        (ScanFormat::Text | ScanFormat::Hex, _) => {
            return writeln!(output, "{}", heading(name, fate));
        }
        (ScanFormat::Json, TableDifference::Changed) => return Ok(()),
        (ScanFormat::Json, TableDifference::Created) => "table_created",
        (ScanFormat::Json, TableDifference::Dropped) => "table_dropped",
    };
    let (table, table_hex) = output::json_bytes(name);
    let report = LineReport {
        table,
        table_hex,
        change,
        ..LineReport::default()
    };
    output::write_json(&report, output)
}

fn write_record(
    name: &[u8],
    record: RecordChange<'_>,
    format: ScanFormat,
    output: &mut impl Write,
) -> io::Result<()> {
    let (mark, change) = match (record.old, record.new) {
        (None, _) => ("+", "inserted"),
        (_, None) => ("-", "removed"),
        _ => ("~", "changed"),
    };
    let fields = [Some(record.key), record.old, record.new];
    match format {
        ScanFormat::Json => write_json_record(name, record, change, output),
        ScanFormat::Text | ScanFormat::Hex => {
            output.write_all(mark.as_bytes())?;
            for field in fields.into_iter().flatten() {
                output.write_all(b"\t")?;
                match format {
                    ScanFormat::Hex => output.write_all(output::hexadecimal(field).as_bytes())?,
                    _ => write_tsv_field(field, output)?,
                }
            }
            output.write_all(b"\n")
        }
    }
}

fn write_json_record(
    name: &[u8],
    record: RecordChange<'_>,
    change: &'static str,
    output: &mut impl Write,
) -> io::Result<()> {
    let (table, table_hex) = output::json_bytes(name);
    let (key, key_hex) = output::json_bytes(record.key);
    let (old, old_hex) = record.old.map(output::json_bytes).unwrap_or_default();
    let (new, new_hex) = record.new.map(output::json_bytes).unwrap_or_default();
    let report = LineReport {
        table,
        table_hex,
        change,
        key,
        key_hex,
        old,
        old_hex,
        new,
        new_hex,
    };
    output::write_json(&report, output)
}
