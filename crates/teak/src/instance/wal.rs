//! The write-ahead log of the memtable: a file next to the database with one entry for each commit
//! in the memtable. It is mapped, or written by calls of the system, so its commits survive the
//! death of the process. It is flushed for durable commits only (`log_flush.rs`). While all commits
//! are durable, their entries stay in memory until a flush writes them straight to the disk
//! (`wal/unwritten.rs`).
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
//! Each entry follows the one before, or begins with the next block of 512 bytes: a checksum; the
//! length of the entry (4 bytes) and the number of its operations (4); each operation: lengths of
//! the table's name (2), of the key (2) and of the value (4, all ones for a removal), and these
//! bytes. If an entry changes a record several times, the last change counts. The checksum of an
//! entry covers that of the entry before it, or of the header. So neither a part of an entry nor an
//! entry left from earlier ever counts. All numbers are little-endian. If the database is
//! encrypted, the operations are, together with the checksum of the entry before.
//!
//! A header is written with the first entry after it. The record of a commit that merges has the
//! checksum of the last entry that it merged. So recovery finds the entries that follow the newest
//! commit: those after the entry that its record names; those of a half whose header names it; and
//! those of the other half, if they continue.

mod entry;
mod left;
mod unwritten;

use crate::{
    Checksum, TransactionId,
    io::{BLOCK_LEN, EntryKind, LockMode, LogLocation, LogStorage, PageCodec, random_id},
    record::Record,
};
pub(crate) use entry::{Change, OperationOffset, Operations};
use entry::{ENTRY_HEAD_LEN, number_at};
pub(crate) use left::{LeftWal, remove_log_of};
use std::{io, sync::Arc};
use unwritten::Unwritten;
pub(crate) use unwritten::WalFlush;

/// A half gets blocks on the disk for so many bytes at a time.
const FILL_LEN: usize = 256 << 10;
const MAGIC: [u8; 8] = *b"TeakWal5";
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
    file: Arc<dyn LogStorage>,
    database: [u8; 16],
    nonce: [u8; 8],
    begin_count: u64,
    /// The header, until the first entry after it is written.
    header: Option<[u8; HEADER_LEN]>,
    /// The length of a half in bytes.
    half_len: usize,
    /// Where the next entry begins, and where its half ends.
    end: usize,
    half_end: usize,
    /// How much of each half has blocks on the disk.
    filled: [usize; 2],
    last: Checksum,
    last_entry: Checksum,
    /// The commits that the older half in use follows, and the present one.
    follows: (TransactionId, TransactionId),
    unwritten: Unwritten,
    buffer: Vec<u8>,
    /// Encrypts the changes in entries.
    codec: Option<Arc<dyn PageCodec>>,
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
    /// The system's error, `AlreadyExists` if there is a file already.
    pub(crate) fn create(location: &dyn LogLocation, mode: LockMode) -> io::Result<Self> {
        let id = random_id()?;
        let half_len = location.half_len();
        Ok(Self {
            file: location.create(mode)?,
            half_len,
            database: [0; 16],
            nonce: *id.first_chunk().expect("an id has 16 bytes"),
            begin_count: 0,
            header: None,
            end: 0,
            half_end: 2 * half_len,
            filled: [0; 2],
            last: Checksum(0),
            last_entry: Checksum(0),
            follows: Default::default(),
            unwritten: Unwritten::default(),
            buffer: Vec::new(),
            codec: None,
        })
    }

    /// Begins again, with entries that follow a commit in the trees. `codec` encrypts them.
    pub(crate) fn begin(&mut self, record: &Record, codec: Option<Arc<dyn PageCodec>>) {
        self.codec = codec;
        assert!(!self.is_pending(), "a merge had all entries written");
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
            Some(_) => self.half_end - self.half_len,
            None => self.half_end % (2 * self.half_len),
        };
        self.header = Some(header);
        self.end = start + HEADER_LEN;
        self.half_end = start + self.half_len;
    }

    /// The part of the half that is used, in hundredths.
    pub(crate) fn fill(&self) -> usize {
        let used = self.end + self.half_len - self.half_end;
        used * 100 / self.half_len
    }

    /// The commits that the older half in use follows, and the present one. The entries count if
    /// recovery finds the first of these in the trees, or a later one.
    pub(crate) fn follows(&self) -> (TransactionId, TransactionId) {
        self.follows
    }

    pub(crate) fn file(&self) -> &Arc<dyn LogStorage> {
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
    pub(crate) fn cut(&mut self, position: WalPosition) {
        self.unwritten.forget();
        let start = self.half_end - self.half_len;
        let is_in_this_half = (start + HEADER_LEN..=self.half_end).contains(&position.end);
        let used = position.end % self.half_len;
        let has_entry = used >= HEADER_LEN;
        let next = [position.end, position.end.next_multiple_of(BLOCK_LEN)];
        let heads = next
            .into_iter()
            .filter(|at| has_entry && at % self.half_len >= used);
        let header = (!is_in_this_half).then_some(start);
        let is_filled = |at: &usize| {
            let end = at % self.half_len + ENTRY_HEAD_LEN;
            self.filled
                .get(at / self.half_len)
                .is_some_and(|filled| end <= *filled)
        };
        for at in heads.chain(header).filter(is_filled) {
            let _ = self.file.write_anyway(&[0; ENTRY_HEAD_LEN], at as u64);
        }
    }

    /// Makes room on the disk for an entry with these changes. `is_kept` is the result
    /// of [`Self::keeps_next`]. Returns `false` if the half or the disk is full.
    pub(crate) fn make_room(&mut self, changes: &Operations, is_kept: bool) -> bool {
        let added_len = self
            .codec
            .as_ref()
            .map_or(0, |codec| codec.entry_added_len());
        let len = changes.len() + added_len;
        let header_len = self.header.map_or(0, |header| header.len());
        let len = header_len + ENTRY_HEAD_LEN + len;
        let end = self.offset_of_next(len, is_kept) + len;
        if end > self.half_end {
            return false;
        }
        let start = self.half_end - self.half_len;
        let filled = &mut self.filled[start / self.half_len];
        while start + *filled < end {
            let part = start + *filled..start + *filled + FILL_LEN;
            if self.file.fill(part).is_err() {
                return false;
            }
            *filled += FILL_LEN;
            self.unwritten.note_cached();
        }
        true
    }

    /// Whether the entry of the next commit, which is durable or not, stays in memory until the log
    /// is flushed. The commit has to wait for that then.
    pub(crate) fn keeps_next(&mut self, is_durable: bool) -> bool {
        self.unwritten.keeps_next(is_durable, self.file.is_direct())
    }

    /// Where an entry of this length, with a header, is written.
    fn offset_of_next(&self, len: usize, is_kept: bool) -> usize {
        let at = self.end - self.header.map_or(0, |header| header.len());
        match is_kept {
            true => self.unwritten.offset_after(at, len),
            false => at,
        }
    }

    /// Appends an entry, for which [`Self::make_room`] has made room. The first one is written with
    /// the header. `is_kept` is the result of [`Self::keeps_next`].
    ///
    /// # Errors
    ///
    /// The system's error. It is then unknown whether the entry counts.
    pub(crate) fn append(&mut self, changes: &Operations, is_kept: bool) -> io::Result<()> {
        let buffer = &mut self.buffer;
        buffer.clear();
        buffer.extend(self.header.iter().flatten());
        let start = buffer.len();
        buffer.extend(self.last.0.to_le_bytes());
        buffer.extend([0; ENTRY_HEAD_LEN - 8]);
        changes
            .chunks()
            .for_each(|chunk| buffer.extend_from_slice(chunk));
        if let Some(codec) = &self.codec {
            let sealed = codec.seal_entry(
                EntryKind::Log,
                self.last.0,
                &buffer[start + ENTRY_HEAD_LEN..],
            );
            buffer.truncate(start + ENTRY_HEAD_LEN);
            buffer.extend(sealed);
        }
        let entry = &mut buffer[start..];
        let entry_len = entry.len() as u32;
        entry[8..12].copy_from_slice(&entry_len.to_le_bytes());
        entry[12..16].copy_from_slice(&changes.count().to_le_bytes());
        let checksum = Checksum::of(entry);
        entry[..8].copy_from_slice(&checksum.0.to_le_bytes());
        let len = buffer.len();
        let offset = self.offset_of_next(len, is_kept);
        assert!(
            offset + len <= self.half_end,
            "the caller has asked for room"
        );
        match is_kept {
            true => self.unwritten.append(offset, &self.buffer),
            false => {
                self.file.write(&self.buffer, offset as u64)?;
                self.unwritten.note_cached();
            }
        }
        self.header = None;
        self.end = offset + len;
        self.last = checksum;
        self.last_entry = checksum;
        Ok(())
    }

    /// Writes all entries into the cache of the system, also later ones until a merge
    /// [begins](Self::begin_merge). Some are still [pending](Self::is_pending) after this while a
    /// flush writes past the cache.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(crate) fn write_out(&mut self) -> io::Result<()> {
        self.unwritten.write_out(&*self.file)
    }

    /// Whether there are entries that are not in the file.
    pub(crate) fn is_pending(&self) -> bool {
        self.unwritten.is_pending()
    }

    /// Notes that a merge of all entries begins, all of which are in the cache.
    pub(crate) fn begin_merge(&mut self) {
        self.unwritten.resume();
    }

    /// Begins a flush of all entries so far. The caller performs it, and then calls
    /// [`Self::end_flush`]. One thread flushes at a time.
    ///
    /// # Errors
    ///
    /// The system's error from writing entries.
    pub(crate) fn begin_flush(&mut self) -> io::Result<WalFlush> {
        self.unwritten.begin_flush(&self.file)
    }

    pub(crate) fn end_flush(&mut self) {
        self.unwritten.end_flush();
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

#[cfg(test)]
#[path = "wal_tests.rs"]
mod tests;
