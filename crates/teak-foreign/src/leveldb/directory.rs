//! A directory: its current state, and the passes over its records.

use super::{
    batch,
    level::{LevelEntries, open_table},
    log::LogReader,
    manifest::Manifest,
    merge::{EntrySource, LevelDbRecords},
    named_file::{NamedFile, ReadBytes, failed},
    sorter::Sorter,
    table_file::TableEntries,
};
use crate::{Error, Result, files::try_lock_to_read};
use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _},
    path::{Path, PathBuf},
};

/// The comparator whose order is that of bytes.
pub(super) const BYTEWISE: &[u8] = b"leveldb.BytewiseComparator";
/// The first bytes of `CURRENT` that are looked at.
const CURRENT_MAX: u64 = 1 << 10;
/// The most tables of level 0 that are open at a time. LevelDB has a dozen, but puts all tables
/// there when it repairs a directory; more are sorted like the records of logs.
const LEVEL_0_MAX: usize = 64;

/// A log, and its length when the directory was opened.
#[derive(Debug)]
struct LogFile {
    number: u64,
    len: u64,
    path: PathBuf,
}

/// A directory of LevelDB, in the state in which it was opened.
///
/// LevelDB's lock is held as a reader's until this is dropped: no program can open the directory
/// with LevelDB meanwhile.
#[derive(Debug)]
pub struct LevelDb {
    path: PathBuf,
    current: Vec<u8>,
    manifest: Manifest,
    manifest_len: u64,
    /// The logs whose records are not in tables yet, the oldest first.
    logs: Vec<LogFile>,
    lock: Option<File>,
}

impl LevelDb {
    /// Opens a directory.
    ///
    /// # Errors
    ///
    /// [`Error::NotLevelDb`] if the directory has no `CURRENT`, or one that names no manifest;
    /// [`Error::InUse`] if a program has it open; [`Error::DamagedFile`], [`Error::File`].
    pub fn open(path: &Path) -> Result<Self> {
        let lock = lock(&path.join("LOCK"))?;
        Self::open_with(path, lock)
    }

    /// Opens a directory whose lock the caller holds. A process that opened and closed the lock
    /// file again would release it.
    ///
    /// # Errors
    ///
    /// [`Error::NotLevelDb`] if the directory has no `CURRENT`, or one that names no manifest;
    /// [`Error::DamagedFile`], [`Error::File`].
    pub fn open_unlocked(path: &Path) -> Result<Self> {
        Self::open_with(path, None)
    }

    fn open_with(path: &Path, lock: Option<File>) -> Result<Self> {
        let current = read_current(path)?;
        let name = manifest_name(&current).ok_or_else(|| {
            let text = String::from_utf8_lossy(&current);
            Error::NotLevelDb(format!(
                "CURRENT of {} names no manifest, but is {:?}",
                path.display(),
                text.trim_end()
            ))
        })?;
        let file = NamedFile::open(path.join(name), &ReadBytes::default())?;
        let manifest = Manifest::read(&file)?;
        let mut logs = Vec::new();
        for entry in fs::read_dir(path).map_err(failed(path))? {
            let entry = entry.map_err(failed(path))?;
            let name = entry.file_name();
            let number = number_of(name.as_encoded_bytes(), b".log");
            let is_wanted = |number| {
                number >= manifest.log_number
                    || (number == manifest.previous_log && manifest.previous_log != 0)
            };
            if let Some(number) = number.filter(|number| is_wanted(*number)) {
                let len = entry.metadata().map_err(failed(&entry.path()))?.len();
                logs.push(LogFile {
                    number,
                    len,
                    path: entry.path(),
                });
            }
        }
        logs.sort_unstable_by_key(|log: &LogFile| log.number);
        Ok(Self {
            path: path.to_owned(),
            current,
            manifest_len: file.len,
            manifest,
            logs,
            lock,
        })
    }

    /// The name of the function that compares keys. It may be any bytes.
    pub fn comparator(&self) -> &[u8] {
        &self.manifest.comparator
    }

    /// Whether keys are compared by their bytes. The order of other comparators is unknown.
    pub fn is_bytewise(&self) -> bool {
        self.comparator() == BYTEWISE
    }

    /// The sequence number of the last write that is recorded in the manifest. Those in logs are
    /// greater.
    pub fn last_sequence(&self) -> u64 {
        self.manifest.last_sequence
    }

    /// Whether LevelDB's lock is held. A copy of a directory may have no `LOCK`.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// The number of bytes of logs and tables, which a pass reads.
    pub fn len_bytes(&self) -> u64 {
        let tables = self.manifest.levels.iter().flat_map(|level| level.values());
        let lens = tables.map(|table| table.len);
        let logs = self.logs.iter().map(|log| log.len);
        lens.chain(logs).fold(0, u64::saturating_add)
    }

    /// Begins a pass over the records, in the order of their bytes. Entries of logs are sorted
    /// first, in 64 MiB of memory and temporary files in `temporary`; a write batch must fit in
    /// memory. With `is_unordered` all entries are sorted so, and the order of the tables, which
    /// that of another comparator, does not matter.
    ///
    /// # Errors
    ///
    /// [`Error::OtherComparator`] if keys are not compared by their bytes, unless `is_unordered`;
    /// [`Error::DamagedFile`], [`Error::File`], [`Error::Unsupported`].
    pub fn records(&self, temporary: &Path, is_unordered: bool) -> Result<LevelDbRecords<'_>> {
        if !is_unordered && !self.is_bytewise() {
            let name = String::from_utf8_lossy(self.comparator()).into_owned();
            return Err(Error::OtherComparator { name });
        }
        let read_bytes = ReadBytes::default();
        let mut sorter = Sorter::new(temporary);
        let torn_bytes = self.sort_logs(&mut sorter, &read_bytes)?;
        let mut runs = Vec::new();
        if is_unordered {
            for table in self.manifest.levels.iter().flat_map(|level| level.values()) {
                let file = open_table(&self.path, table, &read_bytes)?;
                if let Some(run) = TableEntries::open(file, false)? {
                    sort_run(run, &mut sorter)?;
                }
            }
        } else {
            let [first, deeper @ ..] = &self.manifest.levels;
            let are_few = first.len() <= LEVEL_0_MAX;
            for table in first.values() {
                let file = open_table(&self.path, table, &read_bytes)?;
                let Some(run) = TableEntries::open(file, true)? else {
                    continue;
                };
                match are_few {
                    true => runs.push(Box::new(run) as Box<dyn EntrySource>),
                    false => sort_run(run, &mut sorter)?,
                }
            }
            for level in deeper {
                if let Some(run) = LevelEntries::open(&self.path, level, &read_bytes)? {
                    runs.push(Box::new(run));
                }
            }
        }
        runs.extend(sorter.finish()?);
        Ok(LevelDbRecords::new(runs, read_bytes, torn_bytes))
    }

    /// Fails if the directory was written to since it was opened, which is only possible without
    /// the lock.
    ///
    /// # Errors
    ///
    /// [`Error::FilesChanged`], [`Error::File`], [`Error::NotLevelDb`].
    pub fn refuse_changed(&self) -> Result<()> {
        let len_of = |path: PathBuf| {
            let metadata = fs::metadata(&path);
            metadata.map(|it| it.len()).map_err(failed(&path))
        };
        let name = manifest_name(&self.current).unwrap_or_default();
        let mut is_same = read_current(&self.path)? == self.current
            && len_of(self.path.join(name))? == self.manifest_len;
        for log in &self.logs {
            is_same &= len_of(log.path.clone())? == log.len;
        }
        match is_same {
            true => Ok(()),
            false => Err(Error::FilesChanged {
                path: self.path.clone(),
            }),
        }
    }

    /// Adds the entries of all logs. Returns the bytes of incomplete records at their ends.
    fn sort_logs(&self, sorter: &mut Sorter, read_bytes: &ReadBytes) -> Result<u64> {
        let mut torn_bytes = 0;
        let mut batch = Vec::new();
        for log in &self.logs {
            let mut file = NamedFile::open(log.path.clone(), read_bytes)?;
            file.len = file.len.min(log.len);
            let mut reader = LogReader::new(&file);
            while reader.next(&mut batch, &mut torn_bytes)? {
                let sorted: std::result::Result<(), BatchError> =
                    batch::for_each(&batch, |key, version, value| {
                        sorter
                            .push(key, version, value)
                            .map_err(BatchError::Sorting)
                    });
                sorted.map_err(|error| match error {
                    BatchError::Sorting(error) => error,
                    BatchError::Damaged(detail) => file.damaged(reader.offset(), detail),
                })?;
            }
        }
        Ok(torn_bytes)
    }
}

enum BatchError {
    Damaged(&'static str),
    Sorting(Error),
}

impl From<&'static str> for BatchError {
    fn from(detail: &'static str) -> Self {
        Self::Damaged(detail)
    }
}

/// Adds all entries of a run.
fn sort_run(mut run: TableEntries, sorter: &mut Sorter) -> Result<()> {
    loop {
        let entry = run.entry();
        sorter.push(&entry.key, entry.version, &entry.value)?;
        if !run.advance()? {
            return Ok(());
        }
    }
}

/// The content of `CURRENT`.
fn read_current(directory: &Path) -> Result<Vec<u8>> {
    let path = directory.join("CURRENT");
    let file = match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound && directory.is_dir() => {
            let text = format!("{} has no file CURRENT", directory.display());
            return Err(Error::NotLevelDb(text));
        }
        opened => opened.map_err(failed(&path))?,
    };
    let mut current = Vec::new();
    let read = file.take(CURRENT_MAX).read_to_end(&mut current);
    read.map_err(failed(&path))?;
    Ok(current)
}

/// The manifest that `CURRENT` names.
fn manifest_name(current: &[u8]) -> Option<&str> {
    let name = current.strip_suffix(b"\n")?;
    let digits = name.strip_prefix(b"MANIFEST-")?;
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    str::from_utf8(name).ok().filter(|_| is_number)
}

/// The number in the name of a file.
fn number_of(name: &[u8], suffix: &[u8]) -> Option<u64> {
    let digits = name.strip_suffix(suffix)?;
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    str::from_utf8(digits)
        .ok()
        .filter(|_| is_number)?
        .parse()
        .ok()
}

/// Takes LevelDB's lock as a reader. `None` if there is no lock file.
fn lock(path: &Path) -> Result<Option<File>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed(path))?,
    };
    match try_lock_to_read(&file) {
        Ok(true) => Ok(Some(file)),
        Ok(false) => Err(Error::InUse {
            path: path.to_owned(),
        }),
        Err(error) => Err(failed(path)(error)),
    }
}
