//! Inspection of the database at the end of a round.

use super::{
    arguments::{DATABASE, Role, THREADS_MAX, WorkerArguments},
    invariants::{self, InvariantDepth},
    journal::{Promises, StormJournal},
    meddle,
    progress::ProgressReporter,
    tables::{COMMITS, StormTables},
};
use crate::{Result, campaign::database::expect_clean};
use teak::{Create, Database, Error, Options, Transaction};

/// Commits after which no pages may be kept for readers that do not exist.
const COMMITS_ALONE: u64 = 4;

/// Pages that may be waiting then, because of the last commits.
const PENDING_MAX: u64 = 100;

/// Opens the database, checks everything, and closes it.
pub(super) fn run(arguments: &WorkerArguments, reporter: &mut ProgressReporter) -> Result {
    let journal = StormJournal::open(&arguments.directory)?;
    let path = arguments.directory.join(DATABASE);
    reporter.begin("opening to inspect")?;
    let promises = journal.promises()?;
    let options = Options::new().create(Create::Never);
    let database = match meddle::open(arguments, || options.open(&path)) {
        Err(Error::NotFound(_)) if promises.is_empty() => return Ok(()),
        opened => opened?,
    };
    reporter.begin("checking for damage")?;
    expect_clean(&database)?;
    reporter.begin("checking all tables")?;
    inspect_once(&database, &promises)?;
    if arguments.role == Role::Inspect {
        reporter.begin("committing alone")?;
        expect_no_readers(&database, arguments.number * THREADS_MAX)?;
        inspect_once(&database, &promises)?;
    }
    reporter.begin("closing")?;
    Ok(database.close()?)
}

fn inspect_once(database: &Database, promises: &Promises) -> Result {
    let txn = database.begin_read()?;
    let (found, seen) = (txn.id().0, promises.transaction);
    ensure!(found >= seen, "the state is {found}, but {seen} was seen");
    invariants::check(&txn, promises, InvariantDepth::Values)?;
    Ok(())
}

/// Fails if pages are kept for readers, after commits that can see that there are none.
fn expect_no_readers(database: &Database, writer: u64) -> Result {
    for commits in 1..=COMMITS_ALONE {
        let mut txn = database.begin_write()?;
        let tables = StormTables::create(&mut txn)?;
        let count = tables.count(&txn)?;
        tables.counter.insert(&mut txn, COMMITS, count + 1)?;
        tables.acknowledged.insert(&mut txn, writer, commits)?;
        txn.commit()?;
    }
    let stat = database.stat()?;
    if stat.readers != 0 || stat.pending_pages > PENDING_MAX {
        bail!(
            "{} readers are counted and {} pages are kept, but there are no readers",
            stat.readers,
            stat.pending_pages
        );
    }
    Ok(())
}
