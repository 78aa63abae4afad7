//! Relocation: moves pages from the end of the file to earlier free pages, a few at a time, so that
//! the end can be truncated.
//!
//! A page is moved as if it were changed: it and the pages that lead to it are copied, and the
//! originals die. So a walk passes through the tree in key order, from where it stopped the last
//! time. On its way it lays out several neighbouring leaves again if they are so empty that they
//! fit into one less.

use super::{
    PageSink, PageSource, TreeRoot, enter,
    insert::ValueExtentBytes,
    mutable_tree::{Tree, value_pages},
    neighbours::part,
    position::{PathStep, Position},
    visit, visit_inner, visit_leaf,
};
use crate::{
    Error, PageNumber, Result,
    page::{
        PageDamage,
        entries::{RecordList, cut_greedily},
        header::HEADER_LEN,
        leaf::{self, LocalChange},
        value::{StoredValue, ValueKind},
    },
};
use std::ops::{Bound, Range};

/// The limits of a walk, and its results.
#[derive(Clone, Default, Debug)]
pub(crate) struct Relocation {
    /// Pages from here on are moved, to lower free pages.
    pub(crate) boundary: u64,
    /// Large values that begin here are moved as well, to any free extent.
    pub(crate) relocated_values: Range<u64>,
    /// How many pages may still be copied.
    pub(crate) pages_left: u64,
    /// How many pages may still be visited.
    pub(crate) visits_left: u64,
    /// Pages that moved before the boundary, or are no longer needed.
    pub(crate) moved: u64,
    /// One value that exceeds the copy limit is moved if it has at most this many pages.
    pub(crate) value_pages_max: u64,
    /// The pages of the smallest value that stayed because it exceeds that limit, or 0.
    pub(crate) passed_over: u64,
    /// How many of [`WINDOW`] neighbouring leaves must be saved for them to be laid out again.
    pub(crate) saved_min: usize,
}

impl Relocation {
    fn is_high(&self, page: PageNumber) -> bool {
        u64::from(page.0) >= self.boundary
    }

    /// Whether a value of this many pages may be moved now.
    fn takes_value(&mut self, pages: u64) -> bool {
        if pages <= self.pages_left {
            return true;
        }
        let is_taken = pages <= self.value_pages_max;
        match is_taken {
            true => self.value_pages_max = 0,
            false if self.passed_over == 0 => self.passed_over = pages,
            false => self.passed_over = self.passed_over.min(pages),
        }
        is_taken
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.pages_left == 0 || self.visits_left == 0
    }
}

/// The number of leaves that are examined together.
const WINDOW: usize = 16;
/// Their maximum fill then, so that one more record does not split them.
const DENSE: (usize, usize) = (15, 16);

/// The fill of a tree's leaves in per cent: the mean of `count` randomly chosen ones.
pub(crate) fn sampled_fill_percent<S: PageSource>(
    source: &S,
    root: &TreeRoot,
    count: usize,
    seed: u64,
) -> Result<usize> {
    let mut random = seed;
    let mut used_len = 0;
    for _ in 0..count {
        let mut number = enter::root(source, root, "compact")?;
        for level in (1..root.depth).rev() {
            let inner = visit_inner(source, number, level, "compact")?;
            // The multiplier and the increment of a common linear congruential generator.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let index = (random >> 33) as usize % inner.count().max(1);
            number = enter::child(source, &inner, number, index, "compact")?;
        }
        let (_, header) = visit(source, number, 0, "compact")?;
        used_len += leaf::used_len(&header).min(source.page_size());
    }
    Ok(used_len * 100 / (count * source.page_size()).max(1))
}

/// Where a walk continues: at a key, and in a nested tree at one of its values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ResumePoint {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
}

impl<S: PageSink> Tree<'_, S> {
    /// Moves pages of the tree from a record on, or from the first. Returns where to continue, or
    /// `None` at the end. After an error the tree is intact, and the rest has not moved.
    pub(crate) fn relocate(
        &mut self,
        from: Option<&ResumePoint>,
        work: &mut Relocation,
    ) -> Result<Option<ResumePoint>> {
        let rest = self.relocate_some(from, work)?;
        if let (Some(from), Some(rest)) = (from, &rest) {
            let by_value = || rest.value.is_some().cmp(&from.value.is_some());
            // The walk of the nested tree has checked that its values ascend.
            let compared = (self.root.order.compare(&rest.key, &from.key)).then_with(by_value);
            let is_within = rest.value.is_some() && from.value.is_some();
            if compared.is_lt() || compared.is_eq() && !is_within {
                let detail = "the keys of this tree are not in order";
                return Err(Error::corrupted(self.root.page, "compact", detail));
            }
        }
        Ok(rest)
    }

    fn relocate_some(
        &mut self,
        from: Option<&ResumePoint>,
        work: &mut Relocation,
    ) -> Result<Option<ResumePoint>> {
        let mut position = Position::default();
        position.seek_bound(
            &*self.sink,
            self.root,
            from.map_or(Bound::Unbounded, |from| Bound::Included(&from.key)),
        )?;
        if position.record().is_none() {
            return Ok(None);
        }
        let mut from = from;
        loop {
            let path = self.relocate_path(position.path().to_vec(), work)?;
            let path = match self.root.value_pages {
                0 => path,
                _ => self.relocate_values(path, work)?,
            };
            let (path, rest) = match self.root.is_multi() {
                true => self.relocate_nested(path, from.take(), work)?,
                false => (path, None),
            };
            if rest.is_some() {
                return Ok(rest);
            }
            if let Some(last_key) = self.densify(&path, work)? {
                position.seek_bound(&*self.sink, self.root, Bound::Excluded(&last_key))?;
                if position.record().is_none() {
                    return Ok(None);
                }
            } else {
                let Some(next) = self.next_to_relocate(path, work)? else {
                    return Ok(None);
                };
                position = next;
            }
            if work.is_spent() {
                let key = self.first_key(&position)?;
                return Ok(Some(ResumePoint { key, value: None }));
            }
        }
    }

    /// Moves pages of the nested trees of a leaf, beginning at the end of the path. Returns the
    /// path, and where to continue if that is within one of them.
    fn relocate_nested(
        &mut self,
        mut path: Vec<PathStep>,
        from: Option<&ResumePoint>,
        work: &mut Relocation,
    ) -> Result<(Vec<PathStep>, Option<ResumePoint>)> {
        let Some(&PathStep { index, count, .. }) = path.last() else {
            return Ok((path, None));
        };
        let mut value = from.and_then(|from| Some((&from.key, from.value.as_ref()?)));
        for index in index..count {
            let number = path.last().map_or(PageNumber(0), |step| step.page);
            let damaged = |damage: PageDamage| damage.at(number, "compact");
            let leaf = visit_leaf(&*self.sink, number, "compact")?;
            let stored = leaf.node(index).map_err(damaged)?.value;
            if stored.kind != ValueKind::Tree {
                continue;
            }
            let mut nested = self.root.decode_nested(stored.bytes).map_err(damaged)?;
            let key = leaf.key(index).map_err(damaged)?;
            let order = self.root.order;
            let from = value
                .take()
                .filter(|(of, _)| order.compare(of, &key).is_eq());
            let from = from.map(|(_, value)| ResumePoint {
                key: value.clone(),
                value: None,
            });
            let before = nested;
            let rest = Tree::new(&mut *self.sink, &mut nested).relocate(from.as_ref(), work)?;
            if nested != before {
                self.add_page_difference(&before, &nested);
                if let Some(step) = path.last_mut() {
                    step.index = index;
                }
                path = self.own_path(path)?;
                self.write_nested_root(&path, &nested, 0)?;
            }
            if let Some(ResumePoint { key: value, .. }) = rest {
                let value = Some(value);
                return Ok((path, Some(ResumePoint { key, value })));
            }
            if work.is_spent() && index + 1 < count {
                let number = path.last().map_or(PageNumber(0), |step| step.page);
                let leaf = visit_leaf(&*self.sink, number, "compact")?;
                let key = leaf.key(index + 1);
                let key = key.map_err(|damage| damage.at(number, "compact"))?;
                return Ok((path, Some(ResumePoint { key, value: None })));
            }
        }
        Ok((path, None))
    }

    /// Moves the pages of a path if any of them is too high and there is a lower free page.
    fn relocate_path(
        &mut self,
        path: Vec<PathStep>,
        work: &mut Relocation,
    ) -> Result<Vec<PathStep>> {
        let is_high = |step: &&PathStep| work.is_high(step.page) && !self.sink.is_own(step.page);
        let highest = path.iter().filter(is_high).map(|step| step.page.0).max();
        let Some(highest) = highest else {
            return Ok(path);
        };
        if !self.sink.has_room_before(highest.into(), 1) {
            return Ok(path);
        }
        let before = path.clone();
        let path = self.own_path(path)?;
        for (new, old) in path
            .iter()
            .zip(&before)
            .filter(|(new, old)| new.page != old.page)
        {
            work.pages_left = work.pages_left.saturating_sub(1);
            work.moved += u64::from(work.is_high(old.page) && new.page < old.page);
        }
        Ok(path)
    }

    /// Moves the large values of a leaf that are too high, if there are enough consecutive lower
    /// free pages, and those in `relocated_values`.
    fn relocate_values(
        &mut self,
        mut path: Vec<PathStep>,
        work: &mut Relocation,
    ) -> Result<Vec<PathStep>> {
        let Some(&PathStep { page, count, .. }) = path.last() else {
            return Ok(path);
        };
        for index in 0..count {
            let leaf = path.last().map_or(page, |step| step.page);
            let Some(extent) = self.extent_at(leaf, index, "compact")? else {
                continue;
            };
            let pages = value_pages(&extent, self.sink.page_size());
            let start = u64::from(extent.start.0);
            let is_lifted = work.relocated_values.contains(&start);
            let is_high = start + pages > work.boundary;
            if !is_high && !is_lifted || self.sink.is_dirty(extent.start) {
                continue;
            }
            if !is_lifted && !self.sink.has_room_before(start, pages) || !work.takes_value(pages) {
                continue;
            }
            let value = enter::value(&*self.sink, &extent)?.to_vec();
            path = self.own_path(path)?;
            let leaf = path.last().map_or(page, |step| step.page);
            let mut bytes = ValueExtentBytes::default();
            self.store_in_extent(&value, &mut bytes)?;
            let kept = StoredValue {
                kind: ValueKind::Extent,
                bytes: &bytes,
            };
            let put = leaf::set_value(self.sink.page_mut(leaf)?, index, kept);
            if put.map_err(|damage| damage.at(leaf, "compact"))? == LocalChange::Rebuild {
                let detail = "the description of a large value has another length than others";
                return Err(Error::corrupted(leaf, "compact", detail));
            }
            self.release_extent(&extent)?;
            work.pages_left = work.pages_left.saturating_sub(pages);
            work.moved += pages;
        }
        Ok(path)
    }

    /// Lays out a leaf and those after it again, if that saves pages. Returns their last key then.
    fn densify(&mut self, path: &[PathStep], work: &mut Relocation) -> Result<Option<Vec<u8>>> {
        let [.., parent, leaf] = path else {
            return Ok(None);
        };
        let children = parent.index..parent.count.min(parent.index + WINDOW);
        let is_wanted = parent.index.is_multiple_of(WINDOW) && children.len() > work.saved_min;
        if !is_wanted || work.pages_left == 0 {
            return Ok(None);
        }
        work.visits_left = work.visits_left.saturating_sub(children.len() as u64);
        let (pages, used_len) = self.used_in(parent.page, children.clone())?;
        let page_len = part(self.sink.page_size(), DENSE) - HEADER_LEN;
        if used_len.div_ceil(page_len) + work.saved_min > pages.len() {
            return Ok(None);
        }
        let mut records = RecordList::with_capacity(pages.len(), self.sink.page_size());
        for &page in &pages {
            let leaf = visit_leaf(&*self.sink, page, "compact")?;
            let all = 0..leaf.count();
            let added = records.append(&leaf, all);
            added.map_err(|damage| damage.at(page, "compact"))?;
        }
        let format = self.root.leaf_format();
        let cuts = cut_greedily(records.len(), |range| {
            records.page_len(format, range) <= page_len + HEADER_LEN
        });
        if cuts.is_empty() || cuts.len() + work.saved_min > pages.len() {
            return Ok(None);
        }
        let last_key = records.key(records.len() - 1).to_vec();
        let path = self.own_path(path.to_vec())?;
        let first = path.last().map_or(leaf.page, |step| step.page);
        for &page in &pages[1..] {
            self.release_leaf(page)?;
        }
        work.pages_left = work.pages_left.saturating_sub(cuts.len() as u64);
        work.moved += (pages.len() - cuts.len()) as u64;
        self.lay_out(&path, children, (vec![first], records), cuts)?;
        Ok(Some(last_key))
    }

    /// Leaves below an inner page, and how many of their bytes are in use without the headers.
    fn used_in(
        &self,
        parent: PageNumber,
        children: Range<usize>,
    ) -> Result<(Vec<PageNumber>, usize)> {
        let inner = visit_inner(&*self.sink, parent, 1, "compact")?;
        let mut pages = Vec::with_capacity(children.len());
        let mut used_len = 0;
        for index in children {
            let page = enter::child(&*self.sink, &inner, parent, index, "compact")?;
            used_len += leaf::used_len(&self.header(page)?) - HEADER_LEN;
            pages.push(page);
        }
        Ok((pages, used_len))
    }

    /// The next leaf to visit.
    fn next_to_relocate(
        &mut self,
        mut path: Vec<PathStep>,
        work: &mut Relocation,
    ) -> Result<Option<Position>> {
        work.visits_left = work.visits_left.saturating_sub(1);
        let parent = path.len().checked_sub(2);
        let has_references = self.root.value_pages > 0 || self.root.is_multi();
        if let Some(parent) = parent.filter(|_| !has_references) {
            let step = path[parent];
            let next = self.next_high_child(&step, work)?;
            path[parent].index = next.map_or(step.count.saturating_sub(1), |index| index - 1);
        }
        if let Some(leaf) = path.last_mut() {
            leaf.index = leaf.count.saturating_sub(1);
        }
        let mut position = Position::on(path);
        let entered = position.next_leaf(&*self.sink, self.root)?.is_some();
        Ok(entered.then_some(position))
    }

    /// The next child of an inner page above leaves that is too high.
    fn next_high_child(&self, step: &PathStep, work: &Relocation) -> Result<Option<usize>> {
        let inner = visit_inner(&*self.sink, step.page, 1, "compact")?;
        for index in step.index + 1..inner.count() {
            let child = inner.child(index);
            let child = child.map_err(|damage| damage.at(step.page, "compact"))?;
            let is_first = index.is_multiple_of(WINDOW);
            if is_first || work.is_high(child) && !self.sink.is_own(child) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn first_key(&self, position: &Position) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        super::cursor::record_at(&*self.sink, position, &mut key)?;
        Ok(key)
    }
}
