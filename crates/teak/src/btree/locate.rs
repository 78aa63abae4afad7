//! Finds the key range of a page, for messages, when the page itself may be damaged. Only inner
//! pages are read, and nothing in them is trusted.

use super::{PageSource, TreeRoot, enter, visit_inner};
use crate::{Checksum, KeyRange, PageNumber, page::inner::Inner};
use std::collections::HashSet;

/// The maximum number of inner pages that are read, so that an error does not take minutes.
const INNER_PAGES_MAX: usize = 1 << 16;

struct Search<'s, S: ?Sized> {
    source: &'s S,
    wanted: PageNumber,
    /// Each page is entered once: in a damaged tree it may have many parents.
    entered: HashSet<PageNumber>,
}

/// The range of the keys in or below a page; `None` if no inner page leads to it.
pub(crate) fn keys_of<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    page: PageNumber,
) -> Option<KeyRange> {
    if root.is_empty() {
        return None;
    }
    let all = KeyRange::default();
    if root.page == page {
        return Some(all);
    }
    let mut search = Search {
        source,
        wanted: page,
        entered: HashSet::new(),
    };
    search.below(root.page, root.checksum, root.depth - 1, &all)
}

impl<S: PageSource + ?Sized> Search<'_, S> {
    fn below(
        &mut self,
        number: PageNumber,
        checksum: Checksum,
        level: u8,
        keys: &KeyRange,
    ) -> Option<KeyRange> {
        let is_new = level > 0 && self.entered.insert(number);
        if !is_new || self.entered.len() > INNER_PAGES_MAX {
            return None;
        }
        enter::page(self.source, number, checksum, "search").ok()?;
        let inner = visit_inner(self.source, number, level, "search").ok()?;
        let children = 0..inner.count();
        if let Some(index) = children
            .clone()
            .find(|i| inner.child(*i) == Ok(self.wanted))
        {
            return Some(keys_of_child(&inner, index, keys));
        }
        children.into_iter().find_map(|index| {
            let (child, checksum) = (inner.child(index).ok()?, inner.checksum(index).ok()?);
            let keys = keys_of_child(&inner, index, keys);
            self.below(child, checksum, level - 1, &keys)
        })
    }
}

/// The keys between the separators around a child.
fn keys_of_child(inner: &Inner<'_>, index: usize, keys: &KeyRange) -> KeyRange {
    let separator = |index| inner.separator(index).ok();
    KeyRange {
        low: match index {
            0 => keys.low.clone(),
            _ => separator(index),
        },
        high: match index + 1 {
            next if next < inner.count() => separator(next),
            _ => keys.high.clone(),
        },
    }
}
