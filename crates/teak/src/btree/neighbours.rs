//! Neighbours of a page below one parent, and fill limits for redistributing and merging.

use super::{PageSink, enter, mutable_tree::Tree, position::PathStep, visit, visit_inner};
use crate::{
    PageNumber, Result,
    page::{inner, key, leaf},
};
use std::ops::Range;

/// A page thinner than this merges even with a neighbour that must be copied for it.
pub(super) const THIN_PAGE: (usize, usize) = (1, 4);

/// Merged pages are filled at most this much, so that the next record does not split them again.
pub(super) const MERGED_FILL_MAX: (usize, usize) = (9, 10);

pub(super) fn part(of: usize, (numerator, denominator): (usize, usize)) -> usize {
    of * numerator / denominator
}

/// A neighbour of a leaf.
#[derive(Clone, Copy)]
pub(super) struct Neighbour {
    /// Its index in the parent.
    pub(super) index: usize,
    pub(super) page: PageNumber,
    pub(super) used_len: usize,
    pub(super) is_own: bool,
}

/// Whether the path leads along the right edge of the tree.
pub(super) fn is_rightmost(path: &[PathStep]) -> bool {
    path[..path.len() - 1].iter().all(PathStep::is_last)
}

/// The indices of the last page of the path and of its neighbours among its parent's children.
pub(super) fn slots_in_parent(path: &[PathStep]) -> Range<usize> {
    match path {
        [.., parent, _] => parent.index..parent.index + 1,
        _ => 0..1,
    }
}

impl<S: PageSink> Tree<'_, S> {
    /// The neighbours of child `index`: the one before it and the one after it.
    pub(super) fn neighbours(&self, parent: PathStep, level: u8) -> Result<Vec<Neighbour>> {
        let inner = visit_inner(&*self.sink, parent.page, level + 1, "rebalance")?;
        let mut neighbours = Vec::with_capacity(2);
        for index in [parent.index.checked_sub(1), Some(parent.index + 1)]
            .into_iter()
            .flatten()
        {
            if index >= inner.count() {
                continue;
            }
            let page = enter::child(&*self.sink, &inner, parent.page, index, "rebalance")?;
            let (_, header) = visit(&*self.sink, page, level, "rebalance")?;
            let used_len = if level == 0 {
                leaf::used_len(&header)
            } else {
                inner::used_len(&header)
            };
            neighbours.push(Neighbour {
                index,
                page,
                used_len,
                is_own: self.sink.is_own(page),
            });
        }
        Ok(neighbours)
    }

    pub(super) fn separator(&self, left: &[u8], right: &[u8]) -> Vec<u8> {
        if self.root.order == key::KeyOrder::Bytes {
            key::shortest_separator(left, right).to_vec()
        } else {
            right.to_vec()
        }
    }
}
