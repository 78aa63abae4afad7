//! Compressed pages and large values.
//!
//! The pages of a compressed database stay at their places in the file. A page that becomes shorter
//! is stored in the first of its blocks of 4 KiB, and the others are a hole that takes no space on
//! disk. Large values are stored in the same way. So the numbers of pages, the free-space map and
//! commits are those of any other database.
//!
//! The *compressed form* of a page or of a value:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 7 | magic: `TeakCmp` |
//! | 7 | 1 | algorithm: 0 none (only values), 1 LZ4, 2 zstd |
//! | 8 | 8 | length of the content that follows, in bytes |
//! | 16 | | the content: a block of LZ4, or a frame of zstd |
//!
//! In an encrypted database everything from offset 16 on is encrypted, and nonce and MAC are at the
//! end of the last block. The rest of the last block is zeros.
//!
//! A page that would not save a block is stored without this form. Its header does not begin with
//! the magic. Nor do encrypted bytes: they are encrypted again until they do not.

use std::fmt::{self, Display};
#[cfg(feature = "compression")]
use {lz4_flex::block::get_maximum_output_size, std::cell::RefCell};

/// The unit in which space is saved.
pub(super) const BLOCK_LEN: usize = 4096;
/// Bytes before the content.
pub(super) const HEADER_LEN: usize = 16;

const MAGIC: [u8; 7] = *b"TeakCmp";
const PLAIN: u8 = 0;
const LZ4: u8 = 1;
const ZSTD: u8 = 2;

/// The highest level of zstd. Those above take far more memory.
const LEVEL_MAX: u8 = 19;

/// How the pages and the large values of a database are compressed.
///
/// ```
/// use teak::Compression;
/// assert_eq!("zstd:3".parse(), Ok(Compression::Zstd(3)));
/// assert_eq!(Compression::Lz4.to_string(), "lz4");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Compression {
    /// LZ4: the fastest.
    Lz4,
    /// Zstandard, with a level from 1 to 19: smaller files. Needs the feature `zstd`. Higher levels
    /// only make commits slower. Levels outside of this range are the nearest one in it.
    Zstd(u8),
}

impl Compression {
    /// The byte in commit records.
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            Self::Lz4 => 1,
            Self::Zstd(level) => 1 + level.clamp(1, LEVEL_MAX),
        }
    }

    /// The compression that a commit record names. `None` if there is none that this code knows.
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Lz4),
            2.. if byte <= 1 + LEVEL_MAX => Some(Self::Zstd(byte - 1)),
            _ => None,
        }
    }

    /// The feature that a program without this compression lacks.
    pub(crate) fn missing_feature(self) -> Option<&'static str> {
        match self {
            Self::Lz4 if !cfg!(feature = "compression") => Some("compression"),
            Self::Zstd(_) if !cfg!(feature = "zstd") => Some("zstd"),
            _ => None,
        }
    }

    fn algorithm(self) -> u8 {
        match self {
            Self::Lz4 => LZ4,
            Self::Zstd(_) => ZSTD,
        }
    }
}

impl Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lz4 => f.write_str("lz4"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
        }
    }
}

impl std::str::FromStr for Compression {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let level = |text: &str| {
            let level = text.parse().ok();
            level.filter(|level| (1..=LEVEL_MAX).contains(level))
        };
        match text {
            "lz4" => Some(Self::Lz4),
            "zstd" => Some(Self::Zstd(3)),
            _ => (text.strip_prefix("zstd:").and_then(level)).map(Self::Zstd),
        }
        .ok_or_else(|| {
            format!("{text:?} is not lz4, zstd, or zstd:LEVEL with a level from 1 to 19")
        })
    }
}

/// Whether these bytes begin with the compressed form.
pub(super) fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The length of the content in a compressed form. `None` if there is no such form.
pub(super) fn content_len(head: &[u8]) -> Option<usize> {
    if !is_compressed(head) {
        return None;
    }
    let len = head[8..HEADER_LEN].first_chunk().copied()?;
    usize::try_from(u64::from_le_bytes(len)).ok()
}

/// The bytes in the file of a form with this content and what encryption adds to it: whole blocks.
/// `None` if that is more than `len_max`, which a form never is that was written.
pub(super) fn form_len(content_len: usize, added_len: usize, len_max: usize) -> Option<usize> {
    let len = HEADER_LEN
        .checked_add(content_len)?
        .checked_add(added_len)?;
    len.checked_next_multiple_of(BLOCK_LEN)
        .filter(|len| *len <= len_max)
}

fn put_header(algorithm: u8, content_len: usize, form: &mut [u8]) {
    debug_assert!(algorithm <= ZSTD, "decompression knows the algorithm");
    form[..MAGIC.len()].copy_from_slice(&MAGIC);
    form[MAGIC.len()] = algorithm;
    form[8..HEADER_LEN].copy_from_slice(&(content_len as u64).to_le_bytes());
}

/// Writes header and content of the compressed form of `plain` to `form`, unless the content would
/// be longer than `content_max`. Returns the length of the content.
pub(super) fn compress(
    compression: Compression,
    plain: &[u8],
    content_max: usize,
    form: &mut [u8],
) -> Option<usize> {
    let room = form.get_mut(HEADER_LEN..HEADER_LEN + content_max)?;
    let len = compress_into(compression, plain, room)?;
    assert!(len <= content_max, "the content is in its room");
    // Compression may have tried more than it kept.
    room[len..].fill(0);
    put_header(compression.algorithm(), len, form);
    Some(len)
}

/// Writes header and content of the form of a value that is not compressed.
pub(super) fn store(plain: &[u8], form: &mut [u8]) {
    put_header(PLAIN, plain.len(), form);
    let (content, rest) = form[HEADER_LEN..].split_at_mut(plain.len());
    content.copy_from_slice(plain);
    rest.fill(0);
}

/// Fills `plain` with what the form has, whose content is decrypted and has `content_len` bytes.
///
/// # Errors
///
/// Why the form cannot be that of something with this length.
pub(super) fn decompress(
    form: &[u8],
    content_len: usize,
    plain: &mut [u8],
) -> Result<(), &'static str> {
    const REFUSED: &str = "its compressed form is damaged";
    debug_assert!(is_compressed(form), "the header was read before");
    let content = form
        .get(HEADER_LEN..)
        .and_then(|rest| rest.get(..content_len));
    let content = content.ok_or(REFUSED)?;
    let is_right = match form[MAGIC.len()] {
        PLAIN if content.len() == plain.len() => {
            plain.copy_from_slice(content);
            true
        }
        algorithm => decompress_into(algorithm, content, plain) == Some(plain.len()),
    };
    is_right.then_some(()).ok_or(REFUSED)
}

/// The contexts of zstd. Each takes hundreds of kilobytes.
#[cfg(feature = "zstd")]
#[derive(Default)]
struct ZstdContexts {
    compressor: Option<(u8, zstd::bulk::Compressor<'static>)>,
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
}

#[cfg(feature = "compression")]
thread_local! {
    /// LZ4 needs more room than what is worth storing.
    static LZ4_OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[cfg(feature = "zstd")]
thread_local! {
    static ZSTD_CONTEXTS: RefCell<ZstdContexts> = RefCell::default();
}

#[cfg(feature = "zstd")]
impl ZstdContexts {
    /// Compresses. `None` if there is too little room, or no memory.
    fn compress(&mut self, level: u8, plain: &[u8], out: &mut [u8]) -> Option<usize> {
        if self.compressor.as_ref().is_none_or(|(is, _)| *is != level) {
            let made = zstd::bulk::Compressor::new(level.into()).ok()?;
            self.compressor = Some((level, made));
        }
        let (_, compressor) = self.compressor.as_mut()?;
        compressor.compress_to_buffer(plain, out).ok()
    }

    /// Decompresses. `None` if the content is not what it should be, or there is no memory.
    fn decompress(&mut self, content: &[u8], plain: &mut [u8]) -> Option<usize> {
        if self.decompressor.is_none() {
            self.decompressor = zstd::bulk::Decompressor::new().ok();
        }
        let decompressor = self.decompressor.as_mut()?;
        decompressor.decompress_to_buffer(content, plain).ok()
    }
}

/// Compresses. `None` if there is too little room, no memory, or no such compression in this
/// program.
#[cfg_attr(not(feature = "compression"), allow(unused_variables))]
fn compress_into(compression: Compression, plain: &[u8], out: &mut [u8]) -> Option<usize> {
    match compression {
        #[cfg(feature = "compression")]
        Compression::Lz4 => LZ4_OUTPUT.with_borrow_mut(|output| {
            output.resize(get_maximum_output_size(plain.len()), 0);
            let len = lz4_flex::block::compress_into(plain, output).ok()?;
            out.get_mut(..len)?.copy_from_slice(&output[..len]);
            Some(len)
        }),
        #[cfg(feature = "zstd")]
        Compression::Zstd(level) => {
            ZSTD_CONTEXTS.with_borrow_mut(|contexts| contexts.compress(level, plain, out))
        }
        #[cfg(not(feature = "zstd"))]
        _ => None,
    }
}

/// Decompresses, and returns the length. `None` if the content is not what it should be.
#[cfg_attr(not(feature = "compression"), allow(unused_variables))]
fn decompress_into(algorithm: u8, content: &[u8], plain: &mut [u8]) -> Option<usize> {
    match algorithm {
        #[cfg(feature = "compression")]
        LZ4 => lz4_flex::block::decompress_into(content, plain).ok(),
        #[cfg(feature = "zstd")]
        ZSTD => ZSTD_CONTEXTS.with_borrow_mut(|contexts| contexts.decompress(content, plain)),
        _ => None,
    }
}

#[cfg(all(test, feature = "zstd"))]
#[path = "compression_tests.rs"]
mod tests;
