//! Releases a tree from its front, in parts: the rest is a complete tree each time. No keys are
//! compared, so it also works if the comparison is missing.
//!
//! The death of a page is recorded with its birth, which is stored in the page, so a dropped tree
//! must be read. Of a large tree only the front is released at once. The rest is *parked*, which is
//! the responsibility of the owner of the pages, and released later.

use super::{
    PageSink, TreeRoot, enter,
    mutable_tree::Tree,
    position::{PathStep, Position},
    range::{Reference, references_in},
    visit_inner, visit_leaf,
};
use crate::{
    PageNumber, Result,
    page::{PageDamage, entries::RecordList, inner::children_of},
};

const RELEASE: &str = "release";

impl TreeRoot {
    /// The work of releasing the tree: its pages, where a large value counts as one, and each
    /// belongs to a record.
    pub(crate) fn release_cost(&self) -> u64 {
        let pages = u64::from(self.inner_pages) + u64::from(self.leaf_pages);
        pages + self.value_pages.min(self.records)
    }
}

impl<S: PageSink> Tree<'_, S> {
    /// Whether the tree is too large to be released at once.
    pub(super) fn is_huge(&self) -> bool {
        self.root.release_cost() > self.sink.parks_above()
    }

    /// Removes all records of a huge tree; returns how many there were.
    pub(super) fn empty_huge(&mut self) -> Result<u64> {
        let records = self.root.records;
        self.drop_front(self.sink.parks_above())?;
        if !self.root.is_empty() {
            self.sink.park(*self.root);
        }
        *self.root = self.root.emptied();
        self.mark_changed();
        Ok(records)
    }

    /// Releases leaves from the first one on, with the pages that their values refer to and the
    /// pages above them, until nothing is left or about `budget` pages were released. A large value
    /// counts as one page, because it takes no more work.
    pub(crate) fn drop_front(&mut self, budget: u64) -> Result<()> {
        let mut left = budget;
        while left > 0 && !self.root.is_empty() {
            let work = self.drop_some(left)?;
            left = left.saturating_sub(work.max(1));
        }
        Ok(())
    }

    /// Releases leaves below the first inner page above leaves, and that page if none is left;
    /// returns the work done.
    fn drop_some(&mut self, budget: u64) -> Result<u64> {
        let mut position = Position::default();
        position.first(&*self.sink, self.root)?;
        let mut path = position.into_path();
        let first = *path.last().expect("a path has a leaf");
        // The pages that it refers to exceed the budget.
        if self.root.is_multi() && self.leaf_cost(first.page)? > budget.saturating_add(1) {
            return self.drop_part_of_leaf(path, budget);
        }
        path.pop();
        let Some(&above) = path.last() else {
            self.drop_subtree(first.page, 0)?;
            *self.root = self.root.emptied();
            self.mark_changed();
            return Ok(1);
        };
        let damaged = |damage: PageDamage| damage.at(above.page, RELEASE);
        let inner = visit_inner(&*self.sink, above.page, 1, RELEASE)?;
        let mut children = children_of(&inner).map_err(damaged)?;
        let path = self.own_path(path)?;
        let (mut dropped, mut removed, mut work) = (0, 0_u64, 0);
        for child in &children {
            enter::page(&*self.sink, child.page, child.checksum, RELEASE)?;
            let cost = self.leaf_cost(child.page)?;
            if dropped > 0 && work + cost > budget {
                break;
            }
            removed = removed.saturating_add(self.drop_subtree(child.page, 0)?);
            dropped += 1;
            work += cost;
        }
        children.drain(..dropped);
        self.root.records = self.root.records.saturating_sub(removed);
        self.mark_changed();
        self.write_inner(&path, path.len() - 1, children)?;
        self.collapse_root()?;
        Ok(work)
    }

    /// The work of releasing a leaf with everything that it refers to.
    fn leaf_cost(&self, number: PageNumber) -> Result<u64> {
        let leaf = visit_leaf(&*self.sink, number, RELEASE)?;
        if !leaf.has_references() {
            return Ok(1);
        }
        let references = references_in(&leaf, self.root, 0..leaf.count());
        let references = references.map_err(|damage| damage.at(number, RELEASE))?;
        Ok(references
            .iter()
            .fold(1, |sum, reference| sum + cost_of(reference)))
    }

    /// Releases the pages that the first records of a leaf refer to, and those records. Of a nested
    /// tree that exceeds the remaining budget, only the front is released. The leaf, which is the
    /// first, stays.
    fn drop_part_of_leaf(&mut self, path: Vec<PathStep>, budget: u64) -> Result<u64> {
        let path = self.own_path(path)?;
        let number = path[path.len() - 1].page;
        let damaged = |damage: PageDamage| damage.at(number, RELEASE);
        let leaf = visit_leaf(&*self.sink, number, RELEASE)?;
        let count = leaf.count();
        let mut work = 0;
        let mut done = 0;
        let mut cut = None;
        let mut whole = Vec::new();
        for slot in 0..count {
            let references = references_in(&leaf, self.root, slot..slot + 1);
            let reference = references.map_err(damaged)?.pop();
            let cost = reference.as_ref().map_or(0, cost_of);
            if work + cost > budget {
                cut = reference;
                break;
            }
            work += cost;
            done += 1;
            whole.extend(reference);
        }
        let mut removed = self.root.weight(&leaf, 0..done).map_err(damaged)?;
        let mut kept = RecordList::with_capacity(1, self.sink.page_size());
        kept.append(&leaf, done..count).map_err(damaged)?;
        let mut after = RecordList::with_capacity(1, self.sink.page_size());
        let next = (done + 1).min(count);
        after.append(&leaf, next..count).map_err(damaged)?;
        for reference in whole {
            self.release_reference(reference)?;
        }
        let Some(Reference::Tree(mut nested)) = cut else {
            let detail = "it refers to fewer pages than it did";
            return Err(crate::Error::corrupted(number, RELEASE, detail));
        };
        let before = nested.records;
        let left = budget.saturating_sub(work).max(1);
        self.change_nested(&mut nested, |tree| tree.drop_front(left))?;
        removed = removed.saturating_add(before.saturating_sub(nested.records));
        if !nested.is_empty() {
            self.rebuild(number, &kept)?;
            let mut path = path;
            let depth = path.len() - 1;
            path[depth].index = 0;
            self.write_nested_root(&path, &nested, -(removed as i64))?;
        } else if after.is_empty() {
            // The pages above its leaves were released with the last of them.
            self.release_leaf(number)?;
            self.remove_child(&path, path.len() - 1)?;
            self.collapse_root()?;
        } else {
            self.rebuild(number, &after)?;
            self.recount(&path, path.len() - 1)?;
        }
        work += left;
        self.root.records = self.root.records.saturating_sub(removed);
        self.mark_changed();
        Ok(work)
    }

    /// Lays out a leaf again with these records.
    fn rebuild(&mut self, number: PageNumber, records: &RecordList) -> Result<()> {
        let (format, birth) = (self.root.leaf_format(), self.sink.transaction());
        let page = self.sink.page_mut(number)?;
        let built = records.build(page, number, birth, format, 0..records.len());
        built.map_err(|damage| damage.at(number, RELEASE))
    }
}

fn cost_of(reference: &Reference) -> u64 {
    match reference {
        Reference::Extent(_) => 1,
        Reference::Tree(nested) => nested.release_cost(),
    }
}

#[cfg(test)]
#[path = "drop_tests.rs"]
mod tests;
