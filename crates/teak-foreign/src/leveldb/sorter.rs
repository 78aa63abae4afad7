//! Sorting of entries that come in any order, with temporary files beyond a budget of memory.
//!
//! Each file is a sorted run. When there are [`FAN_IN`] files of one level, they are merged into
//! one of the next level, so that few files are open however large the directory is.

use super::{
    entry::{EntryVersion, LevelDbEntry, compare},
    merge::{EntrySource, HeapEntries},
    named_file::failed,
};
use crate::{Result, bytes::PageSlice};
use std::{
    collections::{BinaryHeap, binary_heap::PeekMut},
    fs::File,
    io::{self, BufRead as _, BufReader, BufWriter, Read, Seek, Write},
    ops::Range,
    path::{Path, PathBuf},
};

/// Bytes of entries that are sorted in memory.
const BUDGET: usize = 64 << 20;
/// Bytes that an entry takes besides its key and its value.
const ENTRY_OVERHEAD: usize = size_of::<Stored>();
/// The number of files that are merged into one.
const FAN_IN: usize = 128;
const BUFFER_LEN: usize = 256 << 10;

/// Entries, and runs of sorted ones.
pub(super) struct Sorter {
    /// The directory of temporary files.
    directory: PathBuf,
    budget: usize,
    fan_in: usize,
    bytes: Vec<u8>,
    entries: Vec<Stored>,
    /// The files of each level, fewer than the fan-in.
    levels: Vec<Vec<File>>,
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
        Self::with_limits(directory, BUDGET, FAN_IN)
    }

    pub(super) fn with_limits(directory: &Path, budget: usize, fan_in: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            budget,
            fan_in,
            bytes: Vec::new(),
            entries: Vec::new(),
            levels: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, key: &[u8], version: EntryVersion, value: &[u8]) -> Result<()> {
        let used = self.bytes.len() + self.entries.len() * ENTRY_OVERHEAD;
        if !self.entries.is_empty() && used + key.len() + value.len() > self.budget {
            let file = self.spill().map_err(failed(&self.directory))?;
            self.add_file(file)?;
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
        for file in self.levels.into_iter().flatten() {
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
    fn spill(&mut self) -> io::Result<File> {
        self.sort();
        let mut run = RunWriter::create(&self.directory)?;
        for entry in &self.entries {
            let (key, value) = (&self.bytes[entry.key()], &self.bytes[entry.value()]);
            run.write(key, entry.version, value)?;
        }
        self.bytes.clear();
        self.entries.clear();
        run.finish()
    }

    fn add_file(&mut self, mut file: File) -> Result<()> {
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(file);
            if self.levels[level].len() < self.fan_in {
                break;
            }
            let files = std::mem::take(&mut self.levels[level]);
            file = merge(files, &self.directory)?;
        }
        Ok(())
    }
}

/// Merges sorted files into one.
fn merge(files: Vec<File>, directory: &Path) -> Result<File> {
    let failed = || failed(directory);
    let mut runs = BinaryHeap::new();
    for file in files {
        if let Some(run) = SpilledEntries::open(file, directory)? {
            runs.push(HeapEntries(Box::new(run)));
        }
    }
    let mut merged = RunWriter::create(directory).map_err(failed())?;
    while let Some(mut first) = runs.peek_mut() {
        let entry = first.0.entry();
        let written = merged.write(&entry.key, entry.version, &entry.value);
        written.map_err(failed())?;
        if !first.0.advance()? {
            PeekMut::pop(first);
        }
    }
    merged.finish().map_err(failed())
}

/// A temporary file of sorted entries that is being written.
struct RunWriter(BufWriter<File>);

impl RunWriter {
    fn create(directory: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        Ok(Self(BufWriter::with_capacity(BUFFER_LEN, file)))
    }

    fn write(&mut self, key: &[u8], version: EntryVersion, value: &[u8]) -> io::Result<()> {
        self.0.write_all(&(key.len() as u64).to_le_bytes())?;
        self.0.write_all(&(value.len() as u64).to_le_bytes())?;
        self.0.write_all(&version.number().to_le_bytes())?;
        self.0.write_all(key)?;
        self.0.write_all(value)
    }

    /// The complete file, at its beginning.
    fn finish(self) -> io::Result<File> {
        let file = self.0.into_inner();
        let mut file = file.map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
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
