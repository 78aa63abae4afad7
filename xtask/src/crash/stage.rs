//! Steps of an episode, and their commits.

use teak::{Database, Durability, Transaction, WriteTxn};

/// The kinds of commits that an episode makes.
pub(super) const MODES: &[Durability] = &[Durability::Durable, Durability::Async, Durability::Lazy];

/// A commit that returned.
pub(super) struct ReturnedCommit {
    /// Whether it made a new state.
    pub(super) is_new: bool,
    /// The result of its ticket, if it is asynchronous.
    pub(super) flushed: teak::Result<()>,
}

/// Commits, and waits for the ticket of an asynchronous commit. Otherwise the order of the flush
/// and the next steps would be random.
pub(super) fn commit_and_wait(
    database: &Database,
    mut txn: WriteTxn,
    mode: Durability,
) -> teak::Result<ReturnedCommit> {
    let id = txn.id();
    txn.set_durability(mode);
    let committed = txn.commit()?;
    let flushed = match mode {
        Durability::Async => database.ticket(committed)?.wait(),
        _ => Ok(()),
    };
    Ok(ReturnedCommit {
        is_new: committed == id,
        flushed,
    })
}
