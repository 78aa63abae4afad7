//! Counting pairs: the n-th pair, the number between two pairs, and where to split a range. Trees
//! whose keys have one value are counted likewise.
//!
//! A counted tree is split at records by their number. In other trees the pages of a level are
//! listed, from the top down, until they have enough entries for each part: entries of one level
//! weigh about the same, and the entries of leaves are records.

use super::{
    KeyValues,
    cursor::{PairBound, PairCursor},
    lookup,
    range_parts::{PairStart, RangeParts, Span, ValuesPart, contains, touched_keys},
};
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

/// Counts the pairs between two bounds, or the records if keys have one value. If the tree is not
/// counted, the leaves between them are passed, those of nested trees only at both ends.
pub(crate) fn count_pairs<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: PairBound<'_>,
    high: PairBound<'_>,
) -> Result<u64> {
    let in_tree = |tree: &TreeRoot, (low, high): Span<'_>| count::count(source, tree, low, high);
    sum(source, root, (low, high), in_tree, |count| count)
}

/// Estimates the number of pairs or records between two bounds. Few pages are read, of the tree and
/// of the nested trees at both ends.
pub(crate) fn estimate_pairs<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: PairBound<'_>,
    high: PairBound<'_>,
) -> Result<RecordEstimate> {
    let in_tree =
        |tree: &TreeRoot, (low, high): Span<'_>| estimate::estimate(source, tree, low, high);
    sum(source, root, (low, high), in_tree, RecordEstimate::exactly)
}

/// Sums the keys whose pairs are all between two bounds, and the values of the two keys that are
/// only partly between them. `in_tree` counts the values of a tree; `exactly` converts counts that
/// need no tree.
fn sum<S: PageSource + ?Sized, N: Add<Output = N>>(
    source: &S,
    root: &TreeRoot,
    (low, high): (PairBound<'_>, PairBound<'_>),
    in_tree: impl Fn(&TreeRoot, Span<'_>) -> Result<N>,
    exactly: impl Fn(u64) -> N,
) -> Result<N> {
    let of_key = |part| of_key(source, root, part, &in_tree, &exactly);
    match RangeParts::of(root, low, high) {
        RangeParts::Empty => Ok(exactly(0)),
        RangeParts::OneKey(part) => of_key(part),
        RangeParts::Keys { whole, first, last } => {
            let mut pairs = in_tree(root, whole)?;
            for part in [first, last].into_iter().flatten() {
                pairs = pairs + of_key(part)?;
            }
            Ok(pairs)
        }
    }
}

/// Counts the values of a key between two bounds.
fn of_key<S: PageSource + ?Sized, N>(
    source: &S,
    root: &TreeRoot,
    (key, (low, high)): ValuesPart<'_>,
    in_tree: impl Fn(&TreeRoot, Span<'_>) -> Result<N>,
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
        Some(KeyValues::Tree(nested)) => in_tree(&nested, (low, high))?,
    })
}

/// Finds pair or record `number`, counted from 0, in a counted tree; `None` if there are not that
/// many.
pub(crate) fn nth_pair<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    number: u64,
) -> Result<Option<PairStart>> {
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
) -> Result<Option<PairStart>> {
    let mut key = Vec::new();
    let Some((leaf, stored)) = record_at(source, position, &mut key)? else {
        return Ok(None);
    };
    if !root.is_multi() {
        return Ok(Some((key, None)));
    }
    let mut value = Vec::new();
    match KeyValues::of(root, stored).map_err(|damage| damage.at(leaf, "count"))? {
        KeyValues::One(one) => value.extend_from_slice(one),
        KeyValues::Set(set) => {
            let index = set.len().min(number as usize + 1) - 1;
            value.extend_from_slice(set.get(index));
        }
        KeyValues::Tree(nested) => drop(record_at(source, &find(&nested)?, &mut value)?),
    }
    Ok(Some((key, Some(value))))
}

/// Returns where each part of a range begins, except the first part. A part that begins with the
/// first value of a key begins with the whole key.
pub(crate) fn split<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: PairBound<'_>,
    high: PairBound<'_>,
    parts: usize,
) -> Result<Vec<PairStart>> {
    let parts = parts.min(PARTS_MAX);
    let range_parts = RangeParts::of(root, low, high);
    let whole_keys = range_parts.whole_keys();
    if root.counted {
        let (first, records) = match whole_keys {
            Some((low, high)) => match count::ends(source, root, low, high)? {
                Some(ends) => (
                    count::before(source, root, &ends.low)?,
                    count::between(source, root, &ends)?,
                ),
                None => return Ok(Vec::new()),
            },
            None => (
                count_before(source, root, low)?,
                count_pairs(source, root, low, high)?,
            ),
        };
        let numbers = cuts(records, parts).map(|cut| first.saturating_add(cut));
        let starts = numbers.filter_map(|number| nth_pair(source, root, number).transpose());
        return starts
            .map(|start| part_start(source, root, start?))
            .collect();
    }
    if let RangeParts::OneKey((key, (from, to))) = range_parts
        && let Some(KeyValues::Tree(nested)) = lookup::find(source, root, key)?
    {
        let of_value = |value| (value, None);
        let values = split(source, &nested, from.map(of_value), to.map(of_value), parts)?;
        let start = |(value, _)| (key.to_vec(), Some(value));
        return Ok(values.into_iter().map(start).collect());
    }
    let Some(ends) = count::ends(source, root, touched_keys(low), touched_keys(high))? else {
        return Ok(Vec::new());
    };
    let mut starts = split_listed(source, root, &ends, parts)?;
    if whole_keys.is_none() {
        // Some of them are among values outside of the range.
        let mut first = PairCursor::new(source, *root);
        first.seek_bound(low)?;
        if !first.is_on_pair() {
            return Ok(Vec::new());
        }
        let low = Bound::Excluded((first.key(), Some(first.value())));
        starts.retain(|(key, value)| {
            let value = value.as_deref().unwrap_or_default();
            contains(root, (low, high), (key, value))
        });
    }
    let starts = starts.into_iter();
    starts
        .map(|start| part_start(source, root, start))
        .collect()
}

/// Returns where a part begins whose first pair or record is `first`. That is a whole key if the
/// value is the first one of its key.
fn part_start<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    first: PairStart,
) -> Result<PairStart> {
    let (key, value) = first;
    let mut first_value = Vec::new();
    if value.is_some() {
        match lookup::find(source, root, &key)? {
            None => return Ok((key, value)),
            Some(KeyValues::One(one)) => first_value.extend_from_slice(one),
            Some(KeyValues::Set(set)) => first_value.extend_from_slice(set.get(0)),
            Some(KeyValues::Tree(nested)) => {
                let mut position = Position::default();
                position.first(source, &nested)?;
                record_at(source, &position, &mut first_value)?;
            }
        }
    }
    Ok((key, value.filter(|value| *value != first_value)))
}

/// Counts the pairs before the lower bound of a range.
fn count_before<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: PairBound<'_>,
) -> Result<u64> {
    let before = match low {
        Bound::Unbounded => return Ok(0),
        Bound::Included(low) => Bound::Excluded(low),
        Bound::Excluded(low) => Bound::Included(low),
    };
    count_pairs(source, root, Bound::Unbounded, before)
}

/// Cuts a tree that is not counted. Entries of inner pages are assumed to weigh the same, those of
/// leaves as much as they have values.
fn split_listed<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    ends: &Ends,
    parts: usize,
) -> Result<Vec<PairStart>> {
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
    let mut starts: Vec<PairStart> = Vec::new();
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
            let start = pair_at(source, root, &position, number, |nested| {
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
            let is_after_last = |(key, value): &PairStart| {
                let pair = (&key[..], value.as_deref().unwrap_or_default());
                starts.last().is_none_or(|(key, value)| {
                    let last = (&key[..], value.as_deref().unwrap_or_default());
                    root.compare_pairs(last, pair).is_lt()
                })
            };
            let start = start.filter(|start| !root.is_multi() || is_after_last(start));
            starts.extend(start);
            break;
        }
    }
    starts.drain(..starts.len().min(1));
    Ok(starts)
}

#[cfg(test)]
#[path = "count_tests.rs"]
mod tests;
