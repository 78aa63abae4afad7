//! The witness that pages do not change while they are borrowed.
//!
//! The file is written all the time, and so is the memory of its [`Mapping`]. A slice of it is
//! sound only for pages that nobody writes meanwhile. Such slices are therefore given out by
//! `Pinned<Mapping>` alone, and only [`Pinned::assume`] makes one. It is unsafe, so each place that
//! calls it gives its reason. The borrow checker does the rest: a slice lives no longer than the
//! borrow of the `Pinned`, and that no longer than the borrow of the value that keeps the pages.
//!
//! The reasons, by which those places name them:
//!
//! 1. *Reader.* A reader slot pins the state. A page of a pinned state is neither free nor given
//!    out (invariant 3 of ARCHITECTURE.md), so no writer of any process writes to it. A reader that
//!    has lost its lock file or was declared dead pins nothing any more. That is the short window
//!    of docs/locking.md.
//! 2. *Writer.* The holder of the writer lock builds on the newest commit. No other thread or
//!    process gives out pages meanwhile, and it gives out none of that commit itself. It writes its
//!    own pages only with the transaction borrowed mutably.
//! 3. *Flush leader.* The last durable commit, the last flushed one, and the target of a running
//!    flush are pinned by the commit state, from before the flush begins until after it has ended.
//! 4. *Opener.* A database that is being opened or salvaged is locked, or its gate is, so that
//!    nobody else writes to the file. The opener itself borrows pages only between its own writes.
//! 5. *Unknown writers.* With `Sharing::Unlocked`, a reader may read beside writers that do not
//!    know of it. Nothing keeps its pages. The caller has accepted that risk. Each page
//!    is compared with its checksum at each read, and no code relies on the values of bytes in a
//!    page for soundness.
//! 6. *Small transaction.* The committer pins the state that it reads, from a moment at which it
//!    is the newest until the transaction ends, even if it becomes a whole one.
//!
//! A number in a damaged page may lead to a page of another state, which may be written meanwhile.
//! The other reasons do not cover that. As with reason 5, all code copes with any bytes.
//!
//! [`Mapping`]: super::Mapping

use std::ops::Deref;

/// A value whose pages do not change while it is borrowed: a mapping of the file, or a state of the
/// database. Exists only as a reference.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Pinned<T>(T);

impl<T> Pinned<T> {
    /// Grants the right to borrow the pages of a value.
    ///
    /// # Safety
    ///
    /// For as long as the reference lives, nobody may write to the pages that are borrowed through
    /// it, in any process. The head of this module has the reasons why that may be so.
    #[inline]
    pub(crate) unsafe fn assume(value: &T) -> &Self {
        let value: *const T = value;
        // SAFETY: `Pinned<T>` has the layout of `T`, and the lifetime is that of `value`.
        unsafe { &*value.cast() }
    }
}

impl<T> Deref for Pinned<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
