//! Refuses keys and values that a table cannot hold.

use super::{codec::Codec, table_handle::ONE_VALUE};
use crate::{
    Error, Result,
    btree::{TreeRoot, seek_target::SeekTarget},
    page::{key::KeyOrder, max_key_len},
    read::catalog,
};
use std::ops::{Bound, RangeBounds};

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

/// Refuses the target of a seek that the table cannot have.
pub(super) fn check_target(root: &TreeRoot, name: &[u8], target: SeekTarget<'_>) -> Result<()> {
    let (key, value) = target.parts();
    match value {
        Some(_) if !root.is_multi() => {
            return Err(Error::TableMismatch {
                name: catalog::printable(name),
                detail: ONE_VALUE.to_owned(),
            });
        }
        Some(value) => check_value_probe(root, value)?,
        None => {}
    }
    check_probe(root, key)
}

pub(super) type OwnedBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

pub(super) fn encoded_bounds<'k, K: Codec>(
    root: &TreeRoot,
    range: &impl RangeBounds<K::Item<'k>>,
) -> Result<OwnedBounds> {
    let encode = |bound: Bound<&K::Item<'k>>| {
        let bound = bound.map(|key| K::encode(key).as_ref().to_vec());
        if let Bound::Included(key) | Bound::Excluded(key) = &bound {
            check_probe(root, key)?;
        }
        Ok(bound)
    };
    Ok((encode(range.start_bound())?, encode(range.end_bound())?))
}

pub(super) fn as_slices(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
