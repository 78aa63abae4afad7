//! Files whose bytes are not those of the pages: encrypted or [compressed](super::compression) ones,
//! or both. Pages are compressed, and then encrypted.
//!
//! Other databases are mapped. A coded file is read and written by calls, and readers borrow
//! [frames](super::frames): the memory of this process that mirrors the file, in which a page
//! appears when it is first asked for.

use super::{
    compression::{self, BLOCK_LEN, Compression, HEADER_LEN},
    frames::Frames,
    page_codec::{Content, EncodedBytes, PageCodec},
};
use crate::types::value_trailer_len;
use std::{
    io::{self, ErrorKind},
    sync::Arc,
};

/// The bytes that a coded file keeps free at the end of each page, for nonce and MAC. A file that
/// is only compressed has the same layout.
pub(crate) const CODED_RESERVED_LEN: u16 = 40;

/// A file whose bytes are not those of its pages, and the frames of its pages.
#[derive(Debug)]
pub(super) struct CodedFile {
    pub(super) encoded: Box<dyn EncodedBytes>,
    /// The encryption.
    pub(super) codec: Option<Arc<dyn PageCodec>>,
    pub(super) compression: Option<Compression>,
    pub(super) frames: Frames,
}

impl CodedFile {
    /// Fills the frames of pages, or of a value, unless they are filled.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `InvalidData` if the bytes cannot be those of the pages or the value.
    /// - `UnexpectedEof` outside of the file.
    pub(super) fn load(&self, offset: u64, len: usize, content: Content) -> io::Result<()> {
        debug_assert!(len > 0, "something is loaded");
        match content {
            Content::Raw => self.encoded.prefault(offset, len),
            Content::Pages => {
                let first = self.number_of(offset);
                let count = (len as u64).div_ceil(self.page_len()) as u32;
                (first..first + count).try_for_each(|number| self.load_page(number))
            }
            Content::Value => {
                let (first, count) = (self.number_of(offset), self.value_page_count(len));
                // SAFETY: a page that is borrowed does not change in the file, so it is decoded to
                // the same bytes.
                unsafe {
                    self.frames.load(first, count, |pages| {
                        self.read_form(offset, pages, |head| self.value_form_len(head))?;
                        (self.open_value(first, len, pages)).map_err(refused)
                    })
                }
            }
        }
    }

    fn load_page(&self, number: u32) -> io::Result<()> {
        let offset = u64::from(number) * self.page_len();
        // SAFETY: a page that is borrowed does not change in the file, so it is decoded to the same
        // bytes.
        unsafe {
            self.frames.load(number, 1, |page| {
                self.read_form(offset, page, |head| self.page_form_len(head))?;
                self.open_page(number, page).map_err(refused)
            })
        }
    }

    /// Reads as many bytes as were written for a page or a value. Its first block tells how many.
    fn read_form(
        &self,
        offset: u64,
        out: &mut [u8],
        form_len: impl FnOnce(&[u8]) -> Option<usize>,
    ) -> io::Result<()> {
        if self.compression.is_none() {
            return self.encoded.read(offset, out);
        }
        let (head, rest) = out.split_at_mut(BLOCK_LEN);
        self.encoded.read(offset, head)?;
        let len = form_len(head).map_or(rest.len(), |len| len.saturating_sub(BLOCK_LEN));
        let len = len.min(rest.len());
        self.encoded
            .read(offset + BLOCK_LEN as u64, &mut rest[..len])
    }

    /// The bytes that are stored of a compressed page. `None` of one that is not compressed.
    fn page_form_len(&self, head: &[u8]) -> Option<usize> {
        let len = self.content_len(head)?;
        compression::form_len(len, self.page_added_len(), self.page_len() as usize)
    }

    /// The bytes that are stored of a compressed value. `None` of one that is not compressed.
    fn value_form_len(&self, head: &[u8]) -> Option<usize> {
        let len = self.content_len(head)?;
        compression::form_len(len, self.value_added_len(len), usize::MAX)
    }

    /// The length of the content, if these bytes begin with a compressed form.
    fn content_len(&self, head: &[u8]) -> Option<usize> {
        self.compression?;
        compression::content_len(head)
    }

    /// The bytes that encryption adds to a page.
    fn page_added_len(&self) -> usize {
        (self.codec.as_ref()).map_or(0, |_| CODED_RESERVED_LEN.into())
    }

    /// The bytes that encryption adds to a value.
    fn value_added_len(&self, len: usize) -> usize {
        (self.codec.as_ref()).map_or(0, |_| value_trailer_len(len as u64) as usize)
    }

    /// Encodes a page of the transaction `birth`. Returns how many bytes of `out`, which has the
    /// length of a page, are stored.
    pub(super) fn seal_page(&self, number: u32, birth: u64, page: &[u8], out: &mut [u8]) -> usize {
        assert_eq!(
            page.len() + usize::from(CODED_RESERVED_LEN),
            out.len(),
            "a page leaves room for what encryption adds"
        );
        out.fill(0);
        if let Some(len) = self.compress_page(page, out) {
            if let Some(codec) = &self.codec {
                codec.seal_page(number, birth, &mut out[HEADER_LEN..len]);
            }
            return len;
        }
        loop {
            out[..page.len()].copy_from_slice(page);
            let Some(codec) = &self.codec else {
                debug_assert!(
                    !compression::is_compressed(page),
                    "the header of a page differs from that of a compressed one"
                );
                return out.len();
            };
            codec.seal_page(number, birth, out);
            // Another nonce makes other bytes.
            if self.compression.is_none() || !compression::is_compressed(out) {
                return out.len();
            }
        }
    }

    /// Compresses a page, if that saves a block. Returns the length of the compressed form.
    fn compress_page(&self, page: &[u8], out: &mut [u8]) -> Option<usize> {
        let (added_len, len_max) = (self.page_added_len(), out.len().checked_sub(BLOCK_LEN)?);
        let content_max = len_max.checked_sub(HEADER_LEN + added_len)?;
        let len = compression::compress(self.compression?, page, content_max, out)?;
        let form_len = compression::form_len(len, added_len, len_max)?;
        debug_assert!(
            HEADER_LEN + len + added_len <= form_len,
            "nonce and MAC are after the content"
        );
        Some(form_len)
    }

    /// Decodes a page.
    ///
    /// # Errors
    ///
    /// Why the bytes cannot be those of this page.
    pub(super) fn open_page(&self, number: u32, page: &mut [u8]) -> Result<(), &'static str> {
        let Some(content_len) = self.content_len(page) else {
            if let Some(codec) = &self.codec {
                codec.open_page(number, page)?;
            }
            // As in a frame to which the page was stored.
            let usable_len = page.len() - usize::from(CODED_RESERVED_LEN);
            page[usable_len..].fill(0);
            return Ok(());
        };
        let len = compression::form_len(content_len, self.page_added_len(), page.len());
        let mut form = page[..len.ok_or(TOO_LONG)?].to_vec();
        if let Some(codec) = &self.codec {
            codec.open_page(number, &mut form[HEADER_LEN..])?;
        }
        let (plain, rest) = page.split_at_mut(page.len() - usize::from(CODED_RESERVED_LEN));
        rest.fill(0);
        compression::decompress(&form, content_len, plain)
    }

    /// Encodes a value, which begins on page `start`. Returns the bytes to write.
    pub(super) fn seal_value(
        &self,
        start: u32,
        birth: u64,
        value: &[u8],
        pages_len: usize,
    ) -> Vec<u8> {
        let mut out = vec![0; pages_len];
        if let Some(len) = self.compress_value(value, &mut out) {
            if let Some(codec) = &self.codec {
                let content = compression::content_len(&out).unwrap_or_default();
                codec.seal_value(start, birth, content, &mut out[HEADER_LEN..len]);
            }
            out.truncate(len);
            return out;
        }
        let Some(codec) = &self.codec else {
            compression::store(value, &mut out);
            return out;
        };
        loop {
            out.fill(0);
            out[..value.len()].copy_from_slice(value);
            codec.seal_value(start, birth, value.len(), &mut out);
            // Other nonces make other bytes.
            if self.compression.is_none() || !compression::is_compressed(&out) {
                return out;
            }
        }
    }

    /// Compresses a value, if that saves a block. Returns the length of the compressed form.
    fn compress_value(&self, value: &[u8], out: &mut [u8]) -> Option<usize> {
        let len_max = out.len().checked_sub(BLOCK_LEN)?;
        let room = len_max.checked_sub(HEADER_LEN)?;
        // Encryption adds more to longer content.
        let content_max = room.checked_sub(self.value_added_len(room))?;
        let len = compression::compress(self.compression?, value, content_max, out)?;
        compression::form_len(len, self.value_added_len(len), len_max)
    }

    /// Decodes a value.
    ///
    /// # Errors
    ///
    /// Why the bytes cannot be those of this value.
    pub(super) fn open_value(
        &self,
        start: u32,
        value_len: usize,
        pages: &mut [u8],
    ) -> Result<(), &'static str> {
        let Some(content_len) = self.content_len(pages) else {
            let codec = self.codec.as_ref().ok_or("it has no compressed form")?;
            codec.open_value(start, value_len, pages)?;
            pages[value_len..].fill(0);
            return Ok(());
        };
        debug_assert!(value_len <= pages.len(), "a value is on its pages");
        let added_len = self.value_added_len(content_len);
        let len = compression::form_len(content_len, added_len, pages.len());
        let mut form = pages[..len.ok_or(TOO_LONG)?].to_vec();
        if let Some(codec) = &self.codec {
            codec.open_value(start, content_len, &mut form[HEADER_LEN..])?;
        }
        let (plain, rest) = pages.split_at_mut(value_len);
        rest.fill(0);
        compression::decompress(&form, content_len, plain)
    }

    /// Runs `note` if the frames of these bytes are filled, and not about to be given back.
    pub(super) fn note_if_loaded(
        &self,
        offset: u64,
        len: usize,
        content: Content,
        note: impl FnOnce(),
    ) {
        let count = match content {
            Content::Value => self.value_page_count(len),
            _ => (len as u64).div_ceil(self.page_len()) as u32,
        };
        (self.frames).note_if_hot(self.number_of(offset), count, note);
    }

    fn number_of(&self, offset: u64) -> u32 {
        debug_assert!(
            offset.is_multiple_of(self.page_len()),
            "pages are decoded as a whole"
        );
        (offset / self.page_len()) as u32
    }

    fn value_page_count(&self, value_len: usize) -> u32 {
        let len = value_len as u64 + value_trailer_len(value_len as u64);
        let count = len.div_ceil(self.page_len());
        assert!(
            u32::try_from(count).is_ok(),
            "the value is inside of the file, which has fewer pages"
        );
        count as u32
    }

    fn page_len(&self) -> u64 {
        self.frames.page_len() as u64
    }
}

const TOO_LONG: &str = "its compressed form is longer than its pages";

fn refused(reason: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason)
}
