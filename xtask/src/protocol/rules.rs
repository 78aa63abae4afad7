//! The rules that the model follows, the errors that can be planted in them, and how far it looks.

use clap::ValueEnum;

/// The bounds of the search. Everything within them is searched completely.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchBounds {
    /// Pages of the file, slots not counted.
    pub(super) pages: u8,
    /// Commits in all.
    pub(super) commits: u8,
    /// Kills, power cuts, flushes, entries and records that fail, and caches that drop what such a
    /// flush left, in all.
    pub(super) mishaps: u8,
    /// Readers at a time.
    pub(super) readers: u8,
    /// Entries that the journal has room for; 0 if there is none.
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

/// An error in the rules, each of which the search must find.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Planted {
    /// The target of a running flush is not among the pins
    TargetNotPinned,
    /// The last durable commit is not among the pins, nor the last flushed one
    DurableNotPinned,
    /// The last durable commit is not among the pins where only the journal makes it so
    AcknowledgedNotPinned,
    /// The last flushed commit is not among the pins
    FlushedNotPinned,
    /// The state with which readers begin now is not pinned
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
    /// After a flush counts as durable what was written while it ran
    WritesAfterStartCount,
    /// A flush that failed counts as one that did not
    FailedFlushTrusted,
    /// A durable commit is acknowledged before it is flushed
    AcknowledgedEarly,
    /// A durable commit is published before it is flushed
    PublishedEarly,
    /// A record calls its own transaction durable
    KnownDurableTooHigh,
    /// A record calls flushed what only the journal makes durable
    AcknowledgedCalledFlushed,
    /// A commit is acknowledged when its entry is written to the journal, and not when that is on
    /// the disk
    EntryAcknowledgedEarly,
    /// An entry has the pages of the last commit only, where it stands for several
    EntryOfLastCommit,
    /// A flush does not begin a new chain of entries
    ChainGoesOn,
    /// After a failed flush the records of what is not visible are erased, but that of what is
    /// visible is not written again before
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
    /// Recovery does not look into the journal
    NothingRedone,
    /// Recovery also redoes pages of the journal that had died again
    DeadRedone,
    /// Recovery redoes the record of the journal's last commit before the pages
    RecordRedoneFirst,
    /// Recovery takes pages as redone when those of another commit were
    AnyPagesRedone,
    /// Recovery verifies nothing
    NothingVerified,
    /// Recovery verifies the root and nothing below it
    RootVerifiedAlone,
    /// Recovery does not write again what it read from the cache
    NotWrittenAgain,
    /// Recovery does not look again at what it writes again
    VerifiedOnce,
    /// Recovery looks again at the pages that it writes again, and not at the record
    RecordVerifiedOnce,
    /// Recovery does not flush
    RecoveredUnflushed,
    /// Recovery leaves the records that lost
    LosersLeft,
    /// Recovery leaves the slots that it cannot read
    UnreadableLeft,
}
