//! `teak stat`: shows how the space of the file is used.

mod picture;

use crate::commands::expiry::ExpiryReport;
use crate::commands::tables::{self, TableReport};
use crate::common_arguments::DatabaseArgument;
use crate::engine::{self, FileStat};
use crate::failure::Failure;
use crate::key_arguments::cipher_name;
use crate::output::{self, ReportStyle, counted};
use crate::text::shown_path;
use clap::Args;
use indicatif::BinaryBytes;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use teak::Transaction as _;
use teak::{
    Cipher, Compression, Database, Geometry, Marks, PageUse, ReadTxn, SnapshotInfo, TableInfo,
};

const EXAMPLES: &str = "\
Examples:
  teak stat coins.teak
  teak stat coins.teak --fill
  teak stat coins.teak --json | jq .free_pages

Pending pages are dead, but a reader or a named snapshot may still use them. The picture shows the \
file from its first page to its last; each character shows the most frequent kind of its pages.";

/// Show how the file is used
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct StatArguments {
    #[command(flatten)]
    database: DatabaseArgument,

    /// Also read all records, and show how many bytes of pages one byte of data takes
    #[arg(long)]
    fill: bool,
}

#[derive(Serialize)]
struct StatOutput {
    file_bytes: u64,
    page_size: u64,
    encryption: Option<&'static str>,
    compression: Option<String>,
    disk_bytes: Option<u64>,
    page_count: u64,
    used_pages: u64,
    free_pages: u64,
    pending_pages: u64,
    transaction: u64,
    durable_transaction: u64,
    readers: u64,
    snapshots: u64,
    snapshots_kept_bytes: u64,
    limits: SizeLimits,
    marks: [u64; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    marks_transaction: Option<u64>,
    page_kinds: BTreeMap<&'static str, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_bytes_per_data_byte: Option<f64>,
    tables: Vec<TableReport>,
}

/// How the file grows and shrinks, as stored in the file. 0 is the engine's choice.
#[derive(Serialize)]
struct SizeLimits {
    lower_bytes: u64,
    /// `None` for no limit.
    upper_bytes: Option<u64>,
    growth_step_bytes: u64,
    shrink_threshold_bytes: u64,
}

impl From<Geometry> for SizeLimits {
    fn from(geometry: Geometry) -> Self {
        Self {
            lower_bytes: geometry.lower_limit_bytes,
            upper_bytes: (geometry.upper_limit_bytes < u64::MAX)
                .then_some(geometry.upper_limit_bytes),
            growth_step_bytes: geometry.growth_step_bytes,
            shrink_threshold_bytes: geometry.shrink_threshold_bytes,
        }
    }
}

/// Everything known about a database.
struct DatabaseFacts {
    stat: FileStat,
    geometry: Geometry,
    infos: Vec<TableInfo>,
    expiries: Vec<Option<ExpiryReport>>,
    kinds: Vec<PageUse>,
    snapshots: Vec<SnapshotInfo>,
    marks: Marks,
    cipher: Option<Cipher>,
    compression: Option<Compression>,
    /// The blocks of the file, where the system tells them.
    disk_bytes: Option<u64>,
    data_bytes: Option<u64>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &StatArguments, style: ReportStyle) -> Result<(), Failure> {
    let database = engine::open_for_reading(&arguments.database.path)?;
    let facts = facts(&database, arguments)?;
    match style {
        ReportStyle::Text => {
            let name = shown_path(&arguments.database.path);
            output::print(|output| write_report(&name, &facts, output).map_err(Failure::Output))
        }
        ReportStyle::Json => output::print_json(&report(&facts)),
    }
}

fn facts(database: &Database, arguments: &StatArguments) -> Result<DatabaseFacts, Failure> {
    let txn = database.begin_read()?;
    let infos = txn.tables()?;
    let data_bytes = match arguments.fill {
        true => Some(data_bytes(&txn, &infos)?),
        false => None,
    };
    Ok(DatabaseFacts {
        stat: engine::file_stat(database)?,
        geometry: database.geometry()?,
        expiries: ExpiryReport::of_all(&txn, &infos)?,
        infos,
        kinds: database.page_kinds()?,
        snapshots: database.snapshots()?,
        marks: txn.marks(),
        cipher: database.info().cipher,
        compression: database.info().compression,
        disk_bytes: disk_bytes(database.path()),
        data_bytes,
    })
}

#[cfg(unix)]
fn disk_bytes(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    Some(path.metadata().ok()?.blocks() * 512)
}

#[cfg(not(unix))]
fn disk_bytes(_path: &Path) -> Option<u64> {
    None
}

fn data_bytes(txn: &ReadTxn, infos: &[TableInfo]) -> Result<u64, Failure> {
    let mut bytes = 0;
    let is_readable =
        |info: &&TableInfo| info.unknown.is_none() && info.missing_comparisons.is_empty();
    for info in infos.iter().filter(is_readable) {
        let table = engine::open_table(txn, &info.name)?;
        table.for_each(txn, |key, value| {
            bytes += (key.len() + value.len()) as u64;
            Ok(())
        })?;
    }
    Ok(bytes)
}

impl DatabaseFacts {
    /// Bytes that exactly one named snapshot keeps.
    fn snapshots_kept_bytes(&self) -> u64 {
        let kept = self
            .snapshots
            .iter()
            .map(|info| (info.transaction, info.kept_bytes));
        BTreeMap::from_iter(kept).values().sum()
    }

    fn used_bytes(&self) -> u64 {
        self.stat.used_pages * self.stat.page_size_bytes
    }

    fn page_bytes_per_data_byte(&self) -> Option<f64> {
        let data_bytes = self.data_bytes.filter(|bytes| *bytes > 0)?;
        Some(self.used_bytes() as f64 / data_bytes as f64)
    }
}

fn report(facts: &DatabaseFacts) -> StatOutput {
    let stat = &facts.stat;
    StatOutput {
        file_bytes: stat.file_bytes,
        page_size: facts.stat.page_size_bytes,
        encryption: facts.cipher.map(cipher_name),
        compression: facts.compression.map(|is| is.to_string()),
        disk_bytes: facts.disk_bytes,
        page_count: stat.page_count,
        used_pages: stat.used_pages,
        free_pages: stat.free_pages,
        pending_pages: stat.pending_pages,
        transaction: stat.transaction.0,
        durable_transaction: stat.durable_transaction.0,
        readers: stat.readers,
        snapshots: engine::wide(facts.snapshots.len()),
        snapshots_kept_bytes: facts.snapshots_kept_bytes(),
        limits: facts.geometry.into(),
        marks: facts.marks.values,
        marks_transaction: facts.marks.set_in.map(|set_in| set_in.0),
        page_kinds: picture::count_kinds(&facts.kinds),
        data_bytes: facts.data_bytes,
        page_bytes_per_data_byte: facts.page_bytes_per_data_byte(),
        tables: facts
            .infos
            .iter()
            .zip(&facts.expiries)
            .map(|(info, expiry)| {
                TableReport::new(info, facts.stat.page_size_bytes, expiry.as_ref())
            })
            .collect(),
    }
}

fn write_report(name: &str, facts: &DatabaseFacts, output: &mut impl Write) -> io::Result<()> {
    let stat = &facts.stat;
    writeln!(
        output,
        "{name}: {} in {} of {}",
        BinaryBytes(stat.file_bytes),
        counted(stat.page_count, "page"),
        BinaryBytes(facts.stat.page_size_bytes),
    )?;
    writeln!(
        output,
        "  transaction {}, durable up to {}",
        stat.transaction, stat.durable_transaction
    )?;
    if let Some(cipher) = facts.cipher {
        writeln!(output, "  encrypted with {}", cipher_name(cipher))?;
    }
    if let Some(compression) = facts.compression {
        write!(output, "  compressed with {compression}")?;
        if let Some(disk_bytes) = facts.disk_bytes {
            let used_bytes = stat.used_pages * facts.stat.page_size_bytes;
            let percent = 100 * disk_bytes / used_bytes.max(1);
            let shown = BinaryBytes(disk_bytes);
            write!(output, ": {shown} on disk, {percent} % of the pages in use")?;
        }
        writeln!(output)?;
    }
    writeln!(output, "  {}", counted(stat.readers, "reader"))?;
    if !facts.snapshots.is_empty() {
        let count = counted(engine::wide(facts.snapshots.len()), "named snapshot");
        let kept = BinaryBytes(facts.snapshots_kept_bytes());
        writeln!(output, "  {count}, at least {kept} kept only for them")?;
    }
    if let Some(set_in) = facts.marks.set_in {
        let [first, second, third] = facts.marks.values;
        writeln!(
            output,
            "  marks {first}, {second}, {third}, set by transaction {set_in}"
        )?;
    }
    write_limits(&facts.geometry, output)?;
    write_share("used", stat.used_pages, facts, output)?;
    write_share("free", stat.free_pages, facts, output)?;
    write_share("pending", stat.pending_pages, facts, output)?;
    if let (Some(bytes), Some(ratio)) = (facts.data_bytes, facts.page_bytes_per_data_byte()) {
        let data = BinaryBytes(bytes);
        writeln!(
            output,
            "  {data} of keys and values: {ratio:.2} bytes of pages in use for each byte of data"
        )?;
    }
    writeln!(output)?;
    let tables = (&facts.infos[..], &facts.expiries[..]);
    tables::write_list(tables, facts.stat.page_size_bytes, output)?;
    writeln!(output)?;
    picture::write(&facts.kinds, output)
}

/// Writes the limits of the file's length that differ from the engine's choices.
fn write_limits(geometry: &Geometry, output: &mut impl Write) -> io::Result<()> {
    let choices = Geometry::default();
    let limits = [
        (
            "at least",
            geometry.lower_limit_bytes,
            choices.lower_limit_bytes,
        ),
        (
            "at most",
            geometry.upper_limit_bytes,
            choices.upper_limit_bytes,
        ),
        (
            "grows by",
            geometry.growth_step_bytes,
            choices.growth_step_bytes,
        ),
        (
            "shrinks when the free end has",
            geometry.shrink_threshold_bytes,
            choices.shrink_threshold_bytes,
        ),
    ];
    let parts: Vec<String> = limits
        .iter()
        .filter(|(_, limit, choice)| limit != choice)
        .map(|(words, limit, _)| format!("{words} {}", BinaryBytes(*limit)))
        .collect();
    match parts.is_empty() {
        true => Ok(()),
        false => writeln!(output, "  length of the file: {}", parts.join(", ")),
    }
}

fn write_share(
    label: &str,
    pages: u64,
    facts: &DatabaseFacts,
    output: &mut impl Write,
) -> io::Result<()> {
    let all = facts.stat.page_count.max(1);
    let percent = pages as f64 * 100.0 / all as f64;
    let bytes = BinaryBytes(pages * facts.stat.page_size_bytes);
    writeln!(
        output,
        "  {label:7} {:>12}  {percent:5.1} %  {bytes}",
        indicatif::HumanCount(pages).to_string()
    )
}
