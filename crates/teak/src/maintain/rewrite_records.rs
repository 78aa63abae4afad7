//! Writing all commit records again, after what is in each of them has changed.

use crate::{
    Error, Result,
    instance::{dropped_trees::DropBacklog, engine::Engine},
    record::{SLOT_COUNT, durability::Durability},
    write::transaction::WriteTransaction,
};
use std::sync::Arc;

/// Waits for the writer lock, and begins the transaction for [`rewrite_records`].
///
/// # Errors
///
/// [`Error::TransactionPrepared`] while a transaction is prepared: only its decision may be
/// committed.
pub(crate) fn begin_rewrite(engine: &Arc<Engine>) -> Result<WriteTransaction> {
    let writer = engine.try_acquire_writer(None)?;
    let writer = writer.ok_or_else(Error::poisoned)?;
    WriteTransaction::begin_in(engine, writer, DropBacklog::Some)
}

/// Writes a durable commit to each slot. The transaction keeps the writer lock.
pub(crate) fn rewrite_records(txn: &mut WriteTransaction) -> Result<()> {
    for _ in 0..SLOT_COUNT {
        txn.set_durability(Durability::Durable);
        // So it has something to commit.
        txn.status.is_compacting = true;
        txn.checkpoint()?;
    }
    Ok(())
}
