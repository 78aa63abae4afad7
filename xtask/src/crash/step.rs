//! The steps of episodes.

use teak::Durability;

/// One step of an episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CrashStep {
    Put(usize),
    Large,
    /// Removes this share of a table's records, in percent.
    Delete(u32),
    DropTable,
    Nested,
    Savepoints,
    Abort,
    Commit(Durability),
    /// Makes this many small commits.
    CommitSmall(Durability, usize),
    Sync,
    /// Makes many commits, which grow the file.
    Grow,
    /// Deletes almost all records and closes, which truncates the file.
    Shrink,
    /// Compacts: moves pages and truncates the file.
    Compact,
    Reopen,
    Kill,
    BeginReader,
    EndReader,
    /// Names the state of the open transaction, drops a name, or rolls back to a named state.
    CreateSnapshot,
    DropSnapshot,
    RollBack,
    /// Prepares a transaction, or decides about it.
    Prepare,
    Decide,
    /// Inserts so many records that expire, removes expired ones, or moves the clock by up to so
    /// many milliseconds.
    PutExpiring(usize),
    RemoveExpired,
    Tick(u64),
    /// Lets a call to the disk fail soon.
    Fault,
    /// Another process takes over, attaches, leaves, or dies in one of its next calls to the disk.
    /// `DieAll` kills all processes.
    SwitchProcess,
    Join,
    Leave,
    /// Another process flushes the commits of this one, which then continues.
    SyncElsewhere,
    Die(u64),
    DieAll,
}

/// The letters of the short sequences.
pub(super) const ALPHABET: [CrashStep; 18] = [
    CrashStep::Put(5),
    CrashStep::Delete(20),
    CrashStep::Large,
    CrashStep::DropTable,
    CrashStep::Abort,
    CrashStep::Nested,
    CrashStep::Commit(Durability::Durable),
    CrashStep::Commit(Durability::Lazy),
    CrashStep::Sync,
    CrashStep::Grow,
    CrashStep::Shrink,
    CrashStep::Compact,
    CrashStep::Reopen,
    CrashStep::CreateSnapshot,
    CrashStep::DropSnapshot,
    CrashStep::RollBack,
    CrashStep::Prepare,
    CrashStep::Decide,
];
