//! Inspects a database after a crash: it must be in an allowed state without damage, report its
//! recovery truthfully, and take another commit.

use super::{
    CommitHistory, CrashScope, ExpectedCommits,
    commit::key_bytes,
    history::TableState,
    victim::{TABLE, label, make, newest_number, open_options},
};
use crate::Failure;
use std::path::Path;
use teak::{Create, Database, Durability, ReadTxn, Recovery, Transaction, codec::Bytes};

/// The result of an inspection.
#[derive(Clone, Debug)]
pub(crate) struct InspectedDatabase {
    /// The newest commit; `None` if there is no database.
    pub(crate) number: Option<u64>,
    pub(crate) recovery: Recovery,
}

/// Inspects the database at `path` and makes another commit, which is added to `history`.
///
/// # Errors
///
/// Every violation.
pub(crate) fn inspect(
    path: &Path,
    history: &mut CommitHistory,
    expected: &ExpectedCommits,
) -> Result<InspectedDatabase, Failure> {
    if !path.exists() {
        return if expected.is_file_promised {
            Err(failure!("there is no database"))
        } else {
            Ok(InspectedDatabase {
                number: None,
                recovery: Recovery::Clean,
            })
        };
    }
    let database = open_options(history.script(), 4096)
        .create(Create::Never)
        .open(path)?;
    let recovery = database.recovery();
    expect_clean(&database)?;
    let number = newest_number(&database)?;
    expected.check(number)?;
    expect_recovery(&recovery, &database, number, expected)?;
    expect_state(&database, history, number)?;

    let incarnation = history.next_incarnation();
    history.continue_from(number, incarnation);
    history.settle(number);
    let mut txn = database.begin_write()?;
    make(
        &mut txn,
        history.origin(number + 1),
        &history.commit(number + 1),
    )?;
    txn.set_durability(Durability::Durable);
    txn.commit()?;
    expect_clean(&database)?;
    expect_state(&database, history, number + 1)?;
    database.close()?;
    Ok(InspectedDatabase {
        number: Some(number),
        recovery,
    })
}

pub(super) fn expect_clean(database: &Database) -> Result<(), Failure> {
    let report = database.check(&mut |_| ())?;
    if report.is_clean() {
        return Ok(());
    }
    Err(failure!("check found damage: {:?}", report.damages))
}

fn expect_recovery(
    recovery: &Recovery,
    database: &Database,
    number: u64,
    expected: &ExpectedCommits,
) -> Result<(), Failure> {
    let transaction = database.stat()?.transaction;
    let is_right = match (recovery, expected.crash) {
        // No report mentions commits that a power cut lost after a close without a trace.
        (Recovery::Clean, _) => expected.closes.contains(&number),
        (Recovery::Killed { last }, CrashScope::Process) => *last == transaction,
        // A kill may tear a record that spans several pages of the system.
        (Recovery::RolledBack { from, to, .. }, CrashScope::Process) => {
            *to == transaction && *from == to.next() && number < expected.newest
        }
        (Recovery::Verified { last }, CrashScope::Machine) => *last == transaction,
        (Recovery::RolledBack { from, to, .. }, CrashScope::Machine) => {
            *to == transaction && from > to
        }
        _ => false,
    };
    if is_right {
        return Ok(());
    }
    Err(failure!(
        "opening reports {recovery:?}, but expected was transaction {transaction}, {expected:?}"
    ))
}

/// Fails unless the database holds exactly the contents after commit `number`.
fn expect_state(database: &Database, history: &CommitHistory, number: u64) -> Result<(), Failure> {
    let txn = database.begin_read()?;
    let expected = match number {
        0 => None,
        _ => Some(history.origin(number).label()),
    };
    let found = label(&txn)?;
    if found != expected {
        let text = format!("the newest commit is {found:?}, not {expected:?}");
        return Err(Failure(text));
    }
    if number > 0 {
        expect_records(&txn, &history.state(number))?;
    }
    Ok(())
}

pub(super) fn expect_records(txn: &ReadTxn, state: &TableState) -> Result<(), Failure> {
    let table = txn.open_table::<Bytes, Bytes>(TABLE)?;
    let mut expected = state.iter();
    for record in table.iter(txn)? {
        let (key, value) = record?;
        let name = String::from_utf8_lossy(&key).into_owned();
        match expected.next() {
            Some((number, content)) if key_bytes(*number) == key => {
                ensure!(content.bytes() == value, "the value of {name} is wrong");
            }
            _ => bail!("{name} should not exist"),
        }
    }
    match expected.next() {
        None => Ok(()),
        Some((key, _)) => Err(failure!("key {key} is missing")),
    }
}
