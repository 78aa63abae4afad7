//! The state that the threads of a worker share: its database, which is reopened sometimes.

use super::{
    arguments::{DATABASE, WorkerArguments},
    journal::StormJournal,
    meddle,
};
use crate::{Context, Result, campaign::draw};
use fastrand::Rng;
use std::{
    sync::{
        RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use teak::{Create, Database, Durability, Error, Options};

/// The state that all threads of a worker share.
pub(super) struct WorkerContext<'a> {
    pub(super) arguments: &'a WorkerArguments,
    pub(super) journal: StormJournal,
    /// `None` while it is reopened.
    pub(super) database: RwLock<Option<OpenDatabase>>,
    is_to_end: AtomicBool,
}

/// The database as opened by the worker.
pub(super) struct OpenDatabase {
    pub(super) database: Database,
    pub(super) access: Access,
}

/// The access with which the database is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    Write,
}

impl<'a> WorkerContext<'a> {
    pub(super) fn open(arguments: &'a WorkerArguments, rng: &mut Rng) -> Result<Self> {
        let journal = StormJournal::open(&arguments.directory)?;
        let opened = open(arguments, &journal, rng)?;
        Ok(Self {
            arguments,
            journal,
            database: RwLock::new(Some(opened)),
            is_to_end: AtomicBool::new(false),
        })
    }

    pub(super) fn end(&self) {
        self.is_to_end.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_to_end(&self) -> bool {
        self.is_to_end.load(Ordering::Relaxed)
    }

    /// Runs `work` on the database, which stays open during that time.
    pub(super) fn with<R>(&self, work: impl FnOnce(&OpenDatabase) -> Result<R>) -> Result<R> {
        let opened = self.database.read()?;
        let opened = opened.as_ref();
        work(opened.context("the database is not open")?)
    }

    /// Closes or drops the database, and opens it again.
    pub(super) fn reopen(&self, rng: &mut Rng) -> Result {
        let mut opened = self.database.write()?;
        if let Some(opened) = opened.take()
            && rng.bool()
        {
            opened.database.close()?;
        }
        *opened = Some(open(self.arguments, &self.journal, rng)?);
        Ok(())
    }
}

fn open(
    arguments: &WorkerArguments,
    journal: &StormJournal,
    rng: &mut Rng,
) -> Result<OpenDatabase> {
    let path = arguments.directory.join(DATABASE);
    let mut options = options(arguments.page_size, rng);
    if rng.u8(0..5) == 0 {
        let promises = journal.promises()?;
        let options = options.clone().read_only(true);
        match meddle::open(arguments, || options.open(&path)) {
            Ok(database) => {
                let access = Access::Read;
                return Ok(OpenDatabase { database, access });
            }
            Err(Error::NotFound(_)) if promises.is_empty() => {}
            Err(error) => bail!("opening to read: {error}"),
        }
    }
    if !journal.promises()?.is_empty() {
        options = options.create(Create::Never);
    }
    let database = meddle::open(arguments, || options.open(&path)).context("opening")?;
    let access = Access::Write;
    Ok(OpenDatabase { database, access })
}

fn options(page_size: usize, rng: &mut Rng) -> Options {
    let mut options = Options::new().page_size(page_size);
    if rng.bool() {
        options = options.geometry(draw::geometry(rng, page_size));
    }
    if rng.u8(0..3) == 0 {
        options = options.durability(durability(rng));
    }
    if rng.u8(0..3) == 0 {
        let age = [
            Duration::from_millis(3),
            Duration::from_millis(50),
            Duration::MAX,
        ];
        options = options.flush_after(age[rng.usize(0..3)]);
    }
    if rng.u8(0..3) == 0 {
        options = options.flush_after_bytes([64 << 10, 1 << 20, u64::MAX][rng.usize(0..3)]);
    }
    if rng.u8(0..3) == 0 {
        options = options.write_memory_bytes(256 << 10);
    }
    if rng.bool() {
        options = options.journal_bytes(page_size as u64 * [0, 3, 16, 64][rng.usize(0..4)]);
    }
    options
}

pub(super) fn durability(rng: &mut Rng) -> Durability {
    [Durability::Durable, Durability::Async, Durability::Lazy][rng.usize(0..3)]
}
