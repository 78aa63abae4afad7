//! One of the programs that work on the database: `cargo xtask storm-worker`.
//!
//! What it finds wrong it says on its standard error, and ends. It is told to end by the end of its
//! standard input.

use super::{
    inspect,
    journal::StormJournal,
    meddle,
    misbehaviour::Misbehaviour,
    progress::{self, ProgressReporter},
    work::WorkerThread,
};
use crate::{Failure, geometry};
use fastrand::Rng;
use std::{
    io::{self, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process,
    sync::{
        RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use teak::{Database, Durability, Error, Options};

/// The database, below the directory of a round.
pub(super) const DATABASE: &str = "storm.teak";

/// Threads of a worker at most; one more may write on behalf of the inspection.
pub(super) const THREADS_MAX: u64 = 8;

/// Works on the database of a storm
#[derive(clap::Args)]
pub(crate) struct WorkerArguments {
    /// The directory of the round
    #[arg(long)]
    pub(super) directory: PathBuf,
    /// Which worker of the round this is
    #[arg(long)]
    pub(super) number: u64,
    #[arg(long)]
    pub(super) seed: u64,
    #[arg(long)]
    pub(super) page_size: usize,
    #[arg(long, value_enum)]
    pub(super) role: Role,
    /// Forks now and then
    #[arg(long)]
    pub(super) fork: bool,
    /// Does to the files what other programs do
    #[arg(long)]
    pub(super) meddle: bool,
    /// Does something wrong on purpose
    #[arg(long = "break")]
    pub(super) misbehaviour: Option<Misbehaviour>,
}

/// What a worker is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Role {
    /// Reads and writes until it is killed or told to end
    Work,
    /// Checks everything, with nobody else there
    Inspect,
    /// Checks everything, while somebody works
    InspectBeside,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Inspect => "inspect",
            Self::InspectBeside => "inspect-beside",
        }
    }
}

/// What all threads of a worker share.
pub(super) struct WorkerContext<'a> {
    pub(super) arguments: &'a WorkerArguments,
    pub(super) journal: StormJournal,
    /// None while it is opened again.
    database: RwLock<Option<OpenDatabase>>,
    is_to_end: AtomicBool,
}

/// The database, as the worker has it open.
pub(super) struct OpenDatabase {
    pub(super) database: Database,
    pub(super) access: Access,
}

/// What the database is open for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    Write,
}

/// Works, or inspects.
pub(crate) fn run(arguments: &WorkerArguments) -> Result<(), Failure> {
    let signal = rustix::process::Signal::KILL;
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    let progress = progress::path(&arguments.directory, arguments.number);
    let mut reporter = ProgressReporter::open(&progress, 0)?;
    if arguments.role != Role::Work {
        return inspect::run(arguments, &mut reporter);
    }
    let mut rng = Rng::with_seed(arguments.seed);
    let thread_count = [1, 1, 2, 4][rng.usize(0..4)];
    let mut reporters = vec![reporter];
    for index in 1..thread_count {
        let mut reporter = ProgressReporter::open(&progress, index)?;
        reporter.begin("starting")?;
        reporters.push(reporter);
    }
    reporters[0].begin("opening")?;
    let worker = WorkerContext::open(arguments, &mut rng)?;
    worker.run(reporters, &mut rng);
    let database = worker.database.into_inner()?;
    match database {
        Some(opened) if rng.bool() => Ok(opened.database.close()?),
        _ => Ok(()),
    }
}

impl<'a> WorkerContext<'a> {
    fn open(arguments: &'a WorkerArguments, rng: &mut Rng) -> Result<Self, Failure> {
        let journal = StormJournal::open(&arguments.directory)?;
        let opened = open(arguments, &journal, rng)?;
        Ok(Self {
            arguments,
            journal,
            database: RwLock::new(Some(opened)),
            is_to_end: AtomicBool::new(false),
        })
    }

    /// Has each of the reporters' threads work until all are told to end.
    fn run(&self, reporters: Vec<ProgressReporter>, rng: &mut Rng) {
        thread::scope(|scope| {
            for (index, reporter) in reporters.into_iter().enumerate() {
                let thread = WorkerThread::new(self, index, reporter, rng.fork());
                scope.spawn(move || watched(index, thread));
            }
            // Whatever the input ends with, this is the end.
            let _ = io::stdin().read_to_end(&mut Vec::new());
            self.is_to_end.store(true, Ordering::Relaxed);
        });
    }

    pub(super) fn is_to_end(&self) -> bool {
        self.is_to_end.load(Ordering::Relaxed)
    }

    /// Does something with the database, which stays open meanwhile.
    pub(super) fn with<R>(
        &self,
        work: impl FnOnce(&OpenDatabase) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let opened = self.database.read()?;
        let opened = opened.as_ref();
        work(opened.ok_or_else(|| Failure("the database is not open".to_owned()))?)
    }

    /// Closes the database, or lets go of it, and opens it again.
    pub(super) fn reopen(&self, rng: &mut Rng) -> Result<(), Failure> {
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

/// One wrong thing is enough: the worker ends.
fn watched(index: usize, mut thread: WorkerThread<'_, '_>) {
    // A panic has been printed.
    let outcome = catch_unwind(AssertUnwindSafe(|| thread.run()));
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(Failure(text))) => {
            // By one call: a kill leaves all of it or nothing.
            let line = format!("thread {index}: {text}\n");
            let _ = io::stderr().write_all(line.as_bytes());
            process::exit(1);
        }
        Err(_) => process::exit(2),
    }
}

fn open(
    arguments: &WorkerArguments,
    journal: &StormJournal,
    rng: &mut Rng,
) -> Result<OpenDatabase, Failure> {
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
            Err(error) => return Err(Failure(format!("opening to read: {error}"))),
        }
    }
    if !journal.promises()?.is_empty() {
        options = options.create(false);
    }
    let database = meddle::open(arguments, || options.open(&path))
        .map_err(|error| Failure(format!("opening: {error}")))?;
    let access = Access::Write;
    Ok(OpenDatabase { database, access })
}

fn options(page_size: usize, rng: &mut Rng) -> Options {
    let mut options = Options::new().page_size(page_size);
    if rng.bool() {
        options = options.geometry(geometry::draw(rng, page_size));
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
