//! Inspects a database after a crash: it must be in an allowed state without damage, report its
//! recovery truthfully, and take another commit.

use super::{
    CommitMark, CommitOrder, CommitScript, CrashScope,
    commit::{TableState, key_bytes},
    member::{ORDER, TABLE, make, newest, open_options},
};
use crate::{
    Result,
    campaign::database::{existing, expect_clean, expect_records},
};
use std::path::Path;
use teak::{Create, Database, Durability, ReadTxn, Recovery, Transaction, codec::Str};

/// The result of an inspection.
#[derive(Clone, Debug)]
pub(crate) struct InspectedDatabase {
    /// The newest commit; `None` if there is no database.
    pub(crate) number: Option<u64>,
    pub(crate) recovery: Recovery,
}

/// Inspects the database at `path`, then commits, closes and opens it again. That commit is added
/// to `order`.
///
/// # Errors
///
/// Every violation.
pub(crate) fn inspect(path: &Path, order: &mut CommitOrder) -> Result<InspectedDatabase> {
    if !path.exists() {
        ensure!(!order.is_file_promised(), "there is no database");
        return Ok(InspectedDatabase {
            number: None,
            recovery: Recovery::Clean,
        });
    }
    let database = open(path, order)?;
    let recovery = database.info().recovery;
    expect_clean(&database)?;
    let mut marks = marks(&database.begin_read()?)?;
    let number = marks.len() as u64;
    order.expect_possible(number)?;
    expect_recovery(&recovery, &database, number, order)?;
    let state = order.state_after(&marks)?;
    expect_state(&database.begin_read()?, &marks, &state)?;
    let mark = CommitMark {
        member: order.next_member(),
        count: 1,
    };
    marks.push(mark);
    let state = order.state_with(state, mark);
    let mut txn = database.begin_write()?;
    make(&mut txn, number + 1, mark, &order.commit(mark))?;
    txn.set_durability(Durability::Durable);
    txn.commit()?;
    expect_clean(&database)?;
    database.close()?;
    let database = open(path, order)?;
    let reopened = database.info().recovery;
    ensure!(
        reopened == Recovery::Clean,
        "opening after a close reports {reopened:?}"
    );
    expect_state(&database.begin_read()?, &marks, &state)?;
    expect_clean(&database)?;
    database.close()?;
    order.settle(marks, state);
    Ok(InspectedDatabase {
        number: Some(number),
        recovery,
    })
}

fn open(path: &Path, order: &CommitOrder) -> Result<Database> {
    let options = open_options(order.common.script, order.common.page_size);
    Ok(options.create(Create::Never).open(path)?)
}

/// The marks of the commits in the database. They are numbered from 1.
fn marks(txn: &ReadTxn) -> Result<Vec<CommitMark>> {
    let Some(table) = existing(txn.open_table::<u64, Str>(ORDER))? else {
        return Ok(Vec::new());
    };
    let mut marks = Vec::new();
    for record in table.iter(txn)? {
        let (number, text) = record?;
        match CommitMark::parse(text) {
            Some(mark) if number == marks.len() as u64 + 1 => marks.push(mark),
            _ => bail!("commit {} is followed by {number}, {text:?}", marks.len()),
        }
    }
    Ok(marks)
}

fn expect_recovery(
    recovery: &Recovery,
    database: &Database,
    number: u64,
    order: &CommitOrder,
) -> Result {
    let transaction = database.stat()?.transaction;
    let is_right = match (recovery, order.crash) {
        // No report mentions commits that a power cut lost after a close without a trace.
        (Recovery::Clean, _) => order.may_be_closed(number),
        (Recovery::Killed { last }, CrashScope::Process)
        | (Recovery::Verified { last }, CrashScope::Machine) => *last == transaction,
        // A kill may tear a record that spans several pages of the system.
        (Recovery::RolledBack { from, to, .. }, CrashScope::Process) => {
            *to == transaction && *from == to.next() && number < order.newest()
        }
        (Recovery::RolledBack { from, to, .. }, CrashScope::Machine) => {
            *to == transaction && from > to
        }
        _ => false,
    };
    ensure!(
        is_right,
        "opening reports {recovery:?}, but expected was transaction {transaction}, commit {number} \
         of {order:?}"
    );
    Ok(())
}

/// Fails unless the database holds exactly the contents after these commits.
fn expect_state(txn: &ReadTxn, marks: &[CommitMark], state: &TableState) -> Result {
    let found = self::marks(txn)?;
    let (last, expected) = (found.last(), marks.last());
    ensure!(
        found == marks,
        "the newest commit is {last:?}, not {expected:?}"
    );
    let number = newest(txn, CommitScript::Small)?;
    ensure!(
        number == marks.len() as u64,
        "the number of the newest commit is stored as {number}, not as {}",
        marks.len()
    );
    if marks.is_empty() {
        return Ok(());
    }
    let records = state.iter();
    expect_records(
        txn,
        TABLE,
        records.map(|(key, content)| (key_bytes(*key), content.bytes())),
    )
}
