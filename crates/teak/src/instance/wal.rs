//! The write-ahead log of the memtable: a file next to the database with one entry for each commit
//! in the memtable. It is written by a call of the system, so its commits survive the death of the
//! process. It is flushed for durable commits only (`log_flush.rs`).
//!
//! The file has two halves. Each begins with a header, and has the entries of some commits in
//! order. While those of one half are merged, commits follow in the other one.
//!
//! | from byte | content of the header |
//! |---|---|
//! | 0 | magic |
//! | 8 | the database (16 bytes) |
//! | 24 | the commit that the entries follow |
//! | 32 | a checksum that identifies its state |
//! | 40 | a random number of this file |
//! | 48 | how many headers were made for it before |
//! | 56 | 0 if the commit is in the trees, and the checksum is that of its catalog root; 1 if it is an entry of the other half, and the checksum that of the entry |
//! | 64 | checksum of the bytes before |
//!
//! Entries follow without gaps: a checksum; the length of the entry (4 bytes) and the number of its
//! operations (4); each operation: lengths of the table's name (2), of the key (2) and of the value
//! (4, all ones for a removal), and these bytes. The checksum of an entry covers that of the entry
//! before it, or of the header. So neither a part of an entry nor an entry left from earlier ever
//! counts. All numbers are little-endian.
//!
//! A header is written with the first entry after it. The record of a commit that merges has the
//! checksum of the last entry that it merged. So recovery finds the entries that follow the newest
//! commit: those after the entry that its record names; those of a half whose header names it; and
//! those of the other half, if they continue.

mod entry;

use crate::{
    Checksum, Error, Result, TransactionId,
    io::{LockMode, LogFile, random_id, remove_file},
    record::Record,
    share::names::log_path,
};
pub(crate) use entry::Change;
use entry::{ENTRY_HEAD_LEN, REMOVED, changes_of, entry_at, number_at};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The most bytes of the file, and of a half.
const WAL_LEN: usize = 2 * HALF_LEN;
const HALF_LEN: usize = 4 << 20;
/// A half gets blocks on the disk for so many bytes at a time.
const FILL_LEN: usize = 256 << 10;
const MAGIC: [u8; 8] = *b"TeakWal3";
const HEADER_LEN: usize = 72;

/// The commit that the entries of a half follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Predecessor {
    transaction: TransactionId,
    /// Of the catalog root, or of the entry.
    checksum: Checksum,
    is_entry: bool,
}

/// A log that this process writes.
#[derive(Debug)]
pub(crate) struct Wal {
    file: Arc<LogFile>,
    database: [u8; 16],
    nonce: [u8; 8],
    begin_count: u64,
    /// The header, until the first entry after it is written.
    header: Option<[u8; HEADER_LEN]>,
    /// Where the next entry begins, and where its half ends.
    end: usize,
    half_end: usize,
    /// How much of each half has blocks on the disk.
    filled: [usize; 2],
    last: Checksum,
    last_entry: Checksum,
    /// The commits that the older half in use follows, and the present one.
    follows: (TransactionId, TransactionId),
    buffer: Vec<u8>,
}

/// A place between two entries.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct WalPosition {
    /// Where the entry after it begins, unless the log was turned over since.
    end: usize,
    /// The checksum of the entry before it.
    pub(crate) last_entry: Checksum,
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
            file: Arc::new(LogFile::create(path, mode)?),
            database: [0; 16],
            nonce: *id.first_chunk().expect("an id has 16 bytes"),
            begin_count: 0,
            header: None,
            end: 0,
            half_end: WAL_LEN,
            filled: [0; 2],
            last: Checksum(0),
            last_entry: Checksum(0),
            follows: Default::default(),
            buffer: Vec::new(),
        })
    }

    /// Begins again, with entries that follow a commit in the trees.
    pub(crate) fn begin(&mut self, record: &Record) {
        self.database = record.database_id;
        self.begin_half(named_by(record));
        self.follows = (record.transaction, record.transaction);
    }

    /// Continues in the other half after the last entry, which is commit `last`. The entries in
    /// this half count until others are written there.
    pub(crate) fn turn_over(&mut self, last: TransactionId) {
        if self.header.is_none() {
            self.follows = (self.follows.1, last);
            self.begin_half(Predecessor {
                transaction: last,
                checksum: self.last,
                is_entry: true,
            });
        }
    }

    fn begin_half(&mut self, predecessor: Predecessor) {
        let header = header_of(&self.database, predecessor, self.nonce, self.begin_count);
        self.begin_count += 1;
        self.last = Checksum(number_at(&header, HEADER_LEN - 8));
        // A half without an entry since it began is used again.
        let start = match self.header {
            Some(_) => self.half_end - HALF_LEN,
            None => self.half_end % WAL_LEN,
        };
        self.header = Some(header);
        self.end = start + HEADER_LEN;
        self.half_end = start + HALF_LEN;
    }

    /// The part of the half that is used, in hundredths.
    pub(crate) fn fill(&self) -> usize {
        let used = self.end + HALF_LEN - self.half_end;
        used * 100 / HALF_LEN
    }

    /// The commits that the older half in use follows, and the present one. The entries count if
    /// recovery finds the first of these in the trees, or a later one.
    pub(crate) fn follows(&self) -> (TransactionId, TransactionId) {
        self.follows
    }

    pub(crate) fn file(&self) -> &Arc<LogFile> {
        &self.file
    }

    /// The place after the last entry.
    pub(crate) fn position(&self) -> WalPosition {
        WalPosition {
            end: self.end,
            last_entry: self.last_entry,
        }
    }

    /// Erases the entries after a place, as far as the system takes that. No more are appended.
    pub(crate) fn cut(&self, position: WalPosition) {
        let start = self.half_end - HALF_LEN;
        let is_in_this_half = (start + HEADER_LEN..=self.half_end).contains(&position.end);
        let used = position.end % HALF_LEN;
        let has_room = used >= HEADER_LEN && used + ENTRY_HEAD_LEN <= HALF_LEN;
        let entry = has_room.then_some(position.end);
        let header = (!is_in_this_half).then_some(start);
        for at in entry.into_iter().chain(header) {
            let _ = self.file.write(&[0; ENTRY_HEAD_LEN], at as u64);
        }
    }

    /// Makes room on the disk for an entry with these changes. Returns `false` if the half or the
    /// disk is full.
    pub(crate) fn make_room<'c>(&mut self, changes: impl Iterator<Item = Change<'c>>) -> bool {
        let len: usize = changes.map(|change| change.len()).sum();
        let end = self.end + ENTRY_HEAD_LEN + len;
        if end > self.half_end {
            return false;
        }
        let start = self.half_end - HALF_LEN;
        let filled = &mut self.filled[start / HALF_LEN];
        while start + *filled < end {
            let part = start + *filled..start + *filled + FILL_LEN;
            if self.file.fill(part).is_err() {
                return false;
            }
            *filled += FILL_LEN;
        }
        true
    }

    /// Appends an entry, for which [`Self::make_room`] has made room. The first one is written with
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
        assert!(
            self.end + len <= self.half_end,
            "the caller has asked for room"
        );
        self.file.write(buffer, (self.end - start) as u64)?;
        self.header = None;
        self.end += len;
        self.last = checksum;
        self.last_entry = checksum;
        Ok(())
    }

    /// Removes the file.
    pub(crate) fn remove(self) {
        self.file.remove();
    }
}

/// How a half names the commit of a record.
fn named_by(record: &Record) -> Predecessor {
    Predecessor {
        transaction: record.transaction,
        checksum: Checksum::of(&record.catalog_root),
        is_entry: false,
    }
}

fn header_of(
    database: &[u8; 16],
    predecessor: Predecessor,
    nonce: [u8; 8],
    begin_count: u64,
) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(&MAGIC);
    header[8..24].copy_from_slice(database);
    header[24..32].copy_from_slice(&predecessor.transaction.0.to_le_bytes());
    header[32..40].copy_from_slice(&predecessor.checksum.0.to_le_bytes());
    header[40..48].copy_from_slice(&nonce);
    header[48..56].copy_from_slice(&begin_count.to_le_bytes());
    header[56..64].copy_from_slice(&u64::from(predecessor.is_entry).to_le_bytes());
    let checksum = Checksum::of(&header[..HEADER_LEN - 8]);
    header[HEADER_LEN - 8..].copy_from_slice(&checksum.0.to_le_bytes());
    header
}

/// The log that a process left.
#[derive(Default, Debug)]
pub(crate) struct LeftWal {
    content: Vec<u8>,
    /// Where each commit that counts begins in it.
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
        let Some(content) = content.filter(|content| is_log(content)) else {
            return Ok(Self::default());
        };
        let halves = [0, HALF_LEN].map(|start| Half::read(&content, start, record));
        let [first, second] = &halves;
        let in_order = [(first, second), (second, first)];
        let following = in_order.map(|(half, other)| entries_after(record, half, other));
        let entries = following.into_iter().max_by_key(Vec::len);
        Ok(Self {
            entries: entries.unwrap_or_default(),
            content,
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

/// The entries of one half.
struct Half {
    predecessor: Predecessor,
    /// Where each one begins, and its checksum.
    entries: Vec<(usize, Checksum)>,
}

impl Half {
    /// Reads the half that begins at `start`; `None` if it is not of the database of `record`.
    fn read(content: &[u8], start: usize, record: &Record) -> Option<Self> {
        let half = content.get(start..)?;
        let half = &half[..half.len().min(HALF_LEN)];
        let header = half.first_chunk::<HEADER_LEN>()?;
        let predecessor = Predecessor {
            transaction: TransactionId(number_at(header, 24)),
            checksum: Checksum(number_at(header, 32)),
            is_entry: number_at(header, 56) == 1,
        };
        let nonce = header[40..48].try_into().expect("eight bytes");
        let begin_count = number_at(header, 48);
        if *header != header_of(&record.database_id, predecessor, nonce, begin_count) {
            return None;
        }
        let mut entries = Vec::new();
        let mut end = HEADER_LEN;
        let mut last = Checksum(number_at(header, HEADER_LEN - 8));
        while let Some((checksum, len)) = entry_at(half, end, last) {
            entries.push((start + end, checksum));
            end += len;
            last = checksum;
        }
        Some(Self {
            predecessor,
            entries,
        })
    }

    /// The commit of an entry.
    fn transaction(&self, index: usize) -> TransactionId {
        TransactionId(
            self.predecessor
                .transaction
                .0
                .saturating_add(index as u64 + 1),
        )
    }

    /// How the other half names the last entry.
    fn end(&self) -> Option<Predecessor> {
        let (_, checksum) = *self.entries.last()?;
        Some(Predecessor {
            transaction: self.transaction(self.entries.len() - 1),
            checksum,
            is_entry: true,
        })
    }

    /// The index of the first entry after the commit of a record. The commit is in the middle of a
    /// half if a merge stopped there for a reader, or if appending an entry failed, which is there
    /// nevertheless.
    fn first_after(&self, record: &Record) -> Option<usize> {
        let is_merged = |&(index, &(_, checksum)): &(usize, &(usize, Checksum))| {
            checksum == record.log_end && self.transaction(index) == record.transaction
        };
        let merged = Predecessor {
            transaction: record.transaction,
            checksum: record.log_end,
            is_entry: true,
        };
        if [named_by(record), merged].contains(&self.predecessor) {
            return Some(0);
        }
        let found = self.entries.iter().enumerate().find(is_merged);
        found.map(|(index, _)| index + 1)
    }
}

/// Where the entries after the commit of a record begin, if the first one is in `half`, or the last
/// one that it merged.
fn entries_after(record: &Record, half: &Option<Half>, other: &Option<Half>) -> Vec<usize> {
    let Some(half) = half else {
        return Vec::new();
    };
    let Some(first) = half.first_after(record) else {
        return Vec::new();
    };
    let continued = (other.iter()).filter(|other| half.end() == Some(other.predecessor));
    let continued = continued.flat_map(|other| &other.entries);
    let following = half.entries[first..].iter().chain(continued);
    following.map(|(start, _)| *start).collect()
}

/// Whether a file is a log. Of each half the first entry may not have been written, or was lost in
/// a power cut.
fn is_log(content: &[u8]) -> bool {
    let mut halves = content.chunks(HALF_LEN);
    halves.all(|half| {
        // Without the version of its layout.
        let head = &half[..half.len().min(MAGIC.len() - 1)];
        head == &MAGIC[..head.len()] || head.iter().all(|byte| *byte == 0)
    })
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

#[cfg(test)]
#[path = "wal_tests.rs"]
mod tests;
