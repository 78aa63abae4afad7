//! Memory that several threads or processes read and change at any time. It contains only atomic
//! words. It is private to a process, or a file that processes share.

use super::{address_range::AddressRange, held_file::HeldFile};
use std::{
    fmt, io, slice,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

/// Bytes of the first piece of a [`LazyMemory`]. Each further piece is twice as long as the
/// previous one.
const PIECE_LEN: usize = 1 << 20;
const PIECE_COUNT: usize = 6;
/// Words of a cache line. Each piece has a whole number of lines.
pub(crate) const LINE: usize = 8;
/// Bytes of a file that are mapped from the start, beyond its initial length.
const MAPPED_AHEAD: usize = 1 << 20;

const _: () = assert!(
    MAPPED_AHEAD.is_multiple_of(64 << 10) && PIECE_LEN.is_multiple_of(64 << 10),
    "what is mapped later begins at a system page, whatever its size"
);

const _: () = assert!(
    PIECE_LEN.is_multiple_of(LINE * size_of::<u64>()),
    "no cache line is in two pieces"
);

/// Words that are initially zero. Users must access each word with one size: 32 bits or 64.
pub(crate) struct Memory {
    address_range: AddressRange,
    /// The rest of a file that grows.
    rest: Option<LazyMemory>,
    /// Length of the part that this process has used, which the file has.
    used_len: AtomicUsize,
}

/// Memory that is rarely needed. It is mapped in pieces, when it is.
struct LazyMemory {
    file: Weak<HeldFile>,
    pieces: [OnceLock<AddressRange>; PIECE_COUNT],
}

/// The piece of a [`LazyMemory`] that contains an offset, and the offset at which the piece begins.
fn piece_of(offset: usize) -> (usize, usize) {
    let index = (offset / PIECE_LEN + 1).ilog2() as usize;
    let start = ((1 << index) - 1) * PIECE_LEN;
    debug_assert!(
        start <= offset && offset - start < PIECE_LEN << index,
        "pieces follow each other without gaps, each twice as long as the one before"
    );
    (index, start)
}

impl Memory {
    /// Memory of this process. The system provides each page at its first access.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`.
    pub(crate) fn private(len_bytes: usize) -> io::Result<Self> {
        // Not from the allocator, which may fill it with zeros although few of its pages are ever
        // touched.
        let anonymous = AddressRange::anonymous(len_bytes);
        Ok(Self {
            address_range: anonymous.or_else(|_| AddressRange::zeroed(len_bytes))?,
            rest: None,
            used_len: AtomicUsize::new(len_bytes),
        })
    }

    /// The first `len_bytes` bytes of a file, and what it grows by. Touched bytes must be in the
    /// file, and have their blocks.
    pub(super) fn shared(file: &Arc<HeldFile>, len_bytes: usize) -> io::Result<Self> {
        // SAFETY: there is no head.
        let address_range =
            unsafe { AddressRange::shared(file, 0, len_bytes + MAPPED_AHEAD, None)? };
        Ok(Self {
            address_range,
            rest: Some(LazyMemory {
                file: Arc::downgrade(file),
                pieces: Default::default(),
            }),
            used_len: AtomicUsize::new(len_bytes),
        })
    }

    /// Maps words up to this byte. They must be in the file.
    ///
    /// # Errors
    ///
    /// - The system's error.
    /// - `NotConnected` if the file was closed.
    /// - `InvalidInput` if `end` is beyond the maximum.
    pub(crate) fn provide(&self, end: usize) -> io::Result<()> {
        self.used_len.fetch_max(end, Relaxed);
        let Some(offset) = end.checked_sub(self.address_range.len() as usize + 1) else {
            return Ok(());
        };
        let (last, _) = piece_of(offset);
        let rest = self.rest.as_ref().filter(|_| last < PIECE_COUNT);
        let rest = rest.ok_or(io::ErrorKind::InvalidInput)?;
        for (index, piece) in rest.pieces[..=last].iter().enumerate() {
            if piece.get().is_none() {
                let file = rest.file.upgrade().ok_or(io::ErrorKind::NotConnected)?;
                let len = PIECE_LEN << index;
                let start = self.address_range.len() as usize + len - PIECE_LEN;
                // SAFETY: the head is the first range of this memory, and dropped with it.
                let made = unsafe {
                    AddressRange::shared(&file, start as u64, len, Some(&self.address_range))?
                };
                // Another thread may have mapped it first, which is fine.
                let _ = piece.set(made);
            }
        }
        debug_assert!(
            rest.pieces[..=last]
                .iter()
                .all(|piece| piece.get().is_some()),
            "pieces are mapped in order, without gaps"
        );
        Ok(())
    }

    /// Length of the part that this process has used.
    pub(crate) fn used_len(&self) -> usize {
        self.used_len.load(Relaxed)
    }

    /// Whether this process has lost a part of the memory, and with it all of it: zeros that no
    /// other process shares replace it.
    pub(crate) fn is_lost(&self) -> bool {
        self.address_ranges()
            .any(|address_range| address_range.faults().has_zeros())
    }

    /// Makes the memory [lost](Self::is_lost), as after a fault.
    #[cfg(test)]
    pub(crate) fn lose(&self) {
        self.address_ranges()
            .for_each(|address_range| address_range.lose());
    }

    fn address_ranges(&self) -> impl Iterator<Item = &AddressRange> {
        let pieces = self.rest.iter().flat_map(|rest| &rest.pieces);
        pieces
            .filter_map(OnceLock::get)
            .chain([&self.address_range])
    }

    /// A 64-bit word, which must be in memory that was [provided](Self::provide).
    #[inline]
    pub(crate) fn word(&self, index: usize) -> &AtomicU64 {
        match self.words().get(index) {
            Some(word) => word,
            None => self.word_of_rest(index),
        }
    }

    /// The words of a cache line that begins at word `index`, which must be in memory that was
    /// [provided](Self::provide).
    #[inline]
    pub(crate) fn line(&self, index: usize) -> &[AtomicU64; LINE] {
        debug_assert!(
            index.is_multiple_of(LINE),
            "a cache line begins at a multiple of its words"
        );
        let words = self.words().get(index..);
        match words.and_then(|words| words.first_chunk()) {
            Some(line) => line,
            None => self.line_of_rest(index),
        }
    }

    #[cold]
    fn word_of_rest(&self, index: usize) -> &AtomicU64 {
        &self.words_of_rest(index)[0]
    }

    #[cold]
    fn line_of_rest(&self, index: usize) -> &[AtomicU64; LINE] {
        let line = self.words_of_rest(index).first_chunk();
        line.expect("a piece has whole lines")
    }

    /// The words from this one on that are in the same piece.
    fn words_of_rest(&self, index: usize) -> &[AtomicU64] {
        debug_assert!(
            index >= self.words().len(),
            "words that are mapped from the start are not looked for in the rest"
        );
        let offset = index * size_of::<u64>() - self.address_range.len() as usize;
        let (piece, start) = piece_of(offset);
        let rest = self.rest.as_ref().and_then(|rest| rest.pieces[piece].get());
        let address_range = rest.expect("memory is provided before its words are asked for");
        &words_of(address_range)[(offset - start) / size_of::<u64>()..]
    }

    /// Stops sharing the memory: stores of this process are not seen by others, and vice versa. The
    /// first `kept_len_bytes` are kept, and the rest is zeros.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn detach(&self, kept_len_bytes: usize) -> io::Result<()> {
        let file = self.rest.as_ref().and_then(|rest| rest.file.upgrade());
        // More is mapped than the file has.
        let file_len = match file {
            Some(file) => file.metadata()?.len(),
            None => u64::MAX,
        };
        let kept_words = kept_len_bytes.min(self.address_range.len().min(file_len) as usize) / 8;
        let kept = &self.words()[..kept_words];
        let values: Vec<u64> = kept.iter().map(|word| word.load(Relaxed)).collect();
        self.address_ranges().try_for_each(AddressRange::detach)?;
        for (word, value) in kept.iter().zip(values) {
            word.store(value, Relaxed);
        }
        Ok(())
    }

    /// The 64-bit words that are there from the start. The first one is at the start of a page.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        words_of(&self.address_range)
    }

    /// The memory of [`Self::words`] as 32-bit words.
    #[inline]
    pub(crate) fn half_words(&self) -> &[AtomicU32] {
        let len = self.address_range.len() as usize / size_of::<AtomicU32>();
        // SAFETY: the range is one of words. It begins at a page, has that length, contains zeros
        // or what was stored here, and is read and written as atomic words only.
        unsafe { slice::from_raw_parts(self.address_range.base().as_ptr().cast(), len) }
    }
}

#[inline]
fn words_of(address_range: &AddressRange) -> &[AtomicU64] {
    let len = address_range.len() as usize / size_of::<AtomicU64>();
    // SAFETY: the range is one of words. It begins at a page, has that length, contains zeros or
    // what was stored here, and is read and written as atomic words only.
    unsafe { slice::from_raw_parts(address_range.base().as_ptr().cast(), len) }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("len_bytes", &self.address_range.len())
            .finish()
    }
}
