//! Detection of forks. A child has its parent's memory and files, but none of its threads and
//! locks, so it must not use what it inherited.
//!
//! Open-file-description locks and `flock` locks last as long as anything refers to the
//! description. A child shares its parent's descriptions, so it would keep the locks of a parent
//! that has ended. When a child begins, it therefore replaces its copies of such descriptors, in
//! the handler that the C library calls. Closing a copy has no effect on the parent. A child that
//! is forked while a descriptor is opened and not registered yet does not know of it. [`ForkWatch`]
//! detects that case.

use std::{
    ptr::{self, NonNull},
    sync::{
        Once,
        atomic::{
            AtomicI32, AtomicPtr, AtomicU32, AtomicU64,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
        },
    },
};

/// Number of forks between the process that loaded this code and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// The newest entry of the table of descriptors. Entries are never freed, only reused.
static ENTRIES: AtomicPtr<HeldEntry> = AtomicPtr::new(ptr::null_mut());

/// Number of forks that this process has begun, and (below) of those that have ended.
static BEGUN: AtomicU32 = AtomicU32::new(0);
static ENDED: AtomicU32 = AtomicU32::new(0);

extern "C" fn note_begin() {
    BEGUN.fetch_add(1, SeqCst);
}

extern "C" fn note_end() {
    ENDED.fetch_add(1, SeqCst);
}

/// Runs first in a child. It may only do what a signal handler may do.
extern "C" fn note_fork() {
    FORKS.fetch_add(1, Relaxed);
    ENDED.store(BEGUN.load(SeqCst), SeqCst);
    let mut next = ENTRIES.load(Acquire).cast_const();
    // SAFETY: entries are never freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        if entry.state.swap(FREE, Acquire) == ACTIVE {
            entry.let_go();
        }
        next = entry.next;
    }
}

/// Distinguishes a process from its children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ForkGeneration(u32);

impl ForkGeneration {
    /// The generation of this process. After the first call, forks made through the C library are
    /// detected.
    pub(crate) fn current() -> Self {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            // SAFETY: the handler changes atomic numbers and makes system calls, which a child may
            // do at any point. Registration can fail for lack of memory; forks are not detected
            // then.
            let _ =
                unsafe { libc::pthread_atfork(Some(note_begin), Some(note_end), Some(note_fork)) };
        });
        Self(FORKS.load(Relaxed))
    }

    /// Whether this process is a child of the one that `self` belongs to.
    #[inline]
    pub(crate) fn is_past(self) -> bool {
        FORKS.load(Relaxed) != self.0
    }
}

/// Watches from its creation on whether this process forks.
pub(super) struct ForkWatch(u32);

impl ForkWatch {
    pub(super) fn begin() -> Self {
        let _ = ForkGeneration::current();
        Self(ENDED.load(SeqCst))
    }

    /// Whether no fork was under way at the start of the watch, and none has begun since.
    pub(super) fn is_still(&self) -> bool {
        BEGUN.load(SeqCst) == self.0
    }
}

const FREE: u32 = 0;
const BUSY: u32 = 1;
const ACTIVE: u32 = 2;

/// A descriptor that a child must not keep, and a page that is mapped from it.
#[derive(Debug)]
pub(super) struct HeldEntry {
    state: AtomicU32,
    descriptor: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
    /// Null if no page is mapped.
    anchor: AtomicPtr<u8>,
    next: *const HeldEntry,
}

// SAFETY: all fields except `next` are atomic, and `next` is written before other threads can see
// the entry.
unsafe impl Send for HeldEntry {}
// SAFETY: all fields except `next` are atomic, and `next` is written before other threads can see
// the entry.
unsafe impl Sync for HeldEntry {}

impl HeldEntry {
    /// Makes children release a descriptor, as long as it refers to the file with this device and
    /// inode. They unmap the page `anchor` too.
    ///
    /// # Safety
    ///
    /// The page must be mapped, and nobody may access it, until [`Self::unregister`].
    pub(super) unsafe fn register(
        descriptor: i32,
        id: (u64, u64),
        anchor: Option<NonNull<u8>>,
    ) -> &'static Self {
        let _ = ForkGeneration::current();
        let entry = Self::unused();
        debug_assert_eq!(
            entry.state.load(Relaxed),
            BUSY,
            "children ignore an entry until it is filled in"
        );
        entry.descriptor.store(descriptor, Relaxed);
        entry.device.store(id.0, Relaxed);
        entry.inode.store(id.1, Relaxed);
        let anchor = anchor.map_or(ptr::null_mut(), NonNull::as_ptr);
        entry.anchor.store(anchor, Relaxed);
        entry.state.store(ACTIVE, Release);
        entry
    }

    /// Ends the registration. Must be called before the descriptor is closed, because its number
    /// may be reused after that.
    pub(super) fn unregister(&self) {
        let before = self.state.swap(FREE, Release);
        assert_eq!(before, ACTIVE, "an entry is registered until this, once");
    }

    /// An unused entry, reserved for the caller.
    fn unused() -> &'static Self {
        let first = ENTRIES.load(Acquire);
        let mut next = first.cast_const();
        // SAFETY: entries are never freed.
        while let Some(entry) = unsafe { next.as_ref() } {
            let taken = entry.state.compare_exchange(FREE, BUSY, Acquire, Relaxed);
            if taken.is_ok() {
                return entry;
            }
            next = entry.next;
        }
        let entry = Box::leak(Box::new(Self {
            state: AtomicU32::new(BUSY),
            descriptor: AtomicI32::new(-1),
            device: AtomicU64::new(0),
            inode: AtomicU64::new(0),
            anchor: AtomicPtr::new(ptr::null_mut()),
            next: first,
        }));
        let mut expected = first;
        while let Err(other) = ENTRIES.compare_exchange(expected, entry, Release, Acquire) {
            entry.next = other;
            expected = other;
        }
        entry
    }

    /// Replaces what this child has inherited by something harmless.
    fn let_go(&self) {
        let descriptor = self.descriptor.load(Relaxed);
        if self.is_at(descriptor) {
            replace_descriptor(descriptor);
        }
        let anchor = self.anchor.load(Relaxed);
        if !anchor.is_null() {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            // SAFETY: the page was mapped for this entry, and no code reads or writes there.
            unsafe {
                let len = libc::sysconf(libc::_SC_PAGESIZE) as usize;
                libc::mmap(anchor.cast(), len, libc::PROT_NONE, flags, -1, 0);
            }
        }
    }

    /// Whether the descriptor still refers to the file. Other code may have closed it.
    fn is_at(&self, descriptor: i32) -> bool {
        let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the structure is valid for writing, and is read only after the call has
        // succeeded.
        unsafe {
            libc::fstat(descriptor, found.as_mut_ptr()) == 0 && {
                let found = found.assume_init();
                (found.st_dev, found.st_ino)
                    == (self.device.load(Relaxed), self.inode.load(Relaxed))
            }
        }
    }
}

/// Replaces a descriptor by one that can neither read nor write. The number stays in use, so that a
/// later close of it closes nothing else.
fn replace_descriptor(descriptor: i32) {
    let open = || {
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: the path ends with a zero byte.
        unsafe { libc::open(c"/".as_ptr(), flags) }
    };
    let mut harmless = open();
    if harmless < 0 {
        // The limit of descriptors may be reached.
        // SAFETY: the descriptor was found to be the one to replace.
        unsafe { libc::close(descriptor) };
        harmless = open();
    }
    if harmless >= 0 && harmless != descriptor {
        // SAFETY: the first is open, and the second is one that this child does not use.
        unsafe {
            libc::dup3(harmless, descriptor, libc::O_CLOEXEC);
            libc::close(harmless);
        }
    }
}
