//! Loading in batches of a fixed number of records, one transaction each.

use super::input::LoadInput;
use super::state::LoadState;
use crate::engine::{self, AnyTable};
use crate::failure::Failure;
use crate::text::{Event, Header};
use teak::WriteTxn;

/// The table that records go to at present.
struct LoadTarget {
    name: Vec<u8>,
    header: Header,
}

/// A batch that is not committed yet.
struct LoadBatch {
    txn: WriteTxn,
    table: AnyTable,
    records: u64,
}

/// Loads all of `input`, whose first header has been read.
pub(super) fn load(
    state: &mut LoadState<'_>,
    input: &mut LoadInput,
    first_header: Header,
) -> Result<(), Failure> {
    let mut target = begin_target(state, &first_header)?;
    let mut batch = Some(begin_batch(state, &target)?);
    loop {
        match input.next()? {
            Event::Table(header) => {
                let next = begin_target(state, &header)?;
                batch = Some(match batch {
                    Some(batch) => retarget(batch, &next)?,
                    None => begin_batch(state, &next)?,
                });
                target = next;
            }
            Event::Record { key, value, line } => {
                let mut open = match batch.take() {
                    Some(batch) => batch,
                    None => begin_batch(state, &target)?,
                };
                insert(state, &target, &mut open, key, value)
                    .map_err(|failure| at_line(failure, line))?;
                open.records += 1;
                if open.records < state.arguments.batch.get() {
                    batch = Some(open);
                } else {
                    state.commit(open.txn)?;
                    input.show_progress(state.tally.committed_records);
                }
            }
            Event::End => break,
        }
    }
    if let Some(batch) = batch {
        state.commit(batch.txn)?;
    }
    Ok(())
}

fn begin_target(state: &mut LoadState<'_>, header: &Header) -> Result<LoadTarget, Failure> {
    let name = state.begin_table(header)?;
    state.expect(&name)?;
    Ok(LoadTarget {
        name,
        header: header.clone(),
    })
}

fn begin_batch(state: &mut LoadState<'_>, target: &LoadTarget) -> Result<LoadBatch, Failure> {
    let mut txn = state.begin_write()?;
    let table = engine::open_or_create_table(&mut txn, &target.name, &target.header)?;
    Ok(LoadBatch {
        txn,
        table,
        records: 0,
    })
}

fn retarget(mut batch: LoadBatch, target: &LoadTarget) -> Result<LoadBatch, Failure> {
    batch.table = engine::open_or_create_table(&mut batch.txn, &target.name, &target.header)?;
    Ok(batch)
}

fn insert(
    state: &mut LoadState<'_>,
    target: &LoadTarget,
    LoadBatch { txn, table, .. }: &mut LoadBatch,
    key: &[u8],
    value: &[u8],
) -> Result<(), Failure> {
    state.count_record(key, value);
    let old = table.insert(txn, key, value)?;
    state.tally.replaced += u64::from(old.is_some());
    if let Some(expectation) = state.expectations.get_mut(&target.name) {
        if let Some(old) = old {
            expectation.checksum.remove(key, &old);
        }
        expectation.checksum.add(key, value);
    }
    Ok(())
}

fn at_line(failure: Failure, line: u64) -> Failure {
    match failure {
        Failure::Engine(error) => Failure::Record { line, error },
        other => other,
    }
}
