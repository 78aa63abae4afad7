//! Sorting of entries that come in any order, with temporary files beyond a budget of memory.

use super::{
    entry::{EntryVersion, LevelDbEntry, compare},
    merge::EntrySource,
    named_file::failed,
};
use crate::{Result, bytes::PageSlice};
use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, BufWriter, Read, Seek, Write},
    ops::Range,
    path::{Path, PathBuf},
};

/// Bytes of entries that are sorted in memory.
const BUDGET: usize = 64 << 20;
/// Bytes that an entry takes besides its key and its value.
const ENTRY_OVERHEAD: usize = size_of::<Stored>();
const BUFFER_LEN: usize = 256 << 10;

/// Entries, and runs of sorted ones.
pub(super) struct Sorter {
    /// The directory of temporary files.
    directory: PathBuf,
    budget: usize,
    bytes: Vec<u8>,
    entries: Vec<Stored>,
    files: Vec<File>,
}

/// An entry whose key and value are in the sorter's bytes, one after the other.
struct Stored {
    start: usize,
    key_len: usize,
    value_len: usize,
    version: EntryVersion,
}

impl Stored {
    fn key(&self) -> Range<usize> {
        self.start..self.start + self.key_len
    }

    fn value(&self) -> Range<usize> {
        let start = self.start + self.key_len;
        start..start + self.value_len
    }
}

impl Sorter {
    pub(super) fn new(directory: &Path) -> Self {
        Self::with_budget(directory, BUDGET)
    }

    pub(super) fn with_budget(directory: &Path, budget: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            budget,
            bytes: Vec::new(),
            entries: Vec::new(),
            files: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, key: &[u8], version: EntryVersion, value: &[u8]) -> Result<()> {
        let used = self.bytes.len() + self.entries.len() * ENTRY_OVERHEAD;
        if !self.entries.is_empty() && used + key.len() + value.len() > self.budget {
            self.spill().map_err(failed(&self.directory))?;
        }
        self.entries.push(Stored {
            start: self.bytes.len(),
            key_len: key.len(),
            value_len: value.len(),
            version,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    /// The runs of all entries, each at its first.
    pub(super) fn finish(mut self) -> Result<Vec<Box<dyn EntrySource>>> {
        self.sort();
        let mut runs: Vec<Box<dyn EntrySource>> = Vec::new();
        for file in self.files {
            if let Some(run) = SpilledEntries::open(file, &self.directory)? {
                runs.push(Box::new(run));
            }
        }
        let entries = self.entries.into_iter();
        if let Some(run) = MemoryEntries::new(self.bytes, entries) {
            runs.push(Box::new(run));
        }
        Ok(runs)
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        (self.entries).sort_unstable_by(|left, right| {
            compare(
                (&bytes[left.key()], left.version),
                (&bytes[right.key()], right.version),
            )
        });
    }

    /// Writes the entries to a temporary file, sorted.
    fn spill(&mut self) -> io::Result<()> {
        self.sort();
        let file = tempfile::tempfile_in(&self.directory)?;
        let mut output = BufWriter::with_capacity(BUFFER_LEN, file);
        for entry in &self.entries {
            output.write_all(&(entry.key_len as u64).to_le_bytes())?;
            output.write_all(&(entry.value_len as u64).to_le_bytes())?;
            output.write_all(&entry.version.number().to_le_bytes())?;
            output.write_all(&self.bytes[entry.key().start..entry.value().end])?;
        }
        let mut file = output
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.files.push(file);
        self.bytes.clear();
        self.entries.clear();
        Ok(())
    }
}

/// Sorted entries in memory.
struct MemoryEntries {
    bytes: Vec<u8>,
    rest: std::vec::IntoIter<Stored>,
    entry: LevelDbEntry,
}

impl MemoryEntries {
    fn new(bytes: Vec<u8>, mut rest: std::vec::IntoIter<Stored>) -> Option<Self> {
        let entry = entry_of(&bytes, &rest.next()?);
        Some(Self { bytes, rest, entry })
    }
}

fn entry_of(bytes: &[u8], stored: &Stored) -> LevelDbEntry {
    LevelDbEntry {
        key: bytes[stored.key()].to_vec(),
        version: stored.version,
        value: PageSlice::whole(bytes[stored.value()].to_vec()),
    }
}

impl EntrySource for MemoryEntries {
    fn entry(&self) -> &LevelDbEntry {
        &self.entry
    }

    fn advance(&mut self) -> Result<bool> {
        let next = self.rest.next();
        if let Some(next) = &next {
            self.entry = entry_of(&self.bytes, next);
        }
        Ok(next.is_some())
    }
}

/// Sorted entries in a temporary file.
struct SpilledEntries {
    input: BufReader<File>,
    directory: PathBuf,
    entry: LevelDbEntry,
}

impl SpilledEntries {
    fn open(file: File, directory: &Path) -> Result<Option<Self>> {
        let mut run = Self {
            input: BufReader::with_capacity(BUFFER_LEN, file),
            directory: directory.to_owned(),
            entry: LevelDbEntry::default(),
        };
        Ok(run.advance()?.then_some(run))
    }

    fn read(&mut self) -> io::Result<bool> {
        let mut numbers = [0; 24];
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        self.input.read_exact(&mut numbers)?;
        let number = |at: usize| crate::bytes::u64_at(&numbers, at).unwrap_or(0);
        self.entry.key.resize(number(0) as usize, 0);
        self.input.read_exact(&mut self.entry.key)?;
        let mut value = vec![0; number(8) as usize];
        self.input.read_exact(&mut value)?;
        self.entry.value = PageSlice::whole(value);
        self.entry.version =
            EntryVersion::of_number(number(16)).ok_or(io::ErrorKind::InvalidData)?;
        Ok(true)
    }
}

impl EntrySource for SpilledEntries {
    fn entry(&self) -> &LevelDbEntry {
        &self.entry
    }

    fn advance(&mut self) -> Result<bool> {
        self.read().map_err(failed(&self.directory))
    }
}
