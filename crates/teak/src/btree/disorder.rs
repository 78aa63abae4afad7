//! A quick check of a few pages of a tree: whether its keys are in the order of its comparison.

use super::{PageSource, TreeRoot, enter, multi::KeyValues, visit_inner, visit_leaf};
use crate::{PageNumber, Result};

const OPERATION: &str = "open table";

/// Whether keys of the first or the last leaf, or separators of the root page, do not ascend. This
/// detects a comparison other than the one the tree was built with, unless they differ only in rare
/// cases.
pub(crate) fn has_disorder<S: PageSource + ?Sized>(source: &S, root: &TreeRoot) -> Result<bool> {
    if root.is_empty() {
        return Ok(false);
    }
    let [first, last] = [TreeEnd::First, TreeEnd::Last].map(|end| leaf_at(source, root, end));
    let (first, last) = (first?, last?);
    let is_disordered = !ascends(root, &separators(source, root)?)
        || !ascends(root, &keys(source, first)?)
        || first != last && !ascends(root, &keys(source, last)?);
    Ok(is_disordered)
}

/// In how many nested trees of a leaf some pages are checked.
const NESTED_MAX: usize = 4;

/// Like [`has_disorder`], for the values of keys in the first and the last leaf.
pub(crate) fn values_have_disorder<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
) -> Result<bool> {
    for end in [TreeEnd::First, TreeEnd::Last] {
        let number = leaf_at(source, root, end)?;
        let leaf = visit_leaf(source, number, OPERATION)?;
        let mut nested_trees = Vec::new();
        for index in 0..leaf.count() {
            let values = leaf
                .node(index)
                .and_then(|node| KeyValues::of(root, node.value));
            match values.map_err(|damage| damage.at(number, OPERATION))? {
                KeyValues::One(_) => {}
                KeyValues::Set(set) => {
                    let order = root.value_order();
                    if !set.iter().is_sorted_by(|a, b| order.compare(a, b).is_lt()) {
                        return Ok(true);
                    }
                }
                KeyValues::Tree(nested) => nested_trees.push(nested),
            }
        }
        for nested in nested_trees.iter().take(NESTED_MAX) {
            if has_disorder(source, nested)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeEnd {
    First,
    Last,
}

fn leaf_at<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    end: TreeEnd,
) -> Result<PageNumber> {
    let mut number = enter::root(source, root, OPERATION)?;
    for level in (1..root.depth).rev() {
        let inner = visit_inner(source, number, level, OPERATION)?;
        let index = match end {
            TreeEnd::First => 0,
            TreeEnd::Last => inner.count().saturating_sub(1),
        };
        number = enter::child(source, &inner, number, index, OPERATION)?;
    }
    Ok(number)
}

fn keys<S: PageSource + ?Sized>(source: &S, number: PageNumber) -> Result<Vec<Vec<u8>>> {
    let leaf = visit_leaf(source, number, OPERATION)?;
    let keys = (0..leaf.count()).map(|index| leaf.key(index));
    keys.map(|key| key.map_err(|damage| damage.at(number, OPERATION)))
        .collect()
}

/// The separators of the root page, if it is not a leaf.
fn separators<S: PageSource + ?Sized>(source: &S, root: &TreeRoot) -> Result<Vec<Vec<u8>>> {
    let level = root.depth - 1;
    if level == 0 {
        return Ok(Vec::new());
    }
    let inner = visit_inner(source, root.page, level, OPERATION)?;
    let separators = (1..inner.count()).map(|index| inner.separator(index));
    separators
        .map(|separator| separator.map_err(|damage| damage.at(root.page, OPERATION)))
        .collect()
}

fn ascends(root: &TreeRoot, keys: &[Vec<u8>]) -> bool {
    keys.is_sorted_by(|a, b| root.order.compare(a, b).is_lt())
}
