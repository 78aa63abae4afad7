//! A storage whose file has a codec.

use super::{
    file::LostName,
    frames::Frames,
    mapping::Mapping,
    mutex::lock,
    page_codec::{CodedFile, Content, EncodedBytes, PageCodec},
    storage::{Fill, Storage},
    writable::WritableMapping,
};
use crate::types::{PageNumber, TransactionId};
use std::{
    borrow::Cow,
    fs::Metadata,
    io::{self, IoSlice},
    sync::{Arc, Mutex},
    thread,
};

/// The pages that are encoded before they are written.
const WRITE_PAGES_MAX: usize = 256;
/// From so many pages on, a second thread encodes half of them.
const SHARED_PAGES_MIN: usize = 64;
/// Values that take more than this part of the memory for frames are not kept there when written.
const KEPT_VALUE_PART: u64 = 8;
/// The offset of the birth in the header of a page.
const BIRTH_AT: usize = 8;

/// A file of encoded pages. Its mapping shows them decoded.
#[derive(Debug)]
pub(crate) struct CodedStorage {
    inner: Arc<dyn Storage>,
    file: Arc<CodedFile>,
    mapping: Arc<Mapping>,
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
        codec: Arc<dyn PageCodec>,
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
            codec,
            frames,
        });
        let mapping = Arc::new(Mapping::coded_file(range, len, Arc::clone(&file)));
        Ok(Self {
            inner,
            file,
            mapping,
        })
    }

    fn refresh_len(&self) {
        self.mapping.set_file_len(self.inner.len());
    }

    /// Encodes pages into `out`, one after the other. Many are shared between two threads.
    fn encode(&self, page_len: usize, pages: &[(PageNumber, &[u8])], out: &mut [u8]) {
        if pages.len() >= SHARED_PAGES_MIN {
            let (own, other) = pages.split_at(pages.len() / 2);
            let (own_out, other_out) = out.split_at_mut(own.len() * page_len);
            let is_shared = thread::scope(|scope| {
                let other = || self.encode_all(page_len, other, other_out);
                let spawned = thread::Builder::new().spawn_scoped(scope, other);
                self.encode_all(page_len, own, own_out);
                spawned.is_ok()
            });
            // Without a second thread, this one encodes all.
            if is_shared {
                return;
            }
        }
        self.encode_all(page_len, pages, out);
    }

    fn encode_all(&self, page_len: usize, pages: &[(PageNumber, &[u8])], out: &mut [u8]) {
        for ((number, page), out) in pages.iter().zip(out.chunks_exact_mut(page_len)) {
            assert_eq!(
                page.len() + usize::from(self.file.codec.reserved_len()),
                page_len,
                "a page leaves room for what the codec adds"
            );
            out[..page.len()].copy_from_slice(page);
            out[page.len()..].fill(0);
            let birth = page[BIRTH_AT..].first_chunk().copied();
            let birth = birth.map_or(0, u64::from_le_bytes);
            self.file.codec.seal_page(number.0, birth, out);
        }
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
        self.refuse_long(bytes)?;
        let set = self.inner.set_len(bytes);
        self.refresh_len();
        set
    }

    fn grow(&self, bytes: u64, fill: Fill) -> io::Result<()> {
        self.refuse_long(bytes)?;
        let grown = self.inner.grow(bytes, fill);
        self.refresh_len();
        grown
    }

    fn grow_ahead(&self, bytes: u64) {
        self.inner.grow_ahead(bytes);
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
        let mut buffer = vec![0; pages.len().min(WRITE_PAGES_MAX) * page_len];
        for together in pages.chunks(WRITE_PAGES_MAX) {
            self.encode(page_len, together, &mut buffer);
            let mut encoded = &buffer[..];
            for run in together.chunk_by(in_a_row) {
                let (bytes, rest) = encoded.split_at(run.len() * page_len);
                let first = run[0].0.0;
                self.write(u64::from(first) * page_len as u64, &[IoSlice::new(bytes)])?;
                let plain: Vec<_> = run.iter().map(|(_, page)| *page).collect();
                self.show(first, &plain);
                encoded = rest;
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
        let mut pages = vec![0; pages_len];
        pages[..value.len()].copy_from_slice(value);
        (self.file.codec).seal_value(first, birth.0, value.len(), &mut pages);
        self.write(offset, &[IoSlice::new(&pages)])?;
        if pages_len as u64 > self.file.frames.limit_bytes() / KEPT_VALUE_PART {
            // SAFETY: as in `show`.
            unsafe {
                self.file
                    .frames
                    .forget(first, (pages_len / page_len) as u32)
            };
            return Ok(());
        }
        pages.fill(0);
        pages[..value.len()].copy_from_slice(value);
        let plain: Vec<_> = pages.chunks_exact(page_len).collect();
        self.show(first, &plain);
        Ok(())
    }

    fn sealed_record<'r>(&self, image: &'r [u8]) -> Cow<'r, [u8]> {
        let sealed = self.file.codec.seal_record(image);
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
        self.inner.secure(offset, len)
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
