//! An exact copy of a state, byte for byte where it uses the file: written from the first page to the last, so that it can
//! go to a pipe, and while others read and write.
//!
//! The state is held by a reader, so that none of its pages changes meanwhile. Instead of the commit records the copy gets those
//! of a clean close. Pages that the state does not use are zeros, and in a file of its own holes, where many of them lie in a row.
//! What is copied is compared with its checksums: `verified.rs` says how.

use crate::{
    Error, PageNumber, Result, TransactionId,
    alloc::FIRST_PAGE,
    btree::{PageSource, reading::reading},
    io::refuse_file_len,
    record::{LAST_NUMBER, Record, SLOT_COUNT},
};
use crate::{
    admin::verified_copy::{CopyUse, CopyUses, ExpectedPages, ValueVerifier, culprit, unsound},
    read::{reader::Reader, snapshot::Snapshot},
};
use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    ops::{ControlFlow, Range},
};

/// What errors are called that are of a backup, and not of the database.
pub(crate) const WRITING_BACKUP: &str = "writing the backup";
pub(crate) const READING_BACKUP: &str = "reading the backup";

/// Pages that are written at once.
const PAGES_AT_ONCE: u64 = 256;

/// Fewer bytes of zeros in a row are written.
const HOLE_LEN_MIN: u64 = 64 << 10;

/// Where a copy goes, from its first byte to its last.
pub(crate) trait BackupTarget {
    /// The next bytes.
    ///
    /// # Errors
    /// What the system answers.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// So many bytes that are zero come next.
    ///
    /// # Errors
    /// What the system answers.
    fn skip(&mut self, len: u64) -> io::Result<()>;
}

/// A target to which all bytes are written.
pub(crate) struct Stream<'w>(pub(crate) &'w mut dyn Write);

impl BackupTarget for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn skip(&mut self, len: u64) -> io::Result<()> {
        io::copy(&mut io::Read::take(io::repeat(0), len), self.0).map(drop)
    }
}

/// A file that is empty at first, and has no blocks for what is skipped.
pub(crate) struct NewFile<'f>(pub(crate) &'f mut File);

impl BackupTarget for NewFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        refuse_file_len(self.0.stream_position()? + bytes.len() as u64)?;
        self.0.write_all(bytes)
    }

    fn skip(&mut self, len: u64) -> io::Result<()> {
        let len = i64::try_from(len).map_err(io::Error::other)?;
        let end = self.0.seek(SeekFrom::Current(len))?;
        refuse_file_len(end)?;
        self.0.set_len(end)
    }
}

/// How far a backup is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BackupProgress {
    /// The state that is copied.
    pub transaction: TransactionId,
    /// Bytes that were written so far.
    pub bytes: u64,
    /// Bytes that the copy will have.
    pub total_bytes: u64,
}

/// Writes a copy of `state`, which the caller holds, and the named snapshots.
pub(crate) fn write(
    (state, named): (&Snapshot, &[(Vec<u8>, Reader)]),
    out: &mut dyn BackupTarget,
    progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
) -> Result<BackupProgress> {
    let write_error = |error| Error::io(WRITING_BACKUP)(error);
    let page_size = PageSource::page_size(state);
    let space = state.load_space_map()?;
    let page_count = space.page_count() - space.trailing_free();
    // What is pending is there for named snapshots. What the journal says is of no use to a copy.
    let mut unused = space.classify().free;
    unused.extend(state.record.journal.map(|journal| journal.extent));
    let uses = CopyUses::new(page_count, &unused);
    drop(space);
    let mut done = BackupProgress {
        transaction: state.transaction(),
        bytes: 0,
        total_bytes: page_count * page_size as u64,
    };
    let mut expected = ExpectedPages::collect(state, named, uses, PAGES_AT_ONCE, &mut || {
        report_progress(done, progress)
    })?;
    let mut values = ValueVerifier::default();
    let mut copied = records(&state.record, page_count);
    let mut next = u64::from(FIRST_PAGE);
    out.write(&copied).map_err(write_error)?;
    loop {
        done.bytes = next * page_size as u64;
        report_progress(done, progress)?;
        if next == page_count {
            return Ok(done);
        }
        let end = page_count.min(next + PAGES_AT_ONCE);
        for (pages, is_hole) in stretches(expected.uses.of(next..end), next, page_size as u64) {
            let len = (pages.end - pages.start) * page_size as u64;
            if is_hole {
                out.skip(len).map_err(write_error)?;
                continue;
            }
            copied.clear();
            for page in pages {
                let number = PageNumber(page as u32);
                match expected.uses.of(page..page + 1) {
                    [CopyUse::Unused] => copied.resize(copied.len() + page_size, 0),
                    _ => {
                        let bytes = add_page(state, number, page_size, &mut copied)?;
                        let compared = expected.copied(number, bytes, &mut values);
                        compared.map_err(|error| blamed(error, (state, named)))?;
                    }
                }
            }
            out.write(&copied).map_err(write_error)?;
        }
        if !expected.is_sound(&(next..end)) {
            let found = culprit(state, named, &(next..end));
            return Err(found.unwrap_or_else(|| unsound(PageNumber(next as u32))));
        }
        next = end;
    }
}

/// An error of a page that was copied, with its table.
pub(crate) fn blamed(error: Error, (state, named): (&Snapshot, &[(Vec<u8>, Reader)])) -> Error {
    let Error::Corrupted {
        page, table: None, ..
    } = &error
    else {
        return error;
    };
    let number = u64::from(page.0);
    culprit(state, named, &(number..number + 1)).unwrap_or(error)
}

/// Pages from `first` on as stretches that are to be written, and such, not in use, that may be left out.
fn stretches(uses: &[CopyUse], first: u64, page_size: u64) -> Vec<(Range<u64>, bool)> {
    let mut stretches: Vec<(Range<u64>, bool)> = Vec::new();
    let is_unused = |page: &CopyUse| *page == CopyUse::Unused;
    let mut start = first;
    for same in uses.chunk_by(|a, b| is_unused(a) == is_unused(b)) {
        let end = start + same.len() as u64;
        let is_hole = is_unused(&same[0]) && same.len() as u64 * page_size >= HOLE_LEN_MIN;
        match stretches.last_mut() {
            Some((last, false)) if !is_hole => last.end = end,
            _ => stretches.push((start..end, is_hole)),
        }
        start = end;
    }
    stretches
}

/// An exact copy needs the space map of its state.
pub(crate) fn refuse_past(state: &Snapshot) -> Result<()> {
    if !state.is_past {
        return Ok(());
    }
    let text = "an exact copy can be made of the newest state only, which has the named snapshots in it; of a named one make a \
                dense copy";
    Err(Error::InvalidArgument(text.into()))
}

/// Tells how far the backup is; an error if that is enough.
pub(crate) fn report_progress(
    done: BackupProgress,
    progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
) -> Result<()> {
    match progress(done) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => {
            let text = "it was ended before it was complete";
            let ended = io::Error::new(io::ErrorKind::Interrupted, text);
            Err(Error::io(WRITING_BACKUP)(ended))
        }
    }
}

/// The commit records of the copy.
pub(crate) fn records(record: &Record, page_count: u64) -> Vec<u8> {
    let page_size = record.page_size as usize;
    // A forged one may have no number behind it. Its copy can be read all the same, and has none either.
    let first = (record.sequence + 1).min(LAST_NUMBER - u64::from(SLOT_COUNT));
    let record_of = |slot: u8| Record {
        slot,
        sequence: first + u64::from(slot),
        durable_transaction: record.transaction,
        clean_close: true,
        page_count,
        written: Some(Vec::new()),
        ..record.clone()
    };
    let mut pages = Vec::new();
    for slot in 0..SLOT_COUNT {
        pages.extend(record_of(slot).encode(page_size));
        pages.resize((usize::from(slot) + 1) * page_size, 0);
    }
    pages
}

/// Adds a page to `chunk`, and returns it there.
pub(crate) fn add_page<'c>(
    state: &Snapshot,
    number: PageNumber,
    page_size: usize,
    chunk: &'c mut Vec<u8>,
) -> Result<&'c [u8]> {
    let offset = u64::from(number.0) * page_size as u64;
    let asked = state.mapping.prefault(offset, page_size);
    asked.map_err(Error::io("reading the file"))?;
    let start = chunk.len();
    reading(state, || {
        let page = state.mapping.bytes(offset, page_size);
        let page =
            page.ok_or_else(|| Error::io("reading the file")(io::ErrorKind::UnexpectedEof.into()))?;
        chunk.extend_from_slice(page);
        Ok(())
    })?;
    Ok(&chunk[start..])
}

#[cfg(test)]
#[path = "backup_tests.rs"]
mod tests;
