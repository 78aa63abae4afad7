//! The journal: small commits are on the disk before their pages are.
//!
//! A flush waits for the disk once for each piece of the file that was written to, and the pages of a small commit lie in several.
//! So whoever leads a flush may write an *entry* into the journal instead, pages in a row that the database has set aside: the record, and
//! of each page what differs from the one that it was copied from. The pages themselves stay in the system's cache, as those of lazy commits
//! do, until the journal is full, or something is flushed that it cannot take. Shortly before it is full the system is told to write them, while
//! commits go on, so that the flush finds few. So there are two last commits: the last one
//! that was *flushed*, with all its pages, and the last one that is durable because an entry says what has changed since.
//!
//! The entries since the last flush are a *chain*: the first one names the checksum of the record of the commit that was flushed, each
//! other one the checksum of the entry before it. So no entry of another time counts, wherever it stands.
//!
//! Only what the state of the entry uses is in it, and each page's source was in use in the state before. So the pages of the flushed commit,
//! which nothing overwrites, and all entries in order make each of these states, byte by byte.
//!
//! An entry begins a page of its own, so that nothing acknowledged is written again where the system's pages are no larger; where they are, it is
//! written again as it was. All numbers are little-endian.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic: `TeakJou` and a byte 1 |
//! | 8 | 8 | checksum: XXH3-64 of the bytes from 16 up to the length |
//! | 16 | 4 | length of the entry in bytes |
//! | 20 | 4 | count of pages |
//! | 24 | 8 | checksum of the entry before, or checksum of the record of the flushed commit |
//! | 32 | | the pages, the record first |
//!
//! A page:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | its number; of a record the slot |
//! | 4 | 4 | number of its source; 0 if that is all zeros, all ones for the record before, zeros behind its sectors |
//! | 8 | 4 | count of parts that differ |
//! | 12 | | the parts: start (2) and length (2) in words of 8 bytes, and the bytes |

use super::journal::changes::JournalInput;
use crate::{
    Checksum, Extent, PageNumber, TransactionId,
    io::{Mapping, Storage},
    planted::{Planted, is_planted},
    record::{JournalPages, Record},
};
use crate::{commit::flush_target::FlushTarget, record::record_ref::RecordRef};
use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
};

pub(crate) mod changes;
mod part;
mod redo;

pub(crate) use redo::Redo;
#[cfg(any(test, feature = "testing"))]
pub(crate) use redo::{changed, redone};

const MAGIC: [u8; 8] = *b"TeakJou\x01";
const CHECKED_FROM: usize = 16;
const HEAD_LEN: usize = 32;
const PAGE_HEAD_LEN: usize = 12;
const WORD_LEN: usize = 8;
/// What is compared at once.
const BLOCK_LEN: usize = 128;
/// Stands for the record before.
pub(crate) const RECORD: u32 = u32::MAX;
/// For each page of the journal entries may have so many in all, and no more bytes of pages than this, all of which recovery may have to keep.
const PAGES_PER_PAGE: usize = 16;
const REDONE_BYTES_MAX: usize = 64 << 20;
/// For each page of the journal so many may have died that wait for a flush.
const DEAD_PER_PAGE: f64 = 4.0;
/// From this part of a journal on the system writes pages. What it has written by then is written again if it is taken anew before the flush; with less
/// time than this it would not be done.
const WRITTEN_BACK_FROM: f64 = 15.0 / 16.0;

/// How many pages all entries of a journal may have.
fn pages_max(journal: Extent, page_size: usize) -> usize {
    (journal.len as usize * PAGES_PER_PAGE).min(REDONE_BYTES_MAX / page_size)
}

/// The entries that this process has written since the last flush.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    chain: Option<Chain>,
    /// How often there were no pages for an entry.
    wanted: u32,
    /// The system does not write single pages through.
    is_refused: bool,
    /// The thread that tells the system to write pages.
    writing_back: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Chain {
    /// The flushed commit.
    base: RecordRef,
    journal: JournalPages,
    /// The commit of the last entry.
    until: TransactionId,
    checksum: Checksum,
    /// The record of the last entry.
    image: Vec<u8>,
    /// Pages of the journal that are used.
    used: u32,
    page_count: usize,
    died: u64,
}

impl Journal {
    /// Whether there were so often no pages for an entry; then it is counted anew.
    pub(crate) fn take_wanted(&mut self, least: u32) -> bool {
        let is_wanted = self.wanted >= least;
        if is_wanted {
            self.wanted = 0;
        }
        is_wanted
    }

    /// Writes an entry that makes `target`, which is in the file, durable, and says how many bytes that were; `None`, and nothing is written, if it is to
    /// be flushed.
    ///
    /// # Errors
    /// What the system answers. Whether the entry counts is not known then.
    pub(crate) fn append(
        &mut self,
        storage: &Arc<dyn Storage>,
        page_size: usize,
        target: &FlushTarget,
    ) -> io::Result<Option<u64>> {
        let Some(changes) = target.changes.as_ref().filter(|_| !self.is_refused) else {
            return Ok(None);
        };
        let Some((journal, mapping)) = &changes.journal else {
            self.wanted = self.wanted.saturating_add(1);
            return Ok(None);
        };
        let Some(next) = self.next_of(page_size, target, changes, *journal, mapping) else {
            return Ok(None);
        };
        let len = next.bytes.len() as u64;
        let (extent, used) = (next.chain.journal.extent, next.at);
        let offset = (u64::from(extent.start.0) + u64::from(used)) * page_size as u64;
        // After a write that failed it could not be flushed any more.
        if !matches!(storage.secure(offset, len), Ok(true)) {
            return Ok(None);
        }
        if is_planted(Planted::EntryUnsynced) {
            storage.write(offset, &[io::IoSlice::new(&next.bytes)])?;
        } else if !storage.write_through(offset, &next.bytes)? {
            self.is_refused = true;
            return Ok(None);
        }
        self.chain = Some(next.chain);
        if next.is_nearly_last {
            self.begin_write_back(Arc::clone(storage));
        }
        Ok(Some(len))
    }

    /// Has the system write what a flush would, which is near. Commits go on meanwhile.
    fn begin_write_back(&mut self, storage: Arc<dyn Storage>) {
        self.end_write_back();
        let named = thread::Builder::new().name("teak-write-back".to_owned());
        // Without a thread the flush has more to do.
        self.writing_back = named.spawn(move || storage.begin_write_back()).ok();
    }

    /// Waits for the thread that does so.
    pub(crate) fn end_write_back(&mut self) {
        if let Some(thread) = self.writing_back.take() {
            // It does not panic; if it did, nothing came of it.
            let _ = thread.join();
        }
    }

    /// The entry that makes `target` durable; `None` if that is to be flushed.
    fn next_of(
        &mut self,
        page_size: usize,
        target: &FlushTarget,
        changes: &JournalInput,
        journal: JournalPages,
        mapping: &Mapping,
    ) -> Option<NextEntry> {
        // Another process may have flushed what is only in part new. And all that is new came behind the commit that took the journal: before it
        // nothing was listed.
        let is_of_old = changes.since != target.durable && !is_planted(Planted::EntryOfOld);
        if is_of_old || journal.since > target.flushed.transaction {
            return None;
        }
        let fault_count = mapping.faults().count();
        let image = record_at(mapping, page_size, target.commit)?;
        let before = match self.chain.take() {
            Some(chain) if chain.is_continued(target, journal) => chain,
            _ => Chain::begin(mapping, page_size, target, journal)?,
        };
        let mut entry = JournalEntry::new(before.checksum);
        let slot = u32::from(target.commit.slot);
        entry.put(slot, RECORD, &image, Some(&before.image));
        let page_at =
            |number: PageNumber| mapping.bytes(u64::from(number.0) * page_size as u64, page_size);
        for (number, source) in &changes.pages {
            let page = page_at(*number)?;
            match source {
                Some(source) => entry.put(number.0, source.0, page, Some(page_at(*source)?)),
                None => entry.put(number.0, 0, page, None),
            }
        }
        let (bytes, checksum) = entry.finish(page_size);
        let at = before.used;
        let was_less_full = before.fullness(page_size) < WRITTEN_BACK_FROM;
        let chain = Chain {
            until: target.commit.transaction,
            checksum,
            image,
            used: at + (bytes.len() / page_size) as u32,
            page_count: before.page_count + changes.pages.len() + 1,
            died: before.died + changes.died,
            ..before
        };
        let fullness = chain.fullness(page_size);
        let is_whole = !mapping.faults().are_more_than(fault_count);
        (fullness <= 1.0 && is_whole).then_some(NextEntry {
            bytes,
            at,
            chain,
            is_nearly_last: was_less_full && fullness >= WRITTEN_BACK_FROM,
        })
    }
}

/// An entry that may be written.
struct NextEntry {
    bytes: Vec<u8>,
    /// In which page of the journal it begins.
    at: u32,
    /// The chain with it.
    chain: Chain,
    /// The first one for which there will soon be a flush.
    is_nearly_last: bool,
}

impl Chain {
    /// Whether the last entry made the last durable commit so, and there was no flush since.
    fn is_continued(&self, target: &FlushTarget, journal: JournalPages) -> bool {
        self.base == target.flushed && self.until == target.durable && self.journal == journal
    }

    /// How much of what there may be at most there is, of that of which there is most. Behind 1 there is to be a flush.
    fn fullness(&self, page_size: usize) -> f64 {
        let len = f64::from(self.journal.extent.len);
        let of_pages = self.page_count as f64 / pages_max(self.journal.extent, page_size) as f64;
        let of_dead = self.died as f64 / (len * DEAD_PER_PAGE);
        (f64::from(self.used) / len).max(of_pages).max(of_dead)
    }

    /// Without an entry, if nothing is durable that was not flushed.
    fn begin(
        mapping: &Mapping,
        page_size: usize,
        target: &FlushTarget,
        journal: JournalPages,
    ) -> Option<Self> {
        if target.durable != target.flushed.transaction {
            return None;
        }
        let image = record_at(mapping, page_size, target.flushed)?;
        Some(Self {
            base: target.flushed,
            journal,
            until: target.durable,
            checksum: checksum_of(&image),
            image,
            used: 0,
            page_count: 0,
            died: 0,
        })
    }
}

/// The record of a commit in its slot, as entries have it.
fn record_at(mapping: &Mapping, page_size: usize, written: RecordRef) -> Option<Vec<u8>> {
    let mut image = vec![0; page_size];
    if !mapping.copy(u64::from(written.slot) * page_size as u64, &mut image) {
        return None;
    }
    let record = Record::decode(&image, written.slot).ok()?;
    clear_after(&mut image);
    (record.transaction == written.transaction && record.sequence == written.sequence)
        .then_some(image)
}

/// Clears what an older record may have left behind a record.
fn clear_after(image: &mut [u8]) {
    let len = Record::sectors_len(image);
    if let Some(rest) = image.get_mut(len..) {
        rest.fill(0);
    }
}

/// What stands at the head of a record.
fn checksum_of(image: &[u8]) -> Checksum {
    Checksum(word(image, 8).unwrap_or(0))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// An entry that is being written.
pub(crate) struct JournalEntry {
    bytes: Vec<u8>,
    count: u32,
}

impl JournalEntry {
    pub(crate) fn new(before: Checksum) -> Self {
        let mut bytes = vec![0; HEAD_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[24..HEAD_LEN].copy_from_slice(&before.0.to_le_bytes());
        Self { bytes, count: 0 }
    }

    /// Adds a page: what of it is not as in `old`, or not zero.
    pub(crate) fn put(&mut self, number: u32, source: u32, page: &[u8], old: Option<&[u8]>) {
        let head = self.bytes.len();
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self.bytes.extend_from_slice(&source.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        let is_same = |index: usize, bytes: &[u8]| match old {
            Some(old) => *bytes == old[index * WORD_LEN..][..bytes.len()],
            None => *bytes == [0; BLOCK_LEN][..bytes.len()],
        };
        let (mut count, mut begun): (u32, Option<usize>) = (0, None);
        let mut part = |start: usize, end: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(&(start as u16).to_le_bytes());
            out.extend_from_slice(&((end - start) as u16).to_le_bytes());
            out.extend_from_slice(&page[start * WORD_LEN..end * WORD_LEN]);
            count += 1;
        };
        for (block_index, block) in page.chunks(BLOCK_LEN).enumerate() {
            let first = block_index * (BLOCK_LEN / WORD_LEN);
            // Most of a page is as it was.
            if begun.is_none() && is_same(first, block) {
                continue;
            }
            for (index, word) in (first..).zip(block.chunks_exact(WORD_LEN)) {
                match (is_same(index, word), begun) {
                    (true, Some(start)) => {
                        part(start, index, &mut self.bytes);
                        begun = None;
                    }
                    (false, None) => begun = Some(index),
                    _ => {}
                }
            }
        }
        if let Some(start) = begun {
            part(start, page.len() / WORD_LEN, &mut self.bytes);
        }
        self.bytes[head + 8..head + PAGE_HEAD_LEN].copy_from_slice(&count.to_le_bytes());
        self.count += 1;
    }

    /// The bytes, in whole pages, and the checksum.
    pub(crate) fn finish(mut self, page_size: usize) -> (Vec<u8>, Checksum) {
        let len = self.bytes.len();
        self.bytes[16..20].copy_from_slice(&(len as u32).to_le_bytes());
        self.bytes[20..24].copy_from_slice(&self.count.to_le_bytes());
        let checksum = Checksum::of(&self.bytes[CHECKED_FROM..]);
        self.bytes[8..16].copy_from_slice(&checksum.0.to_le_bytes());
        self.bytes.resize(len.next_multiple_of(page_size), 0);
        (self.bytes, checksum)
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
