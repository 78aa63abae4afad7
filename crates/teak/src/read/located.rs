//! Adds the location to errors that come from a tree. A tree knows neither the name of its table
//! nor the key range of a damaged page.

use crate::read::catalog::printable;
use crate::{
    Error, KeyRange, PageNumber, Result,
    btree::{PageSource, TreeRoot, locate, lookup, multi, reading::reading_twice},
};

/// Adds table and keys to an error that names a damaged page. `key` is the key of the search, if
/// there was one: a large value can only be located in the tree by its key.
#[cold]
pub(crate) fn located<S: PageSource + ?Sized>(
    error: Error,
    source: &S,
    root: &TreeRoot,
    name: &[u8],
    key: Option<&[u8]>,
) -> Error {
    match error {
        Error::Corrupted {
            page,
            detail,
            detected_by,
            table: None,
            keys: None,
        } => Error::Corrupted {
            page,
            detail,
            detected_by,
            table: Some(printable(name)),
            keys: keys_at(source, root, page, key).map(Box::new),
        },
        error => error,
    }
}

/// Looks up the value of a record. An error names the table and the keys.
pub(crate) fn find_located<'s, S: PageSource>(
    source: &'s S,
    root: &TreeRoot,
    name: &[u8],
    key: &[u8],
) -> Result<Option<&'s [u8]>> {
    let found = reading_twice(source, || match lookup::get(source, root, key)? {
        Some(value) => lookup::load(source, root.page, value).map(Some),
        None => Ok(None),
    });
    found.map_err(|error| located(error, source, root, name, Some(key)))
}

/// The key range of a page, or the key whose large value begins there.
fn keys_at<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    page: PageNumber,
    key: Option<&[u8]>,
) -> Option<KeyRange> {
    locate::keys_of(source, root, page).or_else(|| {
        key.filter(|key| {
            has_value_at(source, root, key, page) || is_nested(source, root, key, page)
        })
        .map(KeyRange::single)
    })
}

/// Whether the page belongs to the nested tree that holds the values of a key.
fn is_nested<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    key: &[u8],
    page: PageNumber,
) -> bool {
    root.is_multi() && multi::lookup::is_below_key(source, root, key, page)
}

/// Whether a key has a large value that begins on this page.
fn has_value_at<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    key: &[u8],
    page: PageNumber,
) -> bool {
    let extent = lookup::get(source, root, key)
        .ok()
        .flatten()
        .and_then(|value| value.as_extent().ok().flatten());
    extent.is_some_and(|extent| extent.start == page)
}
