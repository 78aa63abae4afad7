//! Files whose bytes are not those of the pages: the codec between them, and the file that uses it.
//!
//! A database without a codec is mapped. With one, the file is read and written by calls, and
//! readers borrow [frames](super::frames): the memory of this process that mirrors the file, in
//! which a page appears when it is first asked for.

use super::{Content, frames::Frames, mapping::Mapping, mutex::lock, storage::Storage};
#[cfg(feature = "encryption")]
use crate::cipher::Cipher;
use crate::types::Extent;
use std::{
    fmt::Debug,
    io::{self, ErrorKind},
    sync::{Arc, Mutex},
};

/// Turns pages into what the file has instead of them, and back. All bytes of a page or of a value
/// are in place; the codec uses those that are reserved at their end.
pub(crate) trait PageCodec: Send + Sync + Debug {
    /// The cipher of the codec.
    #[cfg(feature = "encryption")]
    fn cipher(&self) -> Cipher;

    /// Encodes a page of the transaction `birth`.
    fn seal_page(&self, number: u32, birth: u64, page: &mut [u8]);

    /// Decodes a page.
    ///
    /// # Errors
    ///
    /// Why the bytes cannot be those of this page.
    fn open_page(&self, number: u32, page: &mut [u8]) -> Result<(), &'static str>;

    /// Encodes a value, which begins on page `start` and has `value_len` of the bytes of `pages`.
    fn seal_value(&self, start: u32, birth: u64, value_len: usize, pages: &mut [u8]);

    /// Decodes a value.
    ///
    /// # Errors
    ///
    /// Why the bytes cannot be those of this value.
    fn open_value(
        &self,
        start: u32,
        value_len: usize,
        pages: &mut [u8],
    ) -> Result<(), &'static str>;

    /// The bytes at the end of each page that it needs.
    fn reserved_len(&self) -> u16;

    /// The bytes that a value of this length needs in addition.
    fn value_trailer_len(&self, value_len: u64) -> u64;

    /// The bytes by which an entry becomes longer.
    fn entry_added_len(&self) -> usize;

    /// Encodes an entry of a file that has no pages. `position` binds it to its place: of the log
    /// the checksum of the entry before, of a temporary file the number of the entry.
    fn seal_entry(&self, kind: EntryKind, position: u64, entry: &[u8]) -> Vec<u8>;

    /// Decodes an entry. `None` if it is not authentic.
    fn open_entry(&self, kind: EntryKind, position: u64, sealed: &[u8]) -> Option<Vec<u8>>;

    /// The description of the keys that each record has.
    fn key_description(&self) -> Vec<u8>;

    /// Replaces that description: the keys are protected in another way from now on.
    fn set_key_description(&self, description: &[u8]);

    /// The bytes to write for an encoded commit record.
    fn seal_record(&self, image: &[u8]) -> Vec<u8>;

    /// The encoded commit record that was written as these bytes. `None` if that cannot be.
    fn open_record(&self, sealed: &[u8]) -> Option<Vec<u8>>;
}

/// The file that an entry is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EntryKind {
    /// The write-ahead log.
    Log = 1,
    /// A temporary file.
    Temporary = 2,
}

/// A file with a codec, and its frames.
#[derive(Debug)]
pub(super) struct CodedFile {
    pub(super) inner: Arc<dyn Storage>,
    pub(super) codec: Arc<dyn PageCodec>,
    pub(super) frames: Frames,
    page_len: usize,
    /// The mapping of `inner` that was used last.
    encoded: Mutex<Arc<Mapping>>,
}

impl CodedFile {
    pub(super) fn new(
        inner: Arc<dyn Storage>,
        codec: Arc<dyn PageCodec>,
        frames: Frames,
        page_len: usize,
    ) -> io::Result<Self> {
        assert!(
            page_len.is_power_of_two(),
            "the page size was checked when a record was read"
        );
        Ok(Self {
            encoded: Mutex::new(inner.mapping()?),
            inner,
            codec,
            frames,
            page_len,
        })
    }

    /// A mapping of the file as it is, with these bytes.
    fn encoded(&self, offset: u64, len: usize) -> io::Result<Arc<Mapping>> {
        let mut encoded = lock(&self.encoded);
        if !encoded.contains(offset, len) {
            *encoded = self.inner.mapping()?;
        }
        Ok(Arc::clone(&encoded))
    }

    /// Fills the frames of pages, or of a value, unless they are filled.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `InvalidData` if the codec refuses the bytes.
    /// - `UnexpectedEof` outside of the file.
    pub(super) fn load(&self, offset: u64, len: usize, content: Content) -> io::Result<()> {
        let first = self.number_of(offset);
        match content {
            Content::Raw => self.encoded(offset, len)?.prefault(offset, len, content),
            Content::Pages => {
                let count = len.div_ceil(self.page_len) as u32;
                (first..first + count).try_for_each(|number| self.load_page(number))
            }
            Content::Value => {
                let count = self.value_page_count(len);
                // SAFETY: a page that is borrowed does not change in the file, so it is decoded to
                // the same bytes.
                unsafe {
                    self.frames.load(first, count, |pages| {
                        self.read(offset, pages)?;
                        (self.codec.open_value(first, len, pages)).map_err(refused)
                    })
                }
            }
        }
    }

    fn load_page(&self, number: u32) -> io::Result<()> {
        // SAFETY: a page that is borrowed does not change in the file, so it is decoded to the same
        // bytes.
        unsafe {
            self.frames.load(number, 1, |page| {
                self.read(u64::from(number) * self.page_len as u64, page)?;
                self.codec.open_page(number, page).map_err(refused)
            })
        }
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
            _ => len.div_ceil(self.page_len) as u32,
        };
        (self.frames).note_if_hot(self.number_of(offset), count, note);
    }

    /// Asks the system to begin reading bytes that will be loaded soon. Only a hint.
    pub(super) fn announce(&self, offset: u64, len: u64) {
        if let Ok(mapping) = self.encoded(offset, len as usize) {
            mapping.announce(offset, len);
        }
    }

    fn number_of(&self, offset: u64) -> u32 {
        debug_assert!(
            offset.is_multiple_of(self.page_len as u64),
            "pages are decoded as a whole"
        );
        (offset / self.page_len as u64) as u32
    }

    fn value_page_count(&self, value_len: usize) -> u32 {
        let len = value_len as u64 + self.codec.value_trailer_len(value_len as u64);
        len.div_ceil(self.page_len as u64) as u32
    }

    /// Reads bytes as they are in the file.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `UnexpectedEof` outside of the file.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mapping = self.encoded(offset, out.len())?;
        mapping.prefault(offset, out.len(), Content::Raw)?;
        let fault_count = mapping.faults().count();
        if !mapping.copy(offset, out) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        match mapping.faults().are_more_than(fault_count) {
            false => Ok(()),
            true => Err(mapping.faults().last().1),
        }
    }
}

/// An encoded commit record, from the bytes that were written for it. Bytes that the codec refuses
/// are returned unchanged: they are no record.
pub(crate) fn opened(codec: Option<&dyn PageCodec>, bytes: Vec<u8>) -> Vec<u8> {
    let opened = codec.and_then(|codec| codec.open_record(&bytes));
    opened.unwrap_or(bytes)
}

fn refused(reason: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason)
}

impl Mapping {
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

    /// The codec of the file.
    pub(crate) fn codec(&self) -> Option<Arc<dyn PageCodec>> {
        self.coded().map(|file| Arc::clone(&file.codec))
    }

    /// Reads bytes as they are in the file. `None` without a codec.
    pub(crate) fn read_encoded(&self, offset: u64, out: &mut [u8]) -> Option<io::Result<()>> {
        Some(self.coded()?.read(offset, out))
    }

    /// Whether the file has a codec.
    pub(crate) fn is_coded(&self) -> bool {
        self.coded().is_some()
    }

    /// The bytes at the end of each page that are not shown.
    pub(crate) fn reserved_len(&self) -> u16 {
        self.coded().map_or(0, |file| file.codec.reserved_len())
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
        match self.coded() {
            Some(file) => file.codec.seal_record(&image),
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
            .map_or(Ok(()), |file| file.codec.open_page(number, page))
    }

    /// Reads a value from page `start` on, without its frames.
    ///
    /// # Errors
    ///
    /// As of [`Self::prefault`].
    pub(crate) fn read_value(&self, start: u32, len: usize) -> io::Result<Vec<u8>> {
        let Some(file) = self.coded() else {
            return Err(ErrorKind::Unsupported.into());
        };
        let mut pages = vec![0; file.value_page_count(len) as usize * file.page_len];
        file.read(u64::from(start) * file.page_len as u64, &mut pages)?;
        (file.codec.open_value(start, len, &mut pages)).map_err(refused)?;
        pages.truncate(len);
        Ok(pages)
    }

    /// An encoded commit record, from the bytes that were written for it. Bytes that the codec
    /// refuses are returned unchanged: they are no record.
    pub(crate) fn opened_record(&self, bytes: Vec<u8>) -> Vec<u8> {
        opened(self.coded().map(|file| &*file.codec), bytes)
    }

    /// The cipher of the file, if it is encrypted.
    #[cfg(feature = "encryption")]
    pub(crate) fn cipher(&self) -> Option<Cipher> {
        self.coded().map(|file| file.codec.cipher())
    }
}
