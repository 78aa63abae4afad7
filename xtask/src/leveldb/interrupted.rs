//! Conversions, removals and repairs that are killed, often several times. The next one must
//! complete them.

use super::{
    library::{LibraryProgram, copy_directory, has_file},
    written::{FoundRecords, found_records},
};
use crate::{
    Failure, Result,
    campaign::{
        child::{ChildProgram, wait_until},
        named, violations,
    },
};
use fastrand::Rng;
use std::{
    fs,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Threads and batches of the directories.
const THREADS: usize = 4;
const BATCHES: u64 = 400;
/// The most kills before a task may end.
const KILLS_MAX: u64 = 3;
/// The size of the engine's pages.
const PAGE_LEN: u64 = 4096;

/// The counts of the kills so far.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct InterruptedKills {
    conversions: u64,
    removals: u64,
    repairs: u64,
    /// Tasks that ended before they were to be killed.
    ended: u64,
    /// Records that were on damaged pages.
    lost: u64,
    pub(super) violations: u64,
}

impl InterruptedKills {
    pub(super) fn kills(&self) -> u64 {
        self.conversions + self.removals + self.repairs
    }

    pub(super) fn counters(&self) -> Vec<(String, u64)> {
        named([
            ("conversions", self.conversions),
            ("removals", self.removals),
            ("repairs", self.repairs),
            ("ended", self.ended),
            ("lost", self.lost),
        ])
    }
}

/// The directories that are copied for each task, and their records.
struct InterruptedTasks<'p> {
    program: &'p LibraryProgram,
    scratch: &'p Path,
    /// A directory of LevelDB and one of the library; with LevelDB's program for the former.
    leveldb: Option<(LibraryProgram, PathBuf)>,
    teak: PathBuf,
    records: FoundRecords,
    kills: InterruptedKills,
    /// The time that each task takes alone.
    times: [Duration; 3],
}

/// A task of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InterruptedTask {
    Convert,
    Destroy,
    Repair,
}

impl InterruptedTask {
    const ALL: [Self; 3] = [Self::Convert, Self::Destroy, Self::Repair];

    /// The word for the program.
    fn word(self) -> &'static str {
        match self {
            Self::Convert => "dump",
            Self::Destroy => "destroy",
            Self::Repair => "repair",
        }
    }
}

/// Interrupts tasks until there were so many kills.
pub(super) fn run(
    program: &LibraryProgram,
    leveldb: Option<LibraryProgram>,
    scratch: &Path,
    rng: &mut Rng,
    count: u64,
) -> Result<InterruptedKills> {
    if count == 0 {
        return Ok(InterruptedKills::default());
    }
    let mut tasks = InterruptedTasks::new(program, leveldb, scratch)?;
    while tasks.kills.kills() + tasks.kills.violations < count {
        let task = InterruptedTask::ALL[rng.usize(0..3)];
        let outcome = match task {
            InterruptedTask::Convert => tasks.convert(rng),
            InterruptedTask::Destroy => tasks.destroy(rng),
            InterruptedTask::Repair => tasks.repair(rng),
        };
        if let Err(Failure(text)) = outcome {
            tasks.kills.violations += 1;
            let number = tasks.kills.kills();
            println!("violation after {number} interruptions: {task:?}: {text}");
            if tasks.path().is_dir() {
                let saved =
                    violations::save_all(&tasks.path(), &format!("leveldb-interrupted-{number}"))?;
                println!("  the directory: {}", saved.display());
            }
        }
        for path in [tasks.path(), tasks.other()] {
            if path.exists() {
                fs::remove_dir_all(path)?;
            }
        }
    }
    Ok(tasks.kills)
}

impl<'p> InterruptedTasks<'p> {
    fn new(
        program: &'p LibraryProgram,
        leveldb: Option<LibraryProgram>,
        scratch: &'p Path,
    ) -> Result<Self> {
        let write = |program: &LibraryProgram, name: &str| -> Result<PathBuf> {
            let path = scratch.join(name);
            let ended = program.write(&path, (THREADS, 1, BATCHES))?.wait()?;
            ensure!(ended.status.success(), "{}", ended.errors);
            Ok(path)
        };
        let teak = write(program, "made-by-teak")?;
        let records = dump(program, &teak)?;
        let leveldb = match leveldb {
            None => {
                println!("NOT DONE: kills of conversions: LevelDB is not there");
                None
            }
            Some(leveldb) => {
                let path = write(&leveldb, "made-by-leveldb")?;
                ensure!(
                    dump(&leveldb, &path)? == records,
                    "LevelDB has other records"
                );
                Some((leveldb, path))
            }
        };
        let mut tasks = Self {
            program,
            scratch,
            leveldb,
            teak,
            records,
            kills: InterruptedKills::default(),
            times: [Duration::ZERO; 3],
        };
        for task in InterruptedTask::ALL {
            tasks.copy(task)?;
            let begin = Instant::now();
            tasks.program.run(task.word(), &tasks.path())?;
            tasks.times[task as usize] = begin.elapsed();
        }
        Ok(tasks)
    }

    fn path(&self) -> PathBuf {
        self.scratch.join("interrupted")
    }

    fn other(&self) -> PathBuf {
        self.scratch.join("uninterrupted")
    }

    /// Copies the directory for a task.
    fn copy(&self, task: InterruptedTask) -> Result {
        if self.path().exists() {
            fs::remove_dir_all(self.path())?;
        }
        let source = match (task, &self.leveldb) {
            (InterruptedTask::Convert, Some((_, directory))) => directory,
            _ => &self.teak,
        };
        copy_directory(source, &self.path())
    }

    /// Starts a task several times, and kills it.
    fn kill_often(&mut self, task: InterruptedTask, rng: &mut Rng) -> Result {
        for _ in 0..rng.u64(1..=KILLS_MAX) {
            let time = self.times[task as usize].mul_f64(rng.f64() * 1.1);
            let end = Instant::now() + time;
            let mut command = self.program.command(task.word(), &self.path());
            let mut child = ChildProgram::spawn(&mut command)?;
            wait_until(end);
            let status = child.status()?;
            let ended = child.kill()?;
            ensure!(
                status.is_none_or(|status| status.code().is_some()),
                "the program died without a kill: {}",
                ended.errors
            );
            ensure!(
                ended.was_killed() || ended.status.success() || task == InterruptedTask::Destroy,
                "the program failed without a kill: {}",
                ended.errors
            );
            *match task {
                _ if !ended.was_killed() => &mut self.kills.ended,
                InterruptedTask::Convert => &mut self.kills.conversions,
                InterruptedTask::Destroy => &mut self.kills.removals,
                InterruptedTask::Repair => &mut self.kills.repairs,
            } += 1;
        }
        Ok(())
    }

    /// A conversion. Up to its end LevelDB can open the directory; afterwards only the library.
    fn convert(&mut self, rng: &mut Rng) -> Result {
        let Some((leveldb, _)) = self.leveldb.clone() else {
            return self.repair(rng);
        };
        let task = InterruptedTask::Convert;
        self.copy(task)?;
        self.kill_often(task, rng)?;
        let is_leveldb = fs::read(self.path().join("CURRENT"))?.starts_with(b"MANIFEST");
        if is_leveldb && rng.bool() {
            copy_directory(&self.path(), &self.other())?;
            let found = dump(&leveldb, &self.other())?;
            ensure!(found == self.records, "LevelDB finds other records");
        }
        let found = dump(self.program, &self.path())?;
        ensure!(found == self.records, "there are other records");
        ensure!(
            !has_file(&self.path(), "ldb") && !has_file(&self.path(), "log"),
            "files of LevelDB are left"
        );
        Ok(())
    }

    /// A removal. Halfway the directory has all records or is refused.
    fn destroy(&mut self, rng: &mut Rng) -> Result {
        let task = InterruptedTask::Destroy;
        self.copy(task)?;
        self.kill_often(task, rng)?;
        let ended = self.program.run("dump", &self.path())?;
        if ended.status.success() {
            let found = found_records(&ended.output)?;
            ensure!(found == self.records, "a removed database has records");
        }
        ensure!(!ended.was_killed(), "the program died: {}", ended.errors);
        let ended = self.program.run(task.word(), &self.path())?;
        ensure!(ended.status.success(), "{}", ended.errors);
        let _ = fs::remove_file(self.path().join("LOG"));
        let is_left = fs::read_dir(self.path()).is_ok_and(|entries| entries.count() > 0);
        ensure!(!is_left, "files are left");
        let ended = self.program.write(&self.path(), (1, 1, 1))?.wait()?;
        ensure!(ended.status.success(), "{}", ended.errors);
        let found = dump(self.program, &self.path())?;
        ensure!(found.len() < BATCHES as usize / 8, "old records are back");
        Ok(())
    }

    /// A repair of a directory with a damaged page, or without. It may lose records of that page,
    /// and adds none.
    fn repair(&mut self, rng: &mut Rng) -> Result {
        let task = InterruptedTask::Repair;
        self.copy(task)?;
        let is_damaged = rng.u8(0..4) > 0;
        if is_damaged {
            damage(&self.path().join("data.teak"), rng)?;
        }
        copy_directory(&self.path(), &self.other())?;
        let repaired = self.program.run(task.word(), &self.other())?;
        if is_damaged && repaired.status.code().is_some_and(|code| code > 0) {
            // A file without a readable catalog is no test of interruptions.
            return Ok(());
        }
        ensure!(repaired.status.success(), "{}", repaired.errors);
        let expected = dump(self.program, &self.other())?;
        expect_repaired(&self.records, &expected, is_damaged)?;
        self.kills.lost += (self.records.len() - expected.len()) as u64;
        self.kill_often(task, rng)?;
        let ended = self.program.run(task.word(), &self.path())?;
        ensure!(ended.status.success(), "{}", ended.errors);
        let found = dump(self.program, &self.path())?;
        ensure!(
            found == expected,
            "there are {} records, and {} without an interruption",
            found.len(),
            expected.len()
        );
        Ok(())
    }
}

/// All records, as a program reads them.
fn dump(program: &LibraryProgram, path: &Path) -> Result<FoundRecords> {
    let ended = program.run("dump", path)?;
    ensure!(ended.status.success(), "cannot be read: {}", ended.errors);
    found_records(&ended.output)
}

/// Refuses records after a repair that were not there before, and lost ones if no page was damaged.
fn expect_repaired(before: &FoundRecords, after: &FoundRecords, is_damaged: bool) -> Result {
    for (key, value) in after {
        let name = String::from_utf8_lossy(key);
        match before.get(key) {
            Some(known) => ensure!(known == value, "{name} has another value after the repair"),
            None => bail!("{name} is there only after the repair"),
        }
    }
    let lost = before.len() - after.len();
    ensure!(
        is_damaged || lost == 0,
        "{lost} records of an undamaged file are lost"
    );
    Ok(())
}

/// Damages a page that is not among the first, which say where the others are.
fn damage(file: &Path, rng: &mut Rng) -> Result {
    let file = fs::File::options().write(true).open(file)?;
    let pages = file.metadata()?.len() / PAGE_LEN;
    let offset = rng.u64(8.min(pages)..pages.max(9)) * PAGE_LEN + rng.u64(0..PAGE_LEN);
    file.write_all_at(&[rng.u8(..); 16], offset)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FoundRecords, expect_repaired};

    #[test]
    fn a_repair_only_loses_records_of_damaged_files() {
        let records = |pairs: &[(&str, &str)]| -> FoundRecords {
            let pairs = pairs.iter();
            pairs
                .map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec()))
                .collect()
        };
        let before = records(&[("a", "1"), ("b", "2")]);
        let outcome = |after: &[(&str, &str)], is_damaged| {
            let outcome = expect_repaired(&before, &records(after), is_damaged);
            outcome.map_err(|failure| failure.0)
        };
        assert_eq!(outcome(&[("a", "1"), ("b", "2")], false), Ok(()));
        assert_eq!(outcome(&[("a", "1")], true), Ok(()));
        assert!(
            outcome(&[("a", "1")], false)
                .unwrap_err()
                .contains("1 records")
        );
        assert!(
            outcome(&[("a", "2")], true)
                .unwrap_err()
                .contains("another value")
        );
        assert!(
            outcome(&[("c", "2")], true)
                .unwrap_err()
                .contains("only after")
        );
    }
}
