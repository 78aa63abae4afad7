//! The source of an import: finding its file, and translating its errors.

use crate::failure::Failure;
use crate::outputs;
use crate::system;
use crate::text::shown_path;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use teak_foreign::{Engine, Environment, Error};

/// The directory that `leveldb:PATH` names.
pub(super) fn leveldb_directory(argument: &OsStr) -> Option<&Path> {
    system::path_after(argument, "leveldb:")
}

/// A file of another engine.
pub(super) struct ForeignSource {
    pub(super) path: PathBuf,
    pub(super) environment: Environment<File>,
}

impl ForeignSource {
    /// Opens the file that `lmdb:PATH` or `mdbx:PATH` names.
    pub(super) fn open(argument: &OsString) -> Result<Self, Failure> {
        let (engine, path) = if let Some(path) = system::path_after(argument, "lmdb:") {
            (Engine::Lmdb, path)
        } else if let Some(path) = system::path_after(argument, "mdbx:") {
            (Engine::Mdbx, path)
        } else {
            return Err(Failure::Usage(format!(
                "the source {argument:?} has no prefix; write lmdb:PATH, mdbx:PATH or leveldb:PATH"
            )));
        };
        let path = file_of(path, engine)?;
        let file = File::open(&path).map_err(Failure::opening(&path))?;
        let environment = Environment::open(file, teak_foreign::this_boot())
            .map_err(|error| failure(&path, error))?;
        if environment.engine() != engine {
            return Err(Failure::Usage(format!(
                "{} is a file of {}; write {}:{}",
                shown_path(&path),
                environment.format_name(),
                prefix(environment.engine()),
                shown_path(&path),
            )));
        }
        Ok(Self { path, environment })
    }

    /// Refuses to make the database where the source is, or where its engine or the database would
    /// have a lock file.
    pub(super) fn refuse_target(&self, target: &Path) -> Result<(), Failure> {
        outputs::refuse_inputs(target, &[&self.path])?;
        let with_suffix = |suffix| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let in_directory = |name| self.path.with_file_name(name);
        let lock_files = match self.environment.engine() {
            Engine::Lmdb => [with_suffix("-lock"), in_directory("lock.mdb")],
            Engine::Mdbx => [with_suffix("-lck"), in_directory("mdbx.lck")],
        };
        for lock_file in lock_files {
            outputs::refuse_name(target, &lock_file, "the lock file of the source")?;
        }
        Ok(())
    }

    /// The failure for a read error.
    pub(super) fn failure(&self, error: Error) -> Failure {
        failure(&self.path, error)
    }

    /// The failure to report for a failed import. If the source has changed, that is reported,
    /// because it may have caused any other failure.
    pub(super) fn explain(&self, other: Failure) -> Failure {
        match self.environment.refuse_changed() {
            Err(changed @ Error::Changed { .. }) => self.failure(changed),
            _ => other,
        }
    }

    /// Fails if the source was written to during the import.
    pub(super) fn refuse_changed(&self) -> Result<(), Failure> {
        (self.environment.refuse_changed()).map_err(|error| self.failure(error))
    }
}

fn prefix(engine: Engine) -> &'static str {
    match engine {
        Engine::Lmdb => "lmdb",
        Engine::Mdbx => "mdbx",
    }
}

/// The file that a path names: itself, or the engine's data file in such a directory.
fn file_of(path: &Path, engine: Engine) -> Result<PathBuf, Failure> {
    let metadata = fs::metadata(path).map_err(Failure::opening(path))?;
    if metadata.is_file() {
        return Ok(path.to_path_buf());
    }
    if !metadata.is_dir() {
        return Err(Failure::Usage(format!(
            "{} is neither a file nor a directory",
            shown_path(path)
        )));
    }
    let (own, other) = match engine {
        Engine::Lmdb => ("data.mdb", ("mdbx.dat", "mdbx")),
        Engine::Mdbx => ("mdbx.dat", ("data.mdb", "lmdb")),
    };
    let file = path.join(own);
    if !file.exists() && path.join(other.0).exists() {
        return Err(Failure::Usage(format!(
            "{0} has no {own}, but {1}; write {2}:{0}",
            shown_path(path),
            other.0,
            other.1,
        )));
    }
    Ok(file)
}

/// The failure for an error of a foreign file.
pub(super) fn failure(path: &Path, error: Error) -> Failure {
    match error {
        Error::Io { source, .. } => Failure::file("reading", path)(source),
        Error::File { path, source } => Failure::file("reading", &path)(source),
        error @ (Error::Damaged { .. } | Error::CutShort { .. }) => Failure::Damaged(format!(
            "{}: {error}; nothing was imported. Have the engine's own programs check it, or restore a backup of it",
            shown_path(path)
        )),
        error @ Error::DamagedFile { .. } => Failure::Damaged(format!(
            "{error}; nothing was imported. Have LevelDB repair a copy of the directory, or restore a backup of it",
        )),
        error @ Error::OtherComparator { .. } => Failure::Source(format!(
            "{}: {error}; nothing was imported. With --unordered the records are sorted in byte order",
            shown_path(path)
        )),
        error => Failure::Source(format!(
            "{}: {error}; nothing was imported",
            shown_path(path)
        )),
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
