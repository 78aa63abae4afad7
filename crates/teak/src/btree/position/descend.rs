//! Searches: the descent to the leaf of a key, from the root or from a hint.

use super::{PathStep, Position, PositionState, empty_leaf};
use crate::{
    PageNumber, Result,
    btree::{PageSource, TreeRoot, enter, lookup::prefetch_start, visit_inner, visit_leaf},
};
use std::ops::Bound;

impl Position {
    /// Moves to the first record whose key is not smaller than `key`; `Some(true)` if it is equal,
    /// `None` if there is none.
    pub(crate) fn seek<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<Option<bool>> {
        source.refuse_cancelled()?;
        self.path.clear();
        if root.is_empty() {
            self.state = PositionState::After;
            return Ok(None);
        }
        let found = self.descend(source, root, key)?;
        let leaf = self.path.last_mut().expect("a descent ends in a leaf");
        if leaf.index < leaf.count {
            return Ok(Some(found));
        }
        let Some(last) = leaf.count.checked_sub(1) else {
            let error = empty_leaf(leaf.page, "search");
            return self.invalidate_on_error(Err(error));
        };
        leaf.index = last;
        Ok(self.next(source, root)?.then_some(false))
    }

    /// Builds the path of `key`, down to the index where it is or would be inserted; returns
    /// whether it is present. The tree must not be empty.
    pub(crate) fn descend<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<bool> {
        self.path.clear();
        self.path.reserve(usize::from(root.depth));
        self.state = PositionState::On;
        (self.passed, self.passed_records) = (0, 0);
        let found = self.find(source, root, key);
        self.invalidate_on_error(found)
    }

    /// Like [`Self::descend`], but without a full descent if the leaf of the position, or the page
    /// above it, shows that the key belongs there. The path must be valid in the present tree, or
    /// empty.
    pub(in crate::btree) fn descend_from_hint<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<bool> {
        (self.passed, self.passed_records) = (0, 0);
        let Some((leaf, above)) = self.path.split_last_mut() else {
            return self.descend(source, root, key);
        };
        let is_last = above.iter().all(PathStep::is_last);
        let page = visit_leaf(source, leaf.page, "search")?;
        let slot = page.search_here(root.order, key, is_last);
        if let Some(slot) = slot.map_err(|damage| damage.at(leaf.page, "search"))? {
            let (Ok(index) | Err(index)) = slot;
            (leaf.index, leaf.count) = (index, page.count());
            return Ok(slot.is_ok());
        }
        match child_from_hint(source, root, &self.path, key)? {
            Some((step, child)) => {
                self.path.truncate(self.path.len() - 2);
                self.path.push(step);
                let found = self.find_from(source, root, child, key);
                self.invalidate_on_error(found)
            }
            None => self.descend(source, root, key),
        }
    }

    #[inline]
    fn find<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        key: &[u8],
    ) -> Result<bool> {
        let number = enter::root(source, root, "search")?;
        self.find_from(source, root, number, key)
    }

    /// Extends the path from the page `number` down to the leaf of `key`.
    #[inline]
    fn find_from<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        mut number: PageNumber,
        key: &[u8],
    ) -> Result<bool> {
        let below = root.depth - self.path.len() as u8;
        for level in (1..below).rev() {
            let inner = visit_inner(source, number, level, "search")?;
            let index = inner
                .search(root.order, key)
                .map_err(|d| d.at(number, "search"))?;
            self.path.push(PathStep {
                page: number,
                index,
                count: inner.count(),
            });
            number = enter::child(source, &inner, number, index, "search")?;
            prefetch_start(source, number, level - 1);
        }
        let leaf = visit_leaf(source, number, "search")?;
        let slot = leaf
            .search(root.order, key)
            .map_err(|d| d.at(number, "search"))?;
        let (Ok(index) | Err(index)) = slot;
        self.path.push(PathStep {
            page: number,
            index,
            count: leaf.count(),
        });
        Ok(slot.is_ok())
    }

    /// Moves to the beginning of a range with this lower bound.
    pub(crate) fn seek_bound<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        bound: Bound<&[u8]>,
    ) -> Result<()> {
        match bound {
            Bound::Unbounded => self.first(source, root).map(drop),
            Bound::Included(key) => self.seek(source, root, key).map(drop),
            Bound::Excluded(key) => {
                if self.seek(source, root, key)? == Some(true) {
                    self.next(source, root)?;
                }
                Ok(())
            }
        }
    }

    /// Moves past the last record of a range with this upper bound.
    pub(crate) fn seek_end<S: PageSource + ?Sized>(
        &mut self,
        source: &S,
        root: &TreeRoot,
        bound: Bound<&[u8]>,
    ) -> Result<()> {
        match bound {
            Bound::Unbounded => {
                self.path.clear();
                self.state = PositionState::After;
                Ok(())
            }
            Bound::Included(key) => self.seek_bound(source, root, Bound::Excluded(key)),
            Bound::Excluded(key) => self.seek_bound(source, root, Bound::Included(key)),
        }
    }
}

/// Returns the step and the number of the leaf of a key, if the page above the leaf of a path shows
/// that the key is below it too. The path must be valid in the present tree. Like a descent, this
/// relies on the separators of a page lying within those above it.
#[inline]
pub(in crate::btree) fn child_from_hint<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    path: &[PathStep],
    key: &[u8],
) -> Result<Option<(PathStep, PageNumber)>> {
    let [above @ .., parent, _] = path else {
        return Ok(None);
    };
    let page = parent.page;
    let inner = visit_inner(source, page, 1, "search")?;
    let index = inner.search(root.order, key);
    let step = PathStep {
        page,
        index: index.map_err(|damage| damage.at(page, "search"))?,
        count: inner.count(),
    };
    // Keys before the second separator may belong before the page, and keys after the last one
    // after it.
    let may_be_before = step.index == 0 && above.iter().any(|step| step.index > 0);
    if may_be_before || step.is_last() && !above.iter().all(PathStep::is_last) {
        return Ok(None);
    }
    let child = enter::child(source, &inner, page, step.index, "search")?;
    Ok(Some((step, child)))
}
