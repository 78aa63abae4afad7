//! The rules of the model, the errors that can be planted in them, and the bounds of the search.

use clap::ValueEnum;

/// The bounds of the search. All states within them are searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchBounds {
    /// Number of pages of the file, without slots.
    pub(super) pages: u8,
    /// Number of commits.
    pub(super) commits: u8,
    /// Number of kills, power cuts, failing flushes, entries and records, and cache drops after a
    /// failed flush.
    pub(super) mishaps: u8,
    /// Maximum number of open readers.
    pub(super) readers: u8,
    /// Number of entries that the journal has room for; 0 if there is none.
    pub(super) entries: u8,
}

/// The rules of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) planted: Option<Planted>,
    pub(super) bounds: SearchBounds,
}

impl Rules {
    pub(super) fn has(&self, planted: Planted) -> bool {
        self.planted == Some(planted)
    }
}

/// An error in the rules. The search must find each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Planted {
    /// The target of a running flush is not among the pins
    TargetNotPinned,
    /// The last durable commit is not among the pins, nor the last flushed one
    DurableNotPinned,
    /// The last durable commit is not among the pins if only the journal makes it durable
    AcknowledgedNotPinned,
    /// The last flushed commit is not among the pins
    FlushedNotPinned,
    /// The state for new readers is not pinned
    PublishedNotPinned,
    /// Readers are not among the pins
    ReadersNotPinned,
    /// Pages that the newest commit replaced are free at once, regardless of pins
    DeathsFreeEarly,
    /// A record may go to the slot of the newest one
    NewestSlotTaken,
    /// A record may go to the slot of the last flushed one
    FlushedSlotTaken,
    /// A record may go to the slot of the one that a running flush makes durable
    TargetSlotTaken,
    /// After a flush, commits that were written while it ran count as durable
    WritesAfterStartCount,
    /// A failed flush counts as successful
    FailedFlushTrusted,
    /// A durable commit is acknowledged before it is flushed
    AcknowledgedEarly,
    /// A durable commit is published before it is flushed
    PublishedEarly,
    /// A record marks its own transaction as durable
    KnownDurableTooHigh,
    /// A record marks a commit as flushed that only the journal makes durable
    AcknowledgedCalledFlushed,
    /// A commit is acknowledged when its entry is written to the journal, and not when the entry is
    /// on the disk
    EntryAcknowledgedEarly,
    /// An entry has only the pages of the last commit, although it stands for several
    EntryOfLastCommit,
    /// A flush does not begin a new chain of entries
    ChainGoesOn,
    /// After a failed flush, the records of invisible commits are erased, but that of the visible
    /// one is not rewritten before
    ErasedFirst,
    /// When a record cannot be written, invisible commits are undone at once, even during a flush
    /// that may make a part of it durable
    TakenBackEarly,
    /// The mark of a clean close is written without a flush before it
    ClosedUnflushed,
    /// The mark of a clean close is written while only the journal makes the newest commit durable
    ClosedJournaled,
    /// The record of a clean close counts as durable when it is found, whether or not its flush
    /// was completed
    CloseTrusted,
    /// A clean close in the newest record is trusted although some slots cannot be read
    CloseNotSettled,
    /// Any entry of the journal counts, regardless of its predecessor
    AnyEntryCounts,
    /// Recovery ignores the journal
    NothingRedone,
    /// Recovery also redoes pages of the journal that had been freed again
    DeadRedone,
    /// Recovery redoes the record of the journal's last commit before the pages
    RecordRedoneFirst,
    /// Recovery counts pages as redone when those of another commit were
    AnyPagesRedone,
    /// Recovery verifies nothing
    NothingVerified,
    /// Recovery verifies only the root
    RootVerifiedAlone,
    /// Recovery does not rewrite what it read from the cache
    NotWrittenAgain,
    /// Recovery does not check again what it rewrites
    VerifiedOnce,
    /// Recovery checks the pages again that it rewrites, but not the record
    RecordVerifiedOnce,
    /// Recovery does not flush
    RecoveredUnflushed,
    /// Recovery keeps the losing records
    LosersLeft,
    /// Recovery keeps the slots that it cannot read
    UnreadableLeft,
}
