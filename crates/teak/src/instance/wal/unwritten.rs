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

use crate::io::{BLOCK_LEN, LogPart, LogStorage};
use std::{io, mem, sync::Arc};

/// After so many durable commits in a row entries are kept in memory.
const DIRECT_RUN: u32 = 16;

/// The entries that are only in memory.
#[derive(Default, Debug)]
pub(super) struct Unwritten {
    /// From the beginning of a block on; that block may have earlier entries. Empty after entries
    /// that went into the cache.
    part: LogPart,
    /// Whether it has entries that no flush has taken.
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
    file: Arc<dyn LogStorage>,
    /// For the disk, past the cache.
    part: Option<LogPart>,
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
        is_direct && self.is_wanted() || self.is_pending()
    }

    fn is_wanted(&self) -> bool {
        self.durable_run > DIRECT_RUN && !self.is_suspended
    }

    /// Where an entry of this length is added if the one before ends at `at`.
    pub(super) fn offset_after(&self, at: usize, len: usize) -> usize {
        let next = at.next_multiple_of(BLOCK_LEN);
        match self.part.end() == at && at + len <= next {
            true => at,
            false => next,
        }
    }

    /// Adds an entry at its offset.
    pub(super) fn append(&mut self, offset: usize, entry: &[u8]) {
        if !mem::replace(&mut self.has_entries, true) && self.part.end() != offset {
            // Its block was written, and gets no more entries.
            self.part = LogPart {
                start: offset,
                bytes: Vec::new(),
            };
        }
        let LogPart { start, bytes } = &mut self.part;
        debug_assert!(*start + bytes.len() <= offset, "entries are added in order");
        bytes.resize(offset - *start, 0);
        bytes.extend_from_slice(entry);
    }

    /// Notes that something was written into the cache.
    pub(super) fn note_cached(&mut self) {
        self.is_cached = true;
        if !self.is_pending() {
            self.part = LogPart::default();
        }
    }

    /// Writes all entries into the cache, also later ones until [`Self::resume`]. Some are still
    /// [pending](Self::is_pending) after this while a flush writes past the cache.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(super) fn write_out(&mut self, file: &dyn LogStorage) -> io::Result<()> {
        self.is_suspended = true;
        match self.is_writing {
            true => Ok(()),
            false => self.write_entries(file),
        }
    }

    /// Writes the entries into the cache, if there are any. They stay if that fails.
    fn write_entries(&mut self, file: &dyn LogStorage) -> io::Result<()> {
        if self.has_entries {
            file.write_anyway(&self.part.bytes, self.part.start as u64)?;
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
        assert!(!self.is_pending(), "all entries are in the cache");
        self.is_suspended = false;
    }

    /// Forgets all entries.
    pub(super) fn forget(&mut self) {
        self.part = LogPart::default();
        self.has_entries = false;
    }

    /// Begins a flush. Writes the entries into the cache if later ones should go there.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(super) fn begin_flush(&mut self, file: &Arc<dyn LogStorage>) -> io::Result<WalFlush> {
        let mut part = None;
        if self.has_entries && self.is_wanted() {
            (self.has_entries, self.is_writing) = (false, true);
            let next = last_block(&self.part);
            part = Some(mem::replace(&mut self.part, next));
        }
        self.write_entries(&**file)?;
        Ok(WalFlush {
            file: Arc::clone(file),
            part,
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

impl WalFlush {
    /// The bytes that it writes past the cache.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.part.as_ref().map_or(0, |part| part.bytes.len())
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
        match &self.part {
            Some(part) if !self.file.write_durably(part)? => {
                self.file.write_anyway(&part.bytes, part.start as u64)?;
                self.file.flush()
            }
            _ => Ok(()),
        }
    }
}
