//! Mappings of coded files.

use super::Mapping;
#[cfg(feature = "encryption")]
use crate::cipher::Cipher;
use crate::{
    io::{
        Compression, Content, Frames, PageCodec,
        coded_file::{CODED_RESERVED_LEN, CodedFile},
        page_codec,
    },
    types::Extent,
};
use std::{io, sync::Arc};

impl Mapping {
    fn coded(&self) -> Option<&CodedFile> {
        self.coded.as_deref()
    }

    /// Runs `note` if these bytes may be borrowed without asking again. Always so without a codec.
    pub(crate) fn note_if_loaded(
        &self,
        (offset, len, content): (u64, usize, Content),
        note: impl FnOnce(),
    ) {
        match self.coded() {
            Some(file) => file.note_if_loaded(offset, len, content, note),
            None => note(),
        }
    }

    /// The encryption of the file.
    pub(crate) fn codec(&self) -> Option<Arc<dyn PageCodec>> {
        self.coded()?.codec.clone()
    }

    /// The compression of the file.
    pub(crate) fn compression(&self) -> Option<Compression> {
        self.coded()?.compression
    }

    /// Reads encoded bytes of the file. `None` without a codec.
    pub(crate) fn read_encoded(&self, offset: u64, out: &mut [u8]) -> Option<io::Result<()>> {
        Some(self.coded()?.encoded.read(offset, out))
    }

    /// Whether the file is encrypted or compressed.
    pub(crate) fn is_coded(&self) -> bool {
        self.coded().is_some()
    }

    /// The bytes at the end of each page that are not shown.
    pub(crate) fn reserved_len(&self) -> u16 {
        self.coded().map_or(0, |_| CODED_RESERVED_LEN)
    }

    /// These pages are about to be rewritten. The caller has cleared their bits.
    ///
    /// # Safety
    ///
    /// Nobody borrows the pages, and nobody will before they are written.
    pub(crate) unsafe fn forget(&self, extent: Extent) {
        if let Some(file) = self.coded() {
            // SAFETY: the caller's promise.
            unsafe { file.frames.forget(extent.start.0, extent.len) };
        }
    }

    /// Another process may have rewritten pages. `clear` clears all bits.
    ///
    /// # Safety
    ///
    /// Nobody borrows a page that was rewritten.
    pub(crate) unsafe fn distrust_all(&self, clear: impl FnOnce()) {
        match self.coded() {
            // SAFETY: the caller's promise.
            Some(file) => unsafe { file.frames.distrust_all(clear) },
            None => clear(),
        }
    }

    /// The frames, if the file has a codec.
    pub(crate) fn frames(&self) -> Option<&Frames> {
        self.coded().map(|file| &file.frames)
    }

    /// The bytes to write for an encoded commit record.
    pub(crate) fn sealed_record(&self, image: Vec<u8>) -> Vec<u8> {
        match self.codec() {
            Some(codec) => codec.seal_record(&image),
            None => image,
        }
    }

    /// Decodes a page, which was copied from the file, without a frame.
    ///
    /// # Errors
    ///
    /// Why the bytes cannot be those of this page.
    pub(crate) fn decode_page(&self, number: u32, page: &mut [u8]) -> Result<(), &'static str> {
        self.coded()
            .map_or(Ok(()), |file| file.open_page(number, page))
    }

    /// Decodes a value, whose pages were copied from the file, without its frames.
    ///
    /// # Errors
    ///
    /// Why the bytes cannot be those of this value.
    pub(crate) fn decode_value(
        &self,
        start: u32,
        len: usize,
        pages: &mut [u8],
    ) -> Result<(), &'static str> {
        self.coded()
            .map_or(Ok(()), |file| file.open_value(start, len, pages))
    }

    /// An encoded commit record, from the bytes that were written for it. Bytes that the codec
    /// refuses are returned unchanged: they are no record.
    pub(crate) fn opened_record(&self, bytes: Vec<u8>) -> Vec<u8> {
        page_codec::opened(self.coded().and_then(|file| file.codec.as_deref()), bytes)
    }

    /// The cipher of the file, if it is encrypted.
    #[cfg(feature = "encryption")]
    pub(crate) fn cipher(&self) -> Option<Cipher> {
        self.codec().map(|codec| codec.cipher())
    }
}
