//! Handling of faults in mapped files: a sector that the disk fails to read, or a file that another
//! program has truncated. The system raises SIGBUS, which by default ends the program.
//!
//! A signal handler maps a page of zeros where the file could not be read, and counts the fault, so
//! that the thread continues. At the end of its operation the reader finds that the count has
//! changed. The data that it read is invalid, and the operation fails. The next operation maps the
//! file there again. Words that processes share, in their lock file, are not mapped again. Zeros
//! replace all of them at once, so that this process finds itself in no table and stops. Signals
//! for other addresses are passed to the previous handler.
//!
//! Orderings: a fault is counted before the zeros can be read. An operation reads the count before
//! anything else, and once more after a fence at its end. It therefore either sees another count,
//! or has seen none of the zeros.

use super::sys::{self, Access, FileAt, system_page_len};
use std::{
    hint, io, ptr,
    sync::{
        OnceLock,
        atomic::{
            AtomicBool, AtomicIsize, AtomicPtr, AtomicU64, AtomicUsize,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
            fence,
        },
    },
};

/// Values of [`Faults::base`] for an unused entry, and (below) for one that is being filled in.
const UNUSED: usize = 0;
const CLAIMED: usize = 1;

/// In [`Faults::word`]: zeros replace the file somewhere. The other bits count faults.
const ZEROS: u64 = 1;
const ONE_FAULT: u64 = 2;
const _: () = assert!(
    ONE_FAULT & ZEROS == 0,
    "counting a fault does not change whether there are zeros"
);

/// All mapped ranges, for the handler. It must neither wait for a lock that a thread holds nor
/// allocate. Entries are reused and never freed.
static ENTRIES: AtomicPtr<Faults> = AtomicPtr::new(ptr::null_mut());

/// The faults of one address range.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Faults {
    word: AtomicU64,
    base: AtomicUsize,
    len: AtomicUsize,
    /// Number of the file; negative if there is none.
    file: AtomicIsize,
    is_writable: AtomicBool,
    /// Head of shared words: addresses that are replaced by zeros together with those of this range
    /// when a part of it is lost. 0 for a database file.
    head_base: AtomicUsize,
    head_len: AtomicUsize,
    /// Held by the handler and by [`Faults::heal`] for a few instructions and a system call. No
    /// code that holds it touches a mapped file, so no thread waits for itself.
    is_locked: AtomicBool,
    /// From the first address with zeros to the end of the last.
    zeros_start: AtomicUsize,
    zeros_end: AtomicUsize,
    /// Offset of the last fault in the file.
    last_offset: AtomicU64,
    next: AtomicPtr<Faults>,
}

/// The fault counter of memory that cannot fault.
static NONE: Faults = Faults::new();

impl Faults {
    const fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            base: AtomicUsize::new(UNUSED),
            len: AtomicUsize::new(0),
            file: AtomicIsize::new(-1),
            is_writable: AtomicBool::new(false),
            head_base: AtomicUsize::new(0),
            head_len: AtomicUsize::new(0),
            is_locked: AtomicBool::new(false),
            zeros_start: AtomicUsize::new(usize::MAX),
            zeros_end: AtomicUsize::new(0),
            last_offset: AtomicU64::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The fault counter of memory that cannot fault.
    pub(crate) fn none() -> &'static Self {
        &NONE
    }

    /// A number that changes with the next fault. Maps the file again where zeros replace it.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        let word = self.word.load(Acquire);
        match word & ZEROS {
            0 => word,
            _ => self.heal(),
        }
    }

    /// Whether there was a fault since [`Faults::count`] returned `count`.
    #[inline]
    pub(crate) fn are_more_than(&self, count: u64) -> bool {
        fence(Acquire);
        self.word.load(Relaxed) != count
    }

    /// Whether zeros replace the file somewhere.
    pub(super) fn has_zeros(&self) -> bool {
        self.word.load(Acquire) & ZEROS != 0
    }

    /// If this range has shared words, replaces all of them by zeros. The handler calls this too.
    ///
    /// The words at the head are replaced first. A thread that finds zeros in the reader table
    /// therefore finds afterwards, at the head, that the memory is lost.
    pub(super) fn lose_words(&self) -> bool {
        let head = (&self.head_base, &self.head_len);
        let _locked = self.lock();
        self.word.fetch_or(ZEROS, Release);
        [head, (&self.base, &self.len)]
            .into_iter()
            .all(|(base, len)| {
                let (base, len) = (base.load(Relaxed), len.load(Relaxed));
                if base <= CLAIMED {
                    return false;
                }
                // SAFETY: the addresses stay mapped while the range is watched, and so do those of
                // the head. They are only read and written as atomic words, which may have any
                // value at any time, or only written.
                unsafe { sys::zeros_over(base, len, Access::ReadWrite) }
            })
    }

    /// [`Faults::count`], for callers that have read data before.
    pub(crate) fn count_after_reading(&self) -> u64 {
        fence(Acquire);
        self.count()
    }

    /// The file offset of the last fault, and the error from reading the file there.
    pub(crate) fn last(&self) -> (u64, io::Error) {
        let offset = self.last_offset.load(Relaxed);
        let gone = || io::Error::other("it could not be read, and can be now");
        let file = self.file.load(Relaxed);
        if file < 0 {
            return (offset, gone());
        }
        // SAFETY: the caller holds the range, and the range holds the file.
        let file = unsafe { sys::borrow(file) };
        let error = match file.read_at(&mut [0], offset) {
            Ok(0) => io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => gone(),
            Err(error) => error,
        };
        (offset, error)
    }

    /// Whether these bytes belong to the range and are no longer all in the file. If the file ends
    /// inside of a system page, the rest of that page reads as zeros without a fault.
    #[cold]
    pub(crate) fn are_cut(&self, bytes: &[u8]) -> bool {
        let (base, len) = (self.base.load(Relaxed), self.len.load(Relaxed));
        let start = bytes.as_ptr().addr().wrapping_sub(base);
        let file = self.file.load(Relaxed);
        if file < 0 || base <= CLAIMED || start >= len {
            return false;
        }
        // SAFETY: the caller holds the range, and the range holds the file.
        let file = unsafe { sys::borrow(file) };
        let found = sys::attributes(&file);
        let is_cut = |len| len < (start + bytes.len()) as u64;
        found.is_ok_and(|found| found.is_some_and(|found| is_cut(found.len)))
    }

    fn lock(&self) -> FaultsGuard<'_> {
        while self.is_locked.swap(true, Acquire) {
            hint::spin_loop();
        }
        FaultsGuard(self)
    }

    /// Maps the file again where zeros replace it, and returns the count. If the system refuses,
    /// returns a count that will not recur, so that every read fails.
    #[cold]
    fn heal(&self) -> u64 {
        let _locked = self.lock();
        let word = self.word.load(Relaxed);
        let start = self.zeros_start.load(Relaxed);
        let end = self.zeros_end.load(Relaxed);
        if word & ZEROS == 0 {
            return word;
        }
        debug_assert!(
            start < end && start >= self.base.load(Relaxed),
            "zeros replace pages of the range"
        );
        if self.map_again(start, end - start).is_err() {
            self.word.store(word + ONE_FAULT, Release);
            return word & !ZEROS;
        }
        self.zeros_start.store(usize::MAX, Relaxed);
        self.zeros_end.store(0, Relaxed);
        self.word.store(word & !ZEROS, Release);
        word & !ZEROS
    }

    fn access(&self) -> Access {
        match self.is_writable.load(Relaxed) {
            true => Access::ReadWrite,
            false => Access::ReadOnly,
        }
    }

    fn map_again(&self, start: usize, len: usize) -> io::Result<()> {
        let (file, access) = (self.file.load(Relaxed), self.access());
        let offset = (start - self.base.load(Relaxed)) as u64;
        // SAFETY: these addresses are inside of the range, and show the same bytes of the same file
        // afterwards. The caller holds the range, and the range holds the file.
        unsafe { sys::file_over(start, len, file, offset, access) }
    }

    /// Maps zeros at `address`, and counts the fault. Called by the handler.
    fn note(&self, base: usize, address: usize) -> bool {
        if self.head_base.load(Relaxed) != 0 {
            return self.lose_words();
        }
        let page_size = system_page_len();
        let start = address - address % page_size;
        let _locked = self.lock();
        let word = self.word.load(Relaxed);
        self.last_offset.store((start - base) as u64, Relaxed);
        self.word.store((word + ONE_FAULT) | ZEROS, Release);
        // SAFETY: the address is inside of the range, which is mapped, since a thread has just read
        // there.
        let is_mapped = unsafe { sys::zeros_over(start, page_size, self.access()) };
        self.zeros_start.fetch_min(start, Relaxed);
        self.zeros_end.fetch_max(start + page_size, Relaxed);
        is_mapped
    }
}

struct FaultsGuard<'f>(&'f Faults);

impl Drop for FaultsGuard<'_> {
    fn drop(&mut self) {
        self.0.is_locked.store(false, Release);
    }
}

/// Registers an address range, so that its faults are counted, while this lives.
#[derive(Debug)]
pub(super) struct FaultWatch(&'static Faults);

impl FaultWatch {
    /// Watches the mapping of a file. A fault there maps zeros at the address, and later the file
    /// again.
    ///
    /// # Safety
    ///
    /// The addresses must be a mapping of `file` from its start, and belong to the caller until it
    /// drops this, before it unmaps them. `file` is the number of the file, which must stay open as
    /// long.
    pub(super) unsafe fn new(base: usize, len: usize, file: isize, access: Access) -> Self {
        Self::begin((base, len), (0, 0), file, access)
    }

    /// Watches shared words, given as first address and length: the words of this range, and those
    /// at their head. A fault there replaces all of them by zeros.
    ///
    /// # Safety
    ///
    /// The addresses must be mapped, and belong to the caller and to the owner of the head, until
    /// the caller drops this. They are accessed as atomic words only, or only written by one owner.
    pub(super) unsafe fn of_words(own: (usize, usize), head: (usize, usize)) -> Self {
        Self::begin(own, head, -1, Access::ReadWrite)
    }

    fn begin(
        (base, len): (usize, usize),
        head: (usize, usize),
        file: isize,
        access: Access,
    ) -> Self {
        assert!(
            base > CLAIMED && len > 0,
            "the addresses of a range are none of the marks of an unused entry"
        );
        assert!(
            base.is_multiple_of(system_page_len()),
            "a fault is handled for a whole system page, which belongs to one range"
        );
        assert!(
            (file >= 0) != (head.0 > CLAIMED && head.1 > 0),
            "a range shows a file that can be mapped again, or words that are lost together"
        );
        let entry = claim_entry();
        debug_assert_eq!(
            entry.word.load(Relaxed) & ZEROS,
            0,
            "an entry that is used again has no zeros of an earlier range"
        );
        // A forked child may have inherited the entry in the locked state, from a thread that does
        // not exist in it.
        entry.is_locked.store(false, Relaxed);
        entry.len.store(len, Release);
        entry.file.store(file, Relaxed);
        entry.head_base.store(head.0, Relaxed);
        entry.head_len.store(head.1, Relaxed);
        (entry.is_writable).store(access == Access::ReadWrite, Relaxed);
        entry.zeros_start.store(usize::MAX, Relaxed);
        entry.zeros_end.store(0, Relaxed);
        entry.base.store(base, Release);
        Self(entry)
    }

    #[inline]
    pub(super) fn faults(&self) -> &'static Faults {
        self.0
    }
}

impl Drop for FaultWatch {
    fn drop(&mut self) {
        let base = self.0.base.swap(CLAIMED, Release);
        debug_assert!(
            base > CLAIMED,
            "an entry is in use until its watch is dropped"
        );
        self.0.word.fetch_and(!ZEROS, Relaxed);
        self.0.file.store(-1, Relaxed);
        self.0.base.store(UNUSED, Release);
    }
}

fn claim_entry() -> &'static Faults {
    let claim = |entry: &&Faults| {
        let claimed = entry
            .base
            .compare_exchange(UNUSED, CLAIMED, AcqRel, Relaxed);
        claimed.is_ok()
    };
    if let Some(entry) = entries().find(claim) {
        return entry;
    }
    let entry = Box::leak(Box::new(Faults::new()));
    entry.base.store(CLAIMED, Relaxed);
    let mut head = ENTRIES.load(Relaxed);
    loop {
        entry.next.store(head, Relaxed);
        match ENTRIES.compare_exchange_weak(head, entry, Release, Relaxed) {
            Ok(_) => return entry,
            Err(other) => head = other,
        }
    }
}

fn entries() -> impl Iterator<Item = &'static Faults> {
    let entry_at = |entry: &AtomicPtr<Faults>| {
        // SAFETY: entries are leaked, and filled in before they are linked.
        unsafe { entry.load(Acquire).as_ref() }
    };
    std::iter::successors(entry_at(&ENTRIES), move |entry| entry_at(&entry.next))
}

/// Handles a fault if the address is in a registered range.
fn absorb(address: usize) -> bool {
    entries().any(|entry| {
        let base = entry.base.load(Acquire);
        if base <= CLAIMED || address < base || address - base >= entry.len.load(Acquire) {
            return false;
        }
        // An entry that was reused meanwhile concerns other addresses.
        entry.base.load(Relaxed) == base && entry.note(base, address)
    })
}

/// Installs the fault handler, for the whole process.
///
/// # Errors
///
/// The system's error.
pub(crate) fn handle_faults() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), Option<i32>>> = OnceLock::new();
    let installed =
        INSTALLED.get_or_init(|| sys::catch_faults(absorb).map_err(|error| error.raw_os_error()));
    installed.map_err(|code| code.map_or(io::ErrorKind::Other.into(), io::Error::from_raw_os_error))
}

#[cfg(all(test, unix))]
#[path = "faults_tests.rs"]
mod tests;
