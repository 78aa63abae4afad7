//! A storage whose file is encrypted or compressed.

use super::{
    coded_file::CodedFile,
    compression::Compression,
    file::LostName,
    frames::Frames,
    mapping::Mapping,
    mutex::lock,
    page_codec::{Content, EncodedBytes, PageCodec},
    storage::{Fill, Storage},
    writable::WritableMapping,
};
use crate::types::{PageNumber, TransactionId};
use std::{
    borrow::Cow,
    fs::Metadata,
    io::{self, IoSlice},
    iter,
    ops::Range,
    sync::{Arc, Mutex},
    thread,
};

/// The bytes of pages that are encoded before they are written.
const WRITE_BYTES_MAX: usize = 1 << 20;
/// From so many bytes of pages on, a second thread encodes half of them.
const SHARED_BYTES_MIN: usize = 256 << 10;
/// Values that take more than this part of the memory for frames are not kept there when written.
const KEPT_VALUE_PART: u64 = 8;
/// The offset of the birth in the header of a page.
const BIRTH_AT: usize = 8;

/// How the pages of a file are encoded.
#[derive(Clone, Debug)]
pub(crate) struct Codecs {
    pub(crate) encryption: Option<Arc<dyn PageCodec>>,
    pub(crate) compression: Option<Compression>,
}

/// A file of encoded pages. Its mapping shows them decoded.
#[derive(Debug)]
pub(crate) struct CodedStorage {
    inner: Arc<dyn Storage>,
    file: Arc<CodedFile>,
    mapping: Arc<Mapping>,
    /// Bytes by which this process has grown the file, and to which it has written nothing: they
    /// are a hole.
    unwritten: Mutex<Range<u64>>,
}

/// The encoded file.
#[derive(Debug)]
struct EncodedFile {
    storage: Arc<dyn Storage>,
    /// The mapping that was used last.
    mapping: Mutex<Arc<Mapping>>,
}

impl EncodedFile {
    /// A mapping with these bytes, if they are in the file.
    fn mapping_of(&self, offset: u64, len: usize) -> io::Result<Arc<Mapping>> {
        let mut mapping = lock(&self.mapping);
        if !mapping.contains(offset, len) {
            *mapping = self.storage.mapping()?;
        }
        Ok(Arc::clone(&mapping))
    }
}

impl EncodedBytes for EncodedFile {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mapping = self.mapping_of(offset, out.len())?;
        mapping.prefault(offset, out.len(), Content::Raw)?;
        let fault_count = mapping.faults().count();
        if !mapping.copy(offset, out) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match mapping.faults().are_more_than(fault_count) {
            false => Ok(()),
            true => Err(mapping.faults().last().1),
        }
    }

    fn prefault(&self, offset: u64, len: usize) -> io::Result<()> {
        let mapping = self.mapping_of(offset, len)?;
        mapping.prefault(offset, len, Content::Raw)
    }

    fn lock(&self, offset: u64, len: usize) -> io::Result<()> {
        self.mapping_of(offset, len)?.lock(offset, len)
    }

    fn unlock_all(&self) -> io::Result<()> {
        lock(&self.mapping).unlock_all()
    }

    fn release(&self) {
        lock(&self.mapping).release();
    }

    fn announce(&self, offset: u64, len: u64) {
        if let Ok(mapping) = self.mapping_of(offset, len as usize) {
            mapping.announce(offset, len);
        }
    }
}

impl CodedStorage {
    /// A file that is shown through `frames`.
    pub(crate) fn new(
        inner: Arc<dyn Storage>,
        codecs: Codecs,
        (page_len, limit_bytes): (usize, u64),
    ) -> io::Result<Self> {
        let len = inner.len();
        let frames = Frames::reserve(len, reserved_len(len), page_len, limit_bytes)?;
        assert!(frames.len() >= len, "each page of the file has a frame");
        let range = Arc::clone(frames.address_range());
        let encoded = Box::new(EncodedFile {
            mapping: Mutex::new(inner.mapping()?),
            storage: Arc::clone(&inner),
        });
        let file = Arc::new(CodedFile {
            encoded,
            codec: codecs.encryption,
            compression: codecs.compression,
            frames,
        });
        let mapping = Arc::new(Mapping::coded_file(range, len, Arc::clone(&file)));
        Ok(Self {
            inner,
            file,
            mapping,
            unwritten: Mutex::default(),
        })
    }

    /// Grows the file. Compressed pages leave a part of it unwritten.
    fn grow_to(&self, bytes: u64, fill: Fill) -> io::Result<()> {
        self.refuse_long(bytes)?;
        let old_len = self.inner.len();
        let fill = match self.file.compression {
            Some(_) => Fill::Hole,
            None => fill,
        };
        let grown = self.inner.grow(bytes, fill);
        self.refresh_len();
        if grown.is_ok() {
            let mut unwritten = lock(&self.unwritten);
            match unwritten.end == old_len {
                true => unwritten.end = bytes,
                false => *unwritten = old_len..bytes,
            }
        }
        grown
    }

    /// Gives back the blocks of bytes that were not written, between those that were and `end`.
    /// Where the file system cannot do that, they stay.
    fn release(&self, begin: u64, written_end: u64, end: u64) -> io::Result<()> {
        debug_assert!(
            begin < written_end && written_end <= end,
            "something was written"
        );
        let is_hole = {
            let mut unwritten = lock(&self.unwritten);
            let is_hole = unwritten.contains(&begin) && end <= unwritten.end;
            if unwritten.contains(&begin) {
                unwritten.start = end.min(unwritten.end);
            }
            is_hole
        };
        if !is_hole && written_end < end {
            self.inner.punch(written_end, end - written_end)?;
        }
        Ok(())
    }

    fn refresh_len(&self) {
        // Another thread must not set an older length later.
        let _unwritten = lock(&self.unwritten);
        self.mapping.set_file_len(self.inner.len());
    }

    /// Encodes pages into parts of `out` with the length of a page, and sets the lengths of what is
    /// stored. Many pages are shared between two threads.
    fn encode(&self, pages: &[(PageNumber, &[u8])], out: &mut [u8], lens: &mut [usize]) {
        let page_len = self.file.frames.page_len();
        if pages.len() > 1 && pages.len() * page_len >= SHARED_BYTES_MIN {
            let (own, other) = pages.split_at(pages.len() / 2);
            let (own_out, other_out) = out.split_at_mut(own.len() * page_len);
            let (own_lens, other_lens) = lens.split_at_mut(own.len());
            let is_shared = thread::scope(|scope| {
                let other = || self.encode_all(other, other_out, other_lens);
                let spawned = thread::Builder::new().spawn_scoped(scope, other);
                self.encode_all(own, own_out, own_lens);
                spawned.is_ok()
            });
            // Without a second thread, this one encodes all.
            if is_shared {
                return;
            }
        }
        self.encode_all(pages, out, lens);
    }

    fn encode_all(&self, pages: &[(PageNumber, &[u8])], out: &mut [u8], lens: &mut [usize]) {
        let outs = out.chunks_exact_mut(self.file.frames.page_len());
        for ((number, page), (out, len)) in pages.iter().zip(outs.zip(lens)) {
            let birth = page[BIRTH_AT..].first_chunk().copied();
            let birth = birth.map_or(0, u64::from_le_bytes);
            *len = self.file.seal_page(number.0, birth, page, out);
        }
    }

    /// Writes the stored bytes of consecutive pages, from page `first` on. Those of whole pages are
    /// written together.
    fn write_encoded(&self, first: u32, encoded: &[u8], lens: &[usize]) -> io::Result<()> {
        let page_len = self.file.frames.page_len();
        assert_eq!(
            encoded.len(),
            lens.len() * page_len,
            "each page has a length"
        );
        let mut start = 0;
        for whole in lens.split_inclusive(|len| *len < page_len) {
            let end = start + whole.len();
            let stored_end = (end - 1) * page_len + whole[whole.len() - 1];
            let at = |bytes: usize| u64::from(first) * page_len as u64 + bytes as u64;
            let stored = &encoded[start * page_len..stored_end];
            self.write(at(start * page_len), &[IoSlice::new(stored)])?;
            if self.file.compression.is_some() {
                self.release(at(start * page_len), at(stored_end), at(end * page_len))?;
            }
            start = end;
        }
        Ok(())
    }

    /// Shows pages that were just written, unless there is too little memory. They are decoded then
    /// when they are read.
    fn show(&self, first: u32, pages: &[&[u8]]) {
        let frames = &self.file.frames;
        if frames.is_over_limit() {
            // SAFETY: no snapshot can see pages that are being written (invariant 1 of
            // ARCHITECTURE.md), so nobody borrows them.
            unsafe { frames.forget(first, pages.len() as u32) };
        } else {
            // SAFETY: likewise.
            unsafe { frames.store(first, pages) };
        }
    }

    fn refuse_long(&self, bytes: u64) -> io::Result<()> {
        match bytes <= self.file.frames.len() {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::OutOfMemory,
                "the file has outgrown the addresses that were reserved for it; close the database and open it again",
            )),
        }
    }
}

/// The addresses to reserve for a file of this length.
fn reserved_len(len: u64) -> u64 {
    const LEAST: u64 = 1 << 40;
    const MOST: u64 = 1 << 44;
    len.saturating_mul(64).clamp(LEAST, MOST)
}

impl Storage for CodedStorage {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        if bytes > self.len() {
            return self.grow_to(bytes, Fill::HugePages);
        }
        let set = self.inner.set_len(bytes);
        self.refresh_len();
        *lock(&self.unwritten) = 0..0;
        set
    }

    fn grow(&self, bytes: u64, fill: Fill) -> io::Result<()> {
        self.grow_to(bytes, fill)
    }

    fn grow_ahead(&self, bytes: u64) {
        // A file that is mostly holes grows quickly.
        if self.file.compression.is_none() {
            self.inner.grow_ahead(bytes);
        }
    }

    fn refresh(&self, has_same_blocks: bool) -> io::Result<()> {
        let refreshed = self.inner.refresh(has_same_blocks);
        self.refresh_len();
        refreshed
    }

    fn refuse_cut(&self) -> io::Result<()> {
        self.inner.refuse_cut()
    }

    fn lost_name(&self) -> Option<LostName> {
        self.inner.lost_name()
    }

    fn metadata(&self) -> io::Result<Option<Metadata>> {
        self.inner.metadata()
    }

    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.inner.write(offset, parts)
    }

    fn write_pages(&self, page_len: usize, pages: &[(PageNumber, &[u8])]) -> io::Result<()> {
        let in_a_row = |a: &(PageNumber, &[u8]), b: &(PageNumber, &[u8])| a.0.0 + 1 == b.0.0;
        assert_eq!(
            page_len,
            self.file.frames.page_len(),
            "frames have the length of pages"
        );
        debug_assert!(
            pages.is_sorted_by(|a, b| a.0 < b.0),
            "each page is written once, in the order of the file"
        );
        let together_max = WRITE_BYTES_MAX / page_len;
        let mut buffer = vec![0; pages.len().min(together_max) * page_len];
        let mut lens = vec![0; pages.len().min(together_max)];
        for together in pages.chunks(together_max) {
            self.encode(together, &mut buffer, &mut lens);
            let mut start = 0;
            for run in together.chunk_by(in_a_row) {
                let (first, end) = (run[0].0.0, start + run.len());
                let encoded = &buffer[start * page_len..end * page_len];
                self.write_encoded(first, encoded, &lens[start..end])?;
                let plain: Vec<_> = run.iter().map(|(_, page)| *page).collect();
                self.show(first, &plain);
                start = end;
            }
        }
        Ok(())
    }

    fn write_value(
        &self,
        offset: u64,
        value: &[u8],
        pages_len: usize,
        birth: TransactionId,
    ) -> io::Result<()> {
        let page_len = self.file.frames.page_len();
        assert!(
            value.len() <= pages_len && pages_len.is_multiple_of(page_len),
            "a large value has whole pages, with room for it"
        );
        let first = (offset / page_len as u64) as u32;
        let stored = self.file.seal_value(first, birth.0, value, pages_len);
        self.write(offset, &[IoSlice::new(&stored)])?;
        if self.file.compression.is_some() {
            let written_end = offset + stored.len() as u64;
            self.release(offset, written_end, offset + pages_len as u64)?;
        }
        drop(stored);
        if pages_len as u64 > self.file.frames.limit_bytes() / KEPT_VALUE_PART {
            // SAFETY: as in `show`.
            unsafe {
                self.file
                    .frames
                    .forget(first, (pages_len / page_len) as u32)
            };
            return Ok(());
        }
        // The rest of the last frames becomes zeros.
        let nothing: &[u8] = &[];
        let parts = value.chunks(page_len).chain(iter::repeat(nothing));
        let plain: Vec<_> = parts.take(pages_len / page_len).collect();
        self.show(first, &plain);
        Ok(())
    }

    fn sealed_record<'r>(&self, image: &'r [u8]) -> Cow<'r, [u8]> {
        let Some(codec) = &self.file.codec else {
            return Cow::Borrowed(image);
        };
        let sealed = codec.seal_record(image);
        debug_assert!(
            sealed.len() >= image.len() && sealed.len() <= self.file.frames.page_len(),
            "an encrypted record is longer, and fits its slot"
        );
        Cow::Owned(sealed)
    }

    fn begin_write_back(&self) {
        self.inner.begin_write_back();
    }

    fn flush(&self) -> io::Result<()> {
        self.inner.flush()
    }

    fn mapping(&self) -> io::Result<Arc<Mapping>> {
        self.refresh_len();
        Ok(Arc::clone(&self.mapping))
    }

    fn secure(&self, offset: u64, len: u64) -> io::Result<bool> {
        match self.file.compression {
            // Most of the blocks may not be needed.
            Some(_) => Ok(false),
            None => self.inner.secure(offset, len),
        }
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<bool> {
        self.inner.punch(offset, len)
    }

    fn next_data(&self, offset: u64) -> io::Result<u64> {
        self.inner.next_data(offset)
    }

    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>> {
        Ok(None)
    }

    fn mark_written(&self, _offset: u64, _len: u64) {}
}
