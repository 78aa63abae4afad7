//! The codec of an encrypted file: what is between its bytes and those of the pages.

#[cfg(feature = "encryption")]
use crate::cipher::Cipher;
use std::{fmt::Debug, io};

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

    /// Unlocks all bytes that were kept in memory.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn unlock_all(&self) -> io::Result<()>;

    /// Tells the system that the bytes are not needed for now. Only a hint.
    fn release(&self);

    /// Asks the system to begin reading bytes that will be needed soon. Only a hint.
    fn announce(&self, offset: u64, len: u64);
}

/// Turns pages into what the file has instead of them, and back. All bytes of a page or of a value
/// are in place; the codec uses those that are reserved at their end. If they are compressed, they
/// come as fewer bytes, which are all that is stored.
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

/// An encoded commit record, from the bytes that were written for it. Bytes that the codec refuses
/// are returned unchanged: they are no record.
pub(crate) fn opened(codec: Option<&dyn PageCodec>, bytes: Vec<u8>) -> Vec<u8> {
    let opened = codec.and_then(|codec| codec.open_record(&bytes));
    opened.unwrap_or(bytes)
}
