//! Copying: all tables in one transaction, each built bottom-up.

use super::plan::{ImportPlan, PlannedTable};
use super::progress::ImportProgress;
use super::source::ForeignSource;
use crate::engine;
use crate::failure::Failure;
use crate::text::{Header, printable};
use std::fs::File;
use teak::{Database, Durability, WriteTxn};
use teak_foreign::{PageSlice, Records, TableScan};

/// The result of copying a table.
pub(super) struct CopiedTable {
    pub(super) name: Vec<u8>,
    pub(super) records: u64,
    pub(super) data_bytes: u64,
}

/// Copies all tables of the plan, and commits.
pub(super) fn run(
    source: &ForeignSource,
    plan: &ImportPlan,
    database: &Database,
    progress: &ImportProgress,
) -> Result<Vec<CopiedTable>, Failure> {
    let mut txn = database.begin_write()?;
    txn.set_durability(Durability::Lazy);
    let mut pass = source.environment.pass();
    let mut copied = Vec::new();
    progress.begin_records();
    for item in &plan.items {
        progress.begin_table("copying", item);
        copied.push(copy(source, item, &mut pass, &mut txn, progress)?);
    }
    if let Some(marks) = source.environment.marks() {
        txn.set_marks(marks)?;
    }
    txn.commit()?;
    database.sync()?;
    Ok(copied)
}

fn copy(
    source: &ForeignSource,
    item: &PlannedTable,
    pass: &mut TableScan<'_, File>,
    txn: &mut WriteTxn,
    progress: &ImportProgress,
) -> Result<CopiedTable, Failure> {
    let table = engine::open_or_create_table(txn, &item.name, &Header::of_kind(item.kind))?;
    let records = pass.records(&item.table);
    let mut feed = RecordFeed {
        records: records.map_err(|error| source.failure(error))?,
        progress,
        count: 0,
        data_bytes: 0,
        end: Ok(()),
    };
    let loaded = match item.is_sorted {
        true => table.load_sorted(txn, &mut feed),
        false => table.load_unsorted(txn, &mut feed),
    };
    // A failure of the source takes precedence: the engine only saw its records end.
    feed.end.map_err(|error| source.failure(error))?;
    let copied = CopiedTable {
        name: item.name.clone(),
        records: feed.count,
        data_bytes: feed.data_bytes,
    };
    let loaded = loaded.map_err(|error| refused(item, error))?;
    if loaded != copied.records {
        return Err(Failure::Unverified(format!(
            "table \"{}\" of the source has {} records, of which {} have the key of another one; nothing was imported",
            printable(&item.old_name),
            copied.records,
            copied.records.saturating_sub(loaded),
        )));
    }
    if item.table.sequence > 0 {
        table.draw_sequence(txn, item.table.sequence)?;
    }
    Ok(copied)
}

/// The failure for a record that the engine refuses.
fn refused(item: &PlannedTable, error: teak::Error) -> Failure {
    let name = printable(&item.old_name);
    let context = match &error {
        teak::Error::NotSorted { index } => format!(
            "record {index} of table \"{name}\" of the source is not greater than the one before it in the order of the table's flags: the \
             application compares keys by a function of its own, or the file is damaged. With --unordered \"{name}\" the table is \
             sorted into the order of bytes; nothing was imported"
        ),
        teak::Error::InvalidArgument(_) if item.is_sorted => format!(
            "table \"{name}\" of the source has a record that its flags do not allow: keys or values that are not of one size. With \
             --unordered \"{name}\" the table is sorted in byte order, whatever its flags are; nothing was imported"
        ),
        _ => format!("table \"{name}\" of the source was being copied; nothing was imported"),
    };
    Failure::During {
        context,
        cause: Box::new(error.into()),
    }
}

/// The records of a table, as an iterator for the engine. It ends at the end of the table or at a
/// read error; `end` says which.
struct RecordFeed<'a, 'p, 'e> {
    records: Records<'p, 'e, File>,
    progress: &'a ImportProgress,
    count: u64,
    data_bytes: u64,
    end: teak_foreign::Result<()>,
}

impl Iterator for RecordFeed<'_, '_, '_> {
    type Item = (PageSlice, PageSlice);

    fn next(&mut self) -> Option<Self::Item> {
        match self.records.next_record() {
            Ok(Some((key, value))) => {
                self.progress.count(self.count);
                self.count += 1;
                self.data_bytes += (key.len() + value.len()) as u64;
                Some((key, value))
            }
            Ok(None) => None,
            Err(error) => {
                self.end = Err(error);
                None
            }
        }
    }
}
