//! Counting: the number of records before a position, the n-th record, and the number of records
//! between two positions.
//!
//! In a counted tree, inner pages hold the number of records below each child, so each of these
//! takes a descent or two. In other trees the leaves between two positions are passed one by one.
//! Only the header of each is read or, if keys have several values, how many each key has.

use super::{
    PageSource, TreeRoot,
    cursor::is_void,
    enter,
    lookup::prefetch_start,
    position::{PathStep, Position},
    visit_inner, visit_leaf,
};
use crate::{Error, PageNumber, Result, page::PageDamage};
use std::{
    cmp::Ordering,
    ops::{Bound, Range},
};

/// The ends of a range: the paths to its first record, and to where the first one after it would
/// be. An index in a leaf may be that after its last record.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(super) low: Vec<PathStep>,
    pub(super) high: Vec<PathStep>,
}

/// Finds the ends of a range; `None` if it is empty whatever the tree holds, or if the tree is
/// empty.
pub(crate) fn ends<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
) -> Result<Option<Ends>> {
    source.refuse_cancelled()?;
    if root.is_empty() || is_void(root, low, high) {
        return Ok(None);
    }
    let (mut from, mut to) = (Position::default(), Position::default());
    let is_low_passed = match low {
        Bound::Unbounded => from.first(source, root).map(|_| false)?,
        Bound::Included(key) => from.descend(source, root, key).map(|_| false)?,
        Bound::Excluded(key) => from.descend(source, root, key)?,
    };
    let is_high_passed = match high {
        Bound::Unbounded => to.last(source, root)?,
        Bound::Included(key) => to.descend(source, root, key)?,
        Bound::Excluded(key) => to.descend(source, root, key).map(|_| false)?,
    };
    let path = |position: Position, is_passed: bool| {
        let mut path = position.into_path();
        if let (Some(leaf), true) = (path.last_mut(), is_passed) {
            leaf.index += 1;
        }
        path
    };
    let (low, high) = (path(from, is_low_passed), path(to, is_high_passed));
    match order(&low, &high) {
        Ordering::Greater => Err(out_of_order(root)),
        _ => Ok(Some(Ends { low, high })),
    }
}

/// Compares two paths of a tree by their position in key order.
pub(super) fn order(a: &[PathStep], b: &[PathStep]) -> Ordering {
    let indices = |path: &[PathStep]| path.iter().map(|step| step.index).collect::<Vec<_>>();
    indices(a).cmp(&indices(b))
}

/// Counts the records between two bounds.
pub(crate) fn count<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
) -> Result<u64> {
    if let (Bound::Unbounded, Bound::Unbounded) = (low, high) {
        return Ok(root.records);
    }
    match ends(source, root, low, high)? {
        Some(ends) => between(source, root, &ends),
        None => Ok(0),
    }
}

/// Counts the records between two ends.
pub(super) fn between<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    ends: &Ends,
) -> Result<u64> {
    if !root.counted {
        return pass_leaves(source, root, ends);
    }
    let (low, high) = (
        before(source, root, &ends.low)?,
        before(source, root, &ends.high)?,
    );
    high.checked_sub(low).ok_or_else(|| out_of_order(root))
}

/// Counts by passing the leaves one by one.
fn pass_leaves<S: PageSource + ?Sized>(source: &S, root: &TreeRoot, ends: &Ends) -> Result<u64> {
    let mut position = Position::on(ends.low.clone());
    let mut records = 0_u64;
    while let (Some(leaf), Some(last)) = (position.path().last(), ends.high.last()) {
        if leaf.page == last.page {
            let of_leaf = weight(source, root, leaf.page, leaf.index..last.index)?;
            return Ok(records.saturating_add(of_leaf));
        }
        let of_leaf = weight(source, root, leaf.page, leaf.index..leaf.count)?;
        records = records.saturating_add(of_leaf);
        let Some(entered) = position.next_leaf(source, root)? else {
            return Err(out_of_order(root));
        };
        for page in entered.after.into_iter().flatten() {
            source.prefetch(page, 0, 1);
        }
    }
    Ok(records)
}

/// How many records some entries of a leaf represent.
pub(super) fn weight<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    leaf: PageNumber,
    entries: Range<usize>,
) -> Result<u64> {
    if !root.is_multi() {
        return Ok(entries.len() as u64);
    }
    let weight = root.weight(&visit_leaf(source, leaf, "count")?, entries);
    weight.map_err(|damage| damage.at(leaf, "count"))
}

/// Counts the records before the position of a path, in a counted tree.
pub(super) fn before<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    path: &[PathStep],
) -> Result<u64> {
    let mut records = 0;
    for (step, level) in path.iter().zip((0..root.depth).rev()) {
        records += match level {
            0 => weight(source, root, step.page, 0..step.index)?,
            _ => visit_inner(source, step.page, level, "count")?
                .records_before(step.index)
                .map_err(|damage| damage.at(step.page, "count"))?,
        };
    }
    Ok(records)
}

/// Counts the records with smaller keys, in a counted tree.
pub(crate) fn rank<S: PageSource + ?Sized>(source: &S, root: &TreeRoot, key: &[u8]) -> Result<u64> {
    source.refuse_cancelled()?;
    if root.is_empty() {
        return Ok(0);
    }
    let mut position = Position::default();
    position.descend(source, root, key)?;
    before(source, root, position.path())
}

/// Finds record `number`, counted from 0, in a counted tree; `None` if there are not that many. If
/// the keys have several values, returns the position of the key, together with the index of its
/// value.
pub(crate) fn nth<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    mut number: u64,
) -> Result<Option<(Position, u64)>> {
    source.refuse_cancelled()?;
    if root.is_empty() || number >= root.records {
        return Ok(None);
    }
    let mut path = Vec::with_capacity(usize::from(root.depth));
    let mut page = enter::root(source, root, "count")?;
    for level in (1..root.depth).rev() {
        let inner = visit_inner(source, page, level, "count")?;
        let (index, rest) = inner
            .find_record(number)
            .map_err(|damage| damage.at(page, "count"))?;
        let count = inner.count();
        path.push(PathStep { page, index, count });
        page = enter::child(source, &inner, page, index, "count")?;
        prefetch_start(source, page, level - 1);
        number = rest;
    }
    let count = visit_leaf(source, page, "count")?.count();
    let mut index = 0;
    if root.is_multi() {
        while index < count {
            let values = weight(source, root, page, index..index + 1)?;
            if number < values {
                break;
            }
            number -= values;
            index += 1;
        }
    } else {
        index = count.min(number as usize);
        number = 0;
    }
    if index == count {
        return Err(PageDamage("it has fewer records than its parent counts").at(page, "count"));
    }
    path.push(PathStep { page, index, count });
    Ok(Some((Position::on(path), number)))
}

#[cold]
pub(super) fn out_of_order(root: &TreeRoot) -> Error {
    PageDamage("the keys or counts of this tree are not in order").at(root.page, "count")
}

#[cfg(test)]
#[path = "count_tests.rs"]
pub(super) mod tests;
