//! Changes of a table in which a key has several values, and pairs that it cannot hold.

use super::handle::MultiTable;
use crate::{
    Error, Result,
    api::{key_checks::check_key, sealed::Sealed, transaction::write::WriteTxn},
    btree::{PageSource, TreeRoot, mutable_tree::Tree},
    page::key::KeyOrder,
    write::pages::WritePages,
};

impl<K, V> MultiTable<K, V> {
    /// Changes the table, which must be one in which a key has several values.
    pub(super) fn change<R>(
        &self,
        txn: &mut WriteTxn,
        change: impl FnOnce(&mut Tree<'_, WritePages>) -> Result<R>,
    ) -> Result<R> {
        self.root(txn)?;
        let handle = self.handle(txn);
        txn.inner.change(handle, self.table.name(), change)
    }
}

/// Refuses pairs that a table cannot hold, one after the other.
pub(super) struct PairCheck {
    pub(super) root: TreeRoot,
    pub(super) page_size: usize,
}

impl PairCheck {
    pub(super) fn new<K, V>(table: &MultiTable<K, V>, txn: &WriteTxn) -> Result<Self> {
        Ok(Self {
            root: *table.root(txn)?,
            page_size: txn.source().page_size(),
        })
    }

    /// Refuses a pair. The first one of an empty table decides about others.
    pub(super) fn check(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(&self.root, self.page_size, key)?;
        self.check_value(value)?;
        if self.root.order == KeyOrder::Integer {
            self.root.key_len = key.len() as u16;
        }
        Ok(())
    }

    pub(super) fn check_value(&mut self, value: &[u8]) -> Result<()> {
        self.root.refuse_value(self.page_size, value)?;
        if self.root.kind.first_decides {
            self.root.kind.value_size = value.len() as u16;
        }
        Ok(())
    }
}

/// Refuses a table whose values have no size in common where they are wanted as one slice.
#[cold]
pub(super) fn not_packed() -> Error {
    let text = "values are one behind the other only where all have one size; create the table with `TableOptions::value_size`";
    Error::InvalidArgument(text.into())
}
