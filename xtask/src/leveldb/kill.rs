//! Kills programs that write through the library, and those that convert, remove and repair
//! directories: each batch that returned must be there, whole and in its order.

use super::{
    account::WriterAccount,
    interrupted,
    library::{LevelDbLibrary, LibraryProgram},
    written::{WrittenState, found_records},
};
use crate::{
    Failure, Result,
    campaign::{CampaignArguments, ScratchArguments, child::wait_until, named, violations},
    workload::CrashScope,
};
use fastrand::Rng;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The maximum running time of a program, and the time for opening and the first batches.
const RUN: Duration = Duration::from_millis(150);
const OPENING: Duration = Duration::from_millis(25);
const THREADS_MAX: usize = 8;
/// One in this many kills interrupts a conversion, a removal or a repair.
const INTERRUPTED_SHARE: u64 = 4;

/// Kills programs that use the library with LevelDB's interface, and checks the databases
#[derive(clap::Args)]
pub(crate) struct LevelDbKillArguments {
    /// Number of kills
    #[arg(long, default_value_t = 300)]
    count: u64,
    #[command(flatten)]
    campaign: CampaignArguments,
    #[command(flatten)]
    scratch: ScratchArguments,
    /// The library over Teak; built if it is not given
    #[arg(long)]
    library: Option<PathBuf>,
    /// LevelDB's own library, which makes the directories that are converted; that of Debian's
    /// package libleveldb1d if it is not given
    #[arg(long)]
    leveldb: Option<PathBuf>,
}

/// The counts of the kills so far.
#[derive(Clone, Copy, Default, Debug)]
struct WriterKills {
    kills: u64,
    inspected: u64,
    early: u64,
    batches: u64,
    synced: u64,
    violations: u64,
}

/// A database, and what its programs reported.
struct WrittenDatabase<'p> {
    program: &'p LibraryProgram,
    directory: TempDir,
    threads: usize,
    seed: u64,
    account: WriterAccount,
    state: WrittenState,
}

/// Kills and inspects as often as requested.
pub(crate) fn run(arguments: &LevelDbKillArguments) -> Result {
    let run = arguments.campaign.begin("leveldb-kill");
    let scratch = arguments.scratch.directory()?;
    let library = LevelDbLibrary::of_teak(arguments.library.as_deref())?;
    let program = LibraryProgram::compile(library, scratch.path())?;
    let mut rng = Rng::with_seed(arguments.campaign.seed);
    let interrupted = arguments.count / INTERRUPTED_SHARE;
    let mut tally = WriterKills::default();
    while tally.kills < arguments.count - interrupted {
        let left = arguments.count - interrupted - tally.kills;
        let kills = rng.u64(1..12).min(left);
        let mut database = WrittenDatabase::new(&program, scratch.path(), &mut rng)?;
        database.kill_often(&mut rng, kills, &mut tally)?;
        tally.batches += database.account.batches;
        tally.synced += database.account.synced;
    }
    let leveldb = LevelDbLibrary::of_leveldb(arguments.leveldb.as_deref());
    let others = interrupted::run(
        &program,
        leveldb.map(|leveldb| program.with(leveldb)),
        scratch.path(),
        &mut rng,
        interrupted,
    )?;
    let mut counters = named([
        ("writing", tally.kills),
        ("inspected", tally.inspected),
        ("early", tally.early),
        ("batches", tally.batches),
        ("synced", tally.synced),
    ]);
    counters.extend(others.counters());
    run.print_counters(&counters);
    run.finish(
        (tally.kills + others.kills(), "kills"),
        tally.violations + others.violations,
        &counters,
        "a kill violated a promise",
    )
}

impl<'p> WrittenDatabase<'p> {
    fn new(program: &'p LibraryProgram, scratch: &Path, rng: &mut Rng) -> Result<Self> {
        let threads = rng.usize(1..=THREADS_MAX);
        let seed = rng.u64(..);
        Ok(Self {
            program,
            directory: tempfile::tempdir_in(scratch)?,
            threads,
            seed,
            account: WriterAccount::new(CrashScope::Process, threads),
            state: WrittenState::new(seed, threads),
        })
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("database")
    }

    /// Kills so many programs, one after another, up to a violation.
    fn kill_often(&mut self, rng: &mut Rng, kills: u64, tally: &mut WriterKills) -> Result {
        for left in (0..kills).rev() {
            tally.kills += 1;
            let outcome = self.kill(rng).and_then(|()| {
                if left == 0 || rng.u8(0..3) > 0 {
                    tally.inspected += 1;
                    tally.early += u64::from(!self.inspect()?);
                }
                Ok(())
            });
            if let Err(Failure(text)) = outcome {
                tally.violations += 1;
                let (threads, seed) = (self.threads, self.seed);
                println!("violation at kill {}: {text}", tally.kills);
                println!("  {threads} threads, batches of seed {seed}");
                let saved =
                    violations::save_all(&self.path(), &format!("leveldb-kill-{}", tally.kills));
                println!("  the directory: {}", saved?.display());
                break;
            }
        }
        Ok(())
    }

    /// Kills the next program.
    fn kill(&mut self, rng: &mut Rng) -> Result {
        let longest = match rng.u8(0..3) {
            0 => OPENING,
            _ => RUN,
        };
        let end = Instant::now() + longest.mul_f64(rng.f64());
        let child = self
            .program
            .write(&self.path(), (self.threads, self.seed, 0))?;
        wait_until(end);
        let ended = child.kill()?;
        ensure!(
            ended.was_killed(),
            "the program failed without a kill: {}",
            ended.errors
        );
        self.account.add(&ended.output)
    }

    /// Opens the database through the library, and checks all records. Returns whether there is a
    /// database.
    fn inspect(&mut self) -> Result<bool> {
        let ended = self.program.run("dump", &self.path())?;
        let is_missing = ended.errors.contains("create_if_missing is false");
        if is_missing && self.account.promises_nothing() {
            return Ok(false);
        }
        ensure!(ended.status.success(), "cannot be read: {}", ended.errors);
        let found = found_records(&ended.output)?;
        let newest = self.state.newest_in(&found)?;
        self.account.settle(&newest)?;
        self.state.advance(&newest)?;
        self.state.expect(&found)?;
        Ok(true)
    }
}
