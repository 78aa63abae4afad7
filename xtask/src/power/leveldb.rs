//! Power cuts under a program that writes through the library with LevelDB's interface: synced
//! batches are kept, and of the others at most the last ones are lost.

use super::{
    boot::BootIdFile,
    disk::{JournalFate, PowerDisk},
    scenario::PowerCutOutcome,
    tally::PowerTally,
};
use crate::{
    Failure, Result,
    campaign::{child::wait_until, violations},
    leveldb::{LevelDbLibrary, LibraryProgram, WriterAccount, WrittenState, found_records},
    names::Named,
    workload::CrashScope,
};
use fastrand::Rng;
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The maximum running time of a program, and the time for opening and the first batches.
const RUN: Duration = Duration::from_millis(200);
const OPENING: Duration = Duration::from_millis(30);
/// The time in which a stopped program's output arrives.
const SETTLING: Duration = Duration::from_millis(2);
const THREADS_MAX: usize = 8;

/// A directory of the library on a disk with repeated power cuts.
struct LibraryScenario<'a> {
    program: &'a LibraryProgram,
    disk: &'a mut PowerDisk,
    boot: &'a BootIdFile,
    path: PathBuf,
    threads: usize,
    seed: u64,
    account: WriterAccount,
    state: WrittenState,
}

/// The program that writes.
pub(super) fn program(library: Option<&Path>, scratch: &Path) -> Result<LibraryProgram> {
    let library = LevelDbLibrary::of_teak(library)?;
    LibraryProgram::compile(library, scratch)
}

/// Cuts the power of a disk until there were so many cuts.
pub(super) fn cut_all(
    program: &LibraryProgram,
    disk: &mut PowerDisk,
    boot: &BootIdFile,
    (seed, cuts_max): (u64, u64),
    tally: &mut PowerTally,
) -> Result {
    let name = disk.filesystem().name();
    let mut rng = Rng::with_seed(seed ^ disk.filesystem() as u64);
    while tally.cuts < cuts_max {
        let mut scenario = LibraryScenario::new(program, disk, boot, &mut rng);
        for _ in 0..rng.u64(1..8).min(cuts_max - tally.cuts) {
            tally.cuts += 1;
            match scenario.cut(&mut rng) {
                Ok(outcome) => tally.note(outcome),
                Err(Failure(text)) => {
                    tally.violations += 1;
                    println!("violation at power cut {} of {name}: {text}", tally.cuts);
                    scenario.report(&format!("power-leveldb-{name}-{}", tally.cuts))?;
                    break;
                }
            }
        }
        scenario.end()?;
    }
    Ok(())
}

impl<'a> LibraryScenario<'a> {
    fn new(
        program: &'a LibraryProgram,
        disk: &'a mut PowerDisk,
        boot: &'a BootIdFile,
        rng: &mut Rng,
    ) -> Self {
        let (threads, seed) = (rng.usize(1..=THREADS_MAX), rng.u64(..));
        Self {
            program,
            path: disk.mount_point().join("database"),
            disk,
            boot,
            threads,
            seed,
            account: WriterAccount::new(CrashScope::Machine, threads),
            state: WrittenState::new(seed, threads),
        }
    }

    /// Lets threads write until the power fails, and checks what is found afterwards.
    fn cut(&mut self, rng: &mut Rng) -> Result<PowerCutOutcome> {
        let options = self.disk.mount_options(true);
        self.disk
            .start_again(options[rng.usize(0..options.len())])?;
        self.boot.renew()?;
        let longest = match rng.u8(0..4) {
            0 => OPENING,
            _ => RUN,
        };
        let end = Instant::now() + longest.mul_f64(rng.f64());
        let batches = (self.threads, self.seed, 0);
        let mut child = self.program.write(&self.path, batches)?;
        wait_until(end);
        // All reports of a stopped program were true before the power failed.
        child.stop()?;
        thread::sleep(SETTLING);
        let early_end = child.status()?;
        let promised = child.output();
        let journal = JournalFate::draw(rng);
        let file = self.path.join("data.teak");
        self.disk.cut_with_parts(&file, journal, rng)?;
        let ended = child.kill()?;
        ensure!(
            early_end.is_none(),
            "the program failed before the power did: {}",
            ended.errors
        );
        let whole = promised.rfind('\n').map_or(0, |end| end + 1);
        self.account.add(&promised[..whole])?;
        self.account.add_unpromised(&ended.output[whole..])?;
        self.disk.start_again(options[0])?;
        self.boot.renew()?;
        self.inspect()
    }

    fn inspect(&mut self) -> Result<PowerCutOutcome> {
        let ended = self.program.run("dump", &self.path)?;
        let is_missing = ended.errors.contains("create_if_missing is false")
            || ended.errors.contains("No such file or directory");
        if is_missing && self.account.promises_nothing() {
            // Nothing was promised, so nothing may have been kept.
            let none = vec![0; self.threads];
            self.account.settle(&none)?;
            return Ok(PowerCutOutcome::Nothing);
        }
        ensure!(ended.status.success(), "cannot be read: {}", ended.errors);
        let found = found_records(&ended.output)?;
        let newest = self.state.newest_in(&found)?;
        let lost_commits = self.account.lost(&newest);
        self.account.settle(&newest)?;
        self.state.advance(&newest)?;
        self.state.expect(&found)?;
        Ok(PowerCutOutcome::Found {
            number: newest.iter().sum(),
            lost_commits,
            recovery: None,
            has_log: false,
        })
    }

    fn report(&self, name: &str) -> Result {
        let (threads, seed) = (self.threads, self.seed);
        println!("  {threads} threads, batches of seed {seed}");
        if self.path.is_dir() {
            let saved = violations::save_all(&self.path, name)?;
            println!("  the directory: {}", saved.display());
        }
        Ok(())
    }

    /// Removes the directory to free its space.
    fn end(self) -> Result {
        match self.path.exists() {
            true => Ok(fs::remove_dir_all(&self.path)?),
            false => Ok(()),
        }
    }
}
