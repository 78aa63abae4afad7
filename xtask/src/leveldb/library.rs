//! The library, and the program that campaigns run on it.

use crate::{
    Result, built,
    campaign::child::{ChildEnd, ChildProgram},
    commands, install_leveldb,
};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// LevelDB's own library, as Debian installs it.
const LEVELDB: &str = "/usr/lib/x86_64-linux-gnu/libleveldb.so.1d";
/// A program that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A library with LevelDB's interface.
#[derive(Clone, Debug)]
pub(crate) struct LevelDbLibrary(PathBuf);

impl LevelDbLibrary {
    /// The library over Teak, which is built unless it is given.
    pub(crate) fn of_teak(given: Option<&Path>) -> Result<Self> {
        let directory = built::directory(built::CAMPAIGN)?.join("leveldb");
        install_leveldb::library(given, built::CAMPAIGN, &directory).map(Self)
    }

    /// LevelDB's own, if it is installed.
    pub(crate) fn of_leveldb(given: Option<&Path>) -> Option<Self> {
        let path = given.unwrap_or(Path::new(LEVELDB));
        path.exists().then(|| Self(path.to_owned()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// The program of `tests/c/threads.c` with a library.
#[derive(Clone, Debug)]
pub(crate) struct LibraryProgram {
    program: PathBuf,
    library: LevelDbLibrary,
}

impl LibraryProgram {
    /// Compiles the program below `directory`. It may run with any library of this interface.
    pub(crate) fn compile(library: LevelDbLibrary, directory: &Path) -> Result<Self> {
        let program = directory.join("threads");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-std=c11", "-D_GNU_SOURCE", "-O1", "-pthread", "-o"])
            .arg(&program)
            .arg(package().join("tests/c/threads.c"))
            .arg("-I")
            .arg(package().join("include"))
            .arg(library.path());
        commands::output(&mut compiler)?;
        Ok(Self { program, library })
    }

    /// The program with another library.
    pub(crate) fn with(&self, library: LevelDbLibrary) -> Self {
        Self {
            program: self.program.clone(),
            library,
        }
    }

    /// The command line of a task of the program. A directory of LevelDB is converted.
    pub(crate) fn command(&self, task: &str, database: &Path) -> Command {
        let directory = self.library.path().parent().unwrap_or(Path::new("."));
        let mut command = Command::new(&self.program);
        command
            .arg(task)
            .arg(database)
            .env("LD_LIBRARY_PATH", directory)
            .env("TEAK_LEVELDB_IMPORT", "1");
        command
    }

    /// Starts threads that write batches, without end if `batches` is 0.
    pub(crate) fn write(
        &self,
        database: &Path,
        (threads, seed, batches): (usize, u64, u64),
    ) -> Result<ChildProgram> {
        let numbers = [threads as u64, seed, batches].map(|number| number.to_string());
        ChildProgram::spawn(self.command("write", database).args(numbers))
    }

    /// Runs a task to its end.
    pub(crate) fn run(&self, task: &str, database: &Path) -> Result<ChildEnd> {
        let child = ChildProgram::spawn(&mut self.command(task, database))?;
        child.wait_until(Instant::now() + PATIENCE)
    }
}

fn package() -> PathBuf {
    built::workspace().join("crates/teak-leveldb")
}

/// Copies the files of a directory.
pub(super) fn copy_directory(from: &Path, to: &Path) -> Result {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Whether a directory has a file whose name ends so.
pub(super) fn has_file(directory: &Path, extension: &str) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .any(|path| path.extension() == Some(OsStr::new(extension)))
}
