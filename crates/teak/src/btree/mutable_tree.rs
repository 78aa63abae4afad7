//! A tree that is being changed: its sink and its root, and what every change needs: making a path
//! changeable, keeping the counts right, and adding and releasing pages.

use super::{PageSink, TreeRoot, position::PathStep, visit, visit_inner, visit_leaf};
use crate::{
    Error, PageNumber, Result,
    page::{
        header::Header,
        inner,
        value::{ValueExtent, value_page_count},
    },
};

/// A tree that is being changed.
#[derive(Debug)]
pub(crate) struct Tree<'t, S> {
    pub(super) sink: &'t mut S,
    pub(super) root: &'t mut TreeRoot,
}

impl<'t, S: PageSink> Tree<'t, S> {
    pub(crate) fn new(sink: &'t mut S, root: &'t mut TreeRoot) -> Self {
        Self { sink, root }
    }

    /// The present root.
    pub(crate) fn root(&self) -> &TreeRoot {
        self.root
    }

    /// Makes every page of the path changeable, from the root down, and returns the new path.
    pub(super) fn own_path(&mut self, mut path: Vec<PathStep>) -> Result<Vec<PathStep>> {
        let leaf = path.last().expect("a path has a leaf").page;
        if self.sink.is_own(leaf) {
            return Ok(path);
        }
        for depth in 0..path.len() {
            let old = path[depth].page;
            let new = self.sink.own(old)?;
            if new == old {
                continue;
            }
            path[depth].page = new;
            match depth.checked_sub(1).map(|above| path[above]) {
                None => self.root.page = new,
                Some(parent) => {
                    inner::set_child(self.sink.page_mut(parent.page)?, parent.index, new);
                }
            }
        }
        Ok(path)
    }

    /// Corrects the record counts above `path[depth]`, in a counted tree.
    pub(super) fn recount(&mut self, path: &[PathStep], depth: usize) -> Result<()> {
        let Some(above) = depth.checked_sub(1).filter(|_| self.root.counted) else {
            return Ok(());
        };
        let now = self.records_below(path[depth].page, self.level_of(depth))?;
        let parent = path[above];
        let inner = visit_inner(&*self.sink, parent.page, self.level_of(above), "count")?;
        let before = inner.records(parent.index);
        let before = before.map_err(|damage| damage.at(parent.page, "count"))?;
        self.add_to_counts(&path[..=depth], now as i64 - before as i64)
    }

    /// Adds a page's difference in records to the counts above it, in a counted tree. The path ends
    /// with the page.
    #[inline]
    pub(super) fn add_to_counts(&mut self, path: &[PathStep], difference: i64) -> Result<()> {
        if !self.root.counted || difference == 0 {
            return Ok(());
        }
        for step in path.iter().rev().skip(1) {
            inner::add_records(self.sink.page_mut(step.page)?, step.index, difference);
        }
        Ok(())
    }

    /// The records in and below a page, from the counts one level down.
    fn records_below(&self, number: PageNumber, level: u8) -> Result<u64> {
        if level == 0 && self.root.is_multi() {
            let leaf = visit_leaf(&*self.sink, number, "count")?;
            let weight = self.root.weight(&leaf, 0..leaf.count());
            return weight.map_err(|damage| damage.at(number, "count"));
        }
        if level == 0 {
            let (_, header) = visit(&*self.sink, number, 0, "count")?;
            return Ok(u64::from(header.count));
        }
        let inner = visit_inner(&*self.sink, number, level, "count")?;
        let mut sum = 0u64;
        for index in 0..inner.count() {
            sum += inner
                .records(index)
                .map_err(|damage| damage.at(number, "count"))?;
        }
        Ok(sum)
    }

    /// The level of the pages at this depth of a path.
    pub(super) fn level_of(&self, depth: usize) -> u8 {
        self.root.depth - 1 - depth as u8
    }

    /// Records that the tree changed in this transaction.
    pub(super) fn mark_changed(&mut self) {
        self.root.changed = self.sink.transaction();
    }

    pub(super) fn new_leaf(&mut self) -> Result<PageNumber> {
        self.root.leaf_pages = self.root.leaf_pages.saturating_add(1);
        self.sink.allocate()
    }

    pub(super) fn new_inner(&mut self) -> Result<PageNumber> {
        self.root.inner_pages = self.root.inner_pages.saturating_add(1);
        self.sink.allocate()
    }

    /// Removes a leaf from the tree. The caller releases its large values.
    pub(super) fn release_leaf(&mut self, number: PageNumber) -> Result<()> {
        self.root.leaf_pages = one_less(self.root.leaf_pages, number)?;
        self.sink.release(number)
    }

    pub(super) fn release_inner(&mut self, number: PageNumber) -> Result<()> {
        self.root.inner_pages = one_less(self.root.inner_pages, number)?;
        self.sink.release(number)
    }

    /// The large value of a record of a leaf, if it has one.
    pub(super) fn extent_at(
        &self,
        number: PageNumber,
        index: usize,
        operation: &'static str,
    ) -> Result<Option<ValueExtent>> {
        let leaf = visit_leaf(&*self.sink, number, operation)?;
        let extent = leaf.node(index).and_then(|node| node.value.as_extent());
        extent.map_err(|damage| damage.at(number, operation))
    }

    pub(super) fn release_extent(&mut self, extent: &ValueExtent) -> Result<()> {
        let pages = value_pages(extent, self.sink.page_size());
        self.root.value_pages = self.root.value_pages.saturating_sub(pages);
        self.sink.release_value(extent)
    }

    pub(super) fn header(&self, number: PageNumber) -> Result<Header> {
        Ok(Header::read(self.sink.page(number)?))
    }
}

/// Subtracts one from a page count of a tree. So no tree loses more pages than it has, whatever
/// refers to them.
fn one_less(pages: u32, number: PageNumber) -> Result<u32> {
    pages.checked_sub(1).ok_or_else(|| {
        let detail =
            "its tree has more pages than its root counts; some are referenced more than once";
        Error::corrupted(number, "release", detail)
    })
}

pub(super) fn value_pages(extent: &ValueExtent, usable_len: usize) -> u64 {
    value_page_count(extent.len_bytes, usable_len)
}
