//! Writing pages and records to the file, and flushing it.

use crate::{
    Error, PageNumber, Result, TransactionId,
    alloc::FIRST_PAGE,
    io::{Storage, WritableMapping},
    page::page_len,
    record::{ERASED_LEN, Record, SLOT_COUNT, record_ref::slot_page},
};
use std::{
    io::{self, IoSlice},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The operations that errors name.
pub(crate) const WRITING_PAGES: &str = "writing pages";
pub(crate) const WRITING_ENTRY: &str = "writing to the journal";
pub(crate) const WRITING_RECORD: &str = "writing the commit record";
pub(crate) const FLUSHING: &str = "flushing the file";

/// A page that is not in the file yet.
#[derive(Clone, Debug)]
pub(crate) struct UnwrittenPage {
    pub(crate) number: PageNumber,
    pub(crate) bytes: Arc<[u8]>,
    /// The commit that wrote it.
    pub(crate) transaction: TransactionId,
}

/// A failed write or flush: the operation, and the system's error.
#[derive(Debug)]
pub(crate) struct FailedWrite {
    pub(crate) operation: &'static str,
    pub(crate) error: io::Error,
}

impl FailedWrite {
    pub(crate) fn new(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self { operation, error }
    }

    pub(crate) fn into_error(self) -> Error {
        Error::io(self.operation)(self.error)
    }
}

/// The result of a write or flush.
pub(crate) type WriteOutcome = std::result::Result<(), FailedWrite>;

/// Writes sorted pages to their final positions.
pub(crate) fn write_pages(
    storage: &dyn Storage,
    page_size: usize,
    pages: &[(PageNumber, &[u8])],
) -> io::Result<()> {
    debug_assert!(
        pages.is_sorted_by(|a, b| a.0 < b.0),
        "each page is written once, in the order of the file"
    );
    debug_assert!(
        pages
            .iter()
            .all(|(_, page)| page_len(page.len()) == page_size),
        "a page is written whole, and nothing after it"
    );
    assert!(
        pages.first().is_none_or(|(first, _)| first.0 >= FIRST_PAGE),
        "pages are not written over commit records"
    );
    storage.write_pages(page_size, pages)
}

/// Refuses a record that could not be decoded again.
pub(crate) fn refuse_inconsistent(record: &Record) -> Result<()> {
    record
        .check()
        .map_err(|detail| Error::corrupted(slot_page(record.slot), "commit", detail))
}

/// The file, and how much was written to it since the last flush began.
#[derive(Debug)]
pub(crate) struct CommitDisk {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) page_size: usize,
    unflushed_bytes: AtomicU64,
}

impl CommitDisk {
    pub(crate) fn new(storage: Arc<dyn Storage>, page_size: usize) -> Self {
        assert!(
            page_size.is_power_of_two() && page_size >= ERASED_LEN,
            "the page size was checked when a record was read"
        );
        Self {
            storage,
            page_size,
            unflushed_bytes: AtomicU64::new(0),
        }
    }

    /// Notes bytes that were written, for the next flush to report.
    pub(crate) fn note_bytes(&self, bytes: u64) {
        self.unflushed_bytes.fetch_add(bytes, Relaxed);
    }

    /// Writes sorted pages to their final positions.
    pub(crate) fn write_unwritten<'p>(
        &self,
        pages: impl Iterator<Item = &'p UnwrittenPage>,
    ) -> WriteOutcome {
        let pages: Vec<_> = pages.map(|page| (page.number, &*page.bytes)).collect();
        self.note_bytes((pages.len() * self.page_size) as u64);
        write_pages(&*self.storage, self.page_size, &pages).map_err(FailedWrite::new(WRITING_PAGES))
    }

    /// Writes a record to its slot.
    pub(crate) fn write_record(&self, record: &Record) -> WriteOutcome {
        self.write_encoded(record.slot, &record.encode(self.page_size))
    }

    pub(crate) fn write_encoded(&self, slot: u8, record: &[u8]) -> WriteOutcome {
        self.assert_record(slot, record);
        let record = self.storage.sealed_record(record);
        debug_assert!(
            record.len() <= self.page_size,
            "a record fits its slot, also if it is encrypted"
        );
        self.note_bytes(record.len() as u64);
        self.storage
            .write(self.offset_of(slot), &[IoSlice::new(&record)])
            .map_err(FailedWrite::new(WRITING_RECORD))
    }

    /// Writes an encoded record through `mapped` if it is there. A system call would take a quarter
    /// of the time of an asynchronous commit of one record.
    pub(crate) fn store_encoded(
        &self,
        mapped: Option<&Arc<WritableMapping>>,
        slot: u8,
        record: &[u8],
    ) -> WriteOutcome {
        self.assert_record(slot, record);
        let offset = self.offset_of(slot);
        // SAFETY: the bytes are those of a record slot. Everybody copies them, and nobody borrows
        // them (invariant 3 of `io/mod.rs`).
        if mapped.is_some_and(|mapped| unsafe { mapped.store(offset, record) }) {
            self.note_bytes(record.len() as u64);
            self.storage.mark_written(offset, record.len() as u64);
            return Ok(());
        }
        // The system call reports the error, if there is one.
        self.write_encoded(slot, record)
    }

    /// Asserts that recovery can read a record that is about to be written.
    fn assert_record(&self, slot: u8, record: &[u8]) {
        debug_assert!(record.len() <= self.page_size, "a record fits its slot");
        debug_assert!(
            Record::decode(record, slot).is_ok(),
            "a record that is written can be read from its slot"
        );
    }

    /// Makes the record in a slot unreadable, as far as the disk allows. Errors are ignored: the
    /// earlier error is the one reported.
    pub(crate) fn erase(&self, slot: u8) {
        let zeros = [IoSlice::new(&[0; ERASED_LEN])];
        let _ = self.storage.write(self.offset_of(slot), &zeros);
    }

    /// Flushes everything written so far. Returns how many bytes that is.
    pub(crate) fn flush(&self) -> std::result::Result<u64, FailedWrite> {
        let bytes = self.unflushed_bytes.swap(0, Relaxed);
        self.storage
            .flush()
            .map(|()| bytes)
            .map_err(FailedWrite::new(FLUSHING))
    }

    fn offset_of(&self, slot: u8) -> u64 {
        assert!(slot < SLOT_COUNT, "there is no slot {slot}");
        u64::from(slot) * self.page_size as u64
    }
}
