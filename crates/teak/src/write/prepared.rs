//! The decision about a prepared transaction, and writers that wait for it.
//!
//! While a transaction is prepared, no other one begins to write. So the state that readers see is
//! the one that it was prepared on, with the next transaction's number, until the decision:
//!
//! - *Commit*: a transaction that continues from the prepared state, as a rollback to a named
//!   snapshot does, and drops its name.
//! - *Rollback*: a transaction that drops the name. The pages of the prepared state become free
//!   like those of a dropped snapshot.

use crate::{Error, Result, TransactionId};
use crate::{
    instance::engine::Engine,
    observe::trace::{TraceOrigin, WriteSpans},
    planted::planted,
    read::{
        catalog::printable,
        named_list::{NamedChange, NamedPins},
        state_key::StateKey,
    },
    record::durability::Durability,
    write::transaction::WriteTransaction,
};
use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// How long a writer waits for a decision before it checks without a notification.
const RECHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A prepared transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PreparedInfo {
    /// The name.
    pub name: Vec<u8>,
    /// The id that the transaction had when it was prepared. The commit that decides about it has a
    /// later one.
    pub transaction: TransactionId,
    /// When it was prepared.
    pub time: SystemTime,
    /// Number of pages that it wrote.
    pub changed_pages: u64,
    /// The size of these pages in bytes.
    pub changed_bytes: u64,
}

/// How a prepared transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PreparedEnd {
    Commit,
    RollBack,
}

/// Commits or rolls back a prepared transaction, durably. Returns the id of the new state.
pub(crate) fn decide(engine: &Arc<Engine>, name: &[u8], end: PreparedEnd) -> Result<TransactionId> {
    engine.refuse_unwritable()?;
    let key = StateKey::prepared(name);
    // A wrong name is refused without waiting for writers.
    engine.begin_read()?.named(&key)?;
    let writer = engine.try_acquire_writer(None)?;
    let writer = writer.ok_or_else(Error::poisoned)?;
    let mut txn = WriteTransaction::begin_merged(engine, writer)?;
    txn.timing.spans = WriteSpans::begun(&engine.file.path, TraceOrigin::now());
    // Another process may have decided meanwhile.
    let state = txn.find_listed(&key)?;
    if end == PreparedEnd::Commit {
        engine.named(txn.continue_from(&state))?;
        txn.marks = state.marks;
    }
    assert!(
        txn.named.changes.is_empty(),
        "a decision changes nothing else in the list"
    );
    txn.named.changes.push(NamedChange::Drop(key, state));
    txn.status.is_deciding = true;
    assert!(
        state.transaction < txn.id(),
        "a decision is later than the transaction that it is about"
    );
    txn.set_durability(Durability::Durable);
    txn.commit()
}

/// All prepared transactions.
pub(crate) fn prepared(engine: &Arc<Engine>) -> Result<Vec<PreparedInfo>> {
    let page_size = engine.file.page_size as u64;
    let all = engine.begin_read()?.all_prepared()?.into_iter();
    let info = all.map(|(key, state, pages)| PreparedInfo {
        name: key.name().to_vec(),
        transaction: state.transaction,
        time: UNIX_EPOCH + Duration::from_millis(state.time_ms),
        changed_pages: pages,
        changed_bytes: pages.saturating_mul(page_size),
    });
    Ok(info.collect())
}

/// Refuses to begin while a transaction is prepared.
pub(crate) fn refuse_prepared(named: &NamedPins) -> Result<()> {
    match named.prepared.first() {
        None => Ok(()),
        Some(_) if planted!(AdmitWriters) => Ok(()),
        Some(key) => Err(Error::TransactionPrepared {
            name: printable(key.name()),
        }),
    }
}

/// Begins to write, and waits up to `limit` while a transaction is prepared. `begin` gets what is
/// left of the limit.
///
/// # Errors
///
/// [`Error::TransactionPrepared`] if it is not decided in time.
pub(crate) fn begin_when_decided<T>(
    engine: &Engine,
    limit: Option<Duration>,
    mut begin: impl FnMut(Option<Duration>) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let until = limit.and_then(|limit| Instant::now().checked_add(limit));
    match begin(limit) {
        Err(Error::TransactionPrepared { .. }) if limit != Some(Duration::ZERO) => {}
        begun => return begun,
    }
    let published = &engine.committer.published;
    loop {
        // The decision is a later commit.
        let after = published.visible();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        match begin(left) {
            Err(Error::TransactionPrepared { .. }) if left != Some(Duration::ZERO) => {}
            begun => return begun,
        }
        let patience = left.map_or(RECHECK_INTERVAL, |left| left.min(RECHECK_INTERVAL));
        let is_over = || published.visible() > after || engine.refuse_unwritable().is_err();
        published.notifier.wait(patience, is_over);
    }
}
