//! Refuses keys and values that a table cannot hold.

use super::{
    kind::Kind,
    sealed::Sealed as _,
    table_handle::{Table, wrong_kind},
    transaction::write::WriteTxn,
};
use crate::{
    Error, Result,
    btree::{PageSource, TableClass, TreeRoot},
    page::{key::KeyOrder, max_key_len},
};

/// Refuses keys that the table cannot hold.
pub(super) fn check_key(root: &TreeRoot, page_size: usize, key: &[u8]) -> Result<()> {
    let max = max_key_len(page_size);
    if key.len() > max {
        return Err(Error::KeyTooLong {
            len: key.len(),
            max,
        });
    }
    if root.order != KeyOrder::Integer {
        return Ok(());
    }
    let is_possible = match root.key_len {
        0 => matches!(key.len(), 4 | 8),
        len => usize::from(len) == key.len(),
    };
    if is_possible {
        return Ok(());
    }
    Err(wrong_integer(root, key))
}

#[cold]
fn wrong_integer(root: &TreeRoot, key: &[u8]) -> Error {
    let expected = match root.key_len {
        0 => "4 or 8".to_owned(),
        len => len.to_string(),
    };
    let len = key.len();
    Error::InvalidArgument(format!(
        "keys of this table are integers of {expected} bytes; this one has {len}"
    ))
}

/// Refuses a search key that cannot be among the keys of the table: an integer of another length.
pub(super) fn check_probe(root: &TreeRoot, key: &[u8]) -> Result<()> {
    if root.order != KeyOrder::Integer || root.is_empty() || key.len() == usize::from(root.key_len)
    {
        return Ok(());
    }
    Err(wrong_integer(root, key))
}

/// Refuses a search value that cannot be among the values of a key in a multi-value table.
pub(super) fn check_value_probe(root: &TreeRoot, value: &[u8]) -> Result<()> {
    let size = usize::from(root.kind.value_size);
    if root.value_order() != KeyOrder::Integer || size == 0 || value.len() == size {
        return Ok(());
    }
    let len = value.len();
    let text = format!("values of this table are integers of {size} bytes; this one has {len}");
    Err(Error::InvalidArgument(text))
}

/// Refuses a key, or a value of a key, that the table cannot have: the target of a seek, or a bound
/// of a range.
pub(super) fn check_probes(
    root: &TreeRoot,
    name: &[u8],
    (key, value): (&[u8], Option<&[u8]>),
) -> Result<()> {
    match value {
        Some(_) if !root.is_multi() => {
            return Err(wrong_kind(name, root.kind.class, TableClass::Multi));
        }
        Some(value) => check_value_probe(root, value)?,
        None => {}
    }
    check_probe(root, key)
}

/// Refuses records that a table cannot hold; they are passed one after the other.
pub(super) struct RecordCheck {
    pub(super) root: TreeRoot,
    page_size: usize,
}

impl RecordCheck {
    pub(super) fn new<K, V, M: Kind>(table: &Table<K, V, M>, txn: &WriteTxn) -> Result<Self> {
        Ok(Self {
            root: *table.root(txn)?,
            page_size: txn.source().page_size(),
        })
    }

    /// Refuses a record. The first one of an empty table fixes the sizes of later ones.
    #[inline]
    pub(super) fn check(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(&self.root, self.page_size, key)?;
        if self.root.is_multi() {
            self.check_value(value)?;
        }
        if self.root.order == KeyOrder::Integer {
            self.root.key_len = key.len() as u16;
        }
        Ok(())
    }

    fn check_value(&mut self, value: &[u8]) -> Result<()> {
        self.root.refuse_value(self.page_size, value)?;
        if self.root.kind.first_decides {
            self.root.kind.value_size = value.len() as u16;
        }
        Ok(())
    }
}
