//! Changes of inner pages: children replaced by several or by none, pages split and merged, the
//! root raised and lowered.
//!
//! Usually the children are spliced into the existing arrays of the page. If there is no room, the
//! page is laid out again, and if that does not suffice, it is split.

use super::{
    PageSink,
    mutable_tree::Tree,
    neighbours::{MERGED_FILL_MAX, Neighbour, THIN_PAGE, is_rightmost, part, slots_in_parent},
    position::PathStep,
    root::MAX_DEPTH,
    visit_inner,
};
use crate::{
    PageNumber, Result,
    page::{
        PageDamage,
        child::Child,
        entries::{cut_evenly, cut_greedily},
        inner::{self, children_of},
    },
};
use std::ops::Range;

/// A page with no more children than this has long separators.
const FEW_CHILDREN: usize = 8;

impl<S: PageSink> Tree<'_, S> {
    /// Replaces children in the parent of `path[depth]` by `children`; if that page is the root,
    /// they get a new root above them. The first one keeps the separator of the first replaced
    /// child.
    pub(super) fn replace_children(
        &mut self,
        path: &[PathStep],
        depth: usize,
        range: Range<usize>,
        mut children: Vec<Child>,
    ) -> Result<()> {
        let Some(above) = depth.checked_sub(1) else {
            return self.raise_root(children);
        };
        let parent = path[above];
        let format = self.root.inner_format();
        let page = self.sink.page_mut(parent.page)?;
        let spliced = inner::splice(page, format, range.clone(), &children);
        if spliced.map_err(|damage| damage.at(parent.page, "rebalance"))? {
            return self.recount(path, above);
        }
        let inner = visit_inner(&*self.sink, parent.page, self.level_of(above), "rebalance")?;
        let mut all = children_of(&inner).map_err(|d| d.at(parent.page, "rebalance"))?;
        if let (Some(first), Some(old)) = (children.first_mut(), all.get_mut(range.start)) {
            first.separator = std::mem::take(&mut old.separator);
        }
        all.splice(range, children);
        self.write_inner(path, above, all)
    }

    /// Creates a new root above `children`; the old root is one of them. Long separators may
    /// require more than one level.
    fn raise_root(&mut self, children: Vec<Child>) -> Result<()> {
        let level = self.root.depth;
        if level >= MAX_DEPTH {
            // A root with more levels would be refused when it is read.
            let text = "the tree has no room for another level; use shorter keys, or larger pages";
            return Err(crate::Error::InvalidArgument(text.into()));
        }
        self.root.depth += 1;
        let cuts = self.cut_children(&children);
        if cuts.len() == 1 {
            let number = self.new_inner()?;
            self.root.page = number;
            return self.build_inner(number, level, &children);
        }
        if cuts.len() == children.len() {
            let detail = "its separators are longer than keys can be";
            return Err(crate::Error::corrupted(
                children[0].page,
                "rebalance",
                detail,
            ));
        }
        let mut parts = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let number = self.new_inner()?;
            parts.push(self.build_part(number, level, &children[cut])?);
        }
        self.raise_root(parts)
    }

    /// Splits these children into as few pages as possible, in order.
    fn cut_children(&self, children: &[Child]) -> Vec<Range<usize>> {
        let format = self.root.inner_format();
        let page_size = self.sink.page_size();
        cut_greedily(children.len(), |range| {
            format.page_len(&children[range]) <= page_size
        })
    }

    /// Lays out one page of several and returns it as a child of the level above.
    fn build_part(&mut self, number: PageNumber, level: u8, part: &[Child]) -> Result<Child> {
        self.build_inner(number, level, part)?;
        let records = part.iter().map(|child| child.records).sum();
        Ok(Child::unsealed(part[0].separator.clone(), number, records))
    }

    fn build_inner(&mut self, number: PageNumber, level: u8, children: &[Child]) -> Result<()> {
        let (format, birth) = (self.root.inner_format(), self.sink.transaction());
        let built = format.build(self.sink.page_mut(number)?, number, birth, level, children);
        built.map_err(|damage| damage.at(number, "rebalance"))
    }

    /// Lays out the inner page `path[depth]` with these children, splitting it if necessary.
    pub(super) fn write_inner(
        &mut self,
        path: &[PathStep],
        depth: usize,
        children: Vec<Child>,
    ) -> Result<()> {
        let number = path[depth].page;
        let level = self.level_of(depth);
        if children.is_empty() {
            self.release_inner(number)?;
            return self.remove_child(path, depth);
        }
        if depth == 0 && children.len() == 1 {
            self.release_inner(number)?;
            self.root.page = children[0].page;
            self.root.checksum = children[0].checksum;
            self.root.depth -= 1;
            return Ok(());
        }
        let len = self.root.inner_format().page_len(&children);
        let page_size = self.sink.page_size();
        if len > page_size {
            return self.split_inner(path, depth, children);
        }
        if depth > 0
            && len < part(page_size, THIN_PAGE)
            && self.merge_inner(path, depth, &children, len)?
        {
            return Ok(());
        }
        self.build_inner(number, level, &children)?;
        self.recount(path, depth)
    }

    /// If a page has few children because of long separators, moves some of them to a neighbour if
    /// that saves a page; returns whether it did. Otherwise pages with a single child would remain,
    /// and the tree would grow deeper and deeper.
    fn move_children_to_sibling(
        &mut self,
        path: &[PathStep],
        depth: usize,
        children: &[Child],
    ) -> Result<bool> {
        if depth == 0 || children.len() > FEW_CHILDREN {
            return Ok(false);
        }
        let (parent, level) = (path[depth - 1], self.level_of(depth));
        for neighbour in self.neighbours(parent, level)? {
            let all = self.joined(parent, level, neighbour, children)?;
            let cuts = self.cut_children(&all);
            if cuts.len() > 2 {
                continue;
            }
            self.release_inner(neighbour.page)?;
            let mut parts = Vec::with_capacity(2);
            for cut in cuts {
                let number = if cut.start == 0 {
                    path[depth].page
                } else {
                    self.new_inner()?
                };
                parts.push(self.build_part(number, level, &all[cut])?);
            }
            let first = neighbour.index.min(parent.index);
            self.replace_children(path, depth, first..first + 2, parts)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Splits children that do not fit into one page over two pages, or more if separators are
    /// long.
    fn split_inner(&mut self, path: &[PathStep], depth: usize, children: Vec<Child>) -> Result<()> {
        if self.move_children_to_sibling(path, depth, &children)? {
            return Ok(());
        }
        let format = self.root.inner_format();
        let page_size = self.sink.page_size();
        let level = self.level_of(depth);
        let fits = |range: Range<usize>| format.page_len(&children[range]) <= page_size;
        let halves = match is_rightmost(&path[..=depth]) {
            true => None,
            false => cut_evenly(&format.weights(&children), 2, fits),
        };
        let cuts = halves.unwrap_or_else(|| self.cut_children(&children));
        let mut parts = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let number = if cut.start == 0 {
                path[depth].page
            } else {
                self.sink.note_split();
                self.new_inner()?
            };
            parts.push(self.build_part(number, level, &children[cut])?);
        }
        self.replace_children(path, depth, slots_in_parent(&path[..=depth]), parts)
    }

    /// Merges a thin inner page with a neighbour if one has room; returns whether it did.
    fn merge_inner(
        &mut self,
        path: &[PathStep],
        depth: usize,
        children: &[Child],
        len: usize,
    ) -> Result<bool> {
        let parent = path[depth - 1];
        let level = self.level_of(depth);
        let format = self.root.inner_format();
        let max_len = part(self.sink.page_size(), MERGED_FILL_MAX);
        for neighbour in self.neighbours(parent, level)? {
            if neighbour.used_len + len > max_len {
                continue;
            }
            let first = neighbour.index.min(parent.index);
            let merged = self.joined(parent, level, neighbour, children)?;
            if format.page_len(&merged) > max_len {
                continue;
            }
            let number = path[depth].page;
            self.release_inner(neighbour.page)?;
            self.sink.note_merge();
            self.build_inner(number, level, &merged)?;
            let records = merged.iter().map(|child| child.records).sum();
            let child = Child::unsealed(Vec::new(), number, records);
            self.replace_children(path, depth, first..first + 2, vec![child])?;
            return Ok(true);
        }
        Ok(false)
    }

    /// The children of a page and of its neighbour in order; the separator between the two pages
    /// comes from their parent.
    fn joined(
        &self,
        parent: PathStep,
        level: u8,
        neighbour: Neighbour,
        children: &[Child],
    ) -> Result<Vec<Child>> {
        let damaged = |damage: PageDamage| damage.at(neighbour.page, "rebalance");
        let above = visit_inner(&*self.sink, parent.page, level + 1, "rebalance")?;
        let sibling = visit_inner(&*self.sink, neighbour.page, level, "rebalance")?;
        let sibling = children_of(&sibling).map_err(damaged)?;
        let between = above
            .separator(neighbour.index.max(parent.index))
            .map_err(damaged)?;
        let (mut left, mut right) = if neighbour.index < parent.index {
            (sibling, children.to_vec())
        } else {
            (children.to_vec(), sibling)
        };
        right[0].separator = between;
        left.append(&mut right);
        Ok(left)
    }

    /// Removes the page `path[depth]`, which is released already, from its parent.
    pub(super) fn remove_child(&mut self, path: &[PathStep], depth: usize) -> Result<()> {
        let Some(above) = depth.checked_sub(1) else {
            *self.root = self.root.emptied();
            self.mark_changed();
            return Ok(());
        };
        let index = path[above].index;
        self.replace_children(path, depth, index..index + 1, Vec::new())
    }
}
