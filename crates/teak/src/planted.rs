//! Errors planted on purpose, one at a time, so that the campaigns can show that they find such
//! errors.
//!
//! `planted!` is where an error is. Errors of storage (a flush that is skipped, a write that fails
//! in silence) are in the simulated disk, `io/sim.rs`. The others are in the code that would have
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

            /// What it is called.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$error => $name,)*
                }
            }

            /// What it does, in words.
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
    JoinFlush "join-flush" "A commit counts as durable when a flush is over that began before it was written."
    DurableIsNewest "durable-is-newest" "A flush makes the newest commit count as durable, not the one it began with."
    PublishEarly "publish-early" "Readers see a durable commit before it is durable."
    IgnoreFlushError "ignore-flush-error" "A flush that fails counts as one that succeeded."
    RetryFlush "retry-flush" "A flush that fails is tried again, and counts if it succeeds then."
    WriteOn "write-on" "After a flush that failed the next commits go on."
    FreeDurable "free-durable" "Pages of the last durable commit are used again."
    FreeAcknowledged "free-acknowledged" "Pages of a commit that only the journal makes durable are used again."
    FreeTarget "free-target" "Pages of the commit that a flush is making durable are used again."
    SkipDeferred "skip-deferred" "A commit is written before those that were deferred."
    FreeHeld "free-held" "Pages that an older reader sees are used again."
    FreeNamed "free-named" "Pages that only a named snapshot sees are used again."
    FreeDropped "free-dropped" "Pages of a named snapshot are used again as soon as it is dropped, although a crash may lead back to where it was not."
    DeferNamed "defer-named" "A commit that names its state is deferred, and of its pages only those are written that later ones still use."
    VerifyNoNamed "verify-no-named" "Recovery does not look at named snapshots that may not be on the disk."
    ReviveNothing "revive-nothing" "The pages that a rollback to a named snapshot brings back still count as dead."
    FreeEarly "free-early" "Pages are used again one transaction too early."
    FreeOwn "free-own" "A page that a transaction copies is free at once."
    SlotOfDurable "slot-of-durable" "A record is written over that of the last durable commit."
    SlotOfTarget "slot-of-target" "A record is written over that of the commit that a flush is making durable."
    EntryUnsynced "entry-unsynced" "A commit counts as durable when its entry is written to the journal, and not when that is on the disk."
    EntryOfSome "entry-of-some" "An entry of the journal has the pages of the last commit only, where it stands for several."
    EntryOfNamed "entry-of-named" "A commit that names its state is noted in the journal, which has only pages that later ones still use."
    EntryOfOwn "entry-of-own" "An entry of the journal has the pages of one process only, where another one has committed between its commits."
    EntryOfOld "entry-of-old" "An entry of the journal is made of what is new behind an older commit than the last durable one, since another process has flushed."
    AnyEntry "any-entry" "An entry of the journal counts whatever came before it."
    RedoNothing "redo-nothing" "Recovery does not look into the journal."
    RedoDead "redo-dead" "Recovery also puts pages of the journal into the file that had died again."
    NoChecksum "no-checksum" "A record counts whatever its checksum is."
    TrustRecord "trust-record" "The newest record counts in another boot of the machine, its pages unseen."
    VerifyRootOnly "verify-root-only" "Recovery looks at the root page of the catalog only."
    VerifyNoValues "verify-no-values" "Recovery does not look at large values."
    VerifyTooLittle "verify-too-little" "Records do not list what a flush under way has still to bring to the disk."
    KnownTooMuch "known-too-much" "A record says of its own commit that it is durable."
    WriteNothingAgain "write-nothing-again" "Recovery flushes what it found, and writes none of it again."
    KeepLosers "keep-losers" "Recovery leaves the records of commits that it rolled back."
    SettleWithoutFlush "settle-without-flush" "Recovery goes on without a flush."
    CloseWithoutFlush "close-without-flush" "A clean close notes itself without a flush, and cuts the file."
    AlwaysClean "always-clean" "Every record says that the database was closed."
    LoseDeaths "lose-deaths" "Pages that died are forgotten."
    LoseTaken "lose-taken" "Pages that a transaction took are not noted as taken."
    IgnoreWriteError "ignore-write-error" "A write that fails is passed over."
    HideCode "hide-code" "Every error of the disk is called EIO."
    CutEarly "cut-early" "The file is cut as soon as a commit has no use for its end, although a crash may lead back to one that has."
    PunchPending "punch-pending" "Blocks of dead pages are given back that some pin sees."
    LocksOfProcess "locks-of-process" "Processes know each other by POSIX locks, which a process loses when anything in it closes the lock file."
    CheckNewest "check-newest" "A check does not look at named states."
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
    pub fn plant(error: Planted) {
        PLANTED.store(error as usize + 1, Relaxed);
    }
}

#[cfg(any(test, feature = "testing"))]
pub(crate) use planting::is_planted;
#[cfg(any(test, feature = "testing"))]
pub use planting::{plant, planted};
