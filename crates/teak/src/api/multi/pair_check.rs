//! Changes of a multi-value table, and the check for pairs that it cannot hold.

use super::handle::MultiTable;
use crate::{
    Error, Result,
    api::{key_checks::check_key, sealed::Sealed, transaction::write::WriteTxn},
    btree::{PageSource, TreeRoot, mutable_tree::Tree},
    page::key::KeyOrder,
    write::pages::WritePages,
};

impl<K, V> MultiTable<K, V> {
    /// Changes the table, which must be a multi-value table.
    pub(super) fn change<R>(
        &self,
        txn: &mut WriteTxn,
        change: impl FnOnce(&mut Tree<'_, WritePages>) -> Result<R>,
    ) -> Result<R> {
        self.root(txn)?;
        self.table.change(txn, change)
    }
}

/// Refuses pairs that a table cannot hold; pairs are passed one after the other.
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

    /// Refuses a pair. The first pair of an empty table fixes the sizes of later ones.
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

/// The error for a table whose values have no fixed size, where they are requested as one slice.
#[cold]
pub(super) fn not_packed() -> Error {
    let text = "values are packed only in tables whose values all have one size; create the table with `TableOptions::value_size`";
    Error::InvalidArgument(text.into())
}
