//! Which pages were compared with their checksums since the database was opened: a bit for each page.
//!
//! A reader sets the bit of a page when it finds the checksum right. The writer clears the bits of pages
//! that it takes anew, which no reader can see then, and sets those of pages that it sealed and
//! wrote, when they are published. Bits are read and written without order: whoever sees a page in a new
//! role learned of it by way of a snapshot, and that orders what came before.

use crate::{
    Checksum, Error, Extent, PageNumber, Result, TransactionId,
    io::Mapping,
    page::{header::Header, value::ValueExtent},
};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{
        AtomicBool, AtomicU64,
        Ordering::{Relaxed, SeqCst},
        fence,
    },
};

/// When pages are compared with their checksums, the 64-bit checksums that stand where they are pointed to.
/// A page that differs gives [`Error::Corrupted`] to the operation that wanted it. Recovery, checks, backups
/// and salvage compare in any case.
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
    /// Never. Damage of what pages are made of is still an error, and never undefined behaviour;
    /// damage of keys and values is not noticed.
    Off,
    /// Once for each page since the database was opened, when it is first read. Later reads cost a look at
    /// one bit for each page.
    #[default]
    FirstTouch,
    /// Each time that a read comes to a page from the one that points to it, and each time that a large
    /// value is loaded.
    Always,
}

/// Bits of a word.
const WORD: usize = 64;

/// A bit for each page; set where there is no need to compare. No bits at all where nothing is
/// compared; and none is ever set where everything is.
#[derive(Clone, Debug)]
pub(crate) struct VerifiedBitmap {
    words: Arc<[AtomicU64]>,
    distrust_flag: Arc<DistrustFlag>,
    verification: Verification,
}

/// Whether what was right may not stay so: see [`VerifiedBitmap::distrust`].
#[derive(Default, Debug)]
struct DistrustFlag {
    is_raised: AtomicBool,
    /// All bits that there are.
    words: Mutex<Vec<Weak<[AtomicU64]>>>,
}

impl DistrustFlag {
    fn words(&self) -> MutexGuard<'_, Vec<Weak<[AtomicU64]>>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VerifiedBitmap {
    /// Pages of which nothing is known.
    pub(crate) fn new(verification: Verification, page_count: u64) -> Self {
        let nothing = Self {
            words: Arc::new([]),
            distrust_flag: Arc::default(),
            verification,
        };
        nothing.covering(page_count)
    }

    /// None of the bits, with room for as many pages: for a state whose pages are the newest one's only if nothing is damaged. What
    /// was right in one of them need not be in the other.
    pub(crate) fn apart(&self) -> Self {
        let nothing = Self {
            words: Arc::new([]),
            distrust_flag: Arc::clone(&self.distrust_flag),
            verification: self.verification,
        };
        nothing.covering((self.words.len() * WORD) as u64)
    }

    /// The same bits, with room for at least so many pages. Where that takes another place, pages that
    /// are noted in the old one from now on may be compared once more.
    pub(crate) fn covering(&self, page_count: u64) -> Self {
        let words = usize::try_from(page_count).map_or(0, |count| count.div_ceil(WORD));
        if words <= self.words.len() || self.verification == Verification::Off {
            return self.clone();
        }
        let old = |index: usize| self.words.get(index).map_or(0, |word| word.load(Relaxed));
        let words = (0..words.next_power_of_two()).map(|index| AtomicU64::new(old(index)));
        let words: Arc<[AtomicU64]> = words.collect();
        let mut all = self.distrust_flag.words();
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

    /// Whether a page is to be compared with its checksum.
    #[inline]
    pub(crate) fn is_unverified(&self, number: PageNumber) -> bool {
        match self.words.get(number.index() / WORD) {
            Some(word) => word.load(Relaxed) & bit(number) == 0,
            None => false,
        }
    }

    /// Notes pages whose checksums are right.
    pub(crate) fn note(&self, extent: Extent) {
        if self.verification != Verification::FirstTouch
            || self.distrust_flag.is_raised.load(Relaxed)
        {
            return;
        }
        self.for_each_word(extent, |word, bits| {
            word.fetch_or(bits, Relaxed);
        });
        // Either this sees that doubt was raised meanwhile, or what is cleared then is cleared behind this.
        fence(SeqCst);
        if self.distrust_flag.is_raised.load(Relaxed) {
            self.forget(extent);
        }
    }

    /// From now on all pages are compared each time, by readers of older states too: a flush has failed,
    /// and the system may drop from its cache what never reached the disk.
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

    /// Forgets pages that are about to be written anew.
    pub(crate) fn forget(&self, extent: Extent) {
        self.for_each_word(extent, |word, bits| {
            word.fetch_and(!bits, Relaxed);
        });
    }

    /// Forgets all pages: another process has written anew nobody here knows which.
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

    /// Compares `bytes`, which stand in the file from page `start` on, with their checksum. The system is
    /// asked for them first, so that what it cannot read is an error.
    fn compare(
        &self,
        mapping: &Mapping,
        offset: u64,
        bytes: &[u8],
        expected: ExpectedChecksum<impl FnOnce() -> TransactionId>,
    ) -> Result<()> {
        let ExpectedChecksum {
            start,
            checksum,
            what,
            written,
            birth,
            operation,
        } = expected;
        if let Err(error) = mapping.prefault(offset, bytes.len()) {
            let detail = format!("it cannot be read from the file: {error}");
            return Err(Error::corrupted(start, operation, detail));
        }
        if Checksum::of(bytes) != checksum {
            return Err(Error::corrupted(start, operation, what));
        }
        if birth() > written {
            let detail = "it says that it was born later than what leads to it";
            return Err(Error::corrupted(start, operation, detail));
        }
        self.note(Extent { start, len: 1 });
        Ok(())
    }

    /// Compares a page with its checksum, and its birth with `written`, and notes it if both are right.
    #[cold]
    pub(crate) fn compare_page(
        &self,
        mapping: &Mapping,
        page: &[u8],
        (number, checksum): (PageNumber, Checksum),
        written: TransactionId,
        operation: &'static str,
    ) -> Result<()> {
        let offset = u64::from(number.0) * page.len() as u64;
        let what = "its bytes do not have the checksum that is kept where it is pointed to";
        self.compare(
            mapping,
            offset,
            page,
            ExpectedChecksum {
                start: number,
                checksum,
                what,
                written,
                birth: || Header::read(page).birth,
                operation,
            },
        )
    }

    /// Compares a large value with its checksum, and its birth with `written`, and notes its first page if both are right.
    #[cold]
    pub(crate) fn compare_value(
        &self,
        mapping: &Mapping,
        page_size: usize,
        value: &[u8],
        extent: &ValueExtent,
        written: TransactionId,
    ) -> Result<()> {
        let offset = u64::from(extent.start.0) * page_size as u64;
        let (start, checksum) = (extent.start, extent.checksum);
        let what = "the large value that begins there does not have its checksum";
        self.compare(
            mapping,
            offset,
            value,
            ExpectedChecksum {
                start,
                checksum,
                what,
                written,
                birth: || extent.birth,
                operation: "lookup",
            },
        )
    }
}

/// What a comparison is about.
struct ExpectedChecksum<B> {
    start: PageNumber,
    checksum: Checksum,
    /// What is wrong if the checksum is.
    what: &'static str,
    /// What leads to it is no younger than this, and so it is not either.
    written: TransactionId,
    /// Its birth, to be read once its bytes can be.
    birth: B,
    operation: &'static str,
}

fn bit(number: PageNumber) -> u64 {
    1 << (number.index() % WORD)
}

/// What a reader of a named snapshot takes for compared with its checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trust {
    /// Only what it compared itself: another state may have another page in that place.
    Own,
    /// What the newest state compared, too, since the caller compares all that counts.
    Newest,
}

#[cfg(test)]
#[path = "verified_bitmap_tests.rs"]
mod tests;
