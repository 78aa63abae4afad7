//! Removal of expired records by commits that change something.
//!
//! Each such commit removes a bounded number of expired records: some, and two for each record that
//! was written to an expiring table since the last removal. So tables do not grow without limit
//! while records are written, and no commit becomes much slower. It looks at a few tables, and the
//! next commit continues with the ones after them. A failed removal is undone, and the commit
//! continues with the other tables; the next commits remove nothing for a while. Small commits,
//! which go to the memtable, and its merges remove nothing.

use crate::{
    Error, Result,
    btree::{PageSource, TreeRoot, cursor::TreeCursor, reading::reading},
    page::comparison::Comparisons,
    read::catalog::{self, EXPIRY_INDEX_START},
    write::{expiring::ExpiringNames, transaction::WriteTransaction},
};
use std::{ops::ControlFlow, sync::atomic::Ordering::Relaxed};

/// Records that a commit removes even if none were written.
const RECORDS_MIN: u64 = 64;
/// Records that are removed for each one that was written.
const FOR_EACH_WRITTEN: u64 = 2;
/// Tables that a commit looks at.
const TABLES_MAX: usize = 8;
/// A failed removal is not tried again before this many transactions.
const PAUSE_TRANSACTIONS: u32 = 16;

/// Whether the state of a transaction has expiring tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExpiringTables {
    None,
    Some,
}

/// Visits the indexes of expiring tables from a name on, until `visit` breaks. It gets the name of
/// the index and that of the table.
fn for_each_index<S: PageSource>(
    source: &S,
    catalog: &TreeRoot,
    from: &[u8],
    mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<()> {
    let comparisons = Comparisons::default();
    reading(source, || {
        let mut cursor = TreeCursor::new(source, *catalog);
        let mut is_there = cursor.seek(from.max(EXPIRY_INDEX_START))?.is_some();
        while is_there && cursor.key().starts_with(EXPIRY_INDEX_START) {
            let entry = catalog::decode(catalog.page, cursor.stored_value(), &comparisons)?;
            if let Some(table) = catalog::table_of_index(cursor.key(), &entry)
                && visit(cursor.key(), table).is_break()
            {
                break;
            }
            is_there = cursor.next()?;
        }
        Ok(())
    })
}

/// The number of expiring tables of a state.
pub(crate) fn index_count<S: PageSource>(source: &S, catalog: &TreeRoot) -> Result<u64> {
    let mut count = 0;
    for_each_index(source, catalog, &[], |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok(count)
}

/// Removes some expired records.
pub(super) fn remove_some(txn: &mut WriteTransaction) -> Result<ExpiringTables> {
    let from = txn.pages.writer.dropped.expired.next.clone();
    let mut names = names_from(txn, &from)?;
    if names.is_empty() && !from.is_empty() {
        names = names_from(txn, &[])?;
    }
    if names.is_empty() {
        return Ok(ExpiringTables::None);
    }
    // A merge makes a state that readers see already, some of them at an earlier moment.
    if txn.status.is_merging {
        return Ok(ExpiringTables::Some);
    }
    let expired = &mut txn.pages.writer.dropped.expired;
    // The next commit begins after the last table of this one, or with the first one of all.
    expired.next = match names.len() > TABLES_MAX {
        true => names.pop().map(|(index, _)| index).unwrap_or_default(),
        false => Vec::new(),
    };
    let is_rested = expired.resting == 0;
    expired.resting = expired.resting.saturating_sub(1);
    if is_rested {
        let written = txn.engine.expiry.written.swap(0, Relaxed);
        let mut budget = RECORDS_MIN.saturating_add(FOR_EACH_WRITTEN.saturating_mul(written));
        for (_, name) in &names {
            // After a failed removal the tables after it have their turn all the same.
            budget -= remove_of_table(txn, name, budget)?;
            if budget == 0 {
                break;
            }
        }
    }
    Ok(ExpiringTables::Some)
}

/// The names of some indexes from one on, and of their tables: one more than a commit looks at, if
/// there are that many.
fn names_from(txn: &WriteTransaction, from: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut names = Vec::new();
    for_each_index(&txn.pages, &txn.catalog, from, |index, table| {
        names.push((index.to_vec(), table.to_vec()));
        match names.len() > TABLES_MAX {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    Ok(names)
}

/// Removes up to `budget` expired records of a table; returns how many. A failed removal is undone
/// completely. A lack of space that only the removal met is no error of the commit, and `check`
/// reports damage.
fn remove_of_table(txn: &mut WriteTransaction, name: &[u8], budget: u64) -> Result<u64> {
    let table = ExpiringNames::new(&txn.engine, name);
    match txn.has_expired(&table) {
        Ok(true) => {}
        Ok(false) => return Ok(0),
        Err(error) => return failed(txn, error),
    }
    let savepoint = txn.begin_savepoint()?;
    let removed = txn.remove_expired(&table, budget);
    if removed.is_err() {
        txn.roll_back_to(savepoint)?;
    }
    txn.end_savepoint(savepoint)?;
    removed.or_else(|error| failed(txn, error))
}

/// Pauses after an undone removal.
fn failed(txn: &mut WriteTransaction, error: Error) -> Result<u64> {
    txn.pages.writer.dropped.expired.resting = PAUSE_TRANSACTIONS;
    let is_harmless = error.is_lack_of_space()
        || matches!(
            error,
            Error::Corrupted { .. } | Error::TableNotFound(_) | Error::ComparisonMissing { .. }
        );
    match is_harmless && txn.engine.committer.refuse_poisoned().is_ok() {
        true => Ok(0),
        false => Err(error),
    }
}
