//! Exact backup: a copy of a state that equals the file in all pages that the state uses. It is
//! written from the first page to the last, so that it can go to a pipe, and while others read and
//! write.
//!
//! A reader holds the state, so none of its pages changes meanwhile. In place of the commit
//! records, the copy gets the records of a clean close. Pages that the state does not use are
//! zeros. In a file of its own, long runs of them are holes. Copied pages are compared with their
//! checksums; see `verified_copy.rs`.

use crate::{
    Error, PageNumber, Result, TransactionId,
    alloc::FIRST_PAGE,
    btree::reading::reading,
    io::{Content, Mapping, file_reads, refuse_file_len},
    record::{LAST_NUMBER, Record, SLOT_COUNT},
};
use crate::{
    admin::verified_copy::{
        CopyUse, CopyUses, EncodedVerifier, ExpectedPages, ValueVerifier, culprit, unsound,
    },
    read::{reader::Reader, snapshot::PinnedSnapshot, state_key::StateKey},
};
use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    ops::{ControlFlow, Range},
};

/// The operations in errors that concern a backup and not the database.
pub(crate) const WRITING_BACKUP: &str = "writing the backup";
pub(crate) const READING_BACKUP: &str = "reading the backup";

/// Pages that are written at once.
const PAGES_AT_ONCE: u64 = 256;

/// Shorter runs of unused pages are written.
const HOLE_LEN_MIN: u64 = 64 << 10;

/// The number of zeros, from a multiple of it on, that are left out in a copy: the blocks that
/// compression saves, and otherwise what is worth a hole.
pub(crate) fn hole_len(compression: u8) -> usize {
    match compression {
        0 => HOLE_LEN_MIN as usize,
        _ => 4096,
    }
}

/// The target of a copy, which is written sequentially.
pub(crate) trait BackupTarget {
    /// Writes the next bytes.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Continues with `len` zero bytes.
    ///
    /// # Errors
    ///
    /// The system's error.
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

/// A file that is initially empty, and gets no blocks for skipped bytes.
pub(crate) struct NewFile<'f> {
    pub(crate) file: &'f mut File,
    /// So many zeros make no blocks either.
    pub(crate) hole_len: usize,
}

impl BackupTarget for NewFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let begin = self.file.stream_position()?;
        refuse_file_len(begin + bytes.len() as u64)?;
        for part in file_reads::parts_with_data(bytes, self.hole_len) {
            self.file.seek(SeekFrom::Start(begin + part.start as u64))?;
            self.file.write_all(&bytes[part])?;
        }
        let end = begin + bytes.len() as u64;
        if self.file.seek(SeekFrom::Start(end))? > self.file.metadata()?.len() {
            self.file.set_len(end)?;
        }
        Ok(())
    }

    fn skip(&mut self, len: u64) -> io::Result<()> {
        let len = i64::try_from(len).map_err(io::Error::other)?;
        let end = self.file.seek(SeekFrom::Current(len))?;
        refuse_file_len(end)?;
        self.file.set_len(end)
    }
}

/// Progress of a backup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BackupProgress {
    /// The state that is copied.
    pub transaction: TransactionId,
    /// Bytes written so far.
    pub bytes: u64,
    /// Total bytes of the copy.
    pub total_bytes: u64,
}

/// Writes a copy of `state` and of the named snapshots. The caller holds all of them.
pub(crate) fn write(
    (state, named): (&PinnedSnapshot, &[(StateKey, Reader)]),
    out: &mut dyn BackupTarget,
    progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
) -> Result<BackupProgress> {
    let write_error = |error| Error::io(WRITING_BACKUP)(error);
    let page_size = state.record().page_size as usize;
    let space = state.load_space_map()?;
    let page_count = space.page_count() - space.trailing_free();
    // Pending pages are copied, because named snapshots may use them. A copy does not need the
    // journal.
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
    let mut encoded_values = EncodedVerifier::default();
    let mut copied = records(&state.record, &state.mapping, page_count);
    let mut next = u64::from(FIRST_PAGE);
    out.write(&copied).map_err(write_error)?;
    loop {
        done.bytes = next * page_size as u64;
        report_progress(done, progress)?;
        if next == page_count {
            return Ok(done);
        }
        let end = page_count.min(next + PAGES_AT_ONCE);
        for (pages, is_hole) in copy_ranges(expected.uses.of(next..end), next, page_size as u64) {
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
                        let compared = match state.mapping.is_coded() {
                            true => {
                                expected.copied_encoded(state, (number, bytes), &mut encoded_values)
                            }
                            false => expected.copied(number, bytes, &mut values),
                        };
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

/// Adds the table to an error of a copied page.
pub(crate) fn blamed(
    error: Error,
    (state, named): (&PinnedSnapshot, &[(StateKey, Reader)]),
) -> Error {
    let Error::Corrupted {
        page, table: None, ..
    } = &error
    else {
        return error;
    };
    let number = u64::from(page.0);
    culprit(state, named, &(number..number + 1)).unwrap_or(error)
}

/// Pages from `first` on, as ranges to write and, with `true`, ranges of unused pages that may be
/// skipped.
fn copy_ranges(uses: &[CopyUse], first: u64, page_size: u64) -> Vec<(Range<u64>, bool)> {
    let mut copy_ranges: Vec<(Range<u64>, bool)> = Vec::new();
    let is_unused = |page: &CopyUse| *page == CopyUse::Unused;
    let mut start = first;
    for same in uses.chunk_by(|a, b| is_unused(a) == is_unused(b)) {
        let end = start + same.len() as u64;
        let is_hole = is_unused(&same[0]) && same.len() as u64 * page_size >= HOLE_LEN_MIN;
        match copy_ranges.last_mut() {
            Some((last, false)) if !is_hole => last.end = end,
            _ => copy_ranges.push((start..end, is_hole)),
        }
        start = end;
    }
    copy_ranges
}

/// Refuses a named state: an exact copy needs the free-space map of its state.
pub(crate) fn refuse_past(state: &PinnedSnapshot) -> Result<()> {
    if !state.is_past {
        return Ok(());
    }
    let text = "only the newest state can be copied exactly, with the named snapshots in it; \
                use a compact backup for a named snapshot";
    Err(Error::InvalidArgument(text.into()))
}

/// Reports the progress of the backup. Fails if the callback breaks.
pub(crate) fn report_progress(
    done: BackupProgress,
    progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
) -> Result<()> {
    match progress(done) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::cancelled(WRITING_BACKUP)),
    }
}

/// The commit records of the copy.
pub(crate) fn records(record: &Record, mapping: &Mapping, page_count: u64) -> Vec<u8> {
    let page_size = record.page_size as usize;
    // A forged record may have no later number. Its copy is still readable, and has no later number
    // either.
    let first = (record.sequence + 1).min(LAST_NUMBER - u64::from(SLOT_COUNT));
    let record_of = |slot: u8| Record {
        slot,
        sequence: first + u64::from(slot),
        flushed_transaction: record.transaction,
        clean_close: true,
        page_count,
        written: Some(Vec::new()),
        ..record.clone()
    };
    let mut pages = Vec::new();
    for slot in 0..SLOT_COUNT {
        pages.extend(mapping.sealed_record(record_of(slot).encode(page_size)));
        pages.resize((usize::from(slot) + 1) * page_size, 0);
    }
    pages
}

/// Appends a page of the file to `chunk`, and returns it there. It is not decoded.
pub(crate) fn add_page<'c>(
    state: &PinnedSnapshot,
    number: PageNumber,
    page_size: usize,
    chunk: &'c mut Vec<u8>,
) -> Result<&'c [u8]> {
    let offset = u64::from(number.0) * page_size as u64;
    let asked = state.mapping.prefault(offset, page_size, Content::Raw);
    asked.map_err(Error::io("reading the file"))?;
    let start = chunk.len();
    if state.mapping.is_coded() {
        chunk.resize(start + page_size, 0);
        return match state.mapping.copy(offset, &mut chunk[start..]) {
            true => Ok(&chunk[start..]),
            false => Err(unreadable()),
        };
    }
    reading(state, || {
        let page = state.pages().bytes(offset, page_size);
        chunk.extend_from_slice(page.ok_or_else(unreadable)?);
        Ok(())
    })?;
    Ok(&chunk[start..])
}

fn unreadable() -> Error {
    Error::io("reading the file")(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
#[path = "backup_tests.rs"]
mod tests;
