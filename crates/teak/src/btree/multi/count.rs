//! Counting pairs: the number before a pair, the n-th pair, the number between two pairs, and where
//! to split a range.

use super::{KeyValues, cursor::PairBound, lookup};
use crate::{
    PageNumber, Result,
    btree::{
        PageSource, TreeRoot,
        count::{self, Ends},
        cursor::record_at,
        estimate::{self, RecordEstimate},
        key_ranges::{PARTS_MAX, SplitLevel, cuts, first_below},
        position::Position,
    },
};
use std::{
    cmp::Ordering,
    iter,
    ops::{Add, Bound, Range},
};

/// A key and one of its values, copied.
pub(crate) type OwnedPair = (Vec<u8>, Vec<u8>);

/// Counts the pairs between two bounds. If the tree is not counted, the leaves between them are
/// passed, those of nested trees only at both ends.
pub(crate) fn count_pairs<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: PairBound<'_>,
    high: PairBound<'_>,
) -> Result<u64> {
    let in_tree = |tree: &TreeRoot, low: Bound<&[u8]>, high: Bound<&[u8]>| {
        count::count(source, tree, low, high)
    };
    sum(source, root, (low, high), in_tree, |count| count)
}

/// Estimates the number of pairs between two bounds. Few pages are read, of the tree and of the
/// nested trees at both ends.
pub(crate) fn estimate_pairs<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: PairBound<'_>,
    high: PairBound<'_>,
) -> Result<RecordEstimate> {
    let in_tree = |tree: &TreeRoot, low: Bound<&[u8]>, high: Bound<&[u8]>| {
        estimate::estimate(source, tree, low, high)
    };
    sum(source, root, (low, high), in_tree, RecordEstimate::exactly)
}

/// Sums the keys whose pairs are all between two bounds, and the values of the two keys that are
/// only partly between them. `in_tree` counts the values of a tree; `exactly` converts counts that
/// need no tree.
fn sum<S: PageSource + ?Sized, N: Add<Output = N>>(
    source: &S,
    root: &TreeRoot,
    (low, high): (PairBound<'_>, PairBound<'_>),
    in_tree: impl Fn(&TreeRoot, Bound<&[u8]>, Bound<&[u8]>) -> Result<N>,
    exactly: impl Fn(u64) -> N,
) -> Result<N> {
    let of_key = |key: &[u8], low, high| of_key(source, root, key, (low, high), &in_tree, &exactly);
    if let (Some((key, from)), Some((high_key, to))) = (edge(low), edge(high)) {
        match (root.order.compare(key, high_key), from, to) {
            (Ordering::Less, _, _) => {}
            (Ordering::Equal, Some(from), Some(to)) => {
                return of_key(key, from, to);
            }
            _ => return Ok(exactly(0)),
        }
    }
    let mut pairs = in_tree(root, whole_keys(low), whole_keys(high))?;
    if let Bound::Included((key, Some(_))) | Bound::Excluded((key, Some(_))) = low {
        pairs = pairs + of_key(key, values(low), Bound::Unbounded)?;
    }
    if let Bound::Included((key, Some(_))) | Bound::Excluded((key, Some(_))) = high {
        pairs = pairs + of_key(key, Bound::Unbounded, values(high))?;
    }
    Ok(pairs)
}

/// Counts the values of a key between two bounds.
fn of_key<S: PageSource + ?Sized, N>(
    source: &S,
    root: &TreeRoot,
    key: &[u8],
    (low, high): (Bound<&[u8]>, Bound<&[u8]>),
    in_tree: impl Fn(&TreeRoot, Bound<&[u8]>, Bound<&[u8]>) -> Result<N>,
    exactly: impl Fn(u64) -> N,
) -> Result<N> {
    let order = root.value_order();
    let positions = |len: usize, search: &dyn Fn(&[u8]) -> Result<usize, usize>| {
        let value_index = |value, is_after: bool| match search(value) {
            Ok(index) => index + usize::from(is_after),
            Err(index) => index,
        };
        let from = match low {
            Bound::Unbounded => 0,
            Bound::Included(value) => value_index(value, false),
            Bound::Excluded(value) => value_index(value, true),
        };
        let to = match high {
            Bound::Unbounded => len,
            Bound::Included(value) => value_index(value, true),
            Bound::Excluded(value) => value_index(value, false),
        };
        exactly(to.saturating_sub(from) as u64)
    };
    Ok(match lookup::find(source, root, key)? {
        None => exactly(0),
        Some(KeyValues::One(one)) => positions(1, &|value| match order.stored_to(one, value) {
            Ordering::Less => Err(1),
            Ordering::Equal => Ok(0),
            Ordering::Greater => Err(0),
        }),
        Some(KeyValues::Set(set)) => positions(set.len(), &|value| set.search(order, value)),
        Some(KeyValues::Tree(nested)) => in_tree(&nested, low, high)?,
    })
}

/// A key, and the bound of its values on one side: `None` if the bound is past them.
type Edge<'b> = (&'b [u8], Option<Bound<&'b [u8]>>);

fn edge(bound: PairBound<'_>) -> Option<Edge<'_>> {
    match bound {
        Bound::Unbounded => None,
        Bound::Excluded((key, None)) => Some((key, None)),
        Bound::Included((key, _)) | Bound::Excluded((key, _)) => Some((key, Some(values(bound)))),
    }
}

/// The bound for keys whose values are all on one side of it.
fn whole_keys(bound: PairBound<'_>) -> Bound<&[u8]> {
    match bound {
        Bound::Included((key, Some(_))) => Bound::Excluded(key),
        bound => bound.map(|(key, _)| key),
    }
}

/// The bound among the values of its key.
fn values(bound: PairBound<'_>) -> Bound<&[u8]> {
    match bound {
        Bound::Included((_, Some(value))) => Bound::Included(value),
        Bound::Excluded((_, Some(value))) => Bound::Excluded(value),
        _ => Bound::Unbounded,
    }
}

/// Finds pair `number`, counted from 0, in a counted tree; `None` if there are not that many.
pub(crate) fn nth_pair<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    number: u64,
) -> Result<Option<OwnedPair>> {
    match count::nth(source, root, number)? {
        Some((position, number)) => pair_at(source, root, &position, number, |nested| {
            let found = count::nth(source, nested, number)?;
            Ok(found.map(|(position, _)| position).unwrap_or_default())
        }),
        None => Ok(None),
    }
}

/// Returns the key at a position, and its value `number`, or the one that `find` finds if it is in
/// a nested tree.
fn pair_at<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    position: &Position,
    number: u64,
    find: impl FnOnce(&TreeRoot) -> Result<Position>,
) -> Result<Option<OwnedPair>> {
    let mut key = Vec::new();
    let Some((leaf, stored)) = record_at(source, position, &mut key)? else {
        return Ok(None);
    };
    let values = KeyValues::of(root, stored).map_err(|damage| damage.at(leaf, "count"))?;
    let mut value = Vec::new();
    match values {
        KeyValues::One(one) => value.extend_from_slice(one),
        KeyValues::Set(set) => {
            let index = set.len().min(number as usize + 1) - 1;
            value.extend_from_slice(set.get(index));
        }
        KeyValues::Tree(nested) => drop(record_at(source, &find(&nested)?, &mut value)?),
    }
    Ok(Some((key, value)))
}

/// Returns the first key and value of each part of a range of keys except the first part.
pub(crate) fn split_pairs<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
    parts: usize,
) -> Result<Vec<OwnedPair>> {
    let parts = parts.min(PARTS_MAX);
    let Some(ends) = count::ends(source, root, low, high)? else {
        return Ok(Vec::new());
    };
    if !root.counted {
        return split_listed(source, root, &ends, parts);
    }
    let first = count::before(source, root, &ends.low)?;
    let mut pairs = Vec::new();
    for cut in cuts(count::between(source, root, &ends)?, parts) {
        pairs.extend(nth_pair(source, root, first + cut)?);
    }
    Ok(pairs)
}

/// Like [`split_pairs`], in a tree that is not counted. Entries of inner pages are assumed to weigh
/// the same, those of leaves as much as they have values.
fn split_listed<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    ends: &Ends,
    parts: usize,
) -> Result<Vec<OwnedPair>> {
    let SplitLevel { level, pages } = SplitLevel::new(source, root, ends, parts)?;
    let weight = |page, entries: Range<usize>| match level {
        0 => count::weight(source, root, page, entries),
        _ => Ok(entries.len() as u64),
    };
    let mut total = 0_u64;
    for (page, entries) in &pages {
        total = total.saturating_add(weight(*page, entries.clone())?);
    }
    let mut entries = pages
        .iter()
        .flat_map(|(page, entries)| entries.clone().map(move |index| (*page, index)));
    let mut pairs: Vec<OwnedPair> = Vec::new();
    let (mut entry, mut passed) = (entries.next(), 0_u64);
    // The nested tree that was split last.
    let mut nested_list: Option<(PageNumber, SplitLevel)> = None;
    // The first one is the beginning of the range.
    for cut in iter::once(0).chain(cuts(total, parts)) {
        while let Some((page, index)) = entry {
            let len = weight(page, index..index + 1)?;
            if cut >= passed.saturating_add(len) {
                (entry, passed) = (entries.next(), passed.saturating_add(len));
                continue;
            }
            let position = first_below(source, page, level, index)?;
            let number = if level == 0 { cut - passed } else { 0 };
            let pair = pair_at(source, root, &position, number, |nested| {
                if nested_list
                    .as_ref()
                    .is_none_or(|(of, _)| *of != nested.page)
                {
                    let ends = count::ends(source, nested, Bound::Unbounded, Bound::Unbounded)?;
                    let ends = ends.expect("a nested tree is not empty");
                    let list = SplitLevel::new(source, nested, &ends, parts)?;
                    nested_list = Some((nested.page, list));
                }
                let list = nested_list.as_ref().map(|(_, list)| list);
                list.expect("it was listed").about(source, number, len)
            })?;
            let is_after = |pair: &OwnedPair| {
                let pair = (&pair.0[..], &pair.1[..]);
                let is_after = |last: &OwnedPair| root.compare_pairs((&last.0, &last.1), pair);
                pairs.last().is_none_or(|last| is_after(last).is_lt())
            };
            let pair = pair.filter(is_after);
            pairs.extend(pair);
            break;
        }
    }
    pairs.drain(..pairs.len().min(1));
    Ok(pairs)
}

#[cfg(test)]
#[path = "count_tests.rs"]
mod tests;
