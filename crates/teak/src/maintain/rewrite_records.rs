//! Writing all commit records again, after what is in each of them has changed.

use crate::{
    Result,
    instance::engine::Engine,
    record::{SLOT_COUNT, durability::Durability},
    write::transaction::WriteTransaction,
};
use std::sync::Arc;

/// Writes a durable commit to each slot.
pub(crate) fn rewrite_records(engine: &Arc<Engine>) -> Result<()> {
    for _ in 0..SLOT_COUNT {
        let begun = WriteTransaction::begin_within(engine, None, None)?;
        let mut txn = begun.expect("without a limit the lock is always acquired");
        txn.set_durability(Durability::Durable);
        // So it has something to commit.
        txn.status.is_compacting = true;
        txn.commit()?;
    }
    Ok(())
}
