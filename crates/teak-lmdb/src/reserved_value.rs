//! Values whose bytes the client writes after it put the record (`MDB_RESERVE`).

use crate::{
    codes::CallResult,
    compare::ComparisonScope,
    handles::{OpenDatabase, TableHandle},
    read_view::ReadView,
};
use std::sync::Arc;
use teak::WriteTxn;

/// The memory of a value. The client may write to it until the transaction's next change.
#[derive(Debug)]
pub(crate) struct ReservedValue {
    open: Arc<OpenDatabase>,
    key: Vec<u8>,
    /// Not a box, because boxes must not be moved while the client has a pointer to the bytes.
    value: Vec<u8>,
}

impl ReservedValue {
    /// A value, with the bytes of its record.
    pub(crate) fn new(open: &Arc<OpenDatabase>, key: &[u8], value: Vec<u8>) -> Self {
        Self {
            open: Arc::clone(open),
            key: key.to_vec(),
            value,
        }
    }

    pub(crate) fn value(&mut self) -> &mut [u8] {
        &mut self.value
    }

    /// Whether this may be the key of the reserved value.
    pub(crate) fn may_be(&self, open: &OpenDatabase, key: &[u8]) -> bool {
        open.name() == self.open.name()
            && (open.order(ComparisonScope::Keys).is_some() || key == self.key)
    }

    /// Whether the client has changed the bytes since they were stored.
    pub(crate) fn is_changed(&self, txn: &WriteTxn) -> CallResult<bool> {
        let stored = ReadView::Write(txn).get(&self.open.tables, &self.key)?;
        Ok(stored.is_some_and(|stored| stored != self.value))
    }

    /// Stores the bytes that the client has written.
    pub(crate) fn store(&self, txn: &mut WriteTxn) -> teak::Result<()> {
        match &self.open.tables {
            TableHandle::Plain(table) => table.insert(txn, &self.key, &self.value),
            // Nothing else has changed, so it is the only value of its key.
            TableHandle::Multi(table) => table.set_values(txn, &self.key, &[&self.value]).map(drop),
        }
    }
}
