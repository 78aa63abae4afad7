//! The write-ahead log of the memtable: a file next to the database with one entry for each commit
//! in the memtable. It is written by a call of the system and not flushed, so its commits survive
//! the death of the process, as lazy commits do.
//!
//! | from byte | content of the header |
//! |---|---|
//! | 0 | magic |
//! | 8 | the database (16 bytes) |
//! | 24 | the commit in the tree that the entries follow |
//! | 32 | checksum of that commit's catalog root, which identifies its state |
//! | 40 | a random number of this file |
//! | 48 | how many headers were made for it before |
//! | 56 | checksum of the bytes before |
//!
//! Entries follow without gaps: a checksum; the length of the entry (4 bytes) and the number of its
//! operations (4); each operation: lengths of the table's name (2), of the key (2) and of the value
//! (4, all ones for a removal), and these bytes. The checksum of an entry covers that of the entry
//! before it, or of the header. So neither a part of an entry nor an entry left from earlier ever
//! counts. All numbers are little-endian.
//!
//! When the memtable has been merged, the next entry overwrites the header: it follows another
//! commit. Recovery uses a log only if the newest commit is the one that its header names.

use crate::{
    Checksum, Error, Result, TransactionId,
    io::{LockMode, LogFile, random_id, remove_file},
    record::Record,
    share::names::log_path,
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Length of the file.
const WAL_LEN: usize = 256 << 10;
const MAGIC: [u8; 8] = *b"TeakWal1";
const HEADER_LEN: usize = 64;
const ENTRY_HEAD_LEN: usize = 16;
const OPERATION_HEAD_LEN: usize = 8;
/// The length of a value that stands for a removal.
const REMOVED: u32 = u32::MAX;

/// A change of one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change<'c> {
    pub(crate) table: &'c [u8],
    pub(crate) key: &'c [u8],
    /// `None` removes the record.
    pub(crate) value: Option<&'c [u8]>,
}

/// A log that this process writes.
#[derive(Debug)]
pub(crate) struct Wal {
    file: LogFile,
    nonce: [u8; 8],
    begin_count: u64,
    /// The header, until the first entry is written.
    header: Option<[u8; HEADER_LEN]>,
    /// Where the next entry begins.
    end: usize,
    last: Checksum,
    buffer: Vec<u8>,
}

impl Wal {
    /// Creates the file.
    ///
    /// # Errors
    ///
    /// The system's error, `AlreadyExists` if there is a file of that name.
    pub(crate) fn create(path: &Path, mode: LockMode) -> io::Result<Self> {
        let id = random_id()?;
        Ok(Self {
            file: LogFile::create(path, mode, WAL_LEN)?,
            nonce: *id.first_chunk().expect("an id has 16 bytes"),
            begin_count: 0,
            header: None,
            end: 0,
            last: Checksum(0),
            buffer: Vec::new(),
        })
    }

    /// Begins again, with entries that follow a commit.
    pub(crate) fn begin(&mut self, record: &Record) {
        let header = header_of(record, self.nonce, self.begin_count);
        self.begin_count += 1;
        self.last = Checksum(number_at(&header, HEADER_LEN - 8));
        self.header = Some(header);
        self.end = HEADER_LEN;
    }

    /// Whether there is room for an entry with these changes.
    pub(crate) fn has_room<'c>(&self, changes: impl Iterator<Item = Change<'c>>) -> bool {
        let len: usize = changes.map(|change| change.len()).sum();
        self.end + ENTRY_HEAD_LEN + len <= WAL_LEN
    }

    /// Appends an entry, for which there [is room](Self::has_room). The first one is written with
    /// the header.
    ///
    /// # Errors
    ///
    /// The system's error. It is then unknown whether the entry counts.
    pub(crate) fn append<'c>(
        &mut self,
        changes: impl Iterator<Item = Change<'c>>,
    ) -> io::Result<()> {
        let buffer = &mut self.buffer;
        buffer.clear();
        buffer.extend(self.header.iter().flatten());
        let start = buffer.len();
        buffer.extend(self.last.0.to_le_bytes());
        buffer.extend([0; ENTRY_HEAD_LEN - 8]);
        let mut count = 0u32;
        for change in changes {
            let value_len = change.value.map_or(REMOVED, |value| value.len() as u32);
            buffer.extend((change.table.len() as u16).to_le_bytes());
            buffer.extend((change.key.len() as u16).to_le_bytes());
            buffer.extend(value_len.to_le_bytes());
            buffer.extend(change.table);
            buffer.extend(change.key);
            buffer.extend(change.value.unwrap_or_default());
            count += 1;
        }
        let entry = &mut buffer[start..];
        let len = entry.len();
        entry[8..12].copy_from_slice(&(len as u32).to_le_bytes());
        entry[12..16].copy_from_slice(&count.to_le_bytes());
        let checksum = Checksum::of(entry);
        entry[..8].copy_from_slice(&checksum.0.to_le_bytes());
        assert!(self.end + len <= WAL_LEN, "the caller has asked for room");
        self.file.write(buffer, (self.end - start) as u64)?;
        self.header = None;
        self.end += len;
        self.last = checksum;
        Ok(())
    }

    /// Removes the file.
    pub(crate) fn remove(self) {
        self.file.remove();
    }
}

fn header_of(record: &Record, nonce: [u8; 8], begin_count: u64) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(&MAGIC);
    header[8..24].copy_from_slice(&record.database_id);
    header[24..32].copy_from_slice(&record.transaction.0.to_le_bytes());
    header[32..40].copy_from_slice(&Checksum::of(&record.catalog_root).0.to_le_bytes());
    header[40..48].copy_from_slice(&nonce);
    header[48..56].copy_from_slice(&begin_count.to_le_bytes());
    let checksum = Checksum::of(&header[..HEADER_LEN - 8]);
    header[HEADER_LEN - 8..].copy_from_slice(&checksum.0.to_le_bytes());
    header
}

/// The log that a process left.
#[derive(Default, Debug)]
pub(crate) struct LeftWal {
    /// The content of the file up to the last entry that counts.
    content: Vec<u8>,
    /// Where each commit begins in it.
    entries: Vec<usize>,
    /// Its path, if the file is a log.
    path: Option<PathBuf>,
}

impl LeftWal {
    /// Reads the log at `path`. It has commits only if they follow the commit of `record`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the file cannot be read.
    pub(crate) fn read(path: &Path, record: &Record) -> Result<Self> {
        let read = LogFile::read(path, WAL_LEN);
        let content =
            read.map_err(|error| Error::io("reading the write-ahead log")(error).at(path))?;
        let Some(mut content) = content.filter(|content| is_log(content)) else {
            return Ok(Self::default());
        };
        let mut entries = Vec::new();
        let mut end = HEADER_LEN;
        if let Some(header) = content.first_chunk::<HEADER_LEN>() {
            let nonce = header[40..48].try_into().expect("eight bytes");
            let mut last = Checksum(number_at(header, HEADER_LEN - 8));
            let is_next = *header == header_of(record, nonce, number_at(header, 48));
            while is_next && let Some((checksum, len)) = entry_at(&content, end, last) {
                entries.push(end);
                end += len;
                last = checksum;
            }
        }
        content.truncate(end);
        Ok(Self {
            content,
            entries,
            path: Some(path.to_path_buf()),
        })
    }

    /// Number of commits.
    pub(crate) fn commit_count(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The changes of all commits, in order.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let starts = self.entries.iter();
        starts.flat_map(|start| changes_of(&self.content[*start..]))
    }

    /// The last commit, if the log follows this one.
    pub(crate) fn last(&self, base: TransactionId) -> TransactionId {
        TransactionId(base.0 + self.commit_count())
    }

    /// Removes the file, if it is a log.
    pub(crate) fn remove(&mut self) {
        if let Some(path) = self.path.take() {
            // If it stays, it is ignored: other commits follow the one that it names.
            let _ = remove_file(&path);
        }
    }
}

/// Whether a file is a log. Its first entry may not have been written, or only zeros.
fn is_log(content: &[u8]) -> bool {
    content.starts_with(&MAGIC) || content.iter().all(|byte| *byte == 0)
}

/// Removes the log of a database that was deleted.
pub(crate) fn remove_log_of(path: &Path) {
    if let Some(log) = log_path(path)
        && let Ok(Some(content)) = LogFile::read(&log, WAL_LEN)
        && is_log(&content)
    {
        // It is ignored if it stays.
        let _ = remove_file(&log);
    }
}

/// The checksum and the length of the entry at `start`, if it follows the one with the checksum
/// `before`.
fn entry_at(content: &[u8], start: usize, before: Checksum) -> Option<(Checksum, usize)> {
    let rest = content.get(start..)?;
    let len = half_number_at(rest, 8)? as usize;
    let entry = rest.get(..len).filter(|_| len >= ENTRY_HEAD_LEN)?;
    let mut covered = entry.to_vec();
    covered[..8].copy_from_slice(&before.0.to_le_bytes());
    let checksum = Checksum::of(&covered);
    let count = half_number_at(entry, 12)? as usize;
    let is_whole = checksum.0 == number_at(entry, 0)
        && changes_of(entry).count() == count
        && changes_of(entry).map(|change| change.len()).sum::<usize>() + ENTRY_HEAD_LEN == len;
    is_whole.then_some((checksum, len))
}

impl Change<'_> {
    /// Its length in an entry.
    fn len(&self) -> usize {
        let value_len = self.value.map_or(0, <[u8]>::len);
        OPERATION_HEAD_LEN + self.table.len() + self.key.len() + value_len
    }
}

/// The changes of an entry, up to the first one that makes no sense.
fn changes_of(entry: &[u8]) -> impl Iterator<Item = Change<'_>> {
    let len = half_number_at(entry, 8).unwrap_or(0) as usize;
    let mut rest = entry.get(ENTRY_HEAD_LEN..len).unwrap_or_default();
    std::iter::from_fn(move || {
        let (head, after) = rest.split_at_checked(OPERATION_HEAD_LEN)?;
        let value_len = half_number_at(head, 4)?;
        let (table, after) = after.split_at_checked(usize::from(quarter_number_at(head, 0)?))?;
        let (key, after) = after.split_at_checked(usize::from(quarter_number_at(head, 2)?))?;
        let (value, after) = match value_len {
            REMOVED => (None, after),
            len => {
                let (value, after) = after.split_at_checked(len as usize)?;
                (Some(value), after)
            }
        };
        rest = after;
        Some(Change { table, key, value })
    })
}

fn number_at(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..at + 8).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn half_number_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(*bytes.first_chunk()?))
}

fn quarter_number_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes(*bytes.first_chunk()?))
}

#[cfg(test)]
#[path = "wal_tests.rs"]
mod tests;
