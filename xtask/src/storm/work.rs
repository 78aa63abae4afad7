//! The threads of a worker, which perform random operations.

use super::{
    arguments::{THREADS_MAX, WorkerArguments},
    context::{Access, OpenDatabase, WorkerContext},
    fork,
    invariants::{self, InvariantDepth},
    journal::{Promises, Subject},
    meddle,
    misbehaviour::Misbehaviour,
    progress::ProgressReporter,
};
use crate::{Context, Result, campaign::database::expect_clean};
use fastrand::Rng;
use std::{thread, time::Duration};
use teak::{Database, Error, ReadTxn, Transaction};

/// A thread of a worker.
pub(super) struct WorkerThread<'w, 'a> {
    pub(super) worker: &'w WorkerContext<'a>,
    /// A number that is unique in the round.
    pub(super) writer: u64,
    /// The number of its commits.
    pub(super) commits: u64,
    pub(super) rng: Rng,
    pub(super) reporter: ProgressReporter,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StormOperation {
    Write,
    Read,
    LongRead,
    Sync,
    Check,
    Reopen,
    Fork,
    Meddle,
    Rest,
}

impl StormOperation {
    fn draw(rng: &mut Rng, arguments: &WorkerArguments) -> Self {
        match rng.u8(0..100) {
            0..58 => Self::Write,
            58..84 => Self::Read,
            84..88 => Self::LongRead,
            88..92 => Self::Sync,
            92..93 => Self::Check,
            93..95 => Self::Reopen,
            95..97 if arguments.fork => Self::Fork,
            97..99 if arguments.meddle => Self::Meddle,
            _ => Self::Rest,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::LongRead => "long read",
            Self::Sync => "sync",
            Self::Check => "check",
            Self::Reopen => "opening again",
            Self::Fork => "fork",
            Self::Meddle => "meddling with files",
            Self::Rest => "rest",
        }
    }
}

/// Fails unless a database that is open for reading refused a change.
pub(super) fn refused<T>(result: teak::Result<T>) -> Result {
    match result {
        Err(Error::ReadOnly) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(failure!(
            "it succeeded, although the database is open for reading only"
        )),
    }
}

impl<'w, 'a> WorkerThread<'w, 'a> {
    pub(super) fn new(
        worker: &'w WorkerContext<'a>,
        index: usize,
        reporter: ProgressReporter,
        rng: Rng,
    ) -> Self {
        Self {
            worker,
            writer: worker.arguments.number * THREADS_MAX + index as u64,
            commits: 0,
            rng,
            reporter,
        }
    }

    /// Works until the end of the worker. First checks that all commits acknowledged before exist.
    pub(super) fn run(&mut self) -> Result {
        let mut operation = StormOperation::Read;
        while !self.worker.is_to_end() {
            self.reporter.begin(operation.name())?;
            self.operate(operation)
                .context(format_args!("{}", operation.name()))?;
            operation = StormOperation::draw(&mut self.rng, self.worker.arguments);
        }
        self.reporter.end()
    }

    fn operate(&mut self, operation: StormOperation) -> Result {
        let worker = self.worker;
        match operation {
            StormOperation::Reopen => worker.reopen(&mut self.rng),
            StormOperation::Rest => self.rest(),
            StormOperation::Meddle => {
                meddle::meddle(&worker.arguments.directory, self.writer, &mut self.rng)
            }
            _ => worker.with(|opened| self.operate_on(operation, opened)),
        }
    }

    fn operate_on(&mut self, operation: StormOperation, opened: &OpenDatabase) -> Result {
        let database = &opened.database;
        match (operation, opened.access) {
            (StormOperation::Write, Access::Write) => self.write(database),
            (StormOperation::Write, Access::Read) => refused(database.begin_write()),
            (StormOperation::Sync, Access::Write) => self.sync(database),
            (StormOperation::Sync, Access::Read) => refused(database.sync()),
            (StormOperation::LongRead, _) => self.read_long(opened),
            (StormOperation::Check, _) => expect_clean(database),
            (StormOperation::Fork, _) => fork::fork(database),
            _ => self.read(database),
        }
    }

    fn rest(&mut self) -> Result {
        if self.misbehaves(Misbehaviour::Hang) {
            thread::sleep(Duration::MAX);
        }
        assert!(!self.misbehaves(Misbehaviour::Panic), "on purpose");
        thread::sleep(Duration::from_micros(self.rng.u64(0..5000)));
        Ok(())
    }

    fn sync(&mut self, database: &Database) -> Result {
        match self.rng.u8(0..4) {
            0 if !database.info().is_flush_due => {}
            1 => database.begin_sync()?.wait()?,
            _ => database.sync()?,
        }
        Ok(())
    }

    /// Whether to perform this misbehaviour now.
    pub(super) fn misbehaves(&mut self, misbehaviour: Misbehaviour) -> bool {
        self.worker.arguments.misbehaviour == Some(misbehaviour) && self.rng.bool()
    }

    fn read(&mut self, database: &Database) -> Result {
        let depth = [
            InvariantDepth::Promises,
            InvariantDepth::Tables,
            InvariantDepth::Tables,
            InvariantDepth::Values,
        ];
        let depth = depth[self.rng.usize(0..4)];
        let (txn, promises) = self.begin_read(database)?;
        self.check_snapshot(&txn, &promises, depth)
    }

    /// Begins a read transaction. Returns the promises that it must satisfy.
    fn begin_read(&self, database: &Database) -> Result<(ReadTxn, Promises)> {
        let promises = self.worker.journal.promises()?;
        let txn = database.begin_read()?;
        let (found, seen) = (txn.id().0, promises.transaction);
        ensure!(
            found >= seen,
            "the state is {found}, but {seen} was seen before"
        );
        Ok((txn, promises))
    }

    /// Checks a snapshot, and records it: no later reader may see an older one.
    fn check_snapshot(&self, txn: &ReadTxn, promises: &Promises, depth: InvariantDepth) -> Result {
        let count = invariants::check(txn, promises, depth)
            .context(format_args!("in state {}", txn.id()))?;
        let journal = &self.worker.journal;
        if count > promises.counter {
            journal.note(Subject::Counter, count)?;
        }
        if txn.id().0 > promises.transaction {
            journal.note(Subject::Transaction, txn.id().0)?;
        }
        Ok(())
    }

    /// Holds a snapshot while other threads, or this one, commit. It must not change.
    fn read_long(&mut self, opened: &OpenDatabase) -> Result {
        let (txn, promises) = self.begin_read(&opened.database)?;
        let before = invariants::digest(&txn)?;
        let txn = match self.rng.u8(0..3) {
            0 => txn.clone(),
            1 => elsewhere(txn, before)?,
            _ => txn,
        };
        for _ in 0..self.rng.u8(1..16) {
            if self.worker.is_to_end() {
                break;
            }
            if opened.access == Access::Write && self.rng.bool() {
                self.write(&opened.database)?;
            } else {
                thread::sleep(Duration::from_millis(self.rng.u64(0..30)));
            }
            self.reporter.begin("long read")?;
        }
        self.reporter.begin("the end of a long read")?;
        let txn = if self.rng.bool() {
            elsewhere(txn, before)?
        } else {
            txn
        };
        self.check_snapshot(&txn, &promises, InvariantDepth::Values)?;
        expect_digest(&txn, before)
    }
}

/// Sends the snapshot to another thread, which checks it and sends it back.
fn elsewhere(txn: ReadTxn, digest: u64) -> Result<ReadTxn> {
    let thread = thread::spawn(move || expect_digest(&txn, digest).map(|()| txn));
    let result = thread.join();
    result.map_err(|_| failure!("a thread that reads panicked"))?
}

fn expect_digest(txn: &ReadTxn, expected: u64) -> Result {
    ensure!(
        invariants::digest(txn)? == expected,
        "the contents of snapshot {} have changed",
        txn.id()
    );
    Ok(())
}
