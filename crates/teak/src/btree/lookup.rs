//! Lookups of one key, or of many together.
//!
//! Many keys descend the tree together, a level at a time. While the page of one key is searched,
//! the pages of the others are being loaded into the cache, so the waits overlap instead of adding
//! up.

use super::{PageSource, TreeRoot, enter, require_fixed_leaf, visit_inner, visit_leaf};
use crate::{
    PageNumber, Result,
    io::{prefetch, prefetch_lines},
    page::{
        PageDamage,
        header::{Header, PageKind},
        inner,
        leaf::{Leaf, LeafMatch},
        value::{StoredValue, ValueKind},
    },
};
use std::time::Instant;

/// Keys that descend together: enough to hide the memory latency, few enough for the memory
/// system's buffers.
const GROUP: usize = 32;
/// Cache lines at the start of a leaf that hold its header, heads and offsets, or most of them.
const LEAF_LINES: usize = 4;
/// Cache lines at the start of an inner page that hold its header and heads.
const INNER_LINES: usize = 14;
/// How many of these lines are prefetched if many keys descend together, which keeps more pages in
/// the cache.
const INNER_LINES_TOGETHER: usize = 8;
/// Cache lines of a node, for one of ordinary size.
const NODE_LINES: usize = 2;

/// Finds the leaf that contains `key` if the tree has it. The tree must not be empty.
#[inline]
pub(super) fn find_leaf<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    key: &[u8],
) -> Result<PageNumber> {
    let mut number = enter::root(source, root, "lookup")?;
    for level in (1..root.depth).rev() {
        number = child_for(source, root, number, level, key)?;
        prefetch_start(source, number, level - 1);
    }
    Ok(number)
}

/// Prefetches the cache lines that a search of a page on `level` may read. A search over heads
/// waits for each line before it knows the next; prefetched together, they arrive together.
#[inline]
pub(super) fn prefetch_start<S: PageSource + ?Sized>(source: &S, number: PageNumber, level: u8) {
    let lines = if level == 0 { LEAF_LINES } else { INNER_LINES };
    source.prefetch(number, 0, lines);
}

#[inline]
fn child_for<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    number: PageNumber,
    level: u8,
    key: &[u8],
) -> Result<PageNumber> {
    let inner = visit_inner(source, number, level, "lookup")?;
    let index = inner
        .search(root.order, key)
        .map_err(|damage| damage.at(number, "lookup"))?;
    enter::child(source, &inner, number, index, "lookup")
}

/// Returns the value of `key`, as its leaf holds it.
#[inline]
pub(crate) fn get<'s, S: PageSource + ?Sized>(
    source: &'s S,
    root: &TreeRoot,
    key: &[u8],
) -> Result<Option<StoredValue<'s>>> {
    if root.is_empty() {
        return Ok(None);
    }
    let number = find_leaf(source, root, key)?;
    get_in_leaf(source, root, number, key)
}

/// The leaf where a lookup ended, and the index of the record after the one that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LookupEnd {
    pub(crate) leaf: PageNumber,
    pub(crate) next: usize,
}

/// Like [`get`], but looks first where an earlier lookup in this tree ended. Returns too where this
/// one ended; `None` if the tree is empty.
#[inline]
pub(crate) fn get_with_hint<'s, S: PageSource + ?Sized>(
    source: &'s S,
    root: &TreeRoot,
    hint: Option<LookupEnd>,
    key: &[u8],
) -> Result<(Option<StoredValue<'s>>, Option<LookupEnd>)> {
    if root.is_empty() {
        return Ok((None, None));
    }
    // A page to be verified each time is entered from its parent, which has its checksum.
    if let Some(hint) = hint.filter(|hint| !source.needs_check(hint.leaf)) {
        let found = get_at(source, root, hint, key);
        if let Some((value, next)) = found.map_err(|damage| damage.at(hint.leaf, "lookup"))? {
            return Ok((value, Some(LookupEnd { next, ..hint })));
        }
    }
    let leaf = find_leaf(source, root, key)?;
    let value = get_in_leaf(source, root, leaf, key)?;
    // Which record it is was not computed.
    let next = usize::MAX;
    Ok((value, Some(LookupEnd { leaf, next })))
}

/// Looks for a key at an index of a leaf, and then in the whole leaf; `None` if the leaf does not
/// show whether the tree has the key. Returns too the index after the record.
#[inline]
fn get_at<'s, S: PageSource + ?Sized>(
    source: &'s S,
    root: &TreeRoot,
    hint: LookupEnd,
    key: &[u8],
) -> Result<Option<(Option<StoredValue<'s>>, usize)>, PageDamage> {
    let Ok(leaf) = visit_leaf(source, hint.leaf, "lookup") else {
        return Ok(None);
    };
    if let Some(node) = leaf.node_of(hint.next, key)? {
        prefetch_lines(leaf.page_from_node(hint.next + 2), NODE_LINES);
        return Ok(Some((Some(node.value), hint.next + 1)));
    }
    Ok(match leaf.search_here(root.order, key, false)? {
        Some(Ok(index)) => Some((Some(leaf.node(index)?.value), index + 1)),
        Some(Err(index)) => Some((None, index)),
        None => None,
    })
}

#[inline]
fn get_in_leaf<'s, S: PageSource + ?Sized>(
    source: &'s S,
    root: &TreeRoot,
    number: PageNumber,
    key: &[u8],
) -> Result<Option<StoredValue<'s>>> {
    let found = find_in_leaf(source, root, number, key)?;
    let value = found.value(root.order, key);
    value.map_err(|damage| damage.at(number, "lookup"))
}

/// The first half of a lookup, for which heads suffice.
#[inline(always)]
fn find_in_leaf<'s, S: PageSource + ?Sized>(
    source: &'s S,
    root: &TreeRoot,
    number: PageNumber,
    key: &[u8],
) -> Result<LeafMatch<'s>> {
    let page = source.page(number)?;
    let found = if Header::begins(page, number, PageKind::Leaf, 0) {
        Leaf::with_nodes(page, &Header::read(page)).map(|leaf| leaf.find(root.order, key))
    } else {
        require_fixed_leaf(page, number, 0).map(|()| LeafMatch::Leaf(page))
    };
    found.map_err(|damage| damage.at(number, "lookup"))
}

/// Returns the bytes of a value, wherever they are stored.
#[inline(always)]
pub(crate) fn load<'s, S: PageSource + ?Sized>(
    source: &'s S,
    leaf: PageNumber,
    value: StoredValue<'s>,
) -> Result<&'s [u8]> {
    if value.kind == ValueKind::Inline {
        return Ok(value.bytes);
    }
    load_otherwise(source, leaf, value)
}

/// Returns the bytes of a value that is not stored inline.
#[inline(never)]
fn load_otherwise<'s, S: PageSource + ?Sized>(
    source: &'s S,
    leaf: PageNumber,
    value: StoredValue<'s>,
) -> Result<&'s [u8]> {
    match value
        .as_extent()
        .map_err(|damage| damage.at(leaf, "lookup"))?
    {
        Some(extent) => enter::value(source, &extent),
        None => Ok(value.bytes),
    }
}

/// A key during its descent.
struct PendingLookup<'s, K> {
    key: K,
    /// The page that it has reached.
    page: PageNumber,
    /// The bytes in that page that store the child to descend to.
    child: &'s [u8; 4],
    /// The match in its leaf.
    found: LeafMatch<'s>,
}

impl<K> PendingLookup<'_, K> {
    fn of(key: K, root: &TreeRoot) -> Self {
        Self {
            key,
            page: root.page,
            child: &[0; 4],
            found: LeafMatch::Nothing,
        }
    }
}

/// Looks up all keys, and passes each value, in the order of the keys, to `found`.
pub(crate) fn get_many<'s, S: PageSource + ?Sized, K: AsRef<[u8]>>(
    source: &'s S,
    root: &TreeRoot,
    mut keys: impl Iterator<Item = Result<K>>,
    mut found: impl FnMut(Option<StoredValue<'s>>) -> Result<()>,
) -> Result<()> {
    let mut lookups = Vec::with_capacity(GROUP);
    loop {
        lookups.clear();
        for key in keys.by_ref().take(GROUP) {
            lookups.push(PendingLookup::of(key?, root));
        }
        if lookups.is_empty() {
            return Ok(());
        }
        if root.is_empty() {
            lookups.iter().try_for_each(|_| found(None))?;
            continue;
        }
        let begun = Instant::now();
        enter::root(source, root, "lookup")?;
        for level in (1..root.depth).rev() {
            descend_together(source, root, &mut lookups, level)?;
        }
        search_together(source, root, &mut lookups, &mut found)?;
        source.io_wait().note(begun, lookups.len());
    }
}

/// Moves every key of the group one level down. First it finds where in its page the child is
/// stored and prefetches that line; only then it reads the child and prefetches the lines needed
/// there.
fn descend_together<'s, S: PageSource + ?Sized, K: AsRef<[u8]>>(
    source: &'s S,
    root: &TreeRoot,
    lookups: &mut [PendingLookup<'s, K>],
    level: u8,
) -> Result<()> {
    for lookup in &mut *lookups {
        let inner = visit_inner(source, lookup.page, level, "lookup")?;
        let index = inner.search(root.order, lookup.key.as_ref());
        let child = index.and_then(|index| inner.child_bytes(index));
        lookup.child = child.map_err(|damage| damage.at(lookup.page, "lookup"))?;
        prefetch(lookup.child);
    }
    // Inner pages are few, and soon in memory.
    if level == 1 && source.io_wait().is_waiting() {
        let leaves = lookups.iter().map(|lookup| inner::child_of(*lookup.child));
        source.announce(&mut leaves.collect::<Vec<_>>());
    }
    let lines = if level == 1 {
        LEAF_LINES
    } else {
        INNER_LINES_TOGETHER
    };
    for lookup in lookups {
        let mut child = inner::child_of(*lookup.child);
        if source.needs_check(child) {
            child = checked_child(source, root, lookup, level)?;
        }
        lookup.page = child;
        source.prefetch(child, 0, lines);
    }
    Ok(())
}

/// Reads the child again, and verifies its checksum.
#[cold]
fn checked_child<S: PageSource + ?Sized, K: AsRef<[u8]>>(
    source: &S,
    root: &TreeRoot,
    lookup: &PendingLookup<'_, K>,
    level: u8,
) -> Result<PageNumber> {
    child_for(source, root, lookup.page, level, lookup.key.as_ref())
}

/// Makes the system begin to read the leaves of these keys.
#[cold]
pub(super) fn announce_leaves<'k, S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    keys: impl Iterator<Item = &'k [u8]>,
) -> Result<()> {
    if root.depth < 2 {
        return Ok(());
    }
    let mut leaves = Vec::new();
    for key in keys {
        let mut number = enter::root(source, root, "lookup")?;
        for level in (2..root.depth).rev() {
            number = child_for(source, root, number, level, key)?;
        }
        let inner = visit_inner(source, number, 1, "lookup")?;
        let index = inner.search(root.order, key);
        let leaf = index.and_then(|index| inner.child(index));
        leaves.push(leaf.map_err(|damage| damage.at(number, "lookup"))?);
    }
    source.announce(&mut leaves);
    Ok(())
}

/// Searches the heads of all leaves of a group and prefetches the nodes, and only then reads them.
fn search_together<'s, S: PageSource + ?Sized, K: AsRef<[u8]>>(
    source: &'s S,
    root: &TreeRoot,
    lookups: &mut [PendingLookup<'s, K>],
    found: &mut impl FnMut(Option<StoredValue<'s>>) -> Result<()>,
) -> Result<()> {
    for lookup in &mut *lookups {
        lookup.found = find_in_leaf(source, root, lookup.page, lookup.key.as_ref())?;
        if let Some(offset) = lookup.found.node_offset() {
            source.prefetch(lookup.page, offset, NODE_LINES);
        }
    }
    for lookup in lookups {
        let value = lookup.found.value(root.order, lookup.key.as_ref());
        found(value.map_err(|damage| damage.at(lookup.page, "lookup"))?)?;
    }
    Ok(())
}
