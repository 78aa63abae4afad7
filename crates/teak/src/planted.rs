//! Errors planted on purpose, one at a time, so that the campaigns can show that they find such
//! errors.
//!
//! `planted!` is where an error is. Errors of storage (a skipped flush, a write that fails
//! silently) are in the simulated disk, `io/sim.rs`. The others are in the code that would have
//! them. Only builds with the feature `testing` have any: in all others [`is_planted`] is constant,
//! and the compiler removes what depends on it.

/// Declares the errors with their names and what each does.
macro_rules! errors {
    ($($error:ident $name:literal $does:literal)*) => {
        /// An error that can be planted.
        // Without the simulated disk, nothing plants the errors of storage.
        #[cfg_attr(
            not(any(test, feature = "testing")),
            allow(unreachable_pub, dead_code)
        )]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Planted {
            $(
                #[doc = $does]
                $error,
            )*
        }

        #[cfg(any(test, feature = "testing"))]
        impl Planted {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$error),*];

            /// The name of the error.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$error => $name,)*
                }
            }

            /// A description of the effect.
            #[must_use]
            pub fn does(self) -> &'static str {
                match self {
                    $(Self::$error => $does,)*
                }
            }
        }
    };
}

errors! {
    SkipFlush "skip-flush" "A commit counts as durable without a flush."
    JoinFlush "join-flush" "A commit counts as durable after a flush that began before the commit was written."
    DurableIsNewest "durable-is-newest" "A flush makes the newest commit durable instead of its target."
    PublishEarly "publish-early" "Readers see a durable commit before it is durable."
    IgnoreFlushError "ignore-flush-error" "A failed flush counts as a successful one."
    RetryFlush "retry-flush" "A failed flush is retried, and counts if the retry succeeds."
    WriteOn "write-on" "Commits continue after a failed flush."
    FreeDurable "free-durable" "Pages of the last durable and the last flushed commit are reused."
    FreeAcknowledged "free-acknowledged" "Pages of a commit that only the journal makes durable are reused."
    FreeTarget "free-target" "Pages of the target of a running flush are reused."
    SkipDeferred "skip-deferred" "A commit is written before older deferred commits."
    FreeHeld "free-held" "Pages that an older reader sees are reused."
    FreeNamed "free-named" "Pages that only a named snapshot sees are reused."
    FreeDropped "free-dropped" "Pages of a dropped named snapshot are reused before the drop is certain to survive a crash."
    DeferNamed "defer-named" "A commit that creates a named snapshot is deferred, so pages that only the snapshot uses are not written."
    VerifyNoNamed "verify-no-named" "Recovery does not verify named snapshots that may not be on the disk."
    FreePrepared "free-prepared" "Pages of a prepared transaction are reused."
    AdmitWriters "admit-writers" "Other transactions begin while one is prepared."
    ReviveNothing "revive-nothing" "Pages that a rollback to a named snapshot brings back still count as dead."
    FreeEarly "free-early" "Pages are reused one transaction too early."
    FreeOwn "free-own" "A page becomes free as soon as a transaction has copied it."
    SlotOfFlushed "slot-of-flushed" "A record overwrites that of the last flushed commit."
    SlotOfTarget "slot-of-target" "A record overwrites that of the target of a running flush."
    EntryUnsynced "entry-unsynced" "A commit counts as durable when its journal entry is written, before the entry is on the disk."
    EntryOfSome "entry-of-some" "A journal entry for several commits has the pages of the last one only."
    EntryOfNamed "entry-of-named" "A commit that creates a named snapshot is journaled, so pages that only the snapshot uses are missing."
    EntryOfOwn "entry-of-own" "A journal entry omits the pages of another process that committed in between."
    EntryOfOld "entry-of-old" "A journal entry is built against an outdated base after another process flushed."
    AnyEntry "any-entry" "A journal entry counts regardless of the entry before it."
    SharedMemtable "shared-memtable" "Commits go to the memtable while other processes have the database open."
    MemtableUnlogged "memtable-unlogged" "Commits in the memtable have no entry in the log."
    SeeLater "see-later" "A reader of the memtable sees commits after its state."
    LogFollowsAny "log-follows-any" "A durable commit goes to the log though the commits before it in the trees are not on the disk."
    LogUnflushed "log-unflushed" "A durable commit in the log is acknowledged without a flush."
    LogReused "log-reused" "A half of the log is written over though durable commits need it."
    PartUnnamed "part-unnamed" "A merge that stops for a reader does not name the entry in the log."
    LogIgnored "log-ignored" "Recovery ignores the log of the memtable."
    RedoNothing "redo-nothing" "Recovery ignores the journal."
    RedoDead "redo-dead" "Recovery also restores journaled pages that later entries no longer use."
    NoChecksum "no-checksum" "A record counts regardless of its checksum."
    TrustRecord "trust-record" "After a reboot, the newest record is trusted without verifying its pages."
    VerifyRootOnly "verify-root-only" "Recovery verifies only the root page of the catalog."
    VerifyNoValues "verify-no-values" "Recovery does not verify large values."
    VerifyTooLittle "verify-too-little" "The written extents of a record omit pages that a running flush covers."
    KnownTooMuch "known-too-much" "A record names its own commit as flushed."
    WriteNothingAgain "write-nothing-again" "Recovery flushes without rewriting what it found."
    KeepLosers "keep-losers" "Recovery does not erase the records of commits that it rolled back."
    SettleWithoutFlush "settle-without-flush" "Recovery finishes without a flush."
    CloseWithoutFlush "close-without-flush" "A clean close is recorded and the file truncated without a flush."
    AlwaysClean "always-clean" "Every record notes a clean close."
    LoseDeaths "lose-deaths" "Dead pages are not recorded."
    LoseTaken "lose-taken" "Allocated pages are not recorded as allocated."
    IgnoreWriteError "ignore-write-error" "A failed write is ignored."
    HideCode "hide-code" "Every disk error is reported as EIO."
    CutEarly "cut-early" "The file is truncated as soon as the newest commit does not use its end, although a crash may lead back to one that does."
    PunchPending "punch-pending" "Holes are punched into dead pages that some pin sees."
    LocksOfProcess "locks-of-process" "Processes are identified by POSIX locks, which a process loses when anything in it closes the lock file."
    CheckNewest "check-newest" "A check skips named snapshots."
    LazyUnrecorded "lazy-unrecorded" "A lazy commit writes no record."
}

/// Plants an error where it is invoked:
///
/// - `planted!(X)`: whether error X is planted.
/// - `planted!(X => wrong)`: if so, does `wrong`.
/// - `planted!(X => wrong, else right)`: the value `wrong` if so, and otherwise `right`.
macro_rules! planted_error {
    ($error:ident) => {
        $crate::planted::is_planted($crate::planted::Planted::$error)
    };
    ($error:ident => $wrong:expr) => {
        if $crate::planted::is_planted($crate::planted::Planted::$error) {
            $wrong;
        }
    };
    ($error:ident => $wrong:expr, else $right:expr) => {
        match $crate::planted::is_planted($crate::planted::Planted::$error) {
            true => $wrong,
            false => $right,
        }
    };
}

pub(crate) use planted_error as planted;

/// Whether `error` is planted in this process.
#[cfg(not(any(test, feature = "testing")))]
#[inline(always)]
pub(crate) const fn is_planted(_error: Planted) -> bool {
    false
}

#[cfg(any(test, feature = "testing"))]
mod planting {
    use super::Planted;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// One more than the error's number; 0 while there is none.
    static PLANTED: AtomicUsize = AtomicUsize::new(0);

    /// Whether `error` is planted in this process.
    #[inline]
    pub(crate) fn is_planted(error: Planted) -> bool {
        PLANTED.load(Relaxed) == error as usize + 1
    }

    /// The error that is planted in this process.
    #[must_use]
    pub fn planted() -> Option<Planted> {
        let number = PLANTED.load(Relaxed).checked_sub(1)?;
        Planted::ALL.get(number).copied()
    }

    /// Plants an error in this process, for good.
    pub fn set_planted(error: Planted) {
        PLANTED.store(error as usize + 1, Relaxed);
    }
}

#[cfg(any(test, feature = "testing"))]
pub(crate) use planting::is_planted;
#[cfg(any(test, feature = "testing"))]
pub use planting::{planted, set_planted};
