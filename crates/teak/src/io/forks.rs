//! Detection of forks. A child has its parent's memory and files, but none of its threads and
//! locks, so it must not use what it inherited.
//!
//! Open-file-description locks and `flock` locks last as long as anything refers to the
//! description. A child shares its parent's descriptions, so it would keep the locks of a parent
//! that has ended. When a child begins, it therefore replaces its copies of such descriptors, in
//! the handler that the C library calls. Closing a copy has no effect on the parent. A child that
//! is forked while a descriptor is opened and not registered yet does not know of it. [`ForkWatch`]
//! detects that case.

use super::sys::{self, FileId};
use std::{
    ptr::{self, NonNull},
    sync::{
        Once,
        atomic::{
            AtomicIsize, AtomicPtr, AtomicU32, AtomicU64,
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
        // The handlers change atomic numbers and make system calls, which a child may do at any
        // point. Registration can fail for lack of memory; forks are not detected then.
        WATCH.call_once(|| sys::at_fork(note_begin, note_end, note_fork));
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
    descriptor: AtomicIsize,
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
        descriptor: isize,
        id: FileId,
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
            descriptor: AtomicIsize::new(-1),
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
        let id = (self.device.load(Relaxed), self.inode.load(Relaxed));
        let (descriptor, anchor) = (self.descriptor.load(Relaxed), self.anchor.load(Relaxed));
        // SAFETY: this child uses neither the descriptor nor the page, where no code reads or
        // writes.
        unsafe { sys::release_inherited(descriptor, id, anchor) };
    }
}
