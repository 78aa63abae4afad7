//! Files whose bytes are not those of the pages: the codec between them, and the file that uses it.
//!
//! A database without a codec is mapped. With one, the file is read and written by calls, and
//! readers borrow [frames](super::frames): the memory of this process that mirrors the file, in
//! which a page appears when it is first asked for.

use super::frames::Frames;
#[cfg(feature = "encryption")]
use crate::cipher::Cipher;
use std::{
    fmt::Debug,
    io::{self, ErrorKind},
    sync::Arc,
};

/// The kind of some bytes of a file, which decides how a file with a codec shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// Bytes that are not decoded.
    Raw,
    /// Pages with headers.
    Pages,
    /// A large value.
    Value,
}

/// The encoded bytes of a file.
pub(super) trait EncodedBytes: Send + Sync + Debug {
    /// Copies bytes of the file.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `UnexpectedEof` outside of the file.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Brings bytes into memory.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `UnexpectedEof` outside of the file.
    fn prefault(&self, offset: u64, len: usize) -> io::Result<()>;

    /// Keeps bytes in memory.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `UnexpectedEof` outside of the file.
    fn lock(&self, offset: u64, len: usize) -> io::Result<()>;

    /// Asks the system to begin reading bytes that will be needed soon. Only a hint.
    fn announce(&self, offset: u64, len: u64);
}

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
    pub(super) encoded: Box<dyn EncodedBytes>,
    pub(super) codec: Arc<dyn PageCodec>,
    pub(super) frames: Frames,
}

impl CodedFile {
    /// Fills the frames of pages, or of a value, unless they are filled.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `InvalidData` if the codec refuses the bytes.
    /// - `UnexpectedEof` outside of the file.
    pub(super) fn load(&self, offset: u64, len: usize, content: Content) -> io::Result<()> {
        debug_assert!(len > 0, "something is loaded");
        let first = self.number_of(offset);
        match content {
            Content::Raw => self.encoded.prefault(offset, len),
            Content::Pages => {
                let count = (len as u64).div_ceil(self.page_len()) as u32;
                (first..first + count).try_for_each(|number| self.load_page(number))
            }
            Content::Value => {
                let count = self.value_page_count(len);
                // SAFETY: a page that is borrowed does not change in the file, so it is decoded to
                // the same bytes.
                unsafe {
                    self.frames.load(first, count, |pages| {
                        self.encoded.read(offset, pages)?;
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
                (self.encoded).read(u64::from(number) * self.page_len(), page)?;
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
        let len = value_len as u64 + self.codec.value_trailer_len(value_len as u64);
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

/// An encoded commit record, from the bytes that were written for it. Bytes that the codec refuses
/// are returned unchanged: they are no record.
pub(crate) fn opened(codec: Option<&dyn PageCodec>, bytes: Vec<u8>) -> Vec<u8> {
    let opened = codec.and_then(|codec| codec.open_record(&bytes));
    opened.unwrap_or(bytes)
}

fn refused(reason: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason)
}
