//! Verification of the new database: checks its pages, and compares its records with those of the
//! source, which is read again.

use super::plan::{ImportPlan, PlannedTable};
use super::progress::ImportProgress;
use super::source::ForeignSource;
use crate::checksum::Checksum;
use crate::engine::{self, AnyTable};
use crate::failure::Failure;
use crate::text::printable;
use std::{fs::File, ops::ControlFlow};
use teak::{Database, ReadTxn};
use teak_foreign::{Records, TableScan};

/// Checks the database, compares all tables of the plan, and makes sure that the source has not
/// changed since it was opened.
pub(super) fn run(
    source: &ForeignSource,
    plan: &ImportPlan,
    database: &Database,
    progress: &ImportProgress,
) -> Result<(), Failure> {
    check(database, progress)?;
    progress.begin_records();
    let txn = database.begin_read()?;
    let mut pass = source.environment.pass();
    for item in &plan.items {
        progress.begin_table("comparing", item);
        compare(source, item, &mut pass, &txn, progress)?;
    }
    source.refuse_changed()
}

/// Checks all pages of the database.
pub(super) fn check(database: &Database, progress: &ImportProgress) -> Result<(), Failure> {
    let report = database.check(&mut |at| {
        progress.checked(engine::wide(at.pages_done), engine::wide(at.pages_total));
        ControlFlow::Continue(())
    })?;
    match report.is_clean() {
        true => Ok(()),
        false => {
            let text = "the new database differs from what was written; nothing was imported";
            Err(Failure::Unverified(text.to_owned()))
        }
    }
}

fn compare(
    source: &ForeignSource,
    item: &PlannedTable,
    pass: &mut TableScan<'_, File>,
    txn: &ReadTxn,
    progress: &ImportProgress,
) -> Result<(), Failure> {
    let table = engine::open_table(txn, &item.name)?;
    let count = table.len(txn)?;
    if count != item.table.records {
        let description = format!("{count} records, and {} in the source", item.table.records);
        return Err(unlike(item, &description));
    }
    let records = pass.records(&item.table);
    let mut records = records.map_err(|error| source.failure(error))?;
    match item.is_sorted {
        true => compare_in_order(source, item, &mut records, (txn, &table), progress),
        false => {
            let mut expected = Checksum::default();
            while let Some((key, value)) = next(source, &mut records)? {
                progress.count(expected.records);
                expected.add(&key, &value);
            }
            match Checksum::of_table(txn, &table)? == expected {
                true => Ok(()),
                false => Err(unlike(item, "different records than the source")),
            }
        }
    }
}

fn compare_in_order(
    source: &ForeignSource,
    item: &PlannedTable,
    records: &mut Records<'_, '_, File>,
    (txn, table): (&ReadTxn, &AnyTable),
    progress: &ImportProgress,
) -> Result<(), Failure> {
    let mut index = 0;
    table.for_each(txn, |key, value| {
        let expected = next(source, records)?;
        let is_same = expected.is_some_and(|(k, v)| *k == *key && *v == *value);
        if !is_same {
            let description = format!("a different record {index} than the source");
            return Err(unlike(item, &description));
        }
        progress.count(index);
        index += 1;
        Ok(())
    })?;
    match next(source, records)? {
        None => Ok(()),
        Some(_) => Err(unlike(item, "fewer records than the source")),
    }
}

fn next(
    source: &ForeignSource,
    records: &mut Records<'_, '_, File>,
) -> Result<Option<(teak_foreign::PageSlice, teak_foreign::PageSlice)>, Failure> {
    (records.next_record()).map_err(|error| source.failure(error))
}

fn unlike(item: &PlannedTable, description: &str) -> Failure {
    Failure::Unverified(format!(
        "table \"{}\" has {description}; nothing was imported",
        printable(&item.name)
    ))
}
