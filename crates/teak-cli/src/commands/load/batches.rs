//! Loading in batches: each so many records are one transaction.

use super::checksum::Checksum;
use super::input::Input;
use super::session::{Expectation, Session};
use crate::engine::{self, RawTable};
use crate::failure::Failure;
use crate::text::{Event, Header, Order};
use teak::WriteTxn;

/// The table that records go to at present.
struct Target {
    name: Vec<u8>,
    order: Order,
    /// What it must hold after the load; none if that is not to be verified.
    expected: Option<Checksum>,
}

/// A batch that is not committed yet.
struct Batch {
    txn: WriteTxn,
    table: RawTable,
    records: u64,
}

/// Loads all of `input`, whose first header has been read.
pub(super) fn load(
    session: &mut Session<'_>,
    input: &mut Input,
    first_header: Header,
) -> Result<(), Failure> {
    let mut target = begin_target(session, &first_header)?;
    let mut batch = Some(begin_batch(session, &target)?);
    loop {
        match input.next()? {
            Event::Table(header) => {
                let next = begin_target_behind(session, target, &header)?;
                batch = Some(match batch {
                    Some(batch) => retarget(batch, &next)?,
                    None => begin_batch(session, &next)?,
                });
                target = next;
            }
            Event::Record { key, value, line } => {
                let mut open = match batch.take() {
                    Some(batch) => batch,
                    None => begin_batch(session, &target)?,
                };
                insert(session, &mut target, &mut open, key, value)
                    .map_err(|failure| at_line(failure, line))?;
                open.records += 1;
                if open.records < session.arguments.batch.get() {
                    batch = Some(open);
                } else {
                    session.commit(open.txn)?;
                    input.show_progress(session.tally.committed_records);
                }
            }
            Event::End => break,
        }
    }
    if let Some(batch) = batch {
        session.commit(batch.txn)?;
    }
    end_target(session, target);
    Ok(())
}

fn begin_target(session: &mut Session<'_>, header: &Header) -> Result<Target, Failure> {
    let name = session.begin_table(header)?;
    let expected = match (session.arguments.no_verify, session.expectations.get(&name)) {
        (true, _) => None,
        (false, Some(Expectation::Checksum(checksum))) => Some(*checksum),
        (false, _) => Some(checksum_before(session, &name)?),
    };
    Ok(Target {
        name,
        order: header.order,
        expected,
    })
}

fn begin_target_behind(
    session: &mut Session<'_>,
    before: Target,
    header: &Header,
) -> Result<Target, Failure> {
    end_target(session, before);
    begin_target(session, header)
}

fn end_target(session: &mut Session<'_>, target: Target) {
    if let Some(checksum) = target.expected {
        session
            .expectations
            .insert(target.name, Expectation::Checksum(checksum));
    }
}

/// What a table holds before the load.
fn checksum_before(session: &Session<'_>, name: &[u8]) -> Result<Checksum, Failure> {
    match engine::read_table(session.database, name) {
        Ok((txn, table)) => Checksum::of_table(&txn, &table),
        Err(Failure::Engine(teak::Error::TableNotFound(_))) => Ok(Checksum::default()),
        Err(failure) => Err(failure),
    }
}

fn begin_batch(session: &Session<'_>, target: &Target) -> Result<Batch, Failure> {
    let mut txn = session.begin_write()?;
    let table = engine::open_or_create_table(&mut txn, &target.name, target.order)?;
    Ok(Batch {
        txn,
        table,
        records: 0,
    })
}

fn retarget(mut batch: Batch, target: &Target) -> Result<Batch, Failure> {
    batch.table = engine::open_or_create_table(&mut batch.txn, &target.name, target.order)?;
    Ok(batch)
}

fn insert(
    session: &mut Session<'_>,
    target: &mut Target,
    Batch { txn, table, .. }: &mut Batch,
    key: &[u8],
    value: &[u8],
) -> Result<(), Failure> {
    session.count_record(key, value);
    let Some(expected) = &mut target.expected else {
        return Ok(table.insert(txn, key, value)?);
    };
    if table.insert_new(txn, key, value)? {
        expected.add(key, value);
        return Ok(());
    }
    session.tally.replaced += 1;
    match table.get(&*txn, key)? {
        Some(old) if old == value => return Ok(()),
        Some(old) => expected.remove(key, old),
        None => {}
    }
    table.insert(txn, key, value)?;
    expected.add(key, value);
    Ok(())
}

fn at_line(failure: Failure, line: u64) -> Failure {
    match failure {
        Failure::Engine(error) => Failure::Record { line, error },
        other => other,
    }
}
