//! What an error lacks when it comes from a tree, which knows neither the name of its table nor, at the
//! page concerned, whose keys these are.

use crate::read::catalog::printable;
use crate::{
    Error, KeyRange, PageNumber,
    btree::{PageSource, TreeRoot, locate, lookup, multi},
};

/// Adds table and keys to an error that names a damaged page. `key` is what was looked for, if it was one
/// key: a large value has no place in the tree but that.
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

/// The keys of a page, or the key whose large value begins there.
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

/// Whether the page belongs to the nested tree that has the values of a key.
fn is_nested<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    key: &[u8],
    page: PageNumber,
) -> bool {
    root.is_multi() && multi::lookup::is_below_key(source, root, key, page)
}

/// Whether the value of a key is a large one that begins on this page.
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
