//! Preparing a transaction: its state becomes durable, and waits under a name to be decided.
//!
//! A prepared transaction is one commit, of two states. The first is the state that the transaction
//! made, which nobody sees. It gets a name in the list of named snapshots, like a named snapshot.
//! The second is what readers see: the tables of the state that the transaction began with. So the
//! pages of the first state are dead in the second, and the name keeps them. The decision is one
//! more commit: see [`prepared`](crate::write::prepared).
//!
//! The rest is the usual pipeline. Recovery therefore finds either the whole commit or nothing of
//! it, and keeps the pages of both states.

use super::write_tables;
use crate::{
    Error, Result, TransactionId,
    btree::reading::reading,
    clock::now_ms,
    read::{
        named_list::{NamedChange, NamedSnapshot},
        state_key::StateKey,
    },
    record::durability::Durability,
    write::{rollback::forest, transaction::WriteTransaction},
};
use std::sync::Arc;

/// Free pages that the decision finds, besides those for the free-space map: for the path to an
/// entry of the list of named snapshots, twice, since the commit that prepares needs some, too.
const LIST_PAGES: u64 = 32;
/// The length of an entry for a dead extent in the free-space map.
const DEATH_LEN: u64 = 24;

/// Commits a transaction as prepared. Returns the id of the state that the decision may make
/// visible. The name is not checked.
pub(crate) fn prepare(mut txn: WriteTransaction, name: &[u8]) -> Result<TransactionId> {
    let (engine, prepared) = (Arc::clone(&txn.engine), txn.id());
    engine.named(set_aside(&mut txn, name))?;
    txn.commit()?;
    Ok(prepared)
}

/// Gives the state of the transaction a name, and continues from the state that it began with.
fn set_aside(txn: &mut WriteTransaction, name: &[u8]) -> Result<()> {
    refuse_unfit(txn)?;
    txn.set_durability(Durability::Durable);
    if let Some(outermost) = txn.outermost_savepoint() {
        txn.end_savepoint(outermost)?;
    }
    assert!(
        txn.outermost_savepoint().is_none(),
        "nothing of a prepared state can be rolled back"
    );
    write_tables(txn)?;
    // The decision compares the trees of both states, so it must know all of them.
    reading(&txn.pages, || {
        forest(&txn.pages, txn.id(), &txn.catalog).map(drop)
    })?;
    let state = NamedSnapshot {
        transaction: txn.id(),
        time_ms: now_ms(),
        catalog: txn.catalog.encode(),
        marks: txn.marks,
    };
    let replaced = txn.pages.take_deaths();
    let taken = txn.pages.close_extents();
    let taken_count = txn.pages.taken_count();
    reserve(txn, (replaced.len() + taken.len()) as u64)?;
    let taken = taken.into_iter().map(|extent| (extent, state.transaction));
    // Pages that a rollback to a named snapshot would bring back die again in the same commit.
    let revived = txn.named.revived.iter().flatten().copied();
    txn.pages.deaths = taken.chain(revived).collect();
    let mut roots = txn.tables.open.values().filter_map(|table| table.root);
    txn.status.has_special = roots.any(|root| root.is_special());
    txn.tables.open.clear();
    txn.catalog = txn.base.catalog;
    txn.marks = txn.base.record.marks;
    let change = NamedChange::Prepare(StateKey::prepared(name), state, taken_count);
    txn.named.changes.push(change);
    // The visible state is the one after the prepared state.
    txn.commit_count += 1;
    assert!(
        state.transaction.next() == txn.id(),
        "the prepared state and the visible one have two numbers in a row"
    );
    txn.status.is_preparing = true;
    Ok(())
}

/// Refuses what a prepared transaction cannot keep until the decision.
fn refuse_unfit(txn: &WriteTransaction) -> Result<()> {
    txn.engine.refuse_poisoned()?;
    txn.refuse_broken()?;
    let text = if !txn.named.changes.is_empty() {
        "a transaction that changes named snapshots cannot be prepared; do that in another one"
    } else if txn.pages.limits.geometry != txn.pages.writer.newest.geometry {
        "a transaction that sets the geometry cannot be prepared; do that in another one"
    } else {
        return Ok(());
    };
    Err(Error::InvalidArgument(text.into()))
}

/// Makes sure that the decision finds free pages, for `extents` dead extents. Nothing else takes
/// pages before.
fn reserve(txn: &mut WriteTransaction, extents: u64) -> Result<()> {
    let page_size = txn.engine.file.page_size as u64;
    let bitmaps = txn.pages.writer.space.page_count() / (8 * page_size) + 1;
    let deaths = extents * DEATH_LEN / page_size + 1;
    txn.pages.reserve(LIST_PAGES + 4 * (bitmaps + deaths))
}
