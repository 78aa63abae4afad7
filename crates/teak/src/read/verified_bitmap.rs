//! The verified bitmap: one bit for each page whose checksum was verified since the database was
//! opened.
//!
//! A reader sets the bit of a page when its checksum matches. The writer clears the bits of pages
//! that it reuses, which no reader can see then. It sets the bits of pages that it sealed and wrote
//! when they are published, unless the file has a codec.
//!
//! In a file without a codec the order of accesses to bits does not matter: a thread that sees a
//! page in a new role learned of it through a snapshot, and that orders the earlier accesses. With
//! a codec a set bit also means that the frame of the page is filled. So bits are set with
//! `Release` and read with `Acquire`. [`Frames`](crate::io::Frames) has the protocol.

use crate::{
    Checksum, Error, Extent, PageNumber, Result, TransactionId,
    io::{Content, Mapping, Pinned},
    page::{header::Header, page_len, value::ValueExtent},
};
use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
            fence,
        },
    },
};

/// When pages are compared with their 64-bit checksums, which are stored next to the references to
/// them. The operation that reads a page with a wrong checksum returns [`Error::Corrupted`].
/// Recovery, checks, backups and salvage always compare.
///
/// ```
/// use teak::{Options, Verification};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("coins.teak");
/// let database = Options::new().verification(Verification::Always).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[non_exhaustive]
pub enum Verification {
    /// Never. Damage to the structure of pages is still an error, and never undefined behaviour.
    /// Damage to keys and values is not noticed.
    Off,
    /// Once for each page since the database was opened, when it is first read. Later reads check
    /// one bit per page.
    #[default]
    FirstTouch,
    /// Each time a read follows a reference to a page, and each time a large value is loaded.
    Always,
}

/// Bits in a word.
const WORD: usize = 64;

/// One bit for each page, set if no comparison is needed. There are no bits with
/// [`Verification::Off`], and no bit is ever set with [`Verification::Always`].
#[derive(Clone, Debug)]
pub(crate) struct VerifiedBitmap {
    words: Arc<[AtomicU64]>,
    distrust_flag: Arc<DistrustFlag>,
    verification: Verification,
}

/// Whether verified pages may have changed since. See [`VerifiedBitmap::distrust`].
#[derive(Default, Debug)]
struct DistrustFlag {
    is_raised: AtomicBool,
    /// All bitmaps in use.
    words: Mutex<Vec<Weak<[AtomicU64]>>>,
}

impl DistrustFlag {
    fn words(&self) -> MutexGuard<'_, Vec<Weak<[AtomicU64]>>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VerifiedBitmap {
    /// A bitmap in which no page is verified.
    pub(crate) fn new(verification: Verification, page_count: u64) -> Self {
        let nothing = Self {
            words: Arc::new([]),
            distrust_flag: Arc::default(),
            verification,
        };
        nothing.covering(page_count)
    }

    /// An empty bitmap of the same size, for a state that shares its pages with the newest state
    /// only if nothing is damaged. A page verified for one of them need not be right for the other.
    pub(crate) fn apart(&self) -> Self {
        let nothing = Self {
            words: Arc::new([]),
            distrust_flag: Arc::clone(&self.distrust_flag),
            verification: self.verification,
        };
        nothing.covering((self.words.len() * WORD) as u64)
    }

    /// These bits, with room for at least `page_count` pages. If that needs a new allocation,
    /// pages noted in the old one from now on may be verified once more.
    pub(crate) fn covering(&self, page_count: u64) -> Self {
        let words = usize::try_from(page_count).map_or(0, |count| count.div_ceil(WORD));
        if words <= self.words.len() || self.verification == Verification::Off {
            return self.clone();
        }
        // Locked until the new bits are among those that are cleared everywhere. So a
        // thread that clears bits everywhere meanwhile does it before the old ones are copied, or
        // clears the new ones.
        let mut all = self.distrust_flag.words();
        // Acquire, for those who find the bits in the new array: see `is_unverified`.
        let old = |index: usize| self.words.get(index).map_or(0, |word| word.load(Acquire));
        let words = (0..words.next_power_of_two()).map(|index| AtomicU64::new(old(index)));
        let words: Arc<[AtomicU64]> = words.collect();
        all.retain(|words| words.strong_count() > 0);
        all.push(Arc::downgrade(&words));
        if self.distrust_flag.is_raised.load(Relaxed) {
            words.iter().for_each(|word| word.store(0, Relaxed));
        }
        drop(all);
        Self {
            words,
            distrust_flag: Arc::clone(&self.distrust_flag),
            verification: self.verification,
        }
    }

    /// Whether a page has to be compared with its checksum.
    #[inline]
    pub(crate) fn is_unverified(&self, number: PageNumber) -> bool {
        match self.words.get(number.index() / WORD) {
            // Acquire: the frame of a page with a codec was filled before its bit was set.
            Some(word) => word.load(Acquire) & bit(number) == 0,
            None => false,
        }
    }

    /// Notes pages whose checksums match.
    pub(crate) fn note(&self, extent: Extent) {
        if self.verification != Verification::FirstTouch
            || self.distrust_flag.is_raised.load(Relaxed)
        {
            return;
        }
        self.for_each_word(extent, |word, bits| {
            word.fetch_or(bits, Release);
        });
        // Either this sees that `distrust` was called meanwhile, or `distrust` clears the bits
        // after this.
        fence(SeqCst);
        if self.distrust_flag.is_raised.load(Relaxed) {
            self.forget(extent);
        }
    }

    /// From now on all pages are verified at each read, by readers of older states too. A flush has
    /// failed, and the system may drop pages from its cache that never reached the disk.
    pub(crate) fn distrust(&self) {
        if self.distrust_flag.is_raised.load(Relaxed)
            || self.distrust_flag.is_raised.swap(true, Relaxed)
        {
            return;
        }
        fence(SeqCst);
        for words in self.distrust_flag.words().iter().filter_map(Weak::upgrade) {
            words.iter().for_each(|word| word.store(0, Relaxed));
        }
    }

    /// Forgets pages that are about to be rewritten.
    pub(crate) fn forget(&self, extent: Extent) {
        self.for_each_word(extent, |word, bits| {
            word.fetch_and(!bits, Relaxed);
        });
    }

    /// Like [`Self::forget`], in the bitmaps of all states of the database.
    pub(crate) fn forget_everywhere(&self, extent: Extent) {
        for words in self.distrust_flag.words().iter().filter_map(Weak::upgrade) {
            let bitmap = Self {
                words,
                ..self.clone()
            };
            bitmap.forget(extent);
        }
    }

    /// Like [`Self::forget_all`], in the bitmaps of all states of the database.
    pub(crate) fn forget_all_everywhere(&self) {
        for words in self.distrust_flag.words().iter().filter_map(Weak::upgrade) {
            words.iter().for_each(|word| word.store(0, Relaxed));
        }
    }

    /// Forgets all pages: another process has rewritten pages, and it is not known which.
    pub(crate) fn forget_all(&self) {
        self.words.iter().for_each(|word| word.store(0, Relaxed));
    }

    fn for_each_word(&self, extent: Extent, change: impl Fn(&AtomicU64, u64)) {
        let mut pages = extent.pages().peekable();
        while let Some(first) = pages.next() {
            let index = first.index() / WORD;
            let mut bits = bit(first);
            while let Some(next) = pages.next_if(|next| next.index() / WORD == index) {
                bits |= bit(next);
            }
            let Some(word) = self.words.get(index) else {
                return;
            };
            change(word, bits);
        }
    }

    /// Compares bytes of the file with their checksum. The system is asked for them first, so that
    /// an unreadable sector is an error.
    fn compare(
        &self,
        pages: &Pinned<Mapping>,
        (offset, len, content): (u64, usize, Content),
        expected: ExpectedChecksum<impl FnOnce(&[u8]) -> TransactionId>,
    ) -> Result<()> {
        let ExpectedChecksum {
            start,
            checksum,
            mismatch,
            written,
            birth,
            operation,
        } = expected;
        let unreadable = |error| {
            if pages.is_inherited() {
                return Error::Forked;
            }
            let detail = format!("it cannot be read from the file: {error}");
            Error::corrupted(start, operation, detail)
        };
        (pages.prefault(offset, len, content)).map_err(unreadable)?;
        // Borrowed only now: the frame of an encrypted page was empty before.
        let bytes = pages.bytes(offset, len);
        let bytes = bytes.ok_or_else(|| unreadable(io::ErrorKind::UnexpectedEof.into()))?;
        if Checksum::of(bytes) != checksum {
            return Err(Error::corrupted(start, operation, mismatch));
        }
        if birth(bytes) > written {
            let detail = "it was born later than the page that refers to it";
            return Err(Error::corrupted(start, operation, detail));
        }
        pages.note_if_loaded((offset, len, content), || {
            self.note(Extent { start, len: 1 });
        });
        Ok(())
    }

    /// Compares a page with its checksum, and its birth with `written`. Notes the page if both are
    /// right.
    #[cold]
    pub(crate) fn compare_page(
        &self,
        pages: &Pinned<Mapping>,
        usable_len: usize,
        (number, checksum): (PageNumber, Checksum),
        written: TransactionId,
        operation: &'static str,
    ) -> Result<()> {
        let offset = u64::from(number.0) * page_len(usable_len) as u64;
        let mismatch = "its bytes do not have the checksum that is kept where it is pointed to";
        let expected = ExpectedChecksum {
            start: number,
            checksum,
            mismatch,
            written,
            birth: |page: &[u8]| Header::read(page).birth,
            operation,
        };
        self.compare(pages, (offset, usable_len, Content::Pages), expected)
    }

    /// Compares a large value with its checksum, and its birth with `written`. Notes its first page
    /// if both are right.
    #[cold]
    pub(crate) fn compare_value(
        &self,
        pages: &Pinned<Mapping>,
        usable_len: usize,
        extent: &ValueExtent,
        written: TransactionId,
    ) -> Result<()> {
        let offset = u64::from(extent.start.0) * page_len(usable_len) as u64;
        let len = extent.len_bytes as usize;
        let expected = ExpectedChecksum {
            start: extent.start,
            checksum: extent.checksum,
            mismatch: "the large value that begins there does not have its checksum",
            written,
            birth: |_: &[u8]| extent.birth,
            operation: "lookup",
        };
        self.compare(pages, (offset, len, Content::Value), expected)
    }
}

/// The parameters of a comparison.
struct ExpectedChecksum<B> {
    start: PageNumber,
    checksum: Checksum,
    /// The error text for a wrong checksum.
    mismatch: &'static str,
    /// The transaction that wrote the reference. The page cannot be younger.
    written: TransactionId,
    /// Reads the birth, once the bytes are readable.
    birth: B,
    operation: &'static str,
}

fn bit(number: PageNumber) -> u64 {
    1 << (number.index() % WORD)
}

/// Which verifications a reader of a named snapshot relies on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trust {
    /// Only its own: another state may have another page at the same position.
    Own,
    /// Those of the newest state too, because the caller verifies all relevant pages.
    Newest,
}

#[cfg(test)]
#[path = "verified_bitmap_tests.rs"]
mod tests;
