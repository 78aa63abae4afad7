//! Lookups of keys with their values, and of pairs.

use super::KeyValues;
use crate::{
    PageNumber, Result,
    btree::{PageSource, TreeRoot, lookup},
};

/// Returns the values of a key.
pub(crate) fn find<'s, S: PageSource + ?Sized>(
    source: &'s S,
    root: &TreeRoot,
    key: &[u8],
) -> Result<Option<KeyValues<'s>>> {
    match lookup::get(source, root, key)? {
        Some(stored) => {
            let values = KeyValues::of(root, stored);
            values
                .map(Some)
                .map_err(|damage| damage.at(root.page, "lookup"))
        }
        None => Ok(None),
    }
}

/// Whether a pair is present.
pub(crate) fn contains<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    key: &[u8],
    value: &[u8],
) -> Result<bool> {
    let order = root.value_order();
    Ok(match find(source, root, key)? {
        None => false,
        Some(KeyValues::One(one)) => order.stored_to(one, value).is_eq(),
        Some(KeyValues::Set(set)) => set.search(order, value).is_ok(),
        Some(KeyValues::Tree(nested)) => lookup::get(source, &nested, value)?.is_some(),
    })
}

/// Whether a page belongs to the nested tree of a key.
pub(crate) fn is_below_key<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    key: &[u8],
    page: PageNumber,
) -> bool {
    match find(source, root, key) {
        Ok(Some(KeyValues::Tree(nested))) => {
            crate::btree::locate::keys_of(source, &nested, page).is_some()
        }
        _ => false,
    }
}
