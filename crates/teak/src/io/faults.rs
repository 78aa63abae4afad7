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

use rustix::{
    fd::BorrowedFd,
    io::Errno,
    mm::{self, Advice, MapFlags, ProtFlags},
};
use std::{
    hint, io, ptr,
    sync::{
        OnceLock,
        atomic::{
            AtomicBool, AtomicI32, AtomicPtr, AtomicU64, AtomicUsize,
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
    descriptor: AtomicI32,
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
            descriptor: AtomicI32::new(-1),
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
                let protection = ProtFlags::READ | ProtFlags::WRITE;
                let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
                // SAFETY: the addresses stay mapped while the range is watched, and so do those of
                // the head. They are only read and written as atomic words, which may have any
                // value at any time.
                unsafe { mm::mmap_anonymous(base as *mut _, len, protection, flags) }.is_ok()
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
        let descriptor = self.descriptor.load(Relaxed);
        if descriptor < 0 {
            return (offset, gone());
        }
        // SAFETY: the caller holds the range, and the range holds the file.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let mut byte = [0];
        let error = match rustix::io::pread(file, &mut byte, offset) {
            Ok(0) => io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => gone(),
            Err(error) => error.into(),
        };
        (offset, error)
    }

    /// Whether these bytes belong to the range and are no longer all in the file. If the file ends
    /// inside of a system page, the rest of that page reads as zeros without a fault.
    #[cold]
    pub(crate) fn are_cut(&self, bytes: &[u8]) -> bool {
        let (base, len) = (self.base.load(Relaxed), self.len.load(Relaxed));
        let start = bytes.as_ptr().addr().wrapping_sub(base);
        let descriptor = self.descriptor.load(Relaxed);
        if descriptor < 0 || base <= CLAIMED || start >= len {
            return false;
        }
        // SAFETY: the caller holds the range, and the range holds the file.
        let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
        rustix::fs::fstat(file)
            .is_ok_and(|found| (found.st_size as u64) < (start + bytes.len()) as u64)
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

    fn protection(&self) -> ProtFlags {
        match self.is_writable.load(Relaxed) {
            true => ProtFlags::READ | ProtFlags::WRITE,
            false => ProtFlags::READ,
        }
    }

    fn map_again(&self, start: usize, len: usize) -> Result<(), Errno> {
        let base = self.base.load(Relaxed);
        // SAFETY: the caller holds the range, and the range holds the file.
        let file = unsafe { BorrowedFd::borrow_raw(self.descriptor.load(Relaxed)) };
        // SAFETY: these addresses are inside of the range, and show the same bytes of the same file
        // afterwards.
        unsafe {
            let (start, flags) = (start as *mut _, MapFlags::SHARED | MapFlags::FIXED);
            let offset = (start as usize - base) as u64;
            mm::mmap(start, len, self.protection(), flags, file, offset)?;
            let _ = mm::madvise(start, len, Advice::Random);
        }
        Ok(())
    }

    /// Maps zeros at `address`, and counts the fault. Called by the handler.
    fn note(&self, base: usize, address: usize) -> bool {
        if self.head_base.load(Relaxed) != 0 {
            return self.lose_words();
        }
        let page_size = rustix::param::page_size();
        let start = address - address % page_size;
        let _locked = self.lock();
        let word = self.word.load(Relaxed);
        self.last_offset.store((start - base) as u64, Relaxed);
        self.word.store((word + ONE_FAULT) | ZEROS, Release);
        // SAFETY: the address is inside of the range, which is mapped, since a thread has just read
        // there.
        let mapped = unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED;
            mm::mmap_anonymous(start as *mut _, page_size, self.protection(), flags)
        };
        self.zeros_start.fetch_min(start, Relaxed);
        self.zeros_end.fetch_max(start + page_size, Relaxed);
        mapped.is_ok()
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
    /// drops this, before it unmaps them. `file` must stay open as long.
    pub(super) unsafe fn new(
        base: usize,
        len: usize,
        file: BorrowedFd<'_>,
        is_writable: bool,
    ) -> Self {
        use rustix::fd::AsRawFd;
        Self::begin((base, len), (0, 0), file.as_raw_fd(), is_writable)
    }

    /// Watches shared words, given as first address and length: the words of this range, and those
    /// at their head. A fault there replaces all of them by zeros.
    ///
    /// # Safety
    ///
    /// The addresses must be mapped, and belong to the caller and to the owner of the head, until
    /// the caller drops this. They are accessed as atomic words only.
    pub(super) unsafe fn of_words(own: (usize, usize), head: (usize, usize)) -> Self {
        Self::begin(own, head, -1, true)
    }

    fn begin(
        (base, len): (usize, usize),
        head: (usize, usize),
        descriptor: i32,
        is_writable: bool,
    ) -> Self {
        assert!(
            base > CLAIMED && len > 0,
            "the addresses of a range are none of the marks of an unused entry"
        );
        assert!(
            base.is_multiple_of(rustix::param::page_size()),
            "a fault is handled for a whole system page, which belongs to one range"
        );
        assert!(
            (descriptor >= 0) != (head.0 > CLAIMED && head.1 > 0),
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
        entry.descriptor.store(descriptor, Relaxed);
        entry.head_base.store(head.0, Relaxed);
        entry.head_len.store(head.1, Relaxed);
        entry.is_writable.store(is_writable, Relaxed);
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
        self.0.descriptor.store(-1, Relaxed);
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

/// The previous handler, for signals that do not concern a registered range.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the fault handler, for the whole process.
///
/// # Errors
///
/// The system's error.
pub(crate) fn handle_faults() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| install().map_err(|e| e.raw_os_error().unwrap_or(0)));
    installed.map_err(io::Error::from_raw_os_error)
}

fn install() -> io::Result<()> {
    // SAFETY: `sigaction` is a plain structure for which zeros are valid, and both are valid for
    // the calls. The handler is one for `SA_SIGINFO`. It runs on the alternate stack if the thread
    // has one.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, ptr::null(), &mut before) != 0 {
            return Err(io::Error::last_os_error());
        }
        let is_first = BEFORE.set(before).is_ok();
        assert!(is_first, "the handler is installed once");
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_signal;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        if libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Does only what is allowed in a signal handler: atomic operations, and system calls that leave
/// `errno` alone.
extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system calls a handler for `SA_SIGINFO` with valid information.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let is_access = matches!(
        code,
        libc::BUS_ADRERR | libc::BUS_OBJERR | libc::BUS_MCEERR_AR
    );
    if !is_access || !absorb(address) {
        pass_on(signal, info, context, is_access);
    }
}

/// Does what would have happened without this handler.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void, is_access: bool) {
    let Some(before) = BEFORE.get() else { return };
    // SAFETY: the previous handler is called in the way that it requested. The default action is
    // installed by a call that handlers may make.
    unsafe {
        match before.sa_sigaction {
            libc::SIG_IGN if !is_access => {}
            libc::SIG_IGN | libc::SIG_DFL => {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &default, ptr::null_mut());
                // A faulting access is repeated when the handler returns.
                if !is_access {
                    libc::raise(signal);
                }
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(i32) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

#[cfg(test)]
#[path = "faults_tests.rs"]
mod tests;
