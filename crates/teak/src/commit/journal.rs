//! The journal: it makes small commits durable before their pages are on the disk.
//!
//! A flush waits for the disk once for each written piece of the file, and the pages of a small
//! commit are scattered. The flush leader may therefore write an *entry* into the journal instead.
//! The journal is an extent of the file that the database has set aside. An entry contains the
//! record, and for each page the difference from the page that it was copied from. The pages
//! themselves stay in the system's cache, like those of lazy commits, until the journal is full or
//! a commit is flushed that the journal cannot take. Shortly before the journal is full, the system
//! is asked to write the cached pages in the background, so that the flush finds few of them. There
//! are thus two last commits: the last *flushed* commit, whose pages are all on the disk, and the
//! last *durable* commit, which the entries describe as changes since then.
//!
//! The entries since the last flush form a *chain*. The first one names the checksum of the record
//! of the flushed commit, and each later one the checksum of the entry before it. An entry left
//! from an earlier chain therefore never counts, wherever it is.
//!
//! An entry contains only pages that its state uses, and the source of each page was in use in the
//! state before. The pages of the flushed commit are not overwritten. Together with all entries in
//! order, they reproduce each of these states byte by byte.

use crate::{
    Checksum, PageNumber, TransactionId,
    commit::flush_target::FlushTarget,
    io::{Mapping, Pinned, Storage, Worker},
    planted::planted,
    record::{JournalPages, Record, record_ref::RecordRef},
};
use std::{io, sync::Arc};

pub(crate) mod changes;
pub(crate) mod entry;
mod redo;

use changes::JournalInput;
use entry::{JournalEntry, RECORD, checksum_of, clear_after, pages_max};
pub(crate) use redo::Redo;
#[cfg(any(test, feature = "testing"))]
pub(crate) use redo::{changed, redone};

/// This many dead pages may wait for a flush, for each page of the journal.
const DEAD_PER_PAGE: f64 = 4.0;
/// While the file is being made shorter, the journal counts as full earlier: pages that were moved,
/// and the end of the file, become free at flushes only.
const FULL_WHILE_SHRINKING: f64 = 1.0 / 16.0;
/// The system is asked to write the pages once this part of the journal is used. Starting earlier
/// writes more pages twice, because pages written by then may be reused before the flush. Starting
/// later leaves too little time to finish.
const WRITTEN_BACK_FROM: f64 = 15.0 / 16.0;

/// The entries that this process has written since the last flush.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    chain: Option<Chain>,
    /// How often an entry was not written because there was no journal.
    wanted: u32,
    /// The system does not support writing single pages through.
    is_refused: bool,
    /// The thread that asks the system to write pages.
    writing_back: Option<Worker>,
}

#[derive(Debug)]
struct Chain {
    /// The flushed commit that the chain starts from.
    base: RecordRef,
    journal: JournalPages,
    /// The commit of the last entry.
    until: TransactionId,
    checksum: Checksum,
    /// The record of the last entry.
    image: Vec<u8>,
    /// Pages of the journal in use.
    used: u32,
    page_count: usize,
    died: u64,
}

impl Journal {
    /// Whether an entry lacked a journal at least `least` times. If so, the count restarts at zero.
    pub(crate) fn take_wanted(&mut self, least: u32) -> bool {
        let is_wanted = self.wanted >= least;
        if is_wanted {
            self.wanted = 0;
        }
        is_wanted
    }

    /// Writes an entry that makes `target` durable, whose pages are in the file already. Returns
    /// the length in bytes. Returns `None` and writes nothing if `target` has to be flushed
    /// instead.
    ///
    /// # Errors
    ///
    /// The system's error. It is then unknown whether the entry counts.
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
        assert!(
            offset + len <= extent.end() * page_size as u64,
            "an entry stays within the journal"
        );
        assert!(
            len > 0 && len.is_multiple_of(page_size as u64),
            "an entry has pages of its own, so that none is written twice"
        );
        assert!(
            next.chain.page_count <= pages_max(extent, page_size),
            "recovery has room for all entries"
        );
        // A failed write here would also rule out a flush, so disk space is secured first.
        if !matches!(storage.secure(offset, len), Ok(true)) {
            return Ok(None);
        }
        if !storage.write_through(offset, &next.bytes)? {
            self.is_refused = true;
            return Ok(None);
        }
        self.chain = Some(next.chain);
        if next.is_nearly_last {
            self.begin_write_back(Arc::clone(storage));
        }
        Ok(Some(len))
    }

    /// Asks the system, in another thread, to write pages before the flush that is soon due.
    /// Commits continue meanwhile.
    fn begin_write_back(&mut self, storage: Arc<dyn Storage>) {
        self.end_write_back();
        let write_back = move || storage.begin_write_back();
        // Without the thread, the flush has more to do.
        self.writing_back = Worker::start("teak-write-back", write_back).ok();
    }

    /// Waits for the thread that [`Journal::begin_write_back`] started.
    pub(crate) fn end_write_back(&mut self) {
        if let Some(thread) = self.writing_back.take() {
            thread.wait();
        }
    }

    /// The entry that makes `target` durable; `None` if it has to be flushed.
    fn next_of(
        &mut self,
        page_size: usize,
        target: &FlushTarget,
        changes: &JournalInput,
        journal: JournalPages,
        mapping: &Mapping,
    ) -> Option<NextEntry> {
        // If another process flushed some of these changes, they do not start at the durable
        // commit. All changes must also be newer than the commit that took the journal: earlier
        // ones were not listed.
        let is_of_old = changes.since != target.durable && !planted!(EntryOfOld);
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
        // SAFETY: reason 3 of `io/pinned.rs`. Only the flush leader writes an entry. The pages
        // below belong to its target, and their sources to the last durable commit, as checked
        // above.
        let pages = unsafe { Pinned::assume(mapping) };
        let page_at =
            |number: PageNumber| pages.bytes(u64::from(number.0) * page_size as u64, page_size);
        for (number, source) in &changes.pages {
            let page = page_at(*number)?;
            match source {
                Some(source) => entry.put(number.0, source.0, page, Some(page_at(*source)?)),
                None => entry.put(number.0, 0, page, None),
            }
        }
        let (bytes, checksum) = entry.finish(page_size);
        debug_assert!(
            redo::is_redone_to(&bytes, &before.image, target.commit.slot, &image),
            "recovery gets the record of the target from its entry"
        );
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
        let full = match changes.is_to_shrink {
            true => FULL_WHILE_SHRINKING,
            false => 1.0,
        };
        let is_whole = !mapping.faults().are_more_than(fault_count);
        (fullness <= full && is_whole).then_some(NextEntry {
            bytes,
            at,
            chain,
            is_nearly_last: was_less_full && fullness >= WRITTEN_BACK_FROM,
        })
    }
}

/// An entry that is ready to be written.
struct NextEntry {
    bytes: Vec<u8>,
    /// Index of its first page in the journal.
    at: u32,
    /// The chain including this entry.
    chain: Chain,
    /// The first entry after which a flush is soon due.
    is_nearly_last: bool,
}

impl Chain {
    /// Whether the last entry made the last durable commit durable, with no flush since.
    fn is_continued(&self, target: &FlushTarget, journal: JournalPages) -> bool {
        self.base == target.flushed && self.until == target.durable && self.journal == journal
    }

    /// The largest of the used fractions of the limits. Above 1 a flush is needed.
    fn fullness(&self, page_size: usize) -> f64 {
        let len = f64::from(self.journal.extent.len);
        let of_pages = self.page_count as f64 / pages_max(self.journal.extent, page_size) as f64;
        let of_dead = self.died as f64 / (len * DEAD_PER_PAGE);
        (f64::from(self.used) / len).max(of_pages).max(of_dead)
    }

    /// A chain without entries. `None` if commits after the flushed one are durable already.
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

/// The record of a commit in its slot, in the form that entries use.
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

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
