//! Conversions of damaged directories by the library with LevelDB's interface.

use super::cases::{DirectoryCases, DirectoryFiles, DirectoryViolation, write};
use crate::{
    Failure, Result,
    campaign::child::ChildProgram,
    leveldb::{FoundRecords, LevelDbLibrary, LibraryProgram, found_records},
};
use std::{
    ffi::OsStr,
    ops::Range,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};
use teak_foreign::leveldb::LevelDb;

/// One in this many directories is converted. The reader in order reads these.
const SHARE: u64 = 20;
/// The greatest memory of the program, of what it does not map from files.
const MEMORY_MAX: u64 = 256 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// Conversions by a program with the library.
pub(super) struct LibraryConversions {
    program: LibraryProgram,
    scratch: PathBuf,
}

impl LibraryConversions {
    pub(super) fn new(library: Option<&Path>, scratch: &Path) -> Result<Self> {
        let library = LevelDbLibrary::of_teak(library)?;
        Ok(Self {
            program: LibraryProgram::compile(library, scratch)?,
            scratch: scratch.to_owned(),
        })
    }

    /// Converts some directories of a range.
    pub(super) fn run(
        &self,
        cases: &DirectoryCases,
        directories: Range<u64>,
        converted: &mut u64,
    ) -> Result<Vec<DirectoryViolation>> {
        let mut violations = Vec::new();
        for index in directories.filter(|index| index.is_multiple_of(SHARE)) {
            let Some(files) = cases.case(index).files else {
                continue;
            };
            *converted += 1;
            if let Err(Failure(text)) = self.convert(&files, index) {
                let text = format!("converted by the library: {text}");
                violations.push(DirectoryViolation { index, text });
            }
        }
        Ok(violations)
    }

    fn convert(&self, files: &DirectoryFiles, index: u64) -> Result {
        let path = self.scratch.join(index.to_string());
        write(files, &path)?;
        let expected = self.records(&path);
        let whole = self.program.command("dump", &path);
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--data={MEMORY_MAX}")).arg("--");
        limited.arg(whole.get_program()).args(whole.get_args());
        for (name, value) in whole.get_envs() {
            limited.env(name, value.unwrap_or(OsStr::new("")));
        }
        let child = ChildProgram::spawn(&mut limited)?;
        let ended = child.wait_until(Instant::now() + PATIENCE)?;
        std::fs::remove_dir_all(&path)?;
        ensure!(!ended.was_killed(), "{}: {}", ended.status, ended.errors);
        match (ended.status.success(), expected) {
            (true, Some(expected)) => {
                ensure!(
                    found_records(&ended.output)? == expected,
                    "the program finds other records"
                );
            }
            (true, None) => bail!("it reads what the reader refuses"),
            (false, Some(_)) => bail!("it refuses what the reader reads: {}", ended.errors),
            (false, None) => ensure!(!ended.errors.is_empty(), "it fails without a text"),
        }
        Ok(())
    }

    /// The records of a directory with LevelDB's own comparator, if it can be read.
    fn records(&self, path: &Path) -> Option<FoundRecords> {
        let source = LevelDb::open(path).ok()?;
        let mut records = source.records(&self.scratch, false).ok()?;
        let mut found = FoundRecords::new();
        while let Some((key, value)) = records.next_record().ok()? {
            found.insert(key.clone(), value.to_vec());
        }
        Some(found).filter(|_| source.is_bytewise())
    }
}
