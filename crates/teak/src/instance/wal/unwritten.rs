//! The entries of a log that are only in memory.
//!
//! An entry that is written into the cache of the system survives the death of the process. A
//! durable commit is not over before the log is on the disk, so its entry need not be in the cache
//! before that: a flush writes it past the cache. The disk then gets the block with the entry, and
//! not a page of the cache.
//!
//! Lazy commits are over when their entries are in the cache, and a page must not be written in
//! both ways at a time. So entries are kept in memory after some durable commits in a row
//! ([`DIRECT_RUN`]), until a commit is lazy. The entries that are in memory then, or are being
//! written past the cache, come first: commits wait for a flush of them as durable ones do.
//!
//! Before a merge all entries are in the cache: readers see the merge when it begins, and commits
//! that they have seen survive the death of the process.
//!
//! An entry that would extend into another block begins there, so that a flush of one small commit
//! writes one block.

use crate::io::{BLOCK_LEN, LogFile, LogPart};
use std::{io, mem, sync::Arc};

/// After so many durable commits in a row entries are kept in memory.
const DIRECT_RUN: u32 = 16;

/// The entries that are only in memory.
#[derive(Default, Debug)]
pub(super) struct Unwritten {
    /// In the order in which they are written. The last one begins with the block where the log
    /// ends, unless its entries went into the cache.
    parts: Vec<LogPart>,
    /// Whether there are entries that no flush has taken.
    has_entries: bool,
    /// Whether a flush writes past the cache.
    is_writing: bool,
    /// Whether the cache may have something that no flush has taken.
    is_cached: bool,
    durable_run: u32,
    /// Whether entries go into the cache until a merge begins.
    is_suspended: bool,
}

/// A flush of a log.
#[derive(Debug)]
pub(crate) struct WalFlush {
    file: Arc<LogFile>,
    parts: Vec<LogPart>,
    is_cached: bool,
}

impl Unwritten {
    /// Whether the entry of the next commit is kept. `is_direct` says that the file can be written
    /// past the cache.
    pub(super) fn keeps_next(&mut self, is_durable: bool, is_direct: bool) -> bool {
        self.durable_run = match is_durable {
            true => self.durable_run.saturating_add(1),
            false => 0,
        };
        is_direct && self.is_wanted() || self.has_entries || self.is_writing
    }

    fn is_wanted(&self) -> bool {
        self.durable_run > DIRECT_RUN && !self.is_suspended
    }

    /// Where an entry of this length is added if the one before ends at `at`.
    pub(super) fn offset_after(&self, at: usize, len: usize) -> usize {
        let next = at.next_multiple_of(BLOCK_LEN);
        let has_block = self.parts.last().is_some_and(|part| part.end() == at);
        match has_block && at + len <= next {
            true => at,
            false => next,
        }
    }

    /// Adds an entry at its offset.
    pub(super) fn append(&mut self, offset: usize, entry: &[u8]) {
        let is_last = |part: &LogPart| part.end() == offset;
        if !mem::replace(&mut self.has_entries, true) && !self.parts.last().is_some_and(is_last) {
            // The block was written, and no entry is added to it.
            self.parts.clear();
        }
        let is_followed = |part: &&mut LogPart| {
            (part.end()..=part.end().next_multiple_of(BLOCK_LEN)).contains(&offset)
        };
        match self.parts.last_mut().filter(is_followed) {
            Some(part) => {
                part.bytes.resize(offset - part.start, 0);
                part.bytes.extend_from_slice(entry);
            }
            None => self.parts.push(LogPart {
                start: offset,
                bytes: entry.to_vec(),
            }),
        }
    }

    /// Notes that something was written into the cache.
    pub(super) fn note_cached(&mut self) {
        self.is_cached = true;
        if !self.has_entries && !self.is_writing {
            // Without what was written after its last block.
            self.parts.clear();
        }
    }

    /// Writes all entries into the cache, also later ones until [`Self::resume`]. Returns `false`
    /// if a flush has to end before.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(super) fn write_out(&mut self, file: &LogFile) -> io::Result<bool> {
        self.is_suspended = true;
        if !self.is_writing {
            self.write_entries(file)?;
        }
        Ok(!self.is_writing)
    }

    /// Writes the entries into the cache, if there are any. They stay if that fails.
    fn write_entries(&mut self, file: &LogFile) -> io::Result<()> {
        if self.has_entries {
            write(file, &self.parts)?;
            self.has_entries = false;
            self.note_cached();
        }
        Ok(())
    }

    /// Whether there are entries that are not in the file.
    pub(super) fn is_pending(&self) -> bool {
        self.has_entries || self.is_writing
    }

    /// Notes that a merge begins, and that the next entries are in the other half.
    pub(super) fn resume(&mut self) {
        debug_assert!(
            !self.has_entries && !self.is_writing,
            "all entries are in the cache"
        );
        self.is_suspended = false;
        self.parts.clear();
    }

    /// Forgets all entries.
    pub(super) fn forget(&mut self) {
        self.parts.clear();
        self.has_entries = false;
    }

    /// Begins a flush. Writes the entries into the cache if later ones should go there.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(super) fn begin_flush(&mut self, file: &Arc<LogFile>) -> io::Result<WalFlush> {
        let mut parts = Vec::new();
        if self.has_entries && self.is_wanted() {
            self.has_entries = false;
            self.is_writing = true;
            parts = mem::take(&mut self.parts);
            self.parts.extend(parts.last().map(last_block));
        }
        self.write_entries(file)?;
        Ok(WalFlush {
            file: Arc::clone(file),
            parts,
            is_cached: mem::take(&mut self.is_cached),
        })
    }

    pub(super) fn end_flush(&mut self) {
        self.is_writing = false;
    }
}

/// The part of the last block that is used.
fn last_block(part: &LogPart) -> LogPart {
    let whole = part.bytes.len() / BLOCK_LEN * BLOCK_LEN;
    LogPart {
        start: part.start + whole,
        bytes: part.bytes[whole..].to_vec(),
    }
}

/// Writes entries into the cache.
fn write(file: &LogFile, parts: &[LogPart]) -> io::Result<()> {
    let mut parts = parts.iter();
    parts.try_for_each(|part| file.write(&part.bytes, part.start as u64))
}

impl WalFlush {
    /// The lengths of what it writes past the cache.
    #[cfg(test)]
    pub(super) fn lens(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.bytes.len()).collect()
    }

    /// Performs it.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(crate) fn perform(&self) -> io::Result<()> {
        if self.is_cached {
            self.file.flush()?;
        }
        if !self.parts.is_empty() && !self.file.write_durably(&self.parts)? {
            write(&self.file, &self.parts)?;
            self.file.flush()?;
        }
        Ok(())
    }
}
