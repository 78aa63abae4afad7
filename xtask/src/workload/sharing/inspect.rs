//! Inspects a database that several programs committed to, after a power cut.

use super::{
    super::{
        history::TableState,
        inspect::{InspectedDatabase, expect_clean, expect_records},
        victim::open_options,
    },
    CommitMark, CommitOrder,
    member::{ORDER, make},
};
use crate::Failure;
use std::path::Path;
use teak::{
    Create, Database, Durability, ReadTxn, Recovery, Transaction,
    codec::{Str, U64},
};

/// Inspects the database at `path`, then commits, closes and opens it again. Those commits are
/// added to `order`. `member` is a number that no program has.
///
/// # Errors
/// Every violation.
pub(crate) fn inspect(
    path: &Path,
    order: &mut CommitOrder,
    member: u32,
) -> Result<InspectedDatabase, Failure> {
    if !path.exists() {
        return if order.is_file_promised() {
            Err(failure!("there is no database"))
        } else {
            Ok(InspectedDatabase {
                number: None,
                recovery: Recovery::Clean,
            })
        };
    }
    let database = open(path, order)?;
    let recovery = database.recovery();
    expect_clean(&database)?;
    let marks = marks(&database.begin_read()?)?;
    let number = marks.len() as u64;
    order.expect_possible(number)?;
    expect_recovery(&recovery, &database, number, order)?;
    let state = order.state_after(&marks)?;
    expect_state(&database.begin_read()?, &marks, &state)?;

    let mark = CommitMark { member, count: 1 };
    let (marks, state) = (
        [&marks[..], &[mark]].concat(),
        order.state_with(state, mark),
    );
    let mut txn = database.begin_write()?;
    make(&mut txn, number + 1, mark, &order.commit(mark))?;
    txn.set_durability(Durability::Durable);
    txn.commit()?;
    expect_clean(&database)?;
    database.close()?;

    let database = open(path, order)?;
    if database.recovery() != Recovery::Clean {
        let recovery = database.recovery();
        bail!("opening after a close reports {recovery:?}");
    }
    expect_state(&database.begin_read()?, &marks, &state)?;
    expect_clean(&database)?;
    database.close()?;
    order.settle(marks, state);
    Ok(InspectedDatabase {
        number: Some(number),
        recovery,
    })
}

fn open(path: &Path, order: &CommitOrder) -> Result<Database, Failure> {
    let options = open_options(order.common.script, order.common.page_size);
    Ok(options.create(Create::Never).open(path)?)
}

/// The marks of the commits in the database. They are numbered from 1.
fn marks(txn: &ReadTxn) -> Result<Vec<CommitMark>, Failure> {
    let table = match txn.open_table::<U64, Str>(ORDER) {
        Ok(table) => table,
        Err(teak::Error::TableNotFound(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut marks = Vec::new();
    for record in table.iter(txn)? {
        let (number, text) = record?;
        match CommitMark::parse(text) {
            Some(mark) if number == marks.len() as u64 + 1 => marks.push(mark),
            _ => {
                let last = marks.len();
                bail!("commit {last} is followed by {number}, {text:?}");
            }
        }
    }
    Ok(marks)
}

fn expect_recovery(
    recovery: &Recovery,
    database: &Database,
    number: u64,
    order: &CommitOrder,
) -> Result<(), Failure> {
    let transaction = database.stat()?.transaction;
    let is_right = match recovery {
        // No report mentions commits that a power cut lost after a close without a trace.
        Recovery::Clean => order.may_be_closed(number),
        Recovery::Verified { last } => *last == transaction,
        Recovery::RolledBack { from, to, .. } => *to == transaction && from > to,
        _ => false,
    };
    if is_right {
        return Ok(());
    }
    Err(failure!(
        "opening reports {recovery:?}, but expected was transaction {transaction}, commit {number}"
    ))
}

/// Fails unless the database holds exactly the contents after these commits.
fn expect_state(txn: &ReadTxn, marks: &[CommitMark], state: &TableState) -> Result<(), Failure> {
    let found = self::marks(txn)?;
    if found != marks {
        let (found, expected) = (found.last(), marks.last());
        bail!("the newest commit is {found:?}, not {expected:?}");
    }
    match marks {
        [] => Ok(()),
        _ => expect_records(txn, state),
    }
}
