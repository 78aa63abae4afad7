//! The rules of the memtable's model, the errors that can be planted in them, and the bounds.

use clap::ValueEnum;

/// The bounds of the search. All states within them are searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogBounds {
    /// Number of commits.
    pub(super) commits: u8,
    /// Number of kills, power cuts, and failed flushes.
    pub(super) mishaps: u8,
    /// Number of closings, attaching processes, and merges that fail.
    pub(super) events: u8,
    /// Number of readers that a merge has to stop for.
    pub(super) readers: u8,
    /// Number of entries that a half of the log has room for.
    pub(super) room: u8,
    /// How durable commits get into the log.
    pub(super) writing: LogWriting,
}

/// How durable commits get into the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum LogWriting {
    /// By a write to the system's cache when they are added
    Cached,
    /// By their flush, which writes them to the disk; until then they are in memory only
    Direct,
}

/// The rules of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogRules {
    pub(super) planted: Option<PlantedInLog>,
    pub(super) bounds: LogBounds,
}

impl LogRules {
    pub(super) fn has(&self, planted: PlantedInLog) -> bool {
        self.planted == Some(planted)
    }

    pub(super) fn is_direct(&self) -> bool {
        self.bounds.writing == LogWriting::Direct
    }
}

/// An error in the rules. The search must find each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum PlantedInLog {
    /// A durable commit goes to the log though the commit that the log follows is not durable
    FollowsAny,
    /// A log begins after a commit that readers do not see
    FollowsHidden,
    /// A merge continues in the other half although durable commits need it
    HalfReused,
    /// The empty memtable begins a half again although durable commits need the log
    LogBegunAgain,
    /// A durable commit is acknowledged without a flush of the log
    FlushSkipped,
    /// A flush of the log counts for durable commits that were added while it ran
    FlushCountsLater,
    /// A failed flush of the log counts as successful
    FailedLogFlushTrusted,
    /// After a failed flush, entries that no reader has seen stay in the log
    EntriesNotErased,
    /// The name of the log is not flushed before the first durable commit
    NameNotFlushed,
    /// Readers see a durable commit when it is added
    UnflushedSeen,
    /// The record of a merge does not name the last entry
    MergeUnnamed,
    /// The record of a part of a merge, which stops for a reader, does not name its last entry
    PartUnnamed,
    /// A merge does not stop at the state of a reader, and names the entry of that state
    PartNamesEarlier,
    /// A merge with durable commits is lazy, so that a close may leave it unflushed
    DurableMergeLazy,
    /// Another process attaches, and commits, before the memtable is merged
    AttachedUnmerged,
    /// Recovery ignores the log
    LogIgnored,
    /// Recovery removes the log before its merge is durable
    LeftRemovedEarly,
    /// Recovery does not merge the log before it removes it
    LeftNotMerged,
    /// The entries of a half count after any commit
    AnyPredecessor,
    /// The other half continues any half
    AnyHalfContinues,
    /// The checksum of an entry does not cover the one before
    ChainUnchecked,
    /// A half whose header cannot be read counts after the newest commit
    LostHeaderAccepted,
    /// Recovery reads only the half that follows the newest commit
    OneHalfRead,
    /// The removal of a log is not flushed, so that a power cut may bring it back
    RemovalUnflushed,
    /// A lazy commit is acknowledged while earlier entries are in memory only
    LazyAfterUnwritten,
    /// Readers see a merge when it begins, although its entries are in memory only
    UnwrittenMergeSeen,
    /// A merge forgets entries that were never written when its record is written
    UnwrittenForgotten,
    /// Entries that were never written, and are durable in the trees, are forgotten although later
    /// ones of their half are chained to them
    ChainForgotten,
    /// A half is written over while a flush writes earlier entries to it
    ReusedInFlight,
}

impl PlantedInLog {
    /// How durable commits get into the log for the error to matter.
    pub(super) fn writing(self) -> LogWriting {
        match self {
            Self::LazyAfterUnwritten
            | Self::UnwrittenMergeSeen
            | Self::UnwrittenForgotten
            | Self::ChainForgotten
            | Self::ReusedInFlight => LogWriting::Direct,
            _ => LogWriting::Cached,
        }
    }
}
