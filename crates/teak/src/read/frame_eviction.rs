//! Giving back the memory of decoded pages that nobody borrows any more.
//!
//! [`Frames`](crate::io::Frames) has the protocol. The borrowers of a database are its readers and
//! small transactions, which announce themselves by their pins, and its other write transactions,
//! which are counted here. When the
//! frames take too much memory, a batch of old ones is cooled: their bits in all verified bitmaps
//! are cleared, so that everybody who needs one of them from now on asks for it, which makes it hot
//! again. The others are given back when all borrowers of that moment have ended.

use super::{snapshot::Snapshot, verified_bitmap::VerifiedBitmap};
use crate::{
    Extent,
    io::Frames,
    share::{ReaderId, ReaderTable},
};
use std::sync::{
    Mutex, TryLockError,
    atomic::{AtomicU64, Ordering::SeqCst, fence},
};

/// The cooling frames of a database, and their possible borrowers.
#[derive(Default, Debug)]
pub(crate) struct FrameEviction {
    cooling: Mutex<Option<Borrowers>>,
    /// Write transactions that began or ended. Odd while there is one.
    writers: AtomicU64,
}

/// A transaction that may borrow frames. Two are equal only if both are the same transaction of a
/// database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Borrower {
    Reader(ReaderId),
    /// The unique number of a write transaction, or of a small one.
    Writer(u64),
}

impl Borrower {
    /// The write transaction with this number; `None` if the pages of its state are not in frames.
    pub(crate) fn writer(state: &Snapshot, unique_id: u64) -> Option<Self> {
        let is_coded = state.mapping.is_coded();
        is_coded.then_some(Self::Writer(unique_id))
    }
}

/// The possible borrowers of frames that are cooling.
#[derive(Debug)]
struct Borrowers {
    /// `None` if they could not be listed.
    readers: Option<Vec<ReaderId>>,
    /// The numbers of small transactions.
    small: Vec<u64>,
    writers: u64,
}

impl FrameEviction {
    /// Notes that a write transaction begins or ends.
    pub(crate) fn note_writer(&self) {
        self.writers.fetch_add(1, SeqCst);
        // Before it reads bits, as the protocol asks of each borrower.
        fence(SeqCst);
    }

    /// If the frames of a database take more memory than they may, gives back what nobody borrows,
    /// and cools more. `small` lists the small transactions.
    pub(crate) fn evict(
        &self,
        readers: ProcessReaders<'_>,
        state: &Snapshot,
        small: impl Fn() -> Vec<u64>,
    ) {
        let frames = state.mapping.frames();
        if let Some(frames) = frames.filter(|frames| frames.is_over_limit()) {
            self.evict_some(readers, frames, &state.verified, &small);
        }
    }

    #[cold]
    fn evict_some(
        &self,
        readers: ProcessReaders<'_>,
        frames: &Frames,
        verified: &VerifiedBitmap,
        small: &dyn Fn() -> Vec<u64>,
    ) {
        let mut cooling = match self.cooling.try_lock() {
            Ok(cooling) => cooling,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Another thread does it.
            Err(TryLockError::WouldBlock) => return,
        };
        if let Some(borrowers) = &mut *cooling {
            if borrowers.may_borrow(readers, self.writers.load(SeqCst), &small()) {
                return;
            }
            // SAFETY: all who were announced when these frames were cooled have ended.
            unsafe { frames.discard_cooled() };
            *cooling = None;
        }
        let forget = |first, count| verified.forget_everywhere(Extent::new(first, count));
        if frames.is_over_limit() && frames.cool(forget) {
            // A borrower that is not found from here on finds the bits cleared.
            fence(SeqCst);
            *cooling = Some(Borrowers {
                readers: readers.list(),
                small: small(),
                writers: self.writers.load(SeqCst),
            });
        }
    }
}

impl Borrowers {
    fn may_borrow(&mut self, readers: ProcessReaders<'_>, writers: u64, small: &[u64]) -> bool {
        let has_writer = self.writers % 2 == 1 && self.writers == writers;
        if has_writer || self.small.iter().any(|number| small.contains(number)) {
            return true;
        }
        let Some(present) = readers.list() else {
            return true;
        };
        // Those who began since do not matter. They are waited for if the others are not known.
        let readers = self.readers.get_or_insert_with(|| present.clone());
        readers.retain(|reader| present.contains(reader));
        !readers.is_empty()
    }
}

/// The readers of this process. Those of other processes have frames of their own.
#[derive(Clone, Copy)]
pub(crate) struct ProcessReaders<'t> {
    pub(crate) table: &'t ReaderTable,
    /// The owner of the slots of this process.
    pub(crate) owner: u64,
}

impl ProcessReaders<'_> {
    /// The readers; `None` if they cannot be listed.
    fn list(self) -> Option<Vec<ReaderId>> {
        let readers = self.table.readers().ok()?.into_iter();
        let own = readers.filter(|reader| reader.owner == self.owner);
        Some(own.map(|reader| reader.reader).collect())
    }
}
